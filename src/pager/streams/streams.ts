/**
 * Streams: operations in the order in which they were given, concurrent across streams. After the
 * first failure of a stream its later operations are cancelled until the program has been told. An
 * event is a place in a stream, so that waiting for one needs no table of events. An operation
 * begins when the one before it has ended, but for launches whose device keeps their order: those
 * are handed to it together, and end in their order.
 */
import { getOrMake } from '../../core/basics/get-or-make.js';
import type {
  Cancellation,
  OperationDone,
  OperationFigures,
  StreamEvent,
  StreamOperation,
} from '../protocol/operations.js';
import { abortError, type WireError, wireError } from '../protocol/wire.js';

export interface StreamSurroundings {
  execute(operation: StreamOperation, done: OperationDone): void;
  /**
   * Takes an operation back that is waiting for its device: true if it had not begun and will not.
   * A launch that runs is ended, where its device can do that, and then fails by itself.
   */
  withdraw(operation: StreamOperation, reason: string): boolean;
  /** How many operations may be under way before the one that follows; 1: it must have ended. */
  mostTogether(operation: StreamOperation, next: StreamOperation): number;
  /** An operation was given, and will end. @param waits for others of its stream */
  given(operation: StreamOperation, waits: boolean): void;
  over(operation: StreamOperation): void;
  /** Whether the thread of a function is still there. */
  threadExists(thread: number): boolean;
  now(): number;
  /** Whether another operation may begin now. What may not begins by `go`. */
  mayBegin(): boolean;
}

/** The client that gave a stream its operations; no other is told of them. */
export interface StreamOwner {
  ended(event: StreamEvent): void;
  /** A function of the program's is to run. */
  call(stream: number, sequence: number): void;
}

interface Running {
  readonly operation: StreamOperation;
  readonly done: OperationDone;
  readonly startedMs: number;
  /** How it has ended, while one before it has not; null: it has not. */
  end: Ending | null;
}

interface Ending {
  readonly result: StreamEvent['result'];
  readonly error: WireError | null;
  readonly figures: OperationFigures;
}

interface Stream {
  readonly id: number;
  /** Null: nothing has been given yet. */
  owner: StreamOwner | null;
  readonly queue: StreamOperation[];
  /** Place of the next operation in the queue; those before it are gone. */
  head: number;
  /** Operations that have begun, in their order. */
  readonly running: Running[];
  /** The last operation that has ended, well or not. */
  completed: number;
  failed: WireError | null;
  /** First operation that failed: what waits for it, or for one behind it, is told. */
  failedSequence: number;
  /** Set once the program has said that nothing more may begin. */
  aborted: WireError | null;
  ended: boolean;
  /** Its operations are being begun: what ends at once must not begin the next one from within. */
  advancing: boolean;
}

/**
 * An operation that waits for an event of another stream; it is watched from the moment it is
 * given, since that stream may be gone by its turn.
 */
interface Waiter {
  readonly other: number;
  readonly sequence: number;
  /** What became of the event; undefined: it has not happened. */
  outcome: WireError | null | undefined;
  /** Set once its turn has come. */
  done: OperationDone | null;
}

/** How often the manager looks whether the threads that run functions are still there. */
const LOOK_MS = 200;

export class Streams {
  private readonly streams = new Map<number, Stream>();
  private readonly waiters = new Map<StreamOperation, Waiter>();
  /** Streams whose running operation is a function of the program's. */
  private readonly calling = new Set<Stream>();
  /** Streams with operations that could begin, and were to wait so that others got their turn. */
  private readonly ready = new Set<Stream>();
  private lastLook = 0;
  /** How many operations have ended, of which their owners have been told. */
  ends = 0;

  constructor(private readonly around: StreamSurroundings) {}

  /** Whether `go` has something to begin. */
  get busy(): boolean {
    return this.ready.size > 0;
  }

  /** Begins operations that had to wait, of each stream in turn. */
  go(): void {
    for (const stream of [...this.ready]) {
      this.ready.delete(stream);
      this.advance(stream);
      // Its turn is over, and with it that of all others: they come first the next time.
      if (this.ready.has(stream)) break;
    }
  }

  enqueue(operation: StreamOperation, owner: StreamOwner): void {
    const stream = this.stream(operation.stream);
    stream.owner = owner;
    if (operation.last === true) stream.ended = true;
    this.around.given(operation, !isIdle(stream));
    if (operation.kind === 'wait') this.watch(operation);
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
    this.forgetIdle(stream);
  }

  /** Whether any stream has something to do. */
  get active(): boolean {
    for (const stream of this.streams.values()) if (!isIdle(stream)) return true;
    return false;
  }

  /** Fails every operation that has not begun. */
  cancelAll(why: WireError): void {
    for (const stream of this.streams.values()) {
      stream.failed ??= why;
      // What was handed over behind another one has not begun, either.
      this.giveUp(stream.running.slice(1), why);
      // All at once: afterwards no client is told of anything.
      this.advance(stream, true);
    }
  }

  /** Keeps what has not begun from beginning: one operation, or all. A running launch is ended. */
  cancel({ stream: id, sequence, ended, reason }: Cancellation): void {
    const stream = sequence !== null || ended ? this.streams.get(id) : this.stream(id);
    if (stream === undefined) return;
    if (sequence === null) stream.aborted ??= abortError(reason);
    else {
      const index = stream.queue.findIndex((operation) => operation.sequence === sequence);
      if (index >= stream.head) {
        this.around.over(stream.queue[index]);
        this.waiters.delete(stream.queue[index]);
        stream.queue[index] = { kind: 'cancelled', reason, stream: id, sequence };
      }
    }
    const error = abortError(reason);
    const meant = stream.running.filter(
      ({ operation }) => sequence === null || operation.sequence === sequence,
    );
    const taken = this.takeBack(meant, reason, error);
    // What is behind one that has not begun has not begun, either.
    if (sequence !== null && taken)
      this.giveUp(stream.running.slice(stream.running.indexOf(meant[0]) + 1), error);
    this.settle(stream);
  }

  /** A function of the program's is through; or, if its turn has not come, it will never run. */
  called(id: number, sequence: number, error: WireError | null): void {
    const stream = this.streams.get(id);
    if (stream === undefined) return;
    const [running] = stream.running;
    if (running?.operation.kind === 'call' && running.operation.sequence === sequence)
      running.done(error);
    else
      this.cancel({
        stream: id,
        sequence,
        ended: true,
        reason: error?.message ?? 'it was taken back',
      });
  }

  /** Ends the functions of threads that are gone. To be called now and then. */
  look(nowMs: number): void {
    if (this.calling.size === 0 || nowMs - this.lastLook < LOOK_MS) return;
    this.lastLook = nowMs;
    for (const {
      running: [running],
    } of [...this.calling]) {
      if (running?.operation.kind !== 'call' || this.around.threadExists(running.operation.thread))
        continue;
      running.done(
        wireError('THREAD_ENDED', 'the thread that was to run a function of its stream has ended'),
      );
    }
  }

  private stream(id: number): Stream {
    return getOrMake(this.streams, id, () => ({
      id,
      owner: null,
      queue: [],
      head: 0,
      running: [],
      completed: 0,
      failed: null,
      failedSequence: 0,
      aborted: null,
      ended: false,
      advancing: false,
    }));
  }

  private advance(stream: Stream, all = false): void {
    if (stream.advancing) return;
    stream.advancing = true;
    while (this.mayBeginNext(stream)) {
      if (!all && !this.around.mayBegin()) {
        this.ready.add(stream);
        break;
      }
      const operation = takeNext(stream);
      const refusal = refusalOf(stream);
      if (refusal === null) this.begin(stream, operation);
      else {
        this.fail(stream, operation, refusal);
        this.complete(stream, operation, 'cancelled', refusal, this.around.now());
      }
    }
    stream.advancing = false;
    this.forgetIdle(stream);
  }

  /** Whether there is a next operation, and those that have begun let it begin. */
  private mayBeginNext({ running, queue, head }: Stream): boolean {
    if (head === queue.length) return false;
    if (running.length === 0) return true;
    const last = running[running.length - 1];
    if (running.some(({ end }) => end !== null)) return false;
    return running.length < this.around.mostTogether(last.operation, queue[head]);
  }

  private begin(stream: Stream, operation: StreamOperation): void {
    const done: OperationDone = (error, figures = {}) => {
      // An operation that waited for a launch which was aborted has begun, and was not aborted
      // itself.
      const outcome = this.waiters.get(operation)?.outcome;
      const result =
        error === null ? 'done' : isAbort(error) && error !== outcome ? 'cancelled' : 'failed';
      running.end = { result, error, figures };
      this.settle(stream);
    };
    const running: Running = { operation, done, startedMs: this.around.now(), end: null };
    stream.running.push(running);
    switch (operation.kind) {
      case 'wait':
        this.waitFor(operation, done);
        break;
      case 'marker':
        done(null);
        break;
      case 'cancelled':
        done(abortError(operation.reason));
        break;
      case 'call':
        this.calling.add(stream);
        stream.owner?.call(stream.id, operation.sequence);
        break;
      default:
        this.around.execute(operation, done);
    }
  }

  /** Tells of the operations that have ended, in their order, and goes on. */
  private settle(stream: Stream): void {
    const { running } = stream;
    while (running.length > 0 && running[0].end !== null) {
      const { operation, startedMs, end } = running.shift() as Running & { end: Ending };
      const { result, error, figures } = end;
      this.calling.delete(stream);
      if (error !== null) {
        this.fail(stream, operation, error);
        this.giveUp(running, error);
      }
      this.complete(stream, operation, result, error, startedMs, figures);
    }
    this.advance(stream);
  }

  /** One before them has failed: those that can be had back do not run. */
  private giveUp(running: readonly Running[], error: WireError): void {
    this.takeBack(running, error.message, behind(error));
  }

  /** Ends waiting ones, last first, so that none begins meanwhile. Whether there were some. */
  private takeBack(running: readonly Running[], reason: string, error: WireError): boolean {
    let taken = false;
    for (const each of [...running].reverse()) {
      if (each.end !== null || !this.withdraw(each, reason)) continue;
      each.end = { result: 'cancelled', error, figures: {} };
      taken = true;
    }
    return taken;
  }

  private fail(stream: Stream, operation: StreamOperation, error: WireError): void {
    if (stream.failed !== null) return;
    stream.failed = error;
    stream.failedSequence = operation.sequence;
  }

  private complete(
    stream: Stream,
    operation: StreamOperation,
    result: StreamEvent['result'],
    error: WireError | null,
    startedMs: number,
    { bytes = 0, pages = 0, gpuMs }: OperationFigures = {},
  ): void {
    const { sequence } = operation;
    stream.completed = sequence;
    this.waiters.delete(operation);
    this.around.over(operation);
    this.ends++;
    stream.owner?.ended({
      stream: stream.id,
      sequence,
      result,
      error,
      startedMs,
      endedMs: this.around.now(),
      bytes,
      pages,
      ...(gpuMs === undefined ? {} : { gpuMs }),
    });
    for (const waiter of this.waiters.values()) {
      if (
        waiter.other !== stream.id ||
        waiter.outcome !== undefined ||
        waiter.sequence > stream.completed
      )
        continue;
      waiter.outcome = failureOf(stream, waiter.sequence);
      waiter.done?.(waiter.outcome);
    }
  }

  private watch(operation: StreamOperation & { kind: 'wait' }): void {
    const { other, otherSequence: sequence, failure } = operation;
    const stream = this.streams.get(other);
    let outcome: WireError | null | undefined;
    if (failure !== null) outcome = waitedInVain(failure);
    // A stream that is not known has ended, and all of its events with it; had one failed, the
    // program would know.
    else if (stream === undefined) outcome = null;
    else if (stream.completed >= sequence) outcome = failureOf(stream, sequence);
    this.waiters.set(operation, { other, sequence, outcome, done: null });
  }

  private waitFor(operation: StreamOperation, done: OperationDone): void {
    const waiter = this.waiters.get(operation);
    if (waiter === undefined || waiter.outcome !== undefined) done(waiter?.outcome ?? null);
    else waiter.done = done;
  }

  private withdraw({ operation }: Running, reason: string): boolean {
    return operation.kind === 'wait'
      ? this.waiters.delete(operation)
      : this.around.withdraw(operation, reason);
  }

  private forgetIdle(stream: Stream): void {
    if (stream.ended && isIdle(stream)) this.streams.delete(stream.id);
  }
}

function isIdle({ running, queue, head }: Stream): boolean {
  return running.length === 0 && head === queue.length;
}

/** The queue is cut now and then: moving a long one for each operation takes long. */
function takeNext(stream: Stream): StreamOperation {
  const operation = stream.queue[stream.head++];
  if (stream.head === stream.queue.length || stream.head >= 1024) {
    stream.queue.splice(0, stream.head);
    stream.head = 0;
  }
  return operation;
}

/** Why the next operation of the stream may not begin. */
function refusalOf({ aborted, failed }: Stream): WireError | null {
  return aborted !== null || failed === null ? aborted : behind(failed);
}

/** Of an operation behind one that failed. */
function behind({ code, message }: WireError): WireError {
  return wireError(
    'CANCELLED',
    `cancelled, since an earlier operation of the stream failed: ${message}`,
    {
      cause: code,
    },
  );
}

function failureOf({ failed, failedSequence }: Stream, sequence: number): WireError | null {
  return failed === null || sequence < failedSequence ? null : waitedInVain(failed);
}

function waitedInVain({ code, message }: WireError): WireError {
  return wireError('CANCELLED', `cancelled, since the awaited operation failed: ${message}`, {
    cause: code,
  });
}

function isAbort({ code, details }: WireError): boolean {
  return code === 'CANCELLED' && details.cause === 'ABORTED';
}
