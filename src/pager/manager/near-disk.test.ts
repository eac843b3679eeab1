import { describe, expect, test } from 'vitest';
import { NearDisk } from './near-disk.js';

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

/** The disk reads so many pages, so many milliseconds apart. Returns when the last one began. */
function read(near: NearDisk, count: number, apartMs: number, fromMs = 100): number {
  for (let page = 0; page < count; page++) near.begun(fromMs + page * apartMs);
  return fromMs + (count - 1) * apartMs;
}

describe('the manager', () => {
  test('is kept on the CPU of the disk while threads wait for one page after the other', () => {
    const manager = new FreeManager();
    const near = new NearDisk(manager, '/spill', () => 1);
    const last = read(near, 100, 0.1);
    near.look(last + 1);
    expect(manager.cpu).toBe(1);
    near.look(last + 11);
    expect(manager.cpu).toBeNull();
  });

  test('stays where it is for a few pages, and for pages that come now and then', () => {
    const manager = new FreeManager();
    const near = new NearDisk(manager, '/spill', () => 1);
    read(near, 20, 0.1);
    expect(manager.cpu).toBeNull();
    read(near, 1000, 20, 200);
    expect(manager.cpu).toBeNull();
  });

  test('is let go when it looks for the disk no more', () => {
    const manager = new FreeManager();
    const near = new NearDisk(manager, '/spill', () => 1);
    read(near, 100, 0.1);
    near.end();
    expect(manager.cpu).toBeNull();
    near.end();
  });

  test('stays on the CPU to which threads are bound', () => {
    const manager = new FreeManager();
    manager.cpu = 2;
    const near = new NearDisk(manager, '/spill', () => 1);
    const last = read(near, 100, 0.1);
    near.look(last + 20);
    expect(manager.cpu).toBe(2);
  });

  test('is kept nowhere where no CPU is the disk’s, or none that it may have; that is looked up once', () => {
    const manager = new FreeManager();
    for (const cpu of [null, 7]) {
      let lookups = 0;
      const near = new NearDisk(manager, '/spill', () => {
        lookups++;
        return cpu;
      });
      read(near, 1000, 0.1);
      expect(manager.cpu).toBeNull();
      expect(lookups).toBe(1);
    }
  });

  test('is kept nowhere without storage', () => {
    const manager = new FreeManager();
    read(new NearDisk(manager, null, () => 1), 100, 0.1);
    expect(manager.cpu).toBeNull();
  });
});
