/**
 * The program of a device's process. The main thread maps the node's memory at the space's address, registers it for faults,
 * hands the descriptor over and starts the threads; afterwards it only passes on what kernels print. It must not compute: a
 * thread that waits in a fault answers to nobody.
 */

import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { MAP_FIXED_NOREPLACE, MAP_NORESERVE, MAP_SHARED, PROT_READ, PROT_WRITE } from '../../linux/constants.js';
import { mmap } from '../../linux/memory.js';
import { setParentDeathSignal } from '../../linux/process.js';
import { MessageSocket } from '../../linux/socket.js';
import { Userfaultfd } from '../../linux/userfaultfd.js';
import { FAULT_FEATURES, FAULT_MODES, settleMapping } from '../paged-memory.js';
import { type Hello, jsonPacket, MAX_PACKET_BYTES, numberPacket, Packet, readJson } from './protocol.js';

const SOCKET = 3;
const SIGKILL = 9;

// The device ends with its owner, however that ends, and with nothing else: a Ctrl-C is for the owner to handle.
if (!setParentDeathSignal(SIGKILL, process.ppid)) process.exit(1);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);

const socket = new MessageSocket(SOCKET, MAX_PACKET_BYTES);
try {
  start();
} catch (error) {
  try {
    socket.send(jsonPacket(Packet.Failed, error instanceof Error ? error.message : String(error)), [], true);
  } catch {
    // The owner has gone while the device was starting: nobody is left to be told.
  }
  process.exit(1);
}

function start(): void {
  const message = socket.receive(true);
  if (message === null || message === 'closed') process.exit(1);
  const hello = readJson<Hello>(message.bytes);
  const [memory, hostMemory] = message.fds;
  mmap(hello.bytes, {
    address: hello.base,
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
    fd: memory,
  });
  settleMapping(hello.base, hello.bytes);
  const faults = Userfaultfd.open({ features: FAULT_FEATURES });
  faults.register(hello.base, hello.bytes, FAULT_MODES);
  // Our own copy of the descriptor stays open: if the owner's went first, threads would go on with unfilled pages.
  socket.send(numberPacket(Packet.Registered), [faults.fd], true);
  const ports: MessagePort[] = [];
  let starting = hello.units + 1;
  const up = (): void => {
    if (--starting === 0) socket.send(numberPacket(Packet.Ready), [], true);
  };
  for (let unit = 0; unit < hello.units; unit++) {
    const { port1, port2 } = new MessageChannel();
    ports.push(port1);
    const worker = new Worker(new URL('./unit.js', import.meta.url), {
      workerData: { base: hello.base, unit, socket: SOCKET, port: port2 },
      transferList: [port2],
      name: `${hello.name} unit ${unit}`,
    });
    watch(worker, `unit ${unit}`, up);
  }
  const control = new Worker(new URL('./control.js', import.meta.url), {
    workerData: { base: hello.base, socket: SOCKET, ports, units: hello.units, memory, hostMemory, faults: faults.fd },
    transferList: ports,
    name: `${hello.name} control`,
  });
  watch(control, 'control', up);
}

/** A thread that ends takes the device with it: half a device would leave launches waiting for ever. */
function watch(worker: Worker, name: string, up: () => void): void {
  worker.once('message', up);
  worker.on('error', (error) => {
    process.stderr.write(`onemem device: thread ${name} failed: ${error.stack ?? error.message}\n`);
    process.exit(1);
  });
  worker.on('exit', () => process.exit(1));
}
