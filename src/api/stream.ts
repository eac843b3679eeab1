/** Streams: launches, copies and prefetches in order, concurrent across streams. */
import type { OptionNames } from '../core/option-names.js';
import { HOST } from '../core/types.js';
import type { LaunchWay } from '../drivers/driver.js';
import { threadId } from '../linux/process.js';
import type { StreamOperation, StreamEvent as WireEvent } from '../pager/protocol/operations.js';
import type { AddressSpace } from './address-space.js';
import { checkFlag, checkOptions, show } from './arguments.js';
import {
  cancelOperationOn,
  cancelStreamOn,
  checkSignal,
  checkTimeout,
  reasonOf,
  type StreamState,
} from './cancellation.js';
import { checkCopy, copyEnd, stageEnds } from './copy.js';
import type { Device } from './device.js';
import { DISPOSE } from './disposal.js';
import { OnememError, typeError } from './errors.js';
import { checkKernel, type Kernel, type KernelParameters } from './kernel.js';
import { explainStack, type Trace, traceTo } from './kernel-place.js';
import { checkArguments, handOver } from './launch-arguments.js';
import { checkWay, codeFor } from './launch-code.js';
import { type LaunchSize, launchRange } from './launch-size.js';
import { pagesAround, placeOf } from './place.js';
import type { CopyOptions, CopyPlace, LaunchArguments, ManagedElements } from './public-types.js';
import { Staging } from './staging.js';
import { prepareCall, refuseDeadlock } from './stream-call.js';
import { checkEvent, StreamEvent } from './stream-event.js';
import { verifyLaunch } from './verify.js';

export interface LaunchOptions {
  /**
   * How many work items there are: the kernel is called for parts of [0, size). In two or three dimensions for kernels in WGSL, such as
   * [width, height]; a function sees their product.
   */
  readonly size: LaunchSize;
  /**
   * Only [begin, end) of them. A launch over a part does not empty its `out` arrays first, so that several launches can write one
   * array together: what none of them wrote reads as it did before.
   */
  readonly begin?: number;
  readonly end?: number;
  /**
   * Aborted, it ends the launch, and cancels what comes after it in its stream; `error.cause` is its reason. A launch that has not begun
   * is CANCELLED. One that runs is ended in the middle: it is ABORTED, and arrays that it was writing are indeterminate. A device that
   * cannot end a kernel (`capabilities.cancellation`) lets it finish.
   */
  readonly signal?: AbortSignal;
  /**
   * How many milliseconds the launch may run, from when its device has done everything before it; then it is ended with TIMEOUT, as
   * an aborted one. That of the stream unless said otherwise. Refused for a device that cannot end a kernel.
   */
  readonly timeoutMs?: number;
  /**
   * For debugging: runs the first part of the launch twice before it begins, on the device and here by the function itself, on two copies
   * of all arguments, and fails with KERNEL_DIFFERS where they do not do the same. The module of a kernel from a module is imported here, too. A
   * kernel that cannot be compared, as one that uses `memory`, is warned of (ONEMEM_NOT_VERIFIED). That of the space unless said otherwise.
   */
  readonly verify?: boolean;
  /**
   * How a GPU runs the launch, for tests and comparisons: 'direct', with all that it uses on the GPU; 'windowed', in parts; 'paged', with pages
   * of its read-only arrays brought as they are touched. What cannot be so is refused (DEVICE_MEMORY). Without it, the first way that fits.
   */
  readonly way?: LaunchWay;
}

const LAUNCH_OPTIONS: OptionNames<LaunchOptions> = {
  size: true,
  begin: true,
  end: true,
  signal: true,
  timeoutMs: true,
  verify: true,
  way: true,
};

export interface StreamOptions {
  /** Aborted, it cancels everything of the stream that has not begun, for good, and ends a launch that runs. */
  readonly signal?: AbortSignal;
  /** How many milliseconds each launch of the stream may run. */
  readonly timeoutMs?: number;
}

export const STREAM_OPTIONS: OptionNames<StreamOptions> = { signal: true, timeoutMs: true };

const COPY_OPTIONS: OptionNames<CopyOptions> = { at: true, signal: true };

/** Streams that the program has dropped without a word: the manager must forget them, too. */
const droppedStreams = new FinalizationRegistry<() => void>((end) => end());

export class Stream {
  /** @internal */
  readonly id: number;
  private sequence = 0;
  private firstError: Error | null = null;
  /** Operations that have not ended. */
  private pending = 0;
  /** The manager knows that no more will come. */
  private hasLast = false;
  private readonly state: StreamState;
  private readonly ignoreSignal: () => void;

  /** @internal */
  constructor(
    readonly space: AddressSpace,
    readonly device: Device,
    /** @internal */
    readonly signal: AbortSignal | null = null,
    private readonly timeoutMs: number | null = null,
    /** A launch is all that it will ever have, which ends it: so a launch by itself is one message to the manager. */
    private readonly single = false,
  ) {
    const { client } = space;
    const stream = client.newStream();
    this.id = stream;
    this.state = { id: stream, closed: false };
    this.ignoreSignal = signal === null ? () => undefined : cancelStreamOn(signal, client, this.state);
    if (single) return;
    const { ignoreSignal } = this;
    const end = (): void => {
      ignoreSignal();
      client.tell('endStream', { stream });
    };
    droppedStreams.register(this, end, this);
  }

  /**
   * Runs a kernel after everything that the stream has before it. Wrong arguments throw here; what goes wrong later comes out of
   * `synchronize`, so that a launch that nobody looks at is no unhandled rejection.
   */
  launch<P extends KernelParameters>(kernel: Kernel<P>, args: LaunchArguments<P>, options: LaunchOptions): StreamEvent {
    this.assertOpen();
    this.device.assertUsable();
    checkKernel(kernel);
    checkOptions(`a launch of kernel ${kernel.name}`, options, LAUNCH_OPTIONS);
    const range = launchRange(options.size, options.begin, options.end);
    const { begin, end, size } = range;
    const whole = begin === 0 && end === size;
    const code = codeFor(kernel as Kernel, this.device, whole);
    const given = checkArguments(this.space, kernel, args);
    const { signal, timeoutMs } = options;
    checkSignal(signal);
    checkTimeout(timeoutMs, this.device);
    checkFlag('verify of a launch', options.verify);
    const { way } = options;
    checkWay(way, this.device);
    const launched = traceTo(this.launch);
    // Nothing is staged for what will not run.
    if (signal?.aborted === true) return this.add({ kind: 'cancelled', reason: reasonOf(signal) }, signal);
    const verified =
      (options.verify ?? this.space.verifies)
        ? this.call(() => verifyLaunch(this.device, kernel as Kernel, args, { begin, end, size }))
        : null;
    const staging = new Staging(this.space, `kernel ${kernel.name}`);
    const handed = staging.attempt(() => handOver(kernel, given, whole, staging));
    const operation = {
      kind: 'launch',
      device: this.device.number,
      kernelName: kernel.name,
      code,
      ...handed,
      ...range,
      timeoutMs: timeoutMs ?? this.timeoutMs,
      ...(way === undefined ? {} : { way }),
    } as const;
    const event = this.add(this.single ? { ...operation, last: true } : operation, signal);
    const arrays = given.flatMap((each) => {
      if (each.kind === 'scalar' || each.use === 'in' || each.place === null) return [];
      const { array, bytes } = each.place;
      return [{ array, emptied: whole && each.use === 'out' && bytes === array.byteLength }];
    });
    event.onEnd = (ended) => {
      for (const { array, emptied } of arrays) {
        // Ranges are named where the launch had begun; of one that had not, nothing has been touched.
        const unsure = (ended.error?.details.ranges as unknown[] | undefined) ?? [];
        if (unsure.length > 0) array.indeterminate = true;
        else if (ended.result === 'done' && emptied) array.indeterminate = false;
      }
      const failure = verified?.failure ?? null;
      if (ended.result === 'cancelled' && failure !== null) ended = { ...ended, result: 'failed', error: failure };
      const shown = explained(ended, kernel as Kernel, launched);
      return staging.end(shown) ?? shown;
    };
    return event;
  }

  /**
   * Brings an array or a part of it to the device (or to 'host'), before anybody touches it: whole pages, rounded outwards. When it has
   * ended, `event.elements` tells which elements that are, and `event.bytes` how much of them is there.
   */
  prefetch(part: ManagedElements, to: Device | 'host' = this.device): StreamEvent {
    return this.bring('prefetch', part, this.numberOf(to), false);
  }

  /**
   * Makes an array or a part of it exclusive to the device, for atomic operations there: its pages come to the device, and nobody else has
   * them or may write them until the CPU or another device touches them, which ends it. Updates by Atomics are never lost either way: a page that is
   * written is in one place. It only saves the device's first faults, and tells subscribers why ('exclusive').
   */
  exclusive(part: ManagedElements): StreamEvent {
    return this.bring('make exclusive', part, this.device.number, true);
  }

  private bring(verb: string, part: ManagedElements, device: number, exclusive: boolean): StreamEvent {
    this.assertOpen();
    const place = placeOf(this.space, verb, part);
    if (place === null) {
      const message = `cannot ${verb} ${show(part)}: elements of a managed array of this space are wanted, such as x.range(0, 100)`;
      throw typeError('ARRAY_RANGE', message);
    }
    if (exclusive) this.device.assertUsable();
    const { array } = place;
    const pages = pagesAround(place);
    const event = this.add({ kind: 'prefetch', device, ...pages, exclusive });
    event.onEnd = (ended) => {
      if (ended.result === 'done') event.cover(array.elementsOf(pages.firstPage, ended.pages));
      return undefined;
    };
    return event;
  }

  /**
   * Calls a function of this thread when everything before it in the stream has ended well; what comes after it waits until the
   * function has returned and the promise that it may have given has settled. A function that throws or rejects fails the stream as
   * any operation does: CALLBACK_ERROR, with what was thrown as `cause`. It is called in a turn of the event loop of its own, in the
   * asynchronous context of the caller of `call`, and not at all once the stream has failed.
   *
   * The function may use the space as any code may. It must not wait for its own stream, which waits for it: `synchronize` of the
   * stream, or of an event that comes after the call, rejects with DEADLOCK there, even if nobody awaits it. Waiting by a detour
   * (for another stream that waits for this one) is not noticed, and never ends.
   */
  call(callback: () => unknown): StreamEvent {
    this.assertOpen();
    if (typeof callback !== 'function') {
      throw typeError('CALLBACK', `a stream calls functions, not ${show(callback)}`);
    }
    const { client } = this.space;
    const event = this.add({ kind: 'call', thread: threadId() });
    const run = prepareCall(event, callback);
    const { id } = this;
    client.onCall(id, event.sequence, () => {
      void run().then((error) => client.called(id, event.sequence, error));
    });
    return event;
  }

  /**
   * Copies elements between any two places, in the stream's order: managed arrays, parts and views of them, and other typed arrays, whose
   * elements are taken now and put back at the end. Both ends must have as many bytes, and the same element type unless one is raw
   * bytes. Parts of one array may overlap. Pages are read where they are and written where the destination is, or where `at` says;
   * `event.bytes` tells how many were copied. Until the copy has ended, and if it fails, a reader of its destination finds old
   * elements, new ones or zeros there.
   */
  copy(to: CopyPlace, from: CopyPlace, options: CopyOptions = {}): StreamEvent {
    this.assertOpen();
    checkOptions('copy()', options, COPY_OPTIONS);
    const target = copyEnd(this.space, 'to', to);
    const source = copyEnd(this.space, 'from', from);
    checkCopy(target, source);
    const at = options.at === undefined ? null : this.numberOf(options.at);
    const { signal } = options;
    checkSignal(signal);
    if (signal?.aborted === true) return this.add({ kind: 'cancelled', reason: reasonOf(signal) }, signal);
    const staging = new Staging(this.space, 'a copy');
    const places = staging.attempt(() => stageEnds(target, source, staging));
    const event = this.add({ kind: 'copy', ...places, bytes: target.bytes, at }, signal);
    event.onEnd = (ended) => {
      const array = target.place?.array;
      if (ended.result === 'done' && array !== undefined) {
        const unsure = source.place?.array.indeterminate === true;
        if (unsure || target.bytes === array.byteLength) array.indeterminate = unsure;
      }
      return staging.end(ended);
    };
    return event;
  }

  /** Holds back what comes next until an event of another stream has happened. */
  wait(event: StreamEvent): StreamEvent {
    this.assertOpen();
    checkEvent(event);
    if (event.stream.space !== this.space) {
      throw typeError(
        'FOREIGN_EVENT',
        'the event belongs to another space; only events of the same space can be waited for',
      );
    }
    return this.add({ kind: 'wait', other: event.stream.id, otherSequence: event.sequence, failure: event.failure });
  }

  /** An event here and now. */
  record(): StreamEvent {
    this.assertOpen();
    return this.add({ kind: 'marker' });
  }

  /**
   * Waits for everything given so far. Rejects with the first error since the last time; what came after it in the stream was
   * cancelled, and what is given from now on runs again, unless the stream's own signal has been aborted.
   */
  async synchronize(): Promise<void> {
    const marker = this.record();
    refuseDeadlock(marker);
    await marker.synchronize().catch(() => undefined);
    const error = this.firstError;
    if (error === null) return;
    this.firstError = null;
    this.space.client.tell('forgive', { stream: this.id });
    throw error;
  }

  /** Ends the stream; what it was given still runs. */
  [DISPOSE](): void {
    if (this.state.closed) return;
    this.state.closed = true;
    droppedStreams.unregister(this);
    if (this.pending === 0) this.end();
  }

  /** Everything that was given has ended, and the program knows how: code that waits for one of its events needs no manager for that. */
  private end(): void {
    this.ignoreSignal();
    if (!this.hasLast) this.space.client.tell('endStream', { stream: this.id });
  }

  private assertOpen(): void {
    this.space.client.assertOpen('this stream');
    if (this.state.closed)
      throw new OnememError('STREAM_CLOSED', 'the stream has been disposed; make another by device.stream()');
  }

  /** By which the manager knows a place. */
  private numberOf(place: Device | 'host'): number {
    if (place === 'host') return HOST;
    if (!(place instanceof this.device.constructor)) {
      throw typeError('DEVICE', `a place is a device of the space, or 'host', not ${show(place)}`);
    }
    if (place.space !== this.space) {
      throw typeError('FOREIGN_DEVICE', `device ${place.name} belongs to another space`);
    }
    place.assertUsable();
    return place.number;
  }

  private add(operation: OperationBody, signal?: AbortSignal): StreamEvent {
    const sequence = ++this.sequence;
    const event = new StreamEvent(this, sequence);
    const { client } = this.space;
    event.signal = signal ?? null;
    const ignore = signal === undefined || signal.aborted ? null : cancelOperationOn(signal, client, this.id, sequence);
    this.pending++;
    this.hasLast = operation.last === true;
    client.onStreamEvent(this.id, sequence, (ended) => {
      ignore?.();
      event.end(ended);
      if (event.result === 'failed' || event.aborted !== null) this.firstError ??= event.error;
      if (--this.pending === 0 && this.state.closed) this.end();
    });
    client.tell('enqueue', { ...operation, stream: this.id, sequence } as StreamOperation);
    return event;
  }
}

type OperationBody = StreamOperation extends infer O
  ? O extends StreamOperation
    ? Omit<O, 'stream' | 'sequence'>
    : never
  : never;

/** The event of a launch, in which an error of the kernel shows the author's own files. */
function explained(ended: WireEvent, { name, kernel }: Kernel, launched: Trace): WireEvent {
  const { error } = ended;
  if (error?.code !== 'KERNEL_ERROR' || error.stack === undefined) return ended;
  return { ...ended, error: { ...error, stack: explainStack(name, kernel, error.stack, launched) } };
}
