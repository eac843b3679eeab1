/**
 * A native call of the manager's that makes a JavaScript value takes long, and this program ends by
 * `WAY` meanwhile: `slow-call.js CALL WAY`. With the handle of another process's space behind that
 * it is a call of the thread that stands in for the manager here. CALL is the beginning of what is declared in C, or
 * `view`. Of a thread that is stopped in such a call koffi makes the end of the process.
 */
import { syncBuiltinESMExports } from 'node:module';
import threads, {
  isMainThread,
  parentPort,
  setEnvironmentData,
  type WorkerOptions,
  workerData,
} from 'node:worker_threads';
import { attachSpace, openSpace } from '../../../src/index.js';

/** Node.js stops threads one after the other, and the manager may come last. */
const SLOW_MS = 300;
/** In a declaration; they take about as long. */
const SLOW_SPACES = 1e8;
const { Worker } = threads;
/** One word: 1 when the call has begun. */
const begun = new Int32Array(new SharedArrayBuffer(4));
const [call, way, handle] = isMainThread ? process.argv.slice(2) : (workerData as string[]);
setEnvironmentData('slow call', { call, begun });

/**
 * Runs before the manager's module. Declarations take long since they are, and those of views since
 * the thread sleeps right before, in a native call, too: in a function of JavaScript's it could be
 * stopped without harm.
 */
const slowCalls = `
  const Module = require('node:module');
  const { getEnvironmentData } = require('node:worker_threads');
  const { call, begun } = getEnvironmentData('slow call');
  const isMeant = (name) => name.includes(call) && Atomics.exchange(begun, 0, 1) === 0;
  const load = Module._load;
  Module._load = (...args) => {
    const loaded = load(...args);
    if (!/koffi/.test(args[0]) || loaded.isSlow) return loaded;
    const usleep = loaded.load(null).func('int usleep(uint32_t microseconds)');
    return {
      ...loaded,
      isSlow: true,
      view: (...given) => {
        if (isMeant('view')) usleep(${SLOW_MS * 1000});
        return loaded.view(...given);
      },
      load: (path) => {
        const library = loaded.load(path);
        const declare = library.func.bind(library);
        return {
          func: (prototype) => {
            const long = prototype.includes(call) ? prototype.replace('(', '('.padEnd(${SLOW_SPACES})) : prototype;
            isMeant(prototype);
            return declare(long);
          },
        };
      },
    };
  };`;

class Slow extends Worker {
  constructor(file: string | URL, options?: WorkerOptions) {
    const isMeant = /(manager|watch)\.cjs$/.test(`${file}`);
    const code = `${slowCalls}\nrequire(${JSON.stringify((file as URL).pathname)});`;
    super(isMeant ? code : file, isMeant ? { ...options, eval: true } : options);
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
  if (handle === undefined) await openAndClose();
  else attachSpace(handle);
}
