/**
 * The shared library with Dawn's C functions: one version of one package, or a file that the user
 * names, which must fit the same table.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { declareStructure, SharedLibrary } from '../../../../linux/base/shared-library.js';

export const PACKAGE = 'bun-webgpu-linux-x64';
export const VERSION = '0.1.7';
const FILE = 'libwebgpu_wrapper.so';
const INSTALL = `npm install ${PACKAGE}@${VERSION}`;
export const REMEDY = `install that version: ${INSTALL}`;

/** How a future is asked for: passed as a value. */
export interface CallbackInfo {
  readonly nextInChain: 0;
  readonly mode: number;
  readonly callback: number;
  userdata1: number;
  readonly userdata2: 0;
}

type Numbers<N extends number, A extends number[] = []> = A['length'] extends N
  ? A
  : Numbers<N, [...A, number]>;
type Call<N extends number> = (...args: Numbers<N>) => number;
/** Its last argument is how the future is asked for; gives the future. */
type Future<N extends number> = (...args: [...Numbers<N>, CallbackInfo]) => number;

/** Where the package's library lies. Throws what is in the way, and the line to install it. */
export function packagedLibrary(): string {
  if (process.arch !== 'x64')
    throw new Error(
      `the package '${PACKAGE}' is for x64, and this is ${process.arch}; use transport 'dawn-node'`,
    );
  const require = createRequire(import.meta.url);
  let description: string;
  try {
    description = require.resolve(`${PACKAGE}/package.json`);
  } catch {
    throw new Error(`the package '${PACKAGE}' is not installed; install it: ${INSTALL}`);
  }
  const { version } = require(description) as { version: unknown };
  if (version !== VERSION)
    throw new Error(
      `version ${version} of the package '${PACKAGE}' is not the one that is known; ${REMEDY}`,
    );
  return join(description, '..', FILE);
}

/** Loads a library and declares what is used, once. Throws where a function is missing. */
export function loadDawn(path: string) {
  let library: SharedLibrary;
  try {
    library = new SharedLibrary(path);
  } catch (error) {
    throw new Error(
      `the library ${path} cannot be loaded here: ${error instanceof Error ? error.message : error}`,
    );
  }
  declareStructure('WGPUStringView', { data: 'uint64_t', length: 'uint64_t' });
  declareStructure('WGPUCallbackInfo', {
    nextInChain: 'uint64_t',
    mode: 'uint32_t',
    callback: 'uint64_t',
    userdata1: 'uint64_t',
    userdata2: 'uint64_t',
  });
  const declare = <F extends (...args: never[]) => unknown>(prototype: string): F => {
    const [, name = ''] = /(wgpu\w+)\(/.exec(prototype) ?? [];
    if (!library.has(name))
      throw new Error(
        `${path} has no function ${name}: it is not the version of Dawn that is known; ${REMEDY}`,
      );
    return library.declare<F>(prototype);
  };
  const number = 'uint64_t';
  /** A function that takes so many addresses, handles and sizes, and gives such a value. */
  const plain = <N extends number>(
    name: string,
    count: N,
    result = 'void',
    types = new Array(count).fill(number),
  ): Call<N> =>
    declare(`${result} ${name}(${types.map((type, index) => `${type} a${index}`).join(', ')})`);
  const future = <N extends number>(name: string, count: N): Future<N> =>
    declare(
      `${number} ${name}(${new Array(count)
        .fill(number)
        .map((type, index) => `${type} a${index}, `)
        .join('')}WGPUCallbackInfo info)`,
    );
  const status = 'uint32_t';
  return {
    createInstance: plain('wgpuCreateInstance', 1, number),
    // It has its capabilities in the description of an instance, as later versions do not.
    getInstanceCapabilities: plain('wgpuGetInstanceCapabilities', 1, status),
    instanceRequestAdapter: future('wgpuInstanceRequestAdapter', 2),
    instanceWaitAny: plain('wgpuInstanceWaitAny', 4, status),
    adapterGetInfo: plain('wgpuAdapterGetInfo', 2, status),
    adapterGetLimits: plain('wgpuAdapterGetLimits', 2, status),
    adapterHasFeature: plain('wgpuAdapterHasFeature', 2, status, [number, status]),
    adapterRequestDevice: future('wgpuAdapterRequestDevice', 2),
    deviceGetLimits: plain('wgpuDeviceGetLimits', 2, status),
    deviceGetQueue: plain('wgpuDeviceGetQueue', 1, number),
    deviceGetLostFuture: plain('wgpuDeviceGetLostFuture', 1, number),
    deviceDestroy: plain('wgpuDeviceDestroy', 1),
    deviceCreateBuffer: plain('wgpuDeviceCreateBuffer', 2, number),
    deviceCreateShaderModule: plain('wgpuDeviceCreateShaderModule', 2, number),
    deviceCreateBindGroupLayout: plain('wgpuDeviceCreateBindGroupLayout', 2, number),
    deviceCreateBindGroup: plain('wgpuDeviceCreateBindGroup', 2, number),
    deviceCreatePipelineLayout: plain('wgpuDeviceCreatePipelineLayout', 2, number),
    deviceCreateComputePipeline: plain('wgpuDeviceCreateComputePipeline', 2, number),
    deviceCreateQuerySet: plain('wgpuDeviceCreateQuerySet', 2, number),
    deviceCreateCommandEncoder: plain('wgpuDeviceCreateCommandEncoder', 2, number),
    shaderModuleGetCompilationInfo: future('wgpuShaderModuleGetCompilationInfo', 1),
    commandEncoderClearBuffer: plain('wgpuCommandEncoderClearBuffer', 4),
    commandEncoderCopyBufferToBuffer: plain('wgpuCommandEncoderCopyBufferToBuffer', 6),
    commandEncoderResolveQuerySet: plain('wgpuCommandEncoderResolveQuerySet', 6, 'void', [
      number,
      number,
      status,
      status,
      number,
      number,
    ]),
    commandEncoderBeginComputePass: plain('wgpuCommandEncoderBeginComputePass', 2, number),
    commandEncoderFinish: plain('wgpuCommandEncoderFinish', 2, number),
    computePassEncoderSetPipeline: plain('wgpuComputePassEncoderSetPipeline', 2),
    computePassEncoderSetBindGroup: plain('wgpuComputePassEncoderSetBindGroup', 5, 'void', [
      number,
      status,
      number,
      number,
      number,
    ]),
    computePassEncoderDispatchWorkgroups: plain(
      'wgpuComputePassEncoderDispatchWorkgroups',
      4,
      'void',
      [number, status, status, status],
    ),
    computePassEncoderEnd: plain('wgpuComputePassEncoderEnd', 1),
    queueSubmit: plain('wgpuQueueSubmit', 3),
    queueWriteBuffer: plain('wgpuQueueWriteBuffer', 5),
    queueWriteBufferOf: declare<
      (queue: number, buffer: number, offset: number, data: Uint8Array, bytes: number) => void
    >(
      'void wgpuQueueWriteBuffer(uint64_t queue, uint64_t buffer, uint64_t offset, const void *data, uint64_t bytes)',
    ),
    queueOnSubmittedWorkDone: future('wgpuQueueOnSubmittedWorkDone', 1),
    bufferMapAsync: future('wgpuBufferMapAsync', 4),
    bufferGetConstMappedRange: plain('wgpuBufferGetConstMappedRange', 3, number),
    bufferGetMappedRange: plain('wgpuBufferGetMappedRange', 3, number),
    bufferUnmap: plain('wgpuBufferUnmap', 1),
    bufferDestroy: plain('wgpuBufferDestroy', 1),
    querySetDestroy: plain('wgpuQuerySetDestroy', 1),
    bufferRelease: plain('wgpuBufferRelease', 1),
    querySetRelease: plain('wgpuQuerySetRelease', 1),
    bindGroupRelease: plain('wgpuBindGroupRelease', 1),
    bindGroupLayoutRelease: plain('wgpuBindGroupLayoutRelease', 1),
    pipelineLayoutRelease: plain('wgpuPipelineLayoutRelease', 1),
    shaderModuleRelease: plain('wgpuShaderModuleRelease', 1),
    computePipelineRelease: plain('wgpuComputePipelineRelease', 1),
    computePassEncoderRelease: plain('wgpuComputePassEncoderRelease', 1),
    commandEncoderRelease: plain('wgpuCommandEncoderRelease', 1),
    commandBufferRelease: plain('wgpuCommandBufferRelease', 1),
  };
}

export type Dawn = ReturnType<typeof loadDawn>;
