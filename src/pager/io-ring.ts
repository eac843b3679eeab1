/** The manager's end of the engine that reads and writes files. */
import { Worker } from 'node:worker_threads';

/** Places of a job's numbers, and the kinds. */
export const Job = { Kind: 0, Fd: 1, Address: 2, Length: 3, Offset: 4, Result: 5, Read: 1, Write: 2, Sync: 3 } as const;
export const JOB_WORDS = 8;
const PLACES = 256;

export interface JobRing {
  readonly numbers: SharedArrayBuffer;
  /** Words: jobs handed in, jobs done, stop. */
  readonly signals: SharedArrayBuffer;
}

interface Waiting {
  readonly fd: number;
  readonly kind: number;
  readonly address: number;
  readonly length: number;
  readonly offset: number;
  readonly done: (result: number) => void;
}

export class IoEngine {
  private worker: Worker | null = null;
  private readonly words: Float64Array;
  private readonly signal: Int32Array;
  private readonly ring: JobRing;
  private handedIn = 0;
  private finished = 0;
  private readonly running: Waiting[] = [];
  private readonly waiting: Waiting[] = [];

  /** @param wakeFd raised whenever a job ends; `poll` must be called then */
  constructor(private readonly wakeFd: number) {
    this.ring = {
      numbers: new SharedArrayBuffer(PLACES * JOB_WORDS * 8),
      signals: new SharedArrayBuffer(16),
    };
    this.words = new Float64Array(this.ring.numbers);
    this.signal = new Int32Array(this.ring.signals);
  }

  /** Reads a file into memory. `done` gets the bytes read, fewer at the end of the file, or the negative error number. */
  read(fd: number, address: number, length: number, offset: number, done: (result: number) => void): void {
    this.add({ kind: Job.Read, fd, address, length, offset, done });
  }

  /** Writes memory to a file. */
  write(fd: number, address: number, length: number, offset: number, done: (result: number) => void): void {
    this.add({ kind: Job.Write, fd, address, length, offset, done });
  }

  /** Has what was written to a file survive a crash of the machine. `done` gets 0 or the negative error number. */
  sync(fd: number, done: (result: number) => void): void {
    this.add({ kind: Job.Sync, fd, address: 0, length: 0, offset: 0, done });
  }

  /** Answers the jobs that have ended. */
  poll(): void {
    const done = Atomics.load(this.signal, 1);
    while (this.finished !== done) {
      const job = this.running.shift() as Waiting;
      const result = this.words[(this.finished % PLACES) * JOB_WORDS + Job.Result];
      this.finished = (this.finished + 1) | 0;
      const next = this.waiting.shift();
      if (next !== undefined) this.handIn(next);
      job.done(result);
    }
  }

  close(): void {
    if (this.worker === null) return;
    Atomics.store(this.signal, 2, 1);
    Atomics.notify(this.signal, 0);
    this.worker = null;
  }

  private add(job: Waiting): void {
    if (this.worker === null) {
      this.worker = new Worker(new URL('./io-engine.js', import.meta.url), {
        workerData: { ...this.ring, wakeFd: this.wakeFd },
        name: 'onemem io',
      });
      this.worker.unref();
    }
    if (this.running.length < PLACES) this.handIn(job);
    else this.waiting.push(job);
  }

  private handIn(job: Waiting): void {
    const at = (this.handedIn % PLACES) * JOB_WORDS;
    this.words[at + Job.Kind] = job.kind;
    this.words[at + Job.Fd] = job.fd;
    this.words[at + Job.Address] = job.address;
    this.words[at + Job.Length] = job.length;
    this.words[at + Job.Offset] = job.offset;
    this.running.push(job);
    this.handedIn = (this.handedIn + 1) | 0;
    Atomics.store(this.signal, 0, this.handedIn);
    Atomics.notify(this.signal, 0);
  }
}
