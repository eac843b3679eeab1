/**
 * What the programs that end in some way have in common: they say what they would leave behind, and
 * when they begin to end.
 */
import { writeSync } from 'node:fs';
import type { AddressSpace } from '../../../src/index.js';
import { memoryFiles } from '../../harness/processes.js';

export function say(line: string): void {
  writeSync(1, `${line}\n`);
}

/** For the parent, which looks for these after the end. */
export function sayTraces(space: AddressSpace): void {
  const pids = [process.pid, ...space.devices.flatMap(({ pid }) => (pid === null ? [] : [pid]))];
  const inodes = memoryFiles().map(({ inode }) => inode);
  say(`traces ${JSON.stringify({ session: process.pid, pids, inodes })}`);
}

export function sayEnding(): void {
  say(`ending ${Date.now()}`);
}

/** Keeps the process alive until the test ends it. */
export function wait(): void {
  setInterval(() => undefined, 1000);
}
