import { closeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterAll, describe, expect, test } from 'vitest';
import { MAP_ANONYMOUS, MAP_PRIVATE, PROT_READ, PROT_WRITE } from '../../linux/base/constants.js';
import { openSpillFile } from '../../linux/files/spill-file.js';
import { mmap, munmap, view } from '../../linux/memory/memory.js';
import { createEventfd, drainEventfd } from '../../linux/threads/eventfd.js';
import { Job } from './io-ring.js';
import { type PageMove, StorageRing } from './storage-ring.js';

const PAGE = 4096;
const wakeFd = createEventfd();
const ring = new StorageRing(wakeFd, () => {
  throw new Error('the ring could not do it');
});

afterAll(() => closeSync(wakeFd));

// Containers often forbid io_uring: threads move single pages there.
describe.skipIf(!ring.mayTake(PAGE))('a ring for single pages', () => {
  const fd = openSpillFile(tmpdir());
  const address = mmap(2 * PAGE, {
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_PRIVATE | MAP_ANONYMOUS,
  });
  const [pages, sums] = [address, address + PAGE];

  afterAll(() => {
    ring.close();
    munmap(address, 2 * PAGE);
    closeSync(fd);
  });

  function begin(write: boolean): Promise<number> {
    return new Promise((done) => {
      const kind = write ? Job.WriteSummed : Job.ReadSummed;
      const move: PageMove = { kind, fd, address: pages, length: PAGE, offset: 0, sums, done };
      ring.begin(move);
    });
  }

  async function ended(move: Promise<number>): Promise<number> {
    const polls = setInterval(() => ring.poll(), 1);
    const result = await move;
    clearInterval(polls);
    return result;
  }

  test('says that a page is awaited, and which, for as long as it is read', async () => {
    new Uint8Array(view(pages, PAGE)).fill(7);
    const written = begin(true);
    expect(ring.awaited).toBe(0);
    expect(await ended(written)).toBe(PAGE);
    new Uint8Array(view(pages, PAGE)).fill(0);
    const first = begin(false);
    const number = ring.awaited;
    expect(number).not.toBe(0);
    expect(await ended(first)).toBe(PAGE);
    expect(new Uint8Array(view(pages, PAGE)).every((byte) => byte === 7)).toBe(true);
    expect(ring.awaited).toBe(0);
    const second = begin(false);
    expect(ring.awaited).not.toBe(0);
    expect(ring.awaited).not.toBe(number);
    expect(await ended(second)).toBe(PAGE);
  });

  test('does not wake the manager while that looks for answers by itself, and does again afterwards', async () => {
    drainEventfd(wakeFd);
    ring.watched(true);
    const seen = begin(true);
    while (!ring.hasAnswers) await new Promise((resolve) => setImmediate(resolve));
    ring.watched(false);
    expect(drainEventfd(wakeFd)).toBe(0);
    ring.poll();
    expect(await seen).toBe(PAGE);
    expect(ring.hasAnswers).toBe(false);
    const woken = begin(true);
    while (!ring.hasAnswers) await new Promise((resolve) => setImmediate(resolve));
    expect(drainEventfd(wakeFd)).toBe(1);
    expect(await ended(woken)).toBe(PAGE);
  });
});
