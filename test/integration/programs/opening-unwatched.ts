/**
 * Opens a space whose sentinel cannot start, then another one; prints what came of both, and what
 * the first has left.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import threads, { type WorkerOptions } from 'node:worker_threads';
import { openSpace } from '../../../src/index.js';
import { say } from './common.js';

const { Worker } = threads;

class Failing extends Worker {
  constructor(file: string | URL, options?: WorkerOptions) {
    super(
      `${file}`.endsWith('sentinel.cjs') ? new URL('./no-such-module.cjs', import.meta.url) : file,
      options,
    );
  }
}

function setWorker(worker: typeof Worker): void {
  threads.Worker = worker;
  syncBuiltinESMExports();
}

function left(): string {
  const maps = readFileSync('/proc/self/maps', 'latin1').match(/^.*\/memfd:onemem.*$/gm) ?? [];
  const tasks = readdirSync('/proc/self/task');
  const children = tasks
    .map((task) => readFileSync(`/proc/self/task/${task}/children`, 'latin1'))
    .join('');
  return JSON.stringify({
    descriptors: readdirSync('/proc/self/fd').length,
    maps: maps.length,
    children,
  });
}

const options = { devices: [{ kind: 'process', memory: '8MiB' }] } as const;
// What stays of the first space of a process is not what a failure leaves.
await (await openSpace(options)).close();
const before = left();
setWorker(Failing);
await openSpace(options).catch(({ code, message }) => say(`${code}: ${message}`));
setWorker(Worker);
say(`left ${left() === before ? 'nothing' : `${left()}, before ${before}`}`);
await using space = await openSpace(options);
const x = space.array(Int32Array, 4);
x.data.fill(7);
say(`then ${x.data[3]}`);
