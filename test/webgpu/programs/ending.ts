/**
 * A program that ends with launches on a GPU pending: `ending.js HOW`, `return`, `exit`, `throw` or
 * `worker`. It says `engine PID` first.
 */
import { writeSync } from 'node:fs';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { kernel, openSpace, u32 } from '../../../src/index.js';

const how: string = isMainThread ? process.argv[2] : (workerData as string);

const count = kernel(
  { data: u32.inout },
  {
    wgsl: `@group(0) @binding(0) var<storage, read_write> data: array<u32>;
      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { data[id.x] += 1u; }`,
  },
);

async function launchMany(): Promise<void> {
  const space = await openSpace({ devices: [{ kind: 'webgpu', memory: '8MiB' }] });
  const [gpu] = space.devices;
  writeSync(1, `engine ${gpu.pid}\n`);
  const data = space.array(Uint32Array, 64 * 1024);
  const stream = gpu.stream();
  for (let time = 0; time < 100; time++) stream.launch(count, { data }, { size: data.length });
}

if (isMainThread && how === 'worker') {
  const worker = new Worker(new URL(import.meta.url), { workerData: how });
  worker.once('message', () => void worker.terminate());
} else {
  await launchMany();
  if (how === 'exit') process.exit(0);
  if (how === 'throw') throw new Error('meant to end the program');
  if (how === 'worker') {
    const { parentPort } = await import('node:worker_threads');
    parentPort?.postMessage('launched');
  }
}
