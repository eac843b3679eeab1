/**
 * The examples for GPUs: each prints what it should, and finds a mistake in its kernel or its data.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Example, findsMistake, runsRight } from '../harness/examples.js';
import { longTest, runTests, test } from '../harness/suite.js';

const EXAMPLES = fileURLToPath(new URL('../../../examples', import.meta.url));

const ALL: Readonly<Record<string, Example>> = {
  'gpu/embedding-search': {
    args: ['--budgets', '100,25'],
    output:
      /^56000 x 96 floats in 20\.5 MiB, 2 batches of 2 queries\n.*\n100 %.*\n 25 % +\d+\.\d MiB +\d+ #+ .*\nall scores are right; .*\n$/,
    mistake: ['shape.rows + row] = sum', 'shape.rows + row] = select(sum, 0.0, row == 777u)'],
    complaint: /the score of row 777 is 0 instead of \S+/,
  },
  'gpu/layers': {
    output:
      /^8 layers in 12\.5 MiB, on a GPU with 6 MiB\n(pass \d: \d+\.\d MiB went to the GPU, and all 2560 activations are right\n){2}$/,
    mistake: ['i < width; i++) { sum', 'i + 1u < width; i++) { sum'],
    complaint: /activation \d+ is \d+ instead of \d+/,
  },
  'gpu/pipeline': {
    output:
      /^65536 keys are sorted by 24 launches\n20 steps of a fluid of 64 x 64 cells are right\n$/,
    mistake: ['i < lane; i++) { before', 'i + 1u < lane; i++) { before'],
    complaint: /key \d+ is \d+, not \d+/,
  },
  'gpu/transformer': {
    output: /^8 blocks of 6\.0 MiB of weights ran with 6MiB\nall 4096 activations are right\n$/,
    mistake: ['= sum / weights', '= sum / (weights + 0.1)'],
    complaint: /activation \d+ is \S+, not \S+/,
  },
};

test('every example for GPUs is run here, and named in examples/README.md', () => {
  const names = readdirSync(`${EXAMPLES}/gpu`).map((file) => `gpu/${file.replace(/\.ts$/, '')}`);
  assert.deepEqual(names.sort(), Object.keys(ALL).sort());
  const readme = readFileSync(`${EXAMPLES}/README.md`, 'utf8');
  const commands = [...readme.matchAll(/node \.build\/examples\/(gpu\/[\w-]+)\.js/g)].map(
    ([, name]) => name,
  );
  assert.deepEqual(commands.sort(), names);
});

for (const [name, example] of Object.entries(ALL)) {
  const tested = name === 'gpu/pipeline' || name === 'gpu/transformer' ? test : longTest;
  tested(`${name} prints what it should`, () => runsRight(name, example));
  longTest(`${name} finds a mistake`, () => findsMistake(name, example));
}

await runTests(120);
