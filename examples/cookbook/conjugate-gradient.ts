/**
 * Solves one implicit step of the heat equation on a square by the method of conjugate gradients
 * (Hestenes and Stiefel, 1952): a sparse symmetric system in compressed rows, larger than the
 * device's memory. The device multiplies and adds; the CPU reads sums between launches from managed
 * memory, as it would read any array.
 */
import {
  type AddressSpace,
  type Device,
  f64,
  i32,
  kernel,
  type ManagedArray,
  openSpace,
} from 'onemem';

/** Inner points of the grid along one side. */
const SIDE = 224;
const N = SIDE * SIDE;
/** The five-point Laplacian, and what a step of 10 units of time adds to its diagonal. */
const DIAGONAL = 4 + 1 / 10;
const TOLERANCE = 1e-4;
/**
 * Each work item handles one slice of the rows, and adds up its part of a dot product for itself.
 */
const SLICES = 64;

type Vector = ManagedArray<Float64Array>;

/** q = A p, and the parts of p . q */
const multiply = kernel(
  { rows: i32.in, columns: i32.in, values: f64.in, p: f64.in, q: f64.inout, sums: f64.out },
  ({ rows, columns, values, p, q, sums }, { begin, end, size }) => {
    for (let slice = begin; slice < end; slice++) {
      let sum = 0;
      const last = Math.floor((p.length * (slice + 1)) / size);
      for (let row = Math.floor((p.length * slice) / size); row < last; row++) {
        let product = 0;
        for (let k = rows[row]; k < rows[row + 1]; k++) product += values[k] * p[columns[k]];
        q[row] = product;
        sum += p[row] * product;
      }
      sums[slice] = sum;
    }
  },
);

/** x += alpha p; r -= alpha q, and the parts of r . r */
const advance = kernel(
  { x: f64.inout, r: f64.inout, p: f64.in, q: f64.in, alpha: f64, sums: f64.out },
  ({ x, r, p, q, alpha, sums }, { begin, end, size }) => {
    for (let slice = begin; slice < end; slice++) {
      let sum = 0;
      const last = Math.floor((x.length * (slice + 1)) / size);
      for (let i = Math.floor((x.length * slice) / size); i < last; i++) {
        x[i] += alpha * p[i];
        r[i] -= alpha * q[i];
        sum += r[i] * r[i];
      }
      sums[slice] = sum;
    }
  },
);

/** p = r + beta p */
const turn = kernel({ p: f64.inout, r: f64.in, beta: f64 }, ({ p, r, beta }, { begin, end }) => {
  for (let i = begin; i < end; i++) p[i] = r[i] + beta * p[i];
});

/** Each point by the diagonal, less its neighbours. */
class Matrix {
  readonly rows: ManagedArray<Int32Array>;
  readonly columns: ManagedArray<Int32Array>;
  readonly values: Vector;

  constructor(space: AddressSpace) {
    const entries = 5 * N - 4 * SIDE;
    this.rows = space.array(Int32Array, N + 1, { name: 'rows' });
    this.columns = space.array(Int32Array, entries, { name: 'columns' });
    this.values = space.array(Float64Array, entries, { name: 'values' });
    const { data: rows } = this.rows;
    const { data: columns } = this.columns;
    const { data: values } = this.values;
    let k = 0;
    for (let i = 0; i < N; i++) {
      rows[i] = k;
      const column = i % SIDE;
      if (i >= SIDE) [columns[k], values[k++]] = [i - SIDE, -1];
      if (column > 0) [columns[k], values[k++]] = [i - 1, -1];
      [columns[k], values[k++]] = [i, DIAGONAL];
      if (column < SIDE - 1) [columns[k], values[k++]] = [i + 1, -1];
      if (i < N - SIDE) [columns[k], values[k++]] = [i + SIDE, -1];
    }
    rows[N] = k;
  }
}

const sumOf = ({ data }: Vector): number => data.reduce((sum, part) => sum + part, 0);

/** Returns the number of steps. `x` begins with zeros, and ends as the solution of A x = b. */
async function solve(
  space: AddressSpace,
  device: Device,
  a: Matrix,
  b: Float64Array,
  x: Vector,
): Promise<number> {
  const [r, p, q] = ['r', 'p', 'q'].map((name) => space.array(Float64Array, N, { name }));
  const sums = space.array(Float64Array, SLICES, { name: 'sums' });
  r.data.set(b);
  p.data.set(b);
  let rr = b.reduce((sum, value) => sum + value * value, 0);
  const goal = TOLERANCE ** 2 * rr;
  for (let step = 1; step <= N; step++) {
    const { rows, columns, values } = a;
    await device.run(multiply, { rows, columns, values, p, q, sums }, { size: SLICES });
    const alpha = rr / sumOf(sums);
    await device.run(advance, { x, r, p, q, alpha, sums }, { size: SLICES });
    const next = sumOf(sums);
    if (next <= goal) return step;
    await device.run(turn, { p, r, beta: next / rr }, { size: N });
    rr = next;
  }
  throw new Error(`no solution after ${N} steps`);
}

/** |b - A x| / |b|, with another A: straight from the grid. */
function residual(b: Float64Array, x: Float64Array): number {
  let above = 0;
  let below = 0;
  for (let i = 0; i < N; i++) {
    const column = i % SIDE;
    const left = column > 0 ? x[i - 1] : 0;
    const right = column < SIDE - 1 ? x[i + 1] : 0;
    const up = i >= SIDE ? x[i - SIDE] : 0;
    const down = i < N - SIDE ? x[i + SIDE] : 0;
    above += (b[i] - (DIAGONAL * x[i] - left - right - up - down)) ** 2;
    below += b[i] ** 2;
  }
  return Math.sqrt(above / below);
}

await using space = await openSpace({ devices: [{ kind: 'process', memory: '4MiB' }] });
const [device] = space.devices;
const matrix = new Matrix(space);
const x = space.array(Float64Array, N, { name: 'x' });
// A hot point and a cold one.
const b = new Float64Array(N);
b[Math.floor(N / 3)] = 1;
b[Math.floor(N / 2)] = -1;
const steps = await solve(space, device, matrix, b, x);
const left = residual(b, x.data);
if (!(left < 10 * TOLERANCE)) throw new Error(`|b - Ax| / |b| is ${left}, which is no solution`);
const bytes = space.stats().allocatedBytes;
if (bytes <= device.memory) throw new Error('the system was meant to be larger than the device');
console.log(
  `${N} unknowns, ${matrix.values.length} entries; ${steps} steps; |b - Ax| / |b| = ${left.toExponential(1)}`,
);
console.log(`${(bytes / 2 ** 20).toFixed(1)} MiB on a device of ${device.memory / 2 ** 20} MiB`);
