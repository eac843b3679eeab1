/** A compute unit of a device: runs kernels on views of the device's own mapping. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { bytesOf, type NumericArray, viewOf } from '../../core/elements.js';
import { kernelError } from '../../core/kernel-error.js';
import { POLLOUT } from '../../linux/constants.js';
import { view } from '../../linux/memory.js';
import { Poller } from '../../linux/poll.js';
import { threadId } from '../../linux/process.js';
import { MessageSocket } from '../../linux/socket.js';
import type { LaunchFailure, LaunchParameter } from '../driver.js';
import { type KernelFunction, loadKernel } from '../kernel-loader.js';
import { printAtOnce, STANDARD_ERROR } from '../user-output.js';
import { Assignment } from './assignment.js';
import { jsonPacket, MAX_PACKET_BYTES, Packet, type UnitLaunch, type UnitResult } from './protocol.js';

const data = workerData as { base: number; socket: number; port: MessagePort; assignment: SharedArrayBuffer };
const { base, socket: fd, port } = data;
const assignment = new Assignment(data.assignment);
const socket = new MessageSocket(fd, MAX_PACKET_BYTES);
const errors = new Poller(1);
errors.set(0, STANDARD_ERROR, POLLOUT);
printAtOnce(() => errors.wait(0) > 0 && errors.readyAt(0) === POLLOUT);

/** Views by what they show. A view is cheap to keep and dear to make, so that a program's usual few are kept. */
const views = new Map<string, NumericArray>();
const VIEWS = 64;

function parameterValue(parameter: LaunchParameter): NumericArray | number | bigint {
  if (parameter.kind === 'scalar') return parameter.value;
  const key = `${parameter.type} ${parameter.offset} ${parameter.length}`;
  let known = views.get(key);
  if (known === undefined) {
    if (views.size >= VIEWS) views.delete(views.keys().next().value as string);
    const bytes = parameter.length * bytesOf(parameter.type);
    known = viewOf(parameter.type, view(base + parameter.offset, bytes));
    views.set(key, known);
  }
  return known;
}

const ABORTED: LaunchFailure = { code: 'ABORTED', message: 'ended before it began' };

async function run({ launch, unit, units, begin, end }: UnitLaunch): Promise<void> {
  let failure: LaunchFailure | null = null;
  let running = false;
  try {
    const kernel: KernelFunction = await loadKernel(launch.code);
    const values: Record<string, NumericArray | number | bigint> = {};
    for (const parameter of launch.parameters) values[parameter.name] = parameterValue(parameter);
    running = assignment.begin(launch.id);
    if (running) {
      const result: unknown = kernel(values, { begin, end, size: launch.size, unit, units });
      if (result instanceof Promise) await result;
    } else failure = ABORTED;
  } catch (error) {
    const thrown = kernelError(error);
    failure = {
      code: 'KERNEL_ERROR',
      message: `kernel ${launch.kernelName} threw ${thrown.name}: ${thrown.message}`.slice(0, 4096),
      stack: thrown.stack.slice(0, 16384),
    };
    // What cannot be loaded has not begun, and yet has come to an end.
    if (!running) running = assignment.begin(launch.id);
  }
  // If it is being ended, the main thread reports it, and this thread is about to stop.
  if (running && !assignment.finish(launch.id)) return;
  const result: UnitResult = { launch: launch.id, unit, failure };
  socket.send(jsonPacket(Packet.Launched, result), [], true);
}

// One launch after the other: a second must not start while an asynchronous kernel waits.
let last = Promise.resolve();
port.on('message', (part: UnitLaunch) => {
  last = last.then(() => run(part));
});
parentPort?.postMessage(threadId());
