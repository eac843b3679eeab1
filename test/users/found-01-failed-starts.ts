/**
 * A device whose process cannot be started is an error with a code: no signal goes to the program,
 * or to others of its group.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { constants, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { longTest, note, runTests, test } from '../harness/suite.js';

const program = `${dirname(process.argv[1])}/programs/failed-start.js`;
const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
/** Nobody else's, so that the limit counts what the test starts. */
const UID = 60_000 + (process.pid % 5000);

/**
 * Runs a line of the shell in a session of its own, beside a process of the same group; true: that
 * one lived on.
 */
async function beside(
  line: string,
  options: { uid?: number; cwd?: string } = {},
): Promise<[boolean, string, string]> {
  const script = `sleep 60 & bystander=$!; ${line}; if kill $bystander; then echo bystander; fi`;
  const child = spawn('bash', ['-c', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return [stdout.endsWith('bystander\n'), stdout.replace(/bystander\n$/, ''), stderr];
}

/** Runs it with a copy of Node.js that may be removed. */
async function withCopy(run: (node: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-node-'));
  const node = join(folder, 'node');
  copyFileSync(process.execPath, node, constants.COPYFILE_FICLONE);
  await run(node);
  rmSync(folder, { recursive: true });
}

longTest(
  'a device starts though the file of Node.js has been removed meanwhile, as an upgrade does',
  () =>
    withCopy(async (node) => {
      const [lives, stdout, stderr] = await beside(`${node} ${program} replaced`);
      assert.ok(lives, `${stdout}${stderr}`);
      assert.equal(stdout, 'opened with 1\ngoes on\n', stderr);
    }),
);

test('so does what doctor tries out', () =>
  withCopy(async (node) => {
    const main = `require("node:fs").unlinkSync(process.execPath);
      process.argv.splice(1, 0, "onemem", "doctor", "--json"); import("${command}")`;
    const [lives, stdout, stderr] = await beside(`${node} -e '${main}'`);
    assert.ok(lives, `${stdout}${stderr}`);
    const { features } = JSON.parse(stdout) as { features: { name: string; available: boolean }[] };
    assert.ok(features.find(({ name }) => name === 'pidfd_getfd')?.available, stdout);
  }));

longTest(
  'where the user may have no more processes the device is refused, and the program goes on',
  async () => {
    if (process.getuid?.() !== 0) {
      note('left out: only root can be a user that has no other processes');
      return;
    }
    const [lives, stdout, stderr] = await beside(
      `ulimit -u 60; ${process.execPath} ${program} full`,
      { uid: UID },
    );
    assert.ok(lives, `${stdout}${stderr}`);
    assert.match(
      stdout,
      /^DEVICE_START: device process0 did not start: .* could not be started; .*\(ulimit -u/,
    );
    assert.match(stdout, /\ngoes on\n$/);
  },
);

longTest(
  'where the working folder has been removed no space opens, and the error says how to go on',
  async () => {
    const cwd = mkdtempSync(join(tmpdir(), 'onemem-gone-'));
    const [lives, stdout, stderr] = await beside(`${process.execPath} ${program} folder`, { cwd });
    assert.ok(lives, `${stdout}${stderr}`);
    assert.match(stdout, /^WORKING_FOLDER: .* was removed, .*process\.chdir\('\/'\)\ngoes on\n$/);
  },
);

await runTests();
