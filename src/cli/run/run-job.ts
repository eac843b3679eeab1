/** What is to be run: a look at the kernel and the files, before anything is made. */
import { statSync } from 'node:fs';
import { fileType } from '../../api/arrays/files/npy.js';
import { wgslDimensions } from '../../api/kernels/wgsl-kernel.js';
import { rulesOf } from '../../api/options/described-devices.js';
import type { ArrayParameter, ElementType, Kernel } from '../../index.js';
import { CommandError } from '../terminal/failure.js';
import { formatCount } from '../terminal/format.js';
import { warn } from '../terminal/output.js';
import { loadKernelFile } from './kernel-file.js';
import { type Extent, extentOf, listOf, product } from './launch-size.js';
import { type FileName, type InputFile, openInput } from './run-files.js';
import type { Plan, Use } from './run-plan.js';
import { parseValue } from './run-values.js';

type Uses = ReadonlyMap<string, ArrayParameter<ElementType, Use>>;

export interface Job {
  readonly kernel: Kernel;
  /** The arrays among its parameters. */
  readonly uses: Uses;
  readonly inputs: ReadonlyMap<string, InputFile>;
  readonly extent: Extent;
  /** Work items. */
  readonly size: number;
  readonly numbers: Readonly<Record<string, unknown>>;
}

export async function jobOf(plan: Plan): Promise<Job> {
  const { files, entryPoint, constants } = plan;
  const kernel = await loadKernelFile(plan.kernelPath, {
    entryPoint,
    constants,
    out: files.out.keys(),
    inout: files.inout.keys(),
    values: plan.numbers.keys(),
  });
  const uses = checkNames(kernel, plan);
  const inputs = new Map(
    [...files.in, ...files.inout].map(([name, file]) => [
      name,
      openTyped(name, uses.get(name), file),
    ]),
  );
  warnOfReplacedInputs(plan, inputs);
  const shapes = shapesOf(inputs, files.out);
  const dimensions =
    rulesOf(plan.device.kind).kernels === 'wgsl' && kernel.wgsl !== null
      ? wgslDimensions(kernel.name, kernel.wgsl)
      : null;
  const extent = extentOf(kernel.name, plan.size, shapes, dimensions);
  const size = typeof extent === 'number' ? extent : product(extent);
  const lengths = new Map([...shapes].map(([name, shape]) => [name, product(shape)]));
  const beyond = beyondArrays(size, lengths);
  if (beyond !== null) warn(beyond);
  const numbers = Object.fromEntries(
    [...plan.numbers].map(([name, text]) => [
      name,
      parseValue(name, kernel.parameters[name], text),
    ]),
  );
  return { kernel, uses, inputs, extent, size, numbers };
}

/** The run reads the old content to its end; the program should know that it goes. */
function warnOfReplacedInputs(
  { files, saves }: Plan,
  inputs: ReadonlyMap<string, InputFile>,
): void {
  const results = { out: files.out, save: saves };
  for (const [option, names] of Object.entries(results)) {
    for (const [name, { path }] of names) {
      const there = statSync(path, { throwIfNoEntry: false });
      if (there === undefined) continue;
      for (const [other, input] of inputs) {
        const { dev, ino } = statSync(input.path);
        if (other === name || dev !== there.dev || ino !== there.ino) continue;
        warn(
          `--${option} ${name}=${path} replaces the file that ${other} is read from, when the run is complete`,
        );
      }
    }
  }
}

/** Every parameter of the kernel must be given, once, by the option of its kind. */
function checkNames(kernel: Kernel, plan: Plan): Uses {
  const optionOf = (name: string): string => {
    const parameter = kernel.parameters[name];
    return parameter.kind === 'array' ? parameter.use : 'set';
  };
  const given = { ...plan.files, set: plan.numbers };
  for (const [option, names] of Object.entries(given)) {
    for (const name of names.keys()) {
      if (!Object.hasOwn(kernel.parameters, name)) {
        const known = Object.keys(kernel.parameters).map((each) => `${each} (--${optionOf(each)})`);
        const list = known.length === 0 ? 'it has none' : `it has ${known.join(', ')}`;
        throw new CommandError(
          'UNKNOWN_PARAMETER',
          `kernel ${kernel.name} has no parameter ${name}; ${list}`,
        );
      }
      if (option !== optionOf(name)) {
        const { kind, type } = kernel.parameters[name];
        const declared =
          kind !== 'array'
            ? `a ${kind === 'scalar' ? 'number' : 'value'} (${type})`
            : `${type}.${optionOf(name)}`;
        throw new CommandError(
          'PARAMETER_USE',
          `kernel ${kernel.name} declares ${name} as ${declared}; give it by --${optionOf(name)}, not --${option}`,
        );
      }
    }
  }
  const uses = new Map<string, ArrayParameter<ElementType, Use>>();
  for (const [name, parameter] of Object.entries(kernel.parameters)) {
    const option = optionOf(name) as keyof typeof given;
    if (!given[option].has(name)) {
      const value = option === 'set' ? 'NUMBER' : 'FILE';
      throw new CommandError(
        'MISSING_PARAMETER',
        `kernel ${kernel.name} needs ${name} (${parameter.type}); add --${option} ${name}=${value}`,
      );
    }
    if (parameter.kind === 'array') uses.set(name, parameter);
  }
  for (const name of plan.saves.keys()) {
    if (!plan.files.inout.has(name))
      throw new CommandError(
        'PARAMETER_USE',
        `--save ${name}=... is for an --inout, and ${name} is none`,
      );
  }
  return uses;
}

function openTyped(
  name: string,
  parameter: ArrayParameter<ElementType, Use> | undefined,
  file: FileName,
): InputFile {
  const input = openInput(file);
  const wanted = fileType(parameter?.type ?? 'bytes');
  if (input.dtype !== wanted) {
    const remedy = input.raw
      ? `state ${wanted}, if that is what it holds,`
      : `save the array as ${wanted},`;
    throw new CommandError(
      'FILE_TYPE',
      `${input.path} holds ${input.dtype}, and the kernel declares ${name} as ${parameter?.type}; ${remedy} or change the kernel`,
    );
  }
  if (input.length === 0)
    throw new CommandError(
      'EMPTY_FILE',
      `${input.path} has no elements; there is nothing to run over`,
    );
  return input;
}

/** Of the arrays whose shape does not follow from the size of the launch. */
function shapesOf(
  inputs: ReadonlyMap<string, InputFile>,
  outputs: ReadonlyMap<string, FileName>,
): ReadonlyMap<string, readonly number[]> {
  const shapes = new Map([...inputs].map(([name, { shape }]) => [name, shape]));
  for (const [name, { shape }] of outputs) if (shape !== null) shapes.set(name, shape);
  return shapes;
}

/**
 * What there is to be said of a size beyond all arrays; null: nothing. It is no mistake where a
 * kernel makes several elements of one, or work items are no elements at all, so that it is not
 * refused.
 */
function beyondArrays(size: number, lengths: ReadonlyMap<string, number>): string | null {
  if (lengths.size === 0 || size <= Math.max(...lengths.values())) return null;
  return (
    `--size is ${formatCount(size)}, and ${listOf(lengths)}: a kernel that takes work items for elements reads none behind the end of an ` +
    'array (in JavaScript undefined, which makes NaN), and writes none there; where this one does, give it a smaller --size'
  );
}
