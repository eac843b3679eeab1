/**
 * Launches on a GPU beside the same by plain WebGPU (hand-gpu.ts): where everything fits, where
 * data streams through, pages that come home by faults of the CPU, a search, and rows by id.
 * Figures of a GPU in software say nothing about GPUs.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type AddressSpace, f32, kernel, openSpace, u32 } from '../src/index.js';
import { idsOf, LAUNCHES, LOOKUP, SAXPY, SEARCH } from './gpu-kernels.js';
import type { HandTask } from './hand-gpu.js';
import { type Bench, compare, type Settings, verify } from './harness.js';

const MIB = 2 ** 20;
/** What streams is so many times as large as the memory that it streams through. */
const TIMES = 4;

/**
 * Runs of each side before those that count: a launch in a program that does many is meant, and
 * what they do first is compiled after some hundred calls.
 */
const COMPILED_AFTER = 100;

const saxpy = kernel({ x: f32.in, y: f32.inout }, { wgsl: SAXPY }, { name: 'saxpy' });
const lookup = kernel(
  { table: f32.in, ids: u32.in, rows: f32.out },
  { wgsl: LOOKUP.source },
  { name: 'lookup' },
);
const search = kernel(
  { vectors: f32.in, asked: f32.in, scores: f32.out, rows: u32, columns: u32, queries: u32 },
  { wgsl: SEARCH.source },
  { name: 'search' },
);

class Hand {
  private constructor(private readonly child: ChildProcess) {}

  static async start(): Promise<Hand> {
    const child = fork(fileURLToPath(new URL('./hand-gpu.js', import.meta.url)));
    await once(child, 'message');
    return new Hand(child);
  }

  async run(task: HandTask): Promise<number> {
    const answered = once(this.child, 'message');
    this.child.send(task);
    const [milliseconds] = (await answered) as [number];
    return milliseconds;
  }

  [Symbol.dispose](): void {
    this.child.disconnect();
  }
}

interface Measure {
  readonly task: HandTask['task'];
  readonly bytes: number;
  readonly memory: number;
  readonly unit: string;
  readonly better: 'lower' | 'higher';
  /** What is reported for so many milliseconds. */
  figure(milliseconds: number): number;
  /** Prepares, and returns what is measured. */
  ours(space: AddressSpace): Promise<() => Promise<number>>;
}

async function measured(
  settings: Settings,
  { task, bytes, memory, unit, better, figure, ours }: Measure,
): Promise<void> {
  using hand = await Hand.start();
  await using space = await openSpace({ devices: [{ kind: 'webgpu', memory }] });
  const run = await ours(space);
  await compare(settings, {
    name: `webgpu-${task}`,
    unit,
    better,
    warmUp: 1,
    compiledAfter: COMPILED_AFTER,
    compilesReferences: true,
    ours: async () => figure(await run()),
    references: { 'plain WebGPU': async () => figure(await hand.run({ task, bytes, memory })) },
    extra: { bytes, memory },
  });
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const started = performance.now();
  await action();
  return performance.now() - started;
}

function ramp(space: AddressSpace, bytes: number, value: number) {
  const array = space.array(Float32Array, bytes / 4);
  array.data.fill(value);
  return array;
}

/**
 * Goes of saxpy over two arrays, where the second one is 0 first; the CPU looks at the result at
 * the end of each.
 */
async function saxpyOver(space: AddressSpace, bytes: number): Promise<() => Promise<number>> {
  const [x, y] = [ramp(space, bytes, 1), ramp(space, bytes, 0)];
  let times = 0;
  return async () => {
    const elapsed = await timed(() => space.devices[0].run(saxpy, { x, y }, { size: x.length }));
    times++;
    verify(
      y.data[y.length - 1] === 3 * times,
      `the last element is ${y.data[y.length - 1]} after ${times} launches`,
    );
    return elapsed;
  };
}

export const gpuFits: Bench = {
  name: 'webgpu-fits',
  what: 'ms of a launch over what is on the GPU already; beside plain WebGPU',
  run: (settings) =>
    measured(settings, {
      task: 'fits',
      bytes: settings.gpuMemory / 2,
      memory: 2 * settings.gpuMemory,
      unit: 'ms',
      better: 'lower',
      figure: (ms) => ms,
      ours: async (space) => {
        const bytes = settings.gpuMemory / 2;
        const [x, y] = [ramp(space, bytes, 1), ramp(space, bytes, 0)];
        return () => timed(() => space.devices[0].run(saxpy, { x, y }, { size: x.length }));
      },
    }),
};

/** Little, so that it is launches that are measured. */
const LAUNCH_BYTES = 4096;

export const gpuLaunches: Bench = {
  name: 'webgpu-launches',
  what: 'us of a launch over 4 KiB, of a hundred in a stream that are waited for together; beside plain WebGPU',
  run: (settings) =>
    measured(settings, {
      task: 'launches',
      bytes: LAUNCH_BYTES,
      memory: 16 * MIB,
      unit: 'us',
      better: 'lower',
      figure: (ms) => (1000 * ms) / LAUNCHES,
      ours: async (space) => {
        const [x, y] = [ramp(space, LAUNCH_BYTES, 1), ramp(space, LAUNCH_BYTES, 0)];
        const stream = space.devices[0].stream();
        return () =>
          timed(async () => {
            for (let count = 0; count < LAUNCHES; count++)
              stream.launch(saxpy, { x, y }, { size: x.length });
            await stream.synchronize();
          });
      },
    }),
};

export const gpuStream: Bench = {
  name: 'webgpu-stream',
  what: 'ms of saxpy over two arrays that are together eight times the memory; beside plain WebGPU in chunks through two sets of buffers',
  run: (settings) =>
    measured(settings, {
      task: 'stream',
      bytes: TIMES * settings.gpuMemory,
      memory: settings.gpuMemory,
      unit: 'ms',
      better: 'lower',
      figure: (ms) => ms,
      ours: (space) => saxpyOver(space, TIMES * settings.gpuMemory),
    }),
};

export const gpuHome: Bench = {
  name: 'webgpu-home',
  what: 'MiB/s of pages that the CPU touches after a kernel has written them; beside plain WebGPU through one staging buffer',
  run: (settings) =>
    measured(settings, {
      task: 'home',
      bytes: settings.gpuMemory,
      memory: 4 * settings.gpuMemory,
      unit: 'MiB/s',
      better: 'higher',
      figure: (ms) => settings.gpuMemory / MIB / (ms / 1000),
      ours: async (space) => {
        const [x, y] = [ramp(space, settings.gpuMemory, 1), ramp(space, settings.gpuMemory, 0)];
        let times = 0;
        return async () => {
          await space.devices[0].run(saxpy, { x, y }, { size: x.length });
          times++;
          return timed(async () => {
            const { data } = y;
            let sum = 0;
            for (let at = 0; at < data.length; at += 1024) sum += data[at];
            verify(sum === 3 * times * (data.length / 1024), `the sum is ${sum}`);
          });
        };
      },
    }),
};

export const gpuSearch: Bench = {
  name: 'webgpu-search',
  what: 'ms of a search among embeddings that are four times the memory; beside plain WebGPU in chunks through two buffers',
  run: (settings) =>
    measured(settings, {
      task: 'search',
      bytes: TIMES * settings.gpuMemory,
      memory: settings.gpuMemory,
      unit: 'ms',
      better: 'lower',
      figure: (ms) => ms,
      ours: async (space) => {
        const { columns, queries } = SEARCH;
        const bytes = TIMES * settings.gpuMemory;
        const rows = bytes / 4 / columns;
        const vectors = ramp(space, bytes, 0.5);
        const asked = ramp(space, 4 * queries * columns, 1);
        const scores = ramp(space, 4 * rows * queries, 0);
        const args = { vectors, asked, scores, rows, columns, queries };
        return async () => {
          const elapsed = await timed(async () => {
            await space.devices[0].run(search, args, { size: rows });
            // They come home, as by hand.
            scores.data.at(-1);
          });
          const { data } = scores;
          for (let at = 0; at < data.length; at++)
            verify(data[at] === columns / 2, `score ${at} is ${data[at]}`);
          return elapsed;
        };
      },
    }),
};

/**
 * Rows of 4 KiB by id, of a table that is four times the memory: so much of it. The rows come home,
 * as by hand.
 */
function gather(settings: Settings, task: HandTask['task'], share: number): Promise<void> {
  const { width } = LOOKUP;
  const bytes = TIMES * settings.gpuMemory;
  const tableRows = bytes / 4 / width;
  const ids = idsOf(Math.ceil(tableRows * share), tableRows);
  return measured(settings, {
    task,
    bytes,
    memory: settings.gpuMemory,
    unit: 'ms',
    better: 'lower',
    figure: (ms) => ms,
    ours: async (space) => {
      const [gpu] = space.devices;
      const table = space.array(Float32Array, bytes / 4);
      for (let at = 0; at < table.length; at++) table.data[at] = at % 4093;
      const order = space.array(Uint32Array, ids.length);
      order.data.set(ids);
      const rows = space.array(Float32Array, ids.length * width);
      return async () => {
        let sum = 0;
        const elapsed = await timed(async () => {
          await gpu.run(lookup, { table, ids: order, rows }, { size: rows.length });
          for (let at = 0; at < rows.length; at += width) sum += rows.data[at];
        });
        verify(
          sum === ids.reduce((all, id) => all + 2 * ((id * width) % 4093), 0),
          `the sum is ${sum}`,
        );
        return elapsed;
      };
    },
  });
}

export const gpuGather: Bench = {
  name: 'webgpu-gather',
  what: 'ms of rows of 4 KiB by id, of a table that is four times the memory: 1% of them, and all; beside plain WebGPU where the host packs them',
  run: async (settings) => {
    if (settings.wants('webgpu-gather/1%')) await gather(settings, 'gather/1%', 0.01);
    if (settings.wants('webgpu-gather/100%')) await gather(settings, 'gather/100%', 1);
  },
};
