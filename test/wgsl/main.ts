/** Programs in WGSL, whole and in parts, on a GPU in software. */
import { loadParser } from '../../src/wgsl/reading/parser.js';
import { readOptions } from '../harness/options.js';
import { SMALLER, tryKernel } from './corpus.js';
import { Gpu } from './gpu.js';
import type { KernelCase } from './kernel-case.js';
import { ELEMENTWISE } from './kernels/elementwise.js';
import { HIDING } from './kernels/hiding.js';
import { NAMED } from './kernels/named.js';
import { NEIGHBOURS } from './kernels/neighbours.js';
import { RESUMED } from './kernels/resumed.js';
import { SHARED } from './kernels/shared.js';
import { STRUCTURED } from './kernels/structured.js';
import { randomKernel } from './random-kernel.js';

const USAGE = `node scripts/software-gpu.mjs node .build/test/wgsl/main.js [--seed S] [--programs N | --minutes M] [--random] [NAME ...]

--seed S      of the first random program; 1 unless said otherwise
--programs N  random ones; 20 unless said otherwise
--minutes M   as many as that allows
--random      random programs alone, each of them paged, too
NAME          of a kernel that is tried; all unless some are named`;

const { values, positionals: names } = readOptions(USAGE, {
  options: {
    seed: { type: 'string', default: '1' },
    programs: { type: 'string', default: '20' },
    minutes: { type: 'string' },
    random: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const seed = Number(values.seed);
const programs = values.minutes === undefined ? Number(values.programs) : Number.POSITIVE_INFINITY;
const end =
  values.minutes === undefined
    ? Number.POSITIVE_INFINITY
    : Date.now() + Number(values.minutes) * 60_000;
const parser = await loadParser();
const gpu = await Gpu.open();
const clamps = await gpu.clampsIndices();
console.log(
  clamps ? gpu.name : `${gpu.name}, where reads beyond an array's end are not its last element`,
);
// A launch that is paged is many dispatches: in a short run one share of the memory must do, for
// those that look things up, and some programs.
const isLong = values.minutes !== undefined || values.random;
const sharesOf = (kernel: KernelCase): readonly number[] => {
  if (isLong || names.length > 0) return SMALLER;
  return [SHARED, RESUMED, HIDING, STRUCTURED].some((each) => each.includes(kernel)) ? [1 / 4] : [];
};
let passed = 0;
let failed = 0;
let skipped = 0;
const tried = async (name: string, what: () => Promise<void>) => {
  try {
    await what();
    passed++;
  } catch (error) {
    failed++;
    console.log(`FAIL ${name}: ${error instanceof Error ? error.stack : String(error)}`);
  }
};
for (const kernel of [
  ...ELEMENTWISE,
  ...NEIGHBOURS,
  ...SHARED,
  ...NAMED,
  ...RESUMED,
  ...HIDING,
  ...STRUCTURED,
]) {
  const isAsked = names.includes(kernel.name) || (names.length === 0 && !values.random);
  if (isAsked && kernel.clamped && !clamps) {
    skipped++;
    console.log(
      `skip ${kernel.name}: this GPU does not take the last element for one beyond the end`,
    );
  } else if (isAsked)
    await tried(kernel.name, () => tryKernel(parser, gpu, kernel, sharesOf(kernel)));
}
let cut = 0;
let home = 0;
let resumed = 0;
let planned = 0;
let played = 0;
while (names.length === 0 && played < programs && Date.now() < end) {
  const own = seed + played++;
  await tried(`random program, seed ${own}`, async () => {
    const done = await randomKernel(parser, gpu, own, isLong || own % 8 === 0, clamps);
    if (done.cut) cut++;
    if (done.home) home++;
    if (done.resumed) resumed++;
    if (done.planned) planned++;
  });
}
if (played > 0)
  console.log(
    `${cut} of ${played} random programs were cut, pages of ${home} went home, ${resumed} had results of atomics or went by what they wrote, ${planned} ran by plans, seeds from ${seed}`,
  );
await gpu.close();
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
process.exitCode = failed > 0 ? 1 : 0;
