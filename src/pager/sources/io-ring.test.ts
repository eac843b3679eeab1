import { EventEmitter } from 'node:events';
import { existsSync, openSync } from 'node:fs';
import { constants as os } from 'node:os';
import type { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import type { DescriptorReserve } from '../../linux/files/descriptor-reserve.js';
import { CONTROL_WORDS, Control } from '../protocol/control.js';
import { endStart } from '../protocol/starting.js';
import {
  IoEngine,
  type IoJob,
  JOB_WORDS,
  Job,
  type JobRing,
  type Resort,
  Signal,
} from './io-ring.js';

class Thread extends EventEmitter {
  private next: number;
  private readonly signal: Int32Array;

  constructor(
    private readonly ring: JobRing,
    isUp: boolean,
  ) {
    super();
    this.next = ring.first;
    this.signal = new Int32Array(ring.signals);
    if (isUp) this.up();
  }

  up(): void {
    Atomics.store(this.signal, Signal.Up, 1);
    endStart(this.ring.start);
  }

  unref(): void {
    // Nothing keeps a test alive.
  }

  /** Does one job; its result is its length. */
  work(): void {
    const words = new Float64Array(this.ring.numbers);
    words[this.next * JOB_WORDS + Job.Result] = words[this.next * JOB_WORDS + Job.Length];
    Atomics.store(this.signal, Signal.Done, ++this.next);
  }

  end(): void {
    this.emit('exit', 1);
  }
}

/** Stands in for descriptors that are kept: a thread starts while they are lent. */
class Reserve {
  lent = 0;

  lend(): void {
    this.lent++;
  }

  back(): void {
    this.lent--;
  }
}

class World {
  now = 1;
  failing = false;
  /** Threads take a while to come up. */
  slow = false;
  readonly threads: Thread[] = [];
  readonly results: number[] = [];
  readonly control = new Int32Array(new SharedArrayBuffer(CONTROL_WORDS * 4));
  readonly engine: IoEngine;

  /** @param reserve what a thread needs that starts while it fails to */
  constructor(resort: Resort = {}, reserve = new Reserve()) {
    const start = (ring: JobRing): Worker => {
      if (this.failing && reserve.lent === 0)
        throw Object.assign(new Error('none left'), { code: 'EMFILE' });
      const thread = new Thread(ring, !this.slow);
      this.threads.push(thread);
      return thread as unknown as Worker;
    };
    const control = this.control.buffer as SharedArrayBuffer;
    this.engine = new IoEngine(-1, control, () => this.now, start, '', resort);
  }

  have(job: Partial<IoJob>): void {
    const done = (result: number): void => void this.results.push(result);
    this.engine.begin({ kind: Job.Read, fd: 0, address: 0, length: 0, offset: 0, ...job, done });
  }

  read(length: number): void {
    this.have({ kind: Job.Read, length });
  }

  wait(ms: number): void {
    for (let waited = 0; waited < ms; waited += 10) {
      this.now += 10;
      this.engine.poll();
    }
  }
}

it('waits for a thread that cannot start for a while', () => {
  const world = new World();
  world.failing = true;
  world.read(5);
  world.read(6);
  world.wait(3000);
  expect(world.results).toEqual([]);
  expect(world.engine.sleepMs(200)).toBeLessThan(200);
  world.failing = false;
  world.wait(1000);
  expect(world.threads).toHaveLength(1);
  world.threads[0].work();
  world.threads[0].work();
  world.engine.poll();
  expect(world.results).toEqual([5, 6]);
});

it('says why when there is no thread for too long, and tries again for what comes later', () => {
  const world = new World();
  world.failing = true;
  world.read(5);
  world.wait(12_000);
  expect(world.results).toEqual([-os.errno.EMFILE]);
  world.failing = false;
  world.read(7);
  world.threads[0].work();
  world.engine.poll();
  expect(world.results).toEqual([-os.errno.EMFILE, 7]);
});

it('fails what a thread was at when it ended, and has another one do the rest', () => {
  const world = new World();
  for (const length of [1, 2, 3]) world.read(length);
  world.threads[0].work();
  expect(world.engine.needsTurn()).toBe(false);
  world.now += 2000;
  expect(world.engine.needsTurn()).toBe(true);
  world.threads[0].end();
  expect(world.results).toEqual([1, -os.errno.EIO]);
  world.wait(100);
  world.threads[1].work();
  world.engine.poll();
  expect(world.results).toEqual([1, -os.errno.EIO, 3]);
});

it('closes a file after its last job, be it handed in or not', () => {
  const world = new World();
  const [fd, idle] = [openSync('/dev/null', 'r'), openSync('/dev/null', 'r')];
  const isOpen = (each: number): boolean => existsSync(`/proc/self/fd/${each}`);
  for (let count = 0; count < 300; count++) world.have({ kind: Job.Sync, fd });
  world.engine.closeFile(fd);
  world.engine.closeFile(idle);
  expect([isOpen(fd), isOpen(idle)]).toEqual([true, false]);
  for (let count = 0; count < 299; count++) {
    world.threads[0].work();
    world.engine.poll();
  }
  expect([world.results.length, isOpen(fd)]).toEqual([299, true]);
  world.threads[0].work();
  world.engine.poll();
  expect([world.results.length, isOpen(fd)]).toEqual([300, false]);
});

it('has a thread that is not up yet counted, so that nobody stops it', () => {
  const world = new World();
  const starting = (): number => Atomics.load(world.control, Control.StartingThreads);
  world.failing = true;
  world.read(1);
  expect(starting()).toBe(0);
  world.failing = false;
  world.slow = true;
  world.wait(100);
  expect(starting()).toBe(1);
  // It ends before it is up, and so does not the next one.
  world.threads[0].end();
  expect(starting()).toBe(0);
  world.wait(100);
  expect(starting()).toBe(1);
  world.threads[1].up();
  world.threads[1].end();
  expect(starting()).toBe(0);
});

it('starts its thread with descriptors that are kept, and gives them back when it is up', () => {
  const reserve = new Reserve();
  const world = new World({ reserve: reserve as unknown as DescriptorReserve }, reserve);
  world.failing = true;
  world.slow = true;
  world.read(5);
  expect([world.threads.length, reserve.lent]).toEqual([1, 1]);
  world.threads[0].end();
  expect(reserve.lent).toBe(0);
  world.wait(100);
  expect([world.threads.length, reserve.lent]).toEqual([2, 1]);
  world.threads[1].up();
  world.threads[1].work();
  world.engine.poll();
  expect([world.results, reserve.lent]).toEqual([[5], 0]);
});

it('has another engine do what it can start no thread for, and tries again later', () => {
  const other = new World();
  const world = new World({ other: other.engine });
  world.failing = true;
  world.read(5);
  world.read(6);
  expect([world.engine.load, other.engine.load]).toEqual([2, 2]);
  other.threads[0].work();
  other.threads[0].work();
  other.engine.poll();
  expect(world.results).toEqual([5, 6]);
  world.failing = false;
  world.read(7);
  expect(world.threads).toHaveLength(0);
  world.wait(1000);
  world.read(8);
  world.threads[0].work();
  world.engine.poll();
  expect(world.results).toEqual([5, 6, 8]);
});
