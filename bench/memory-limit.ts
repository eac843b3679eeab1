/**
 * Runs a program under a limit of memory, page cache included: by a control group of its own, where
 * the machine lets us make one.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { makeGroup } from '../test/harness/control-group.js';

export interface Limited {
  /** What kept the program's memory within bounds, for the figures. */
  readonly by: string;
  /** Runs a program that prints one number. */
  run(program: string, args: readonly (string | number)[], input?: Uint8Array): number;
  remove(): void;
}

export function limitMemory(bytes: number): Limited {
  const group = makeGroup('bench', bytes);
  return {
    by:
      group === null
        ? 'nothing: no control group could be made'
        : `a control group of ${bytes} bytes`,
    run(program, args, input) {
      // The shell is in the group before the program takes any memory.
      const enter = group === null ? '' : `echo $$ > ${join(group.folder, 'cgroup.procs')} && `;
      const shell = ['-c', `${enter}exec "$0" "$@"`, program, ...args.map(String)];
      const { status, stdout, stderr, error } = spawnSync('/bin/sh', shell, {
        input,
        timeout: 300_000,
      });
      if (error !== undefined) throw error;
      if (status !== 0)
        throw new Error(
          `${program} ${args.join(' ')} exited with ${status}: ${stderr.toString().trim()}`,
        );
      return Number(stdout.toString());
    },
    remove() {
      group?.remove();
    },
  };
}
