import { describe, expect, it } from 'vitest';
import { addressOf, closeDescriptor } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';
import { allocatedBytes, readMemory } from '../memory/memory.js';
import { backByFile, unbackFile } from './backed-memory.js';
import { preadToAddress, pwriteFromAddress } from './file-io.js';

const KIB = 1024;

interface Memory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

const { WebAssembly } = globalThis as unknown as {
  WebAssembly: { Memory: new (size: { initial: number; maximum: number }) => Memory };
};

function touched(): { memory: Memory; bytes: Uint8Array; address: number } {
  const memory = new WebAssembly.Memory({ initial: 16, maximum: 64 });
  const bytes = new Uint8Array(memory.buffer);
  bytes.fill(7, 4 * KIB, 8 * KIB);
  bytes.fill(9, 1020 * KIB);
  return { memory, bytes, address: addressOf(bytes) };
}

describe('a memory file under memory that is in use', () => {
  it('has the same content there, and memory for what was touched alone', () => {
    const { bytes, address } = touched();
    const fd = backByFile('test', address, bytes.length);
    expect(allocatedBytes(fd)).toBe(8 * KIB);
    expect([bytes[4095], bytes[4096], bytes[8191], bytes[8192]]).toEqual([0, 7, 7, 0]);
    expect([bytes[1020 * KIB - 1], bytes[1020 * KIB], bytes[1024 * KIB - 1]]).toEqual([0, 9, 9]);
    const other = new NativeBuffer(4 * KIB);
    preadToAddress(fd, other.address, 4 * KIB, 4 * KIB);
    expect(other.bytes.every((each) => each === 7)).toBe(true);
    unbackFile(fd, address, bytes.length);
    closeDescriptor(fd);
  });

  it('shows what is written by the other side, and keeps it when it is taken away', () => {
    const { memory, bytes, address } = touched();
    const fd = backByFile('test', address, bytes.length);
    const other = new NativeBuffer(4 * KIB);
    other.bytes.fill(3);
    pwriteFromAddress(fd, other.address, 4 * KIB, 512 * KIB);
    bytes[0] = 5;
    expect(bytes[512 * KIB]).toBe(3);
    unbackFile(fd, address, bytes.length);
    pwriteFromAddress(fd, other.address, 4 * KIB, 256 * KIB);
    closeDescriptor(fd);
    expect([bytes[0], bytes[4 * KIB], bytes[512 * KIB], bytes[256 * KIB]]).toEqual([5, 7, 3, 0]);
    memory.grow(2);
    const grown = new Uint8Array(memory.buffer);
    expect([grown[0], grown[1023 * KIB], grown[1024 * KIB]]).toEqual([5, 9, 0]);
    const copy = new Uint8Array(4 * KIB);
    readMemory(copy, address + 512 * KIB);
    expect(copy.every((each) => each === 3)).toBe(true);
  });

  it('stays under memory that grows', () => {
    const { memory, bytes, address } = touched();
    const fd = backByFile('test', address, bytes.length);
    memory.grow(4);
    const grown = new Uint8Array(memory.buffer);
    grown[4] = 6;
    grown[grown.length - 1] = 8;
    const other = new NativeBuffer(4 * KIB);
    preadToAddress(fd, other.address, 4 * KIB, 0);
    expect(other.bytes[4]).toBe(6);
    unbackFile(fd, address, 1024 * KIB);
    closeDescriptor(fd);
    expect([grown[4], grown[grown.length - 1]]).toEqual([6, 8]);
  });
});
