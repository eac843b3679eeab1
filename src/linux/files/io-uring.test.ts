import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EBADF, MAP_ANONYMOUS, MAP_PRIVATE, PROT_READ, PROT_WRITE } from '../base/constants.js';
import { mmap, munmap, view } from '../memory/memory.js';
import { closeEventfd, createEventfd, drainEventfd } from '../threads/eventfd.js';
import { IoUring } from './io-uring.js';

const PAGE = 4096;
const PAGES = 16;
const ENTRIES = 8;

const wakeFd = createEventfd();
const ring = IoUring.open(ENTRIES, wakeFd);

/** Waits for so many answers: the results by token. */
async function answersOf(count: number): Promise<Map<number, number>> {
  const results = new Map<number, number>();
  for (let tries = 0; results.size < count && tries < 5000; tries++) {
    ring?.answers((token, result) => results.set(token, result));
    if (results.size < count) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return results;
}

// Containers often forbid io_uring: onemem goes on without.
describe.skipIf(ring === null)('io_uring', () => {
  const held = ring as IoUring;
  const folder = mkdtempSync(join(tmpdir(), 'onemem-io-uring-'));
  const options = { protection: PROT_READ | PROT_WRITE, flags: MAP_PRIVATE | MAP_ANONYMOUS };
  let address = 0;
  let fd = -1;

  beforeEach(() => {
    address = mmap(PAGES * PAGE, options);
    fd = openSync(join(folder, 'file'), 'w+');
    ftruncateSync(fd, PAGES * PAGE);
  });
  afterEach(() => {
    munmap(address, PAGES * PAGE);
    closeSync(fd);
    rmSync(join(folder, 'file'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test('what is written is in the file, where it should be', async () => {
    new Uint8Array(view(address, PAGE)).fill(7);
    expect(held.write(fd, address, PAGE, 3 * PAGE, 5)).toBe(0);
    expect(await answersOf(1)).toEqual(new Map([[5, PAGE]]));
    const bytes = new Uint8Array(PAGE + 1);
    readSync(fd, bytes, 0, PAGE + 1, 3 * PAGE - 1);
    expect(bytes[0]).toBe(0);
    expect(bytes.subarray(1).every((each) => each === 7)).toBe(true);
  });

  test('requests by the hundred go round the ring, and each is answered with its token', async () => {
    const words = new Uint32Array(view(address, PAGES * PAGE));
    for (let round = 0; round < 100; round++) {
      for (let page = 0; page < ENTRIES; page++) {
        words[(page * PAGE) / 4] = round * 100 + page;
        expect(held.write(fd, address + page * PAGE, PAGE, page * PAGE, page)).toBe(0);
      }
      expect((await answersOf(ENTRIES)).size).toBe(ENTRIES);
      expect(held.read(fd, address + 15 * PAGE, PAGE, (round % ENTRIES) * PAGE, round)).toBe(0);
      expect(await answersOf(1)).toEqual(new Map([[round, PAGE]]));
      expect(words[(15 * PAGE) / 4]).toBe(round * 100 + (round % ENTRIES));
    }
  });

  test('an answer raises the eventfd', async () => {
    drainEventfd(wakeFd);
    held.read(fd, address, PAGE, 0, 1);
    await answersOf(1);
    expect(drainEventfd(wakeFd)).toBeGreaterThan(0);
  });

  test('a read that goes wrong answers with the error number, and one behind the end with fewer bytes', async () => {
    held.read(999_999, address, PAGE, 0, 1);
    held.read(fd, address, 2 * PAGE, (PAGES - 1) * PAGE, 2);
    expect(await answersOf(2)).toEqual(
      new Map([
        [1, -EBADF],
        [2, PAGE],
      ]),
    );
  });
});

test('a ring that is closed leaves its descriptor', () => {
  ring?.close();
  closeEventfd(wakeFd);
});
