/**
 * Tasks of random size, each a matrix times a vector. Large ones go to the device, over four
 * streams; small ones are not worth the way and run on the CPU meanwhile. Both run the same
 * function on the same kind of array.
 */
import { type AddressSpace, f64, i32, kernel, type ManagedArray, openSpace } from 'onemem';

const STREAMS = 4;
const TASKS = 40;
/** Rows from which on a task goes to the device. */
const WORTH_IT = 200;

const multiply = kernel(
  { matrix: f64.in, vector: f64.in, product: f64.out, columns: i32 },
  ({ matrix, vector, product, columns }, { begin, end }) => {
    for (let row = begin; row < end; row++) {
      let sum = 0;
      for (let column = 0; column < columns; column++)
        sum += matrix[row * columns + column] * vector[column];
      product[row] = sum;
    }
  },
);

/** Numbers that are the same in every run (mulberry32). */
function randomNumbers(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

class Task {
  readonly matrix: ManagedArray<Float64Array>;
  readonly vector: ManagedArray<Float64Array>;
  readonly product: ManagedArray<Float64Array>;

  constructor(
    space: AddressSpace,
    readonly seed: number,
    readonly rows: number,
  ) {
    this.matrix = space.array(Float64Array, rows * rows);
    this.vector = space.array(Float64Array, rows);
    this.product = space.array(Float64Array, rows);
    const next = randomNumbers(seed);
    for (const { data } of [this.matrix, this.vector])
      for (let i = 0; i < data.length; i++) data[i] = next() - 0.5;
  }

  /** The same once more, with nothing but numbers: every product must agree to the last bit. */
  check(): void {
    const { rows, seed } = this;
    const next = randomNumbers(seed);
    const matrix = Float64Array.from({ length: rows * rows }, () => next() - 0.5);
    const vector = Float64Array.from({ length: rows }, () => next() - 0.5);
    const { data } = this.product;
    for (let row = 0; row < rows; row++) {
      const expected = matrix
        .subarray(row * rows, (row + 1) * rows)
        .reduce((sum, x, i) => sum + x * vector[i], 0);
      const found = data[row];
      if (found !== expected)
        throw new Error(`task ${seed}, row ${row}: ${found} instead of ${expected}`);
    }
  }
}

await using space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB', units: 2 }] });
const [device] = space.devices;
const size = randomNumbers(2026);
const tasks = Array.from(
  { length: TASKS },
  (_, seed) => new Task(space, seed, 32 + Math.floor(480 * size())),
);
const streams = Array.from({ length: STREAMS }, () => device.stream());

const large = tasks.filter(({ rows }) => rows >= WORTH_IT);
const small = tasks.filter(({ rows }) => rows < WORTH_IT);
for (const [index, { matrix, vector, product, rows }] of large.entries()) {
  const stream = streams[index % STREAMS];
  // While one stream computes, the others bring what they need next.
  stream.prefetch(matrix.range());
  stream.launch(multiply, { matrix, vector, product, columns: rows }, { size: rows });
}
for (const { matrix, vector, product, rows } of small) {
  const range = { begin: 0, end: rows, size: rows, unit: 0, units: 1 };
  multiply.kernel?.(
    { matrix: matrix.data, vector: vector.data, product: product.data, columns: rows },
    range,
  );
}
for (const stream of streams) await stream.synchronize();

for (const task of tasks) task.check();
const bytes = tasks.reduce((sum, { matrix }) => sum + matrix.byteLength, 0);
console.log(`${TASKS} tasks with ${Math.round(bytes / 2 ** 20)} MiB of matrices are right`);
console.log(
  `${large.length} on the device (${device.memory / 2 ** 20} MiB) in ${STREAMS} streams, ${small.length} on the CPU`,
);
