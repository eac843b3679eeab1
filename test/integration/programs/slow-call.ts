/**
 * A native call of the manager's that makes a JavaScript value takes long, and this program ends by `WAY` meanwhile: `slow-call.js CALL WAY`. CALL is the
 * beginning of what is declared in C, or `view`. Of a thread that is stopped in such a call koffi makes the end of the process.
 */
import { syncBuiltinESMExports } from 'node:module';
import threads, {
  isMainThread,
  parentPort,
  setEnvironmentData,
  type WorkerOptions,
  workerData,
} from 'node:worker_threads';
import { openSpace } from '../../../src/index.js';

const SLOW_MS = 100;
const { Worker } = threads;
/** One word: 1 when the call has begun. */
const begun = new Int32Array(new SharedArrayBuffer(4));
const [call, way] = isMainThread ? process.argv.slice(2) : (workerData as string[]);
setEnvironmentData('slow call', { call, begun });

/** Runs before the manager's module. The sleep is a native call, too: it is not left when the thread is stopped, and the slow call comes right behind. */
const slowCalls = `
  const Module = require('node:module');
  const { getEnvironmentData } = require('node:worker_threads');
  const { call, begun } = getEnvironmentData('slow call');
  const load = Module._load;
  Module._load = (...args) => {
    const loaded = load(...args);
    if (!/koffi/.test(args[0]) || loaded.isSlow) return loaded;
    const usleep = loaded.load(null).func('int usleep(uint32_t microseconds)');
    // No function of JavaScript's in between: as it began, the thread would be stopped there.
    const slow = (name, native, self, ...given) => {
      if (name.includes(call) && Atomics.exchange(begun, 0, 1) === 0) usleep(${SLOW_MS * 1000});
      return native.call(self, ...given);
    };
    return {
      ...loaded,
      isSlow: true,
      view: (address, bytes) => slow('view', loaded.view, loaded, address, bytes),
      load: (path) => {
        const library = loaded.load(path);
        return { func: (prototype) => slow(prototype, library.func, library, prototype) };
      },
    };
  };`;

class Slow extends Worker {
  constructor(file: string | URL, options?: WorkerOptions) {
    const isManager = `${file}`.endsWith('manager.cjs');
    const code = `${slowCalls}\nrequire(${JSON.stringify((file as URL).pathname)});`;
    super(isManager ? code : file, isManager ? { ...options, eval: true } : options);
  }
}

function end(): void {
  if (way === 'throw') throw new Error('thrown by the program');
  process.exit(3);
}

async function openAndClose(): Promise<void> {
  const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  // Answered when the manager has done what it does as soon as it is up.
  space.stats();
  parentPort?.postMessage('open');
  await space.close();
}

if (isMainThread && way === 'terminate') {
  const worker = new Worker(new URL(import.meta.url), { workerData: [call, way] });
  worker.once('message', () => {
    setTimeout(async () => {
      await worker.terminate();
      process.exitCode = 3;
    }, SLOW_MS / 2);
  });
} else {
  threads.Worker = Slow as typeof Worker;
  syncBuiltinESMExports();
  if (way !== 'terminate') {
    const watch = setInterval(() => {
      if (Atomics.load(begun, 0) === 0) return;
      clearInterval(watch);
      end();
    }, 1);
  }
  await openAndClose();
}
