/**
 * A GPU, driven by Dawn's C functions from one thread. Nothing here comes by an event loop: what is
 * under way comes when the thread waits for it, and bytes go straight from where they lie, and to
 * where they are to lie.
 */

import { RecentMap } from '../../../core/basics/recent-map.js';
import { view } from '../../../linux/memory/memory.js';
import { boundIn, isLasting, placeOf } from '../bound-groups.js';
import type { FailingGpu } from '../failing-gpu.js';
import {
  type AdapterFacts,
  type Bound,
  type Dispatch,
  type Launched,
  MOST_MODULES,
} from '../protocol.js';
import { type Order, type Ran, ransOf, type WaitedTransport } from '../transport.js';
import { changedUniforms, type Uniform } from '../uniforms.js';
import { outOfMemory, spilledBytes } from '../unmet-buffers.js';
import type { Outcome } from './futures.js';
import type { Gpu, Problem } from './gpu.js';
import { freeBuffer, hostBuffer } from './host-buffer.js';
import {
  BindGroupDescriptor,
  BindGroupEntry,
  BufferDescriptor,
  BufferUsage,
  ComputePassDescriptor,
  ErrorType,
  MapMode,
  Status,
} from './layouts.js';
import type { CallbackInfo } from './library.js';
import { NativeClock } from './native-clock.js';
import { type Compiled, compile, type Pipeline } from './pipelines.js';

type Failure = NonNullable<Launched['failure']>;

/**
 * A kernel that can run: its pipeline, and the buffers for arguments that cannot be bound where
 * they lie.
 */
interface Ready extends Pipeline {
  readonly order: Dispatch;
  readonly asides: readonly number[];
}

/** A buffer, or what it should hold, where there was no memory for it. */
interface Held {
  /** No other buffer has it, nor had it. */
  readonly serial: number;
  readonly bytes: number;
  /** 0: none. */
  handle: number;
  readonly spilled: { readonly offset: number; readonly content: Uint8Array }[];
}

interface Reader {
  readonly handle: number;
  readonly bytes: number;
}

const STORAGE = BufferUsage.Storage | BufferUsage.CopySrc | BufferUsage.CopyDst;
/** Reading goes through buffers that are used again, each for copies of at most its size. */
const KEPT_READERS = 16;
const LEAST_READER_BYTES = 2 ** 18;
/** Less is copied faster than the GPU is told of the memory. */
const LEAST_DIRECT_BYTES = 2 ** 18;

export class NativeTransport implements WaitedTransport {
  readonly lost: Promise<string>;
  private loseBy: (message: string) => void = () => undefined;
  private gone = false;
  private readonly buffers = new Map<number, Held>();
  private readonly pipelines = new RecentMap<string, Compiled>(MOST_MODULES, (compiled) =>
    this.drop(compiled),
  );
  private readonly readers: Reader[] = [];
  private clock: NativeClock | null = null;
  /** Buffers that were made so far. */
  private made = 0;
  private mapsHost: boolean;

  constructor(
    private readonly gpu: Gpu,
    readonly facts: AdapterFacts,
    /**
     * Whether it tells how long kernels run, and whether it takes buffers whose memory is the
     * program's.
     */
    private readonly able: { readonly measures: boolean; readonly mapsHost: boolean },
    private readonly failing: FailingGpu | null,
  ) {
    this.mapsHost = able.mapsHost;
    this.lost = new Promise((resolve) => {
      this.loseBy = resolve;
    });
  }

  get busy(): boolean {
    return !this.gone && this.gpu.futures.busy;
  }

  wait(nanoseconds: number): void {
    this.gpu.futures.wait(nanoseconds);
  }

  async create(buffer: number, bytes: number): Promise<void> {
    const handle = this.allocate(bytes, STORAGE);
    this.buffers.set(buffer, { serial: ++this.made, bytes, handle, spilled: [] });
  }

  destroy(buffer: number): void {
    const held = this.buffers.get(buffer);
    if (held === undefined) return;
    if (held.handle !== 0) this.free(held.handle);
    this.buffers.delete(buffer);
  }

  async reuse(buffer: number, other: number): Promise<void> {
    const { serial, bytes, handle } = this.held(buffer);
    this.buffers.delete(buffer);
    if (handle === 0) await this.create(other, bytes);
    else this.buffers.set(other, { serial, bytes, handle, spilled: [] });
  }

  write(
    buffer: number,
    offset: number,
    bytes: number,
    source: Uint8Array | null,
    keep: boolean,
  ): boolean {
    const { dawn, queue } = this.gpu;
    const { handle, spilled } = this.held(buffer);
    if (handle === 0) {
      // A copy, since what lies at the source may be another content by then.
      if (keep)
        spilled.push({
          offset,
          content: source === null ? new Uint8Array(bytes) : new Uint8Array(source),
        });
      return keep;
    }
    if (source === null)
      this.encode((encoder) => dawn.commandEncoderClearBuffer(encoder, handle, offset, bytes));
    else dawn.queueWriteBufferOf(queue, handle, offset, source, bytes);
    return true;
  }

  async copy(
    from: number,
    fromOffset: number,
    to: number,
    toOffset: number,
    bytes: number,
  ): Promise<void> {
    const { dawn } = this.gpu;
    const source = this.held(from);
    const target = this.held(to);
    if (source.handle !== 0 && target.handle !== 0) {
      const [first, second] = [source.handle, target.handle];
      this.encode((encoder) =>
        dawn.commandEncoderCopyBufferToBuffer(encoder, first, fromOffset, second, toOffset, bytes),
      );
      return;
    }
    // There was no memory for one of the two: what it holds is kept here, until there is.
    const content = new Uint8Array(bytes);
    await this.read(from, fromOffset, bytes, (found) => content.set(found));
    this.write(to, toOffset, bytes, content, true);
  }

  async read(
    buffer: number,
    offset: number,
    bytes: number,
    take: (content: Uint8Array) => void,
  ): Promise<void> {
    const { dawn } = this.gpu;
    const { handle, spilled } = this.held(buffer);
    if (handle === 0) {
      take(spilledBytes(spilled, offset, bytes));
      return;
    }
    const reader = this.takeReader(bytes);
    this.encode((encoder) =>
      dawn.commandEncoderCopyBufferToBuffer(encoder, handle, offset, reader.handle, 0, bytes),
    );
    await this.mapped(reader.handle, bytes);
    take(new Uint8Array(view(dawn.bufferGetConstMappedRange(reader.handle, 0, bytes), bytes)));
    dawn.bufferUnmap(reader.handle);
    if (this.readers.length < KEPT_READERS) this.readers.push(reader);
    else this.free(reader.handle);
  }

  /**
   * The GPU itself writes to the program's memory, where it can. Where it has once not taken it, it
   * is not asked again.
   */
  readTo(
    buffer: number,
    offset: number,
    bytes: number,
    address: number,
    there: () => void,
  ): Promise<void> | null {
    const { dawn } = this.gpu;
    const { handle } = this.held(buffer);
    if (handle === 0 || !this.mapsHost || bytes < LEAST_DIRECT_BYTES) return null;
    const target = hostBuffer(this.gpu, address, bytes);
    if ('problem' in target) {
      this.mapsHost = false;
      return null;
    }
    this.encode((encoder) =>
      dawn.commandEncoderCopyBufferToBuffer(encoder, handle, offset, target.handle, 0, bytes),
    );
    return this.idle(there).then(() => this.free(target.handle));
  }

  async dispatch(orders: readonly Order[]): Promise<Ran[]> {
    const asides: number[] = [];
    const ready: Ready[] = [];
    let refused: Launched['failure'] = null;
    try {
      for (const each of orders) {
        const found = this.ready(each, asides);
        if ('failure' in found) {
          refused = found.failure;
          break;
        }
        ready.push(found);
      }
      // The clock's stamps come with the last one.
      const clock = refused === null ? this.takeClock() : null;
      const wrong = this.submit(ready, clock);
      const times = await this.ended(wrong === null ? clock : null, orders.length);
      if (wrong !== null) {
        for (const { groups } of ready) groups.clear();
        return ransOf(orders.length, 0, wrong, []);
      }
      return ransOf(orders.length, ready.length, refused, times);
    } finally {
      for (const each of asides) this.free(each);
    }
  }

  async failureOf({ order, source }: Order): Promise<Launched['failure']> {
    const compiled = this.pipelineOf(order, source);
    return 'failure' in compiled ? compiled.failure : null;
  }

  async idle(heard?: () => void): Promise<void> {
    const { dawn, futures, queue } = this.gpu;
    await this.done(
      futures.kinds.said,
      (info) => dawn.queueOnSubmittedWorkDone(queue, info),
      heard,
    );
  }

  lose(): void {
    this.gpu.dawn.deviceDestroy(this.gpu.device);
    this.noteLoss();
  }

  release(): void {
    for (const { handle } of this.buffers.values()) if (handle !== 0) this.free(handle);
    for (const { handle } of this.readers.splice(0)) this.free(handle);
    this.clock?.destroy();
    this.clock = null;
    this.buffers.clear();
    this.pipelines.clear();
  }

  /**
   * What a kernel needs besides its arguments, or why it cannot be had. @param made gets the
   * buffers that are made for it
   */
  private ready(
    { order, source }: Order,
    made: number[],
  ): Ready | { failure: Launched['failure'] } {
    const compiled = this.pipelineOf(order, source);
    if ('failure' in compiled) return compiled;
    for (const each of order.bound)
      if (each.kind === 'buffer' && !this.unspill(each.part[0]))
        return { failure: outOfMemory(each.part[2]) };
    const asides: number[] = [];
    for (const { part } of order.asides) {
      const aside = this.unspill(part[0]) ? this.allocate(part[2], STORAGE) : 0;
      if (aside === 0) return { failure: outOfMemory(part[2]) };
      made.push(aside);
      asides.push(aside);
    }
    return { ...compiled, order, asides };
  }

  /**
   * Resolves when what was submitted has been done, with how long each of so many kernels ran,
   * where a clock measures that.
   */
  private async ended(clock: NativeClock | null, passes: number): Promise<(number | undefined)[]> {
    if (clock === null) {
      await this.idle();
      return [];
    }
    await this.mapped(clock.reader, clock.bytesOf(passes));
    return clock.read(passes);
  }

  /** Hands kernels to the GPU, one after the other, and tells what was wrong with them. */
  private submit(kernels: readonly Ready[], clock: NativeClock | null): Launched['failure'] {
    const { dawn, device } = this.gpu;
    this.gpu.takeProblem();
    let encoder = dawn.deviceCreateCommandEncoder(device, 0);
    let passes = 0;
    for (const [place, each] of kernels.entries()) {
      // Numbers are written at once: kernels that have others go before that.
      const changed = changedUniforms(each.order, each.uniforms, this.makeUniform);
      if (changed.length > 0 && passes > 0) {
        this.finish(encoder);
        encoder = dawn.deviceCreateCommandEncoder(device, 0);
        passes = 0;
      }
      for (const { buffer, bytes } of changed)
        dawn.queueWriteBufferOf(this.gpu.queue, buffer, 0, bytes, bytes.length);
      this.encodeKernel(encoder, each, clock, place);
      passes++;
    }
    clock?.resolve(encoder, kernels.length);
    this.finish(encoder);
    const problem = this.gpu.takeProblem();
    return problem === null ? null : failureBy(problem);
  }

  private encodeKernel(
    encoder: number,
    ready: Ready,
    clock: NativeClock | null,
    place: number,
  ): void {
    const { arena, dawn } = this.gpu;
    const { order, asides, groups } = ready;
    groups.trim();
    const bound = ready.layouts.map((_, group) => this.groupOf(ready, group));
    for (const [buffer, offset, bytes] of order.zeros)
      dawn.commandEncoderClearBuffer(encoder, this.handleOf(buffer), offset, bytes);
    for (const [index, { part }] of order.asides.entries()) {
      const from = this.handleOf(part[0]);
      dawn.commandEncoderCopyBufferToBuffer(encoder, from, part[1], asides[index], 0, part[2]);
    }
    const pass = dawn.commandEncoderBeginComputePass(
      encoder,
      clock === null
        ? 0
        : arena.put(ComputePassDescriptor, { timestampWrites: clock.writes(place) }),
    );
    dawn.computePassEncoderSetPipeline(pass, ready.pipeline);
    for (const [index, { group }] of bound.entries())
      dawn.computePassEncoderSetBindGroup(pass, index, group, 0, 0);
    dawn.computePassEncoderDispatchWorkgroups(pass, ...order.workgroups);
    dawn.computePassEncoderEnd(pass);
    dawn.computePassEncoderRelease(pass);
    for (const [index, { part, back }] of order.asides.entries()) {
      if (!back) continue;
      dawn.commandEncoderCopyBufferToBuffer(
        encoder,
        asides[index],
        0,
        this.handleOf(part[0]),
        part[1],
        part[2],
      );
    }
    arena.reset();
    for (const { group, isKept } of bound) if (!isKept) dawn.bindGroupRelease(group);
  }

  private groupOf(
    ready: Ready,
    group: number,
  ): { readonly group: number; readonly isKept: boolean } {
    const { arena, dawn, device } = this.gpu;
    const bound = boundIn(ready.order, group);
    const make = (): number => {
      const entries = bound.map((each) => ({
        binding: each.binding,
        ...this.resourceOf(each, ready),
      }));
      const layout = ready.layouts[group];
      const descriptor = {
        layout,
        entryCount: entries.length,
        entries: arena.list(BindGroupEntry, entries),
      };
      return dawn.deviceCreateBindGroup(device, arena.put(BindGroupDescriptor, descriptor));
    };
    const isKept = isLasting(bound);
    return { group: isKept ? ready.groups.of(group, bound, this.serialOf, make) : make(), isKept };
  }

  private resourceOf(
    each: Bound,
    { uniforms, asides, order }: Ready,
  ): { buffer: number; offset: number; size: number } {
    if (each.kind === 'aside')
      return { buffer: asides[each.index], offset: 0, size: order.asides[each.index].part[2] };
    if (each.kind === 'uniform') {
      const { buffer, size } = uniforms.get(placeOf(each)) as Uniform<number>;
      return { buffer, offset: 0, size };
    }
    const [buffer, offset, size] = each.part;
    return { buffer: this.handleOf(buffer), offset, size };
  }

  private drop(compiled: Compiled): void {
    if ('failure' in compiled) return;
    const { dawn } = this.gpu;
    compiled.groups.clear();
    for (const { buffer } of compiled.uniforms.values()) this.free(buffer);
    for (const layout of compiled.layouts) dawn.bindGroupLayoutRelease(layout);
    dawn.computePipelineRelease(compiled.pipeline);
  }

  private pipelineOf(order: Dispatch, source: string): Compiled {
    const key = `${order.module} ${order.entryPoint} ${JSON.stringify(order.constants)}`;
    let known = this.pipelines.get(key);
    if (known === undefined) {
      known = compile(this.gpu, order, source);
      this.pipelines.set(key, known);
    }
    return known;
  }

  /** Null where the GPU does not measure. */
  private takeClock(): NativeClock | null {
    if (!this.able.measures) return null;
    this.clock ??= new NativeClock(this.gpu);
    return this.clock;
  }

  /** 0: there is no memory for it. */
  private allocate(bytes: number, usage: number): number {
    if (this.failing !== null && !this.failing.hasMemory()) return 0;
    this.gpu.takeProblem();
    const made = this.make(bytes, usage);
    this.gpu.arena.reset();
    if (this.gpu.takeProblem() === null) return made;
    if (made !== 0) this.free(made);
    return 0;
  }

  private readonly makeUniform = (size: number): number =>
    this.make(size, BufferUsage.Uniform | BufferUsage.CopyDst);

  private make(size: number, usage: number): number {
    const { arena, dawn, device } = this.gpu;
    return dawn.deviceCreateBuffer(device, arena.put(BufferDescriptor, { usage, size }));
  }

  private free(handle: number): void {
    freeBuffer(this.gpu, handle);
  }

  /** Whether a buffer is there, perhaps now that others have gone. */
  private unspill(buffer: number): boolean {
    const held = this.held(buffer);
    if (held.handle !== 0) return true;
    held.handle = this.allocate(held.bytes, STORAGE);
    if (held.handle === 0) return false;
    for (const { offset, content } of held.spilled.splice(0))
      this.write(buffer, offset, content.length, content, false);
    return true;
  }

  private takeReader(bytes: number): Reader {
    const index = this.readers.findIndex((each) => each.bytes >= bytes);
    if (index !== -1) return this.readers.splice(index, 1)[0];
    const size = Math.max(LEAST_READER_BYTES, bytes);
    return { handle: this.make(size, BufferUsage.MapRead | BufferUsage.CopyDst), bytes: size };
  }

  /** Resolves when a buffer's bytes can be read. */
  private async mapped(handle: number, bytes: number): Promise<void> {
    const { dawn, futures } = this.gpu;
    await this.done(futures.kinds.said, (info) =>
      dawn.bufferMapAsync(handle, MapMode.Read, 0, bytes, info),
    );
  }

  /**
   * Resolves when the GPU has done something; never, when it is gone.
   * @param heard called as soon as it has, before anything else that the thread has to do
   */
  private async done(
    kind: CallbackInfo,
    ask: (info: CallbackInfo) => number,
    heard?: () => void,
  ): Promise<void> {
    const { status, message } = await new Promise<Outcome>((resolve) =>
      this.gpu.futures.later(kind, ask, (outcome) => {
        if (outcome.status === Status.Success && !this.gone) heard?.();
        resolve(outcome);
      }),
    );
    if (status === Status.Success && !this.gone) return;
    this.noteLoss();
    if (this.gone) await new Promise<never>(() => undefined);
    throw new Error(`the GPU failed a command: ${message || `status ${status}`}`);
  }

  private noteLoss(): void {
    const message = this.gone ? null : this.gpu.lost();
    if (message === null) return;
    this.gone = true;
    this.loseBy(message);
  }

  private encode(work: (encoder: number) => void): void {
    const { dawn, device } = this.gpu;
    const encoder = dawn.deviceCreateCommandEncoder(device, 0);
    work(encoder);
    this.finish(encoder);
  }

  /** Hands what was encoded to the GPU. */
  private finish(encoder: number): void {
    const { arena, dawn, queue } = this.gpu;
    const commands = dawn.commandEncoderFinish(encoder, 0);
    dawn.queueSubmit(queue, 1, arena.words([commands], 8));
    arena.reset();
    dawn.commandBufferRelease(commands);
    dawn.commandEncoderRelease(encoder);
  }

  private readonly serialOf = (buffer: number): number => this.held(buffer).serial;

  private held(buffer: number): Held {
    const found = this.buffers.get(buffer);
    if (found === undefined) throw new Error(`there is no buffer ${buffer}`);
    return found;
  }

  private handleOf(buffer: number): number {
    return this.held(buffer).handle;
  }
}

function failureBy({ type, message }: Problem): Failure {
  return { code: type === ErrorType.OutOfMemory ? 'DEVICE_MEMORY' : 'KERNEL_ERROR', message };
}
