/** Runs a program under a limit of memory, page cache included: by a control group of its own, where the machine lets us make one. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders of groups, and the file of the limit: version 1, then version 2. */
const KINDS = [
  { folder: '/sys/fs/cgroup/memory', limit: 'memory.limit_in_bytes' },
  { folder: '/sys/fs/cgroup', limit: 'memory.max' },
] as const;

export interface Limited {
  /** What kept the program's memory within bounds, for the figures. */
  readonly by: string;
  /** Runs a program that prints one number. */
  run(program: string, args: readonly (string | number)[], input?: Uint8Array): number;
  remove(): void;
}

export function limitMemory(bytes: number): Limited {
  const group = makeGroup(bytes);
  return {
    by: group === null ? 'nothing: no control group could be made' : `a control group of ${bytes} bytes`,
    run(program, args, input) {
      // The shell is in the group before the program takes any memory.
      const enter = group === null ? '' : `echo $$ > ${join(group, 'cgroup.procs')} && `;
      const shell = ['-c', `${enter}exec "$0" "$@"`, program, ...args.map(String)];
      const { status, stdout, stderr, error } = spawnSync('/bin/sh', shell, { input, timeout: 300_000 });
      if (error !== undefined) throw error;
      if (status !== 0)
        throw new Error(`${program} ${args.join(' ')} exited with ${status}: ${stderr.toString().trim()}`);
      return Number(stdout.toString());
    },
    remove() {
      if (group !== null) rmdirSync(group);
    },
  };
}

function makeGroup(bytes: number): string | null {
  for (const { folder, limit } of KINDS) {
    const group = join(folder, `onemem-bench-${process.pid}`);
    try {
      mkdirSync(group);
    } catch {
      continue;
    }
    try {
      if (!existsSync(join(group, limit))) throw new Error('the group does not count memory');
      writeFileSync(join(group, limit), String(bytes));
      return group;
    } catch {
      rmdirSync(group);
    }
  }
  return null;
}
