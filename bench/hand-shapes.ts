/**
 * What the bench of shapes is compared with: the same launches by plain WebGPU, with memory for all
 * of their arrays. It runs in a process of its own. A task's name comes in by a message; the
 * milliseconds go back, and a checksum of the result.
 */
import { create } from 'webgpu';
import { checksum, SHAPE_TASKS, type ShapeTask } from './shape-tasks.js';

const Usage = { MAP_READ: 1, COPY_SRC: 4, COPY_DST: 8, UNIFORM: 64, STORAGE: 128 } as const;
const READ = 1;

/** Held as long as the process lives: what `create` returned must not be collected. */
export const gpu = create([]);
const adapter = await gpu.requestAdapter();
if (adapter === null) throw new Error('no GPU was found');
const device = await adapter.requestDevice();
const { queue } = device;

/** Data of tasks, of which each run has the same. */
const made = new Map<string, ReturnType<ShapeTask['arrays']>>();

async function run(task: string): Promise<[number, number]> {
  const { arrays, launches, result } = SHAPE_TASKS[task];
  const data = made.get(task) ?? arrays();
  made.set(task, data);
  const pipelines = launches.map(({ source }) =>
    device.createComputePipeline({
      layout: 'auto',
      compute: { module: device.createShaderModule({ code: source }) },
    }),
  );
  const back = new Float32Array(data[result].length);
  const started = performance.now();
  const buffersMade: GPUBuffer[] = [];
  const buffer = (size: number, usage: number): GPUBuffer => {
    const each = device.createBuffer({ size, usage });
    buffersMade.push(each);
    return each;
  };
  const buffers = new Map(
    Object.entries(data).map(([name, content]) => {
      const each = buffer(content.byteLength, Usage.STORAGE | Usage.COPY_SRC | Usage.COPY_DST);
      queue.writeBuffer(each, 0, content);
      return [name, each];
    }),
  );
  const encoder = device.createCommandEncoder();
  for (const [at, { source, workgroups, numbers }] of launches.entries()) {
    const pipeline = pipelines[at];
    const uniform = buffer(16, Usage.UNIFORM | Usage.COPY_DST);
    queue.writeBuffer(uniform, 0, Uint32Array.from(Object.values(numbers)));
    const variables = [...source.matchAll(/@binding\((\d+)\) var<[^>]*> (\w+)/g)];
    // What no text uses is not in the layout of the pipeline.
    const used = variables.filter(([, , name]) => buffers.has(name) || /\bp\.\w/.test(source));
    const entries = used.map(([, binding, name]) => ({
      binding: Number(binding),
      resource: { buffer: buffers.get(name) ?? uniform },
    }));
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    const layout = pipeline.getBindGroupLayout(0);
    pass.setBindGroup(0, device.createBindGroup({ layout, entries }));
    pass.dispatchWorkgroups(...workgroups);
    pass.end();
  }
  const home = buffer(back.byteLength, Usage.MAP_READ | Usage.COPY_DST);
  encoder.copyBufferToBuffer(buffers.get(result) as GPUBuffer, 0, home, 0, back.byteLength);
  queue.submit([encoder.finish()]);
  await home.mapAsync(READ);
  back.set(new Float32Array(home.getMappedRange()));
  const elapsed = performance.now() - started;
  for (const each of buffersMade) each.destroy();
  return [elapsed, checksum(back)];
}

process.on('message', async (name: string) => process.send?.(await run(name)));
process.send?.('ready');
