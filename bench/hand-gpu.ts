/**
 * What the benches of GPUs are compared with: the same work by plain WebGPU, written as well as can
 * be. It runs in a process of its own, as onemem's engine does, and measures itself there: `{ task,
 * bytes, memory }` comes in by a message, milliseconds go back.
 */
import { create } from 'webgpu';
import { idsOf, LAUNCHES, LOOKUP, SAXPY, SEARCH } from './gpu-kernels.js';

export interface HandTask {
  readonly task: 'fits' | 'launches' | 'stream' | 'home' | 'search' | 'gather/1%' | 'gather/100%';
  /** Of each array. */
  readonly bytes: number;
  /** What may be on the GPU at once. */
  readonly memory: number;
}

const Usage = { MAP_READ: 1, COPY_SRC: 4, COPY_DST: 8, UNIFORM: 64, STORAGE: 128 } as const;
const STORAGE = Usage.STORAGE | Usage.COPY_SRC | Usage.COPY_DST;
const READ = 1;

/** Held as long as the process lives: what `create` returned must not be collected. */
export const gpu = create([]);
const adapter = await gpu.requestAdapter();
if (adapter === null) throw new Error('no GPU was found');
const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
const device = await adapter.requestDevice({
  requiredLimits: { maxBufferSize, maxStorageBufferBindingSize },
});
const { queue } = device;

function buffer(size: number, usage: number): GPUBuffer {
  return device.createBuffer({ size, usage });
}

function pipelineOf(code: string): GPUComputePipeline {
  return device.createComputePipeline({
    layout: 'auto',
    compute: { module: device.createShaderModule({ code }) },
  });
}

function bound(pipeline: GPUComputePipeline, buffers: readonly GPUBuffer[]): GPUBindGroup {
  const entries = buffers.map((each, binding) => ({ binding, resource: { buffer: each } }));
  return device.createBindGroup({ layout: pipeline.getBindGroupLayout(0), entries });
}

function dispatch(
  encoder: GPUCommandEncoder,
  pipeline: GPUComputePipeline,
  group: GPUBindGroup,
  size: number,
): void {
  const pass = encoder.beginComputePass();
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(Math.ceil(size / 256));
  pass.end();
}

function uniform(...words: number[]): GPUBuffer {
  const made = buffer(16, Usage.UNIFORM | Usage.COPY_DST);
  queue.writeBuffer(made, 0, new Uint32Array([...words, 0, 0, 0, 0].slice(0, 4)));
  return made;
}

async function take(from: GPUBuffer, into: Float32Array<ArrayBuffer>): Promise<void> {
  await from.mapAsync(READ, 0, into.byteLength);
  into.set(new Float32Array(from.getMappedRange(0, into.byteLength)));
  from.unmap();
}

interface Made {
  /** Milliseconds of one go. */
  run(): Promise<number>;
}

/** Everything is on the GPU; one launch, and its end. */
function fits(bytes: number): Made {
  const pipeline = pipelineOf(SAXPY);
  const group = bound(pipeline, [buffer(bytes, STORAGE), buffer(bytes, STORAGE)]);
  return {
    run: async () => {
      const started = performance.now();
      const encoder = device.createCommandEncoder();
      dispatch(encoder, pipeline, group, bytes / 4);
      queue.submit([encoder.finish()]);
      await queue.onSubmittedWorkDone();
      return performance.now() - started;
    },
  };
}

/** Launches over what is on the GPU, each handed over by itself, and one wait for them all. */
function launches(bytes: number): Made {
  const pipeline = pipelineOf(SAXPY);
  const group = bound(pipeline, [buffer(bytes, STORAGE), buffer(bytes, STORAGE)]);
  return {
    run: async () => {
      const started = performance.now();
      for (let count = 0; count < LAUNCHES; count++) {
        const encoder = device.createCommandEncoder();
        dispatch(encoder, pipeline, group, bytes / 4);
        queue.submit([encoder.finish()]);
      }
      await queue.onSubmittedWorkDone();
      return performance.now() - started;
    },
  };
}

/** Chunks through two sets of buffers: while one is read back, the other one works. */
function stream(bytes: number, memory: number): Made {
  const chunk = memory / 4;
  const pipeline = pipelineOf(SAXPY);
  const sets = [0, 1].map(() => {
    const [x, y] = [buffer(chunk, STORAGE), buffer(chunk, STORAGE)];
    return {
      x,
      y,
      back: buffer(chunk, Usage.MAP_READ | Usage.COPY_DST),
      group: bound(pipeline, [x, y]),
    };
  });
  const x = new Float32Array(bytes / 4).fill(1);
  const y = new Float32Array(bytes / 4).fill(2);
  return {
    run: async () => {
      const started = performance.now();
      const pending: Promise<void>[] = [];
      for (let at = 0, turn = 0; at < x.length; at += chunk / 4, turn++) {
        const set = sets[turn % 2];
        await pending[turn - 2];
        const end = Math.min(x.length, at + chunk / 4);
        queue.writeBuffer(set.x, 0, x, at, end - at);
        queue.writeBuffer(set.y, 0, y, at, end - at);
        const encoder = device.createCommandEncoder();
        dispatch(encoder, pipeline, set.group, end - at);
        encoder.copyBufferToBuffer(set.y, 0, set.back, 0, 4 * (end - at));
        queue.submit([encoder.finish()]);
        pending.push(take(set.back, y.subarray(at, end)));
      }
      await Promise.all(pending);
      return performance.now() - started;
    },
  };
}

/** One array comes home, through one staging buffer that is used again. */
function home(bytes: number): Made {
  const piece = Math.min(bytes, 2 ** 21);
  const [from, back] = [buffer(bytes, STORAGE), buffer(piece, Usage.MAP_READ | Usage.COPY_DST)];
  const into = new Float32Array(bytes / 4);
  return {
    run: async () => {
      const started = performance.now();
      for (let at = 0; at < bytes; at += piece) {
        const encoder = device.createCommandEncoder();
        encoder.copyBufferToBuffer(from, at, back, 0, piece);
        queue.submit([encoder.finish()]);
        await take(back, into.subarray(at / 4, (at + piece) / 4));
      }
      return performance.now() - started;
    },
  };
}

/** Rows in chunks through two buffers; scores stay on the GPU until the end. */
function search(bytes: number, memory: number): Made {
  const { source, columns, queries } = SEARCH;
  const rows = bytes / 4 / columns;
  const chunkRows = Math.floor(memory / 2 / (4 * columns));
  const pipeline = pipelineOf(source);
  const vectors = new Float32Array(bytes / 4).fill(0.5);
  const asked = buffer(4 * queries * columns, STORAGE);
  queue.writeBuffer(asked, 0, new Float32Array(queries * columns).fill(1));
  const sets = [0, 1].map(() => {
    const [part, scores] = [
      buffer(4 * chunkRows * columns, STORAGE),
      buffer(4 * chunkRows * queries, STORAGE),
    ];
    const shape = uniform(chunkRows, columns, queries);
    return { part, scores, shape, group: bound(pipeline, [part, asked, scores, shape]) };
  });
  const scoreBytes = 4 * rows * queries;
  const [all, back] = [
    buffer(scoreBytes, STORAGE),
    buffer(scoreBytes, Usage.MAP_READ | Usage.COPY_DST),
  ];
  const into = new Float32Array(rows * queries);
  return {
    run: async () => {
      const started = performance.now();
      for (let row = 0, turn = 0; row < rows; row += chunkRows, turn++) {
        const { part, scores, shape, group } = sets[turn % 2];
        const count = Math.min(chunkRows, rows - row);
        queue.writeBuffer(shape, 0, new Uint32Array([count, columns, queries, 0]));
        queue.writeBuffer(part, 0, vectors, row * columns, count * columns);
        const encoder = device.createCommandEncoder();
        dispatch(encoder, pipeline, group, count);
        encoder.copyBufferToBuffer(scores, 0, all, 4 * row * queries, 4 * count * queries);
        queue.submit([encoder.finish()]);
      }
      const encoder = device.createCommandEncoder();
      encoder.copyBufferToBuffer(all, 0, back, 0, scoreBytes);
      queue.submit([encoder.finish()]);
      await take(back, into);
      const elapsed = performance.now() - started;
      if (into.some((score) => score !== columns / 2)) throw new Error('scores that are wrong');
      return elapsed;
    },
  };
}

/**
 * The host packs the rows that a chunk names into one buffer, of which there are two; what comes of
 * them is read back.
 */
function gather(bytes: number, memory: number, share: number): Made {
  const { source, width } = LOOKUP;
  const rowBytes = 4 * width;
  const rows = bytes / rowBytes;
  const ids = idsOf(Math.ceil(rows * share), rows);
  const chunkRows = Math.min(ids.length, Math.floor(memory / 4 / rowBytes));
  const pipeline = pipelineOf(source);
  const table = Float32Array.from({ length: bytes / 4 }, (_, i) => i % 4093);
  const into = new Float32Array(ids.length * width);
  const sets = [0, 1].map(() => {
    const [part, order, out] = [
      buffer(chunkRows * rowBytes, STORAGE),
      buffer(4 * chunkRows, STORAGE),
      buffer(chunkRows * rowBytes, STORAGE),
    ];
    queue.writeBuffer(
      order,
      0,
      Uint32Array.from({ length: chunkRows }, (_, i) => i),
    );
    return {
      part,
      out,
      back: buffer(chunkRows * rowBytes, Usage.MAP_READ | Usage.COPY_DST),
      group: bound(pipeline, [part, order, out]),
      packed: new Float32Array(chunkRows * width),
    };
  });
  return {
    run: async () => {
      const started = performance.now();
      const pending: Promise<void>[] = [];
      for (let row = 0, turn = 0; row < ids.length; row += chunkRows, turn++) {
        const { part, out, back, group, packed } = sets[turn % 2];
        await pending[turn - 2];
        const count = Math.min(chunkRows, ids.length - row);
        for (let at = 0; at < count; at++) {
          const first = ids[row + at] * width;
          packed.set(table.subarray(first, first + width), at * width);
        }
        queue.writeBuffer(part, 0, packed, 0, count * width);
        const encoder = device.createCommandEncoder();
        dispatch(encoder, pipeline, group, count * width);
        encoder.copyBufferToBuffer(out, 0, back, 0, count * rowBytes);
        queue.submit([encoder.finish()]);
        pending.push(take(back, into.subarray(row * width, (row + count) * width)));
      }
      await Promise.all(pending);
      const elapsed = performance.now() - started;
      const last = ids[ids.length - 1] * width + width - 1;
      if (into[into.length - 1] !== 2 * (last % 4093)) throw new Error('rows that are wrong');
      return elapsed;
    },
  };
}

const made = new Map<string, Made>();

process.on('message', ({ task, bytes, memory }: HandTask) => {
  let found = made.get(task);
  if (found === undefined) {
    const makers = {
      fits,
      launches,
      stream,
      home,
      search,
      'gather/1%': () => gather(bytes, memory, 0.01),
      'gather/100%': () => gather(bytes, memory, 1),
    };
    found = makers[task](bytes, memory);
    made.set(task, found);
  }
  found.run().then((milliseconds) => process.send?.(milliseconds));
});
process.on('disconnect', () => {
  device.destroy();
  process.exit(0);
});
process.send?.('ready');
