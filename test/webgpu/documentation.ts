/**
 * The programs that the guides of GPUs show: as they are written there, with what they leave out
 * before and behind them.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { COMMANDS_SECONDS, Folder } from '../harness/command.js';
import { longTest, runTests, test } from '../harness/suite.js';

/** The compiled tree, which bears the package's name. */
const TREE = fileURLToPath(new URL('../..', import.meta.url));
const ROOT = new URL('../../../', import.meta.url);
const PROGRAMS = ['gpus', 'gpus-larger'].flatMap((page) => {
  const text = readFileSync(new URL(`docs/guides/${page}.md`, ROOT), 'utf8');
  return [...text.matchAll(/^```js\n(.*?)^```$/gms)].map(([, program]) => program);
});

/** The one that has this in it. */
function shown(words: string): string {
  const found = PROGRAMS.filter((each) => each.includes(words));
  assert.equal(found.length, 1, `${found.length} programs of the guides of GPUs have '${words}'`);
  return found[0];
}

const IMPORTS = `import { f32, kernel, openSpace, u32 } from 'onemem';\n`;
const SAXPY = /^const saxpy = .*?^\);\n/ms.exec(shown("{ name: 'saxpy' }"))?.[0] ?? '';
const SPACE = `const space = await openSpace({ devices: [{ kind: 'webgpu', memory: '8MiB' }] });\n`;
const ARRAYS =
  'const [x, y] = [space.array(Float32Array, 1000), space.array(Float32Array, 1000)]; x.data.fill(2);\n';

/** What a program prints that ends as it should. */
function printed(...program: string[]): string {
  using folder = new Folder();
  mkdirSync(folder.file('node_modules'));
  symlinkSync(TREE, folder.file('node_modules/onemem'));
  symlinkSync(
    fileURLToPath(new URL('node_modules/webgpu', ROOT)),
    folder.file('node_modules/webgpu'),
  );
  const file = folder.write('program.mjs', program.join(''));
  const { stdout, stderr, status, signal } = spawnSync(process.execPath, ['--expose-gc', file], {
    encoding: 'utf8',
    timeout: 60_000,
  });
  assert.equal(status ?? signal, 0, stderr);
  return stdout;
}

longTest('the example prints what it says', () => {
  const example = shown("{ name: 'saxpy' }");
  assert.equal(printed(example), `${/console\.log.*\/\/ (.*)$/m.exec(example)?.[1]}\n`);
});

test('a GPU that the program lends is there after garbage has been collected', () => {
  const launches = `gc(); await space.devices[0].run(saxpy, { x, y, alpha: 3 }, { size: y.length });
setTimeout(async () => {
  gc(); await space.devices[0].run(saxpy, { x, y, alpha: 3 }, { size: y.length });
  console.log(y.data[999]); await space.close();
}, 10);\n`;
  assert.equal(printed(IMPORTS, SAXPY, shown("from 'webgpu'"), ARRAYS, launches), '12\n');
});

longTest('overrides have the values that the kernel gives them', () => {
  const launch =
    'await space.devices[0].run(scaled, { data: x }, { size: 1000 }); console.log(x.data[999]);\n';
  assert.equal(
    printed(IMPORTS, shown('const scaled'), SPACE, ARRAYS, launch, 'await space.close();'),
    '1\n',
  );
});

longTest(
  'a hundred launches of a stream come one after the other, and tell how long the last one took',
  () => {
    const launches = shown('const stream = ');
    const program = [
      IMPORTS,
      SAXPY,
      SPACE,
      ARRAYS,
      launches,
      shown('const launched = '),
      'console.log(y.data[999]);\n',
    ];
    assert.match(printed(...program, 'await space.close();'), /^(\S+) of \S+ ms\n606\n$/);
  },
);

longTest('a launch over more than the GPU has is cut', () => {
  const larger = shown('// 32 MB');
  const look =
    'console.log(space.devices[0].stats().launchParts > 1, y.data[3_999_999]); await space.close();';
  assert.equal(printed(IMPORTS, SAXPY, larger, look), 'true 0\n');
});

longTest('rows that data names are all that comes of a table', () => {
  const lookup = shown('const lookup');
  const bytes = /console\.log.*\/\/ (.*)$/m.exec(lookup)?.[1];
  assert.equal(printed(IMPORTS, SPACE, lookup, 'await space.close();'), `${bytes}\n`);
});

await runTests(COMMANDS_SECONDS);
