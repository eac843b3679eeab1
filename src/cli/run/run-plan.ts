/** The command line of `onemem run`: what it may say, and what it asks for. */
import { type Kind, MAX_UNITS, plainKinds, rulesOf } from '../../api/options/described-devices.js';
import { type AUTO, memoryToShare } from '../../api/options/host-memory.js';
import { enumerated } from '../../api/values/arguments.js';
import { BLOCK_BYTES } from '../../core/basics/types.js';
import type {
  BehindSpecification,
  DeviceSpecification,
  SlowMemorySpecification,
  StorageSpecification,
} from '../../index.js';
import { UsageError } from '../terminal/failure.js';
import {
  hostMemoryFrom,
  LEAST_STORED,
  slowMemoryFrom,
  storageFrom,
} from '../terminal/memory-options.js';
import { assignments, parseOptions, sizeInBytes, wholeNumber } from '../terminal/options.js';
import { isWgslFile } from './kernel-file.js';
import { type Extent, extentFrom } from './launch-size.js';
import { type FileName, parseFileName } from './run-files.js';

export const RUN_SUMMARY = 'run a kernel over files that may be larger than the device';

export const RUN_HELP = `onemem run KERNEL [options]: ${RUN_SUMMARY}

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
export const USUAL_MEMORY = 256 * 2 ** 20;

export type Use = 'in' | 'inout' | 'out';

/** What the command line asks for, before any file is looked at. */
export interface Plan {
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

export function parsePlan(args: readonly string[]): Plan {
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
