/**
 * Launches of the shapes that public code has, with a quarter of the memory that their arrays
 * need, beside plain WebGPU with all of it: data goes to the GPU, and the result comes home.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { f32, kernel, type ManagedArray, openSpace, u32 } from '../src/index.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { checksum, SHAPE_TASKS, type ShapeLaunch } from './shape-tasks.js';

const NAME = 'webgpu-shapes';

type Arrays = Record<string, ManagedArray<Float32Array> | ManagedArray<Uint32Array>>;

async function measured(settings: Settings, task: string): Promise<number | null> {
  const { memoryMib, arrays, launches, result } = SHAPE_TASKS[task];
  const child = fork(fileURLToPath(new URL('./hand-shapes.js', import.meta.url)));
  await once(child, 'message');
  await using space = await openSpace({
    devices: [{ kind: 'webgpu', memory: `${memoryMib}MiB` }],
  });
  const [device] = space.devices;
  const data = arrays();
  const own: Arrays = {};
  let bytes = 0;
  for (const [name, content] of Object.entries(data)) {
    own[name] =
      content instanceof Float32Array
        ? space.array(Float32Array, content.length)
        : space.array(Uint32Array, content.length);
    bytes += content.byteLength;
  }
  const kernels = launches.map((each) => kernelOf(each, own));
  const back = data[result].slice();
  /** All runs of it leave the same. */
  const [, expected] = await plain(child, task);
  const stats = () => device.stats();
  const line = await compare(settings, {
    name: `${NAME}/${task}`,
    unit: 'ms',
    better: 'lower',
    ours: async () => {
      for (const [name, content] of Object.entries(data)) own[name].data.set(content);
      const started = performance.now();
      using stream = device.stream();
      for (const [at, { workgroups, numbers }] of launches.entries())
        stream.launch(kernels[at].kernel, { ...kernels[at].given, ...numbers }, { workgroups });
      await stream.synchronize();
      back.set(own[result].data);
      const elapsed = performance.now() - started;
      verify(checksum(back) === expected, task);
      return elapsed;
    },
    references: { 'plain WebGPU': async () => (await plain(child, task))[0] },
    warmUp: 0,
    extra: () => ({
      bytes,
      memory: memoryMib * 2 ** 20,
      parts: stats().launchParts,
      rounds: stats().launchRounds,
      planned: stats().plannedRounds,
    }),
  });
  child.disconnect();
  return line?.ratio ?? null;
}

function kernelOf({ source, numbers }: ShapeLaunch, own: Arrays) {
  const variables = [...source.matchAll(/var<storage, (\w+)> (\w+): array<(\w+)>/g)];
  const parameters = Object.fromEntries([
    ...variables.map(([, access, name, type]) => {
      const element = type === 'f32' ? f32 : u32;
      return [name, access === 'read' ? element.in : element.inout];
    }),
    ...Object.keys(numbers).map((name) => [name, u32]),
  ]);
  const given = Object.fromEntries(variables.map(([, , name]) => [name, own[name]]));
  return { kernel: kernel(parameters, { wgsl: source }), given };
}

async function plain(child: ChildProcess, task: string): Promise<[number, number]> {
  const answered = once(child, 'message');
  child.send(task);
  return ((await answered) as [[number, number]])[0];
}

export const shapesBench: Bench = {
  name: NAME,
  what: 'ms of launches with a quarter of the memory of their arrays, from data on the host to its result; beside plain WebGPU with all of it',
  async run(settings) {
    const ratios: number[] = [];
    for (const task of Object.keys(SHAPE_TASKS)) {
      if (!settings.wants(`${NAME}/${task}`)) continue;
      const ratio = await measured(settings, task);
      if (ratio !== null) ratios.push(ratio);
    }
    if (ratios.length < 2) return;
    const mean = Math.exp(ratios.reduce((sum, each) => sum + Math.log(each), 0) / ratios.length);
    settings.report({
      name: `${NAME}/mean`,
      ours: Number(mean.toFixed(2)),
      reference: null,
      ratio: null,
      unit: 'x',
      runs: settings.runs,
      spread: 0,
    });
  },
};
