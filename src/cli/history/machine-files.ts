/** Machines by name, or by the path of a file that describes one. */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFile } from '../../linux/own-files.js';
import { type Machine, parseMachine } from '../../sim/machine.js';
import { CommandError, fileFailure, UsageError } from '../terminal/failure.js';

const ENDING = '.json';

/** @param text names and paths as the command line has them, with commas between */
export function chosenMachines(text: string): Machine[] {
  const named = namedMachines();
  const machines = text.split(',').map((each) => {
    const file = named.get(each);
    if (file !== undefined) return readMachine(file);
    if (each.endsWith(ENDING) || each.includes('/')) return readMachine(each);
    const names = [...named.keys()].join(', ');
    const own = 'or name a file of your own, such as ./my.json';
    throw new UsageError(`--machine: there is no machine '${each}'; there are ${names}; ${own}`);
  });
  const twice = machines.find(({ name }, at) =>
    machines.slice(0, at).some((other) => other.name === name),
  );
  if (twice === undefined) return machines;
  throw new UsageError(`--machine has two machines of the name '${twice.name}'`);
}

/** Files of the package. */
function namedMachines(): Map<string, string> {
  const folder = packageFile('machines');
  if (folder === null) throw new Error('machines/ is missing from this installation of onemem');
  const path = fileURLToPath(folder);
  const files = readdirSync(path).filter((file) => file.endsWith(ENDING));
  return new Map(files.map((file) => [basename(file, ENDING), join(path, file)]));
}

function readMachine(path: string): Machine {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw fileFailure(path, error);
  }
  try {
    return parseMachine(text, basename(path, ENDING));
  } catch (cause) {
    const like = 'machines/pcie4.json in the package is one';
    const what = `${path} describes no machine: ${(cause as Error).message}; ${like}`;
    throw new CommandError('MACHINE', what, { cause });
  }
}
