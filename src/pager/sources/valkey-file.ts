/**
 * Frames of pages in the memory of a server: a value for each group of frames (64 KiB), which is written as a whole where the group is, and
 * in part where only some of its pages change. Threads of their own speak with the server: one writes, since what is written twice must
 * arrive in order, and two read.
 */
import { Worker } from 'node:worker_threads';
import { PAGE_BYTES, PAGES_PER_GROUP } from '../../core/types.js';
import { randomName } from '../../linux/random.js';
import type { ServerOptions } from '../protocol/space.js';
import { ForgottenTags } from './forgotten-tags.js';
import { IoEngines, type StoreFile } from './io-engines.js';
import { IoEngine, type JobRing } from './io-ring.js';
import { PageSums } from './page-sums.js';

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
  /** A mask for each group: frames that something has been written to, and that were not given back. */
  readonly groups: SharedArrayBuffer;
  /** Whether the thread that writes has a connection. */
  readonly reachable: SharedArrayBuffer;
  /** What that thread found forgotten. */
  readonly forgotten: SharedArrayBuffer;
}

export class ValkeyFile implements StoreFile {
  readonly engines: IoEngines;
  readonly forgotten = new ForgottenTags();
  private readonly sums: PageSums;
  private readonly groups: Uint16Array;
  private readonly reachable = new Int32Array(new SharedArrayBuffer(4));
  private readonly threads = new Set<Promise<void>>();

  constructor(server: ServerOptions, wakeFd: number, control: SharedArrayBuffer, now: () => number) {
    this.sums = new PageSums(server.bytes);
    const groups = Math.ceil(server.bytes / PAGE_BYTES / PAGES_PER_GROUP);
    this.groups = new Uint16Array(new SharedArrayBuffer(groups * 2));
    const prefix = randomName();
    const { buffer } = this.groups;
    const shared = {
      server,
      prefix,
      groups: buffer,
      reachable: this.reachable.buffer,
      forgotten: this.forgotten.buffer,
    } as const;
    const engine = (writes: boolean): IoEngine =>
      new IoEngine(wakeFd, control, now, (ring) => this.start({ ...shared, ring, writes } as ServerThread));
    const readers = Array.from({ length: READERS }, () => engine(false));
    this.engines = new IoEngines(readers, [engine(true)]);
  }

  /** Whether the server answered when it was written to last. */
  get isReachable(): boolean {
    return Atomics.load(this.reachable, 0) === 1;
  }

  mayRead(urgent: boolean): boolean {
    // What nobody waits for yet leaves places for who does.
    return this.engines.reader.load < (urgent ? DEPTH : DEPTH / 2);
  }

  mayWrite(): boolean {
    return this.engines.writer.load < DEPTH;
  }

  write(address: number, length: number, offset: number, done: (result: number) => void): void {
    this.each(offset, length, (group, frames) => {
      this.groups[group] |= frames;
    });
    this.engines.writer.writeSummed(-1, address, length, offset, this.sums.at(offset), done);
  }

  read(address: number, length: number, offset: number, done: (result: number) => void): void {
    this.engines.reader.readSummed(-1, address, length, offset, this.sums.at(offset), done);
  }

  /** Values go when none of their frames is used any more. */
  punch(offset: number, length: number, done: (result: number) => void): void {
    this.each(offset, length, (group, frames) => {
      this.groups[group] &= ~frames;
    });
    this.engines.writer.punch(-1, offset, length, done);
  }

  /** Nothing of it is under way any more: the threads have the server forget what it has, and end. */
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
    const worker = new Worker(new URL('../sources/valkey-engine.js', import.meta.url), {
      workerData: thread,
      name: 'onemem valkey',
    });
    const end = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    this.threads.add(end);
    void end.then(() => this.threads.delete(end));
    return worker;
  }

  private each(offset: number, length: number, visit: (group: number, frames: number) => void): void {
    const end = (offset + length) / PAGE_BYTES;
    for (let frame = offset / PAGE_BYTES; frame < end; ) {
      const group = Math.floor(frame / PAGES_PER_GROUP);
      const next = Math.min(end, (group + 1) * PAGES_PER_GROUP);
      const from = frame - group * PAGES_PER_GROUP;
      visit(group, ((1 << (next - frame)) - 1) << from);
      frame = next;
    }
  }
}
