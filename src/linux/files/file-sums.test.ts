import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { NativeBuffer } from '../base/native-buffer.js';
import { SUM_BYTES } from '../memory/checksum.js';
import { preadToAddress } from './file-io.js';
import { firstDamaged, sumsOfFile } from './file-sums.js';

const PAGE = 4096;
const PAGES = 40;
const folder = mkdtempSync(join(tmpdir(), 'onemem-file-sums-'));
const fd = openSync(join(folder, 'file'), 'w+');
const memory = new NativeBuffer(PAGES * PAGE);
afterAll(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

/** Pages 1 to 40 of the file, of which the last ten are a hole; the sums lie behind them. */
const SUMS_AT = (PAGES + 1) * PAGE;
const WRITTEN = 30;
ftruncateSync(fd, SUMS_AT + PAGES * SUM_BYTES);
for (let page = 1; page <= WRITTEN; page++)
  writeSync(fd, new Uint8Array(PAGE).fill(page % 5), 0, PAGE, page * PAGE);
const sums = sumsOfFile(fd, 1, WRITTEN);
writeSync(fd, new Uint8Array(sums.buffer), 0, sums.byteLength, SUMS_AT);

function load(): void {
  preadToAddress(fd, memory.address, PAGES * PAGE, PAGE);
}

test('pages are as they were written, and holes are zeros', () => {
  load();
  expect(firstDamaged(fd, memory.address, PAGES, 1, SUMS_AT)).toBe(-1);
});

test('the first page that differs is found, in what was written and in a hole', () => {
  for (const page of [0, 4, 17, 29, 30, 39]) {
    load();
    memory.bytes[page * PAGE + 99] ^= 4;
    expect(firstDamaged(fd, memory.address, PAGES, 1, SUMS_AT)).toBe(page);
  }
});

test('a file that has no sums any more is damaged', () => {
  load();
  expect(firstDamaged(fd, memory.address, 1, 1, SUMS_AT + PAGES * SUM_BYTES)).toBe(0);
});
