import { expect, test } from 'vitest';
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { PageCopy } from '../../../wgsl/dividing/page-rounds.js';
import type { PageTable } from '../../../wgsl/dividing/page-tables.js';
import type { Part } from '../link/protocol.js';
import { STAGING_SLOT_BYTES } from '../link/staging.js';
import { type FeedOutlet, PageFeed } from './page-feed.js';

const TABLE = {} as PageTable;
const PIECE = 2 ** 18;

/** Copies of single pages, every other one of the host's, to neighbouring frames. */
function singlePages(count: number): PageCopy[] {
  return Array.from({ length: count }, (_, at) => ({
    table: TABLE,
    place: 2 * at * PAGE_BYTES,
    bytes: PAGE_BYTES,
    frame: at * PAGE_BYTES,
  }));
}

function made(copies: readonly PageCopy[], slots = [0, 1, 2]) {
  const said: unknown[] = [];
  const copied: { at: number; slot: number; to: number }[] = [];
  const outlet: FeedOutlet = {
    want: (pages, wantedFor, atOnce) =>
      said.push([wantedFor, pages.reduce((sum, { count }) => sum + count, 0), atOnce]),
    takeSlot: () => slots.pop() ?? -1,
    giveSlot: (slot) => slots.push(slot),
    copy: (at, _bytes, slot, to) => copied.push({ at, slot, to }),
    send: (slot, parts) => said.push(['send', slot, ...parts]),
  };
  const feed = new PageFeed(copies, 'plan', ({ place }) => place, outlet);
  const partsOf = (all: readonly PageCopy[]): Part[] => [
    [1, all[0].frame, all.length * PAGE_BYTES],
  ];
  let done = 0;
  const open = (): void => feed.open(partsOf, () => done++);
  return { feed, said, copied, slots, open, done: () => done };
}

test('pages are wanted together, put one behind the other piece by piece, and sent as one', () => {
  const { feed, said, copied, open, done } = made(singlePages(100));
  open();
  feed.start();
  expect(said).toEqual([['plan', 100, false]]);
  expect(feed.step()).toBe(false);
  feed.supplied();
  expect(copied).toHaveLength(PIECE / PAGE_BYTES);
  expect(done()).toBe(0);
  expect(feed.step()).toBe(true);
  expect(said.slice(1)).toEqual([['look', 100 - PIECE / PAGE_BYTES, true]]);
  expect(feed.step()).toBe(false);
  feed.supplied();
  expect(copied.map(({ to }) => to)).toEqual(singlePages(100).map(({ frame }) => frame));
  expect(copied.map(({ at }) => at)).toEqual(singlePages(100).map(({ place }) => place));
  expect(said.slice(2)).toEqual([['send', 2, [1, 0, 100 * PAGE_BYTES]]]);
  expect(done()).toBe(1);
});

test('nothing is sent before it is known where to', () => {
  const { feed, said, open, done } = made(singlePages(10));
  feed.start();
  feed.supplied();
  expect(said).toHaveLength(1);
  open();
  expect(said.slice(1)).toEqual([['send', 2, [1, 0, 10 * PAGE_BYTES]]]);
  expect(done()).toBe(1);
});

test('where there is no slot it waits for one, and has pages looked at again then', () => {
  const { feed, said, copied, slots } = made(singlePages(10), []);
  feed.start();
  feed.supplied();
  expect(copied).toEqual([]);
  expect(feed.step()).toBe(false);
  slots.push(5);
  expect(feed.step()).toBe(true);
  expect(said.at(-1)).toEqual(['look', 10, true]);
  feed.supplied();
  expect(copied).toHaveLength(10);
  expect(copied.every(({ slot }) => slot === 5)).toBe(true);
});

test('a slot that is full goes before another one is taken, and the next batch is wanted by itself', () => {
  const pages = (4 * 2 ** 20) / PAGE_BYTES + 1;
  const { feed, said, open, done } = made(singlePages(pages));
  open();
  feed.start();
  feed.supplied();
  while (feed.step()) feed.supplied();
  const sent = said.filter((each) => (each as unknown[])[0] === 'send');
  expect(sent).toEqual([['send', 2, [1, 0, STAGING_SLOT_BYTES]]]);
  expect(said.filter((each) => (each as unknown[])[0] === 'plan')).toEqual([
    ['plan', pages - 1, false],
    ['plan', 1, false],
  ]);
  feed.supplied();
  expect(said.slice(-2)).toEqual([
    ['send', 1, [1, STAGING_SLOT_BYTES, STAGING_SLOT_BYTES]],
    ['send', 0, [1, 2 * STAGING_SLOT_BYTES, PAGE_BYTES]],
  ]);
  expect(done()).toBe(1);
});

test('nothing to copy is done at once; what is closed gives back what it has', () => {
  const none = made([]);
  none.open();
  none.feed.start();
  expect(none.done()).toBe(1);
  const some = made(singlePages(100));
  some.feed.start();
  some.feed.supplied();
  expect(some.slots).toEqual([0, 1]);
  some.feed.close();
  expect(some.slots).toEqual([0, 1, 2]);
  expect(some.feed.step()).toBe(false);
});
