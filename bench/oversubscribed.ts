/**
 * Launches over more than the device has. The reference is a roofline that cannot be beaten: the
 * longest of computing with everything in place, copying every input in once, and copying every
 * output out once, as if the three went on at the same time and cost nothing else. Ours runs from
 * the launch, with all data on the host, until the results are home. Beside it stands an expert's
 * program for the same two processes (expert-device.ts); at the end ours must be what that one has
 * computed.
 */
import {
  type AddressSpace,
  type Device,
  f32,
  kernel,
  type ManagedArray,
  openSpace,
  u32,
} from '../src/index.js';
import { MemoryCopy } from './bandwidth.js';
import { buildReference } from './c-reference.js';
import { cReferences } from './cpu-fault.js';
import { type Chunk, ExpertDevice, type ExpertProgram, stencil, triad } from './expert-device.js';
import { type Bench, compare, median, rounded, type Settings, verify } from './harness.js';
import { placements, warmMemory } from './placement.js';

const FACTORS = [0.75, 1.25, 1.5, 2];
const BLOCK_BYTES = 2 ** 21;
const WORDS_PER_PAGE = 1024;
/** Of the memory copies that measure the rate; as much as the caches cannot hold. */
const COPIED_BYTES = 2 ** 26;
/** Of a device in C. */
const FAULTS = 1024;

/**
 * One program at one size: the managed arrays, the same data in plain ones, and how both are run.
 */
interface Job {
  readonly inputs: readonly ManagedArray[];
  /** What must come in at least, where that is not all of the inputs. */
  readonly bytesIn?: number;
  /**
   * Each page that is needed takes a fault of its own: a device in C that does the same stands
   * beside it.
   */
  readonly faultsAPage?: boolean;
  readonly outputs: readonly { readonly array: ManagedArray; readonly plain: Float32Array }[];
  launch(device: Device): Promise<void>;
  /** On plain arrays: the compute part of the roofline, and the right result. */
  compute(): void;
  /**
   * The same by an expert's program, where there is one; its results go into the first of the plain
   * outputs.
   */
  readonly expert?: {
    readonly program: ExpertProgram;
    readonly most: number;
    readonly width: number;
    readonly chunks: readonly Chunk[];
  };
}

interface Program {
  readonly name: string;
  readonly deviceBytes: number;
  make(space: AddressSpace, bytes: number): Job;
}

const triadKernel = kernel({ a: f32.out, b: f32.in, c: f32.in, s: f32 }, triad);

const stencilKernel = kernel({ from: f32.in, to: f32.out, width: u32 }, stencil);

/** Elements of each array that the expert's program moves at once. */
const CHUNK = 2 ** 18;

/** 32 rows of a by all of b, so that b is what does not fit. */
const SGEMM_ROWS = 32;

const sgemmKernel = kernel(
  { a: f32.in, b: f32.in, c: f32.out, n: u32 },
  ({ a, b, c, n }, { begin, end }) => {
    // 16 rows at a time, so that b is walked once for each of these and not once for each row.
    for (let first = begin; first < end; first += 16) {
      const last = Math.min(first + 16, end);
      for (let k = 0; k < n; k++) {
        for (let row = first; row < last; row++) {
          const factor = a[row * n + k];
          const to = row * n;
          const from = k * n;
          for (let column = 0; column < n; column++) c[to + column] += factor * b[from + column];
        }
      }
    }
  },
);

const gatherKernel = kernel(
  { table: f32.in, order: u32.in, result: f32.out },
  ({ table, order, result }, { begin, end }) => {
    for (let i = begin; i < end; i++) result[i] = table[order[i]];
  },
);

const plannedKernel = kernel(
  { table: f32.in.by('order'), order: u32.in, result: f32.out },
  ({ table, order, result }, { begin, end }) => {
    for (let i = begin; i < end; i++) result[i] = table[order[i]];
  },
  { name: 'plannedKernel' },
);

/** Numbers that are exact in 32 bits, and differ from page to page. */
function fill(array: ManagedArray, factor: number): Float32Array {
  const data = array.data as Float32Array;
  for (let i = 0; i < data.length; i++) data[i] = ((i * factor) % 251) + (i >> 10) / 1024;
  return Float32Array.from(data);
}

function startsOf(length: number, step: number): number[] {
  return Array.from({ length: Math.ceil(length / step) }, (_, index) => index * step);
}

/** Random reads of single elements, with the indices known to the manager or not. */
function gather(name: string, program: typeof gatherKernel | typeof plannedKernel): Program {
  return {
    name,
    deviceBytes: 2 ** 25,
    make: (space, bytes) => {
      const length = Math.floor(bytes / 4096) * WORDS_PER_PAGE;
      const count = 2 ** 12;
      const table = space.array(Float32Array, length);
      const order = space.array(Uint32Array, count);
      const result = space.array(Float32Array, count);
      const plainTable = fill(table, 3);
      let seed = 1;
      const pages = new Set<number>();
      for (let i = 0; i < count; i++) {
        seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
        order.data[i] = seed % length;
        pages.add(Math.floor(order.data[i] / WORDS_PER_PAGE));
      }
      const [plainOrder, plain] = [Uint32Array.from(order.data), new Float32Array(count)];
      return {
        inputs: [table, order],
        // No program can bring less than the pages that are read.
        bytesIn: pages.size * 4096 + order.byteLength,
        outputs: [{ array: result, plain }],
        faultsAPage: program === gatherKernel,
        launch: (device) => device.run(program, { table, order, result }, { size: count }),
        compute: () =>
          program.kernel?.(
            { table: plainTable, order: plainOrder, result: plain },
            { begin: 0, end: count, size: count, unit: 0, units: 1 },
          ),
      };
    },
  };
}

const programs: readonly Program[] = [
  {
    name: 'triad',
    deviceBytes: 2 ** 25,
    make: (space, bytes) => {
      const length = Math.floor(bytes / 3 / 4096) * WORDS_PER_PAGE;
      const [a, b, c] = [0, 1, 2].map(() => space.array(Float32Array, length));
      const [plainB, plainC, plain] = [fill(b, 3), fill(c, 7), new Float32Array(length)];
      return {
        inputs: [b, c],
        outputs: [{ array: a, plain }],
        launch: (device) => device.run(triadKernel, { a, b, c, s: 3 }, { size: length }),
        compute: () =>
          triadKernel.kernel?.(
            { a: plain, b: plainB, c: plainC, s: 3 },
            { begin: 0, end: length, size: length, unit: 0, units: 1 },
          ),
        expert: {
          program: 'triad',
          most: CHUNK,
          width: 1,
          chunks: startsOf(length, CHUNK).map((at) => {
            const [inB, inC, result] = [plainB, plainC, plain].map((each) =>
              each.subarray(at, at + CHUNK),
            );
            return { elements: result.length, inputs: [inB, inC], result, resultAt: 0 };
          }),
        },
      };
    },
  },
  {
    name: 'stencil',
    deviceBytes: 2 ** 25,
    make: (space, bytes) => {
      const width = 2048;
      const height = Math.floor(bytes / 2 / 4 / width);
      const [from, to] = [0, 1].map(() => space.array(Float32Array, width * height));
      const [plainFrom, plain] = [fill(from, 3), new Float32Array(width * height)];
      return {
        inputs: [from],
        outputs: [{ array: to, plain }],
        launch: (device) => device.run(stencilKernel, { from, to, width }, { size: height }),
        compute: () =>
          stencilKernel.kernel?.(
            { from: plainFrom, to: plain, width },
            { begin: 0, end: height, size: height, unit: 0, units: 1 },
          ),
        expert: {
          program: 'stencil',
          most: CHUNK + 2 * width,
          width,
          // Of each chunk the rows around it come along.
          chunks: startsOf(height - 2, CHUNK / width).map((at) => {
            const rows = Math.min(CHUNK / width, height - 2 - at);
            return {
              elements: (rows + 2) * width,
              inputs: [plainFrom.subarray(at * width, (at + rows + 2) * width)],
              result: plain.subarray((at + 1) * width, (at + 1 + rows) * width),
              resultAt: width,
            };
          }),
        },
      };
    },
  },
  {
    name: 'sgemm',
    // Small, since its work is 32 multiplications for each word of b.
    deviceBytes: 2 ** 24,
    make: (space, bytes) => {
      // b, and two strips of 32 rows: n * n + 2 * 32 * n words.
      const n = Math.floor(Math.sqrt(bytes / 4 + SGEMM_ROWS ** 2) - SGEMM_ROWS);
      const [a, b, c] = [SGEMM_ROWS * n, n * n, SGEMM_ROWS * n].map((length) =>
        space.array(Float32Array, length),
      );
      const [plainA, plainB, plain] = [fill(a, 3), fill(b, 7), new Float32Array(SGEMM_ROWS * n)];
      const range = { begin: 0, end: SGEMM_ROWS, size: SGEMM_ROWS, unit: 0, units: 1 };
      return {
        inputs: [a, b],
        outputs: [{ array: c, plain }],
        launch: (device) => device.run(sgemmKernel, { a, b, c, n }, { size: SGEMM_ROWS }),
        compute: () => {
          plain.fill(0);
          sgemmKernel.kernel?.({ a: plainA, b: plainB, c: plain, n }, range);
        },
      };
    },
  },
  gather('gather', gatherKernel),
  gather('gather-planned', plannedKernel),
];

/**
 * GB/s of a device in C that takes a fault for each page and gets 4 KiB, on the CPU of what answers
 * it and wherever the kernel likes.
 */
function cFaults(wanted: boolean): Record<string, () => number> {
  const built = wanted ? buildReference('faults') : { missing: '' };
  const all: [string, () => number][] = [];
  for (const placement of placements) {
    if (placement.name === 'across') continue;
    const runs = cReferences(
      built,
      'device-copy',
      FAULTS,
      placement,
      [],
      (ns) => (FAULTS * 4096) / ns,
    );
    for (const [name, run] of Object.entries(runs))
      all.push([`${name}, ${placement.name}, a fault for each 4 KiB`, run]);
  }
  return Object.fromEntries(all);
}

/**
 * Writes a word of each page as it was, so that the device's copies of the inputs are worth
 * nothing.
 */
function takeBack(array: ManagedArray): void {
  const data = array.data;
  for (let at = 0; at < data.length; at += WORDS_PER_PAGE) data.fill(data[at] as never, at, at + 1);
}

async function measure(
  settings: Settings,
  program: Program,
  factor: number,
  memory: MemoryCopy,
): Promise<void> {
  const name = `oversubscribed/${program.name}/${factor}x`;
  if (!settings.wants(name)) return;
  const space = await openSpace({
    hostMemory: '512MiB',
    devices: [{ kind: 'process', memory: program.deviceBytes }],
  });
  const [device] = space.devices;
  try {
    const job = program.make(space, program.deviceBytes * factor);
    const bytesIn = job.bytesIn ?? sum(job.inputs);
    const bytesOut = sum(job.outputs.map(({ array }) => array));
    const parts = { compute: [] as number[], in: [] as number[], out: [] as number[] };
    const before = device.stats();
    let launches = 0;
    const { expert } = job;
    const rival =
      expert === undefined ? null : new ExpertDevice(expert.program, expert.most, expert.width);
    await compare(settings, {
      name,
      unit: 'GB/s',
      better: 'higher',
      ours: async () => {
        for (const input of job.inputs) takeBack(input);
        launches++;
        const start = performance.now();
        await job.launch(device);
        using stream = device.stream();
        for (const { array } of job.outputs) stream.prefetch(array.range(), 'host');
        await stream.synchronize();
        const elapsed = performance.now() - start;
        return (bytesIn + bytesOut) / 1e6 / elapsed;
      },
      references: {
        roofline: () => {
          const start = performance.now();
          job.compute();
          parts.compute.push(performance.now() - start);
          const rate = memory.rate(COPIED_BYTES, BLOCK_BYTES);
          parts.in.push(bytesIn / 1e6 / rate);
          parts.out.push(bytesOut / 1e6 / rate);
          const longest = Math.max(...Object.values(parts).map((each) => each[each.length - 1]));
          return (bytesIn + bytesOut) / 1e6 / longest;
        },
      },
      beside: {
        ...cFaults(job.faultsAPage === true),
        ...(expert !== undefined && rival !== null
          ? {
              "an expert's program": () => {
                job.outputs[0].plain.fill(0);
                const start = performance.now();
                rival.run(expert.chunks);
                return (bytesIn + bytesOut) / 1e6 / (performance.now() - start);
              },
            }
          : {}),
      },
      extra: () => {
        const after = device.stats();
        return {
          deviceBytes: program.deviceBytes,
          bytes: bytesIn + bytesOut,
          'ms of computing, copying in, copying out': Object.values(parts).map((each) =>
            rounded(median(each)),
          ),
          'moved in and out per byte of data': [
            after.bytesIn - before.bytesIn,
            after.bytesOut - before.bytesOut,
          ].map((moved) => rounded(moved / launches / (bytesIn + bytesOut))),
          'faults a launch': Math.round(
            (after.readFaults + after.writeFaults - before.readFaults - before.writeFaults) /
              launches,
          ),
        };
      },
    });
    rival?.close();
    for (const { array, plain } of job.outputs) {
      const data = array.data;
      let wrong = 0;
      for (let i = 0; i < plain.length; i++) if (data[i] !== plain[i]) wrong++;
      verify(wrong === 0, `${name}: ${wrong} elements`);
    }
  } finally {
    await space.close();
  }
}

function sum(arrays: readonly ManagedArray[]): number {
  return arrays.reduce((total, array) => total + array.byteLength, 0);
}

async function run(settings: Settings): Promise<void> {
  warmMemory(2 ** 29);
  const memory = new MemoryCopy();
  for (const program of programs)
    for (const factor of FACTORS) await measure(settings, program, factor, memory);
}

export const oversubscribed: Bench = {
  name: 'oversubscribed',
  what: 'GB/s of triad, stencil, sgemm and gather, without and with a plan, over 0.75 to 2 times the device; beside a roofline',
  run,
};
