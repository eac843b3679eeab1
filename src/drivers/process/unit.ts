/** A compute unit of a device: runs kernels on views of the device's own mapping. */
import { Socket, type SocketConstructorOpts } from 'node:net';
import { parentPort, workerData } from 'node:worker_threads';
import { bytesOf, type NumericArray, viewOf } from '../../core/basics/elements.js';
import { POLLOUT } from '../../linux/base/constants.js';
import { view } from '../../linux/memory/memory.js';
import { threadId } from '../../linux/processes/process.js';
import { Poller } from '../../linux/sockets/poll.js';
import { MessageSocket } from '../../linux/sockets/socket.js';
import { kernelError } from '../../messages/kernel-error.js';
import type { KernelCallValues, LaunchFailure, LaunchParameter } from '../driver.js';
import { type KernelFunction, loadKernel } from '../kernel-loader.js';
import { printAtOnce, STANDARD_ERROR } from '../user-output.js';
import { LaunchBoard } from './board.js';
import {
  jsonPacket,
  MAX_PACKET_BYTES,
  numberPacket,
  Packet,
  partition,
  type UnitFailure,
} from './protocol.js';

const {
  base,
  socket: fd,
  board: boardAddress,
  unit,
  units,
  bell,
} = workerData as {
  base: number;
  socket: number;
  board: number;
  unit: number;
  units: number;
  bell: number;
};
const board = new LaunchBoard(view(boardAddress, LaunchBoard.bytesFor(units)), units);
const assignment = board.unit(unit);
const socket = new MessageSocket(fd, MAX_PACKET_BYTES);
const errors = new Poller(1);
errors.set(0, STANDARD_ERROR, POLLOUT);
printAtOnce(() => errors.wait(0) > 0 && errors.readyAt(0) === POLLOUT);

/** Views by what they show: cheap to keep, dear to make, so that the usual few are kept. */
const views = new Map<string, NumericArray>();
const VIEWS = 64;

function parameterValue(parameter: LaunchParameter): KernelCallValues[string] {
  if (parameter.kind === 'scalar' || parameter.kind === 'value') return parameter.value;
  if (parameter.kind === 'bytes')
    throw new Error(`parameter ${parameter.name} is for modules in WGSL`);
  const key = `${parameter.type} ${parameter.offset} ${parameter.length}`;
  let known = views.get(key);
  if (known === undefined) {
    if (views.size >= VIEWS) views.delete(views.keys().next().value as string);
    const bytes = parameter.length * bytesOf(parameter.type);
    const memory = bytes === 0 ? new ArrayBuffer(0) : view(base + parameter.offset, bytes);
    known = viewOf(parameter.type, memory);
    views.set(key, known);
  }
  return known;
}

const ABORTED: LaunchFailure = { code: 'ABORTED', message: 'ended before it began' };

async function run(launch: number): Promise<void> {
  const { description, range } = board.read();
  let failure: LaunchFailure | null = null;
  let running = false;
  try {
    const kernel: KernelFunction = await loadKernel(description.code);
    const values: KernelCallValues = {};
    for (const parameter of description.parameters)
      values[parameter.name] = parameterValue(parameter);
    const { begin, end } = partition(range.begin, range.end, units)[unit];
    running = assignment.begin(launch);
    if (running) {
      const result: unknown = kernel(values, { begin, end, size: range.size, unit, units });
      if (result instanceof Promise) await result;
    } else failure = ABORTED;
  } catch (error) {
    const thrown = kernelError(error);
    failure = {
      code: 'KERNEL_ERROR',
      message: `kernel ${description.kernelName} threw ${thrown.name}: ${thrown.message}`.slice(
        0,
        4096,
      ),
      stack: thrown.stack.slice(0, 16384),
    };
    // What cannot be loaded has not begun, and yet has come to an end.
    if (!running) running = assignment.begin(launch);
  }
  // If it is being ended, the main thread reports it, and this thread is about to stop.
  if (running && !assignment.finish(launch)) return;
  if (failure !== null)
    socket.send(jsonPacket(Packet.UnitFailed, { launch, failure } satisfies UnitFailure), [], true);
  if (board.endPart(unit, launch)) socket.send(numberPacket(Packet.Launched, launch), [], true);
}

/** Launches in order: a second comes after the unit has ended its part of the first. */
let last = Promise.resolve();

function take(): void {
  last = last.then(async () => {
    const launch = assignment.given;
    if (launch !== 0) await run(launch);
  });
}

// The thread waits by its event loop, so that timers and promises of kernels go on between two
// launches.
const onread = {
  buffer: new Uint8Array(64),
  callback: (): boolean => {
    take();
    return true;
  },
};
// What Node.js documents for connections goes for every socket; its types leave it out.
new Socket({ fd: bell, readable: true, writable: false, onread } as SocketConstructorOpts);
parentPort?.postMessage(threadId());
take();
