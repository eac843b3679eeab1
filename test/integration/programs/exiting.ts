/** Opens a space, uses it, and ends in the way that it is told. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type ArrayHandle, i32, kernel, type ManagedArray, openSpace } from '../../../src/index.js';
import { say, sayEnding, sayTraces, wait } from './common.js';

const [way] = process.argv.slice(2);
const hangs = way === 'thread in a fault' || way === 'signal with a thread in a fault';

const space = await openSpace({
  devices: [{ kind: 'process', memory: '8MiB' }],
  // A manager that has stopped answers no fault: a thread that touches a page sits there for good.
  ...(hangs ? { crash: 'hang', heartbeatLimitMs: 3_600_000 } : {}),
});
const [device] = space.devices;
const array = space.array(Int32Array, 2 ** 20);
const increment = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i]++;
});
if (!hangs) {
  array.data.fill(1);
  await device.run(increment, { x: array }, { size: array.length });
}
sayTraces(space);

function provide(name: string, table?: ArrayHandle): Promise<ManagedArray<Int32Array>> {
  const words = new Int32Array(new SharedArrayBuffer(20));
  const module = new URL('./provider-functions.js', import.meta.url);
  return space.providedArray(Int32Array, 2 ** 20, { module, export: name, data: { words, table } });
}

async function startThread(what: string): Promise<Worker> {
  const worker = new Worker(new URL('./exiting-thread.js', import.meta.url), {
    workerData: { what, handle: array.handle },
  });
  await once(worker, 'message');
  return worker;
}

/**
 * What a thread that throws ends with. Nothing of it is awaited before a listener waits for its
 * error: the error can overtake the message that was posted before it, and an error without a
 * listener ends the program.
 */
function failureOfThread(): Promise<Error> {
  const worker = new Worker(new URL('./exiting-thread.js', import.meta.url), {
    workerData: { what: 'throw', handle: array.handle },
  });
  return new Promise((resolve) => worker.once('error', resolve));
}

const endless = kernel({ x: i32.inout }, ({ x }) => {
  for (;;) x[0]++;
});

switch (way) {
  case 'provider': {
    // Filled once and then idle.
    const provided = await provide('fill');
    say(`element ${provided.data[7]}`);
    break;
  }
  case 'busy provider': {
    const provided = await provide('spin');
    provided.writeTo(1).catch(() => undefined);
    setTimeout(() => {
      sayEnding();
      process.exit(5);
    }, 100);
    break;
  }
  case 'busy provider and a close': {
    const provided = await provide('spin');
    provided
      .writeTo(1)
      .catch((error: { code: string }) => say(`writing failed with ${error.code}`));
    setTimeout(() => {
      sayEnding();
      void space.close();
    }, 100);
    break;
  }
  case 'provider in a fault': {
    // It waits for another one, which never answers.
    const table = await provide('neverAnswer');
    const provided = await provide('fillFromTable', table.handle);
    provided.writeTo(1).catch(() => undefined);
    setTimeout(() => {
      sayEnding();
      process.exit(5);
    }, 300);
    break;
  }
  case 'natural end':
    break;
  case 'closed':
    await space.close();
    break;
  case 'exit code':
    process.exitCode = 4;
    break;
  case 'exit':
    sayEnding();
    process.exit(3);
    break;
  case 'throw':
    setImmediate(() => {
      sayEnding();
      throw new Error('thrown by the program');
    });
    break;
  case 'rejection':
    sayEnding();
    Promise.reject(new Error('rejected by the program'));
    break;
  case 'signal':
    wait();
    break;
  case 'signal with a thread in a fault':
    await startThread('fault');
    wait();
    break;
  case 'launch that runs':
    device.stream().launch(endless, { x: array }, { size: 1 });
    setTimeout(() => {
      sayEnding();
      process.exit(6);
    }, 100);
    break;
  case 'exit in a thread': {
    const worker = await startThread('exit');
    const [code] = await once(worker, 'exit');
    // The space is the main thread's, and goes on.
    await device.run(increment, { x: array }, { size: array.length });
    say(
      `thread ended with ${code}, elements are ${array.data[0]} and ${array.data[array.length - 1]}`,
    );
    break;
  }
  case 'error in a thread': {
    const error = await failureOfThread();
    say(
      `thread failed with ${error.message}, elements are ${array.data[0]} and ${array.data[array.length - 1]}`,
    );
    break;
  }
  case 'terminated thread': {
    const worker = await startThread('busy');
    await worker.terminate();
    await device.run(increment, { x: array }, { size: array.length });
    say(`elements are ${array.data[0]} and ${array.data[array.length - 1]}`);
    break;
  }
  case 'thread in a fault': {
    await startThread('fault');
    // The thread is in its fault a moment after it has said that it goes there.
    setTimeout(() => {
      sayEnding();
      process.exit(5);
    }, 100);
    break;
  }
  case 'busy thread': {
    const worker = await startThread('busy');
    worker.unref();
    break;
  }
  case 'thread that faults all the time': {
    const worker = await startThread('faults');
    worker.unref();
    setTimeout(() => {
      sayEnding();
      process.exit(5);
    }, 100);
    break;
  }
  case 'listeners':
    process.on('exit', (code) => {
      // Pages are on the device: the space must still answer here.
      say(`listener: code ${code}, element ${array.data[7]}`);
      process.exitCode = 8;
    });
    break;
  case 'late listeners with a thread': {
    const worker = await startThread('busy');
    worker.unref();
    process.on('exit', (code) => say(`first: code ${code}, element ${array.data[7]}`));
    process.on('exit', () => say(`second: element ${array.data[2 ** 19]}`));
    sayEnding();
    process.exit(8);
    break;
  }
  default:
    throw new Error(`no way '${way}' to end`);
}
const saysItself = ['busy provider', 'busy provider and a close', 'provider in a fault'].includes(
  way,
);
if (saysItself) say('waiting');
else if (way !== 'signal' && way !== 'signal with a thread in a fault') sayEnding();
else say('waiting');
