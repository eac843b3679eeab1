/** Streams: launches, copies and prefetches in order, concurrent across streams. */
import type { OptionNames } from '../core/option-names.js';
import { HOST } from '../core/types.js';
import { threadId } from '../linux/process.js';
import type { StreamOperation, StreamEvent as WireEvent } from '../pager/protocol/operations.js';
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
import { INSPECT, inspectStream } from './description.js';
import { DISPOSE } from './disposal.js';
import { argumentError, OnememError, typeError } from './errors.js';
import { checkKernel, type Kernel, type KernelParameters } from './kernel.js';
import { explainStack, type Trace, traceTo } from './kernel-place.js';
import { checkArgumentNames, checkArguments, handOver, refuseEmpty } from './launch-arguments.js';
import { checkWay, codeFor, workgroupOf } from './launch-code.js';
import { LAUNCH_OPTIONS, type LaunchOptions } from './launch-options.js';
import { countedOf, type LaunchRange, type LaunchSize, launchRange, sizePlace, workgroupRange } from './launch-size.js';
import { pagesAround, placeOf } from './place.js';
import { noteCall } from './plain-copies.js';
import type * as api from './public.js';
import type { CopyOptions, CopyPlace, LaunchArguments, ManagedElements } from './public.js';
import type { ArraySeen, DeviceSeen, SpaceSeen } from './seen.js';
import { Staging } from './staging.js';
import { prepareCall, refuseDeadlock } from './stream-call.js';
import { checkEvent, StreamEvent } from './stream-event.js';
import { StreamOrder } from './stream-order.js';
import { verifyLaunch } from './verify.js';

/** What stands in for a size that is read when the launch's turn has come: it runs as a whole. */
const UNKNOWN = { begin: 0, end: 1, size: 1 } as const;
const COPY_OPTIONS: OptionNames<CopyOptions> = { at: true, signal: true };

/** Streams that the program has dropped without a word: the manager must forget them, too. */
const droppedStreams = new FinalizationRegistry<() => void>((end) => end());

export class Stream implements api.Stream {
  readonly id: number;
  private sequence = 0;
  private firstError: Error | null = null;
  /** Operations that have not ended. */
  private pending = 0;
  /** The manager knows that no more will come. */
  private hasLast = false;
  private readonly state: StreamState;
  readonly order = new StreamOrder();
  private readonly ignoreSignal: () => void;

  constructor(
    readonly space: api.AddressSpace & SpaceSeen,
    readonly device: api.Device & DeviceSeen,
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

  launch<P extends KernelParameters>(kernel: Kernel<P>, args: LaunchArguments<P>, options: LaunchOptions): StreamEvent {
    this.assertOpen();
    this.device.assertUsable();
    checkKernel(kernel);
    checkArgumentNames(kernel as Kernel, args);
    checkOptions(`a launch of kernel ${kernel.name}`, options, LAUNCH_OPTIONS, '{ size: 1000 }');
    const { begin: from, end: to } = options;
    const counted = countedOf(options);
    const workgroup = counted === 'workgroups' ? workgroupOf(kernel as Kernel, this.device) : null;
    const extent = (counted === 'workgroups' ? options.workgroups : options.size) as LaunchSize;
    const sized = sizePlace(this.space, extent, counted, from, to);
    const range = sized === null ? rangeOf(extent, workgroup, from, to) : UNKNOWN;
    const { begin, end, size } = range;
    const whole = begin === 0 && end === size;
    const runs = begin < end;
    const code = codeFor(kernel as Kernel, this.device, whole || !runs);
    const given = checkArguments(this.space, kernel as Kernel, code, args);
    if (runs) refuseEmpty(kernel as Kernel, given, this.device);
    const { signal, timeoutMs } = options;
    checkSignal(signal);
    checkTimeout(timeoutMs, this.device);
    checkFlag('verify of a launch', options.verify);
    if (sized !== null && options.verify === true)
      throw argumentError(
        'OPTIONS',
        'a launch whose size stands in an array cannot be verified; leave out verify, or give its size',
      );
    const { way } = options;
    checkWay(way, this.device);
    const launched = traceTo(this.launch);
    // Nothing is staged for what will not run.
    if (signal?.aborted === true) return this.add({ kind: 'cancelled', reason: reasonOf(signal) }, signal);
    if (!runs) return this.add({ kind: 'marker' }, signal);
    const verified =
      sized === null && (options.verify ?? this.space.verifies)
        ? this.callback(() => verifyLaunch(this.device, kernel as Kernel, args, { begin, end, size }))
        : null;
    const staging = new Staging(this.space, `kernel ${kernel.name}`, this.order);
    const handed = staging.attempt(() => handOver(kernel, given, whole, staging));
    if (sized !== null) handed.arrays.push(pagesAround(sized));
    const operation = {
      kind: 'launch',
      device: this.device.number,
      kernelName: kernel.name,
      code,
      ...handed,
      ...range,
      timeoutMs: timeoutMs ?? this.timeoutMs,
      last: this.single,
      ...(way === undefined ? {} : { way }),
      ...(sized === null
        ? {}
        : { indirect: { offset: sized.offset, numbers: sized.length, ...(workgroup && { workgroup }) } }),
    } as const;
    const event = this.addStaged(operation, staging, signal);
    const arrays: { readonly array: ArraySeen; readonly emptied: boolean }[] = [];
    for (const each of given) {
      if (each.kind !== 'array' || each.use === 'in' || each.place === null) continue;
      const { array, bytes } = each.place;
      // Where its size was 0 nothing has been emptied.
      arrays.push({ array, emptied: whole && sized === null && each.use === 'out' && bytes === array.byteLength });
    }
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

  prefetch(part: ManagedElements, to: api.Device | 'host' = this.device): StreamEvent {
    return this.bring('prefetch', part, this.numberOf(to), false);
  }

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
    const { array, length } = place;
    const pages = pagesAround(place);
    const event = this.add(length === 0 ? { kind: 'marker' } : { kind: 'prefetch', device, ...pages, exclusive });
    event.onEnd = (ended) => {
      if (ended.result === 'done' && length > 0) event.cover(array.elementsOf(pages.firstPage, ended.pages));
      return undefined;
    };
    return event;
  }

  call(callback: () => unknown): StreamEvent {
    this.assertOpen();
    if (typeof callback !== 'function') {
      throw typeError('CALLBACK', `a stream calls functions, not ${show(callback)}`);
    }
    const event = this.callback(callback);
    const { order } = this;
    order.calling(event.sequence);
    noteCall();
    event.onEnd = () => {
      order.called();
      return undefined;
    };
    return event;
  }

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
    if (target.bytes === 0) return this.add({ kind: 'marker' }, signal);
    const staging = new Staging(this.space, 'a copy', this.order);
    const places = staging.attempt(() => stageEnds(target, source, staging));
    const event = this.addStaged({ kind: 'copy', ...places, bytes: target.bytes, at }, staging, signal);
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

  wait(event: StreamEvent): StreamEvent {
    this.assertOpen();
    checkEvent(event);
    if (event.stream.space !== this.space) {
      throw typeError(
        'FOREIGN_EVENT',
        'the event belongs to another space; only events of the same space can be waited for',
      );
    }
    if (!event.done) this.order.waitFor({ order: event.stream.order, sequence: event.sequence }, event.after);
    return this.add({ kind: 'wait', other: event.stream.id, otherSequence: event.sequence, failure: event.failure });
  }

  record(): StreamEvent {
    this.assertOpen();
    return this.add({ kind: 'marker' });
  }

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

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    return inspectStream(inspect(this.device.name, options), this.pending, this.state.closed);
  }

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
  private numberOf(place: api.Device | 'host'): number {
    if (place === 'host') return HOST;
    if (!this.isDevice(place)) {
      throw typeError('DEVICE', `a place is a device of the space, or 'host', not ${show(place)}`);
    }
    if (place.space !== this.space) {
      throw typeError('FOREIGN_DEVICE', `device ${place.name} belongs to another space`);
    }
    place.assertUsable();
    return place.number;
  }

  private isDevice(place: api.Device): place is api.Device & DeviceSeen {
    return place instanceof this.device.constructor;
  }

  /** A function in the stream's order, ours or the program's. */
  private callback(callback: () => unknown): StreamEvent {
    const { client } = this.space;
    const event = this.add({ kind: 'call', thread: threadId() });
    const run = prepareCall(event, callback);
    const { id } = this;
    client.onCall(id, event.sequence, () => {
      void run().then((error) => client.called(id, event.sequence, error));
    });
    return event;
  }

  /** An operation with arrays of the program's own, and before it what this thread has to do about them. */
  private addStaged(operation: OperationBody, staging: Staging, signal?: AbortSignal): StreamEvent {
    if (staging.hasStep) {
      const { client } = this.space;
      const { id } = this;
      const { sequence } = this.add({ kind: 'call', thread: threadId() });
      client.onCall(id, sequence, () => client.called(id, sequence, staging.step()));
    }
    const event = this.add(operation, signal);
    staging.begin(event.sequence);
    return event;
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

/** @param workgroup set where `extent` counts workgroups */
function rangeOf(
  extent: LaunchSize,
  workgroup: readonly [number, number, number] | null,
  begin: unknown,
  end: unknown,
): LaunchRange {
  return workgroup === null ? launchRange(extent, begin, end) : workgroupRange(extent, workgroup, begin, end);
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
