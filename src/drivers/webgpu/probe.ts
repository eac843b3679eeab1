/** Says on standard output what GPU there is, as JSON: `{ facts }`, or `{ problem }`. A process of its own, for `onemem doctor`. */
import { writeSync } from 'node:fs';
import { exitImmediately } from '../../linux/process.js';
import { openDawn } from './dawn-transport.js';

const STANDARD_OUTPUT = 1;

function say(found: unknown): never {
  writeSync(STANDARD_OUTPUT, JSON.stringify(found));
  return exitImmediately(0);
}

openDawn(null).then(
  ({ facts }) => say({ facts }),
  (error: unknown) => say({ problem: error instanceof Error ? error.message : String(error) }),
);
