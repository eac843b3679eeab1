/**
 * The package as a stranger gets it: packed, installed into an empty project with install scripts
 * off, imported, compiled against and run there.
 *
 *   npm run -s package
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Checks } from '../harness/checks.js';
import { expectedOutput, firstExample } from './readme.js';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const sources = join(root, 'test/package');
const folder = mkdtempSync(join(tmpdir(), 'onemem-package-'));
const project = join(folder, 'project');
const installed = join(project, 'node_modules/onemem');

/** Above these something has got into the package that does not belong there. */
const PACKED_LIMIT = 2816 * 1024;
const UNPACKED_LIMIT = 10496 * 1024;

/** Packages whose install script is known, and why they do without it. */
const INSTALL_SCRIPTS_NOT_NEEDED: Readonly<Record<string, string>> = {
  koffi:
    'it looks for a prebuilt library, which comes as a package of its own, and would compile only without one',
};

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly cpu?: readonly string[];
  readonly os?: readonly string[];
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly scripts?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

function manifestOf(path: string): Manifest {
  return JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as Manifest;
}

const checks = new Checks();

/** As a shell of the project's own would run it: nothing of the npm that may have started us. */
const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^npm_/i.test(name)),
);

/**
 * Runs a program to its end, which must be a good one; returns what it wrote to its standard
 * output.
 */
function run(command: string, args: readonly string[], cwd: string = project): string {
  const { status, signal, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    env: environment,
    timeout: 120_000,
  });
  if (error !== undefined) throw error;
  if (status === 0) return stdout;
  throw new Error(
    `${command} ${args.join(' ')}: ${signal ?? `exit code ${status}`}\n${stdout}${stderr}`,
  );
}

/** Every file below a folder, by its path from there. */
function filesBelow(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => lstatSync(join(path, name)).isFile())
    .sort();
}

function bytesBelow(path: string): number {
  return filesBelow(path).reduce((sum, name) => sum + statSync(join(path, name)).size, 0);
}

function kibibytes(count: number): string {
  return `${Math.round(count / 1024)} KiB`;
}

/** Packages below a node_modules folder, with those that lie inside others. */
function packagesBelow(modules: string): string[] {
  return filesBelow(modules)
    .filter((name) => /(^|node_modules\/)(@[^/]+\/)?[^/@]+\/package\.json$/.test(name))
    .map((name) => join(modules, dirname(name)));
}

function runExample(): string {
  return run(process.execPath, ['example.mjs']);
}

const readme = readFileSync(join(root, 'README.md'), 'utf8');

run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], root);
const tarball = readdirSync(folder)
  .filter((name) => name.endsWith('.tgz'))
  .map((name) => join(folder, name))[0];
mkdirSync(project);
writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
run('npm', [
  'install',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--prefer-offline',
  '--silent',
  tarball,
]);
const manifest = manifestOf(installed);
const files = filesBelow(installed);

await checks.check("runs the README's first example", () => {
  const example = firstExample(readme);
  const lines = example.split('\n').filter((line) => line.trim() !== '').length;
  assert.ok(
    lines >= 5 && lines <= 20,
    `the example has ${lines} lines; it should be readable at a glance`,
  );
  writeFileSync(join(project, 'example.mjs'), example);
  assert.equal(runExample().trim(), expectedOutput(example));
});

await checks.check('its example and its declarations compile under strict settings', () => {
  cpSync(join(sources, 'consumer'), join(project, 'consumer'), { recursive: true });
  writeFileSync(join(project, 'consumer/example.ts'), firstExample(readme));
  // Node's own declarations are the consumer's to install. Ours stand in for them, so that nothing
  // else need be fetched.
  mkdirSync(join(project, 'node_modules/@types'), { recursive: true });
  symlinkSync(join(root, 'node_modules/@types/node'), join(project, 'node_modules/@types/node'));
  // Version 6 takes ten times as long as 7.
  const older = process.env.ONEMEM_LONG === '1' ? ['typescript/bin/tsc6'] : [];
  for (const compiler of ['typescript-7/bin/tsc', ...older]) {
    run(process.execPath, [join(root, 'node_modules', compiler), '-p', 'consumer', '--noEmit']);
  }
});

await checks.check('is loaded by require, too', () => {
  const program =
    "console.log(typeof require('onemem').openSpace, typeof require('onemem/policy').lru)";
  assert.equal(
    run(process.execPath, ['--no-warnings', '--input-type=commonjs', '-e', program]).trim(),
    'function function',
  );
});

await checks.check('offers its exports and nothing else', () => {
  const program = `import('onemem/dist/pager/manager/pager.js').then(() => console.log('found'), (error) => console.log(error.code))`;
  assert.equal(run(process.execPath, ['-e', program]).trim(), 'ERR_PACKAGE_PATH_NOT_EXPORTED');
});

await checks.check('has every module that it starts threads and processes from', () => {
  let named = 0;
  for (const file of files.filter((name) => /^dist\/.*\.js$/.test(name))) {
    const text = readFileSync(join(installed, file), 'utf8');
    // In these quotes: messages for users have others.
    for (const [, path] of text.matchAll(/new URL\("(\.[^"]+\.js)", import\.meta\.url\)/g)) {
      named++;
      assert.ok(files.includes(join(dirname(file), path)), `${file} names ${path}`);
    }
    for (const [, path] of text.matchAll(/ownFile\("([^"]+\.c?js)"\)/g)) {
      named++;
      assert.ok(files.includes(join('dist', path)), `${file} names ${path}`);
    }
  }
  assert.ok(named > 0, 'no module is named');
});

await checks.check('publint has nothing to say', () => {
  run(process.execPath, [join(root, 'node_modules/publint/src/cli.js'), tarball, '--strict']);
});

await checks.check('arethetypeswrong has nothing to say about a package of ES modules', () => {
  const attw = join(root, 'node_modules/@arethetypeswrong/cli/dist/index.js');
  run(process.execPath, [attw, tarball, '--profile', 'esm-only', '--no-emoji', '--no-color']);
});

await checks.check('every file that package.json names is there', () => {
  const named = Object.values(manifest.exports ?? {}).flatMap((target) =>
    typeof target === 'string' ? [target] : Object.values(target),
  );
  for (const path of [...named, ...Object.values(manifest.bin ?? {})]) {
    assert.ok(existsSync(join(installed, path)), `${path} is missing`);
  }
});

await checks.check('the command says what it does', () => {
  const help = run('node_modules/.bin/onemem', ['--help']);
  for (const command of ['run', 'demo', 'doctor'])
    assert.match(help, new RegExp(`\\b${command}\\b`));
  assert.equal(
    run('node_modules/.bin/onemem', ['--version']).trim().replace(/^\S+ /, ''),
    manifest.version,
  );
});

await checks.check(
  'the demonstration says by one line what a plain installation lacks for it, as its help does',
  () => {
    const needed = /npm install vega-datasets hyparquet fzstd/;
    assert.match(run('node_modules/.bin/onemem', ['--help']), needed);
    assert.match(run('node_modules/.bin/onemem', ['demo', '--help']), needed);
    const { status, stderr } = spawnSync('node_modules/.bin/onemem', ['demo'], {
      cwd: project,
      encoding: 'utf8',
    });
    assert.equal(status, 1);
    assert.match(stderr, needed);
  },
);

await checks.check('the command examines this machine', () => {
  assert.match(run('node_modules/.bin/onemem', ['doctor']), /userfaultfd/);
  JSON.parse(run('node_modules/.bin/onemem', ['doctor', '--json']));
});

await checks.check('nothing compiles when it is installed', () => {
  const names: string[] = [];
  for (const path of packagesBelow(join(project, 'node_modules'))) {
    const { name, scripts = {} } = manifestOf(path);
    // npm runs node-gyp by itself where it finds this file.
    assert.ok(
      !existsSync(join(path, 'binding.gyp')),
      `${name} has a binding.gyp and would be compiled`,
    );
    const script = scripts.preinstall ?? scripts.install ?? scripts.postinstall;
    if (script === undefined) continue;
    assert.ok(
      Object.hasOwn(INSTALL_SCRIPTS_NOT_NEEDED, name),
      `${name} has an install script: ${script}`,
    );
    names.push(name);
  }
  // No script has run, and yet the example did. The library that it loaded came ready-made:
  const program = `import 'onemem';
import { readFileSync } from 'node:fs';
const maps = readFileSync('/proc/self/maps', 'latin1');
console.log([...new Set(maps.match(/\\S+\\.node$/gm))].join('\\n'));`;
  const libraries = run(process.execPath, ['--input-type=module', '-e', program])
    .trim()
    .split('\n');
  assert.equal(libraries.length, 1, `native libraries: ${libraries.join(', ')}`);
  const [owner] = relative(join(project, 'node_modules'), libraries[0]).match(
    /^(@[^/]+\/)?[^/]+/,
  ) ?? [''];
  assert.match(owner, /^@koromix\/koffi-linux-/);
  for (const name of names)
    console.log(
      `     ${name} has an install script and does without: ${INSTALL_SCRIPTS_NOT_NEEDED[name]}`,
    );
  console.log(`     the native library is ${owner}'s`);
});

await checks.check('each processor that it names has a ready-made native library', () => {
  const prebuilt = manifestOf(join(project, 'node_modules/koffi')).optionalDependencies ?? {};
  assert.deepEqual(manifest.os, ['linux']);
  for (const cpu of manifest.cpu ?? []) {
    assert.ok(
      Object.hasOwn(prebuilt, `@koromix/koffi-linux-${cpu}`),
      `koffi has no library for ${cpu}`,
    );
  }
});

await checks.check('nothing is inside that users do not need', () => {
  for (const name of files) {
    assert.doesNotMatch(
      name,
      /\.test\.|^(test|bench|scripts|api(?!\/reference)|\.build|\.ci|node_modules)\//,
      `${name} does not belong there`,
    );
    assert.doesNotMatch(name, /\.(tgz|log|tsbuildinfo)$/, `${name} does not belong there`);
  }
  for (const name of ['README.md', 'LICENSE', 'CHANGELOG.md'])
    assert.ok(files.includes(name), `${name} is missing`);
});

/** The anchors of a page: its headings as GitHub writes them. */
function anchorsOf(path: string): string[] {
  return [...readFileSync(path, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-'),
  );
}

await checks.check(
  'every link of its pages leads to a file of the package, and to a heading there',
  () => {
    for (const name of files.filter((each) => each.endsWith('.md'))) {
      const page = join(installed, name);
      for (const [, target, anchor] of readFileSync(page, 'utf8').matchAll(
        /\]\(([^)#\s]*)(?:#([^)]*))?\)/g,
      )) {
        // Pictures of the guides are not in the package.
        if (/^[a-z]+:/.test(target) || target.startsWith('../pictures/')) continue;
        const file = target === '' ? page : join(dirname(page), target);
        assert.ok(existsSync(file), `${name} links to ${target}, which is not in the package`);
        if (anchor === undefined) continue;
        assert.ok(
          anchorsOf(file).includes(anchor),
          `${name} links to ${target}#${anchor}, which is no heading there`,
        );
      }
    }
  },
);

await checks.check(
  'the README says how to install it, and nothing names a repository that is not there',
  () => {
    assert.match(readme, /^npm install onemem\b/m);
    assert.ok(!Object.hasOwn(manifest, 'repository'));
  },
);

await checks.check('its examples run from the package', () => {
  const examples = join(installed, 'examples');
  run(process.execPath, [join(examples, 'saxpy/make-data.js'), '1000']);
  const kernel = join(examples, 'saxpy/kernel.js');
  const options = [
    '--in',
    'x=x.npy',
    '--inout',
    'y=y.npy',
    '--set',
    'alpha=3',
    '--device-memory',
    '8MiB',
    '--json',
  ];
  const report = JSON.parse(run('node_modules/.bin/onemem', ['run', kernel, ...options])) as {
    size: number;
  };
  assert.equal(report.size, 1000);
});

await checks.check('every source map leads to a file of the package', () => {
  const maps = files.filter((name) => name.endsWith('.map'));
  assert.ok(maps.length > 0, 'there are no source maps');
  for (const name of maps) {
    const path = join(installed, name);
    const map = JSON.parse(readFileSync(path, 'utf8')) as {
      sources: string[];
      sourceRoot?: string;
    };
    for (const source of map.sources) {
      const target = join(dirname(path), map.sourceRoot ?? '', source);
      assert.ok(existsSync(target), `${name} leads to ${source}, which is not in the package`);
    }
  }
  for (const name of files.filter((each) => /\.(js|d\.ts)$/.test(each))) {
    const [, map] =
      /^\/\/# sourceMappingURL=(.+)$/m.exec(readFileSync(join(installed, name), 'utf8')) ?? [];
    if (map === undefined) continue;
    assert.ok(
      existsSync(join(installed, dirname(name), map)),
      `${name} names ${map}, which is not in the package`,
    );
  }
});

await checks.check('no file names a folder of the machine that built it', () => {
  for (const name of files) {
    assert.ok(
      !readFileSync(join(installed, name), 'latin1').includes(root),
      `${name} contains ${root}`,
    );
  }
});

await checks.check('it is small', () => {
  const packed = statSync(tarball).size;
  const unpacked = bytesBelow(installed);
  const all = packagesBelow(join(project, 'node_modules')).filter(
    (path) => !path.includes('@types'),
  );
  rmSync(join(project, 'node_modules/@types/node'), { force: true });
  console.log(
    `     packed ${kibibytes(packed)}, unpacked ${kibibytes(unpacked)} in ${files.length} files`,
  );
  console.log(
    `     with its dependencies ${all.length} packages, ${kibibytes(bytesBelow(join(project, 'node_modules')))}`,
  );
  assert.ok(packed <= PACKED_LIMIT, `packed it takes more than ${kibibytes(PACKED_LIMIT)}`);
  assert.ok(unpacked <= UNPACKED_LIMIT, `unpacked it takes more than ${kibibytes(UNPACKED_LIMIT)}`);
});

if (checks.good) rmSync(folder, { recursive: true });
else console.log(`the project is left in ${folder}`);
checks.finish();
