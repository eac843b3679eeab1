/**
 * Asks a library whether the numbers and structures of layouts.ts are its own: by what it accepts
 * and refuses, and by the names that stand in its messages. For libraries that the user names,
 * since with others than it was written for a table leads to crashes or wrong answers; and for the
 * tests of the table.
 */

import { type Dispatch, WANTED_LIMITS } from '../../link/protocol.js';
import { TIMESTAMPS } from '../gpu-clock.js';
import { GpuTransport } from '../gpu-transport.js';
import { WANTED_FEATURES } from '../wanted.js';
import { DawnGpu, MAPS_HOST } from './dawn-gpu.js';
import { hostBufferProblem } from './host-buffer.js';
import {
  BufferDescriptor,
  BufferUsage,
  ErrorType,
  FakeMemoryError,
  MapMode,
  QuerySetDescriptor,
  QueryType,
  Status,
  StructureType,
} from './layouts.js';
import type { Dawn } from './library.js';
import { NativeGpu } from './native-gpu.js';
import { compile } from './pipelines.js';

/** The least that every GPU has, by the standard; what is asked for is at least that. */
const LEAST: Readonly<Record<(typeof WANTED_LIMITS)[number], number>> = {
  maxBufferSize: 2 ** 28,
  maxStorageBufferBindingSize: 2 ** 27,
  maxUniformBufferBindingSize: 2 ** 16,
  maxStorageBuffersPerShaderStage: 8,
  maxUniformBuffersPerShaderStage: 12,
  maxBindGroups: 4,
  maxBindingsPerBindGroup: 1000,
  maxComputeWorkgroupsPerDimension: 65_535,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupStorageSize: 2 ** 14,
  maxComputeWorkgroupSizeX: 256,
  maxComputeWorkgroupSizeY: 256,
  maxComputeWorkgroupSizeZ: 64,
};
const WAIT_NANOSECONDS = 1e9;

const KERNEL = `override factor: f32;
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(1) @binding(2) var<uniform> n: u32;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) { y[id.x] = factor * x[id.x] + f32(n); }`;
/** Where Dawn finds the mistake of a sum of two types: where that begins, in columns from 1 on. */
const SUM = KERNEL.slice(KERNEL.lastIndexOf('\n')).indexOf('factor');
const ORDER: Dispatch = {
  launch: 0,
  module: 0,
  entryPoint: 'main',
  constants: { factor: 2 },
  asides: [],
  zeros: [],
  bound: [
    { group: 0, binding: 0, kind: 'buffer', writable: false, part: [1, 0, 16] },
    { group: 0, binding: 1, kind: 'buffer', writable: true, part: [2, 0, 16] },
    { group: 1, binding: 2, kind: 'uniform', bytes: 'BQAAAA==' },
  ],
  workgroups: [4, 1, 1],
};

/** What does not fit; nothing: the table is the library's. */
export async function mistakesOf(dawn: Dawn): Promise<string[]> {
  const mistakes: string[] = [];
  const hold = (what: string, isSo: boolean, said: unknown = ''): void => {
    if (!isSo) mistakes.push(`${what}${said === '' ? '' : `: ${said}`}`);
  };
  const bare = new DawnGpu(dawn);
  hold('it finds no GPU', bare.adapter !== 0);
  if (mistakes.length > 0) return mistakes;
  const limits = bare.limits();
  for (const name of WANTED_LIMITS)
    hold(`${name} is at least ${LEAST[name]}`, limits[name] >= LEAST[name], limits[name]);
  for (const name of WANTED_FEATURES) {
    if (bare.has(name)) continue;
    const message = refusal(() => bare.open({}, [name], []));
    hold(`feature ${name}`, message?.includes(`FeatureName::${pascal(name)} `) === true, message);
  }
  const wrongLimits = { maxBufferSize: 2 * limits.maxBufferSize };
  const excess = refusal(() => bare.open(wrongLimits, [], []));
  hold('limits that are required', excess?.includes(`(${limits.maxBufferSize})`) === true, excess);
  bare.open({}, [], []);
  const full = new DawnGpu(dawn);
  const features = WANTED_FEATURES.filter((name) => full.has(name));
  const mapsHost = full.has(MAPS_HOST);
  full.open({}, mapsHost ? [...features, MAPS_HOST] : features, []);
  for (const name of features) {
    hold(`feature ${name} is wanted`, useOf(bare, name) !== null);
    hold(`feature ${name} is given`, useOf(full, name) === null, useOf(full, name));
  }
  if (mapsHost)
    hold(
      `feature ${MAPS_HOST} is given`,
      hostBufferProblem(full) === null,
      hostBufferProblem(full),
    );
  structures(bare, hold);
  usages(bare, hold);
  maps(bare, hold);
  kernels(bare, hold);
  hold('a launch', (await launchedOn(full)) === '7 8 9 10');
  hold('the device is there', bare.lost() === null);
  bare.dawn.deviceDestroy(bare.device);
  hold('the device is lost', bare.lost() !== null);
  full.dawn.deviceDestroy(full.device);
  return mistakes;
}

type Hold = (what: string, isSo: boolean, said?: unknown) => void;

function structures(gpu: DawnGpu, hold: Hold): void {
  for (const [name, number] of Object.entries(StructureType)) {
    if (number === StructureType.DawnFakeBufferOOMForTesting) continue;
    const message = bufferError(gpu, BufferUsage.CopyDst, 16, { sType: number })?.message;
    hold(`structure type ${name}`, message?.includes(`SType::${name} `) === true, message);
  }
  const sType = StructureType.DawnFakeBufferOOMForTesting;
  const error = bufferError(gpu, BufferUsage.CopyDst, 16, { sType, fakeOOMAtDevice: 1 });
  hold(
    'the number of errors for want of memory',
    error?.type === ErrorType.OutOfMemory,
    error?.message,
  );
}

function usages(gpu: DawnGpu, hold: Hold): void {
  for (const [name, usage] of Object.entries(BufferUsage)) {
    // Nothing but one kind of copies goes with a buffer that is mapped.
    const other =
      usage === BufferUsage.MapRead || usage === BufferUsage.CopyDst ? 'MapWrite' : 'MapRead';
    const error = bufferError(gpu, usage | BufferUsage[other], 16);
    const named = new RegExp(`BufferUsage::\\((\\w+\\|)*${name}(\\|\\w+)*\\)`);
    hold(`usage ${name} of buffers`, error !== null && named.test(error.message), error?.message);
    hold('the number of errors of validation', error?.type === ErrorType.Validation, error?.type);
  }
  const { maxBufferSize } = gpu.limits();
  const message = bufferError(gpu, BufferUsage.CopyDst, 2 * maxBufferSize)?.message;
  hold('maxBufferSize', message?.includes(`size limit (${maxBufferSize})`) === true, message);
}

function maps(gpu: DawnGpu, hold: Hold): void {
  const { arena, dawn, futures } = gpu;
  for (const [usage, mode] of [
    [BufferUsage.MapRead, MapMode.Read],
    [BufferUsage.MapWrite, MapMode.Write],
  ]) {
    const buffer = dawn.deviceCreateBuffer(
      gpu.device,
      arena.put(BufferDescriptor, { usage, size: 16 }),
    );
    const mapped = futures.now(futures.kinds.said, (info) =>
      dawn.bufferMapAsync(buffer, mode, 0, 16, info),
    );
    hold(`map mode ${mode}`, mapped.status === Status.Success, mapped.message);
    const other = futures.now(futures.kinds.said, (info) =>
      dawn.bufferMapAsync(buffer, mode, 0, 16, info),
    );
    hold(
      'a buffer is mapped twice',
      other.status !== Status.Success && other.message.includes('mapped'),
      other.message,
    );
    gpu.takeProblem();
  }
  const done = futures.now(futures.kinds.said, (info) =>
    dawn.queueOnSubmittedWorkDone(gpu.queue, info),
  );
  hold('work is done', done.status === Status.Success, done.message);
  arena.reset();
}

function kernels(gpu: DawnGpu, hold: Hold): void {
  const right = compile(gpu, ORDER, KERNEL);
  hold('a kernel', !('failure' in right), 'failure' in right ? right.failure.message : '');
  const swapped = ORDER.bound.map((each) =>
    'writable' in each ? { ...each, writable: !each.writable } : each,
  );
  hold('types of bindings', 'failure' in compile(gpu, { ...ORDER, bound: swapped }, KERNEL));
  hold('constants', 'failure' in compile(gpu, { ...ORDER, constants: {} }, KERNEL));
  const wrong = compile(gpu, ORDER, KERNEL.replace('f32(n)', 'n'));
  const message = 'failure' in wrong ? wrong.failure.message : 'none';
  hold('a mistake in a module', message.startsWith(`WGSL, line 5:${SUM}: `), message);
}

/** What the kernel makes of 1 to 2.5, with 5 for n. */
async function launchedOn(gpu: DawnGpu): Promise<string> {
  const native = new NativeGpu(gpu, { measures: gpu.has(TIMESTAMPS), mapsHost: false });
  const facts = { name: '', limits: gpu.limits(), features: [] };
  const transport = new GpuTransport(native, facts, null);
  await transport.create(1, 16);
  await transport.create(2, 16);
  transport.write(1, 0, 16, new Uint8Array(Float32Array.of(1, 1.5, 2, 2.5).buffer), false);
  let found = '';
  const ran = transport.dispatch([{ order: ORDER, source: KERNEL }]).then(async ([{ failure }]) => {
    if (failure !== null) found = failure.message;
    else
      await transport.read(2, 0, 16, (bytes) => {
        found = new Float32Array(bytes.slice().buffer).join(' ');
      });
  });
  let isOver = false;
  const over = ran.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    native.waits.wait(WAIT_NANOSECONDS);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await over;
  transport.release();
  return found;
}

/** What is refused of the use of a feature; null: nothing. */
function useOf(gpu: DawnGpu, name: (typeof WANTED_FEATURES)[number]): string | null {
  const { arena, dawn, device } = gpu;
  if (name === 'timestamp-query') {
    dawn.deviceCreateQuerySet(
      device,
      arena.put(QuerySetDescriptor, { type: QueryType.Timestamp, count: 2 }),
    );
    arena.reset();
    return gpu.takeProblem()?.message ?? null;
  }
  const source = `enable ${name === 'shader-f16' ? 'f16' : name}; @compute @workgroup_size(1) fn main() {}`;
  const found = compile(gpu, { ...ORDER, bound: [], constants: {} }, source);
  return 'failure' in found ? found.failure.message : null;
}

function bufferError(
  gpu: DawnGpu,
  usage: number,
  size: number,
  chained?: { readonly sType: number; readonly fakeOOMAtDevice?: number },
): ReturnType<DawnGpu['takeProblem']> {
  const { arena, dawn, device } = gpu;
  const nextInChain = chained === undefined ? 0 : arena.put(FakeMemoryError, chained);
  dawn.deviceCreateBuffer(device, arena.put(BufferDescriptor, { nextInChain, usage, size }));
  arena.reset();
  return gpu.takeProblem();
}

function refusal(action: () => void): string | null {
  try {
    action();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function pascal(name: string): string {
  return name.replace(/(?:^|-)(\w)/g, (_all, letter: string) => letter.toUpperCase());
}
