/** Spaces whose manager meets system calls that fail, as src/linux/base/failing-calls.ts says. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, openSpace, type SpaceOptions } from '../../src/index.js';
import { FAILING_CALLS } from '../../src/linux/base/failing-calls.js';
import { Control } from '../../src/pager/protocol/control.js';

export interface FailingSpace {
  readonly space: AddressSpace;
  /** From now on uses of the calls count. */
  arm(): void;
  /** From now on none fails. */
  disarm(): void;
  readonly armed: boolean;
  /** How many have failed. */
  fired(): number;
}

/**
 * @param calls such as `sendmsg:ENOBUFS:1-3,fdatasync:EIO`: the call, the error, and which of its
 * uses fail
 * @param always the same of calls that fail armed or not
 */
export async function openFailing(
  calls: string,
  options: SpaceOptions,
  always = '',
): Promise<FailingSpace> {
  process.env[FAILING_CALLS] = `${always},later,${calls}`;
  try {
    const space = await openSpace(options);
    const control = new Int32Array(space.handle.control);
    return {
      space,
      arm: () => Atomics.or(control, Control.FailingCalls, 1),
      disarm: () => Atomics.and(control, Control.FailingCalls, ~1),
      get armed() {
        return (Atomics.load(control, Control.FailingCalls) & 1) !== 0;
      },
      fired: () => Atomics.load(control, Control.FailingCalls) >> 1,
    };
  } finally {
    delete process.env[FAILING_CALLS];
  }
}

/** Ends failures after a time, whatever the thread that made it waits for. */
export interface Healer {
  /** So many milliseconds from now on none fails. */
  after(ms: number): void;
  /** So many milliseconds after one has failed, none fails any more. */
  afterFailure(ms: number): void;
  end(): Promise<unknown>;
}

export async function startHealer(space: AddressSpace): Promise<Healer> {
  const code = `
    const { parentPort, workerData: [control, at] } = require('node:worker_threads');
    const words = new Int32Array(control);
    const heal = () => Atomics.and(words, at, ~1);
    const look = (ms) => setTimeout(Atomics.load(words, at) >> 1 > 0 ? heal : look, ms, ms);
    parentPort.on('message', ({ failed, ms }) => (failed ? look(ms) : setTimeout(heal, ms)));
    parentPort.postMessage('up');`;
  const workerData = [space.handle.control, Control.FailingCalls];
  const worker = new Worker(code, { eval: true, workerData });
  await once(worker, 'message');
  worker.unref();
  return {
    after: (ms) => worker.postMessage({ failed: false, ms }),
    afterFailure: (ms) => worker.postMessage({ failed: true, ms }),
    end: () => worker.terminate(),
  };
}
