/** Events: places in a stream. */

import type { StreamEvent as WireEvent } from '../../pager/protocol/operations.js';
import type { WireError } from '../../pager/protocol/wire.js';
import { printAs, type StreamEventDescription } from '../arrays/parts/description.js';
import { refuseDeadlock } from '../launches/stream-call.js';
import type { StreamOrder } from '../launches/stream-order.js';
import type { SpaceInternals } from '../line/internals.js';
import type { Attention } from '../line/unseen-failures.js';
import type * as api from '../public.js';
import { show } from '../values/arguments.js';
import { fromWire, OnememError, typeError } from '../values/errors.js';

/** The stream that an event is a place in. */
interface StreamInternals extends api.HostStream {
  readonly id: number;
  readonly space: api.AddressSpace & SpaceInternals;
  readonly order: StreamOrder;
  /** The place that it is of, in words. */
  placeText(inspect: (name: string) => string): string;
  /** Aborted, it cancels what has not begun. */
  readonly signal: AbortSignal | null;
}

export class StreamEvent implements api.StreamEvent {
  private ended: WireEvent | null = null;
  private listeners: (() => void)[] = [];
  /** Whether the program has asked how it ended, or waits to hear. */
  readonly attention: Attention = { isSeen: false };
  /** Where the reason is, if the operation is cancelled. */
  signal: AbortSignal | null = null;
  /** What a function of the program's threw. */
  thrown: { readonly value: unknown } | null = null;
  private covered: { begin: number; end: number } | null = null;
  /** Returns the event that the program is to see instead, if it is another one. */
  onEnd: ((event: WireEvent) => WireEvent | undefined) | null = null;
  /** What its stream came after when it was given. */
  readonly after: StreamOrder['now'];

  constructor(
    readonly stream: StreamInternals,
    readonly sequence: number,
  ) {
    this.after = stream.order.now;
  }

  get done(): boolean {
    return this.ended !== null;
  }

  get result(): 'done' | 'failed' | 'cancelled' | undefined {
    return this.ended?.result;
  }

  get error(): Error | null {
    this.attention.isSeen = true;
    return this.madeError();
  }

  /** The same, without the program having looked. */
  madeError(): Error | null {
    const error = this.ended?.error ?? null;
    if (error === null) return null;
    if (error.code === 'CALLBACK_ERROR' && this.thrown !== null)
      return fromWire(error, { cause: this.thrown.value });
    return this.aborted === null
      ? fromWire(error)
      : fromWire(error, { cause: this.aborted.reason });
  }

  /** How it failed, or null: it has not ended, or well. */
  get failure(): WireError | null {
    return this.ended?.error ?? null;
  }

  /** The signal that kept the operation from beginning, or ended it. */
  get aborted(): AbortSignal | null {
    const error = this.ended?.error ?? null;
    if (error?.code !== 'ABORTED' && error?.details.cause !== 'ABORTED') return null;
    return [this.signal, this.stream.signal].find((signal) => signal?.aborted === true) ?? null;
  }

  get elapsedMs(): number {
    const { startedMs, endedMs } = this.times();
    return endedMs - startedMs;
  }

  get gpuMs(): number | undefined {
    return this.ended?.gpuMs;
  }

  get bytes(): number {
    return this.ended?.bytes ?? 0;
  }

  get elements(): { readonly begin: number; readonly end: number } | null {
    return this.covered;
  }

  since(earlier: api.StreamEvent): number {
    checkEvent(earlier);
    if (earlier.stream.space !== this.stream.space) {
      throw typeError(
        'FOREIGN_EVENT',
        'the events belong to different spaces, whose clocks began at different times',
      );
    }
    return this.times().endedMs - earlier.times().endedMs;
  }

  toJSON(): StreamEventDescription {
    const error = this.failure?.message ?? null;
    return { stream: this.stream.toJSON(), result: this.result ?? 'not ended', error };
  }

  static {
    printAs(StreamEvent, ({ stream, result = 'not ended yet', error }, inspect) => {
      const why = error === null ? '' : `: ${error.message}`;
      return `StreamEvent (${stream.placeText(inspect)}, ${result}${why})`;
    });
  }

  async synchronize(): Promise<void> {
    this.attention.isSeen = true;
    refuseDeadlock(this);
    if (this.ended === null) await new Promise<void>((resolve) => this.listeners.push(resolve));
    const { error } = this;
    if (error !== null) throw error;
  }

  cover(elements: { begin: number; end: number }): void {
    this.covered = elements;
  }

  end(event: WireEvent): void {
    this.ended = this.onEnd?.(event) ?? event;
    for (const listener of this.listeners) listener();
    this.listeners = [];
  }

  private times(): WireEvent {
    const { ended } = this;
    if (ended === null) {
      throw new OnememError(
        'NOT_READY',
        'the operation has not ended yet; await event.synchronize() or stream.synchronize() first',
      );
    }
    if (Number.isNaN(ended.endedMs)) {
      throw new OnememError(
        'SPACE_CLOSED',
        'the space was closed before the operation ended, which has no time then',
      );
    }
    return ended;
  }
}

export function checkEvent(event: unknown): asserts event is StreamEvent {
  if (event instanceof StreamEvent) return;
  throw typeError(
    'EVENT',
    `an event is wanted, which launch(), prefetch() and record() of a stream return, not ${show(event)}`,
  );
}
