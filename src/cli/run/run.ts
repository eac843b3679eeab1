/** `onemem run`: a kernel over files that may be larger than the device. */

import { statSync } from 'node:fs';
import { takesParts, wgslDimensions } from '../../api/kernels/wgsl-kernel.js';
import { resultArray } from '../../api/objects/result-array.js';
import { type Kind, MAX_UNITS, plainKinds, rulesOf } from '../../api/options/described-devices.js';
import { type AUTO, memoryToShare } from '../../api/options/host-memory.js';
import { enumerated } from '../../api/values/arguments.js';
import { bytesOf } from '../../core/basics/elements.js';
import { BLOCK_BYTES } from '../../core/basics/types.js';
import type { Dtype } from '../../files/npy.js';
import {
  type AddressSpace,
  type ArrayParameter,
  type BehindSpecification,
  type DeviceSpecification,
  type ElementType,
  type Kernel,
  type KernelParameter,
  type ManagedArray,
  OnememError,
  openSpace,
  type SlowMemorySpecification,
  type StorageSpecification,
} from '../../index.js';
import type { Command } from '../terminal/command.js';
import { CommandError, codeOf, explain, UsageError } from '../terminal/failure.js';
import { formatBytes, formatCount, formatDuration } from '../terminal/format.js';
import { endOnSignals } from '../terminal/interrupt.js';
import {
  hostMemoryFrom,
  LEAST_STORED,
  slowMemoryFrom,
  storageFrom,
} from '../terminal/memory-options.js';
import { assignments, parseOptions, sizeInBytes, wholeNumber } from '../terminal/options.js';
import { print, say, warn } from '../terminal/output.js';
import { createProgress } from '../terminal/progress.js';
import { ARRAY_TYPES } from './array-types.js';
import { isWgslFile, linesOfStack, loadKernelFile } from './kernel-file.js';
import { launchInParts, partsOf } from './launch.js';
import { type Extent, extentFrom, extentOf, listOf, product } from './launch-size.js';
import { faultsOf, type ProcessorReport, processorReports, processorTable } from './report.js';
import {
  type FileName,
  headerOf,
  type InputFile,
  openInput,
  parseFileName,
  type Result,
  ResultFiles,
} from './run-files.js';

const RUN_SUMMARY = 'run a kernel over files that may be larger than the device';

const RUN_HELP = `onemem run KERNEL [options]: ${RUN_SUMMARY}

  --in NAME=FILE            an array to read
  --inout NAME=FILE         an array to read and write; the file is replaced at the end
  --save NAME=FILE          writes the result of an --inout to another file
  --out NAME=FILE[:SHAPE]   an array to write, from zeros; SHAPE is such as 100x20
  --set NAME=NUMBER         a number; for WGSL also a list (1,2,3) or JSON, and NAME may be
                            VARIABLE.MEMBER
  --size N                  work items; by default the length of the arrays
  --size WIDTHxHEIGHT       work items in x and y (xDEPTH: z), for WGSL; by default the shape of
                            the arrays, whose last axis is x
  --chunks K                consecutive launches (64)

  --device KIND             process (default), simulated, or webgpu (default for WGSL)
  --entry NAME              entry point of KERNEL.wgsl, if it has several
  --constant NAME=VALUE     value of an override of KERNEL.wgsl, by name or number of its @id
  --device-memory SIZE      memory of the device (256MiB; of a GPU three quarters of what is left)
  --units N                 threads of the device (1)
  --lossy                   the device's memory dies with it
  --paged                   the device gets pages of the files by faults, and has room for so many
                            as --device-memory says, also where it could use the files' own memory
  --host-memory SIZE        memory of arrays in the host (what is left, at most 70% of the limit),
                            or auto: it follows what other programs leave
  --slow-memory NAME=VALUE,...
                            memory between host memory and storage: path or node, bytes,
                            latencyUs, bandwidth; such as bytes=8GiB,bandwidth=30GB
  --storage FOLDER[:SIZE]   where arrays go that are larger; none: they are refused
  --behind URL              a Valkey server (valkey://HOST:PORT) behind storage; for a cluster
                            several --behind, of which the first that answers is used
  --behind-memory SIZE      memory of that server to use

  --ui                      serves the live picture of the run, at an address on standard error
  --record FILE             records the run, for onemem explain, view and replay
  --json                    one JSON object on standard output
  --debug                   stacks of errors
  -h, --help

FILE is a NumPy .npy file (versions 1 to 3, C order, little endian, numbers of 8 to 64 bits), or
raw elements with their type: FILE:f32. Pages are read when the kernel touches them. The type must
be the parameter's. A result gets its name when it is complete: an old file stays whole until then.

KERNEL.js is a module such as this, or exports the result of kernel() of the library:

  export default {
    params: { x: 'f32.in', y: 'f32.inout', alpha: 'f32' },
    kernel({ x, y, alpha }, { begin, end }) {
      for (let i = begin; i < end; i++) y[i] += alpha * x[i];
    },
  };

The function is called for parts of [0, size), in any order.

KERNEL.wgsl is a compute shader. Its storage variables are arrays, its uniform variables numbers.
An override without a default needs a --constant. A launch larger than the GPU is cut into parts.

Examples
  onemem run saxpy.js --in x=x.npy --inout y=y.npy --set alpha=3 --device-memory 64MiB
  onemem run saxpy.js --in x=x.npy --inout y=y.npy --save y=sum.npy --set alpha=3 --units 2
  onemem run saxpy.wgsl --in x=x.npy --inout y=y.npy --set alpha=3 --device-memory 256MiB
  onemem run blur.wgsl --in x=x.npy --out y=y.npy --constant radius=3 --constant wide=128
  onemem run norm.js --in v=vectors.bin:f64 --out n=norms.npy --size 1000000 --json
  onemem run saxpy.js --in x=x.npy --inout y=y.npy --set alpha=3 --paged --record saxpy.rec`;

const OPTIONS = {
  in: { type: 'string', multiple: true },
  inout: { type: 'string', multiple: true },
  out: { type: 'string', multiple: true },
  save: { type: 'string', multiple: true },
  set: { type: 'string', multiple: true },
  size: { type: 'string' },
  chunks: { type: 'string' },
  device: { type: 'string' },
  entry: { type: 'string' },
  constant: { type: 'string', multiple: true },
  'device-memory': { type: 'string' },
  units: { type: 'string' },
  lossy: { type: 'boolean' },
  paged: { type: 'boolean' },
  'host-memory': { type: 'string' },
  'slow-memory': { type: 'string' },
  storage: { type: 'string' },
  behind: { type: 'string', multiple: true },
  'behind-memory': { type: 'string' },
  ui: { type: 'boolean' },
  record: { type: 'string' },
  json: { type: 'boolean' },
} as const;

/** Each is a launch of its own, which takes some hundred microseconds. */
const MOST_CHUNKS = 65_536;

/** Of a device, unless it is said, or a GPU's driver tells how much there is. */
const USUAL_MEMORY = 256 * 2 ** 20;

type Use = 'in' | 'inout' | 'out';

/** What the command line asks for, before any file is looked at. */
interface Plan {
  readonly kernelPath: string;
  readonly files: Readonly<Record<Use, Map<string, FileName>>>;
  readonly saves: Map<string, FileName>;
  readonly numbers: Map<string, string>;
  readonly size: Extent | undefined;
  readonly chunks: number;
  readonly entryPoint: string | undefined;
  readonly constants: ReadonlyMap<string, string>;
  readonly device: DeviceSpecification;
  /** Whether kernels read and write the kernel's own memory of files where they can. */
  readonly isMapped: boolean;
  readonly hostMemory: number | typeof AUTO | undefined;
  readonly slowMemory: SlowMemorySpecification | undefined;
  readonly storage: StorageSpecification | false | undefined;
  readonly behind: BehindSpecification | undefined;
  readonly ui: boolean;
  readonly record: string | undefined;
  readonly json: boolean;
}

export interface RunReport {
  readonly kernel: string;
  readonly size: number;
  readonly launches: number;
  /** From the start of the command's work to the last file that was put in place. */
  readonly wallMs: number;
  /** Of it, the launches. */
  readonly launchMs: number;
  readonly processors: readonly ProcessorReport[];
  readonly results: readonly { parameter: string; file: string; bytes: number }[];
}

export async function run(args: readonly string[]): Promise<number> {
  const plan = parsePlan(args);
  const report = await carryOut(plan);
  if (plan.json) print(JSON.stringify(report));
  else print(describe(report).join('\n'));
  return 0;
}

function parsePlan(args: readonly string[]): Plan {
  const { values, positionals } = parseOptions('run', args, OPTIONS);
  if (positionals.length !== 1) {
    const what =
      positionals.length === 0
        ? 'no kernel file is named'
        : `too many arguments: ${positionals.join(' ')}`;
    throw new UsageError(`${what}; write onemem run KERNEL.js [options], see: onemem run --help`);
  }
  const kind = kindFor(values.device, isWgslFile(positionals[0]) ? 'wgsl' : 'functions');
  const { kernels, isProcess, ...rules } = rulesOf(kind);
  if (kernels !== 'wgsl' && isWgslFile(positionals[0]))
    throw new UsageError(
      `--device is '${kind}', which runs functions, and KERNEL.wgsl is for GPUs; leave --device out`,
    );
  if (kernels === 'wgsl' && (values.units !== undefined || values.lossy !== undefined))
    throw new UsageError(
      '--units and --lossy are for devices that run functions, and a GPU runs modules in WGSL',
    );
  if (values.entry !== undefined && !isWgslFile(positionals[0]))
    throw new UsageError(
      '--entry is for KERNEL.wgsl; a module in JavaScript has one kernel, its default export',
    );
  if (values.constant !== undefined && !isWgslFile(positionals[0]))
    throw new UsageError(
      '--constant is for the overrides of KERNEL.wgsl; a number of a kernel is given by --set',
    );
  const units = wholeNumber('units', values.units, MAX_UNITS) ?? 1;
  const memory = sizeInBytes('device-memory', values['device-memory'], rules.leastMemory(units));
  const files = (option: 'in' | 'inout' | 'out' | 'save') =>
    new Map(
      [...assignments(option, values[option], 'FILE')].map(([name, text]) => [
        name,
        parseFileName(text),
      ]),
    );
  return {
    kernelPath: positionals[0],
    files: { in: files('in'), inout: files('inout'), out: files('out') },
    saves: files('save'),
    numbers: assignments('set', values.set, 'NUMBER'),
    size: extentFrom(values.size),
    chunks: wholeNumber('chunks', values.chunks, MOST_CHUNKS) ?? 64,
    entryPoint: values.entry,
    constants: assignments('constant', values.constant, 'VALUE'),
    device: {
      kind,
      ...(kernels === 'wgsl'
        ? memory === undefined
          ? {}
          : { memory }
        : {
            memory: memory ?? usualMemory(rules.leastMemory(units).bytes),
            units,
            lossy: values.lossy ?? false,
          }),
    } as DeviceSpecification,
    isMapped: isProcess && values.paged !== true,
    hostMemory: hostMemoryFrom(values['host-memory']),
    slowMemory: slowMemoryFrom(values['slow-memory']),
    storage: storageFrom(values.storage),
    behind: behindFrom(
      values.behind,
      sizeInBytes('behind-memory', values['behind-memory'], LEAST_STORED),
    ),
    ui: values.ui ?? false,
    record: values.record,
    json: values.json ?? false,
  };
}

/** The kind of the device that is asked for; the first that runs such kernels, if none is. */
function kindFor(said: string | undefined, kernels: 'functions' | 'wgsl'): Kind {
  const kinds = plainKinds();
  const found = kinds.find((kind) =>
    said === undefined ? rulesOf(kind).kernels === kernels : kind === said,
  );
  if (found === undefined)
    throw new UsageError(`--device is '${said}'; there are ${enumerated(kinds)}`);
  return found;
}

function behindFrom(
  url: readonly string[] | undefined,
  bytes: number | undefined,
): BehindSpecification | undefined {
  if (url === undefined && bytes === undefined) return undefined;
  if (url !== undefined && bytes !== undefined) return { kind: 'valkey', url, bytes };
  throw new UsageError('--behind URL and --behind-memory SIZE go together; see: onemem run --help');
}

/** Where memory is limited, the device has half of what it and the host can share. */
function usualMemory(leastBytes: number): number {
  const half = Math.floor(memoryToShare(1) / 2 / BLOCK_BYTES) * BLOCK_BYTES;
  return Math.max(leastBytes, Math.min(USUAL_MEMORY, half));
}

function openFor({
  device,
  hostMemory,
  slowMemory,
  storage,
  behind,
  record,
}: Plan): Promise<AddressSpace> {
  // The space of this command is the first of its process.
  if (record !== undefined) process.env.ONEMEM_RECORD = record;
  const open = (wanted: DeviceSpecification) =>
    openSpace({
      devices: [wanted],
      ...(hostMemory === undefined ? {} : { hostMemory }),
      ...(slowMemory === undefined ? {} : { slowMemory }),
      ...(storage === undefined ? {} : { storage }),
      ...(behind === undefined ? {} : { behind }),
    });
  if (device.memory !== undefined) return open(device);
  return open(device).catch((error: unknown) => {
    if (codeOf(error) !== 'DEVICE_MEMORY') throw error;
    return open({ ...device, memory: USUAL_MEMORY } as DeviceSpecification);
  });
}

async function carryOut(plan: Plan): Promise<RunReport> {
  const started = performance.now();
  const { entryPoint, constants } = plan;
  const kernel = await loadKernelFile(plan.kernelPath, {
    entryPoint,
    constants,
    out: plan.files.out.keys(),
    inout: plan.files.inout.keys(),
    values: plan.numbers.keys(),
  });
  const uses = checkNames(kernel, plan);
  const inputs = new Map<string, InputFile>();
  for (const use of ['in', 'inout'] as const) {
    for (const [name, file] of plan.files[use])
      inputs.set(name, openTyped(name, uses.get(name), file));
  }
  warnOfReplacedInputs(plan, inputs);
  const shapes = shapesOf(inputs, plan.files.out);
  const lengths = new Map([...shapes].map(([name, shape]) => [name, product(shape)]));
  const dimensions =
    rulesOf(plan.device.kind).kernels === 'wgsl' && kernel.wgsl !== null
      ? wgslDimensions(kernel.name, kernel.wgsl)
      : null;
  const extent = extentOf(kernel.name, plan.size, shapes, dimensions);
  const size = typeof extent === 'number' ? extent : product(extent);
  const beyond = beyondArrays(size, lengths);
  if (beyond !== null) warn(beyond);
  const numbers = Object.fromEntries(
    [...plan.numbers].map(([name, text]) => [
      name,
      parseValue(name, kernel.parameters[name], text),
    ]),
  );

  using results = new ResultFiles();
  using _signals = endOnSignals(() => results.giveUp());
  for (const result of resultsOf(plan, uses, inputs, extent)) results.create(result);
  results.checkRoom();
  await using _filling = { [Symbol.asyncDispose]: () => results.stopFilling() };
  // The space opens meanwhile.
  results.fill();
  await using space = await openFor(plan).catch((error: unknown) => {
    throw new CommandError('OPEN', explain(error), [], { cause: error });
  });
  if (plan.ui) say(`the live picture of the run is at ${(await space.serve()).url}`);
  const arrays = makeArrays(space, plan, uses, inputs, extent, results);
  await results.filled();

  const [device] = space.devices;
  // A module that is not told which part it is to do does all of it.
  const inParts =
    device.capabilities.kernels === 'functions' ||
    (kernel.wgsl !== null && takesParts(kernel.wgsl));
  const parts = partsOf(size, inParts && typeof extent === 'number' ? plan.chunks : 1);
  const launchStarted = performance.now();
  let launchMs = 0;
  {
    using progress = createProgress({
      label: kernel.name,
      total: size,
      unit: 'count',
      silent: plan.json,
    });
    const detail = (): string => `${formatCount(faultsOf(device.stats()))} faults`;
    try {
      await launchInParts(
        device,
        kernel,
        { ...numbers, ...arrays },
        {
          size: extent,
          parts,
          onProgress: (done) => progress.update(done, detail),
        },
      );
    } catch (error) {
      refuseCut(inputs);
      throw launchFailure(error, plan.isMapped);
    }
    refuseCut(inputs);
    launchMs = performance.now() - launchStarted;
    await results.write((path) => progress.update(size, () => `writing ${path}`));
  }
  return {
    kernel: kernel.name,
    size,
    launches: parts.length,
    wallMs: performance.now() - started,
    launchMs,
    processors: processorReports(space.stats()),
    results: results.written,
  };
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
function checkNames(kernel: Kernel, plan: Plan): Map<string, ArrayParameter<ElementType, Use>> {
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

/** Files know fewer types than kernels. */
function fileType(type: ElementType): Dtype {
  return type === 'u8c' || type === 'bytes' ? 'u8' : type;
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

const WHOLE_NUMBERS: Readonly<Record<string, readonly [bigint, bigint]>> = {
  i8: [-(2n ** 7n), 2n ** 7n - 1n],
  u8: [0n, 2n ** 8n - 1n],
  u8c: [0n, 2n ** 8n - 1n],
  bytes: [0n, 2n ** 8n - 1n],
  i16: [-(2n ** 15n), 2n ** 15n - 1n],
  u16: [0n, 2n ** 16n - 1n],
  i32: [-(2n ** 31n), 2n ** 31n - 1n],
  u32: [0n, 2n ** 32n - 1n],
  i64: [-(2n ** 63n), 2n ** 63n - 1n],
  u64: [0n, 2n ** 64n - 1n],
};

/** The largest number of a floating-point type. */
const MOST: Readonly<Partial<Record<ElementType, string>>> = {
  f32: '3.4028235e38',
  f64: '1.7976931348623157e308',
};

/** A number; for a parameter of several also numbers with commas between them, or JSON. */
function parseValue(name: string, parameter: KernelParameter, text: string): unknown {
  if (parameter.kind === 'scalar') return parseNumber(name, parameter.type, text);
  try {
    return JSON.parse(/^\s*[[{]/.test(text) || !text.includes(',') ? text : `[${text}]`) as unknown;
  } catch {
    throw new CommandError(
      'NUMBER',
      `--set ${name}=${text}: write numbers with commas between them, such as 640,480, or JSON, such as {"x":1}`,
    );
  }
}

/** A number of exactly the parameter's type: what does not fit is refused, not wrapped. */
function parseNumber(name: string, type: ElementType, text: string): number | bigint {
  const refuse = (why: string) =>
    new CommandError('NUMBER', `--set ${name}=${text}: ${why} (${name} is ${type})`);
  const range = WHOLE_NUMBERS[type];
  if (range === undefined) {
    if (/^[+-]?inf(inity)?$/i.test(text)) return text.startsWith('-') ? -Infinity : Infinity;
    if (/^nan$/i.test(text)) return Number.NaN;
    const value = text.trim() === '' ? Number.NaN : Number(text);
    if (Number.isNaN(value)) throw refuse('this is no number');
    if (!Number.isFinite(type === 'f32' ? Math.fround(value) : value))
      throw refuse(
        `this is more than ${type} can hold, which is ${MOST[type]} at most; write Infinity where that is meant`,
      );
    return value;
  }
  if (!/^[+-]?\d+$|^0x[\da-f]+$/i.test(text)) throw refuse('this is no whole number');
  const value = BigInt(text.replace(/^\+/, ''));
  const [least, most] = range;
  if (value < least || value > most) throw refuse(`it must be from ${least} to ${most}`);
  return type === 'i64' || type === 'u64' ? value : Number(value);
}

/** What the run writes, before any of it has a place. */
function resultsOf(
  plan: Plan,
  uses: ReadonlyMap<string, ArrayParameter<ElementType, Use>>,
  inputs: ReadonlyMap<string, InputFile>,
  extent: Extent,
): Result[] {
  const results: Result[] = [];
  for (const [parameter, { type, use }] of uses) {
    if (use === 'in') continue;
    const input = inputs.get(parameter);
    if (input !== undefined) {
      const { header, byteLength: bytes } = input;
      const path = savePath(plan.saves.get(parameter), input);
      results.push({
        parameter,
        path,
        from: input,
        header,
        bytes,
        inPlace: isMapped(plan, type, header.length, bytes),
      });
      continue;
    }
    const file = plan.files.out.get(parameter) as FileName;
    if (file.raw !== null && file.raw !== fileType(type)) {
      throw new CommandError(
        'FILE_TYPE',
        `--out ${parameter}=${file.path}:${file.raw}: the kernel declares ${parameter} as ${type}; state ${fileType(type)}, or change the kernel`,
      );
    }
    const shape = outShape(file, extent, inputs);
    const header = headerOf(fileType(type), shape, file.raw !== null);
    const bytes = product(shape) * bytesOf(type);
    const inPlace = isMapped(plan, type, header.length, bytes);
    results.push({ parameter, path: file.path, from: null, header, bytes, inPlace });
  }
  return results;
}

function outShape(
  file: FileName,
  extent: Extent,
  inputs: ReadonlyMap<string, InputFile>,
): readonly number[] {
  return file.shape ?? shapeFor(extent, inputs);
}

/** Elements must stand at a multiple of their size; where they do not, their pages are copied. */
function isMapped(plan: Plan, type: ElementType, dataOffset: number, bytes: number): boolean {
  return plan.isMapped && bytes > 0 && dataOffset % bytesOf(type) === 0;
}

function makeArrays(
  space: AddressSpace,
  plan: Plan,
  uses: ReadonlyMap<string, ArrayParameter<ElementType, Use>>,
  inputs: ReadonlyMap<string, InputFile>,
  extent: Extent,
  results: ResultFiles,
): Record<string, ManagedArray> {
  const arrays: Record<string, ManagedArray> = {};
  for (const [name, { type, use }] of uses) {
    try {
      arrays[name] = makeArray(space, plan, { name, type, use }, inputs, extent, results);
    } catch (error) {
      throw allocationFailure(error);
    }
    if (use !== 'in') results.keepIn(name, arrays[name]);
  }
  return arrays;
}

function makeArray(
  space: AddressSpace,
  plan: Plan,
  { name, type, use }: { readonly name: string; readonly type: ElementType; readonly use: Use },
  inputs: ReadonlyMap<string, InputFile>,
  extent: Extent,
  results: ResultFiles,
): ManagedArray {
  const input = inputs.get(name);
  const length =
    input?.length ?? product(outShape(plan.files.out.get(name) as FileName, extent, inputs));
  const place = use === 'in' ? null : results.placeOf(name);
  if (place !== null) return resultArray(space, type, length, { ...place, name });
  if (input === undefined) {
    return type === 'bytes'
      ? space.bytes(length, { name })
      : space.array(ARRAY_TYPES[type], length, { name });
  }
  const { path, dataOffset: byteOffset } = input;
  const writable = use === 'inout';
  const mapped = !writable && isMapped(plan, type, byteOffset, input.byteLength);
  return space.fileArray(ARRAY_TYPES[type], path, { byteOffset, length, name, writable, mapped });
}

/** The result of an --inout is of the same kind as what was read. */
function savePath(save: FileName | undefined, input: InputFile): string {
  if (save === undefined) return input.path;
  if (save.raw !== null || save.shape !== null) {
    throw new CommandError(
      'FILE_SHAPE',
      `--save ${save.path}: type and shape are those of ${input.path}; name the file alone`,
    );
  }
  return save.path;
}

/** The shape of an array that has an element for each work item, or the launch's own. */
function shapeFor(extent: Extent, inputs: ReadonlyMap<string, InputFile>): readonly number[] {
  const own = typeof extent === 'number' ? [extent] : extent.toReversed();
  const size = product(own);
  for (const { length, shape } of inputs.values())
    if (length === size && shape.length > 0) return shape;
  return own;
}

/** The library speaks of its own options; here they have other names. */
function allocationFailure(error: unknown): unknown {
  if ((error as { code?: string }).code !== 'HOST_BUDGET') return error;
  return new CommandError(
    'HOST_BUDGET',
    `${explain(error)} (--host-memory SIZE, --storage FOLDER)`,
    [],
    {
      cause: error,
    },
  );
}

/** What a mapping shows behind the end of a file, up to the next page, reads as zeros. */
function refuseCut(inputs: ReadonlyMap<string, InputFile>): void {
  for (const { path, dev, ino, dataOffset, byteLength } of inputs.values()) {
    const now = statSync(path, { throwIfNoEntry: false });
    const end = dataOffset + byteLength;
    if (now === undefined || now.dev !== dev || now.ino !== ino || now.size >= end) continue;
    const what = `${path} became shorter during the run: it has ${now.size} bytes, and its elements end at ${end}`;
    throw new CommandError('FILE_CHANGED', `${what}; no file was changed`);
  }
}

function launchFailure(error: unknown, isMapped: boolean): unknown {
  if (!(error instanceof OnememError)) return error;
  if (error.code === 'DEVICE_LOST') {
    const crash = isMapped
      ? ', or crashed: if the kernel wrote to an --in, --paged tells where'
      : ', or crashed';
    return new CommandError(
      'DEVICE_LOST',
      `device ${error.details.device ?? ''} ended before the work was done (its process was killed${crash}); ` +
        'no file was changed: run it again',
      [],
      { cause: error },
    );
  }
  return error.code === 'KERNEL_ERROR'
    ? new CommandError(error.code, error.message, linesOfStack(error), { cause: error })
    : error;
}

function describe(report: RunReport): string[] {
  const { size, launches, wallMs, launchMs, processors, results } = report;
  return [
    `${formatCount(size)} work items in ${formatDuration(wallMs)} (${launches} launches: ${formatDuration(launchMs)})`,
    ...processorTable(processors).map((line) => `  ${line}`),
    ...results.map(({ parameter, file, bytes }) => `${parameter}: ${file} (${formatBytes(bytes)})`),
  ];
}

export const command: Command = { summary: RUN_SUMMARY, help: RUN_HELP, main: run };
