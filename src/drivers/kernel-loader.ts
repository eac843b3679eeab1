/** Turns the code of a kernel into a function, once. */

import { compileFunction } from 'node:vm';
import { type AddressView, launchedMemory } from '../core/basics/address-view.js';
import { getOrMake } from '../core/basics/get-or-make.js';
import { RecentMap } from '../core/basics/recent-map.js';
import { missingModule } from '../messages/missing-module.js';
import type { CallableKernel, KernelCode } from './driver.js';

export type KernelFunction = CallableKernel;

/** Programs that put numbers into the text of kernels make thousands, each used once. */
const MOST_KERNELS = 256;

const inline = new RecentMap<string, KernelFunction>(MOST_KERNELS);

const PREFIX = '"use strict"; return (';

/** With name and places for stack traces. `Script` keeps a kilobyte for ever (Node.js 20). */
function compile(source: string): (name: (value: unknown) => unknown) => unknown {
  const options = { filename: 'onemem:kernel', columnOffset: -PREFIX.length };
  return compileFunction(`${PREFIX}${source});`, ['__name'], options) as ReturnType<typeof compile>;
}

/** Compiles a kernel's own text. `__name` is what some TypeScript runners put around functions. */
export function compileKernel(source: string): KernelFunction {
  return getOrMake(inline, source, () => {
    const made = compile(source)((value: unknown) => value);
    if (typeof made !== 'function') throw new TypeError('the source of the kernel is no function');
    return withMemory(made as KernelFunction);
  });
}

export async function loadKernel(code: KernelCode): Promise<KernelFunction> {
  return code.kind === 'inline' ? compileKernel(code.source) : withMemory(await importKernel(code));
}

/** The function as its module has it. */
export async function importKernel(
  code: Extract<KernelCode, { kind: 'module' }>,
): Promise<KernelFunction> {
  const module = await importModule(code.url);
  let value = module[code.exportName];
  // A kernel file may export what `kernel()` returned, or a plain description with the function
  // inside.
  if (typeof value === 'object' && value !== null && 'kernel' in value) value = value.kernel;
  if (typeof value !== 'function') {
    const names = Object.keys(module).join(', ') || 'nothing';
    throw new TypeError(
      `module ${code.url} has no kernel function as export '${code.exportName}'; it exports ${names}`,
    );
  }
  return value as KernelFunction;
}

async function importModule(url: string): Promise<Record<string, unknown>> {
  try {
    return await import(url);
  } catch (error) {
    const missing = missingModule(url, error);
    if (missing !== null)
      throw new TypeError(`its module ${url} cannot be loaded: ${missing}`, { cause: error });
    if ((error as { code?: unknown } | null)?.code !== 'ERR_UNKNOWN_FILE_EXTENSION') throw error;
    // Whatever runs the program may know more kinds of files than Node.js: before version 22, tsx
    // serves no other thread.
    throw new TypeError(
      `this thread of Node.js ${process.versions.node} cannot load ${url}; compile it to JavaScript, or use Node.js 22.18 or newer, which loads ` +
        'TypeScript in every thread, by itself and under tsx',
      { cause: error },
    );
  }
}

/** Hands a kernel that asks for it its third argument; drivers call kernels with two. */
function withMemory(
  kernel: (...args: [...Parameters<KernelFunction>, AddressView]) => unknown,
): KernelFunction {
  if (kernel.length < 3) return kernel as KernelFunction;
  return (values, range) => kernel(values, range, launchedMemory(values));
}
