/**
 * The process of a GPU device's engine. It drives the GPU as packets say, in their order, and moves bytes between its buffers and memory
 * that the driver has mapped, too. It is a process of its own since a thread that ends with a promise of WebGPU's pending takes the whole
 * program along; it ends with its owner, and is ended by SIGKILL whatever it does.
 */
import { Worker } from 'node:worker_threads';
import { Status } from '../../core/types.js';
import { MAP_NORESERVE, MAP_SHARED, PROT_READ, PROT_WRITE } from '../../linux/constants.js';
import { mmap, view, writeMemory } from '../../linux/memory.js';
import { exitImmediately, setParentDeathSignal } from '../../linux/process.js';
import { MessageSocket } from '../../linux/socket.js';
import { jsonPacket, MAX_PACKET_BYTES, readJson } from '../process/protocol.js';
import { openDawn } from './dawn-transport.js';
import { failingGpu } from './failing-gpu.js';
import {
  type Dispatch,
  type Drain,
  File,
  type Fill,
  type Hello,
  type Launched,
  type Move,
  Packet,
  type Round,
} from './protocol.js';
import type { Transport } from './transport.js';

/** Descriptors that the process is started with. */
const SOCKET = 3;
const HOST = 4;
const STAGING = 5;
const SIGKILL = 9;
/** Bytes that may be on their way into the GPU before the engine waits for it: WebGPU keeps a copy of each until it is there. */
const MOST_WRITTEN = 64 * 2 ** 20;

// The engine ends with its owner, however that ends, and with nothing else: a Ctrl-C is for the owner to handle.
if (!setParentDeathSignal(SIGKILL, process.ppid)) process.exit(1);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('exit', (code) => exitImmediately(code));

const socket = new MessageSocket(SOCKET, MAX_PACKET_BYTES);

function say(kind: number, what: unknown): void {
  try {
    socket.send(jsonPacket(kind, what), [], true);
  } catch {
    // The owner has gone, and this process with it.
    exitImmediately(0);
  }
}

class Engine {
  private readonly sources = new Map<number, string>();
  private written = 0;

  constructor(
    private readonly gpu: Transport,
    /** Addresses of the files that are shared. */
    private readonly files: readonly number[],
  ) {}

  /** What must not overtake each other is done when this resolves; copies and kernels may be under way. */
  async handle(packet: Uint8Array): Promise<void> {
    const { gpu } = this;
    switch (packet[0]) {
      case Packet.Create:
        return gpu.create(...readJson<[number, number]>(packet));
      case Packet.Destroy:
        return gpu.destroy(...readJson<[number]>(packet));
      case Packet.Copy:
        return gpu.copy(...readJson<[number, number, number, number, number]>(packet));
      case Packet.Write:
        return this.write(readJson<Move>(packet));
      case Packet.Read:
        return this.later(this.read(readJson<Move>(packet)));
      case Packet.Source: {
        const [module, text] = readJson<[number, string]>(packet);
        this.sources.set(module, (this.sources.get(module) ?? '') + text);
        return;
      }
      case Packet.Dispatch:
        return this.later(this.dispatch(readJson<Dispatch>(packet)));
      case Packet.Round:
        return this.later(this.round(readJson<Round>(packet)));
      case Packet.Fill:
        return this.fill(readJson<Fill>(packet));
      case Packet.Drain:
        return this.later(this.drain(readJson<Drain>(packet)));
      case Packet.Lose:
        return gpu.lose();
    }
  }

  private async write({ token, file, at, parts }: Move): Promise<void> {
    let from = this.files[file] + at;
    let status: Status = Status.Done;
    for (const [buffer, offset, bytes] of parts) {
      const source = file === File.None ? null : new Uint8Array(view(from, bytes));
      if (!this.gpu.write(buffer, offset, bytes, source)) status = Status.NoMemory;
      from += bytes;
      this.written += source === null ? 0 : bytes;
    }
    await this.afterWrites();
    say(Packet.Moved, [token, status]);
  }

  private async fill({ token, from, to: [buffer, offset, bytes] }: Fill): Promise<void> {
    const content = new Uint8Array(bytes);
    let to = 0;
    for (const [at, length] of from) {
      content.set(new Uint8Array(view(this.files[File.Host] + at, length)), to);
      to += length;
    }
    const status = this.gpu.write(buffer, offset, bytes, content) ? Status.Done : Status.NoMemory;
    this.written += bytes;
    await this.afterWrites();
    say(Packet.Moved, [token, status]);
  }

  private async drain({ token, from, to }: Drain): Promise<void> {
    await this.gpu.read(...from, (content) => {
      let done = 0;
      for (const [at, bytes] of to) {
        writeMemory(this.files[File.Host] + at, content.subarray(done, done + bytes));
        done += bytes;
      }
    });
    say(Packet.Moved, [token, Status.Done]);
  }

  /** WebGPU keeps a copy of each write until it has been made. */
  private async afterWrites(): Promise<void> {
    if (this.written < MOST_WRITTEN) return;
    this.written = 0;
    await this.gpu.idle();
  }

  private async read({ token, ...move }: Move): Promise<void> {
    await this.readInto(move);
    say(Packet.Moved, [token, Status.Done]);
  }

  private async readInto({ file, at, parts }: Omit<Move, 'token'>): Promise<void> {
    let to = this.files[file] + at;
    const reads = parts.map(([buffer, offset, bytes]) => {
      const address = to;
      to += bytes;
      return this.gpu.read(buffer, offset, bytes, (content) => writeMemory(address, content));
    });
    await Promise.all(reads);
  }

  private async dispatch(order: Dispatch): Promise<void> {
    const { launch, module } = order;
    const failure = await this.gpu.dispatch(order, this.sources.get(module) ?? '');
    const ended: Launched = { launch, failure };
    say(Packet.Launched, ended);
  }

  private async round({ dispatches, read }: Round): Promise<void> {
    let failure: Launched['failure'] = null;
    for (const each of dispatches) failure ??= await this.gpu.dispatch(each, this.sources.get(each.module) ?? '');
    if (failure === null) await this.readInto(read);
    const ended: Launched = { launch: dispatches[0].launch, failure };
    say(Packet.Launched, ended);
  }

  /** Something that goes on while other packets are handled. */
  private later(work: Promise<void>): void {
    work.catch(fail);
  }
}

/** The GPU can no longer be used, or is not used as it should be: the device ends rather than answer wrongly. */
function fail(error: unknown): void {
  say(Packet.Lost, error instanceof Error ? error.message : String(error));
}

function map(fd: number, bytes: number): number {
  return mmap(bytes, { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED | MAP_NORESERVE, fd });
}

async function start(): Promise<void> {
  const message = socket.receive(true);
  if (message === null || message === 'closed') return exitImmediately(1);
  const { hostBytes, stagingBytes } = readJson<Hello>(message.bytes);
  const failing = failingGpu();
  const gpu = await openDawn(failing);
  const engine = new Engine(gpu, [0, map(HOST, hostBytes), map(STAGING, stagingBytes)]);
  // What was under way is not waited for: the driver ends this process when it has heard of it.
  void gpu.lost.then(fail);
  let last = Promise.resolve();
  const listener = new Worker(new URL('./listener.js', import.meta.url), { workerData: { socket: SOCKET } });
  listener.on('message', (packet: Uint8Array) => {
    last = last
      .then(() => {
        if (failing?.isLostNow()) gpu.lose();
        return engine.handle(packet);
      })
      .catch(fail);
  });
  listener.on('error', fail);
  say(Packet.Ready, gpu.facts);
}

start().catch((error: unknown) => {
  say(Packet.Failed, error instanceof Error ? error.message : String(error));
  exitImmediately(1);
});
