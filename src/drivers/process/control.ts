/** The control thread of a device's process. It touches no managed memory, so answers at once. */
import { type MessagePort, parentPort } from 'node:worker_threads';
import { BLOCK_BYTES, PAGE_BYTES } from '../../core/basics/types.js';
import {
  MADV_DONTNEED,
  MAP_ANONYMOUS,
  MAP_FIXED,
  MAP_FIXED_NOREPLACE,
  MAP_NORESERVE,
  MAP_PRIVATE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../../linux/base/constants.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { FAULT_FEATURES, FAULT_MODES, settleMapping } from '../../linux/memory/managed-mapping.js';
import { madvise, mmap, munmap, view } from '../../linux/memory/memory.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { SERVING_SLICE_NS, setTimeSlice, threadId } from '../../linux/processes/process.js';
import { MessageSocket } from '../../linux/sockets/socket.js';
import { LaunchBoard } from './board.js';
import {
  type HiddenFile,
  MAX_PACKET_BYTES,
  numberPacket,
  type Order,
  Packet,
  readJson,
  readNumber,
  type ShownFile,
} from './protocol.js';

/** What the control thread gets when it is to begin. */
export interface ControlData {
  readonly base: number;
  readonly socket: number;
  /** Where the board lies. */
  readonly board: number;
  readonly units: number;
  /** Descriptors. */
  readonly memory: number;
  readonly hostMemory: number;
  readonly faults: number;
}

const main = parentPort as MessagePort;
/** How long to sleep until the main thread has replaced a unit, which it is about to do. */
const REPLACING_MS = 1;
const sleeper = new Int32Array(new SharedArrayBuffer(4));
// It never returns: what the main thread has to say after that comes by the socket.
main.once('message', (data: ControlData) => new Control(data).serve());

class Control {
  private readonly faults: Userfaultfd;
  private readonly socket: MessageSocket;
  private readonly board: LaunchBoard;

  constructor(private readonly data: ControlData) {
    this.faults = Userfaultfd.fromFd(data.faults, FAULT_FEATURES);
    this.socket = new MessageSocket(data.socket, MAX_PACKET_BYTES);
    this.board = new LaunchBoard(view(data.board, LaunchBoard.bytesFor(data.units)), data.units);
  }

  serve(): never {
    setTimeSlice(SERVING_SLICE_NS);
    main.postMessage(threadId());
    for (;;) {
      const message = this.socket.receive(true);
      if (message === null) continue;
      if (message === 'closed') process.exit(0);
      this.obey(message.bytes, message.fds ?? []);
    }
  }

  private obey(bytes: Uint8Array, fds: readonly number[]): void {
    const { base, memory, hostMemory } = this.data;
    if (bytes[0] === Packet.Zap) {
      madvise(
        base + readNumber(bytes, 1) * PAGE_BYTES,
        readNumber(bytes, 2) * PAGE_BYTES,
        MADV_DONTNEED,
      );
      this.answer(bytes);
    } else if (bytes[0] === Packet.Remap) {
      this.remap(readNumber(bytes, 1), readNumber(bytes, 2) === 1 ? hostMemory : memory);
      this.answer(bytes);
    } else if (bytes[0] === Packet.Cover) {
      this.cover(readNumber(bytes, 1));
      this.answer(bytes);
    } else if (bytes[0] === Packet.Show) {
      this.show(readJson<ShownFile>(bytes), fds[0]);
    } else if (bytes[0] === Packet.Hide) {
      const { page, bytes: length } = readJson<HiddenFile>(bytes);
      munmap(base + page * PAGE_BYTES, length);
    } else if (bytes[0] === Packet.Give) {
      this.give(readNumber(bytes, 0), readNumber(bytes, 1));
    } else if (bytes[0] === Packet.Wake) {
      ask({ wake: readNumber(bytes, 0) });
    } else if (bytes[0] === Packet.Abort) {
      // The main thread ends units; those that fault are let go on by the manager, and end then.
      ask({ abort: readNumber(bytes, 0) });
    }
  }

  /** The mapping keeps the file; a launch waits for it. @param fd undefined: none was left */
  private show({ window, page, offset, bytes, writable }: ShownFile, fd: number | undefined): void {
    if (fd === undefined) {
      this.socket.send(numberPacket(Packet.Shown, window, 0), [], true);
      return;
    }
    let done = 1;
    try {
      const address = this.data.base + page * PAGE_BYTES;
      const protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
      const kind = writable ? MAP_SHARED : MAP_PRIVATE;
      mmap(bytes, { address, protection, flags: kind | MAP_FIXED_NOREPLACE, fd, offset });
    } catch {
      done = 0;
    }
    closeDescriptor(fd);
    this.socket.send(numberPacket(Packet.Shown, window, done), [], true);
  }

  private answer(bytes: Uint8Array): void {
    this.socket.send(numberPacket(Packet.Zapped, readNumber(bytes, 0)), [], true);
  }

  /** Gives a unit the launch that is on the board, or the one that takes its place. */
  private give(unit: number, launch: number): void {
    while (!this.board.unit(unit).give(launch)) Atomics.wait(sleeper, 0, 0, REPLACING_MS);
    ask({ wake: unit });
  }

  /** No unit runs meanwhile: between the two calls a touch would not be noticed. */
  private remap(page: number, file: number): void {
    const address = this.data.base + page * PAGE_BYTES;
    mmap(BLOCK_BYTES, {
      address,
      protection: PROT_READ | PROT_WRITE,
      flags: MAP_SHARED | MAP_NORESERVE | MAP_FIXED,
      fd: file,
      offset: page * PAGE_BYTES,
    });
    settleMapping(address, BLOCK_BYTES);
    this.faults.register(address, BLOCK_BYTES, FAULT_MODES);
  }

  /** Units run meanwhile, and find the old page or the new one, whose content means nothing. */
  private cover(page: number): void {
    mmap(PAGE_BYTES, {
      address: this.data.base + page * PAGE_BYTES,
      protection: PROT_READ | PROT_WRITE,
      flags: MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
    });
  }
}

function ask(order: Order): void {
  main.postMessage(order);
}
