import { expect, test } from 'vitest';
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { Part } from '../link/protocol.js';
import { type BufferCommands, RunTable } from './run-table.js';

/** Buffers whose content is one number a page, as a GPU's would be moved by the same commands. */
class Buffers implements BufferCommands {
  readonly all = new Map<number, Int32Array>();
  copied = 0;

  create(buffer: number, bytes: number): void {
    this.all.set(buffer, new Int32Array(bytes / PAGE_BYTES).fill(-1));
  }

  destroy(buffer: number): void {
    expect(this.all.delete(buffer)).toBe(true);
  }

  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): void {
    const source = this.pages([from, fromOffset, bytes]);
    this.pages([to, toOffset, bytes]).set(source);
    this.copied += bytes / PAGE_BYTES;
  }

  pages([buffer, offset, bytes]: Part): Int32Array {
    const found = this.all.get(buffer);
    if (found === undefined) throw new Error(`buffer ${buffer} is not there`);
    return found.subarray(offset / PAGE_BYTES, (offset + bytes) / PAGE_BYTES);
  }

  read(parts: readonly Part[]): number[] {
    return parts.flatMap((part) => [...this.pages(part)]);
  }

  write(parts: readonly Part[], values: readonly number[]): void {
    let at = 0;
    for (const part of parts) {
      const pages = this.pages(part);
      for (let page = 0; page < pages.length; page++) pages[page] = values[at++];
    }
  }

  get pagesOfAll(): number {
    return [...this.all.values()].reduce((sum, { length }) => sum + length, 0);
  }
}

function made(budgetPages = 1000, largest?: number): { buffers: Buffers; table: RunTable } {
  const buffers = new Buffers();
  return { buffers, table: new RunTable(buffers, budgetPages, largest) };
}

const range = (first: number, count: number): number[] =>
  Array.from({ length: count }, (_, at) => first + at);

test('pages that are used as one piece get one buffer, and come into it without a copy', () => {
  const { buffers, table } = made();
  table.join(10, 8);
  expect(buffers.all.size).toBe(0);
  buffers.write(table.fill(14, 4), range(14, 4));
  buffers.write(table.fill(10, 4), range(10, 4));
  expect(buffers.all.size).toBe(1);
  expect(table.parts(10, 8)).toHaveLength(1);
  expect(buffers.read(table.parts(10, 8))).toEqual(range(10, 8));
  expect(buffers.copied).toBe(0);
});

test('pieces that are there are put together where they overlap, with what lies beside them', () => {
  const { buffers, table } = made();
  buffers.write(table.fill(0, 4), range(0, 4));
  buffers.write(table.fill(6, 4), range(6, 4));
  table.join(3, 4);
  expect(table.use(3, 4)).toBeDefined();
  expect(buffers.read(table.parts(0, 4))).toEqual(range(0, 4));
  expect(buffers.read(table.parts(6, 4))).toEqual(range(6, 4));
  expect(buffers.pagesOfAll).toBe(10);
});

test('no buffer is larger than the GPU’s largest: what lies beside stays in pieces of its own', () => {
  const { buffers, table } = made(1000, 6);
  buffers.write(table.fill(0, 5), range(0, 5));
  table.join(3, 5);
  buffers.write(table.fill(5, 3), range(5, 3));
  expect(table.use(3, 5)).toBeDefined();
  expect(buffers.read(table.parts(0, 8))).toEqual(range(0, 8));
  expect(Math.max(...[...buffers.all.values()].map(({ length }) => length))).toBe(5);
});

test('more pages than one buffer has are not put together', () => {
  const { buffers, table } = made(1000, 6);
  table.join(0, 7);
  buffers.write(table.fill(0, 4), range(0, 4));
  buffers.write(table.fill(4, 3), range(4, 3));
  expect(buffers.all.size).toBe(2);
  expect(table.use(0, 7)).toBeUndefined();
});

test('a piece goes with its last page; one of a kernel that runs stays where it is', () => {
  const { buffers, table } = made();
  buffers.write(table.fill(0, 4), range(0, 4));
  const run = table.use(0, 4);
  table.join(2, 4);
  expect(table.use(0, 4)).toBe(run);
  table.unuse();
  table.release(0, 3);
  expect(buffers.all.size).toBe(1);
  table.release(3, 1);
  expect(buffers.all.size).toBe(0);
  expect(table.bytes).toBe(0);
});

test('over the budget, buffers keep no room for pages that have gone', () => {
  const { buffers, table } = made(10);
  buffers.write(table.fill(0, 8), range(0, 8));
  table.release(0, 3);
  table.release(4, 2);
  buffers.write(table.fill(20, 5), range(20, 5));
  expect(buffers.pagesOfAll).toBe(8);
  expect(buffers.read([...table.parts(3, 1), ...table.parts(6, 2)])).toEqual([3, 6, 7]);
});

test('over the budget, an eighth of it may stay as room for pages that have gone, and nothing is copied for less', () => {
  const { buffers, table } = made(80);
  buffers.write(table.fill(0, 64), range(0, 64));
  table.release(0, 10);
  buffers.write(table.fill(100, 20), range(100, 20));
  expect(buffers.copied).toBe(0);
  expect(buffers.pagesOfAll).toBe(64 + 20);
  table.release(10, 1);
  buffers.write(table.fill(200, 8), range(200, 8));
  expect(buffers.copied).toBe(53);
  expect(buffers.pagesOfAll).toBe(53 + 20 + 8);
  expect(buffers.read(table.parts(11, 53))).toEqual(range(11, 53));
});

test('over the budget, what is on its way keeps its room, and comes into one buffer without a copy', () => {
  const { buffers, table } = made(10);
  table.expect([
    { first: 0, end: 6 },
    { first: 20, end: 26 },
  ]);
  buffers.write(table.fill(0, 4), range(0, 4));
  buffers.write(table.fill(20, 2), range(20, 2));
  buffers.write(table.fill(4, 2), range(4, 2));
  expect(buffers.copied).toBe(0);
  expect(buffers.read(table.parts(0, 6))).toEqual(range(0, 6));
  // Others are expected: there is no room for what has not come.
  table.expect([{ first: 40, end: 44 }]);
  table.fill(40, 1);
  expect(buffers.pagesOfAll).toBe(6 + 2 + 4);
});

test('whatever is joined, filled and released, each page has its own content', () => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  const { buffers, table } = made(60, 40);
  const content = new Map<number, number>();
  for (let step = 0; step < 2000; step++) {
    const first = random(90);
    const count = 1 + random(12);
    const what = random(3);
    if (what === 0) table.join(first, count);
    else if (what === 1) {
      buffers.write(table.fill(first, count), range(step * 100, count));
      for (let at = 0; at < count; at++) content.set(first + at, step * 100 + at);
    } else {
      table.release(first, count);
      for (let at = 0; at < count; at++) content.delete(first + at);
    }
    const wrong = [...content].filter(
      ([page, value]) => buffers.read(table.parts(page, 1))[0] !== value,
    );
    expect(wrong).toEqual([]);
  }
  table.release(0, 200);
  expect(buffers.all.size).toBe(0);
});
