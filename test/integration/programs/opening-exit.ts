/**
 * Opens a space, and exits before the thread of the manager loads its module; that would say when
 * it has been loaded.
 */
import { syncBuiltinESMExports } from 'node:module';
import threads, { type WorkerOptions } from 'node:worker_threads';
import { openSpace } from '../../../src/index.js';
import { say } from './common.js';

const { Worker } = threads;
const PAUSE_MS = 200;

/** The thread's module, late: it is loaded when the process has begun to end. */
function late(file: URL): string {
  return `
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${PAUSE_MS});
    require(${JSON.stringify(file.pathname)});
    require('node:fs').writeSync(1, 'loaded\\n');`;
}

class Late extends Worker {
  constructor(file: string | URL, options?: WorkerOptions) {
    const isManager = `${file}`.endsWith('manager.cjs');
    super(isManager ? late(file as URL) : file, isManager ? { ...options, eval: true } : options);
    if (isManager) {
      this.once('online', () => {
        say('exits');
        process.exit(3);
      });
    }
  }
}

threads.Worker = Late;
syncBuiltinESMExports();
await openSpace();
