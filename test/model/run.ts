/** The process that plays one program; started by main.ts, which watches it. */
import { openSync, writeSync } from 'node:fs';
import { inspect } from 'node:util';
import { setParentDeathSignal } from '../../src/linux/processes/process.js';
import { Random } from '../simulation/random.js';
import { Player } from './player.js';
import { close, step } from './steps.js';

const SIGKILL = 9;
// The end of main.ts, for instance because it takes too long, is the end of this, too.
if (!setParentDeathSignal(SIGKILL, process.ppid)) process.exit(1);

const [seedText, stepsText, logPath] = process.argv.slice(2);
const seed = Number(seedText);
const steps = JSON.parse(stepsText) as number[];
const fd = openSync(logPath, 'w');
function log(text: string): void {
  // At once, so that the last lines are there however the process ends.
  writeSync(fd, `${text}\n`);
}

/** Each step has numbers of its own, so that it does much the same when others are left out. */
function randomOf(step: number): Random {
  return new Random(Math.imul(seed, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b));
}

/** Errors that were not caught are the program's failure, too. */
function fail(error: unknown): never {
  writeSync(2, `${inspect(error)}\n`);
  process.exit(1);
}
process.on('unhandledRejection', fail);
process.on('uncaughtException', fail);

const player = await Player.open('a space', randomOf(-1), log, { onDisk: true });
for (const number of steps) {
  // The program that watches hears that something happens.
  process.stdout.write('.');
  log(`step ${number}`);
  await step(player, randomOf(number));
}
await close(player);
process.stdout.write('\nthe program is done\n');
