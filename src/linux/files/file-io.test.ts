import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EAGAIN, EBADF, EOPNOTSUPP } from '../base/constants.js';
import { NativeBuffer } from '../base/native-buffer.js';
import { moveWithoutWaiting, preadToAddress, pwriteFromAddress, tryLockFile } from './file-io.js';

let folder: string;
let path: string;
let fd: number;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'onemem-'));
  path = join(folder, 'file');
  writeFileSync(
    path,
    Uint8Array.from({ length: 10_000 }, (_, i) => i % 251),
  );
  fd = openSync(path, 'r+');
});

afterEach(() => {
  closeSync(fd);
  rmSync(folder, { recursive: true });
});

describe('file input and output at addresses', () => {
  it('reads at an offset', () => {
    const buffer = new NativeBuffer(4096);
    expect(preadToAddress(fd, buffer.address + 10, 1000, 5000)).toBe(1000);
    expect(buffer.bytes[9]).toBe(0);
    expect(buffer.bytes[10]).toBe(5000 % 251);
    expect(buffer.bytes[1009]).toBe(5999 % 251);
    expect(buffer.bytes[1010]).toBe(0);
  });

  it('stops at the end of the file', () => {
    const buffer = new NativeBuffer(4096);
    expect(preadToAddress(fd, buffer.address, 4096, 9000)).toBe(1000);
    expect(preadToAddress(fd, buffer.address, 4096, 10_000)).toBe(0);
  });

  it('writes all of it, beyond the end too', () => {
    const buffer = new NativeBuffer(4096);
    buffer.bytes.fill(0xee);
    pwriteFromAddress(fd, buffer.address, 4096, 9990);
    const content = readFileSync(path);
    expect(content.length).toBe(9990 + 4096);
    expect(content[9989]).toBe(9989 % 251);
    expect(content.subarray(9990).every((byte) => byte === 0xee)).toBe(true);
  });

  it('reads what is in the page cache without waiting', () => {
    const buffer = new NativeBuffer(4096);
    const result = moveWithoutWaiting('read', fd, buffer.address, 100, 300);
    // The page may have left the cache, and not every file system can tell.
    expect([100, -EAGAIN, -EOPNOTSUPP]).toContain(result);
    if (result === 100) expect(buffer.bytes[0]).toBe(300 % 251);
    expect(moveWithoutWaiting('read', -1, buffer.address, 100, 0)).toBe(-EBADF);
  });

  it('locks a file for one opening at a time', () => {
    const second = openSync(path, 'r');
    expect(tryLockFile(fd)).toBe(true);
    expect(tryLockFile(fd)).toBe(true);
    expect(tryLockFile(second)).toBe(false);
    closeSync(fd);
    expect(tryLockFile(second)).toBe(true);
    fd = second;
    expect(() => tryLockFile(-1)).toThrowError(/^flock\(fd=-1\) failed: EBADF/);
  });

  it('says how far it got before an address that is not there', () => {
    expect(() => preadToAddress(fd, 4096, 100, 0)).toThrowError(
      /^pread\(fd=\d+, address=0x1000, .*done=0\) failed: EFAULT/,
    );
    expect(() => pwriteFromAddress(fd, 4096, 100, 0)).toThrowError(/^pwrite\(.*EFAULT/);
  });
});
