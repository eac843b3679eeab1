// Compiles into one of the two output folders:
//   dist/    what the package ships: src/ without the tests
//   .build/  what the tests run from: src/, test/, bench/ and examples/, side by side as in the tree
// The compiler never deletes the output of a source that has gone, and a stale module would still
// be imported by the tests; so whatever was not written by this run is removed afterwards. The
// folder is never empty in between, so that a program which is running from it does not lose its
// modules.
//
// What a space starts, its threads and the processes of its devices, becomes one module each: to
// resolve and read the forty that the manager consists of takes longer than to start its thread.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const root = fileURLToPath(new URL('..', import.meta.url));
const threads = [
  'pager/manager/sentinel',
  'pager/manager/standard-output',
  'pager/manager/manager',
  'pager/manager/standard-error-thread',
  'pager/manager/witness',
  'pager/attached/watch',
  'pager/sources/io-engine',
  'pager/sources/provider-thread',
  'pager/sources/sharing-thread',
  'pager/sources/valkey-engine',
  'drivers/copies/copier',
  'drivers/process/child',
  'drivers/process/control',
  'drivers/process/unit',
  'drivers/webgpu/engine',
  'drivers/webgpu/probe',
];
/**
 * Of these, what is started with each space or device, and needs nothing that only ES modules have:
 * Node.js starts without its loader for those. The loader reads by Node.js's thread pool, all
 * threads of which may wait in faults: a thread that is to tell why must start without it.
 */
const plain = [
  'pager/attached/watch',
  'pager/manager/sentinel',
  'pager/manager/standard-output',
  'pager/manager/manager',
  'pager/manager/standard-error-thread',
  'pager/sources/io-engine',
  'pager/sources/sharing-thread',
  'pager/sources/valkey-engine',
  'drivers/copies/copier',
  'drivers/process/child',
  'drivers/process/control',
  'drivers/process/unit',
];
const entries = [
  'index',
  'drivers/index',
  'policy/index',
  'testing/index',
  'testing/broken-driver',
  'testing/second-process',
  'api/threads/picture',
  'api/threads/signals',
  'cli/main',
];
const configs = { dist: 'tsconfig.json', '.build': 'tsconfig.test.json' };
const target = process.argv[2] ?? 'dist';
if (!Object.hasOwn(configs, target)) {
  console.error(`usage: node scripts/build.mjs ${Object.keys(configs).join('|')}`);
  process.exit(2);
}
const out = join(root, target);

// The dependency-direction check needs the compiler's JavaScript API, which version 7 no longer
// has; so version 6 is installed as `typescript` for that check and for editors, and version 7, ten
// times as fast, compiles.
const compiler = join(root, 'node_modules/typescript-7/bin/tsc');
const { status, stdout, stderr, error } = spawnSync(
  process.execPath,
  [compiler, '-p', join(root, configs[target]), '--listEmittedFiles', '--pretty', 'false'],
  { cwd: root, encoding: 'utf8', maxBuffer: 256 * 1024 * 1024 },
);
if (error) throw error;
const emitted = new Set();
const messages = [];
for (const line of stdout.split('\n')) {
  if (line.startsWith('TSFILE: ')) emitted.add(resolve(root, line.slice('TSFILE: '.length).trim()));
  else if (line.trim() !== '') messages.push(line);
}
if (messages.length > 0) console.error(messages.join('\n'));
if (stderr) process.stderr.write(stderr);
// The output of a failed compilation may be half there: keep what is there and say no.
if (status !== 0) process.exit(status ?? 1);

const compiled = join(out, target === 'dist' ? '' : 'src');
// Packages stay outside, and so does what a program hands in by its address. Modules are bundled as
// the compiler wrote them, in words that the least Node.js knows; their maps lead back to the
// sources.
const common = {
  platform: 'node',
  external: (id) => !/^[./]/.test(id),
  plugins: [
    {
      name: 'source maps of the compiler',
      load: (id) => ({
        code: readFileSync(id, 'utf8'),
        map: JSON.parse(readFileSync(`${id}.map`, 'utf8')),
      }),
    },
  ],
};
// The sources themselves are in the package.
const written = { format: 'esm', sourcemap: true, sourcemapExcludeSources: true, comments: false };

const bundled = new Set();
await Promise.all(
  threads.map(async (thread) => {
    const bundle = await rolldown({
      ...common,
      input: { [thread]: join(compiled, `${thread}.js`) },
    });
    const [format, ending] = plain.includes(thread) ? ['cjs', 'cjs'] : ['esm', 'js'];
    // What a thread loads only when it needs it is a module of its own.
    const chunkFileNames = `chunks/${basename(thread)}-[name].${ending}`;
    const entryFileNames = `[name].${ending}`;
    const banner = format === 'cjs' ? "'use strict';" : '';
    const { output } = await bundle.write({
      ...written,
      format,
      banner,
      dir: compiled,
      entryFileNames,
      chunkFileNames,
    });
    for (const { fileName } of output) bundled.add(join(compiled, fileName));
  }),
);
// What programs import shares its modules, so that a class is the same one by whichever way it
// came. They lie one folder deep as their sources do: some name other files beside their own
// folder.
const input = Object.fromEntries(entries.map((entry) => [entry, join(compiled, `${entry}.js`)]));
/** What each module imports at once. */
const imports = new Map();
const noteImports = {
  name: 'note imports',
  moduleParsed({ id, importedIds }) {
    imports.set(id, importedIds);
  },
};

/**
 * Whether every program that imports the package needs the module: the other entries, and what is
 * imported later, take more than a third.
 */
function inLibrary(id) {
  const reached = new Set([input.index]);
  for (const each of reached) for (const imported of imports.get(each) ?? []) reached.add(imported);
  return reached.has(id);
}

/** What tells of moves, and is started by no name of its own. */
function inTrace(id) {
  return /\/(trace|live|api\/threads)\//.test(id) && !Object.values(input).includes(id);
}

const bundle = await rolldown({ ...common, plugins: [...common.plugins, noteImports], input });
const { output } = await bundle.write({
  ...written,
  dir: compiled,
  entryFileNames: '[name].js',
  chunkFileNames: 'chunks/[name].js',
  codeSplitting: {
    groups: [
      { name: 'library', test: inLibrary, priority: 2 },
      // The command has it, and so does a space that explains itself.
      { name: 'trace', test: inTrace, priority: 1 },
      { name: 'testing', test: /\/testing\/(?!second-process)/ },
    ],
  },
});
for (const { fileName, imports: chunks = [] } of output) {
  bundled.add(join(compiled, fileName));
  if (chunks.includes('cli/main.js'))
    throw new Error(`${fileName} would run the command: it shares a module with src/cli/main.ts`);
}

// What a browser gets: a page, its style, and one script.
mkdirSync(join(compiled, 'view'), { recursive: true });
for (const file of ['page.html', 'page.css']) {
  copyFileSync(join(root, 'src/view', file), join(compiled, 'view', file));
  bundled.add(join(compiled, 'view', file));
}
const page = join(compiled, 'view/page.js');
const script = await rolldown({
  platform: 'browser',
  input: join(root, 'src/view/script/main.js'),
});
await script.write({ file: page, format: 'iife', minify: true });
bundled.add(page);
for (const file of bundled) emitted.add(file);

mkdirSync(out, { recursive: true });
const { name, version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
if (target === '.build') {
  // Modules that look for the package's own package.json two folders up find one here too, and an
  // example that imports the package by its name gets the code that was compiled beside it.
  const manifest = join(out, 'package.json');
  const exports = {
    '.': './src/index.js',
    './driver': './src/drivers/index.js',
    './policy': './src/policy/index.js',
    './testing': './src/testing/index.js',
    './package.json': './package.json',
  };
  writeFileSync(
    manifest,
    `${JSON.stringify({ name, version, type, private: true, exports }, null, 2)}\n`,
  );
  emitted.add(manifest);
}

/** Of the declarations that the compiler wrote, those that an entry of the package reaches. */
function reachableTypes() {
  const reached = new Set();
  const visit = (file) => {
    if (reached.has(file)) return;
    reached.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, path] of text.matchAll(/(?:from|import\()\s*['"](\.[^'"]+)\.js['"]/g))
      visit(resolve(file, '..', `${path}.d.ts`));
  };
  for (const entry of entries) visit(join(out, `${entry}.d.ts`));
  return [...reached].flatMap((file) => [file, `${file}.map`]);
}

if (target === 'dist') {
  emitted.clear();
  for (const file of bundled) emitted.add(file);
  for (const file of reachableTypes()) emitted.add(file);
}

function removeStale(folder) {
  let kept = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (removeStale(path) === 0) rmdirSync(path);
      else kept++;
    } else if (emitted.has(path)) kept++;
    else rmSync(path);
  }
  return kept;
}
removeStale(out);

const command = join(out, target === 'dist' ? 'cli/main.js' : 'src/cli/main.js');
if (existsSync(command)) chmodSync(command, 0o755);
