/**
 * What an expert writes by hand for data that does not fit the device: the same two processes, the
 * data cut into chunks, two buffers of device memory that are never given back, and copies of one
 * chunk while the device computes the other. It pays for no fault, no table and no memory that
 * comes and goes.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import {
  MADV_POPULATE_WRITE,
  MAP_NORESERVE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../src/linux/base/constants.js';
import { closeDescriptor } from '../src/linux/base/libc.js';
import {
  createMemoryFile,
  madvise,
  mmap,
  munmap,
  readMemory,
  view,
  writeMemory,
} from '../src/linux/memory/memory.js';
import { createSocketPair, MessageSocket } from '../src/linux/sockets/socket.js';

const SOCKET = 3;
const MEMORY = 4;
const PACKET_BYTES = 64;
const BUFFERS = 2;

interface Range {
  readonly begin: number;
  readonly end: number;
  readonly size: number;
}

/** The kernels, the same text for both devices. */
export function triad(
  {
    a,
    b,
    c,
    s,
  }: {
    readonly a: Float32Array;
    readonly b: Readonly<Float32Array>;
    readonly c: Readonly<Float32Array>;
    readonly s: number;
  },
  { begin, end }: Range,
): void {
  for (let i = begin; i < end; i++) a[i] = b[i] + s * c[i];
}

export function stencil(
  {
    from,
    to,
    width,
  }: { readonly from: Readonly<Float32Array>; readonly to: Float32Array; readonly width: number },
  { begin, end, size }: Range,
): void {
  for (let row = Math.max(begin, 1); row < Math.min(end, size - 1); row++) {
    for (let at = row * width + 1; at < row * width + width - 1; at++) {
      to[at] = 0.2 * (from[at] + from[at - 1] + from[at + 1] + from[at - width] + from[at + width]);
    }
  }
}

export type ExpertProgram = 'triad' | 'stencil';
/** The arrays of each chunk: what is written first, then what is read. */
const ARRAYS = { triad: 3, stencil: 2 } as const;

/**
 * One chunk: elements that are copied in, each to its array of the chunk, and those that are copied
 * out of the first array.
 */
export interface Chunk {
  readonly elements: number;
  readonly inputs: readonly Float32Array[];
  /** Where the results go, and at which element of the chunk they begin. */
  readonly result: Float32Array;
  readonly resultAt: number;
}

export class ExpertDevice {
  private readonly fd: number;
  private readonly bytes: number;
  private readonly alias: number;
  private readonly socket: MessageSocket;
  private readonly child: ReturnType<typeof spawn>;

  /** @param most elements of one array of a chunk, at most */
  constructor(
    program: ExpertProgram,
    private readonly most: number,
    width: number,
  ) {
    this.bytes = BUFFERS * ARRAYS[program] * most * 4;
    this.fd = createMemoryFile('by-an-expert', this.bytes);
    this.alias = mapShared(this.fd, this.bytes);
    madvise(this.alias, this.bytes, MADV_POPULATE_WRITE);
    const [ours, theirs] = createSocketPair();
    const script = fileURLToPath(import.meta.url);
    this.child = spawn(process.execPath, [script, program, String(most), String(width)], {
      stdio: ['ignore', 'inherit', 'inherit', theirs, this.fd],
    });
    closeDescriptor(theirs);
    this.socket = new MessageSocket(ours, PACKET_BYTES);
    this.socket.receive(true);
    this.arrays = ARRAYS[program];
  }

  private readonly arrays: number;

  /**
   * Computes all chunks: while the device works on one, the one before is copied out and the next
   * one in.
   */
  run(chunks: readonly Chunk[]): void {
    this.copyIn(chunks[0], 0);
    this.begin(chunks[0], 0);
    for (let at = 1; at <= chunks.length; at++) {
      if (at < chunks.length) this.copyIn(chunks[at], at % BUFFERS);
      this.socket.receive(true);
      if (at < chunks.length) this.begin(chunks[at], at % BUFFERS);
      this.copyOut(chunks[at - 1], (at - 1) % BUFFERS);
    }
  }

  close(): void {
    this.child.kill('SIGKILL');
    this.socket.close();
    munmap(this.alias, this.bytes);
    closeDescriptor(this.fd);
  }

  private begin({ elements }: Chunk, buffer: number): void {
    this.socket.send(new Uint8Array(Int32Array.of(buffer, elements).buffer), [], true);
  }

  private addressOf(buffer: number, array: number, element = 0): number {
    return this.alias + ((buffer * this.arrays + array) * this.most + element) * 4;
  }

  private copyIn({ inputs }: Chunk, buffer: number): void {
    for (const [index, input] of inputs.entries())
      writeMemory(this.addressOf(buffer, 1 + index), bytesOf(input));
  }

  private copyOut({ result, resultAt }: Chunk, buffer: number): void {
    readMemory(bytesOf(result), this.addressOf(buffer, 0, resultAt));
  }
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function mapShared(fd: number, bytes: number): number {
  return mmap(bytes, { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED | MAP_NORESERVE, fd });
}

function serve(program: ExpertProgram, most: number, width: number): void {
  const bytes = BUFFERS * ARRAYS[program] * most * 4;
  const memory = view(mapShared(MEMORY, bytes), bytes);
  const arrays = Array.from(
    { length: BUFFERS * ARRAYS[program] },
    (_, index) => new Float32Array(memory, index * most * 4, most),
  );
  const socket = new MessageSocket(SOCKET, PACKET_BYTES);
  const done = new Uint8Array(1);
  socket.send(done, [], true);
  for (;;) {
    const message = socket.receive(true);
    if (message === 'closed') return;
    if (message === null) continue;
    const [buffer, elements] = new Int32Array(Uint8Array.from(message.bytes).buffer);
    const [first, second, third] = arrays.slice(
      buffer * ARRAYS[program],
      (buffer + 1) * ARRAYS[program],
    );
    if (program === 'triad')
      triad({ a: first, b: second, c: third, s: 3 }, { begin: 0, end: elements, size: elements });
    else {
      const rows = elements / width;
      stencil({ to: first, from: second, width }, { begin: 0, end: rows, size: rows });
    }
    socket.send(done, [], true);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url))
  serve(process.argv[2] as ExpertProgram, Number(process.argv[3]), Number(process.argv[4]));
