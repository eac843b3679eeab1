/** Operations in order, concurrent across streams. Streams of the host run no kernels. */
import { bytesOf } from '../../core/basics/elements.js';
import { HOST } from '../../core/basics/types.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { StreamOperation } from '../../pager/protocol/operations.js';
import { wholePagesOf } from '../arrays/parts/array-part.js';
import { printAs, type StreamDescription } from '../arrays/parts/description.js';
import { type Place, pagesAround, placeOf } from '../arrays/parts/place.js';
import { checkCopy, copyEnd, stageEnds } from '../launches/copy.js';
import { noteCall } from '../launches/plain-copies.js';
import { Staging } from '../launches/staging.js';
import { prepareCall, refuseDeadlock } from '../launches/stream-call.js';
import { StreamOrder } from '../launches/stream-order.js';
import {
  cancelOperationOn,
  cancelStreamOn,
  checkSignal,
  reasonOf,
  type StreamState,
} from '../line/cancellation.js';
import { type DeviceInternals, isDevice, type SpaceInternals } from '../line/internals.js';
import type * as api from '../public.js';
import type { CopyOptions, CopyPlace, ManagedElements } from '../public.js';
import { checkOptions, show } from '../values/arguments.js';
import { DISPOSE } from '../values/disposal.js';
import { madeElsewhere, OnememError, typeError } from '../values/errors.js';
import { checkEvent, StreamEvent } from './stream-event.js';

const COPY_OPTIONS: OptionNames<CopyOptions> = { at: true, signal: true };

/** Streams that the program has dropped without a word: the manager must forget them, too. */
const droppedStreams = new FinalizationRegistry<() => void>((end) => end());

export class HostStream implements api.HostStream {
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
    readonly space: api.AddressSpace & SpaceInternals,
    readonly signal: AbortSignal | null = null,
    /** It is ended by its one launch: a launch by itself is one message to the manager. */
    protected readonly single = false,
    /** Where prefetches go that say nothing else; null: the host. */
    private readonly home: (api.Device & DeviceInternals) | null = null,
  ) {
    if (typeof space?.client !== 'object')
      throw madeElsewhere('a stream', 'space.stream() and device.stream()');
    const { client } = space;
    const stream = client.newStream();
    this.id = stream;
    this.state = { id: stream, closed: false };
    this.ignoreSignal =
      signal === null ? () => undefined : cancelStreamOn(signal, client, this.state);
    if (single) return;
    const { ignoreSignal } = this;
    const end = (): void => {
      ignoreSignal();
      client.tell('endStream', { stream });
    };
    droppedStreams.register(this, end, this);
  }

  placeText(inspect: (name: string) => string): string {
    return this.home === null ? 'host' : `device ${inspect(this.home.name)}`;
  }

  prefetch(part: ManagedElements, to: api.Device | 'host' = this.home ?? 'host'): StreamEvent {
    return this.bring('prefetch', part, this.numberOf(to), false);
  }

  discard(part: ManagedElements): StreamEvent {
    this.assertOpen();
    const place = this.placeOf('discard', part);
    const { array, length } = place;
    if (length === 0) return this.add({ kind: 'marker' });
    const { begin, end } = elementsOf(place);
    const pages = wholePagesOf(array, begin, end, 'discarded');
    const event = this.add({ kind: 'discard', ...pages });
    event.onEnd = ({ result }) => {
      if (result !== 'done') return undefined;
      const whole = array.elementsOf(pages.firstPage, pages.count);
      event.cover(whole);
      if (whole.begin === 0 && whole.end === array.length) array.indeterminate = false;
      return undefined;
    };
    return event;
  }

  free(part: ManagedElements): StreamEvent {
    this.assertOpen();
    const place = this.placeOf('free', part);
    const { array } = place;
    const { begin, end } = elementsOf(place);
    const whole = begin === 0 && end === array.length;
    if (begin === end && !whole) return this.add({ kind: 'marker' });
    if (!whole) array.refuseMapped('free a part of');
    const pages = whole ? array.allPages : wholePagesOf(array, begin, end, 'freed');
    const event = this.add({ kind: 'free', ...pages, whole });
    event.onEnd = ({ result }) => {
      if (result !== 'done') return undefined;
      event.cover(whole ? { begin, end } : array.elementsOf(pages.firstPage, pages.count));
      if (whole) array.wasFreed();
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
    if (signal?.aborted === true)
      return this.add({ kind: 'cancelled', reason: reasonOf(signal) }, signal);
    if (target.bytes === 0) return this.add({ kind: 'marker' }, signal);
    const staging = new Staging(this.space, 'a copy', this.order, null);
    const places = staging.attempt(() => stageEnds(target, source, staging));
    const event = this.addStaged(
      { kind: 'copy', ...places, bytes: target.bytes, at },
      staging,
      signal,
    );
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
    if (!event.done)
      this.order.waitFor({ order: event.stream.order, sequence: event.sequence }, event.after);
    return this.add({
      kind: 'wait',
      other: event.stream.id,
      otherSequence: event.sequence,
      failure: event.failure,
    });
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
    this.space.client.unseenFailures.told(this.id);
    this.space.client.tell('forgive', { stream: this.id });
    throw error;
  }

  toJSON(): StreamDescription {
    const place = this.home === null ? 'host' : this.home.name;
    return { place, state: this.state.closed ? 'closed' : 'open', pending: this.pending };
  }

  static {
    printAs(HostStream, (stream, inspect) => {
      const state = stream.state.closed ? 'closed' : `operations under way: ${stream.pending}`;
      return `Stream (${stream.placeText(inspect)}, ${state})`;
    });
  }

  [DISPOSE](): void {
    if (this.state.closed) return;
    this.state.closed = true;
    droppedStreams.unregister(this);
    if (this.pending === 0) this.end();
  }

  /** All given has ended, and the program knows how: waiting for events needs no manager. */
  private end(): void {
    this.ignoreSignal();
    if (!this.hasLast) this.space.client.tell('endStream', { stream: this.id });
  }

  protected assertOpen(): void {
    this.space.client.assertOpen('this stream');
    if (this.state.closed)
      throw new OnememError(
        'STREAM_CLOSED',
        'the stream has been disposed; make another by space.stream() or device.stream()',
      );
  }

  protected bring(
    verb: string,
    part: ManagedElements,
    device: number,
    exclusive: boolean,
  ): StreamEvent {
    this.assertOpen();
    const place = this.placeOf(verb, part);
    const { array, length } = place;
    const pages = pagesAround(place);
    const event = this.add(
      length === 0 ? { kind: 'marker' } : { kind: 'prefetch', device, ...pages, exclusive },
    );
    event.onEnd = (ended) => {
      if (ended.result === 'done' && length > 0)
        event.cover(array.elementsOf(pages.firstPage, ended.pages));
      return undefined;
    };
    return event;
  }

  /** Elements of a managed array of the space; nothing else will do. */
  private placeOf(verb: string, part: ManagedElements): Place {
    const place = placeOf(this.space, verb, part);
    if (place !== null) return place;
    const message = `cannot ${verb} ${show(part)}: elements of a managed array of this space are wanted, such as x.range(0, 100)`;
    throw typeError('ARRAY_RANGE', message);
  }

  /** By which the manager knows a place. */
  private numberOf(place: api.Device | 'host'): number {
    if (place === 'host') return HOST;
    if (!isDevice(place)) {
      throw typeError('DEVICE', `a place is a device of the space, or 'host', not ${show(place)}`);
    }
    if (place.space !== this.space) {
      throw typeError('FOREIGN_DEVICE', `device ${place.name} belongs to another space`);
    }
    place.assertUsable();
    return place.number;
  }

  /** A function in the stream's order, ours or the program's. */
  protected callback(callback: () => unknown, isOurs = false): StreamEvent {
    const { client } = this.space;
    const event = this.add({ kind: 'call', thread: this.space.client.thread });
    const run = prepareCall(event, callback, isOurs);
    const { id } = this;
    client.onCall(id, event.sequence, () => {
      void run().then((error) => client.called(id, event.sequence, error));
    });
    return event;
  }

  /** An operation with the program's own arrays, after what this thread must do for them. */
  protected addStaged(
    operation: OperationBody,
    staging: Staging,
    signal?: AbortSignal,
  ): StreamEvent {
    if (staging.hasStep) {
      const { client } = this.space;
      const { id } = this;
      const { sequence } = this.add({ kind: 'call', thread: this.space.client.thread });
      client.onCall(id, sequence, () => client.called(id, sequence, staging.step()));
    }
    const event = this.add(operation, signal);
    staging.begin(event.sequence);
    return event;
  }

  protected add(operation: OperationBody, signal?: AbortSignal): StreamEvent {
    const sequence = ++this.sequence;
    const event = new StreamEvent(this, sequence);
    const { client } = this.space;
    event.signal = signal ?? null;
    const ignore =
      signal === undefined || signal.aborted
        ? null
        : cancelOperationOn(signal, client, this.id, sequence);
    this.pending++;
    this.hasLast = operation.last === true;
    client.onStreamEvent(this.id, sequence, (ended) => {
      ignore?.();
      event.end(ended);
      if (event.result === 'failed' || event.aborted !== null)
        this.firstError ??= event.madeError();
      if (event.result === 'failed' && event.aborted === null && !this.single)
        client.unseenFailures.note(this.id, event.failure?.message ?? '', event.attention);
      if (--this.pending === 0 && this.state.closed) this.end();
    });
    client.tell('enqueue', { ...operation, stream: this.id, sequence } as StreamOperation);
    return event;
  }
}

export type OperationBody = StreamOperation extends infer O
  ? O extends StreamOperation
    ? Omit<O, 'stream' | 'sequence'>
    : never
  : never;

function elementsOf({ array, offset, length, type }: Place): { begin: number; end: number } {
  const begin = (offset - array.offset) / bytesOf(type);
  return { begin, end: begin + length };
}
