/** Packages that read what one process holds for all: the pages of docs/guides/recipes.md. */
import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { blocksOf, pages, ROOT } from '../documentation/pages.js';
import { ProgramFolder } from '../documentation/programs.js';
import { longTest, note, runTests } from '../harness/suite.js';

const run = promisify(execFile);
const ONNX_RUNTIME = ['onnxruntime-node', '1.30.0'] as const;
/** Products of the model, and their rows: weights of 128 MiB. */
const MODEL = ['32', '1024'] as const;
/** What a process with the package and a space has of its own, in MiB, without the weights. */
const OWN_MIB = 96;

function program(name: string): string {
  return fileURLToPath(new URL(`./programs/${name}.js`, import.meta.url));
}

/** A program of the page of recipes. */
function recipe(name: string): string {
  const page = pages().find(({ path }) => path === 'docs/guides/recipes.md');
  assert.ok(page !== undefined);
  const found = blocksOf(page).find(({ code }) => code.startsWith(`// ${name}\n`));
  assert.ok(found !== undefined, name);
  return found.code;
}

longTest('mmdb-lib: eight workers of a cluster hold one database together', async () => {
  const { stdout } = await run(process.execPath, [program('geo')]);
  note(`memory of all processes / the database: ${stdout.trim()}`);
  assert.ok(Number(stdout) > 0.9 && Number(stdout) <= 1.1, stdout);
});

async function inferInLittleMemory(packages: string): Promise<void> {
  using folder = new ProgramFolder();
  const [name] = ONNX_RUNTIME;
  symlinkSync(join(packages, name), join(folder.path, 'node_modules', name));
  await run(process.execPath, [program('onnx-model'), folder.path, ...MODEL]);
  folder.write('convert.js', recipe('convert.js'));
  await run(process.execPath, ['convert.js'], { cwd: folder.path });
  const infer = recipe('infer.js');
  folder.write('infer.js', infer);
  await folder.runAlone('infer.js', infer, ['--import', program('peak')]);
  const peak = Number(readFileSync(join(folder.path, 'peak'), 'utf8'));
  note(`memory of its own at most: ${peak.toFixed(0)} MiB`);
  assert.ok(peak > 0 && peak < OWN_MIB, `${peak} MiB of memory of its own`);
}

longTest(
  'onnxruntime-node: a model runs in a quarter of its memory, and none of it is copied',
  async () => {
    const script = join(ROOT, 'scripts/fetched-package.mjs');
    const options = { encoding: 'utf8' } as const;
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      [script, ...ONNX_RUNTIME],
      options,
    );
    if (status === 0) await inferInLittleMemory(stdout.trim());
    else note(`SKIPPED: no ${ONNX_RUNTIME[0]}, and none to be had: ${stderr.trim()}`);
  },
  300,
);

await runTests();
