/**
 * A program with a thread that is attached, or that sits in a fault for good, and that ends in the
 * way that it is told.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { openSpace } from '../../../src/index.js';
import { sayEnding } from '../../integration/programs/common.js';

const [way, thread] = process.argv.slice(2);
const space = await openSpace({ hostMemory: '256MiB' });
const module = new URL('../../integration/programs/provider-functions.js', import.meta.url);
const data = { words: new Int32Array(new SharedArrayBuffer(20)) };
const never = await space.providedArray(Int32Array, 1024, {
  module,
  export: 'neverAnswer',
  data,
  timeoutMs: 1e6,
});
if (thread !== 'none') {
  const worker = new Worker(new URL('./ending-thread.js', import.meta.url), {
    workerData: { thread, handle: never.handle },
  });
  await once(worker, 'message');
}

const end = (code: number): never => {
  sayEnding();
  process.exit(code);
};
const failingListener = (): void => {
  process.on('exit', () => {
    throw new Error('thrown by an exit listener');
  });
};
/** Later than the thread needs to get into its fault. */
const later = (action: () => void): unknown => setTimeout(action, 100);

switch (way) {
  case 'throw':
    later(() => {
      sayEnding();
      throw Object.assign(new Error('thrown by the program'), { code: 'SOME_CODE' });
    });
    break;
  case 'throw a string':
    later(() => {
      sayEnding();
      throw 'a string';
    });
    break;
  case 'reject':
    sayEnding();
    Promise.reject(new Error('rejected by the program'));
    break;
  case 'throw at once':
    sayEnding();
    throw new RangeError('thrown by the module');
  case 'handled':
    process.on('uncaughtException', () => end(3));
    later(() => {
      throw new Error('that is handled');
    });
    break;
  case 'handler that throws':
    process.on('uncaughtException', () => {
      sayEnding();
      throw new Error('thrown by a handler');
    });
    later(() => {
      throw new Error('thrown by the program');
    });
    break;
  case 'listener that throws':
    failingListener();
    later(() => end(5));
    break;
  case 'listener of the same tick that throws':
    failingListener();
    end(5);
    break;
  case 'throw, and a listener that throws':
    failingListener();
    later(() => {
      sayEnding();
      throw new Error('thrown by the program');
    });
    break;
  case 'reallyExit':
    later(() => {
      sayEnding();
      (process as unknown as { reallyExit(code: number): void }).reallyExit(5);
    });
    break;
  default:
    throw new Error(`no way '${way}' to end`);
}
