/**
 * The thread of a program that has lent its own GPU, as far as it drives it for the manager. It
 * does so in turns of its event loop, so that a thread which is stopped by a page fault does not:
 * whatever the manager does for such a fault must not need the GPU.
 */
import { BroadcastChannel } from 'node:worker_threads';
import { closeDescriptor } from '../../linux/base/libc.js';
import { randomName } from '../../linux/base/random.js';
import { createMemoryFile, munmap, view } from '../../linux/memory/memory.js';
import { threadId } from '../../linux/processes/process.js';
import { closeEventfd, createEventfd, notifyEventfd } from '../../linux/threads/eventfd.js';
import { Executor } from './engine/executor.js';
import { GpuTransport, type Transport } from './gpu/gpu-transport.js';
import { factsOf, StandardGpu } from './gpu/standard-gpu.js';
import {
  GIVEN_UP_AT,
  type LentFacts,
  type LentMemory,
  type LentMessage,
  type LentPlace,
  MIRROR_AT,
  STAGING_AT,
} from './link/lent.js';
import { jsonPacket, readJson } from './link/packets.js';
import { type Hello, Packet } from './link/protocol.js';
import { mapShared } from './link/staging.js';

/** The device from its start to its end; one that is started again has another. */
interface Life {
  readonly executor: Executor;
  readonly transport: Transport;
  readonly memory: LentMemory;
  readonly bytes: number;
  /** What came last has been done when this resolves. */
  last: Promise<void>;
  over: boolean;
}

export class Lender {
  readonly place: LentPlace;
  private readonly channel: BroadcastChannel;
  private readonly lives = new Map<number, Life>();
  /** Lives that the manager has begun and not ended: while there are any, it looks. */
  private readonly watched = new Set<number>();
  /** Lives that give back what they have. */
  private readonly ending = new Set<Promise<void>>();
  private onIdle: () => void = () => undefined;
  /** Why the GPU is gone. */
  private lost: string | null = null;

  constructor(private readonly device: GPUDevice) {
    const channel = `onemem gpu ${randomName()}`;
    this.place = { channel, wakeFd: createEventfd(), thread: threadId() };
    this.channel = new BroadcastChannel(channel);
    this.channel.onmessage = (message) =>
      this.take((message as unknown as { data: LentMessage }).data);
    // The channel does not keep the program alive: a launch that is under way does.
    this.channel.unref();
    void device.lost.then(({ message }) => {
      this.lost = message || 'the driver says no more';
      for (const life of this.lives.keys()) this.say(life, Packet.Lost, this.lost);
    });
  }

  /** Takes the GPU from a space that goes on: the device is dead, its content comes home. */
  async withdraw(): Promise<void> {
    for (const life of this.lives.keys()) this.say(life, Packet.Lost, 'its thread has released it');
    this.channel.ref();
    await new Promise<void>((resolve) => {
      this.onIdle = resolve;
      if (this.watched.size === 0) resolve();
    });
    await this.close();
  }

  /** Gives back what was made for the space, whose manager has ended. The GPU stays as it is. */
  async close(): Promise<void> {
    this.channel.close();
    for (const life of [...this.lives.keys()]) this.end(life);
    await Promise.all(this.ending);
    closeEventfd(this.place.wakeFd);
  }

  private take({ life: number, packet }: LentMessage): void {
    if (packet[0] === Packet.Hello) {
      this.watched.add(number);
      this.begin(number, readJson<Hello>(packet));
      return;
    }
    if (packet[0] === Packet.End) {
      this.end(number);
      this.watched.delete(number);
      if (this.watched.size === 0) this.onIdle();
      return;
    }
    const life = this.lives.get(number);
    if (life !== undefined)
      life.last = life.last
        .then(() => (life.over ? undefined : life.executor.handle(packet)))
        .catch((error: unknown) => this.fail(number, error));
  }

  private begin(number: number, { hostBytes }: Hello): void {
    if (this.lost !== null) {
      const remedy = 'open another one, and lend it by addDevice()';
      this.say(
        number,
        Packet.Failed,
        `the GPUDevice that was lent is lost (${this.lost}); ${remedy}`,
      );
      return;
    }
    let memory: LentMemory;
    const bytes = MIRROR_AT + hostBytes;
    try {
      memory = makeMemory(bytes);
    } catch (error) {
      this.say(number, Packet.Failed, error instanceof Error ? error.message : String(error));
      return;
    }
    const { address } = memory;
    const givenUp = new Int32Array(view(address + GIVEN_UP_AT, Int32Array.BYTES_PER_ELEMENT));
    const transport = new GpuTransport(
      new StandardGpu(this.device),
      factsOf(this.device, nameOf(this.device)),
      null,
    );
    const executor = new Executor(transport, [0, 0, address + STAGING_AT, address + MIRROR_AT], {
      say: (kind, what) => this.say(number, kind, what),
      fail: (error) => this.fail(number, error),
      wants: () => !life.over && Atomics.load(givenUp, 0) === 0,
    });
    const life: Life = { executor, transport, memory, bytes, last: Promise.resolve(), over: false };
    this.lives.set(number, life);
    this.say(number, Packet.Ready, { ...transport.facts, memory } satisfies LentFacts);
  }

  private end(number: number): void {
    const life = this.lives.get(number);
    if (life === undefined) return;
    this.lives.delete(number);
    life.over = true;
    const ended = this.giveBack(life).finally(() => this.ending.delete(ended));
    this.ending.add(ended);
  }

  /** The memory stays as long as anything that is under way might touch it. */
  private async giveBack({ last, executor, transport, memory, bytes }: Life): Promise<void> {
    await last;
    await executor.settled();
    transport.release();
    munmap(memory.address, bytes);
    closeDescriptor(memory.fd);
  }

  private fail(life: number, error: unknown): void {
    this.say(life, Packet.Lost, error instanceof Error ? error.message : String(error));
  }

  private say(life: number, kind: number, what: unknown): void {
    // The manager hears nothing of a life that is over; the channel may be closed by then.
    if (this.lives.get(life)?.over === true || (kind !== Packet.Failed && !this.lives.has(life)))
      return;
    this.channel.postMessage({ life, packet: jsonPacket(kind, what) } satisfies LentMessage);
    notifyEventfd(this.place.wakeFd);
  }
}

function makeMemory(bytes: number): LentMemory {
  const fd = createMemoryFile('onemem-lent', bytes);
  try {
    return { address: mapShared(fd, bytes), fd };
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
}

/** Not every implementation tells what it is. */
function nameOf({
  label,
  adapterInfo,
}: GPUDevice & { readonly adapterInfo?: GPUAdapterInfo }): string {
  return label || adapterInfo?.description || 'a GPU that the program has lent';
}
