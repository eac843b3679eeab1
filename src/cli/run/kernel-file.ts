/** Kernels that live in a file of their own, as `onemem run` takes them. */

import { existsSync, readFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { wgslOverrides, wgslParameters, wgslWithoutValue } from '../../api/kernels/wgsl-kernel.js';
import { type Kernel, type KernelParameters, kernel, parseParameter } from '../../index.js';
import { ownFile } from '../../linux/own-files.js';
import type { Override } from '../../wgsl/reading/overrides.js';
import { CommandError, explain } from '../terminal/failure.js';

const EXAMPLE =
  "export default { params: { x: 'f32.in', y: 'f32.inout', alpha: 'f32' }, kernel({ x, y, alpha }, { begin, end }) { ... } }";

/**
 * Loads the default export of a module: what `kernel()` returned, or `{ params, kernel }` with
 * parameters by their short names. The module runs here once for its parameters, and on the device
 * for its function.
 */
export async function loadKernelFile(path: string, wgsl: WgslChoices = {}): Promise<Kernel> {
  const file = resolve(path);
  if (!existsSync(file))
    throw new CommandError('KERNEL_FILE', `${path}: there is no such kernel file`);
  if (isWgslFile(path)) return wgslKernel(path, wgsl);
  const url = pathToFileURL(file);
  let module: { default?: unknown };
  try {
    module = await import(url.href);
  } catch (error) {
    // The place of a syntax error is known to Node's own printer alone.
    const where =
      error instanceof SyntaxError
        ? ` (to see where: node --check ${path})`
        : (error as { code?: unknown } | null)?.code === 'ERR_UNKNOWN_FILE_EXTENSION'
          ? `; compile it to JavaScript${/\.[cm]?ts$/.test(path) ? ', or use Node.js 22.18 or newer, which loads TypeScript' : ''}`
          : '';
    throw new CommandError('KERNEL_FILE', `${path} cannot be loaded: ${explain(error)}${where}`, {
      trace: linesOfStack(error),
      cause: error,
    });
  }
  const found = module.default;
  if (typeof found !== 'object' || found === null) {
    const what =
      found === undefined ? 'has no default export' : `exports ${describe(found)} as its default`;
    throw new CommandError('KERNEL_FILE', `${path} ${what}; write ${EXAMPLE}`);
  }
  const name = basename(file);
  if (isKernel(found)) return { ...found, name };
  const { params, kernel: body } = found as { params?: unknown; kernel?: unknown };
  if (typeof params !== 'object' || params === null || typeof body !== 'function') {
    const lacks = typeof body !== 'function' ? "no function 'kernel'" : "no 'params'";
    throw new CommandError(
      'KERNEL_FILE',
      `the default export of ${path} has ${lacks}; write ${EXAMPLE}`,
    );
  }
  return { ...kernel(parametersOf(path, params), { module: url }), name };
}

/** What the command line says of a module in WGSL, which does not say it itself. */
export interface WgslChoices {
  readonly entryPoint?: string | undefined;
  /** Arrays that are written from zeros. */
  readonly out?: Iterable<string>;
  readonly inout?: Iterable<string>;
  /** Numbers and other values that are given. */
  readonly values?: Iterable<string>;
  /** Values of overrides, as they were written. */
  readonly constants?: ReadonlyMap<string, string>;
}

export function isWgslFile(path: string): boolean {
  return path.endsWith('.wgsl');
}

function wgslKernel(
  path: string,
  { entryPoint, out = [], inout = [], values = [], constants: texts = new Map() }: WgslChoices,
): Kernel {
  const name = basename(path);
  const wgsl = readFileSync(path, 'utf8');
  try {
    const overrides = texts.size === 0 ? [] : wgslOverrides(name, wgsl);
    const constants = Object.fromEntries(
      [...texts].map(([key, text]) => [key, constantFrom(key, text, overrides)]),
    );
    refuseMissing(name, wgslWithoutValue(name, wgsl, entryPoint, constants));
    const choices = { out: new Set(out), inout: new Set(inout), values: new Set(values) };
    const parameters = wgslParameters(
      name,
      wgsl,
      entryPoint,
      choices,
      constants,
    ) as KernelParameters;
    return kernel(
      parameters,
      { wgsl, constants, ...(entryPoint === undefined ? {} : { entryPoint }) },
      { name },
    );
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError('KERNEL_FILE', explain(error), { cause: error });
  }
}

/**
 * The value that a text stands for, by the override's type. Whether it fits is the library's to
 * say, as is a name that the module lacks.
 */
function constantFrom(key: string, text: string, overrides: readonly Override[]): number | boolean {
  const override = overrides.find((each) => key === each.name || key === each.key);
  const type = override?.type ?? null;
  if ((type === 'bool' || type === null) && (text === 'true' || text === 'false'))
    return text === 'true';
  const value = text.trim() === '' ? Number.NaN : Number(text);
  if (override === undefined || (type !== 'bool' && Number.isFinite(value))) return value;
  const number = Number.isNaN(value) ? 'a number' : 'a finite number';
  const wanted =
    type === 'bool' ? 'true or false' : type === null ? `${number}, true or false` : number;
  const shown = type === null ? key : `${key} is ${type}`;
  throw new CommandError(
    'WGSL_CONSTANTS',
    `--constant ${key}=${text}: this is not ${wanted} (${shown})`,
  );
}

function refuseMissing(name: string, missing: readonly Override[]): void {
  if (missing.length === 0) return;
  const list = missing
    .map((each) => (each.type === null ? each.name : `${each.name} (${each.type})`))
    .join(', ');
  const options = missing.map((each) => `--constant ${each.name}=VALUE`).join(' ');
  throw new CommandError(
    'WGSL_CONSTANTS',
    `kernel ${name} needs a value for override ${list}, which has no default; add ${options}`,
  );
}

/** Lines of an error's stack in its author's own files, with paths instead of URLs. */
export function linesOfStack(error: unknown): string[] {
  const stack = error instanceof Error ? (error.stack ?? '') : '';
  const own = fileURLToPath(ownFile(''));
  return stack
    .split('\n')
    .filter((line) => /^\s+at /.test(line))
    .map((line) => `  ${line.trim().replace(/file:\/\/[^\s)]+/g, readablePath)}`)
    .filter((line) => !line.includes(own) && !line.includes('node:internal'));
}

/** A URL that a stack names, with its line and column, as a path. */
function readablePath(url: string): string {
  const [, place = url, position = ''] = /^(.*?)((?::\d+)*)$/.exec(url) ?? [];
  return `${fileURLToPath(place)}${position}`;
}

function isKernel(value: object): value is Kernel {
  return (
    'code' in value &&
    'parameters' in value &&
    typeof value.parameters === 'object' &&
    value.parameters !== null
  );
}

function parametersOf(path: string, params: object): KernelParameters {
  return Object.fromEntries(
    Object.entries(params).map(([name, value]) => {
      if (typeof value !== 'string') return [name, value];
      try {
        return [name, parseParameter(value)];
      } catch (error) {
        throw new CommandError('KERNEL_PARAMETER', `${path}, parameter ${name}: ${explain(error)}`);
      }
    }),
  );
}

function describe(value: unknown): string {
  return typeof value === 'object' ? String(value) : `a ${typeof value}`;
}
