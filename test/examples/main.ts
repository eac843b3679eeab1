/**
 * Runs the examples of the cookbook, and the small programs, as their readers do, and looks at what
 * they print.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Checks } from '../harness/checks.js';
import { type Example, findsMistake, runsRight } from '../harness/examples.js';
import { readOptions } from '../harness/options.js';

const USAGE = `npm run -s examples                   all
npm run -s examples -- --mistakes     each with a mistake in its kernel or its data, which it must find by itself: an example that checks
                                      nothing would teach nothing
npm run -s examples -- vector-add     those whose name holds the word`;

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));
const SOURCES = `${ROOT}examples`;
/** Folders of programs that take no arguments, or none that they need. */
const FOLDERS = ['cookbook', 'apps'];

const EXAMPLES: Readonly<Record<string, Example>> = {
  'cookbook/vector-add': {
    output: /^all 4000000 sums are right; sum\[1234567\] = 1234567\.5\n$/,
    mistake: ['sum[i] = a[i] + b[i]', 'sum[i] = i === 3999999 ? 0 : a[i] + b[i]'],
    complaint: /element 3999999 is 0 instead of 3999999\.5/,
  },
  'cookbook/unified-memory-streams': {
    output:
      /^40 tasks with \d+ MiB of matrices are right\n\d+ on the device \(16 MiB\) in 4 streams, \d+ on the CPU\n$/,
    mistake: ['column < columns', 'column < columns - (row === 31)'],
    complaint: /task 0, row 31: \S+ instead of \S+/,
  },
  'cookbook/systemwide-atomics': {
    output: /^(\w+ +-?\d+\n){8}2 threads and 2 units of a device lost none of their operations\n$/,
    mistake: ['Atomics.add(words, 0, 1)', 'words[0] += round % 99 === 0 ? 0 : 1'],
    complaint: /sum is \d+ instead of 400000: an operation was lost/,
  },
  'cookbook/conjugate-gradient': {
    output:
      /^50176 unknowns, 249984 entries; \d+ steps; \|b - Ax\| \/ \|b\| = \d\.\de-[45]\n4\.\d MiB on a device of 4 MiB\n$/,
    mistake: ['x[i] += alpha * p[i]', 'x[i] += i === 16_725 ? 0 : alpha * p[i]'],
    complaint: /\|b - Ax\| \/ \|b\| is \S+, which is no solution/,
  },
  'cookbook/unified-memory-perf': {
    args: ['4096'],
    output:
      /^ +size +faults +prefetch +by hand .*\n( +\d+ KiB( +\d+\.\d\d){3}\n){6}every element of every round is right\n$/,
    mistake: ['x[i] += 1', 'x[i] += i === 1023 ? 2 : 1'],
    complaint: /element 1023 of 1024 is \d+/,
  },
  'cookbook/simple-zero-copy': {
    output:
      /^2000000 sums are right, both times\nin place: 0\.0 MiB copied to the device; without advice: \d+\.\d MiB\n$/,
    mistake: ['accessedBy: device,', ''],
    complaint: /\d+ bytes of a moved to the device/,
  },
  'cookbook/linked-list': {
    output:
      /^400000 nodes in two arrays, 6\.1 MiB on a device of 4 MiB\nsum 79999800000; 266667 left, in reverse, each where it was\n$/,
    mistake: [
      "memory.store('u64', node, before)",
      "memory.store('u64', node, head === node ? node : before)",
    ],
    complaint: /the list goes on after 266667 nodes/,
  },
  'cookbook/tree': {
    output:
      /^150000 keys in 4\.6 MiB on a device of 4 MiB\nafter 2000 insertions and deletions by the device all 150000 nodes are right\n$/,
    mistake: ['key < own ? node : node + 8n', 'key <= own - 99 ? node : node + 8n'],
    complaint: /\S+ stands where \S+ should/,
  },
  'cookbook/compressed-table': {
    output:
      /^15\.3 MiB of rows, \d\.\d MiB compressed, on a device of 6 MiB\nrow 1234567 took \d+ KiB; the mean is 15\.\d{3}, the most 25\.\d\n$/,
    mistake: [
      'bytes.set(piece, done)',
      'bytes.set(at > 12e6 ? piece.slice().fill(0, 0, 8) : piece, done)',
    ],
    complaint: /the sum is \S+ instead of \S+/,
  },
  'apps/embedding-search': {
    output:
      /^40000 x 96 floats, 14\.6 MiB, on a device of 8 MiB\n(row (0|20000|39999) with noise: rows \2(, \d+){2}\n){3}$/,
    mistake: ['scores[row] = sum', 'scores[row] = row === 777 ? 0 : sum'],
    complaint: /the score of row 777 is 0 instead of \S+/,
  },
  'apps/slice-server': {
    output: /^5\.7 MiB that a device of 4 MiB has inverted\n17 requests were answered rightly\n$/,
    mistake: ['Math.min(Number(last) + 1, size)', 'Math.min(Number(last), size)'],
    complaint: /bytes=\S+: 206 with \d+ bytes, wrong or not as many/,
  },
  'apps/sort-on-storage': {
    output: /^sorted 12582912 numbers, 48MiB, in 32MiB of memory; \d+ MiB went to storage\n$/,
    mistake: ['source[first.at++]', 'i === 777 ? source[first.at++] ^ 1024 : source[first.at++]'],
    complaint: /not sorted: (numbers were lost|out of order)/,
  },
  'apps/frames': {
    args: ['--frames', '60'],
    output:
      /^(59|60) of 60 frames of 3840 x 2160 were read, and all are right\na decoder was killed after \d+; [01] went with it\nfrom decoder to reader: p50 \S+ ms, p99 \S+ ms\n$/,
    mistake: ['wordOf(frame, row), row *', 'wordOf(frame, row + (row === 3239)), row *'],
    complaint: /frame \d+ is wrong in row 3239/,
  },
  'apps/particles': {
    output:
      /^20000 particles went 20 steps on 2 devices, and all are right\nlaunches on each: 40, 40\n$/,
    mistake: ['first: begin }', 'first: 0 }'],
    complaint: /particle 0 is at \S+, \S+ and not \S+, \S+/,
  },
  'apps/threads-with-progress': {
    output: /^4 threads counted for 400000 numbers; 230631 takes 442 steps\n$/,
    mistake: ['Math.min(begin + PART, NUMBERS)', 'Math.min(begin + PART - 1, NUMBERS)'],
    complaint: /5000 takes 0 steps instead of \d+/,
  },
};

const checks = new Checks();

const { values, positionals } = readOptions(USAGE, {
  options: { mistakes: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const [wanted = ''] = positionals;
const names = FOLDERS.flatMap((folder) =>
  readdirSync(`${SOURCES}/${folder}`).map((file) => `${folder}/${file.replace(/\.ts$/, '')}`),
);
await checks.check('every example is run here, and named in examples/README.md', () => {
  assert.deepEqual(names.sort(), Object.keys(EXAMPLES).sort());
  const readme = readFileSync(`${ROOT}examples/README.md`, 'utf8');
  const commands = [
    ...readme.matchAll(/node \.build\/examples\/((?:cookbook|apps)\/[\w-]+)\.js/g),
  ].map(([, name]) => name);
  assert.deepEqual(commands.sort(), names);
});
for (const [name, example] of Object.entries(EXAMPLES)) {
  if (!name.includes(wanted)) continue;
  if (values.mistakes)
    await checks.check(`${name} finds a mistake`, () => findsMistake(name, example));
  else await checks.check(`${name} prints what it should`, () => runsRight(name, example));
}
checks.finish();
