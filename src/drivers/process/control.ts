/** The control thread of a device's process. It answers the manager at once, since it touches no managed memory. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { BLOCK_BYTES, PAGE_BYTES } from '../../core/types.js';
import {
  MADV_DONTNEED,
  MAP_ANONYMOUS,
  MAP_FIXED,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../../linux/constants.js';
import { madvise, mmap, view } from '../../linux/memory.js';
import { threadId } from '../../linux/process.js';
import { MessageSocket } from '../../linux/socket.js';
import { Userfaultfd } from '../../linux/userfaultfd.js';
import { FAULT_FEATURES, FAULT_MODES, settleMapping } from '../paged-memory.js';
import { LaunchBoard } from './board.js';
import { MAX_PACKET_BYTES, numberPacket, type Order, Packet, readNumber } from './protocol.js';

const {
  base,
  socket: fd,
  board: boardAddress,
  units,
  memory,
  hostMemory,
  faults: faultsFd,
} = workerData as {
  base: number;
  socket: number;
  board: number;
  units: number;
  memory: number;
  hostMemory: number;
  faults: number;
};
const faults = Userfaultfd.fromFd(faultsFd, FAULT_FEATURES);
const socket = new MessageSocket(fd, MAX_PACKET_BYTES);
const main = parentPort as MessagePort;
const board = new LaunchBoard(view(boardAddress, LaunchBoard.bytesFor(units)), units);
/** How long to sleep until the main thread has replaced a unit, which it is about to do. */
const REPLACING_MS = 1;
const sleeper = new Int32Array(new SharedArrayBuffer(4));
main.postMessage(threadId());

/** Gives a unit the launch that is on the board, or the one that takes its place. */
function give(unit: number, launch: number): void {
  while (!board.unit(unit).give(launch)) Atomics.wait(sleeper, 0, 0, REPLACING_MS);
  ask({ wake: unit });
}

function ask(order: Order): void {
  main.postMessage(order);
}

/** No unit runs meanwhile: between the two calls a touch would not be noticed. */
function remap(page: number, file: number): void {
  const address = base + page * PAGE_BYTES;
  mmap(BLOCK_BYTES, {
    address,
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
    fd: file,
    offset: page * PAGE_BYTES,
  });
  settleMapping(address, BLOCK_BYTES);
  faults.register(address, BLOCK_BYTES, FAULT_MODES);
}

/** Units run meanwhile, and find the old page or the new one, whose content means nothing. */
function cover(page: number): void {
  mmap(PAGE_BYTES, {
    address: base + page * PAGE_BYTES,
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
  });
}

for (;;) {
  const message = socket.receive(true);
  if (message === null) continue;
  if (message === 'closed') process.exit(0);
  const { bytes } = message;
  if (bytes[0] === Packet.Zap) {
    madvise(base + readNumber(bytes, 1) * PAGE_BYTES, readNumber(bytes, 2) * PAGE_BYTES, MADV_DONTNEED);
    socket.send(numberPacket(Packet.Zapped, readNumber(bytes, 0)), [], true);
  } else if (bytes[0] === Packet.Remap) {
    remap(readNumber(bytes, 1), readNumber(bytes, 2) === 1 ? hostMemory : memory);
    socket.send(numberPacket(Packet.Zapped, readNumber(bytes, 0)), [], true);
  } else if (bytes[0] === Packet.Cover) {
    cover(readNumber(bytes, 1));
    socket.send(numberPacket(Packet.Zapped, readNumber(bytes, 0)), [], true);
  } else if (bytes[0] === Packet.Give) {
    give(readNumber(bytes, 0), readNumber(bytes, 1));
  } else if (bytes[0] === Packet.Wake) {
    ask({ wake: readNumber(bytes, 0) });
  } else if (bytes[0] === Packet.Abort) {
    // The main thread ends units; those that fault are let go on by the manager, and end then.
    ask({ abort: readNumber(bytes, 0) });
  }
}
