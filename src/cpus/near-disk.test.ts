import { describe, expect, test } from 'vitest';
import { NearDisk } from './near-disk.js';

const ME = 17;

/** A manager that is told where to run. */
class FreeManager {
  cpu: number | null = null;

  hold(cpu = 0): number {
    if (cpu > 3) throw new Error('not a CPU of this process');
    this.cpu ??= cpu;
    return this.cpu;
  }

  letGo(): void {
    this.cpu = null;
  }
}

/** Threads that may run on any CPU but 2, and the one that is kept on one. */
class Threads {
  kept: { thread: number; cpu: number } | null = null;
  asked = 0;

  keep(thread: number, cpu: number): boolean {
    this.asked++;
    this.kept = cpu === 2 ? null : { thread, cpu };
    return this.kept !== null;
  }

  letGo(): void {
    this.kept = null;
  }
}

function open(cpu: number | null, folder: string | null = '/spill') {
  const manager = new FreeManager();
  const threads = new Threads();
  const found = { count: 0 };
  const near = new NearDisk(manager, threads, folder, () => {
    found.count++;
    return cpu;
  });
  return { manager, threads, near, found };
}

/** A thread faults, and the disk begins to read its page. */
function wait(near: NearDisk, nowMs: number, thread: number): void {
  near.faulted(thread);
  near.begun(nowMs);
}

/**
 * The disk reads so many pages, so many milliseconds apart, for a thread. Returns when the last one
 * began.
 */
function read(near: NearDisk, count: number, apartMs: number, fromMs = 100, thread = ME): number {
  for (let page = 0; page < count; page++) wait(near, fromMs + page * apartMs, thread);
  return fromMs + (count - 1) * apartMs;
}

describe('the manager', () => {
  test('is kept on the CPU of the disk while threads wait for one page after the other', () => {
    const { near, manager } = open(1);
    const last = read(near, 100, 0.1);
    near.look(last + 1);
    expect(manager.cpu).toBe(1);
    near.look(last + 11);
    expect(manager.cpu).toBeNull();
  });

  test('is kept where it is if the disk interrupts no CPU in particular', () => {
    const { near, manager } = open(null);
    read(near, 100, 0.1);
    expect(manager.cpu).toBe(0);
  });

  test('stays free for a few pages, and for pages that come now and then', () => {
    const { near, manager } = open(1);
    read(near, 20, 0.1);
    expect(manager.cpu).toBeNull();
    read(near, 1000, 20, 200);
    expect(manager.cpu).toBeNull();
  });

  test('is let go when it looks for the disk no more', () => {
    const { near, manager } = open(1);
    read(near, 100, 0.1);
    near.end();
    expect(manager.cpu).toBeNull();
    near.end();
  });

  test('stays on the CPU to which threads are bound', () => {
    const { near, manager, threads } = open(1);
    manager.cpu = 3;
    const last = read(near, 200, 0.1);
    near.look(last + 20);
    expect(manager.cpu).toBe(3);
    expect(threads.kept).toBeNull();
  });

  test('is kept nowhere where it may not have the CPU of the disk; that is looked up once', () => {
    const { near, manager, found } = open(7);
    read(near, 1000, 0.1);
    expect(manager.cpu).toBeNull();
    expect(found.count).toBe(1);
  });

  test('is not kept for pages that come ahead, of which one fault tells', () => {
    const { near, manager } = open(1);
    near.faulted(ME);
    for (let page = 0; page < 1000; page++) near.begun(100 + page * 0.1);
    expect(manager.cpu).toBeNull();
  });

  test('is kept nowhere without storage', () => {
    const { near, manager } = open(1, null);
    read(near, 100, 0.1);
    expect(manager.cpu).toBeNull();
  });
});

describe('a thread that alone waits for one page after the other', () => {
  test('is kept where the manager is until it rests', () => {
    const { near, threads } = open(1);
    read(near, 63, 0.1);
    expect(threads.kept).toBeNull();
    read(near, 10, 0.1);
    expect(threads.kept).toEqual({ thread: ME, cpu: 1 });
    near.threadRests();
    expect(threads.kept).toBeNull();
  });

  test('is kept again sooner than the first time', () => {
    const { near, threads } = open(1);
    const last = read(near, 100, 0.1);
    near.threadRests();
    read(near, 7, 0.1, last + 0.1);
    expect(threads.kept).toBeNull();
    wait(near, last + 0.9, ME);
    expect(threads.kept).not.toBeNull();
  });

  test('is kept again no sooner where another one has waited meanwhile', () => {
    const { near, threads } = open(1);
    const last = read(near, 100, 0.1);
    wait(near, last + 0.1, ME + 1);
    read(near, 63, 0.1, last + 0.2);
    expect(threads.kept).toBeNull();
    wait(near, last + 6.6, ME);
    expect(threads.kept).not.toBeNull();
  });

  test('runs where it likes when another one waits, too', () => {
    const { near, threads, manager } = open(1);
    const last = read(near, 100, 0.1);
    wait(near, last + 0.1, ME + 1);
    expect(threads.kept).toBeNull();
    for (let page = 1; page < 1000; page++) wait(near, last + page * 0.1, ME + (page % 2));
    expect(manager.cpu).toBe(1);
    expect(threads.asked).toBe(1);
  });

  test('may run where it likes when the manager looks for the disk no more', () => {
    const { near, threads } = open(1);
    read(near, 100, 0.1);
    near.end();
    expect(threads.kept).toBeNull();
  });

  test('is asked for once where it may not run there', () => {
    const { near, threads } = open(2);
    read(near, 1000, 0.1);
    expect(threads.kept).toBeNull();
    expect(threads.asked).toBe(1);
  });
});
