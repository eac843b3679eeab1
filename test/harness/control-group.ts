/** Control groups that count memory, for programs that are to have little of it. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { memoryGroups } from '../../src/linux/memory/system-memory.js';

export interface ControlGroup {
  /** A process that writes its number to `cgroup.procs` in there belongs to it. */
  readonly folder: string;
  /** Once no process is in it. */
  remove(): void;
}

/**
 * A new group with a limit, within that of this process or one around it; null: the machine lets us
 * make none.
 */
export function makeGroup(name: string, bytes: number): ControlGroup | null {
  for (const { folder: parent, version } of memoryGroups()) {
    const folder = join(parent, `onemem-${name}-${process.pid}`);
    const limit = join(folder, version === 2 ? 'memory.max' : 'memory.limit_in_bytes');
    try {
      mkdirSync(folder);
    } catch {
      continue;
    }
    try {
      if (!existsSync(limit)) throw new Error('the group does not count memory');
      writeFileSync(limit, String(bytes));
      return { folder, remove: () => rmdirSync(folder) };
    } catch {
      rmdirSync(folder);
    }
  }
  return null;
}
