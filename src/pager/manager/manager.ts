/** Entry of the manager's thread. */
// Drivers, notifiers and the kernels of simulated devices run here, and may print.
import './standard-output.js';
import { parentPort, workerData } from 'node:worker_threads';
import { FAILING_CALLS, failCalls } from '../../linux/base/failing-calls.js';
import { declareAll } from '../../linux/base/libc.js';
import { DescriptorReserve } from '../../linux/files/descriptor-reserve.js';
import { munmap } from '../../linux/memory/memory.js';
import { SERVING_SLICE_NS, setTimeSlice, threadId } from '../../linux/processes/process.js';
import { loadPolicies } from '../../policy/choices.js';
import { forsake } from '../protocol/closed-space.js';
import { Control, SpaceState } from '../protocol/control.js';
import { count, lineOf, type ToSentinel } from '../protocol/output.js';
import type { ManagerData, ManagerReady } from '../protocol/space.js';
import { endStart } from '../protocol/starting.js';
import { toWire } from '../protocol/wire.js';
import { answerLateUses } from './late-uses.js';
import { Pager } from './pager.js';

const { options, sentinel, start } = workerData as ManagerData;
const control = new Int32Array(options.control);

function tell(message: ManagerReady): void {
  parentPort?.postMessage(message);
}

function say(text: string): number {
  const ticket = count(control);
  toSentinel({ say: text });
  return ticket;
}

function toSentinel(message: ToSentinel): void {
  sentinel.postMessage(message);
}

// The sentinel hears of the end of this thread in any case, and here of what it comes from.
let problem = '';
process.on('uncaughtExceptionMonitor', (error) => {
  problem = lineOf(error);
});
process.once('exit', (exitCode) => toSentinel({ exitCode, problem }));

/** A function: a module that waits needs Node's ES loader, and starts later. */
async function main(): Promise<void> {
  Atomics.store(control, Control.ManagerThread, threadId());
  setTimeSlice(SERVING_SLICE_NS);
  const failing = process.env[FAILING_CALLS];
  if (failing !== undefined) failCalls(failing, 'manager', control, Control.FailingCalls);
  let pager: Pager | null = null;
  let reserve: DescriptorReserve | null = null;
  let isUp = false;
  try {
    const policies = await loadPolicies(options.policies ?? {}, say);
    reserve = new DescriptorReserve(options.wakeFd);
    pager = new Pager(options, policies, say, reserve);
  } catch (error) {
    reserve?.close();
    Atomics.store(control, Control.State, SpaceState.Closed);
    tell({ error: toWire(error) });
  }
  // What it needs of the C library has been declared.
  endStart(start);
  if (pager !== null) {
    const running = pager;
    Atomics.store(control, Control.State, SpaceState.Running);
    running.addDevices((failure) => {
      if (failure === null) {
        isUp = true;
        toSentinel({ isUp });
        tell({ base: running.base, devices: running.deviceInfos, faultsBy: running.faultsBy });
        // While the opener hears of it.
        declareAll();
      } else {
        // Nothing may be left of a space that did not come up: its devices, its descriptors, its
        // addresses.
        running.close(() => {
          munmap(running.base, options.bytes);
          tell({
            error: { name: 'OnememError', code: 'DEVICE_START', message: failure, details: {} },
          });
        });
      }
    });
    try {
      await running.run();
    } catch (error) {
      // As long as the space is not up, the thread that opens it can be told; afterwards a thread
      // may wait in a fault.
      if (isUp) throw error;
      Atomics.store(control, Control.State, SpaceState.Closed);
      running.abandon();
      munmap(running.base, options.bytes);
      tell({ error: toWire(error) });
    }
    const { closedSpaces } = running;
    try {
      if (closedSpaces.length > 0) answerLateUses(closedSpaces, control, options.wakeFd, say);
    } catch (error) {
      forsake(closedSpaces);
      throw error;
    }
  }
  Atomics.store(control, Control.Ended, 1);
  Atomics.notify(control, Control.Ended);
}

void main();
