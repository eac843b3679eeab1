/** `onemem rm`: ends a space that `onemem serve` keeps, or frees arrays of it. */

import { attachNamed, checkSpaceName, endNamed } from '../../api/opening/named-space.js';
import type { Command } from '../terminal/command.js';
import { CommandError, UsageError } from '../terminal/failure.js';
import { parseOptions } from '../terminal/options.js';
import { print } from '../terminal/output.js';

const RM_SUMMARY = 'end a kept space, or free arrays of it';

const RM_HELP = `onemem rm NAME [ARRAY ...]: ${RM_SUMMARY}

Without ARRAY the space NAME is closed, and its process ends. With arrays only these are freed, each
the newest of its name. Programs that use them then fail by a line that says so.

  -h, --help

Examples
  onemem rm jobs
  onemem rm jobs table embeddings`;

export async function rm(args: readonly string[]): Promise<number> {
  const { positionals } = parseOptions('rm', args, {});
  const [name, ...arrays] = positionals;
  if (name === undefined) throw new UsageError('onemem rm needs a name; see: onemem rm --help');
  checkSpaceName(name);
  if (arrays.length === 0) {
    if (!(await endNamed(name))) throw noSpace(name);
    print(`Space ${name} has ended.`);
    return 0;
  }
  await using space = attachNamed(name);
  if (space === null) throw noSpace(name);
  for (const each of arrays) {
    const array = space.find(each);
    if (array === null)
      throw new CommandError('ARRAY', `space ${name} has no array ${each}; see: onemem ls`);
    array.free();
    print(`Array ${each} has been freed.`);
  }
  return 0;
}

function noSpace(name: string): CommandError {
  return new CommandError('SPACE_NAME', `there is no space ${name}; see: onemem ls`);
}

export const command: Command = { summary: RM_SUMMARY, help: RM_HELP, main: rm };
