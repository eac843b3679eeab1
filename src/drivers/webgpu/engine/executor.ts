/** Does what packets say, in order: drives a GPU, and moves bytes to and from memory. */
import { Status } from '../../../core/basics/types.js';
import { view, writeMemory } from '../../../linux/memory/memory.js';
import type { Ran, Transport } from '../gpu/gpu-transport.js';
import { readJson } from '../link/packets.js';
import {
  type Dispatch,
  type Drain,
  File,
  type Fill,
  type Launched,
  type Move,
  Packet,
  type Round,
} from '../link/protocol.js';
import { noMemoryForPages } from '../link/unmet-buffers.js';

/** Bytes on their way before the engine waits for the GPU: WebGPU keeps a copy of each. */
const MOST_WRITTEN = 64 * 2 ** 20;

/** Where an executor is. */
export interface ExecutorOwner {
  say(kind: number, what: unknown): void;
  /** The GPU cannot be used, or is used wrongly: the device ends rather than answer wrongly. */
  fail(error: unknown): void;
  /** Gives what drives the GPU its turn, so that it finds out what has been done. */
  turn?(): Promise<void>;
  /** Whether the driver still wants what is under way; if not, nothing of it is written. */
  wants(): boolean;
}

export class Executor {
  private readonly sources = new Map<number, string>();
  /** What goes on while other packets are handled. */
  private readonly underWay = new Set<Promise<void>>();
  private written = 0;
  /** Copies that the GPU was told to read. */
  begun = 0;
  /** The launch for whose pages there was no memory. */
  private unfilled = -1;

  constructor(
    private readonly gpu: Transport,
    /** Addresses of the files that are shared. */
    private readonly files: readonly number[],
    private readonly owner: ExecutorOwner,
  ) {}

  /** What must not be overtaken is done when this resolves; copies and kernels may go on. */
  async handle(packet: Uint8Array): Promise<void> {
    const { gpu } = this;
    switch (packet[0]) {
      case Packet.Create:
        return gpu.create(...readJson<[number, number]>(packet));
      case Packet.Destroy:
        return gpu.destroy(...readJson<[number]>(packet));
      case Packet.Reuse:
        return gpu.reuse(...readJson<[number, number]>(packet));
      case Packet.Copy:
        return gpu.copy(...readJson<[number, number, number, number, number]>(packet));
      case Packet.Write:
        return this.writeAll(readJson<Move[]>(packet));
      case Packet.Read:
        return this.readAll(readJson<Move[]>(packet));
      case Packet.Source: {
        const [module, text] = readJson<[number, string]>(packet);
        this.sources.set(module, (this.sources.get(module) ?? '') + text);
        return;
      }
      case Packet.Forget:
        this.sources.delete(readJson<[number]>(packet)[0]);
        return;
      case Packet.Dispatch:
        return this.later(this.dispatch(readJson<Dispatch[]>(packet)));
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

  private async writeAll(moves: readonly Move[]): Promise<void> {
    const done: number[] = [];
    const refused: number[] = [];
    for (const { tokens, ...move } of moves) {
      const isThere = this.put(move, tokens === null);
      if (tokens !== null) (isThere ? done : refused).push(...tokens);
    }
    await this.afterWrites();
    if (done.length > 0) this.owner.say(Packet.Moved, [done, Status.Done]);
    if (refused.length > 0) this.owner.say(Packet.Moved, [refused, Status.NoMemory]);
  }

  /** False: there is no memory for a buffer. */
  private put({ file, at, parts }: Omit<Move, 'tokens'>, keep: boolean): boolean {
    let from = this.files[file] + at;
    let isThere = true;
    for (const [buffer, offset, bytes] of parts) {
      const source = file === File.None ? null : new Uint8Array(view(from, bytes));
      if (!this.gpu.write(buffer, offset, bytes, source, keep)) isThere = false;
      from += bytes;
      this.written += source === null ? 0 : bytes;
    }
    return isThere;
  }

  private async fill({ token, launch, ...move }: Fill): Promise<void> {
    const isThere = this.put(move, false);
    if (!isThere) this.unfilled = launch;
    await this.afterWrites();
    this.owner.say(Packet.Moved, [[token], isThere ? Status.Done : Status.NoMemory]);
  }

  private async drain({ token, from, to }: Drain): Promise<void> {
    await this.gpu.read(...from, (content) => {
      let done = 0;
      for (const [at, bytes] of to) {
        writeMemory(this.files[File.Host] + at, content.subarray(done, done + bytes));
        done += bytes;
      }
    });
    this.owner.say(Packet.Moved, [[token], Status.Done]);
  }

  /** WebGPU keeps a copy of each write until it has been made. */
  private async afterWrites(): Promise<void> {
    if (this.written < MOST_WRITTEN) return;
    this.written = 0;
    await this.gpu.idle();
  }

  /**
   * What the GPU has copied by then goes on its way between two of them: the first one of a packet
   * is not to wait until all have been asked for.
   */
  private async readAll(moves: readonly Move[]): Promise<void> {
    for (const [index, each] of moves.entries()) {
      if (index > 0) await this.owner.turn?.();
      this.later(this.read(each));
      this.begun++;
    }
  }

  /** Answered with the last byte, not by a promise, after which others would be copied first. */
  private async read({ tokens, ...move }: Move): Promise<void> {
    await this.readInto(move, () => this.owner.say(Packet.Moved, [tokens ?? [], Status.Done]));
  }

  private async readInto(
    { file, at, parts }: Omit<Move, 'tokens'>,
    done: () => void = () => undefined,
  ): Promise<void> {
    let to = this.files[file] + at;
    let left = parts.length;
    const ended = (): void => {
      if (--left === 0) done();
    };
    // What follows may change the buffers: all is asked for before anything is waited for.
    const reads = parts.map(([buffer, offset, bytes]) => {
      const address = to;
      to += bytes;
      const direct =
        file === File.Host ? this.gpu.readTo(buffer, offset, bytes, address, ended) : null;
      if (direct) return direct;
      return this.gpu.read(buffer, offset, bytes, (content) => {
        if (this.owner.wants()) writeMemory(address, content);
        ended();
      });
    });
    await Promise.all(reads);
  }

  private async dispatch(orders: readonly Dispatch[]): Promise<void> {
    await this.launch(
      orders.map(({ launch }) => launch),
      () => this.run(orders),
    );
  }

  /** What is wrong in a module made of the kernel's is told by the kernel's lines and columns. */
  private async run(orders: readonly Dispatch[]): Promise<readonly Ran[]> {
    const rans = await this.gpu.dispatch(
      orders.map((order) => ({ order, source: this.sourceOf(order.module) })),
    );
    const [first] = orders;
    const { original } = first;
    if (original === undefined || rans[0].failure?.code !== 'KERNEL_ERROR') return rans;
    const order = { ...first, ...original };
    const failure = await this.gpu.failureOf({ order, source: this.sourceOf(original.module) });
    return [{ failure: failure ?? rans[0].failure }];
  }

  private sourceOf(module: number): string {
    return this.sources.get(module) ?? '';
  }

  private async round({ writes, dispatches, read }: Round): Promise<void> {
    const [{ launch }] = dispatches;
    await this.launch([launch], async () => {
      if (this.unfilled === launch) return [{ failure: noMemoryForPages() }];
      for (const each of writes)
        if (!this.put(each, false)) return [{ failure: noMemoryForPages() }];
      let ran: Ran = { failure: null };
      for (const each of dispatches) {
        const [{ failure, gpuMs }] = await this.run([each]);
        ran = gpuMs === undefined ? { failure } : { failure, gpuMs: gpuMs + (ran.gpuMs ?? 0) };
        if (failure !== null) return [ran];
      }
      await this.readInto(read);
      return [ran];
    });
  }

  private async launch(
    launches: readonly number[],
    run: () => Promise<readonly Ran[]>,
  ): Promise<void> {
    let rans: readonly Ran[] = [];
    try {
      rans = await run();
    } catch (error) {
      // Its buffers may have gone, since its driver has given it up.
      if (this.owner.wants()) throw error;
    }
    const ended = launches.map(
      (launch, index): Launched => ({ launch, ...(rans[index] ?? { failure: null }) }),
    );
    this.owner.say(Packet.Launched, ended);
  }

  get isBusy(): boolean {
    return this.underWay.size > 0;
  }

  /** Resolves when nothing is under way. */
  async settled(): Promise<void> {
    await Promise.all(this.underWay);
  }

  /** Something that goes on while other packets are handled. */
  private later(work: Promise<void>): void {
    const ended = work
      .catch((error: unknown) => this.owner.fail(error))
      .finally(() => this.underWay.delete(ended));
    this.underWay.add(ended);
  }
}
