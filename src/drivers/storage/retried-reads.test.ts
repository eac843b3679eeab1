import { expect, it } from 'vitest';
import { READ_MS, RetriedReads } from './retried-reads.js';

/** Reads of a disk that fails until it is healed. */
function open() {
  const clock = { ms: 1000 };
  const disk = { fails: true };
  const log: string[] = [];
  const reads = new RetriedReads(() => clock.ms);
  const read = (name: string, since = 0): void => {
    if (!disk.fails) {
      reads.succeeded();
      log.push(`${name} is read`);
    } else if (!reads.failed(since, (first) => read(name, first))) log.push(`${name} is given up`);
  };
  const wait = (ms: number): void => {
    for (let at = 0; at < ms; at += 10) {
      clock.ms += 10;
      reads.look();
    }
  };
  return { disk, log, reads, read, wait };
}

it('a read that failed is tried again until the disk reads', () => {
  const { disk, log, read, wait } = open();
  read('a');
  wait(READ_MS / 2);
  expect(log).toEqual([]);
  disk.fails = false;
  wait(100);
  expect(log).toEqual(['a is read']);
});

it('a read is given up after a while, and the next ones at once until one goes well', () => {
  const { disk, log, read, wait } = open();
  read('a');
  wait(READ_MS + 100);
  read('b');
  expect(log).toEqual(['a is given up', 'b is given up']);
  disk.fails = false;
  read('c');
  disk.fails = true;
  read('d');
  expect(log.slice(2)).toEqual(['c is read']);
});

it('the manager sleeps shortly only while a read waits', () => {
  const { reads, read } = open();
  expect(reads.sleepMs(1000)).toBe(1000);
  read('a');
  expect(reads.sleepMs(1000)).toBeLessThan(100);
});
