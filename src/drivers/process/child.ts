/**
 * The program of a device's process. The main thread maps the node's memory at the space's address,
 * registers it for faults, hands the descriptor over and starts the control thread; afterwards it
 * passes on what kernels print, and looks after the units. It must not compute: a thread that waits
 * in a fault does nothing else.
 */

import './told-binary.js';
import {
  MAP_FIXED_NOREPLACE,
  MAP_NORESERVE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../../linux/base/constants.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { FAULT_FEATURES, FAULT_MODES, settleMapping } from '../../linux/memory/managed-mapping.js';
import { mmap, view } from '../../linux/memory/memory.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { nameDeviceProcess } from '../../linux/processes/orphans.js';
import { exitImmediately, setParentDeathSignal } from '../../linux/processes/process.js';
import { descriptorsOf, MessageSocket } from '../../linux/sockets/socket.js';
import { startOwnThread } from '../../linux/threads/own-threads.js';
import { LaunchBoard } from './board.js';
import type { ControlData } from './control.js';
import {
  type Hello,
  jsonPacket,
  MAX_PACKET_BYTES,
  numberPacket,
  type Order,
  Packet,
  readJson,
} from './protocol.js';
import { UnitThreads } from './unit-threads.js';

const SOCKET = 3;
const SIGKILL = 9;
/** The control thread's place among the threads that the manager looks after; units follow it. */
const CONTROL = 0;

// The device ends with its owner, however that ends, and with nothing else: a Ctrl-C is for the
// owner to handle.
if (!setParentDeathSignal(SIGKILL, process.ppid)) process.exit(1);
nameDeviceProcess();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
// Node would wait for its threads, of which one waits for messages and others may wait in faults.
process.on('exit', (code) => exitImmediately(code));

const socket = new MessageSocket(SOCKET, MAX_PACKET_BYTES);
// An error of this thread ends the device, and the manager tells why.
process.on('uncaughtException', fail);
try {
  start();
} catch (error) {
  fail(error);
}

function fail(error: unknown): never {
  try {
    socket.send(
      jsonPacket(Packet.Failed, error instanceof Error ? error.message : String(error)),
      [],
      true,
    );
  } catch {
    // The owner has gone meanwhile, and cannot be told.
  }
  process.exit(1);
}

function start(): void {
  // First of all, since it takes as long to start as everything else here does: it begins when it
  // is told what with. It prints nothing, so that what pipes and terminals take need not be loaded.
  const control = startOwnThread(new URL('./control.cjs', import.meta.url), {
    name: 'onemem control',
    stdout: true,
    stderr: true,
  });
  const message = socket.receive(true);
  if (message === null || message === 'closed') process.exit(1);
  const hello = readJson<Hello>(message.bytes);
  const [memory, hostMemory, boardFile] = descriptorsOf(message);
  const faults = registerMemory(hello, memory);
  // Our own copy of the descriptor stays open: if the owner's went first, threads would go on with
  // unfilled pages.
  socket.send(numberPacket(Packet.Registered), [faults], true);
  const boardBytes = LaunchBoard.bytesFor(hello.units);
  const boardAddress = mmap(boardBytes, {
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED,
    fd: boardFile,
  });
  closeDescriptor(boardFile);
  const common = { base: hello.base, socket: SOCKET, board: boardAddress, units: hello.units };
  const board = new LaunchBoard(view(boardAddress, boardBytes), hello.units);
  const units = new UnitThreads(hello.name, socket, board, common);
  control.postMessage({ ...common, memory, hostMemory, faults } satisfies ControlData);
  control.once('message', (thread: number) => {
    socket.send(numberPacket(Packet.Thread, CONTROL, thread), [], true);
    socket.send(numberPacket(Packet.Ready), [], true);
    control.on('message', (order: Order) => {
      if ('wake' in order) units.wake(order.wake);
      else units.abort(order.abort);
    });
  });
  control.on('error', (error) =>
    units.tell(`the control thread failed: ${error.stack ?? error.message}`),
  );
  // Without its control thread the device could not answer the manager any more.
  control.on('exit', () => process.exit(1));
}

/** Maps the node's memory at the space's address. Returns the descriptor of its faults. */
function registerMemory({ base, bytes }: Hello, memory: number): number {
  mmap(bytes, {
    address: base,
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
    fd: memory,
  });
  settleMapping(base, bytes);
  const faults = Userfaultfd.open({ features: FAULT_FEATURES });
  faults.register(base, bytes, FAULT_MODES);
  return faults.fd;
}
