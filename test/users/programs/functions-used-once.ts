/**
 * Compiles kernels as devices do, each once, and prints how many bytes are kept. Node.js is started
 * with --expose-gc.
 */
import { compileKernel } from '../../../src/drivers/kernel-loader.js';

const RANGE = { begin: 0, end: 1, size: 1, unit: 0, units: 1 };
const collect = (globalThis as { gc?: () => void }).gc as () => void;
const x = new Float64Array(1);

function compileUntil(end: number, begin = 0): number {
  for (let made = begin; made < end; made++)
    compileKernel(`({ x }) => { x[0] += ${made}; }`)({ x }, RANGE);
  collect();
  return process.memoryUsage().heapUsed;
}

const before = compileUntil(1000);
console.log(Math.max(1, compileUntil(11_000, 1000) - before));
if (x[0] !== (10_999 * 11_000) / 2) throw new Error(`the sum is ${x[0]}`);
