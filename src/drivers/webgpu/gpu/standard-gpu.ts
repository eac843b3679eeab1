/**
 * A GPU by the standard's `GPUDevice`, the engine's own or one that the program has lent.
 */

import { type AdapterFacts, type Dispatch, limitsOf } from '../link/protocol.js';
import {
  type Binding,
  type Failure,
  type Gpu,
  type GpuKernel,
  type Stamps,
  typeOf,
} from './gpu.js';
import { ALL_STAMP_BYTES, ALL_STAMPS, STAMP_BYTES, TIMESTAMPS } from './gpu-clock.js';

export interface StandardKernel extends GpuKernel {
  readonly pipeline: GPUComputePipeline;
  readonly layouts: readonly GPUBindGroupLayout[];
}

/** Numbers of the standard; the package's globals for them are made when it is loaded. */
const Usage = {
  MAP_READ: 1,
  COPY_SRC: 4,
  COPY_DST: 8,
  UNIFORM: 64,
  STORAGE: 128,
  QUERY_RESOLVE: 0x200,
} as const;
const MAP_READ = 1;
const COMPUTE = 4;

/** What launches must know of a device. */
export function factsOf({ limits, features }: GPUDevice, name: string): AdapterFacts {
  return { name, limits: limitsOf(limits), features: [...features] };
}

/** Kernels that are dropped before their memory is asked back. */
const COLLECTED_AT_ONCE = 64;

export class StandardGpu implements Gpu<GPUBuffer, GPUBindGroup, StandardKernel> {
  readonly lost: Promise<string>;
  readonly waits = null;
  readonly hostBuffers = null;
  /** Of commands that are not submitted yet. */
  private encoder: GPUCommandEncoder | null = null;
  private querySet: GPUQuerySet | null = null;
  private forgotten = 0;

  constructor(
    private readonly device: GPUDevice,
    /** Asks for the memory of unreferenced objects; null: the program does that. */
    private readonly collect: (() => void) | null = null,
  ) {
    this.lost = device.lost.then(({ message }) => message || 'the driver says no more');
  }

  async allocate(size: number): Promise<GPUBuffer | null> {
    const { device } = this;
    const usage = Usage.STORAGE | Usage.COPY_SRC | Usage.COPY_DST;
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

  uniform(size: number): GPUBuffer {
    return this.device.createBuffer({ size, usage: Usage.UNIFORM | Usage.COPY_DST });
  }

  reader(size: number): GPUBuffer {
    return this.device.createBuffer({ size, usage: Usage.MAP_READ | Usage.COPY_DST });
  }

  free(buffer: GPUBuffer): void {
    buffer.destroy();
  }

  write(buffer: GPUBuffer, offset: number, content: Uint8Array): void {
    this.device.queue.writeBuffer(buffer, offset, content as Uint8Array<ArrayBuffer>);
  }

  map(reader: GPUBuffer, bytes: number): Promise<unknown> {
    return reader.mapAsync(MAP_READ, 0, bytes);
  }

  mapped(reader: GPUBuffer, bytes: number): Uint8Array {
    return new Uint8Array(reader.getMappedRange(0, bytes));
  }

  unmap(reader: GPUBuffer): void {
    reader.unmap();
  }

  /** Layouts follow the kernel's parameters: WebGPU's own leave out what is not used. */
  async compile(
    { bound, entryPoint, constants }: Dispatch,
    source: string,
  ): Promise<StandardKernel | { failure: Failure }> {
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
      return failed(`WGSL, line ${wrong.lineNum}:${wrong.linePos}: ${wrong.message}`);
    }
    try {
      const pipeline = await device.createComputePipelineAsync({
        layout,
        compute: { module, entryPoint, constants },
      });
      const error = await refused;
      return error === null ? { pipeline, layouts } : failed(error.message);
    } catch (error) {
      // What it was made of may be wrong, of which this error knows no more than that.
      const { message } =
        (await refused) ?? (error instanceof Error ? error : { message: String(error) });
      return failed(message);
    }
  }

  /** All that it has goes with the last reference. */
  forget(): void {
    if (++this.forgotten % COLLECTED_AT_ONCE === 0) this.collect?.();
  }

  bind(
    { layouts }: StandardKernel,
    group: number,
    bindings: readonly Binding<GPUBuffer>[],
  ): GPUBindGroup {
    return this.device.createBindGroup({
      layout: layouts[group],
      entries: bindings.map(({ binding, ...resource }) => ({ binding, resource })),
    });
  }

  unbind(): void {
    // It goes with the last reference.
  }

  clear(buffer: GPUBuffer, offset: number, bytes: number): void {
    this.commands().clearBuffer(buffer, offset, bytes);
  }

  copy(from: GPUBuffer, fromOffset: number, to: GPUBuffer, toOffset: number, bytes: number): void {
    this.commands().copyBufferToBuffer(from, fromOffset, to, toOffset, bytes);
  }

  run(
    { pipeline }: StandardKernel,
    groups: readonly GPUBindGroup[],
    workgroups: readonly [number, number, number],
    stamped: number,
  ): void {
    const pass = this.commands().beginComputePass(
      stamped === -1 || this.querySet === null
        ? {}
        : {
            timestampWrites: {
              querySet: this.querySet,
              beginningOfPassWriteIndex: 2 * stamped,
              endOfPassWriteIndex: 2 * stamped + 1,
            },
          },
    );
    pass.setPipeline(pipeline);
    for (const [index, group] of groups.entries()) pass.setBindGroup(index, group);
    pass.dispatchWorkgroups(...workgroups);
    pass.end();
  }

  submit(): void {
    if (this.encoder === null) return;
    this.device.queue.submit([this.encoder.finish()]);
    this.encoder = null;
  }

  stamps(): Stamps<GPUBuffer> | null {
    const { device } = this;
    if (!device.features.has(TIMESTAMPS)) return null;
    const usage = Usage.QUERY_RESOLVE | Usage.COPY_SRC;
    const querySet = device.createQuerySet({ type: 'timestamp', count: ALL_STAMPS });
    const resolved = device.createBuffer({ size: ALL_STAMP_BYTES, usage });
    this.querySet = querySet;
    return {
      resolve: (count, to) => {
        this.commands().resolveQuerySet(querySet, 0, count, resolved, 0);
        this.copy(resolved, 0, to, 0, count * STAMP_BYTES);
      },
      free: () => {
        querySet.destroy();
        resolved.destroy();
        this.querySet = null;
      },
    };
  }

  discard(): void {
    this.encoder = null;
  }

  watch(): void {
    this.device.pushErrorScope('internal');
    this.device.pushErrorScope('out-of-memory');
    this.device.pushErrorScope('validation');
  }

  async mistake(): Promise<Failure | null> {
    const { device } = this;
    const [invalid, full, internal] = await Promise.all([
      device.popErrorScope(),
      device.popErrorScope(),
      device.popErrorScope(),
    ]);
    if (full !== null) return { code: 'DEVICE_MEMORY', message: full.message };
    const error = invalid ?? internal;
    return error === null ? null : { code: 'KERNEL_ERROR', message: error.message };
  }

  idle(): Promise<unknown> {
    return this.device.queue.onSubmittedWorkDone();
  }

  lose(): void {
    this.device.destroy();
  }

  private commands(): GPUCommandEncoder {
    this.encoder ??= this.device.createCommandEncoder();
    return this.encoder;
  }
}

function failed(message: string): { readonly failure: Failure } {
  return { failure: { code: 'KERNEL_ERROR', message } };
}
