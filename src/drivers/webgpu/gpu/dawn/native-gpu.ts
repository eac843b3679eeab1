/**
 * A GPU by Dawn's C functions, from one thread. Nothing here comes by an event loop: what is under
 * way comes when the thread waits for it, and bytes go straight from where they lie, and to where
 * they are to lie.
 */

import { NativeBuffer } from '../../../../linux/base/native-buffer.js';
import { copyMemory, view } from '../../../../linux/memory/memory.js';
import type { Dispatch } from '../../link/protocol.js';
import type { Binding, Failure, Gpu, HostBuffers, Stamps, Waits } from '../gpu.js';
import { ALL_STAMP_BYTES, ALL_STAMPS, STAMP_BYTES } from '../gpu-clock.js';
import type { DawnGpu, Problem } from './dawn-gpu.js';
import type { Outcome } from './futures.js';
import { freeBuffer, hostBuffer } from './host-buffer.js';
import {
  BindGroupDescriptor,
  BindGroupEntry,
  BufferDescriptor,
  BufferUsage,
  ComputePassDescriptor,
  ErrorType,
  MapMode,
  PassTimestampWrites,
  QuerySetDescriptor,
  QueryType,
  Status,
} from './layouts.js';
import type { CallbackInfo } from './library.js';
import { compile, type NativeKernel } from './pipelines.js';

/** To see so few bytes costs more than to copy them. */
const FEW_BYTES = ALL_STAMP_BYTES;

/** Buffers and groups are Dawn's handles. */
export class NativeGpu implements Gpu<number, number, NativeKernel> {
  readonly lost: Promise<string>;
  readonly waits: Waits;
  private host: HostBuffers<number> | null;
  private loseBy: (message: string) => void = () => undefined;
  private gone = false;
  /** Of commands that are not submitted yet; 0: there are none. */
  private encoder = 0;
  private querySet = 0;
  private readonly few = new NativeBuffer(FEW_BYTES);

  constructor(
    private readonly opened: DawnGpu,
    /** Whether it measures kernels, and whether it takes buffers over the program's memory. */
    private readonly able: { readonly measures: boolean; readonly mapsHost: boolean },
  ) {
    this.lost = new Promise((resolve) => {
      this.loseBy = resolve;
    });
    const { futures } = opened;
    const isBusy = (): boolean => !this.gone && futures.busy;
    this.waits = {
      get busy() {
        return isBusy();
      },
      wait: (nanoseconds) => futures.wait(nanoseconds),
    };
    this.host = able.mapsHost ? { at: (address, bytes) => this.hostAt(address, bytes) } : null;
  }

  get hostBuffers(): HostBuffers<number> | null {
    return this.host;
  }

  allocate(bytes: number): number | null {
    this.opened.takeProblem();
    const usage = BufferUsage.Storage | BufferUsage.CopySrc | BufferUsage.CopyDst;
    const made = this.make(bytes, usage);
    if (this.opened.takeProblem() === null) return made;
    if (made !== 0) this.free(made);
    return null;
  }

  uniform(bytes: number): number {
    return this.make(bytes, BufferUsage.Uniform | BufferUsage.CopyDst);
  }

  reader(bytes: number): number {
    return this.make(bytes, BufferUsage.MapRead | BufferUsage.CopyDst);
  }

  free(buffer: number): void {
    freeBuffer(this.opened, buffer);
  }

  write(buffer: number, offset: number, content: Uint8Array): void {
    const { dawn, queue } = this.opened;
    dawn.queueWriteBufferOf(queue, buffer, offset, content, content.length);
  }

  map(reader: number, bytes: number): Promise<void> {
    const { dawn, futures } = this.opened;
    return this.done(futures.kinds.said, (info) =>
      dawn.bufferMapAsync(reader, MapMode.Read, 0, bytes, info),
    );
  }

  mapped(reader: number, bytes: number): Uint8Array {
    const address = this.opened.dawn.bufferGetConstMappedRange(reader, 0, bytes);
    if (bytes > FEW_BYTES) return new Uint8Array(view(address, bytes));
    copyMemory(this.few.address, address, bytes);
    return this.few.bytes.subarray(0, bytes);
  }

  unmap(reader: number): void {
    this.opened.dawn.bufferUnmap(reader);
  }

  compile(order: Dispatch, source: string): NativeKernel | { readonly failure: Failure } {
    return compile(this.opened, order, source);
  }

  forget({ pipeline, layouts }: NativeKernel): void {
    const { dawn } = this.opened;
    for (const layout of layouts) dawn.bindGroupLayoutRelease(layout);
    dawn.computePipelineRelease(pipeline);
  }

  bind({ layouts }: NativeKernel, group: number, bindings: readonly Binding<number>[]): number {
    const { arena, dawn, device } = this.opened;
    const made = dawn.deviceCreateBindGroup(
      device,
      arena.put(BindGroupDescriptor, {
        layout: layouts[group],
        entryCount: bindings.length,
        entries: arena.list(BindGroupEntry, bindings),
      }),
    );
    arena.reset();
    return made;
  }

  unbind(group: number): void {
    this.opened.dawn.bindGroupRelease(group);
  }

  clear(buffer: number, offset: number, bytes: number): void {
    this.opened.dawn.commandEncoderClearBuffer(this.commands(), buffer, offset, bytes);
  }

  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): void {
    const { dawn } = this.opened;
    const encoder = this.commands();
    dawn.commandEncoderCopyBufferToBuffer(encoder, from, fromOffset, to, toOffset, bytes);
  }

  run(
    { pipeline }: NativeKernel,
    groups: readonly number[],
    workgroups: readonly [number, number, number],
    stamped: number,
  ): void {
    const { arena, dawn } = this.opened;
    const pass = dawn.commandEncoderBeginComputePass(
      this.commands(),
      stamped === -1 ? 0 : this.stampedPass(stamped),
    );
    dawn.computePassEncoderSetPipeline(pass, pipeline);
    for (const [index, group] of groups.entries())
      dawn.computePassEncoderSetBindGroup(pass, index, group, 0, 0);
    dawn.computePassEncoderDispatchWorkgroups(pass, ...workgroups);
    dawn.computePassEncoderEnd(pass);
    dawn.computePassEncoderRelease(pass);
    arena.reset();
  }

  submit(): void {
    if (this.encoder === 0) return;
    const { arena, dawn, queue } = this.opened;
    const commands = dawn.commandEncoderFinish(this.encoder, 0);
    dawn.queueSubmit(queue, 1, arena.words([commands], 8));
    arena.reset();
    dawn.commandBufferRelease(commands);
    this.discard();
  }

  discard(): void {
    if (this.encoder !== 0) this.opened.dawn.commandEncoderRelease(this.encoder);
    this.encoder = 0;
  }

  stamps(): Stamps<number> | null {
    if (!this.able.measures) return null;
    const { arena, dawn, device } = this.opened;
    const querySet = dawn.deviceCreateQuerySet(
      device,
      arena.put(QuerySetDescriptor, { type: QueryType.Timestamp, count: ALL_STAMPS }),
    );
    const resolved = this.make(ALL_STAMP_BYTES, BufferUsage.QueryResolve | BufferUsage.CopySrc);
    this.querySet = querySet;
    return {
      resolve: (count, to) => {
        dawn.commandEncoderResolveQuerySet(this.commands(), querySet, 0, count, resolved, 0);
        this.copy(resolved, 0, to, 0, count * STAMP_BYTES);
      },
      free: () => {
        this.free(resolved);
        dawn.querySetDestroy(querySet);
        dawn.querySetRelease(querySet);
      },
    };
  }

  watch(): void {
    this.opened.takeProblem();
  }

  mistake(): Failure | null {
    const problem = this.opened.takeProblem();
    return problem === null ? null : failureBy(problem);
  }

  idle(heard?: () => void): Promise<void> {
    const { dawn, futures, queue } = this.opened;
    return this.done(
      futures.kinds.said,
      (info) => dawn.queueOnSubmittedWorkDone(queue, info),
      heard,
    );
  }

  lose(): void {
    this.opened.dawn.deviceDestroy(this.opened.device);
    this.noteLoss();
  }

  private make(size: number, usage: number): number {
    const { arena, dawn, device } = this.opened;
    const made = dawn.deviceCreateBuffer(device, arena.put(BufferDescriptor, { usage, size }));
    arena.reset();
    return made;
  }

  /** Where the GPU has once not taken memory, it is not asked again. */
  private hostAt(address: number, bytes: number): number | null {
    const made = hostBuffer(this.opened, address, bytes);
    if ('handle' in made) return made.handle;
    this.host = null;
    return null;
  }

  private commands(): number {
    if (this.encoder === 0)
      this.encoder = this.opened.dawn.deviceCreateCommandEncoder(this.opened.device, 0);
    return this.encoder;
  }

  /** The address of what says where a kernel notes its begin and its end. */
  private stampedPass(place: number): number {
    const { arena } = this.opened;
    const timestampWrites = arena.put(PassTimestampWrites, {
      querySet: this.querySet,
      beginningOfPassWriteIndex: 2 * place,
      endOfPassWriteIndex: 2 * place + 1,
    });
    return arena.put(ComputePassDescriptor, { timestampWrites });
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
      this.opened.futures.later(kind, ask, (outcome) => {
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
    const message = this.gone ? null : this.opened.lost();
    if (message === null) return;
    this.gone = true;
    this.loseBy(message);
  }
}

function failureBy({ type, message }: Problem): Failure {
  return { code: type === ErrorType.OutOfMemory ? 'DEVICE_MEMORY' : 'KERNEL_ERROR', message };
}
