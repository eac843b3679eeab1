/**
 * A device without any memory management: a process with its own memory, which copies that its
 * owner makes by hand fill. It runs the kernel when told to, in the same kind of thread on the same
 * kind of mapping as the library's process device.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  MADV_NOHUGEPAGE,
  MADV_POPULATE_WRITE,
  MAP_NORESERVE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../src/linux/base/constants.js';
import { closeDescriptor } from '../src/linux/base/libc.js';
import {
  copyMemory,
  createMemoryFile,
  madvise,
  mmap,
  munmap,
  punchHole,
  view,
} from '../src/linux/memory/memory.js';
import { createSocketPair, MessageSocket } from '../src/linux/sockets/socket.js';

const SOCKET = 3;
const MEMORY = 4;
const PACKET_BYTES = 64;

function mapShared(fd: number, bytes: number): number {
  const address = mmap(bytes, {
    protection: PROT_READ | PROT_WRITE,
    flags: MAP_SHARED | MAP_NORESERVE,
    fd,
  });
  madvise(address, bytes, MADV_NOHUGEPAGE);
  return address;
}

/** The owner's side. */
export class HandDevice {
  readonly pid: number;
  private readonly alias: number;

  private constructor(
    private readonly fd: number,
    private readonly bytes: number,
    private readonly socket: MessageSocket,
    private readonly child: ReturnType<typeof spawn>,
  ) {
    this.pid = child.pid ?? 0;
    this.alias = mapShared(fd, bytes);
  }

  /** `length` elements in each of two arrays, x and y. */
  static start(length: number): HandDevice {
    const bytes = 2 * length * 4;
    const fd = createMemoryFile('by-hand', bytes);
    const [ours, theirs] = createSocketPair();
    const child = spawn(process.execPath, [fileURLToPath(import.meta.url), String(length)], {
      stdio: ['ignore', 'inherit', 'inherit', theirs, fd],
    });
    closeDescriptor(theirs);
    const socket = new MessageSocket(ours, PACKET_BYTES);
    socket.receive(true);
    return new HandDevice(fd, bytes, socket, child);
  }

  /** Copies to the device's memory, with all of its pages given at once. */
  copyIn(offset: number, source: number, bytes: number): void {
    madvise(this.alias + offset, bytes, MADV_POPULATE_WRITE);
    copyMemory(this.alias + offset, source, bytes);
  }

  copyOut(target: number, offset: number, bytes: number): void {
    copyMemory(target, this.alias + offset, bytes);
  }

  /** y += alpha * x, until it is done. */
  run(): void {
    this.socket.send(new Uint8Array(1), [], true);
    this.socket.receive(true);
  }

  /** Takes its memory away, as it is before anything was copied. */
  empty(): void {
    punchHole(this.fd, 0, this.bytes);
  }

  close(): void {
    this.child.kill('SIGKILL');
    this.socket.close();
    munmap(this.alias, this.bytes);
    closeDescriptor(this.fd);
  }
}

function serve(length: number): void {
  const address = mapShared(MEMORY, 2 * length * 4);
  const buffer = view(address, 2 * length * 4);
  const x = new Float32Array(buffer, 0, length);
  const y = new Float32Array(buffer, length * 4, length);
  const socket = new MessageSocket(SOCKET, PACKET_BYTES);
  const done = new Uint8Array(1);
  socket.send(done, [], true);
  for (;;) {
    const message = socket.receive(true);
    if (message === 'closed') return;
    if (message === null) continue;
    saxpy({ x, y, alpha: 3 }, { begin: 0, end: length });
    socket.send(done, [], true);
  }
}

/** The kernel, the same text for both devices. */
export function saxpy(
  {
    x,
    y,
    alpha,
  }: { readonly x: Readonly<Float32Array>; readonly y: Float32Array; readonly alpha: number },
  { begin, end }: { readonly begin: number; readonly end: number },
): void {
  for (let i = begin; i < end; i++) y[i] += alpha * x[i];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) serve(Number(process.argv[2]));
