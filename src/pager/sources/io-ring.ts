/**
 * The manager's end of the engine that reads and writes files. Its thread may not start for a
 * while, when the process has no descriptors or no memory left, and it may end: jobs go to another
 * engine then, where there is one, and otherwise wait for a thread until it is there, or fail when
 * there is none for too long.
 */
import { constants as os } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { closeDescriptor } from '../../linux/base/libc.js';
import type { DescriptorReserve } from '../../linux/files/descriptor-reserve.js';
import { startOwnThread } from '../../linux/threads/own-threads.js';
import { beginStart, endStart, type Start } from '../protocol/starting.js';

/**
 * Places of a job's numbers, and the kinds: `Open` makes a nameless file in the engine's folder,
 * `Sync` makes what was written survive a crash, `Punch` gives the space of a part of a file back.
 */
export const Job = {
  Kind: 0,
  Fd: 1,
  Address: 2,
  Length: 3,
  Offset: 4,
  Result: 5,
  /** Address of the checksums, a word a page, that a spilled page was written with. */
  Sums: 6,
  /** How many bytes had been moved when the job failed. */
  Moved: 7,

  Read: 1,
  Write: 2,
  Sync: 3,
  Open: 4,
  ReadSummed: 5,
  WriteSummed: 6,
  Punch: 7,
} as const;
export const JOB_WORDS = 8;
const PLACES = 256;
/** Words: jobs handed in, jobs done, whether to stop, whether it is up, and at a job. */
export const Signal = { HandedIn: 0, Done: 1, Stop: 2, Up: 3, Busy: 4 } as const;
const SIGNAL_WORDS = 5;

/** Between two tries to start the thread, from the first to the longest. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
/** How long jobs wait for a thread that cannot be started. */
const STARTING_LIMIT_MS = 10_000;
/** Jobs that take longer than this may have lost their thread: the event loop would know. */
const SUSPICIOUS_MS = 1000;

export interface JobRing {
  readonly numbers: SharedArrayBuffer;
  readonly signals: SharedArrayBuffer;
  /** Number of the first job that the thread is to do. */
  readonly first: number;
  readonly wakeFd: number;
  /** Its end is told when the thread is up. */
  readonly start: Start;
  /** Where a spill file is made. */
  readonly folder: string;
}

export interface IoJob {
  readonly kind: number;
  readonly fd: number;
  readonly address: number;
  readonly length: number;
  /** Below 0: where the descriptor stands. */
  readonly offset: number;
  /** Address of the checksums of whole pages, which are noted or compared. */
  readonly sums?: number;
  /**
   * Gets what has been moved, less at the end of a file; of `Open` the descriptor, of others 0; or
   * the negative error number, and what was moved before that. Of pages that are not as their
   * checksums say it gets the first (disk.ts).
   */
  readonly done: (result: number, moved: number) => void;
}

/** What helps where a thread cannot be started. */
export interface Resort {
  /** What it is started with when the process has no descriptors left. */
  readonly reserve?: DescriptorReserve;
  /** What does its jobs meanwhile. */
  readonly other?: IoEngine;
}

export class IoEngine {
  private worker: Worker | null = null;
  private readonly words: Float64Array;
  private readonly signal: Int32Array;
  private readonly numbers = new SharedArrayBuffer(PLACES * JOB_WORDS * 8);
  private readonly signals = new SharedArrayBuffer(SIGNAL_WORDS * 4);
  private handedIn = 0;
  private finished = 0;
  private readonly running: IoJob[] = [];
  private readonly waiting: IoJob[] = [];
  /** Files that are to be closed after their last job. */
  private readonly leaving = new Set<number>();
  private closed = false;
  /** When to start the thread again, and since when that is tried; 0: all is well. */
  private retryAt = 0;
  private failingSince = 0;
  private pause = FIRST_PAUSE_MS;
  private problem = 0;
  /** Until then the other engine does the jobs, and no thread is tried. */
  private otherUntil = 0;
  /** The reserve is lent to the thread that starts. */
  private hasReserve = false;
  /** When a job ended last, or the event loop was asked. */
  private lastEnd = 0;

  /** @param wakeFd raised whenever a job ends; `poll` must be called then */
  constructor(
    private readonly wakeFd: number,
    private readonly control: SharedArrayBuffer,
    private readonly now: () => number,
    private readonly start: (ring: JobRing) => Worker = startEngine,
    private readonly folder = '',
    private readonly resort: Resort = {},
  ) {
    this.words = new Float64Array(this.numbers);
    this.signal = new Int32Array(this.signals);
  }

  /** Hands a job to the thread, or to what does its jobs meanwhile. */
  begin(job: IoJob): void {
    if (this.closed) return;
    const { standIn } = this;
    if (standIn !== null) {
      standIn.begin(job);
      return;
    }
    if (this.running.length === 0) this.lastEnd = this.now();
    if (this.running.length < PLACES) this.handIn(job);
    else this.waiting.push(job);
    if (this.worker === null && this.retryAt === 0) this.startThread();
  }

  get load(): number {
    return this.running.length + this.waiting.length + (this.standIn?.load ?? 0);
  }

  /** The engine that does the jobs while this one has no thread; null: none does. */
  private get standIn(): IoEngine | null {
    const { other } = this.resort;
    return other !== undefined && this.worker === null && this.now() < this.otherUntil
      ? other
      : null;
  }

  /** Closes a file when its jobs have ended: by then its number could be another file's. */
  closeFile(fd: number): void {
    if (!this.closed && this.isUsed(fd)) this.leaving.add(fd);
    else closeDescriptor(fd);
  }

  private isUsed(fd: number): boolean {
    return this.running.some((job) => job.fd === fd) || this.waiting.some((job) => job.fd === fd);
  }

  /** Answers the jobs that have ended, and starts the thread again if it must be. */
  poll(): void {
    const done = Atomics.load(this.signal, Signal.Done);
    while (this.finished !== done) {
      this.lastEnd = this.now();
      this.answer(this.words[(this.finished % PLACES) * JOB_WORDS + Job.Result]);
    }
    if (this.hasReserve && Atomics.load(this.signal, Signal.Up) === 1) this.returnReserve();
    if (this.retryAt !== 0 && this.now() >= this.retryAt) this.startAgain();
  }

  /** Whether a turn of the event loop is needed, which tells what has become of the thread. */
  needsTurn(): boolean {
    if (this.running.length === 0 || this.worker === null) return false;
    if (Atomics.load(this.signal, Signal.Up) === 0) return true;
    const now = this.now();
    if (now - this.lastEnd < SUSPICIOUS_MS) return false;
    this.lastEnd = now;
    return true;
  }

  /** Milliseconds that the manager may sleep. */
  sleepMs(most: number): number {
    const starting = this.worker !== null && Atomics.load(this.signal, Signal.Up) === 0;
    return starting || this.retryAt !== 0 ? Math.min(most, FIRST_PAUSE_MS / 4) : most;
  }

  /**
   * Whether the thread reads or writes memory; none is begun once the engine is closed, and a job
   * that waits for the other end of a pipe is given up.
   */
  get isBusy(): boolean {
    return Atomics.load(this.signal, Signal.Busy) === 1;
  }

  close(): void {
    this.closed = true;
    if (this.worker === null) return;
    Atomics.store(this.signal, Signal.Stop, 1);
    Atomics.notify(this.signal, Signal.HandedIn);
    this.worker = null;
    this.returnReserve();
  }

  private startThread(): void {
    const { numbers, signals, wakeFd, folder } = this;
    Atomics.store(this.signal, Signal.Up, 0);
    const start = beginStart(this.control);
    let worker: Worker;
    try {
      worker = this.startWith({ numbers, signals, wakeFd, start, folder, first: this.finished });
    } catch (error) {
      endStart(start);
      this.lost(error);
      return;
    }
    this.worker = worker;
    worker.unref();
    let problem: unknown = null;
    worker.on('error', (error) => {
      problem = error;
    });
    worker.on('exit', () => {
      endStart(start);
      Atomics.store(this.signal, Signal.Busy, 0);
      if (this.worker !== worker) return;
      this.worker = null;
      this.lost(problem);
    });
  }

  /** Starts it with descriptors that are kept for that, if it must be. */
  private startWith(ring: JobRing): Worker {
    const { reserve } = this.resort;
    try {
      return this.start(ring);
    } catch (error) {
      if (reserve === undefined || this.hasReserve || !isOfDescriptors(error)) throw error;
      this.hasReserve = true;
      reserve.lend();
      return this.start(ring);
    }
  }

  private returnReserve(): void {
    if (this.hasReserve) this.resort.reserve?.back();
    this.hasReserve = false;
  }

  /** The thread has ended, or could not be started. */
  private lost(error: unknown): void {
    if (this.closed) return;
    this.problem = errnoOf(error);
    this.returnReserve();
    const now = this.now();
    const wasUp = Atomics.load(this.signal, Signal.Up) === 1;
    if (wasUp) {
      this.failingSince = 0;
      this.pause = FIRST_PAUSE_MS;
      // What it was at may have been done, or done in part: the request that asked for it must
      // know.
      const done = Atomics.load(this.signal, Signal.Done);
      while (this.finished !== done)
        this.answer(this.words[(this.finished % PLACES) * JOB_WORDS + Job.Result]);
      if (this.running.length > 0) {
        Atomics.store(this.signal, Signal.Done, (done + 1) | 0);
        this.answer(-os.errno.EIO);
      }
    } else if (this.resort.other !== undefined) {
      this.handOver(this.resort.other);
      this.otherUntil = now + LONGEST_PAUSE_MS;
    }
    if (this.running.length === 0) return;
    if (this.failingSince === 0) this.failingSince = now;
    this.retryAt = now + this.pause;
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }

  /** Gives another engine the jobs, of which no thread has begun any. */
  private handOver(other: IoEngine): void {
    this.finished = this.handedIn;
    Atomics.store(this.signal, Signal.Done, this.finished);
    for (const job of [...this.running.splice(0), ...this.waiting.splice(0)]) other.begin(job);
  }

  private startAgain(): void {
    if (this.now() - this.failingSince >= STARTING_LIMIT_MS) {
      // Those that are asked for meanwhile have a try of their own.
      for (let left = this.running.length + this.waiting.length; left > 0; left--) {
        Atomics.store(this.signal, Signal.Done, (this.finished + 1) | 0);
        this.answer(-this.problem);
      }
      this.failingSince = 0;
      this.pause = FIRST_PAUSE_MS;
    }
    this.retryAt = 0;
    if (this.running.length > 0) this.startThread();
  }

  private answer(result: number): void {
    const job = this.running.shift() as IoJob;
    const moved = this.words[(this.finished % PLACES) * JOB_WORDS + Job.Moved];
    this.finished = (this.finished + 1) | 0;
    const next = this.waiting.shift();
    if (next !== undefined) this.handIn(next);
    job.done(result, moved);
    if (this.leaving.has(job.fd) && !this.isUsed(job.fd)) {
      this.leaving.delete(job.fd);
      closeDescriptor(job.fd);
    }
  }

  private handIn(job: IoJob): void {
    const at = (this.handedIn % PLACES) * JOB_WORDS;
    this.words[at + Job.Kind] = job.kind;
    this.words[at + Job.Fd] = job.fd;
    this.words[at + Job.Address] = job.address;
    this.words[at + Job.Length] = job.length;
    this.words[at + Job.Offset] = job.offset;
    this.words[at + Job.Sums] = job.sums ?? 0;
    this.words[at + Job.Moved] = 0;
    this.running.push(job);
    this.handedIn = (this.handedIn + 1) | 0;
    Atomics.store(this.signal, Signal.HandedIn, this.handedIn);
    Atomics.notify(this.signal, Signal.HandedIn);
  }
}

function startEngine(ring: JobRing): Worker {
  return startOwnThread(new URL('../sources/io-engine.cjs', import.meta.url), {
    workerData: ring,
    name: 'onemem io',
  });
}

/** Of a thread that cannot start: no descriptors, no threads, or else no memory. */
function errnoOf(error: unknown): number {
  const { code = '', message = '' } = (error ?? {}) as { code?: string; message?: string };
  const [name] = /\b(EMFILE|ENFILE|EAGAIN)\b/.exec(`${code} ${message}`) ?? [];
  return os.errno[(name ?? 'ENOMEM') as 'EMFILE' | 'ENFILE' | 'EAGAIN' | 'ENOMEM'];
}

function isOfDescriptors(error: unknown): boolean {
  return [os.errno.EMFILE, os.errno.ENFILE].includes(errnoOf(error));
}
