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

/**
 * Functions by their names without `wgpu`, with what they give and take: `v` nothing, `s` 32 bits,
 * `n` an address, a handle or a size.
 */
const FUNCTIONS = {
  createInstance: 'n(n)',
  // It has its capabilities in the description of an instance, as later versions do not.
  getInstanceCapabilities: 's(n)',
  instanceWaitAny: 's(nnnn)',
  adapterGetInfo: 's(nn)',
  adapterGetLimits: 's(nn)',
  adapterHasFeature: 's(ns)',
  deviceGetLimits: 's(nn)',
  deviceGetQueue: 'n(n)',
  deviceGetLostFuture: 'n(n)',
  deviceDestroy: 'v(n)',
  deviceCreateBuffer: 'n(nn)',
  deviceCreateShaderModule: 'n(nn)',
  deviceCreateBindGroupLayout: 'n(nn)',
  deviceCreateBindGroup: 'n(nn)',
  deviceCreatePipelineLayout: 'n(nn)',
  deviceCreateComputePipeline: 'n(nn)',
  deviceCreateQuerySet: 'n(nn)',
  deviceCreateCommandEncoder: 'n(nn)',
  commandEncoderClearBuffer: 'v(nnnn)',
  commandEncoderCopyBufferToBuffer: 'v(nnnnnn)',
  commandEncoderResolveQuerySet: 'v(nnssnn)',
  commandEncoderBeginComputePass: 'n(nn)',
  commandEncoderFinish: 'n(nn)',
  computePassEncoderSetPipeline: 'v(nn)',
  computePassEncoderSetBindGroup: 'v(nsnnn)',
  computePassEncoderDispatchWorkgroups: 'v(nsss)',
  computePassEncoderEnd: 'v(n)',
  queueSubmit: 'v(nnn)',
  queueWriteBuffer: 'v(nnnnn)',
  bufferGetConstMappedRange: 'n(nnn)',
  bufferGetMappedRange: 'n(nnn)',
  bufferUnmap: 'v(n)',
  bufferDestroy: 'v(n)',
  querySetDestroy: 'v(n)',
  bufferRelease: 'v(n)',
  querySetRelease: 'v(n)',
  bindGroupRelease: 'v(n)',
  bindGroupLayoutRelease: 'v(n)',
  pipelineLayoutRelease: 'v(n)',
  shaderModuleRelease: 'v(n)',
  computePipelineRelease: 'v(n)',
  computePassEncoderRelease: 'v(n)',
  commandEncoderRelease: 'v(n)',
  commandBufferRelease: 'v(n)',
} as const;

/** The same of those that give a future; how it is asked for is their last argument. */
const FUTURES = {
  instanceRequestAdapter: 'nn',
  adapterRequestDevice: 'nn',
  shaderModuleGetCompilationInfo: 'n',
  queueOnSubmittedWorkDone: 'n',
  bufferMapAsync: 'nnnn',
} as const;

const TYPES = { v: 'void', s: 'uint32_t', n: 'uint64_t' } as const;
type Letter = keyof typeof TYPES;

type Numbers<S extends string> = S extends `${string}${infer Rest}`
  ? [number, ...Numbers<Rest>]
  : [];
type Functions = {
  [K in keyof typeof FUNCTIONS]: (typeof FUNCTIONS)[K] extends `${string}(${infer A})`
    ? (...args: Numbers<A>) => number
    : never;
};
type Futures = {
  [K in keyof typeof FUTURES]: (...args: [...Numbers<(typeof FUTURES)[K]>, CallbackInfo]) => number;
};
/** One of the functions, with memory of a typed array in place of an address. */
interface Written {
  queueWriteBufferOf(
    queue: number,
    buffer: number,
    offset: number,
    data: Uint8Array,
    bytes: number,
  ): void;
}
export type Dawn = Functions & Futures & Written;

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
export function loadDawn(path: string): Dawn {
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
  const declare = (result: Letter, key: string, args: readonly string[]) => {
    const name = `wgpu${key.charAt(0).toUpperCase()}${key.slice(1)}`;
    if (!library.has(name))
      throw new Error(
        `${path} has no function ${name}: it is not the version of Dawn that is known; ${REMEDY}`,
      );
    const list = args.map((type, index) => `${type} a${index}`).join(', ');
    return library.declare(`${TYPES[result]} ${name}(${list})`);
  };
  const typesOf = (letters: string) => Array.from(letters, (each) => TYPES[each as Letter]);
  const dawn: Record<string, unknown> = {};
  for (const [key, signature] of Object.entries(FUNCTIONS)) {
    const [result, letters] = signature.slice(0, -1).split('(');
    dawn[key] = declare(result as Letter, key, typesOf(letters));
  }
  for (const [key, letters] of Object.entries(FUTURES))
    dawn[key] = declare('n', key, [...typesOf(letters), 'WGPUCallbackInfo']);
  const written = [...typesOf('nnn'), 'const void *', ...typesOf('n')];
  dawn.queueWriteBufferOf = declare('v', 'queueWriteBuffer', written);
  return dawn as unknown as Dawn;
}
