import { expect, it } from 'vitest';
import { BLOCK_BYTES, PAGE_BYTES } from '../../core/basics/types.js';
import { ValueTable } from './value-table.js';

const GROUP_BYTES = 2 ** 16;
const BYTES = 3 * BLOCK_BYTES + 5 * GROUP_BYTES;

const groups = (table: ValueTable, offset: number, length: number): number[] =>
  table.unused(offset, length).map(({ group }) => group);

it('has a value for each 64 KiB, and one for a block that is written at once', () => {
  const table = ValueTable.of(BYTES);
  table.note(BLOCK_BYTES, BLOCK_BYTES, true);
  expect(table.writeBlock(BLOCK_BYTES)).toEqual([]);
  const value = { group: 32, isBlock: true, offset: BLOCK_BYTES, bytes: BLOCK_BYTES };
  expect(table.at(BLOCK_BYTES + 17 * PAGE_BYTES)).toEqual(value);
  const group = { group: 31, isBlock: false, offset: 31 * GROUP_BYTES, bytes: GROUP_BYTES };
  expect(table.at(BLOCK_BYTES - PAGE_BYTES)).toEqual(group);
});

it('says which values a block replaces that was written in parts', () => {
  const table = ValueTable.of(BYTES);
  table.note(BLOCK_BYTES, BLOCK_BYTES, true);
  table.writePart(BLOCK_BYTES + GROUP_BYTES);
  const replaced = table.writeBlock(BLOCK_BYTES).map(({ group }) => group);
  expect(replaced).toEqual(Array.from({ length: 32 }, (_, at) => 32 + at));
  expect(table.writeBlock(BLOCK_BYTES)).toEqual([]);
});

it('leaves a block one value when a part of it is written', () => {
  const table = ValueTable.of(BYTES);
  table.writeBlock(0);
  table.writePart(GROUP_BYTES);
  expect(table.at(GROUP_BYTES).isBlock).toBe(true);
});

it('is the same for all threads that share its memory', () => {
  const table = ValueTable.of(BYTES);
  const other = new ValueTable(table.memory);
  table.note(0, BLOCK_BYTES, true);
  table.writeBlock(0);
  expect(other.at(PAGE_BYTES).isBlock).toBe(true);
  expect([...other.used()]).toEqual([table.at(0)]);
});

it('gives a group back with the last of its pages', () => {
  const table = ValueTable.of(BYTES);
  table.note(GROUP_BYTES, 2 * PAGE_BYTES, true);
  table.note(GROUP_BYTES, PAGE_BYTES, false);
  expect(groups(table, GROUP_BYTES, PAGE_BYTES)).toEqual([]);
  table.note(GROUP_BYTES + PAGE_BYTES, PAGE_BYTES, false);
  expect(groups(table, GROUP_BYTES + PAGE_BYTES, PAGE_BYTES)).toEqual([1]);
});

it('gives a block back as a whole, and has groups there again', () => {
  const table = ValueTable.of(BYTES);
  table.note(0, BLOCK_BYTES, true);
  table.writeBlock(0);
  table.note(0, BLOCK_BYTES - PAGE_BYTES, false);
  expect(table.unused(0, BLOCK_BYTES - PAGE_BYTES)).toEqual([]);
  table.note(BLOCK_BYTES - PAGE_BYTES, PAGE_BYTES, false);
  const [value] = table.unused(BLOCK_BYTES - PAGE_BYTES, PAGE_BYTES);
  expect(value).toEqual({ group: 0, isBlock: true, offset: 0, bytes: BLOCK_BYTES });
  expect(table.isUsed(value)).toBe(false);
  expect(table.at(0).isBlock).toBe(false);
});

it('knows all that is used, each value once, to the end of the last block', () => {
  const table = ValueTable.of(BYTES);
  table.note(BLOCK_BYTES, BLOCK_BYTES, true);
  table.writeBlock(BLOCK_BYTES);
  table.note(3 * GROUP_BYTES + PAGE_BYTES, PAGE_BYTES, true);
  table.note(BYTES - PAGE_BYTES, PAGE_BYTES, true);
  expect([...table.used()].map(({ group }) => group)).toEqual([3, 32, 100]);
});
