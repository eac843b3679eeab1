/**
 * The process of a GPU device's engine, which does what packets say (executor.ts). It is a process
 * of its own since a thread that ends with a promise of WebGPU's pending takes the whole program
 * along; it ends with its owner, and is ended by SIGKILL whatever it does.
 */
import '../process/told-binary.js';
import { setFlagsFromString } from 'node:v8';
import { nameDeviceProcess } from '../../linux/processes/orphans.js';
import {
  exitImmediately,
  setParentDeathSignal,
  yieldProcessor,
} from '../../linux/processes/process.js';
import { MessageSocket } from '../../linux/sockets/socket.js';
import { MAX_PACKET_BYTES } from '../process/protocol.js';
import { runEngineLoop } from './engine/engine-loop.js';
import { Executor } from './engine/executor.js';
import { runWaitingLoop } from './engine/waiting-loop.js';
import { openTransport } from './gpu/choice.js';
import { failingGpu } from './gpu/failing-gpu.js';
import { jsonPacket, readJson } from './link/packets.js';
import { type Hello, Packet } from './link/protocol.js';
import { mapShared } from './link/staging.js';

/** Descriptors that the process is started with. */
const SOCKET = 3;
const HOST = 4;
const STAGING = 5;
const SIGKILL = 9;

// Most of what is done here is done some ten times and no more: it is compiled at its first call,
// and not after hundreds.
setFlagsFromString('--always-sparkplug');
setFlagsFromString('--no-lazy-feedback-allocation');

// The engine ends with its owner, however that ends, and with nothing else: a Ctrl-C is for the
// owner to handle.
if (!setParentDeathSignal(SIGKILL, process.ppid)) process.exit(1);
nameDeviceProcess();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('exit', (code) => exitImmediately(code));

const socket = new MessageSocket(SOCKET, MAX_PACKET_BYTES);

/** Packets that were sent. */
let said = 0;

function say(kind: number, what: unknown): void {
  said++;
  try {
    socket.send(jsonPacket(kind, what), [], true);
  } catch {
    // The owner has gone, and this process with it.
    exitImmediately(0);
  }
}

/** The GPU cannot be used, or is used wrongly: the device ends rather than answer wrongly. */
function fail(error: unknown): void {
  say(Packet.Lost, error instanceof Error ? error.message : String(error));
}

async function start(): Promise<void> {
  const message = socket.receive(true);
  if (message === null || message === 'closed') return exitImmediately(1);
  const { hostBytes, stagingBytes, transport } = readJson<Hello>(message.bytes);
  const failing = failingGpu();
  const gpu = await openTransport(transport, failing);
  const { waits } = gpu;
  const files = [0, mapShared(HOST, hostBytes), mapShared(STAGING, stagingBytes)];
  const turn =
    waits !== null
      ? async (): Promise<void> => waits.wait(0)
      : (): Promise<void> => {
          yieldProcessor();
          return new Promise((resolve) => setImmediate(resolve));
        };
  const engine = new Executor(gpu, files, { say, fail, turn, wants: () => true });
  // What was under way is not waited for: the driver ends this process when it has heard of it.
  void gpu.lost.then(fail);
  let last = Promise.resolve();
  /** Packets that are not done with. */
  let queued = 0;
  say(Packet.Ready, gpu.facts);
  const work = {
    get isBusy() {
      return queued > 0 || engine.isBusy;
    },
    get events() {
      return said + engine.begun;
    },
    take: (packet: Uint8Array) => {
      queued++;
      last = last
        .then(() => {
          if (failing?.isLostNow()) gpu.lose();
          return engine.handle(packet);
        })
        .catch(fail)
        .finally(() => queued--);
    },
    // The driver has gone: nothing of the device is wanted any more.
    closed: () => exitImmediately(0),
  };
  if (waits !== null) runWaitingLoop(socket, waits, work);
  else runEngineLoop(socket, work);
}

start().catch((error: unknown) => {
  say(Packet.Failed, error instanceof Error ? error.message : String(error));
  exitImmediately(1);
});
