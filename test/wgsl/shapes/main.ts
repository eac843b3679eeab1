/**
 * Programs of the shapes that public code has: how many can be bound as they are, how many are cut
 * or paged with half and with a quarter of their memory, and whether each leaves then what one
 * dispatch of it by plain WebGPU leaves, bit for bit.
 */
import assert from 'node:assert/strict';
import { bytes, f32, i32, kernel, u32, uniform } from '../../../src/index.js';
import { PageMemory } from '../../../src/wgsl/dividing/page-memory.js';
import { type Description, describe } from '../../../src/wgsl/reading/describe.js';
import { loadParser } from '../../../src/wgsl/reading/parser.js';
import type { Type } from '../../../src/wgsl/reading/types.js';
import { readOptions } from '../../harness/options.js';
import { Gpu } from '../gpu.js';
import type { Arrays } from '../kernel-case.js';
import { TestLaunch } from '../launch.js';
import { IMAGES } from './images.js';
import { LINEAR } from './linear.js';
import { NETWORKS } from './networks.js';
import type { Shape } from './shape.js';
import { SIMULATIONS } from './simulations.js';
import { SORTS } from './sorts.js';

const USAGE = `node scripts/software-gpu.mjs node .build/test/wgsl/shapes/main.js [--every N] [--verbose] [NAME ...]

--every N  only each N-th of the programs
--verbose  says of each what becomes of it
NAME       of a program; all unless some are named`;

const { values, positionals: names } = readOptions(USAGE, {
  options: {
    every: { type: 'string', default: '1' },
    verbose: { type: 'boolean', default: false },
  },
  allowPositionals: true,
});
const all = [...LINEAR, ...IMAGES, ...SIMULATIONS, ...SORTS, ...NETWORKS];
const chosen = all.filter(({ name }, at) =>
  names.length > 0 ? names.includes(name) : at % Number(values.every) === 0,
);
/** With all of the memory there is nothing to do but to bind. */
const SHARES = [1 / 2, 1 / 4];

type Way = 'cut' | 'planned' | 'rounds' | 'refused';

const parser = await loadParser();
const gpu = await Gpu.open();
let [passed, failed, bound] = [0, 0, 0];
/** Of all launches that run in rounds: the first time, and when they are repeated. */
const rounds: [number, number] = [0, 0];
const ways: Record<Way, number> = { cut: 0, planned: 0, rounds: 0, refused: 0 };
for (const each of chosen) {
  try {
    const description = describe(parser, each.source);
    kernel(parametersOf(description), { wgsl: each.source });
    bound++;
    const launch = new TestLaunch(each, description);
    const direct = await launch.direct(gpu);
    assert.ok(isChanged(direct, each), 'it changes nothing');
    const found: string[] = [];
    for (const share of SHARES) {
      const [way, said] = await lesser(launch, direct, share);
      ways[way]++;
      found.push(said);
    }
    passed++;
    if (values.verbose) console.log(`${each.name.padEnd(52)} ${found.join(', ')}`);
  } catch (error) {
    failed++;
    console.log(`FAIL ${each.name}: ${error instanceof Error ? error.stack : String(error)}`);
  }
}
await gpu.close();
const launches = Object.values(ways).reduce((sum, each) => sum + each, 0);
const percent = (part: number, of: number): string => `${Math.round((100 * part) / of)}%`;
const counted = (Object.keys(ways) as Way[]).map((way) => `${way} ${percent(ways[way], launches)}`);
console.log(`${chosen.length} programs: bound ${percent(bound, chosen.length)}`);
console.log(`${launches} launches with half or a quarter of their memory: ${counted.join(', ')}`);
console.log(`rounds: ${rounds[0]}, and ${rounds[1]} when they are repeated`);
const able = launches - ways.refused;
if (chosen.length === all.length) {
  const known = ways.cut + ways.planned;
  if (bound < 0.95 * chosen.length || able < 0.95 * launches || known < 0.9 * launches) {
    failed++;
    console.log('FAIL 95% are to be bound, 95% cut or paged, and 90% cut or planned');
  } else passed++;
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

/** What becomes of a launch with less memory, having left what it is to leave. */
async function lesser(launch: TestLaunch, direct: Arrays, share: number): Promise<[Way, string]> {
  const plan = launch.plan(launch.bytes * share);
  if (plan.kind === 'parts') {
    const said = `${plan.parts.length} parts`;
    assert.deepEqual(await launch.inParts(gpu, plan.parts), direct, said);
    return ['cut', said];
  }
  const planned = await launch.planned(gpu, share);
  if (planned !== null) {
    const said = `${planned.dispatches} planned dispatches`;
    assert.deepEqual(planned.arrays, direct, said);
    return ['planned', said];
  }
  const byContents = launch.planByContents(launch.bytes * share);
  if (byContents?.kind === 'parts') {
    const said = `${byContents.parts.length} parts by what arrays hold`;
    assert.deepEqual(await launch.inParts(gpu, byContents.parts), direct, said);
    return ['cut', said];
  }
  const memory = new PageMemory();
  const { arrays, outcome } = await launch.paged(gpu, share, memory);
  if (typeof outcome === 'string') return ['refused', outcome];
  assert.deepEqual(arrays, direct, `${outcome.rounds} rounds`);
  const again = await launch.paged(gpu, share, memory);
  assert.ok(typeof again.outcome !== 'string');
  const said = `${outcome.rounds} rounds and ${again.outcome.rounds} the second time`;
  assert.deepEqual(again.arrays, direct, said);
  assert.ok(again.outcome.rounds <= outcome.rounds, said);
  rounds[0] += outcome.rounds;
  rounds[1] += again.outcome.rounds;
  return ['rounds', said];
}

/** A parameter for each variable, as its text has them. */
function parametersOf({ resources }: Description) {
  return Object.fromEntries(
    resources.map(({ name, space, isStored, runtimeArray, type }) => {
      if (space === 'uniform') return [name, uniform];
      const isMixed = type.kind === 'struct' && runtimeArray !== null;
      const number = isMixed ? 'bytes' : elementOf(runtimeArray?.element ?? type);
      const element = { f32, u32, i32, bytes }[number];
      return [name, isStored ? element.inout : element.in];
    }),
  );
}

/** The one type of numbers that it consists of. */
function elementOf(type: Type): 'f32' | 'u32' | 'i32' | 'bytes' {
  if (type.kind === 'array') return elementOf(type.element);
  if (type.kind === 'struct') {
    const [first = 'bytes', ...others] = type.members.map((each) => elementOf(each.type));
    return others.every((each) => each === first) ? first : 'bytes';
  }
  const name =
    type.kind === 'vector' || type.kind === 'matrix'
      ? type.component
      : type.kind === 'scalar' || type.kind === 'atomic'
        ? type.name
        : 'bytes';
  return name === 'f32' || name === 'u32' || name === 'i32' ? name : 'bytes';
}

function isChanged(arrays: Arrays, { arrays: given }: Shape): boolean {
  return Object.entries(arrays).some(([name, each]) =>
    each.some((value, at) => !Object.is(value, given[name]?.[at])),
  );
}
