/** Dispatches on a GPU by the npm package `webgpu` as it is. */
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);

export interface Bound {
  readonly group: number;
  readonly binding: number;
  readonly kind: 'storage' | 'uniform';
  readonly bytes: Uint8Array;
  /** What the GPU made of it is put into `bytes`. */
  readonly back: boolean;
}

export class Gpu {
  readonly #device: GPUDevice;
  readonly #failures: string[] = [];
  readonly name: string;
  // The package wants it held as long as anything of it is in use.
  readonly #gpu: GPU;

  private constructor(gpu: GPU, device: GPUDevice, name: string) {
    this.#gpu = gpu;
    this.#device = device;
    this.name = name;
    device.addEventListener('uncapturederror', (event) =>
      this.#failures.push((event as GPUUncapturedErrorEvent).error.message),
    );
  }

  static async open(): Promise<Gpu> {
    const gpu = create([]);
    const adapter = await gpu.requestAdapter();
    if (adapter === null)
      throw new Error('there is no GPU, nor one in software (scripts/software-gpu.mjs)');
    const { maxStorageBuffersPerShaderStage } = adapter.limits;
    const device = await adapter.requestDevice({
      requiredLimits: { maxStorageBuffersPerShaderStage },
    });
    return new Gpu(gpu, device, adapter.info.description || adapter.info.device);
  }

  /**
   * Whether an element beyond an array's end is its last one here. WGSL leaves open which of an
   * array's elements such a read gives, or whether it gives 0: Dawn takes the last one, but leaves
   * it to drivers that promise 0.
   */
  async clampsIndices(): Promise<boolean> {
    const code = `@group(0) @binding(0) var<storage> a: array<u32>; @group(0) @binding(1) var<storage, read_write> b: array<u32>;
@compute @workgroup_size(4) fn main(@builtin(global_invocation_id) id: vec3u) { b[id.x] = a[arrayLength(&a) + id.x * 1000u]; }`;
    const found = new Uint32Array(4);
    const bound = (binding: number, words: Uint32Array, back: boolean): Bound => {
      return { group: 0, binding, kind: 'storage', bytes: new Uint8Array(words.buffer), back };
    };
    const pipeline = await this.pipeline(code, 'main', {});
    await this.dispatch(
      pipeline,
      [bound(0, new Uint32Array(64).fill(7), false), bound(1, found, true)],
      [1, 1, 1],
    );
    return found.every((each) => each === 7);
  }

  async close(): Promise<void> {
    this.#device.destroy();
    await this.#device.lost;
    void this.#gpu;
  }

  /** @throws the compiler's message */
  async pipeline(
    code: string,
    entryPoint: string,
    constants: Readonly<Record<string, number>>,
  ): Promise<GPUComputePipeline> {
    const module = this.#device.createShaderModule({ code });
    return await this.#device.createComputePipelineAsync({
      layout: 'auto',
      compute: { module, entryPoint, constants: { ...constants } },
    });
  }

  async dispatch(
    pipeline: GPUComputePipeline,
    bound: readonly Bound[],
    workgroups: readonly number[],
  ): Promise<void> {
    const device = this.#device;
    const made: GPUBuffer[] = [];
    const buffer = (size: number, usage: number) => {
      const each = device.createBuffer({ size, usage });
      made.push(each);
      return each;
    };
    const buffers = bound.map(({ kind, bytes }) => {
      const usage =
        kind === 'uniform'
          ? GPUBufferUsage.UNIFORM
          : GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC;
      const each = buffer(bytes.byteLength, usage | GPUBufferUsage.COPY_DST);
      device.queue.writeBuffer(each, 0, bytes as Uint8Array<ArrayBuffer>);
      return each;
    });
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    for (const group of new Set(bound.map((each) => each.group))) {
      const entries = bound.flatMap((each, at) =>
        each.group === group
          ? [{ binding: each.binding, resource: { buffer: buffers[at] as GPUBuffer } }]
          : [],
      );
      pass.setBindGroup(
        group,
        device.createBindGroup({ layout: pipeline.getBindGroupLayout(group), entries }),
      );
    }
    const [x, y, z] = workgroups;
    pass.dispatchWorkgroups(x as number, y, z);
    pass.end();
    const reads = bound.flatMap(({ bytes, back }, at) => {
      if (!back) return [];
      const staging = buffer(bytes.byteLength, GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST);
      encoder.copyBufferToBuffer(buffers[at] as GPUBuffer, 0, staging, 0, bytes.byteLength);
      return [{ bytes, staging }];
    });
    device.queue.submit([encoder.finish()]);
    for (const { bytes, staging } of reads) {
      await staging.mapAsync(GPUMapMode.READ);
      bytes.set(new Uint8Array(staging.getMappedRange()));
      staging.unmap();
    }
    for (const each of made) each.destroy();
    if (this.#failures.length > 0) throw new Error(this.#failures.splice(0).join('\n'));
  }
}
