/** Standard error of native libraries, without lines that a user can do nothing about. */
import { fstatSync, readSync, writeSync } from 'node:fs';
import { check } from '../base/errors.js';
import { closeDescriptor, libc } from '../base/libc.js';
import { createMemoryFile } from '../memory/memory.js';
import { duplicateDescriptor } from './file-io.js';

const STANDARD_ERROR = 2;

/**
 * Has what the process writes there meanwhile come when the action has ended, without lines that
 * match. What a process wrote that ends meanwhile is lost: for processes that do one thing at a
 * time, and for calls that are known to write such lines.
 */
export async function withoutLines<T>(unwanted: RegExp, action: () => Promise<T>): Promise<T> {
  const written = createMemoryFile('onemem-standard-error', 0);
  const usual = duplicateDescriptor(STANDARD_ERROR);
  check(libc.dup2(written, STANDARD_ERROR), 'dup2', { fd: STANDARD_ERROR });
  try {
    return await action();
  } finally {
    libc.dup2(usual, STANDARD_ERROR);
    closeDescriptor(usual);
    const bytes = Buffer.alloc(fstatSync(written).size);
    readSync(written, bytes, 0, bytes.length, 0);
    closeDescriptor(written);
    const lines = bytes.toString().split(/(?<=\n)/);
    const rest = lines.filter((line) => !unwanted.test(line)).join('');
    if (rest !== '') writeSync(STANDARD_ERROR, rest);
  }
}
