/** `onemem rm`: ends a space that `onemem serve` keeps, or frees arrays of it. */

import { attachNamed, checkSpaceName, endNamed } from '../../api/opening/named-space.js';
import { defineCommand } from '../terminal/command.js';
import { CommandError, UsageError } from '../terminal/failure.js';
import { print } from '../terminal/output.js';

export const command = defineCommand({
  name: 'rm',
  usage: 'NAME [ARRAY ...]',
  summary: 'end a kept space, or free arrays of it',
  text: `Without ARRAY the space NAME is closed, and its process ends. With arrays only these are freed, each
the newest of its name. Programs that use them then fail by a line that says so.

  -h, --help

Examples
  onemem rm jobs
  onemem rm jobs table embeddings`,
  options: {},
  several: true,
  async main(_values, [name, ...arrays]) {
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
  },
});

function noSpace(name: string): CommandError {
  return new CommandError('SPACE_NAME', `there is no space ${name}; see: onemem ls`);
}
