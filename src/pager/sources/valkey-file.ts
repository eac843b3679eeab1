/**
 * Frames of pages in the memory of a server, in values as value-table.ts says; a value is written
 * as a whole where all of its pages are, and in part where only some of them change. Threads of
 * their own speak with the server: one writes, since what is written twice must arrive in order,
 * and two read.
 */
import type { Worker } from 'node:worker_threads';
import { randomName } from '../../linux/base/random.js';
import { startOwnThread } from '../../linux/threads/own-threads.js';
import type { ServerOptions } from '../protocol/space.js';
import { ForgottenTags } from './forgotten-tags.js';
import { IoEngines, type StoreFile } from './io-engines.js';
import { IoEngine, Job, type JobRing } from './io-ring.js';
import { PageSums } from './page-sums.js';
import { type ValueMemory, ValueTable } from './value-table.js';

const READERS = 2;
/** Jobs of a thread at once: enough to keep a connection busy while checksums are looked at. */
const DEPTH = 6;
/** How long a space that is closed waits for what it has on the server to be given back. */
const CLOSING_MS = 3000;

/** What a thread that speaks with the server is started with. */
export interface ServerThread {
  readonly ring: JobRing;
  readonly server: ServerOptions;
  /** Begins the names of all values of this space, and no other name. */
  readonly prefix: string;
  readonly writes: boolean;
  readonly values: ValueMemory;
  /** Whether the thread that writes has a connection. */
  readonly reachable: SharedArrayBuffer;
  readonly forgotten: SharedArrayBuffer;
}

export class ValkeyFile implements StoreFile {
  readonly engines: IoEngines;
  readonly forgotten = new ForgottenTags();
  private readonly sums: PageSums;
  private readonly table: ValueTable;
  private readonly reachable = new Int32Array(new SharedArrayBuffer(4));
  private readonly threads = new Set<Promise<void>>();

  constructor(
    server: ServerOptions,
    wakeFd: number,
    control: SharedArrayBuffer,
    now: () => number,
  ) {
    this.sums = new PageSums(server.bytes);
    this.table = ValueTable.of(server.bytes);
    const prefix = randomName();
    const shared = {
      server,
      prefix,
      values: this.table.memory,
      reachable: this.reachable.buffer,
      forgotten: this.forgotten.buffer,
    } as const;
    const engine = (writes: boolean): IoEngine =>
      new IoEngine(wakeFd, control, now, (ring) =>
        this.start({ ...shared, ring, writes } as ServerThread),
      );
    const readers = Array.from({ length: READERS }, () => engine(false));
    this.engines = new IoEngines(readers, [engine(true)]);
  }

  /** Whether the server answered when it was written to last. */
  get isReachable(): boolean {
    return Atomics.load(this.reachable, 0) === 1;
  }

  mayRead(urgent: boolean): boolean {
    // Reads that no thread waits for yet leave places for those that a thread waits for.
    return this.engines.reader.load < (urgent ? DEPTH : DEPTH / 2);
  }

  mayWrite(): boolean {
    return this.engines.writer.load < DEPTH;
  }

  write(address: number, length: number, offset: number, done: (result: number) => void): void {
    this.table.note(offset, length, true);
    const sums = this.sums.at(offset);
    const job = { kind: Job.WriteSummed, fd: -1, address, length, offset, sums, done };
    this.engines.writer.begin(job);
  }

  read(address: number, length: number, offset: number, done: (result: number) => void): void {
    const sums = this.sums.at(offset);
    const job = { kind: Job.ReadSummed, fd: -1, address, length, offset, sums, done };
    this.engines.reader.begin(job);
  }

  /** Values go when none of their frames is used any more. */
  punch(offset: number, length: number, done: (result: number) => void): void {
    this.table.note(offset, length, false);
    this.engines.writer.begin({ kind: Job.Punch, fd: -1, address: 0, length, offset, done });
  }

  /** Nothing is under way any more: threads have the server forget all, and end. */
  close(): void {
    this.engines.close();
    this.sums.close();
  }

  /** The threads have ended, or take too long. */
  async ended(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, CLOSING_MS);
    });
    await Promise.race([Promise.all(this.threads), late]);
    clearTimeout(timer);
  }

  private start(thread: ServerThread): Worker {
    const worker = startOwnThread(new URL('../sources/valkey-engine.cjs', import.meta.url), {
      workerData: thread,
      name: 'onemem valkey',
    });
    const end = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    this.threads.add(end);
    void end.then(() => this.threads.delete(end));
    return worker;
  }
}
