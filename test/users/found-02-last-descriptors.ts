/**
 * Where a process has no descriptor left, what waits for a page gets it, or is refused by name; so
 * does what is asked for in other ways.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runTests, test, variantTest } from '../harness/suite.js';

const program = `${dirname(process.argv[1])}/programs/last-descriptors.js`;
const LIMIT = 200;
// There the kernel reads no file but for a thread that may wait.
const folder = mkdtempSync('/dev/shm/onemem-last-');
const path = join(folder, 'data.bin');
process.once('exit', () => rmSync(folder, { recursive: true }));
writeFileSync(path, new Uint8Array(2 ** 22).fill(5));

/** @param cwd a folder that the program removes */
function run(what: string, how: 'descriptors' | 'folder', cwd?: string): string {
  const command = `ulimit -n ${LIMIT}; exec ${process.execPath} ${program} ${what} ${how} ${path}`;
  const { status, signal, stdout, stderr } = spawnSync('sh', ['-c', command], {
    encoding: 'utf8',
    timeout: 40_000,
    ...(cwd === undefined ? {} : { cwd }),
  });
  assert.equal(signal, null, `${stdout}${stderr}`);
  assert.equal(status, 0, `${stdout}${stderr}`);
  return stdout;
}

for (const what of ['spill', 'file', 'launch', 'copy']) {
  variantTest(
    `${what}: what is needed has been opened before`,
    () => assert.equal(run(what, 'descriptors'), 'right\n'),
    60,
  );
}

test('a provider is refused, with the limit that is in its way', () => {
  const text = run('provider', 'descriptors');
  assert.match(
    text,
    /^DESCRIPTORS: cannot start the provider of array .*\(EMFILE\); .*\(ulimit -n\)/,
  );
});

for (const what of ['spill', 'launch', 'provider']) {
  variantTest(`${what} goes on where the working folder has been removed meanwhile`, () => {
    assert.equal(run(what, 'folder', mkdtempSync(join(tmpdir(), 'onemem-gone-'))), 'right\n');
  });
}

await runTests();
