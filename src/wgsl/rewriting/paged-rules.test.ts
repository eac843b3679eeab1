import { expect, test } from 'vitest';
import { accessesOf } from '../analysis/accesses.js';
import { describe } from '../reading/describe.js';
import { loadParser } from '../reading/parser.js';
import { replayOf } from './paged-rules.js';

const parser = await loadParser();
const PRELUDE = `@group(0) @binding(0) var<storage, read> table: array<u32>; @group(0) @binding(1) var<storage, read_write> out: array<u32>;
@group(0) @binding(2) var<storage, read_write> sums: array<atomic<u32>>; var<workgroup> s: array<u32, 64>; var<workgroup> count: atomic<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u, @builtin(local_invocation_index) l: u32) {
let i = id.x; _ = &sums; `;

/** How a kernel runs whose table, and what it names besides, is paged; or why it cannot. */
function replay(body: string, ...others: string[]): string {
  const description = describe(parser, `${PRELUDE}${body} }`);
  const paged = description.resources.filter(
    ({ name }) => name === 'table' || others.includes(name),
  );
  try {
    const { probes, events, together } = replayOf(
      description,
      accessesOf(description, null),
      new Set(paged),
    );
    const logged = events && `resumes, ${events.words ?? 'any number of'} words`;
    return `${logged ?? (probes ? 'probes' : 'once')}${together === null ? '' : ' together'}`;
  } catch (error) {
    return (error as Error).message.replace(/^\d+:\d+: /, '');
  }
}

test.each([
  ['out[i] = table[table[i]];', 'once'],
  ['out[i] += table[table[i]];', 'probes'],
  ['out[table[i]] = table[i];', 'once'],
  ['atomicAdd(&sums[table[i]], 1u);', 'probes'],
  ['out[i] = atomicLoad(&sums[table[i]]);', 'probes'],
  ['s[l] = table[i]; workgroupBarrier(); out[i] = s[63u - l];', 'probes together'],
  ['let at = atomicAdd(&count, 1u); out[i] = at + table[i];', 'probes together'],
  ['s[l] = table[i]; let all = workgroupUniformLoad(&s[0]); out[i] = all;', 'probes together'],
  ['if (workgroupUniformLoad(&s[0]) == 0u) { out[i] = table[i]; }', 'probes together'],
  [
    'out[i] = 1u; storageBarrier(); s[l] = out[i ^ 1u]; workgroupBarrier(); out[i] = s[0] + table[i];',
    'probes together',
  ],
  // An invocation goes on where it lacked a page.
  ['let at = out[i]; out[i] = table[at];', 'resumes, 1 words'],
  ['out[i] = table[out[i]];', 'resumes, 0 words'],
  [
    'var list = array<u32, 4>(); list[out[i] & 3u] = 5u; out[i] = table[list[1]];',
    'resumes, 1 words',
  ],
  ['var at = 0u; let p = &at; *p = out[i]; out[i] = table[at];', 'resumes, 1 words'],
  ['s[l] = out[i]; workgroupBarrier(); out[i] = table[s[0]];', 'resumes, 1 words together'],
  ['s[out[i]] = l; workgroupBarrier(); out[i] = table[s[0]];', 'resumes, 1 words together'],
  ['let at = atomicAdd(&sums[0], 1u); out[at] = table[i];', 'resumes, 1 words'],
  [
    'out[atomicAdd(&sums[0], 1u)] = table[i] + taken(); } fn taken() -> u32 { return out[3];',
    'resumes, 2 words',
  ],
  [
    'while (atomicCompareExchangeWeak(&sums[table[i]], 0u, 1u).exchanged) {}',
    'resumes, any number of words',
  ],
  [
    'atomicMax(&count, out[i]); workgroupBarrier(); out[i] = table[atomicLoad(&count)];',
    'resumes, 1 words together',
  ],
])('%s: %s', (body, expected) => {
  expect(replay(body)).toBe(expected);
});

test('an array that is written and paged is probed', () => {
  expect(replay('out[i] = 1u;')).toBe('once');
  expect(replay('out[i] = 1u;', 'out')).toBe('probes');
});

test('what an atomic of the workgroup gives back cannot say where to read', () => {
  const body = 'let at = atomicAdd(&count, 1u); out[i] = table[at];';
  expect(replay(body)).toMatch(
    /^what atomicAdd gives back of memory of the workgroup is different/,
  );
});

test('an exchange whose values are not evaluated in their order is refused', () => {
  const swap = (old: string) =>
    replay(
      `var state = i; atomicCompareExchangeWeak(&sums[0], ${old}, draw(&state)); out[i] = table[out[i]]; } ` +
        'fn draw(p: ptr<function, u32>) -> u32 { *p += 1u; return *p;',
    );
  expect(swap('state')).toMatch(
    /^a function that this calls may change what is compared before; give both values names/,
  );
  expect(swap('0u')).toBe('resumes, 0 words');
});

test('what waits for others in a store, or where nothing can be put before it, is refused', () => {
  const waits = /^invocations wait for each other in what is stored here; give it a name/;
  expect(replay('out[i] = table[workgroupUniformLoad(&s[0])];')).toMatch(waits);
  const head = /^workgroupUniformLoad in the head of a loop or behind else; give it a name before/;
  expect(replay('while (workgroupUniformLoad(&s[0]) > 0u) { out[i] = table[i]; }')).toMatch(head);
  expect(
    replay('if (i == 0u) {} else if (workgroupUniformLoad(&s[0]) > 0u) { out[i] = table[i]; }'),
  ).toMatch(head);
  const body =
    'out[i] = waited(table[i]); } fn waited(x: u32) -> u32 { workgroupBarrier(); return x;';
  expect(replay(body)).toMatch(waits);
});

test('invocations that are fewer than a workgroup cannot wait for each other where they are run again', () => {
  expect(replay('let sum = subgroupAdd(table[i]); out[i] = sum;')).toMatch(
    /^subgroupAdd has invocations wait/,
  );
  expect(replay('out[i] = subgroupOf(table[i]); } fn subgroupOf(x: u32) -> u32 { return x;')).toBe(
    'once',
  );
});
