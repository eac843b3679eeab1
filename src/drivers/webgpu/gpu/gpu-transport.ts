/**
 * What a GPU does for its driver: buffers by number, bytes in and out, kernels. Any GPU does, in the
 * few words of gpu.ts.
 */

import { getOrMake } from '../../../core/basics/get-or-make.js';
import { RecentMap } from '../../../core/basics/recent-map.js';
import {
  type AdapterFacts,
  type Bound,
  type Dispatch,
  type Launched,
  MOST_MODULES,
} from '../link/protocol.js';
import { outOfMemory, type Spilled, spilledBytes } from '../link/unmet-buffers.js';
import { BoundGroups, boundIn, isLasting, placeOf } from './bound-groups.js';
import type { FailingGpu } from './failing-gpu.js';
import type { Binding, Failure, Gpu, GpuKernel, Soon, Waits } from './gpu.js';
import { GpuClock } from './gpu-clock.js';
import { changedUniforms, type Uniform } from './uniforms.js';

/** How a kernel has run. */
export type Ran = Omit<Launched, 'launch'>;

/** What is to run, and the text of its module. */
export interface Order {
  readonly order: Dispatch;
  readonly source: string;
}

/** That of any GPU. */
export type Transport = Pick<AnyTransport, keyof AnyTransport>;
type AnyTransport = GpuTransport<unknown, unknown, GpuKernel>;

/** A buffer, or what it should hold, where there was no memory for it. */
interface Held<Buffer> {
  /** No other buffer has it, nor had it. */
  readonly serial: number;
  readonly bytes: number;
  gpu: Buffer | null;
  readonly spilled: Spilled[];
}

interface Pipeline<Buffer, Group, Kernel extends GpuKernel> {
  readonly kernel: Kernel;
  /** Its uniform variables, by their places. */
  readonly uniforms: Map<string, Uniform<Buffer>>;
  readonly groups: BoundGroups<Group>;
}

/** A kernel that can run, and the buffers for arguments that cannot be bound where they lie. */
interface Ready<Buffer, Group, Kernel extends GpuKernel> {
  readonly order: Dispatch;
  readonly pipeline: Pipeline<Buffer, Group, Kernel>;
  readonly asides: readonly Buffer[];
}

interface Reader<Buffer> {
  readonly buffer: Buffer;
  readonly bytes: number;
}

type Failed = { readonly failure: Failure };

/** Reading goes through buffers that are used again, each for copies of at most its size. */
const KEPT_READERS = 16;
const LEAST_READER_BYTES = 2 ** 18;
/** Less is copied faster than the GPU is told of the memory. */
const LEAST_DIRECT_BYTES = 2 ** 18;

export class GpuTransport<Buffer, Group, Kernel extends GpuKernel> {
  /** Resolves with the reason when the GPU is gone. What is under way may never end. */
  readonly lost: Promise<string>;
  /** Null: it does all by the event loop of the thread. */
  readonly waits: Waits | null;
  private readonly buffers = new Map<number, Held<Buffer>>();
  private readonly pipelines = new RecentMap<
    string,
    Soon<Pipeline<Buffer, Group, Kernel> | Failed>
  >(MOST_MODULES, (compiled) => void this.drop(compiled));
  private readonly readers: Reader<Buffer>[] = [];
  /** Null: the GPU does not measure; undefined: it was not asked yet. */
  private clock: GpuClock<Buffer> | null | undefined;
  /** Buffers that were made so far. */
  private made = 0;

  constructor(
    private readonly gpu: Gpu<Buffer, Group, Kernel>,
    readonly facts: AdapterFacts,
    private readonly failing: FailingGpu | null,
  ) {
    this.lost = gpu.lost;
    this.waits = gpu.waits;
  }

  /** Makes a buffer with any content. Where there is no memory for it, `write` says so. */
  async create(buffer: number, bytes: number): Promise<void> {
    const made = this.allocate(bytes);
    const gpu = made instanceof Promise ? await made : made;
    this.buffers.set(buffer, { serial: ++this.made, bytes, gpu, spilled: [] });
  }

  destroy(buffer: number): void {
    const gpu = this.buffers.get(buffer)?.gpu;
    if (gpu != null) this.gpu.free(gpu);
    this.buffers.delete(buffer);
  }

  /** A buffer has another number from now on. What it holds is anything. */
  async reuse(buffer: number, other: number): Promise<void> {
    const { serial, bytes, gpu } = this.held(buffer);
    this.buffers.delete(buffer);
    if (gpu === null) await this.create(other, bytes);
    else this.buffers.set(other, { serial, bytes, gpu, spilled: [] });
  }

  /**
   * Fills bytes of a buffer, with zeros where there are none given. False: there is no memory for
   * the buffer.
   * @param keep has them be kept elsewhere then, until there is
   */
  write(
    buffer: number,
    offset: number,
    bytes: number,
    source: Uint8Array | null,
    keep: boolean,
  ): boolean {
    const { gpu, spilled } = this.held(buffer);
    if (gpu === null) {
      // A copy, since what lies at the source may be another content by then.
      if (keep)
        spilled.push({
          offset,
          content: source === null ? new Uint8Array(bytes) : new Uint8Array(source),
        });
      return keep;
    }
    if (source !== null) this.gpu.write(gpu, offset, source);
    else {
      this.gpu.clear(gpu, offset, bytes);
      this.gpu.submit();
    }
    return true;
  }

  async copy(
    from: number,
    fromOffset: number,
    to: number,
    toOffset: number,
    bytes: number,
  ): Promise<void> {
    const source = this.held(from).gpu;
    const target = this.held(to).gpu;
    if (source !== null && target !== null) {
      this.gpu.copy(source, fromOffset, target, toOffset, bytes);
      this.gpu.submit();
      return;
    }
    // There was no memory for one of the two: what it holds is kept here, until there is.
    const content = new Uint8Array(bytes);
    await this.read(from, fromOffset, bytes, (found) => content.set(found));
    this.write(to, toOffset, bytes, content, true);
  }

  /** Hands what a buffer holds now to `take`, whose memory is the transport's. */
  async read(
    buffer: number,
    offset: number,
    bytes: number,
    take: (content: Uint8Array) => void,
  ): Promise<void> {
    const { gpu, spilled } = this.held(buffer);
    if (gpu === null) {
      take(spilledBytes(spilled, offset, bytes));
      return;
    }
    const reader = this.takeReader(bytes);
    this.gpu.copy(gpu, offset, reader.buffer, 0, bytes);
    this.gpu.submit();
    await this.gpu.map(reader.buffer, bytes);
    take(this.gpu.mapped(reader.buffer, bytes));
    this.gpu.unmap(reader.buffer);
    if (this.readers.length < KEPT_READERS) this.readers.push(reader);
    else this.gpu.free(reader.buffer);
  }

  /**
   * Has the GPU itself write what a buffer holds now to an address, at which nothing else reads or
   * writes until it is `there`. Null: not these bytes, which `read` is for.
   */
  readTo(
    buffer: number,
    offset: number,
    bytes: number,
    address: number,
    there: () => void,
  ): Promise<void> | null {
    const { gpu } = this.held(buffer);
    if (gpu === null || bytes < LEAST_DIRECT_BYTES) return null;
    const target = this.gpu.hostBuffers?.at(address, bytes) ?? null;
    if (target === null) return null;
    this.gpu.copy(gpu, offset, target, 0, bytes);
    this.gpu.submit();
    return this.gpu.idle(there).then(() => this.gpu.free(target));
  }

  /** Runs at most MOST_DISPATCHES kernels in order, up to a failure. Tells of all at the end. */
  async dispatch(orders: readonly Order[]): Promise<Ran[]> {
    const asides: Buffer[] = [];
    const ready: Ready<Buffer, Group, Kernel>[] = [];
    let refused: Failure | null = null;
    try {
      for (const { order, source } of orders) {
        const found = this.pipelineOf(order, source);
        const pipeline = found instanceof Promise ? await found : found;
        refused =
          'failure' in pipeline
            ? pipeline.failure
            : this.isWhole(order)
              ? null
              : await this.complete(order, asides);
        if (refused !== null || 'failure' in pipeline) break;
        ready.push({ order, pipeline, asides: asides.splice(0) });
      }
      // The clock's stamps come with the last one.
      const clock = refused === null ? this.takeClock() : null;
      const mistake = this.submit(ready, clock);
      const ended = clock === null ? this.gpu.idle() : clock.read(orders.length);
      // What went wrong is asked for beside the wait for the end: each takes turns of the event
      // loop.
      const [wrong, times] =
        mistake instanceof Promise ? await Promise.all([mistake, ended]) : [mistake, await ended];
      if (wrong !== null) {
        await this.gpu.idle();
        for (const { pipeline } of ready) pipeline.groups.clear();
        return ransOf(orders.length, 0, wrong, []);
      }
      return ransOf(orders.length, ready.length, refused, Array.isArray(times) ? times : []);
    } finally {
      for (const each of asides) this.gpu.free(each);
      for (const each of ready) for (const aside of each.asides) this.gpu.free(aside);
    }
  }

  /** Why it cannot be run, if it cannot be compiled; null: it can. */
  async failureOf({ order, source }: Order): Promise<Failure | null> {
    const compiled = await this.pipelineOf(order, source);
    return 'failure' in compiled ? compiled.failure : null;
  }

  /** Resolves when everything that was asked for has been done. */
  async idle(): Promise<void> {
    await this.gpu.idle();
  }

  /** Has the GPU be lost, for tests. */
  lose(): void {
    this.gpu.lose();
  }

  /** Gives back what was made of the GPU's. The program that opened the GPU may go on with it. */
  release(): void {
    for (const { gpu } of this.buffers.values()) if (gpu !== null) this.gpu.free(gpu);
    for (const { buffer } of this.readers.splice(0)) this.gpu.free(buffer);
    this.clock?.free();
    this.clock = null;
    this.buffers.clear();
    this.pipelines.clear();
  }

  /** Whether all that a kernel uses is there, and is bound where it lies. */
  private isWhole({ asides, bound }: Dispatch): boolean {
    return (
      asides.length === 0 &&
      bound.every((each) => each.kind !== 'buffer' || this.held(each.part[0]).gpu !== null)
    );
  }

  /**
   * Makes buffers that a kernel uses and that are not there; or says why they cannot be had.
   * @param asides gets those for arguments that cannot be bound where they lie
   */
  private async complete({ bound, asides: wanted }: Dispatch, asides: Buffer[]) {
    for (const each of bound)
      if (each.kind === 'buffer' && !(await this.unspill(each.part[0])))
        return outOfMemory(each.part[2]);
    for (const { part } of wanted) {
      const aside = (await this.unspill(part[0])) ? await this.allocate(part[2]) : null;
      if (aside === null) return outOfMemory(part[2]);
      asides.push(aside);
    }
    return null;
  }

  /** Hands kernels to the GPU, one after the other, and tells what was wrong with them. */
  private submit(
    kernels: readonly Ready<Buffer, Group, Kernel>[],
    clock: GpuClock<Buffer> | null,
  ): Soon<Failure | null> {
    const { gpu } = this;
    gpu.watch();
    try {
      for (const [place, each] of kernels.entries()) {
        // Numbers are written at once: kernels that have others go before that.
        const changed = changedUniforms(each.order, each.pipeline.uniforms, this.makeUniform);
        if (changed.length > 0) gpu.submit();
        for (const { buffer, bytes } of changed) gpu.write(buffer, 0, bytes);
        this.note(each, clock === null ? -1 : place);
      }
      clock?.resolve(kernels.length);
      gpu.submit();
    } finally {
      gpu.discard();
    }
    return gpu.mistake();
  }

  /** Notes a kernel, and what goes before and behind it. */
  private note(ready: Ready<Buffer, Group, Kernel>, stamped: number): void {
    const { gpu } = this;
    const { order, pipeline, asides } = ready;
    pipeline.groups.trim();
    const passing: Group[] = [];
    const groups = pipeline.kernel.layouts.map((_, group) => this.groupOf(ready, group, passing));
    for (const [buffer, offset, bytes] of order.zeros) gpu.clear(this.gpuOf(buffer), offset, bytes);
    for (const [index, { part }] of order.asides.entries())
      gpu.copy(this.gpuOf(part[0]), part[1], asides[index], 0, part[2]);
    gpu.run(pipeline.kernel, groups, order.workgroups, stamped);
    for (const [index, { part, back }] of order.asides.entries())
      if (back) gpu.copy(asides[index], 0, this.gpuOf(part[0]), part[1], part[2]);
    for (const group of passing) gpu.unbind(group);
  }

  /** @param passing gets what is bound for this once */
  private groupOf(ready: Ready<Buffer, Group, Kernel>, group: number, passing: Group[]): Group {
    const { kernel, groups } = ready.pipeline;
    const bound = boundIn(ready.order, group);
    const make = (): Group =>
      this.gpu.bind(
        kernel,
        group,
        bound.map((each) => this.bindingOf(each, ready)),
      );
    if (isLasting(bound)) return groups.of(group, bound, this.serialOf, make);
    const made = make();
    passing.push(made);
    return made;
  }

  private bindingOf(
    each: Bound,
    { order, pipeline, asides }: Ready<Buffer, Group, Kernel>,
  ): Binding<Buffer> {
    const { binding } = each;
    if (each.kind === 'aside')
      return {
        binding,
        buffer: asides[each.index],
        offset: 0,
        size: order.asides[each.index].part[2],
      };
    if (each.kind === 'uniform') {
      const { buffer, size } = pipeline.uniforms.get(placeOf(each)) as Uniform<Buffer>;
      return { binding, buffer, offset: 0, size };
    }
    const [buffer, offset, size] = each.part;
    return { binding, buffer: this.gpuOf(buffer), offset, size };
  }

  /** Null where the GPU does not measure. */
  private takeClock(): GpuClock<Buffer> | null {
    if (this.clock !== undefined) return this.clock;
    const stamps = this.gpu.stamps();
    this.clock = stamps === null ? null : new GpuClock(this.gpu, stamps);
    return this.clock;
  }

  private readonly makeUniform = (size: number): Buffer => this.gpu.uniform(size);

  private async drop(gone: Soon<Pipeline<Buffer, Group, Kernel> | Failed>): Promise<void> {
    const compiled = gone instanceof Promise ? await gone : gone;
    if ('failure' in compiled) return;
    compiled.groups.clear();
    for (const { buffer } of compiled.uniforms.values()) this.gpu.free(buffer);
    this.gpu.forget(compiled.kernel);
  }

  private pipelineOf(
    order: Dispatch,
    source: string,
  ): Soon<Pipeline<Buffer, Group, Kernel> | Failed> {
    const key = `${order.module} ${order.entryPoint} ${JSON.stringify(order.constants)}`;
    return getOrMake(this.pipelines, key, () => {
      const compiled = this.gpu.compile(order, source);
      return compiled instanceof Promise
        ? compiled.then(this.asPipeline)
        : this.asPipeline(compiled);
    });
  }

  private readonly asPipeline = (
    compiled: Kernel | Failed,
  ): Pipeline<Buffer, Group, Kernel> | Failed => {
    if ('failure' in compiled) return compiled;
    const groups = new BoundGroups<Group>((group) => this.gpu.unbind(group));
    return { kernel: compiled, uniforms: new Map(), groups };
  };

  private allocate(bytes: number): Soon<Buffer | null> {
    return this.failing?.hasMemory() === false ? null : this.gpu.allocate(bytes);
  }

  /** Whether a buffer is there, perhaps now that others have gone. */
  private async unspill(buffer: number): Promise<boolean> {
    const held = this.held(buffer);
    if (held.gpu !== null) return true;
    held.gpu = await this.allocate(held.bytes);
    if (held.gpu === null) return false;
    for (const { offset, content } of held.spilled.splice(0))
      this.gpu.write(held.gpu, offset, content);
    return true;
  }

  private takeReader(bytes: number): Reader<Buffer> {
    const index = this.readers.findIndex((each) => each.bytes >= bytes);
    if (index !== -1) return this.readers.splice(index, 1)[0];
    const size = Math.max(LEAST_READER_BYTES, bytes);
    return { buffer: this.gpu.reader(size), bytes: size };
  }

  private readonly serialOf = (buffer: number): number => this.held(buffer).serial;

  private held(buffer: number): Held<Buffer> {
    const found = this.buffers.get(buffer);
    if (found === undefined) throw new Error(`there is no buffer ${buffer}`);
    return found;
  }

  private gpuOf(buffer: number): Buffer {
    return this.held(buffer).gpu as Buffer;
  }
}

/**
 * How each of so many kernels has run: those from one on have not, for one reason.
 * @param times of all, by a clock that is right only where all have run
 */
function ransOf(
  count: number,
  failed: number,
  failure: Launched['failure'],
  times: readonly (number | undefined)[],
): Ran[] {
  return Array.from({ length: count }, (_, index): Ran => {
    if (index >= failed) return { failure };
    const gpuMs = times[index];
    return gpuMs === undefined ? { failure: null } : { failure: null, gpuMs };
  });
}
