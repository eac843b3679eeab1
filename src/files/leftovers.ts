/**
 * Temporary files of results whose process was killed. Their names say whose they were, and a
 * process that lives has its own locked: what no process has locked, and no process of that number
 * can finish, is left.
 */
import { closeSync, constants, fstatSync, openSync, readdirSync, unlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { tryLockFile } from '../linux/files/file-io.js';
import { sendSignal } from '../linux/processes/kill.js';
import { AtomicFile, TEMPORARY, temporaryPrefix } from './atomic-file.js';

export interface Leftover {
  readonly path: string;
  readonly bytes: number;
}

/** A new result, without what killed processes left. @param onLeftover told what is removed */
export function createResult(
  file: string,
  onLeftover: (leftover: Leftover) => void = () => undefined,
): AtomicFile {
  const result = AtomicFile.create(file);
  try {
    tryLockFile(result.fd);
  } catch {
    // A file system without locks: the number of the process in the name remains.
  }
  for (const leftover of removeLeftovers(result.path)) onLeftover(leftover);
  return result;
}

function removeLeftovers(path: string): Leftover[] {
  const prefix = basename(temporaryPrefix(path));
  const removed: Leftover[] = [];
  let names: string[];
  try {
    names = readdirSync(dirname(path));
  } catch {
    return removed;
  }
  for (const name of names) {
    if (!name.startsWith(prefix) || !name.endsWith(TEMPORARY)) continue;
    const [, pid] = /^(\d+)-[0-9a-f]{12}$/.exec(name.slice(prefix.length, -TEMPORARY.length)) ?? [];
    if (pid === undefined || processLives(Number(pid))) continue;
    const left = tryRemove(join(dirname(path), name));
    if (left !== null) removed.push(left);
  }
  return removed;
}

function processLives(pid: number): boolean {
  try {
    sendSignal(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/** Null: a process of another container has it, or it cannot be removed. */
function tryRemove(path: string): Leftover | null {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDWR | constants.O_NOFOLLOW);
  } catch {
    return null;
  }
  try {
    if (!tryLockFile(fd)) return null;
    const { size: bytes } = fstatSync(fd);
    unlinkSync(path);
    return { path, bytes };
  } catch {
    return null;
  } finally {
    closeSync(fd);
  }
}
