/**
 * Streams: operations in the order in which they were given, concurrent across streams. After the first failure of a stream its
 * later operations are cancelled until the program has been told. An event is a place in a stream, so that waiting for one needs
 * no table of events.
 */
import type { StreamEvent, StreamOperation, WireError } from './protocol.js';
import { wireError } from './wire.js';

/** Carries out one operation and calls `done` once. */
export type Executor = (operation: StreamOperation, done: (error: WireError | null, bytes: number) => void) => void;

interface Stream {
  readonly id: number;
  readonly queue: StreamOperation[];
  running: boolean;
  /** The last operation that has ended, well or not. */
  completed: number;
  failed: WireError | null;
  /** First operation that failed, for those who wait for it. */
  failedSequence: number;
  ended: boolean;
}

export class Streams {
  private readonly streams = new Map<number, Stream>();
  private readonly waiting: { other: number; sequence: number; done: (error: WireError | null) => void }[] = [];

  constructor(
    private readonly execute: Executor,
    private readonly report: (event: StreamEvent) => void,
    private readonly now: () => number,
  ) {}

  enqueue(operation: StreamOperation): void {
    const stream = this.stream(operation.stream);
    stream.queue.push(operation);
    this.advance(stream);
  }

  /** The program knows of the failure: the stream goes on. */
  forgive(id: number): void {
    const stream = this.streams.get(id);
    if (stream !== undefined) stream.failed = null;
  }

  /** No more operations will come. */
  end(id: number): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    stream.ended = true;
    if (!stream.running && stream.queue.length === 0) this.streams.delete(id);
  }

  /** Whether any stream has something to do. */
  get busy(): boolean {
    for (const stream of this.streams.values()) if (stream.running || stream.queue.length > 0) return true;
    return false;
  }

  /** Fails every operation that has not begun. */
  cancelAll(why: WireError): void {
    for (const stream of this.streams.values()) {
      stream.failed ??= why;
      this.advance(stream);
    }
  }

  private stream(id: number): Stream {
    let stream = this.streams.get(id);
    if (stream === undefined) {
      stream = { id, queue: [], running: false, completed: 0, failed: null, failedSequence: 0, ended: false };
      this.streams.set(id, stream);
    }
    return stream;
  }

  private advance(stream: Stream): void {
    while (!stream.running && stream.queue.length > 0) {
      const operation = stream.queue.shift() as StreamOperation;
      const startedMs = this.now();
      if (stream.failed !== null) {
        const cause = stream.failed;
        const error = wireError(
          'CANCELLED',
          `cancelled, since an earlier operation of the stream failed: ${cause.message}`,
          {
            cause: cause.code,
          },
        );
        this.complete(stream, operation, 'cancelled', error, startedMs, 0);
        continue;
      }
      stream.running = true;
      const done = (error: WireError | null, bytes = 0): void => {
        stream.running = false;
        if (error !== null) {
          stream.failed = error;
          stream.failedSequence = operation.sequence;
        }
        this.complete(stream, operation, error === null ? 'done' : 'failed', error, startedMs, bytes);
        this.advance(stream);
      };
      if (operation.kind === 'wait') this.waitFor(operation.other, operation.otherSequence, done);
      else if (operation.kind === 'marker') done(null, 0);
      else this.execute(operation, done);
      if (stream.running) return;
    }
    if (stream.ended && !stream.running && stream.queue.length === 0) this.streams.delete(stream.id);
  }

  private complete(
    stream: Stream,
    operation: StreamOperation,
    result: StreamEvent['result'],
    error: WireError | null,
    startedMs: number,
    bytes: number,
  ): void {
    stream.completed = operation.sequence;
    this.report({
      stream: stream.id,
      sequence: operation.sequence,
      result,
      error,
      startedMs,
      endedMs: this.now(),
      bytes,
    });
    for (let index = this.waiting.length - 1; index >= 0; index--) {
      const waiter = this.waiting[index];
      if (waiter.other !== stream.id || waiter.sequence > stream.completed) continue;
      this.waiting.splice(index, 1);
      waiter.done(this.failureOf(stream, waiter.sequence));
    }
  }

  private waitFor(other: number, sequence: number, done: (error: WireError | null) => void): void {
    const stream = this.streams.get(other);
    // A stream that is not known has ended, and all of its events with it.
    if (stream === undefined || stream.completed >= sequence) {
      done(stream === undefined ? null : this.failureOf(stream, sequence));
      return;
    }
    this.waiting.push({ other, sequence, done });
  }

  private failureOf(stream: Stream, sequence: number): WireError | null {
    if (stream.failed === null || sequence < stream.failedSequence) return null;
    return wireError('CANCELLED', `cancelled, since the awaited operation failed: ${stream.failed.message}`, {
      cause: stream.failed.code,
    });
  }
}
