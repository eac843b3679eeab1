/**
 * Ways through more than a device has that are hard for a memory which moves blocks: down the
 * columns of a matrix, its transpose, many arrays at once, changes here and there; beside the same
 * kernels where everything fits. Each run has arrays of its own, which the device has never seen.
 */
import { type Device, f32, type Kernel, kernel, openSpace } from '../src/index.js';
import { type Bench, compare, type Settings, verify } from './harness.js';
import { warmMemory } from './placement.js';

const MIB = 2 ** 20;
const MEMORY = 16 * MIB;
const ENOUGH = 64 * MIB;
/** Elements of 32 MiB: rows of a matrix that are no whole pages, and ones that are. */
const [ROWS, COLUMNS] = [2896, 2896];
const SIDE = 2048;
const PART = (32 * MIB) / 9 / 4;

const columns = kernel({ x: f32.inout, rows: f32, columns: f32 }, ({ x, rows, columns }) => {
  for (let column = 0; column < columns; column++)
    for (let row = 0; row < rows; row++) x[row * columns + column] += column;
});
const transpose = kernel({ x: f32.in, y: f32.out, side: f32 }, ({ x, y, side }) => {
  for (let row = 0; row < side; row++)
    for (let column = 0; column < side; column++) y[column * side + row] = x[row * side + column];
});
const nine = kernel(
  {
    a: f32.in,
    b: f32.in,
    c: f32.in,
    d: f32.in,
    e: f32.in,
    f: f32.in,
    g: f32.in,
    h: f32.in,
    sum: f32.out,
  },
  ({ a, b, c, d, e, f, g, h, sum }, { begin, end }) => {
    for (let i = begin; i < end; i++)
      sum[i] = a[i] + b[i] + c[i] + d[i] + e[i] + f[i] + g[i] + h[i];
  },
);
const changes = kernel({ x: f32.in, y: f32.inout }, ({ x, y }) => {
  let seed = 1;
  for (let change = 0; change < 20_000; change++) {
    seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
    y[seed % y.length] += x[change];
  }
});

interface Pattern {
  readonly name: string;
  readonly kernel: Kernel;
  readonly size: number;
  /** Elements of each array. */
  readonly lengths: Readonly<Record<string, number>>;
  readonly numbers?: Readonly<Record<string, number>>;
}

const patterns: readonly Pattern[] = [
  {
    name: 'columns',
    kernel: columns as Kernel,
    size: 1,
    lengths: { x: ROWS * COLUMNS },
    numbers: { rows: ROWS, columns: COLUMNS },
  },
  {
    name: 'transpose',
    kernel: transpose as Kernel,
    size: 1,
    lengths: { x: SIDE * SIDE, y: SIDE * SIDE },
    numbers: { side: SIDE },
  },
  {
    name: 'nine-arrays',
    kernel: nine as Kernel,
    size: Math.floor(PART),
    lengths: Object.fromEntries([...'abcdefgh', 'sum'].map((name) => [name, Math.floor(PART)])),
  },
  {
    name: 'changes',
    kernel: changes as Kernel,
    size: 1,
    lengths: { x: 20_000, y: (32 * MIB) / 4 },
  },
];

/** Milliseconds of one launch over new arrays, and what it makes of the last of them. */
async function launch(
  { kernel: code, size, lengths, numbers }: Pattern,
  device: Device,
): Promise<[number, Float32Array]> {
  const entries = Object.entries(lengths).map(([name, length], at) => {
    const array = device.space.array(Float32Array, length);
    for (let i = 0, { data } = array; i < length; i++) data[i] = (i * 7 + at) % 1009;
    return [name, array] as const;
  });
  const start = performance.now();
  await device.run(code, { ...Object.fromEntries(entries), ...numbers } as never, { size });
  const elapsed = performance.now() - start;
  const made = entries[entries.length - 1][1].data.slice();
  for (const [, array] of entries) array.free();
  return [elapsed, made];
}

async function run(settings: Settings): Promise<void> {
  const sizes = {
    devices: [MEMORY, ENOUGH].map((memory) => ({ kind: 'process', memory, units: 1 }) as const),
  };
  await using space = await openSpace({ hostMemory: '512MiB', ...sizes });
  warmMemory(128 * MIB);
  const [small, large] = space.devices;
  for (const pattern of patterns) {
    if (!settings.wants(`patterns/${pattern.name}`)) continue;
    let made: Float32Array | null = null;
    let moved = 0;
    await compare(settings, {
      name: `patterns/${pattern.name}`,
      unit: 'ms',
      better: 'lower',
      warmUp: 1,
      ours: async () => {
        const before = small.stats();
        const [elapsed, result] = await launch(pattern, small);
        const after = small.stats();
        moved = after.bytesIn + after.bytesOut - before.bytesIn - before.bytesOut;
        made = result;
        return elapsed;
      },
      references: {
        'everything fits': async () => {
          const [elapsed, result] = await launch(pattern, large);
          verify(
            made !== null && Buffer.from(made.buffer).equals(Buffer.from(result.buffer)),
            pattern.name,
          );
          return elapsed;
        },
      },
      extra: () => ({ memory: MEMORY, movedBytes: moved }),
    });
  }
}

export const patternsBench: Bench = {
  name: 'patterns',
  what: 'ms of kernels over twice the memory: down columns, a transpose, nine arrays, changes here and there; beside all that fits',
  run,
};
