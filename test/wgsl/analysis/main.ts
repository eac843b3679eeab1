/**
 * How long the analysis of generated modules takes: reading a module, finding what its workgroups
 * touch, and rewriting it for parts. Nothing hangs, and nothing takes long.
 */
import { accessesOf } from '../../../src/wgsl/analysis/accesses.js';
import { describe } from '../../../src/wgsl/reading/describe.js';
import { loadParser } from '../../../src/wgsl/reading/parser.js';
import { WgslError } from '../../../src/wgsl/reading/wgsl-error.js';
import { windowed } from '../../../src/wgsl/rewriting/windowed.js';
import { readOptions } from '../../harness/options.js';
import { kernelOf } from '../random-kernel.js';

const USAGE = `node .build/test/wgsl/analysis/main.js [--modules N] [--seed S]

--modules N  that are generated; 200 unless said otherwise
--seed S     of the first; 1 unless said otherwise`;

/** Milliseconds of a processor. */
const MOST_MEDIAN_MS = 20;
const MOST_MS = 500;
/** Every so many modules one is deep: functions call functions, loops stand in loops. */
const DEEP = 10;

const { values } = readOptions(USAGE, {
  options: {
    modules: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
  },
});
const count = Number(values.modules);
const first = Number(values.seed);
const parser = await loadParser();

/** Calls, loops and choices, each in the other, of a depth and width that the seed says. */
function deepModule(seed: number): string {
  const depth = 2 + (seed % 23);
  const wide = 1 + (Math.floor(seed / 23) % 4);
  const functions = Array.from({ length: depth }, (_, at) => {
    const calls = Array.from({ length: wide }, (_, each) => `f${at + 1}(n + ${each}u)`).join(' + ');
    const body = [
      `return ${calls};`,
      `var s = 0u; for (var i = 0u; i < n % 8u; i++) { s += ${calls}; } return s;`,
      `if (n > ${at}u) { return ${calls}; } return n;`,
      `var s = n; switch (n % 3u) { case 0u: { s = ${calls}; } default: { s += 1u; } } return s;`,
    ][(seed + at) % 4];
    return `fn f${at}(n: u32) -> u32 { ${body} }`;
  });
  const loops = 1 + (seed % 6);
  const open = Array.from(
    { length: loops },
    (_, at) => `for (var k${at} = 0u; k${at} < 4u; k${at}++) {`,
  );
  return `@group(0) @binding(0) var<storage> a: array<u32>; @group(0) @binding(1) var<storage, read_write> b: array<u32>;
${functions.join('\n')}
fn f${depth}(n: u32) -> u32 { return a[n]; }
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  ${open.join(' ')} b[id.x] += f0(id.x); ${'}'.repeat(loops)}
}`;
}

function analyse(source: string, lengths: Readonly<Record<string, number>>): void {
  const description = describe(parser, source);
  windowed(description);
  const workgroups = [16, 1, 1] as const;
  const known = description.resources.filter(({ runtimeArray }) => runtimeArray !== null);
  const all = Object.fromEntries(known.map(({ name }) => [name, lengths[name] ?? 1000]));
  accessesOf(description, { workgroups, lengths: all, uniforms: {} });
}

const times: { ms: number; seed: number }[] = [];
let refused = 0;
let failed = 0;
for (let seed = first; seed < first + count; seed++) {
  const isDeep = seed % DEEP === 0;
  const source = isDeep ? deepModule(seed / DEEP) : kernelOf(seed, true).source;
  const before = process.cpuUsage();
  try {
    analyse(source, {});
  } catch (error) {
    // What is not known is said with its place.
    if (error instanceof WgslError) refused++;
    else {
      failed++;
      console.log(`FAIL module of seed ${seed}: ${error instanceof Error ? error.stack : error}`);
    }
  }
  const { user, system } = process.cpuUsage(before);
  times.push({ ms: (user + system) / 1000, seed });
}
times.sort((one, other) => one.ms - other.ms);
const median = times[times.length >> 1]?.ms ?? 0;
const { ms: most, seed: slowest } = times.at(-1) ?? { ms: 0, seed: 0 };
console.log(
  `${count} modules: median ${median.toFixed(1)} ms of a processor, most ${most.toFixed(0)} ms (seed ${slowest}), ${refused} not known`,
);
if (median > MOST_MEDIAN_MS || most > MOST_MS) {
  failed++;
  console.log(`FAIL median ${MOST_MEDIAN_MS} ms and most ${MOST_MS} ms are the limits`);
}
console.log(`${count - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
