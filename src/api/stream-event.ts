/** Events: places in a stream. */

import type { StreamEvent as WireEvent } from '../pager/protocol/operations.js';
import type { WireError } from '../pager/protocol/wire.js';
import { show } from './arguments.js';
import { fromWire, OnememError, typeError } from './errors.js';
import type { Stream } from './stream.js';
import { refuseDeadlock } from './stream-call.js';

/** A place in a stream: done when everything up to it is. */
export class StreamEvent {
  private ended: WireEvent | null = null;
  private listeners: (() => void)[] = [];
  /** @internal Where the reason is, if the operation is cancelled. */
  signal: AbortSignal | null = null;
  /** @internal What a function of the program's threw. */
  thrown: { readonly value: unknown } | null = null;
  private covered: { begin: number; end: number } | null = null;
  /** @internal Returns the event that the program is to see instead, if it is another one. */
  onEnd: ((event: WireEvent) => WireEvent | undefined) | null = null;

  /** @internal */
  constructor(
    readonly stream: Stream,
    /** @internal */
    readonly sequence: number,
  ) {}

  get done(): boolean {
    return this.ended !== null;
  }

  /** Undefined while it runs or waits. */
  get result(): 'done' | 'failed' | 'cancelled' | undefined {
    return this.ended?.result;
  }

  /** Why it failed or was cancelled; its `cause` is what a function threw, or the reason of the signal that was aborted. */
  get error(): Error | null {
    const error = this.ended?.error ?? null;
    if (error === null) return null;
    if (error.code === 'CALLBACK_ERROR' && this.thrown !== null) return fromWire(error, { cause: this.thrown.value });
    return this.aborted === null ? fromWire(error) : fromWire(error, { cause: this.aborted.reason });
  }

  /** @internal How it failed, or null: it has not ended, or well. */
  get failure(): WireError | null {
    return this.ended?.error ?? null;
  }

  /** @internal The signal that kept the operation from beginning, or ended it. */
  get aborted(): AbortSignal | null {
    const error = this.ended?.error ?? null;
    if (error?.code !== 'ABORTED' && error?.details.cause !== 'ABORTED') return null;
    return [this.signal, this.stream.signal].find((signal) => signal?.aborted === true) ?? null;
  }

  /** How long the operation took once its turn had come, in milliseconds. */
  get elapsedMs(): number {
    const { startedMs, endedMs } = this.times();
    return endedMs - startedMs;
  }

  /** Bytes that a prefetch made present, or that a copy has copied. */
  get bytes(): number {
    return this.ended?.bytes ?? 0;
  }

  /**
   * Of a prefetch that has ended: the elements that it was about, rounded outwards to whole pages, and no more than the processor's
   * memory has room for. Null for everything else.
   */
  get elements(): { readonly begin: number; readonly end: number } | null {
    return this.covered;
  }

  /**
   * Milliseconds from the end of an earlier event of the same space to the end of this one, on the manager's clock; negative when
   * this one ended first.
   */
  since(earlier: StreamEvent): number {
    checkEvent(earlier);
    if (earlier.stream.space !== this.stream.space) {
      throw typeError('FOREIGN_EVENT', 'the events belong to different spaces, whose clocks began at different times');
    }
    return this.times().endedMs - earlier.times().endedMs;
  }

  /**
   * Waits for this operation; rejects with its own error. Rejects with DEADLOCK at once where a function that the same stream calls
   * (`stream.call`) asks for what comes after itself.
   */
  async synchronize(): Promise<void> {
    refuseDeadlock(this);
    if (this.ended === null) await new Promise<void>((resolve) => this.listeners.push(resolve));
    const { error } = this;
    if (error !== null) throw error;
  }

  /** @internal */
  cover(elements: { begin: number; end: number }): void {
    this.covered = elements;
  }

  /** @internal */
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
      throw new OnememError('SPACE_CLOSED', 'the space was closed before the operation ended, which has no time then');
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
