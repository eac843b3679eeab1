/** Events: places in a stream. */
import type { StreamEvent as WireEvent } from '../pager/protocol.js';
import { fromWire, OnememError, typeError } from './errors.js';
import type { Stream } from './stream.js';

/** A place in a stream: done when everything up to it is. */
export class StreamEvent {
  private ended: WireEvent | null = null;
  private listeners: (() => void)[] = [];
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

  get error(): Error | null {
    return this.ended?.error == null ? null : fromWire(this.ended.error);
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
   * Milliseconds from the end of an earlier event of the same space to the end of this one, on the manager's clock; negative when
   * this one ended first.
   */
  since(earlier: StreamEvent): number {
    if (earlier.stream.space !== this.stream.space) {
      throw typeError('FOREIGN_EVENT', 'the events belong to different spaces, whose clocks began at different times');
    }
    return this.times().endedMs - earlier.times().endedMs;
  }

  /** Waits for this operation; rejects with its own error. */
  async synchronize(): Promise<void> {
    if (this.ended === null) await new Promise<void>((resolve) => this.listeners.push(resolve));
    const { error } = this;
    if (error !== null) throw error;
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
