import {
  closeSync,
  fstatSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { giveBack, isDirect, markedSize, setAside } from './set-aside.js';

const BYTES = 2 ** 21;
const folder = mkdtempSync('/dev/shm/onemem-aside-');
const path = join(folder, 'file');
afterAll(() => rmSync(folder, { recursive: true }));

function open(): number {
  return openSync(path, 'r+');
}

function make(): number {
  closeSync(openSync(path, 'w'));
  const fd = open();
  ftruncateSync(fd, BYTES);
  return fd;
}

test('all of the file has memory while it is set aside, and none of it after', () => {
  const fd = make();
  expect(setAside(fd, BYTES)).toBe(null);
  expect(fstatSync(fd).blocks * 512).toBeGreaterThanOrEqual(BYTES);
  expect(markedSize(fd)).toEqual({ size: BYTES, marked: true });
  giveBack(fd);
  expect([fstatSync(fd).size, fstatSync(fd).blocks]).toEqual([BYTES, 0]);
  closeSync(fd);
});

test('one that another descriptor has is in use', () => {
  const fd = make();
  setAside(fd, BYTES);
  const other = open();
  expect(setAside(other, BYTES)).toBe('is in use');
  for (const each of [fd, other]) closeSync(each);
});

test('what a program that was killed has left is overwritten', () => {
  const killed = make();
  setAside(killed, BYTES);
  writeSync(killed, 'left', 100);
  closeSync(killed);
  const fd = open();
  expect(setAside(fd, BYTES)).toBe(null);
  const read = Buffer.alloc(4);
  readSync(fd, read, 0, 4, 100);
  expect(read).toEqual(Buffer.alloc(4));
  closeSync(fd);
});

test('other content is left alone', () => {
  const fd = make();
  writeSync(fd, 'mine', 100);
  expect(setAside(fd, BYTES)).toBe('has content');
  closeSync(fd);
});

test('the error tells where there is no room', () => {
  const fd = make();
  ftruncateSync(fd, 2 ** 42);
  expect(setAside(fd, 2 ** 42)).toMatchObject({ bytes: 2 ** 42 });
  closeSync(fd);
});

test('a file of tmpfs is no direct one', () => {
  const fd = make();
  expect(isDirect(fd)).toBe(false);
  closeSync(fd);
});
