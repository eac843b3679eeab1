/** Unique names. Node.js's own module for that takes a thread 5 to 10 ms to load. */
import { check } from './errors.js';
import { libc } from './libc.js';
import { scratch } from './native-buffer.js';

const BYTES = 12;

/** 24 hexadecimal digits. */
export function randomName(): string {
  check(libc.getrandom(scratch.address, BYTES, 0), 'getrandom', { bytes: BYTES });
  return Buffer.from(scratch.bytes.subarray(0, BYTES)).toString('hex');
}
