/**
 * An error of a kernel shows where its author finds it: file and line, the launch, and the kernel's
 * name.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type AddressSpace, f32, kernel } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, runTests, test } from '../harness/suite.js';

const fails = kernel({ x: f32.inout }, ({ x }, { begin }) => {
  const inner = (value: { at: number } | null): number => (value as { at: number }).at;
  x[begin] = inner(null); // the place
});
const kernels = {
  inObject: kernel({ x: f32.inout }, ({ x }) => void (x[0] = (null as unknown as number[])[1])),
};
const asVariable = (_values: unknown): void => {
  throw new RangeError('by a function with a name');
};
const variable = kernel({ x: f32.inout }, asVariable);
// inComment: of the line before
const afterComment = kernel({ x: f32.inout }, ({ x }) => void (x[0] = 1));
const named = kernel({ x: f32.inout }, () => Promise.reject(new Error('late')), {
  name: 'the third',
});

/** Where this file, or its source where source maps are used, has some text: `FILE:LINE`. */
function placeOf(text: string): string {
  const file = fileURLToPath(import.meta.url);
  const shown = process.sourceMapsEnabled || process.execArgv.includes('--enable-source-maps');
  const path = shown ? file.replace('/.build/', '/').replace(/\.js$/, '.ts') : file;
  const line = readFileSync(path, 'utf8')
    .split('\n')
    .findIndex((each) => each.includes(text));
  return `${path}:${line + 1}:`;
}

async function failure(run: (space: AddressSpace) => Promise<void>): Promise<Error> {
  await using space = await sharedSpace({
    devices: [
      { kind: 'process', memory: '16MiB' },
      { kind: 'simulated', memory: '16MiB' },
    ],
  });
  return failsWith('KERNEL_ERROR', () => run(space));
}

for (const device of [0, 1]) {
  test(`the stack shows the line of the kernel, and the line that launched it (device ${device})`, async () => {
    const { stack = '', message } = await failure(async (space) => {
      const x = space.array(Float32Array, 8);
      await space.devices[device].run(fails, { x }, { size: 8 }); // the launch
    });
    assert.match(message, /^kernel fails (threw TypeError|failed): Cannot read/);
    const frames = stack.split('\n').filter((line) => /^\s+at /.test(line));
    assert.ok(frames[0].includes('inner'), stack);
    assert.ok(frames[1].includes(placeOf('// the ' + 'place')), stack);
    assert.ok(frames[2].includes(placeOf('// the ' + 'launch')), stack);
    assert.doesNotMatch(stack, /onemem:kernel|unit\.js|kernel-loader/);
  });
}

test('a kernel is called by the variable or the property that it was assigned to, or as it is told', () => {
  assert.equal(fails.name, 'fails');
  assert.equal(kernels.inObject.name, 'inObject');
  assert.equal(variable.name, 'asVariable');
  assert.equal(afterComment.name, 'afterComment');
  assert.equal(named.name, 'the third');
});

test('an asynchronous kernel and one on a stream show the same', async () => {
  const late = await failure(async (space) => {
    await space.devices[0].run(named, { x: space.array(Float32Array, 8) }, { size: 8 });
  });
  assert.match(late.message, /^kernel the third threw Error: late/);
  assert.ok(late.stack?.includes(placeOf("new Error('la" + "te')")), late.stack);
  const streamed = await failure(async (space) => {
    using stream = space.devices[0].stream();
    stream.launch(variable, { x: space.array(Float32Array, 8) }, { size: 8 }); // on a stream
    await stream.synchronize();
  });
  assert.ok(streamed.stack?.includes(placeOf("'by a function " + "with a name'")), streamed.stack);
  assert.ok(streamed.stack?.includes(placeOf('// on a ' + 'stream')), streamed.stack);
});

await runTests();
