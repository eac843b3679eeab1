/**
 * The package, packed and installed, under the tools that people use around it; and under the
 * limits that systems set. Prints a table: `npm run -s tools-test`. docs/guides/tools.md says what
 * each needs. Of what differs little, and under Node.js 22, it tries one; `--all` tries everything.
 */
import { spawn, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processorTime } from '../harness/checks.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const sources = join(root, 'test/tools');
const cases = join(sources, 'cases');
const modules = join(sources, 'node_modules');
const scratch = mkdtempSync(join(tmpdir(), 'onemem-tools-'));
const SECONDS = 120;

let passed = 0;
let failed = 0;
/** Milliseconds of a processor until the end of the row before. */
let used = 0;

interface Ended {
  readonly code: number | null;
  readonly output: string;
}

function run(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
  cwd: string = cases,
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, FORCE_COLOR: '0', NO_COLOR: '1', CI: 'true', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: SECONDS * 1000,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** A row of the table: a tool, what it is asked to do, and what its output must say. */
async function row(
  tool: string,
  what: string,
  running: Promise<Ended>,
  wanted: RegExp,
  code = 0,
): Promise<void> {
  const started = performance.now();
  const ended = await running;
  const good = ended.code === code && wanted.test(ended.output);
  good ? passed++ : failed++;
  const seconds = ((performance.now() - started) / 1000).toFixed(1).padStart(5);
  const processor = ((processorTime('self') - used) / 1000).toFixed(1).padStart(5);
  used = processorTime('self');
  console.log(
    `${good ? 'ok  ' : 'FAIL'} ${tool.padEnd(26)} ${what.padEnd(62)} ${seconds} s ${processor} s CPU`,
  );
  if (!good)
    console.log(
      `     exit code ${ended.code}, wanted ${code} and ${wanted}\n${ended.output.replace(/^/gm, '     ')}`,
    );
}

function must(program: string, args: readonly string[], cwd: string): void {
  const { status, stderr } = spawnSync(program, args, { cwd, encoding: 'utf8', timeout: 300_000 });
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed:\n${stderr}`);
}

/** The tools, once, as a user would install them today; and the package as npm would pack it. */
function install(): void {
  const wanted = readFileSync(join(sources, 'package.json'), 'utf8');
  const stamp = join(modules, '.onemem-tools');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) {
    const options = [
      '--ignore-scripts',
      '--no-package-lock',
      '--no-audit',
      '--no-fund',
      '--prefer-offline',
      '--silent',
    ];
    must('npm', ['install', ...options], sources);
    writeFileSync(stamp, wanted);
  }
  must('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', scratch], root);
  const [tarball] = readdirSync(scratch);
  must('tar', ['-xzf', tarball], scratch);
  rmSync(join(modules, 'onemem'), { recursive: true, force: true });
  cpSync(join(scratch, 'package'), join(modules, 'onemem'), { recursive: true });
}

install();
console.log(`installed: ${(processorTime('self') / 1000).toFixed(1)} s CPU`);
const here = process.execPath;
const other = spawnSync(here, [join(root, 'scripts/fetch-node.mjs'), '22'], { encoding: 'utf8' });
if (other.status !== 0) throw new Error(`Node.js 22 could not be had: ${other.stderr}`);
const versions = [
  { name: `Node.js ${process.versions.node.split('.')[0]}`, node: here },
  { name: 'Node.js 22', node: other.stdout.trim() },
];
const vm = { NODE_OPTIONS: '--experimental-vm-modules' };
const tsx = join(modules, 'tsx/dist/cli.mjs');
const esbuild = join(modules, 'esbuild/bin/esbuild');
const vitest = join(root, 'node_modules/vitest/vitest.mjs');

const everything = process.argv.includes('--all');
for (const { name, node } of versions) {
  const all = everything || name === 'Node.js 20';
  for (const jest of everything ? ['jest-29', 'jest'] : all ? ['jest'] : []) {
    const script = join(modules, jest, 'bin/jest.js');
    const title = `${jest === 'jest' ? 'Jest 30' : 'Jest 29'}, ${name}`;
    await row(
      title,
      'a suite, with --experimental-vm-modules',
      run(node, [script], vm),
      /Tests: +4 passed, 4 total/,
    );
  }
  for (const pool of everything
    ? ['threads', 'forks', 'vmThreads', 'vmForks']
    : all
      ? ['threads']
      : []) {
    const args = [vitest, 'run', '--pool', pool];
    await row(
      `vitest ${pool}, ${name}`,
      'the same suite',
      run(node, args),
      /Tests +4 passed \(4\)/,
    );
  }
  const place =
    /kernel broken threw TypeError[\s\S]*at broken \(\S+failing\.ts:10:\d+\)\n\s+at \S+ \(?\S*failing\.ts:14:/;
  if (all) {
    await row(`tsx, ${name}`, 'a program in TypeScript', run(node, [tsx, 'program.ts']), /^ok 1$/m);
    await row(
      `tsx, ${name}`,
      'errors of kernels lead to the .ts file',
      run(node, [tsx, 'failing.ts']),
      place,
    );
  }
  const loads = name === 'Node.js 20' ? /cannot load .*module-kernel\.ts; compile it/ : /^ok 7$/m;
  const what =
    name === 'Node.js 20'
      ? 'a kernel in a .ts module is refused with the remedy'
      : 'a kernel in a .ts module';
  await row(`tsx, ${name}`, what, run(node, [tsx, 'module.ts']), loads);
}

const jest30 = join(modules, 'jest/bin/jest.js');
await row(
  'istanbul, by Jest',
  'coverage: counters are left out of kernels',
  run(here, [jest30, '--coverage', '--coverageDirectory', join(scratch, 'coverage')], vm),
  // The table goes to standard output and the count to standard error, in whatever order they are
  // read.
  /^(?=[\s\S]*Statements)(?=[\s\S]*Tests: +4 passed)/,
);

async function bundled(
  what: string,
  options: readonly string[],
  wanted: RegExp,
  code = 0,
): Promise<void> {
  const format = options.includes('--format=cjs') ? 'cjs' : 'mjs';
  // Beside the cases, where the external package is found.
  const file = join(modules, `.bundle-${passed + failed}.${format}`);
  const args = [
    'program.ts',
    '--bundle',
    '--platform=node',
    `--outfile=${file}`,
    '--log-level=error',
    ...options,
  ];
  const made = await run(here, [esbuild, ...args]);
  await row(
    'esbuild',
    what,
    made.code === 0 ? run(here, [file]) : Promise.resolve(made),
    wanted,
    code,
  );
  rmSync(file, { force: true });
}
const external = '--external:onemem';
await bundled('a bundle with onemem external', ['--format=esm', external], /^ok 1$/m);
if (everything) await bundled('the same for CommonJS', ['--format=cjs', external], /^ok 1$/m);
await bundled('minified', ['--format=esm', external, '--minify'], /^ok 1$/m);
if (everything)
  await bundled('with names kept', ['--format=esm', external, '--keep-names'], /^ok 1$/m);
await bundled(
  'minified with names kept is refused with the remedy',
  ['--format=esm', external, '--minify', '--keep-names'],
  /uses \w+ from outside.*esbuild's helper/,
  1,
);
await bundled(
  'onemem in the bundle is refused with the remedy',
  ['--format=esm'],
  /--external:onemem/,
  1,
);
await bundled('the same for CommonJS', ['--format=cjs'], /--external:onemem/, 1);
await bundled(
  'the same where the bundle has an empty import.meta.url',
  ['--format=cjs', '--define:import.meta.url=""'],
  /--external:onemem/,
  1,
);

const inline = `const { f32, kernel, openSpace } = await import('onemem');
const k = kernel({ x: f32.inout }, ({ x }) => { x[0] = 7; });
const space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
const x = space.array(Float32Array, 1);
await space.devices[0].run(k, { x }, { size: 1 });
console.log('ok ' + x.data[0]);
await space.close();`;
await row('node -e', 'as a module', run(here, ['--input-type=module', '-e', inline]), /^ok 7$/m);
await row('node -e', 'as CommonJS', run(here, ['-e', `(async () => { ${inline} })()`]), /^ok 7$/m);

// What systems set limits to has tests of its own, whose results belong to the table of everything.
if (everything) {
  const users = fileURLToPath(new URL('../users/main.js', import.meta.url));
  const limits = await run(here, [users, '07-no-userfaultfd', '10-limits'], {}, root);
  for (const line of limits.output.split('\n')) {
    const [, result, name] = /^(ok {2}|FAIL) \S+: (.*) \(/.exec(line) ?? [];
    if (result === undefined) continue;
    result === 'FAIL' ? failed++ : passed++;
    console.log(`${result} ${'system'.padEnd(26)} ${name}`);
  }
  if (limits.code !== 0) console.log(limits.output.replace(/^/gm, '     '));
}

rmSync(scratch, { recursive: true });
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
