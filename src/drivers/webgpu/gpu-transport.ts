/**
 * A GPU, driven through the standard's `GPUDevice`, the engine's own or one that the program has
 * lent.
 */

import { RecentMap } from '../../core/basics/recent-map.js';
import { BoundGroups, boundIn, isLasting, placeOf } from './bound-groups.js';
import type { FailingGpu } from './failing-gpu.js';
import { GpuClock, TIMESTAMPS } from './gpu-clock.js';
import {
  type AdapterFacts,
  type Bound,
  type Dispatch,
  type Launched,
  type Limits,
  MOST_MODULES,
} from './protocol.js';
import { type Order, type Ran, ransOf, type Transport } from './transport.js';
import { changedUniforms, type Uniform } from './uniforms.js';
import { outOfMemory, spilledBytes } from './unmet-buffers.js';

type Failure = Launched['failure'];

/** A buffer, or what it should hold, where there was no memory for it. */
interface Held {
  /** No other buffer has it, nor had it. */
  readonly serial: number;
  readonly bytes: number;
  gpu: GPUBuffer | null;
  readonly spilled: { readonly offset: number; readonly content: Uint8Array<ArrayBuffer> }[];
}

interface Pipeline {
  readonly pipeline: GPUComputePipeline;
  readonly layouts: readonly GPUBindGroupLayout[];
  /** Its uniform variables, by their places. */
  readonly uniforms: Map<string, Uniform<GPUBuffer>>;
  readonly groups: BoundGroups<GPUBindGroup>;
}

type Compiled = Pipeline | { readonly failure: NonNullable<Failure> };

/**
 * A kernel that can run: its pipeline, and the buffers for arguments that cannot be bound where
 * they lie.
 */
interface Ready extends Pipeline {
  readonly order: Dispatch;
  readonly asides: readonly GPUBuffer[];
}

/**
 * Numbers that the standard gives; the package has them as globals that are made when it is loaded.
 */
const Usage = { MAP_READ: 1, COPY_SRC: 4, COPY_DST: 8, UNIFORM: 64, STORAGE: 128 } as const;
const MAP_READ = 1;
const COMPUTE = 4;
/** Reading goes through buffers that are used again, each for copies of at most its size. */
const KEPT_READERS = 16;

/** Limits that launches meet. */
export const LIMITS = [
  'maxBufferSize',
  'maxStorageBufferBindingSize',
  'maxUniformBufferBindingSize',
  'maxStorageBuffersPerShaderStage',
  'maxUniformBuffersPerShaderStage',
  'maxBindGroups',
  'maxBindingsPerBindGroup',
  'minStorageBufferOffsetAlignment',
  'maxComputeWorkgroupsPerDimension',
  'maxComputeInvocationsPerWorkgroup',
  'maxComputeWorkgroupStorageSize',
  'maxComputeWorkgroupSizeX',
  'maxComputeWorkgroupSizeY',
  'maxComputeWorkgroupSizeZ',
] as const satisfies readonly (keyof Limits)[];

/** What launches must know of a device. */
export function factsOf({ limits, features }: GPUDevice, name: string): AdapterFacts {
  const given = Object.fromEntries(
    LIMITS.map((limit) => [limit, limits[limit]]),
  ) as unknown as Limits;
  return { name, limits: given, features: [...features] };
}

/** Pipelines that are dropped before their memory is asked back. */
const COLLECTED_AT_ONCE = 64;

export class GpuTransport implements Transport {
  readonly lost: Promise<string>;
  private readonly buffers = new Map<number, Held>();
  private readonly pipelines = new RecentMap<string, Promise<Compiled>>(
    MOST_MODULES,
    (compiled) => void this.drop(compiled),
  );
  private readonly readers: GPUBuffer[] = [];
  private clock: GpuClock | null = null;
  /** Buffers that were made so far. */
  private made = 0;
  private droppedPipelines = 0;

  constructor(
    private readonly device: GPUDevice,
    readonly facts: AdapterFacts,
    private readonly failing: FailingGpu | null,
    /**
     * Asks for the memory of objects that nothing refers to any more; null: the program does that.
     */
    private readonly collect: (() => void) | null = null,
  ) {
    this.lost = device.lost.then(({ message }) => message || 'the driver says no more');
  }

  async create(buffer: number, bytes: number): Promise<void> {
    const gpu = await this.allocate(bytes, Usage.STORAGE | Usage.COPY_SRC | Usage.COPY_DST);
    this.buffers.set(buffer, { serial: ++this.made, bytes, gpu, spilled: [] });
  }

  destroy(buffer: number): void {
    this.buffers.get(buffer)?.gpu?.destroy();
    this.buffers.delete(buffer);
  }

  async reuse(buffer: number, other: number): Promise<void> {
    const { serial, bytes, gpu } = this.held(buffer);
    this.buffers.delete(buffer);
    if (gpu === null) await this.create(other, bytes);
    else this.buffers.set(other, { serial, bytes, gpu, spilled: [] });
  }

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
    if (source === null) this.encode((encoder) => encoder.clearBuffer(gpu, offset, bytes));
    else this.device.queue.writeBuffer(gpu, offset, source as Uint8Array<ArrayBuffer>);
    return true;
  }

  async copy(
    from: number,
    fromOffset: number,
    to: number,
    toOffset: number,
    bytes: number,
  ): Promise<void> {
    const source = this.held(from);
    const target = this.held(to);
    if (source.gpu !== null && target.gpu !== null) {
      const [{ gpu }, { gpu: other }] = [source, target] as { gpu: GPUBuffer }[];
      this.encode((encoder) => encoder.copyBufferToBuffer(gpu, fromOffset, other, toOffset, bytes));
      return;
    }
    // There was no memory for one of the two: what it holds is kept here, until there is.
    const content = new Uint8Array(bytes);
    await this.read(from, fromOffset, bytes, (found) => content.set(found));
    if (target.gpu !== null) this.device.queue.writeBuffer(target.gpu, toOffset, content);
    else target.spilled.push({ offset: toOffset, content });
  }

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
    this.encode((encoder) => encoder.copyBufferToBuffer(gpu, offset, reader, 0, bytes));
    await reader.mapAsync(MAP_READ, 0, bytes);
    take(new Uint8Array(reader.getMappedRange(0, bytes)));
    reader.unmap();
    if (this.readers.length < KEPT_READERS) this.readers.push(reader);
    else reader.destroy();
  }

  async dispatch(orders: readonly Order[]): Promise<Ran[]> {
    const asides: GPUBuffer[] = [];
    const ready: Ready[] = [];
    let refused: Failure = null;
    try {
      for (const each of orders) {
        const found = await this.ready(each, asides);
        if ('failure' in found) {
          refused = found.failure;
          break;
        }
        ready.push(found);
      }
      // The clock's stamps come with the last one.
      const clock = refused === null ? this.takeClock() : null;
      const wrong = this.submit(ready, clock);
      // What went wrong is asked for beside the wait for the end: each takes turns of the event
      // loop.
      const [failure, times] = await Promise.all([
        wrong,
        clock?.read(orders.length) ?? this.idle().then(() => []),
      ]);
      if (failure !== null) {
        await this.idle();
        for (const { groups } of ready) groups.clear();
        return ransOf(orders.length, 0, failure, []);
      }
      return ransOf(orders.length, ready.length, refused, times);
    } finally {
      for (const each of asides) each.destroy();
    }
  }

  async failureOf({ order, source }: Order): Promise<Failure> {
    const compiled = await this.pipelineOf(order, source);
    return 'failure' in compiled ? compiled.failure : null;
  }

  async idle(): Promise<void> {
    await this.device.queue.onSubmittedWorkDone();
  }

  lose(): void {
    this.device.destroy();
  }

  release(): void {
    for (const { gpu } of this.buffers.values()) gpu?.destroy();
    for (const reader of this.readers.splice(0)) reader.destroy();
    this.clock?.destroy();
    this.clock = null;
    this.buffers.clear();
    this.pipelines.clear();
  }

  /**
   * What a kernel needs besides its arguments, or why it cannot be had. @param made gets the
   * buffers that are made for it
   */
  private async ready(
    { order, source }: Order,
    made: GPUBuffer[],
  ): Promise<Ready | { failure: Failure }> {
    const compiled = await this.pipelineOf(order, source);
    if ('failure' in compiled) return compiled;
    for (const each of order.bound) {
      if (each.kind === 'buffer' && !(await this.unspill(each.part[0])))
        return { failure: outOfMemory(each.part[2]) };
    }
    const asides: GPUBuffer[] = [];
    for (const { part } of order.asides) {
      if (!(await this.unspill(part[0]))) return { failure: outOfMemory(part[2]) };
      const aside = await this.allocate(part[2], Usage.STORAGE | Usage.COPY_SRC | Usage.COPY_DST);
      if (aside === null) return { failure: outOfMemory(part[2]) };
      made.push(aside);
      asides.push(aside);
    }
    return { ...compiled, order, asides };
  }

  /** Hands kernels to the GPU, one after the other. Resolves with what was wrong with them. */
  private async submit(kernels: readonly Ready[], clock: GpuClock | null): Promise<Failure> {
    const { device } = this;
    device.pushErrorScope('internal');
    device.pushErrorScope('out-of-memory');
    device.pushErrorScope('validation');
    let encoder = device.createCommandEncoder();
    let passes = 0;
    for (const [place, each] of kernels.entries()) {
      // Numbers are written at once: kernels that have others go before that.
      const changed = changedUniforms(each.order, each.uniforms, this.makeUniform);
      if (changed.length > 0 && passes > 0) {
        device.queue.submit([encoder.finish()]);
        encoder = device.createCommandEncoder();
        passes = 0;
      }
      for (const { buffer, bytes } of changed) device.queue.writeBuffer(buffer, 0, bytes);
      this.encodeKernel(encoder, each, clock?.writes(place));
      passes++;
    }
    clock?.resolve(encoder, kernels.length);
    device.queue.submit([encoder.finish()]);
    const errors = await Promise.all([
      device.popErrorScope(),
      device.popErrorScope(),
      device.popErrorScope(),
    ]);
    const [invalid, full, internal] = errors;
    if (full !== null) return { code: 'DEVICE_MEMORY', message: full.message };
    const error = invalid ?? internal;
    return error === null ? null : { code: 'KERNEL_ERROR', message: error.message };
  }

  private encodeKernel(
    encoder: GPUCommandEncoder,
    ready: Ready,
    timestampWrites: GPUComputePassTimestampWrites | undefined,
  ): void {
    const { order, pipeline, layouts, asides, groups } = ready;
    groups.trim();
    const bound = layouts.map((_, group) => this.groupOf(ready, group));
    for (const [buffer, offset, bytes] of order.zeros)
      encoder.clearBuffer(this.gpuOf(buffer), offset, bytes);
    for (const [index, { part }] of order.asides.entries())
      encoder.copyBufferToBuffer(this.gpuOf(part[0]), part[1], asides[index], 0, part[2]);
    const pass = encoder.beginComputePass(timestampWrites === undefined ? {} : { timestampWrites });
    pass.setPipeline(pipeline);
    for (const [index, group] of bound.entries()) pass.setBindGroup(index, group);
    pass.dispatchWorkgroups(...order.workgroups);
    pass.end();
    for (const [index, { part, back }] of order.asides.entries())
      if (back) encoder.copyBufferToBuffer(asides[index], 0, this.gpuOf(part[0]), part[1], part[2]);
  }

  private groupOf(ready: Ready, group: number): GPUBindGroup {
    const bound = boundIn(ready.order, group);
    const make = (): GPUBindGroup =>
      this.device.createBindGroup({
        layout: ready.layouts[group],
        entries: bound.map((each) => ({
          binding: each.binding,
          resource: this.resourceOf(each, ready),
        })),
      });
    return isLasting(bound) ? ready.groups.of(group, bound, this.serialOf, make) : make();
  }

  /** Null where the GPU does not measure. */
  private takeClock(): GpuClock | null {
    if (!this.device.features.has(TIMESTAMPS)) return null;
    this.clock ??= new GpuClock(this.device);
    return this.clock;
  }

  private resourceOf(each: Bound, { uniforms, asides }: Ready): GPUBufferBinding {
    if (each.kind === 'aside') return { buffer: asides[each.index] };
    if (each.kind === 'uniform')
      return { buffer: (uniforms.get(placeOf(each)) as Uniform<GPUBuffer>).buffer };
    const [buffer, offset, size] = each.part;
    return { buffer: this.gpuOf(buffer), offset, size };
  }

  private readonly makeUniform = (size: number): GPUBuffer => {
    return this.device.createBuffer({ size, usage: Usage.UNIFORM | Usage.COPY_DST });
  };

  /** Its uniform variables have memory of the GPU; all else goes with the last reference. */
  private async drop(gone: Promise<Compiled>): Promise<void> {
    const compiled = await gone;
    if (!('failure' in compiled))
      for (const { buffer } of compiled.uniforms.values()) buffer.destroy();
    if (++this.droppedPipelines % COLLECTED_AT_ONCE === 0) this.collect?.();
  }

  private pipelineOf(order: Dispatch, source: string): Promise<Compiled> {
    const key = `${order.module} ${order.entryPoint} ${JSON.stringify(order.constants)}`;
    let known = this.pipelines.get(key);
    if (known === undefined) {
      known = this.compile(order, source);
      this.pipelines.set(key, known);
    }
    return known;
  }

  /**
   * Layouts are made of what the kernel's parameters say: WebGPU's own would leave out what the
   * entry point does not use.
   */
  private async compile(
    { bound, entryPoint, constants }: Dispatch,
    source: string,
  ): Promise<Compiled> {
    const { device } = this;
    device.pushErrorScope('validation');
    const module = device.createShaderModule({ code: source });
    const groups = Math.max(0, ...bound.map(({ group }) => group + 1));
    const layouts = Array.from({ length: groups }, (_, group) =>
      device.createBindGroupLayout({
        entries: bound
          .filter((each) => each.group === group)
          .map((each) => ({
            binding: each.binding,
            visibility: COMPUTE,
            buffer: { type: typeOf(each) },
          })),
      }),
    );
    const layout = device.createPipelineLayout({ bindGroupLayouts: layouts });
    const refused = device.popErrorScope();
    const { messages } = await module.getCompilationInfo();
    const wrong = messages.find(({ type }) => type === 'error');
    if (wrong !== undefined) {
      await refused;
      return {
        failure: {
          code: 'KERNEL_ERROR',
          message: `WGSL, line ${wrong.lineNum}:${wrong.linePos}: ${wrong.message}`,
        },
      };
    }
    try {
      const pipeline = await device.createComputePipelineAsync({
        layout,
        compute: { module, entryPoint, constants },
      });
      const error = await refused;
      if (error === null)
        return { pipeline, layouts, uniforms: new Map(), groups: new BoundGroups(() => undefined) };
      return { failure: { code: 'KERNEL_ERROR', message: error.message } };
    } catch (error) {
      // What it was made of may be wrong, of which this error knows no more than that.
      const { message } =
        (await refused) ?? (error instanceof Error ? error : { message: String(error) });
      return { failure: { code: 'KERNEL_ERROR', message } };
    }
  }

  private async allocate(size: number, usage: number): Promise<GPUBuffer | null> {
    const { device, failing } = this;
    if (failing !== null && !failing.hasMemory()) return null;
    device.pushErrorScope('out-of-memory');
    device.pushErrorScope('validation');
    let buffer: GPUBuffer | null = null;
    try {
      buffer = device.createBuffer({ size, usage });
    } catch {
      // An error that says no more than that it could not be made.
    }
    const errors = await Promise.all([device.popErrorScope(), device.popErrorScope()]);
    if (errors.every((error) => error === null)) return buffer;
    buffer?.destroy();
    return null;
  }

  /** Whether a buffer is there, perhaps now that others have gone. */
  private async unspill(buffer: number): Promise<boolean> {
    const held = this.held(buffer);
    if (held.gpu !== null) return true;
    held.gpu = await this.allocate(held.bytes, Usage.STORAGE | Usage.COPY_SRC | Usage.COPY_DST);
    if (held.gpu === null) return false;
    for (const { offset, content } of held.spilled.splice(0))
      this.device.queue.writeBuffer(held.gpu, offset, content);
    return true;
  }

  private takeReader(bytes: number): GPUBuffer {
    const index = this.readers.findIndex(({ size }) => size >= bytes);
    if (index !== -1) return this.readers.splice(index, 1)[0];
    const size = Math.max(2 ** 18, bytes);
    return this.device.createBuffer({ size, usage: Usage.MAP_READ | Usage.COPY_DST });
  }

  private encode(work: (encoder: GPUCommandEncoder) => void): void {
    const encoder = this.device.createCommandEncoder();
    work(encoder);
    this.device.queue.submit([encoder.finish()]);
  }

  private readonly serialOf = (buffer: number): number => this.held(buffer).serial;

  private held(buffer: number): Held {
    const found = this.buffers.get(buffer);
    if (found === undefined) throw new Error(`there is no buffer ${buffer}`);
    return found;
  }

  private gpuOf(buffer: number): GPUBuffer {
    return this.held(buffer).gpu as GPUBuffer;
  }
}

function typeOf(each: Bound): GPUBufferBindingType {
  if (each.kind === 'uniform') return 'uniform';
  return each.writable ? 'storage' : 'read-only-storage';
}
