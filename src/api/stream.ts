/** Streams: launches, copies and prefetches in order, concurrent across streams. */
import { types } from 'node:util';
import { addressName } from '../core/address-view.js';
import { bytesOf, type ElementType, elementTypeOf, type NumericArray } from '../core/elements.js';
import { type OptionNames, refuseUnknown } from '../core/option-names.js';
import { HOST } from '../core/types.js';
import type { LaunchParameter } from '../drivers/driver.js';
import { threadId } from '../linux/process.js';
import type { StreamOperation } from '../pager/protocol.js';
import type { AddressSpace } from './address-space.js';
import { arrayTypeName, checkObject, checkOptions, checkSize, show } from './arguments.js';
import { type ArrayRange, checkRange } from './array-part.js';
import {
  cancelOperationOn,
  cancelStreamOn,
  checkSignal,
  checkTimeout,
  reasonOf,
  type StreamState,
} from './cancellation.js';
import { COPY_OPTIONS, type CopyOptions, type CopyPlace, checkCopy, copyEnd, stageEnds } from './copy.js';
import type { Device } from './device.js';
import { DISPOSE } from './disposal.js';
import { argumentError, OnememError, typeError } from './errors.js';
import {
  type ArrayParameter,
  checkKernel,
  type Kernel,
  type KernelParameters,
  type ScalarParameter,
  type TypedArrays,
} from './kernel.js';
import { ManagedArray, typeName } from './managed-array.js';
import { Staging } from './staging.js';
import { prepareCall, refuseDeadlock } from './stream-call.js';
import { checkEvent, StreamEvent } from './stream-event.js';

/** What a launch takes for each parameter of a kernel: managed arrays, plain typed arrays (copied there and back), numbers. */
export type LaunchArguments<P extends KernelParameters> = {
  readonly [K in keyof P]: P[K] extends ArrayParameter<infer T, infer _U>
    ? ManagedArray<TypedArrays[T]> | TypedArrays[T]
    : P[K] extends ScalarParameter<infer T>
      ? T extends 'i64' | 'u64'
        ? bigint
        : number
      : never;
};

export interface LaunchOptions {
  /** How many work items there are: the kernel is called for parts of [0, size). */
  readonly size: number;
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
}

const LAUNCH_OPTIONS: OptionNames<LaunchOptions> = {
  size: true,
  begin: true,
  end: true,
  signal: true,
  timeoutMs: true,
};

export interface StreamOptions {
  /** Aborted, it cancels everything of the stream that has not begun, for good, and ends a launch that runs. */
  readonly signal?: AbortSignal;
  /** How many milliseconds each launch of the stream may run. */
  readonly timeoutMs?: number;
}

export const STREAM_OPTIONS: OptionNames<StreamOptions> = { signal: true, timeoutMs: true };

/** Streams that the program has dropped without a word: the manager must forget them, too. */
const droppedStreams = new FinalizationRegistry<() => void>((end) => end());

export class Stream {
  /** @internal */
  readonly id: number;
  private sequence = 0;
  private firstError: Error | null = null;
  /** Operations that have not ended. */
  private pending = 0;
  private readonly state: StreamState;
  private readonly ignoreSignal: () => void;

  /** @internal */
  constructor(
    readonly space: AddressSpace,
    readonly device: Device,
    /** @internal */
    readonly signal: AbortSignal | null = null,
    private readonly timeoutMs: number | null = null,
  ) {
    const { client } = space;
    const stream = client.newStream();
    this.id = stream;
    this.state = { id: stream, closed: false };
    this.ignoreSignal = signal === null ? () => undefined : cancelStreamOn(signal, client, this.state);
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
    const { size } = options;
    checkSize('size', size, 1);
    const { begin = 0, end = size } = options;
    if (!(Number.isSafeInteger(begin) && Number.isSafeInteger(end) && begin >= 0 && begin < end && end <= size)) {
      throw argumentError(
        'LAUNCH_RANGE',
        `begin ${show(begin)} and end ${show(end)} must be whole numbers with 0 <= begin < end <= size (${size})`,
      );
    }
    this.checkArguments(kernel, args);
    const { signal, timeoutMs } = options;
    checkSignal(signal);
    checkTimeout(timeoutMs, this.device);
    // Nothing is staged for what will not run.
    if (signal?.aborted === true) return this.add({ kind: 'cancelled', reason: reasonOf(signal) }, signal);
    const staging = new Staging(this.space, `kernel ${kernel.name}`);
    const whole = begin === 0 && end === size;
    const parameters = staging.attempt(() => this.parametersOf(kernel, args, whole, staging));
    const operation = {
      kind: 'launch',
      device: this.device.id,
      kernelName: kernel.name,
      code: kernel.code,
      parameters,
      begin,
      end,
      size,
      timeoutMs: timeoutMs ?? this.timeoutMs,
    } as const;
    const event = this.add(operation, signal);
    const arrays = Object.entries(kernel.parameters).flatMap(([name, parameter]) => {
      const value = args[name];
      return parameter.kind === 'array' && parameter.use !== 'in' && value instanceof ManagedArray
        ? [{ array: value, emptied: whole && parameter.use === 'out' }]
        : [];
    });
    event.onEnd = (ended) => {
      for (const { array, emptied } of arrays) {
        // Ranges are named where the launch had begun; of one that had not, nothing has been touched.
        const unsure = (ended.error?.details.ranges as unknown[] | undefined) ?? [];
        if (unsure.length > 0) array.indeterminate = true;
        else if (ended.result === 'done' && emptied) array.indeterminate = false;
      }
      return staging.end(ended);
    };
    return event;
  }

  /**
   * Brings a part of an array to the device (or to 'host'), before anybody touches it: whole pages, rounded outwards. When it has
   * ended, `event.elements` tells which elements that are, and `event.bytes` how much of them is there.
   */
  prefetch(part: ArrayRange, to: Device | 'host' = this.device): StreamEvent {
    return this.bring('prefetch', part, this.processorOf(to), false);
  }

  /**
   * Makes a part of an array exclusive to the device, for atomic operations there: its pages come to the device, and nobody else has
   * them or may write them until somebody touches them, which ends it. Updates by Atomics are never lost either way: a page that is
   * written is in one place. It only saves the device's first faults, and tells subscribers why ('exclusive').
   */
  exclusive(part: ArrayRange): StreamEvent {
    return this.bring('make exclusive', part, this.device.id, true);
  }

  private bring(verb: string, part: ArrayRange, processor: number, exclusive: boolean): StreamEvent {
    this.assertOpen();
    const { array, begin, end } = checkPart(part);
    this.assertOwn(array, verb);
    checkRange(array, begin, end);
    if (exclusive) this.device.assertUsable();
    const { firstPage, count } = array.pagesOf(begin, end);
    const event = this.add({ kind: 'prefetch', processor, firstPage, count, exclusive });
    event.onEnd = (ended) => {
      if (ended.result === 'done') event.cover(array.elementsOf(firstPage, ended.pages));
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
   * Copies elements between any two places, in the stream's order: managed arrays, parts of them, and plain typed arrays, whose
   * elements are taken now and put back at the end. Both ends must have as many bytes, and the same element type unless one is raw
   * bytes. Parts of one array may overlap. Pages are read where they are and written where the destination is, or where `at` says;
   * `event.bytes` tells how many were copied. Until the copy has ended, and if it fails, whoever reads its destination finds old
   * elements, new ones or zeros there.
   */
  copy(to: CopyPlace, from: CopyPlace, options: CopyOptions = {}): StreamEvent {
    this.assertOpen();
    checkOptions('copy()', options, COPY_OPTIONS);
    const target = copyEnd(this.space, 'to', to);
    const source = copyEnd(this.space, 'from', from);
    checkCopy(target, source);
    const at = options.at === undefined ? null : this.processorOf(options.at);
    const { signal } = options;
    checkSignal(signal);
    if (signal?.aborted === true) return this.add({ kind: 'cancelled', reason: reasonOf(signal) }, signal);
    const staging = new Staging(this.space, 'a copy');
    const places = staging.attempt(() => stageEnds(target, source, staging));
    const event = this.add({ kind: 'copy', ...places, bytes: target.bytes, at }, signal);
    event.onEnd = (ended) => {
      const { array, begin, end } = target;
      if (ended.result === 'done' && array !== null) {
        const unsure = source.array?.indeterminate === true;
        if (unsure || (begin === 0 && end === array.length)) array.indeterminate = unsure;
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

  /** Everything that was given has ended, and the program knows how: whoever waits for one of its events needs no manager for that. */
  private end(): void {
    this.ignoreSignal();
    this.space.client.tell('endStream', { stream: this.id });
  }

  private assertOpen(): void {
    this.space.client.assertOpen('this stream');
    if (this.state.closed)
      throw new OnememError('STREAM_CLOSED', 'the stream has been disposed; make another by device.stream()');
  }

  private assertOwn(array: ManagedArray, verb: string): void {
    array.assertUsable(verb);
    if (array.space === this.space) return;
    throw typeError('FOREIGN_ARRAY', `cannot ${verb} array ${array.name}: it belongs to another space than the stream`);
  }

  private processorOf(place: Device | 'host'): number {
    if (place === 'host') return HOST;
    if (!(place instanceof this.device.constructor)) {
      throw typeError('DEVICE', `a place is a device of the space, or 'host', not ${show(place)}`);
    }
    if (place.space !== this.space) {
      throw typeError('FOREIGN_DEVICE', `device ${place.name} belongs to another space`);
    }
    place.assertUsable();
    return place.id;
  }

  private add(operation: OperationBody, signal?: AbortSignal): StreamEvent {
    const sequence = ++this.sequence;
    const event = new StreamEvent(this, sequence);
    const { client } = this.space;
    event.signal = signal ?? null;
    const ignore = signal === undefined || signal.aborted ? null : cancelOperationOn(signal, client, this.id, sequence);
    this.pending++;
    client.onStreamEvent(this.id, sequence, (ended) => {
      ignore?.();
      event.end(ended);
      if (event.result === 'failed' || event.aborted !== null) this.firstError ??= event.error;
      if (--this.pending === 0 && this.state.closed) this.end();
    });
    client.tell('enqueue', { ...operation, stream: this.id, sequence } as StreamOperation);
    return event;
  }

  private checkArguments(kernel: Kernel, args: Readonly<Record<string, unknown>>): void {
    checkObject(`the second argument of a launch names the arguments of kernel ${kernel.name}: it`, args);
    const known = Object.keys(kernel.parameters);
    refuseUnknown('KERNEL_ARGUMENT', `kernel ${kernel.name} has no parameter`, Object.keys(args), known);
    for (const [name, parameter] of Object.entries(kernel.parameters))
      this.checkArgument(kernel, name, parameter, args[name]);
  }

  private parametersOf(
    kernel: Kernel,
    args: Readonly<Record<string, unknown>>,
    whole: boolean,
    staging: Staging,
  ): LaunchParameter[] {
    // Whether a module's kernel asks for its memory is not known here.
    const addressed = kernel.kernel === null || kernel.kernel.length > 2;
    return Object.entries(kernel.parameters).flatMap(([name, parameter]): LaunchParameter[] => {
      const value = args[name];
      if (parameter.kind === 'scalar') return [{ name, kind: 'scalar', value: value as number | bigint }];
      let array = value as ManagedArray;
      if (!(value instanceof ManagedArray)) {
        const plain = value as NumericArray;
        const use = { in: parameter.use !== 'out' || !whole, back: parameter.use !== 'in' };
        array = staging.stage(plain, parameter.type, name, use);
      }
      const { type } = parameter;
      // A launch over a part leaves what other parts wrote: only a whole one begins with zeros.
      const use = parameter.use === 'out' && !whole ? 'inout' : parameter.use;
      const given: LaunchParameter = { name, kind: 'array', type, use, offset: array.offset, length: array.length };
      return addressed
        ? [given, { name: addressName(name, parameter.use), kind: 'scalar', value: Number(array.address) }]
        : [given];
    });
  }

  private checkArgument(kernel: Kernel, name: string, parameter: KernelParameters[string], value: unknown): void {
    const where = `kernel ${kernel.name}, parameter ${name}`;
    if (value === undefined) throw typeError('KERNEL_ARGUMENT', `${where}: no argument was given`);
    if (parameter.kind === 'scalar') {
      const wanted = parameter.type === 'i64' || parameter.type === 'u64' ? 'bigint' : 'number';
      if (typeof value !== wanted)
        throw typeError('KERNEL_ARGUMENT', `${where} is a ${parameter.type}: it takes a ${wanted}, not ${show(value)}`);
      return;
    }
    if (value instanceof ManagedArray) {
      value.assertUsable(`pass to ${where}`);
      if (value.space !== this.space) {
        throw typeError('FOREIGN_ARRAY', `${where}: array ${value.name} belongs to another space`);
      }
      if (!sameElements(value.type, parameter.type)) {
        throw typeError(
          'KERNEL_ARGUMENT',
          `${where} is ${parameter.type}, but array ${value.name} is ${typeName(value)}`,
        );
      }
      return;
    }
    if (!ArrayBuffer.isView(value) || types.isDataView(value)) {
      throw typeError('KERNEL_ARGUMENT', `${where} takes a managed array or a typed array, not ${show(value)}`);
    }
    const type = elementTypeOf(arrayTypeName(value) ?? '');
    if (type === undefined || !sameElements(type, parameter.type)) {
      throw typeError('KERNEL_ARGUMENT', `${where} is ${parameter.type}, not ${show(value)}`);
    }
    if (value.byteLength === 0)
      throw argumentError('ARRAY_LENGTH', `${where}: the typed array is empty; a launch needs at least one element`);
  }
}

type OperationBody = StreamOperation extends infer O
  ? O extends StreamOperation
    ? Omit<O, 'stream' | 'sequence'>
    : never
  : never;

/** Raw bytes and u8 are the same to a kernel. */
function sameElements(a: ElementType, b: ElementType): boolean {
  return a === b || (bytesOf(a) === 1 && (a === 'bytes' || b === 'bytes') && a !== 'i8' && b !== 'i8');
}

function checkPart(part: unknown): ArrayRange {
  const { array } = (part ?? {}) as Partial<ArrayRange>;
  if (array instanceof ManagedArray) return part as ArrayRange;
  const what = array === undefined ? show(part) : `an object with ${show(array)} as its array`;
  throw typeError('ARRAY_RANGE', `a part of a managed array is wanted, such as array.range(0, 100), not ${what}`);
}
