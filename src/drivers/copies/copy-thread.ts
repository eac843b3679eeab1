/**
 * The manager's end of a thread of copies, which fills and maps pages that no thread waits for,
 * while the manager serves faults and, when it has nothing else to do, makes some of them itself.
 */
import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { PlacedThread } from '../../cpus/placed-threads.js';
import { isUsed } from '../../cpus/uses.js';
import { startOwnThread } from '../../linux/threads/own-threads.js';
import {
  areLeft,
  COPY_WORDS,
  type CopyRing,
  type Kind,
  PLACES,
  placeOf,
  SIGNALS,
  Signal,
  takeLast,
  Word,
} from './copy-ring.js';
import { PageCopier } from './page-copy.js';

/** Copies that take longer than this may have lost their thread: the event loop would know. */
const SUSPICIOUS_MS = 1000;
/** How long the thread may take for all copies that it has. */
const LIMIT_MS = 10_000;

/** A copy, in the words of the ring. */
export interface PageCopy {
  readonly kind: Kind;
  readonly faults: number;
  readonly source: number;
  readonly memory: number;
  readonly address: number;
  readonly length: number;
  readonly access: number;
  /**
   * Called in the manager's loop, or where a device has ended.
   * @param errno 0, or the error number of the call that failed
   * @param progress bytes that were mapped by then; -1: the pages got no memory, and nothing was
   * copied
   */
  readonly done: (errno: number, progress: number) => void;
}

/** What of the space the threads of copies need. */
export type CopySurroundings = Omit<CopyRing, 'numbers' | 'signals'>;

interface Running extends PageCopy {
  readonly number: number;
}

export class CopyThread {
  private readonly numbers = new SharedArrayBuffer(PLACES * COPY_WORDS * 8);
  private readonly signals = new SharedArrayBuffer(SIGNALS * 4);
  private readonly words = new Float64Array(this.numbers);
  private readonly signal = new Int32Array(this.signals);
  private worker: Worker | null = null;
  private readonly copier = new PageCopier(this.words);
  /** Those that have not been answered, in the order of their numbers. */
  private readonly running: Running[] = [];
  /** The thread's copies that have been answered. */
  private finished = 0;
  /** The thread, to be kept off the manager's CPU. */
  private placed: PlacedThread | null = null;
  private readonly isApart = isUsed('copies-apart');
  /** When a copy ended last, or the event loop was asked. */
  private lastEnd = 0;
  /** Why there is no thread any more. */
  private lost: Error | null = null;
  private closed = false;

  constructor(
    readonly name: string,
    private readonly surroundings: CopySurroundings,
    private readonly now: () => number,
    private readonly hasCpu: () => boolean,
  ) {}

  mayTake(): boolean {
    if (this.closed || !this.hasRoom || !this.hasCpu()) return false;
    // It is started with the first copy that it could have; the manager copies until it is up.
    if (this.worker === null && this.lost === null) this.start();
    return this.isUp;
  }

  private get isUp(): boolean {
    return Atomics.load(this.signal, Signal.Thread) !== 0;
  }

  private get hasRoom(): boolean {
    if (this.running.length === 0) return true;
    return ((Atomics.load(this.signal, Signal.End) - this.running[0].number) | 0) < PLACES;
  }

  add(copy: PageCopy): void {
    if (this.running.length === 0) {
      this.lastEnd = this.now();
      this.leaveManagerCpu();
    }
    const { words, signal } = this;
    const number = Atomics.load(signal, Signal.End);
    const at = placeOf(number);
    words[at + Word.Kind] = copy.kind;
    words[at + Word.Faults] = copy.faults;
    words[at + Word.Source] = copy.source;
    words[at + Word.Memory] = copy.memory;
    words[at + Word.Address] = copy.address;
    words[at + Word.Length] = copy.length;
    words[at + Word.Access] = copy.access;
    this.running.push({ ...copy, number });
    Atomics.store(signal, Signal.End, (number + 1) | 0);
    Atomics.notify(signal, Signal.End);
  }

  /** Makes and answers the last copy that nobody has taken; false: there is none. */
  help(): boolean {
    if (this.running.length === 0 || !areLeft(this.signal) || !takeLast(this.signal)) return false;
    const copy = this.running.pop() as Running;
    this.copier.carryOut(placeOf(copy.number));
    this.answer(copy);
    return true;
  }

  private answer({ number, done }: Running): void {
    const at = placeOf(number);
    done(this.words[at + Word.Result], this.words[at + Word.Progress]);
  }

  /**
   * Has the thread run on another CPU than this one: where CPUs are busy the kernel looks for none
   * that is idle, and wakes threads where they ran last.
   */
  private leaveManagerCpu(): void {
    if (!this.isApart) return;
    this.placed ??= new PlacedThread(Atomics.load(this.signal, Signal.Thread));
    this.placed.keepOff();
  }

  /** Whether copies have ended that have not been answered. */
  get haveEnds(): boolean {
    return this.running.length > 0 && Atomics.load(this.signal, Signal.Done) !== this.finished;
  }

  /** Copies that neither the thread nor the manager has begun. */
  get left(): number {
    if (this.running.length === 0) return 0;
    return Math.max(
      0,
      (Atomics.load(this.signal, Signal.End) - Atomics.load(this.signal, Signal.First)) | 0,
    );
  }

  get isBusy(): boolean {
    return this.running.length > 0;
  }

  /**
   * Answers the copies that have ended; false when there is none. Throws when the thread has ended,
   * since it is not known what it has mapped.
   */
  poll(): boolean {
    if (this.running.length === 0) return false;
    const done = Atomics.load(this.signal, Signal.Done);
    if (this.finished === done) {
      if (this.lost !== null) throw this.lost;
      return false;
    }
    this.lastEnd = this.now();
    while (this.finished !== done) {
      this.finished = (this.finished + 1) | 0;
      this.answer(this.running.shift() as Running);
    }
    return true;
  }

  /** Waits until all copies have ended, and answers them. */
  settle(): void {
    const limit = this.now() + LIMIT_MS;
    while (this.running.length > 0) {
      const done = Atomics.load(this.signal, Signal.Done);
      if (done === this.finished) Atomics.wait(this.signal, Signal.Done, done, SUSPICIOUS_MS);
      if (!this.poll() && this.now() > limit) {
        throw new Error(`${this.name} has not copied anything for ${LIMIT_MS / 1000} s`);
      }
    }
  }

  /** Whether a turn of the event loop is needed, which tells what has become of the thread. */
  needsTurn(): boolean {
    if (this.running.length === 0) return false;
    const now = this.now();
    if (now - this.lastEnd < SUSPICIOUS_MS) return false;
    this.lastEnd = now;
    return true;
  }

  /** Ends the thread, which has no copy any more. */
  close(): void {
    this.closed = true;
    Atomics.store(this.signal, Signal.Stop, 1);
    Atomics.add(this.signal, Signal.End, 1);
    Atomics.notify(this.signal, Signal.End);
  }

  /** Resolves when the thread has ended. It must not be stopped before it is up. */
  async ended(): Promise<void> {
    if (this.worker === null || this.lost !== null) return;
    // Nothing else may keep the manager's event loop going, and the end of the manager's thread
    // would stop this one.
    this.worker.ref();
    await once(this.worker, 'exit');
  }

  private start(): void {
    const { numbers, signals, surroundings } = this;
    const counts = new Int32Array(surroundings.control);
    const started = (): void => {
      Atomics.sub(counts, surroundings.starting, 1);
      Atomics.notify(counts, surroundings.starting);
    };
    Atomics.add(counts, surroundings.starting, 1);
    try {
      this.worker = startCopier(this.name, { numbers, signals, ...surroundings });
    } catch (error) {
      started();
      this.lost = endOf(this.name, error);
      return;
    }
    this.worker.unref();
    let problem: unknown = null;
    this.worker.on('error', (error) => {
      problem = error;
    });
    this.worker.on('exit', (code) => {
      if (Atomics.exchange(this.signal, Signal.Thread, 0) === 0) started();
      this.lost = endOf(this.name, problem ?? `exit code ${code}`);
    });
  }
}

function endOf(name: string, why: unknown): Error {
  return new Error(`${name} ended (${why instanceof Error ? why.message : String(why)})`);
}

function startCopier(name: string, ring: CopyRing): Worker {
  return startOwnThread(new URL('../../drivers/copies/copier.cjs', import.meta.url), {
    workerData: ring,
    name: `onemem ${name}`,
    // It prints nothing: this thread need not load what pipes and terminals take.
    stdout: true,
    stderr: true,
  });
}
