/**
 * Remedies name what helps where the program is: handles in other processes, a device that this
 * user may not open, filtered calls.
 */
import assert from 'node:assert/strict';
import { fork, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { attachSpace, openSpace } from '../../src/index.js';
import { runProgram } from '../harness/processes.js';
import { longTest, note, runTests, test } from '../harness/suite.js';

const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

const NOBODY = 65_534;

interface Found {
  readonly name: string;
  readonly remedy: string | null;
  readonly alternatives?: readonly string[];
}

test('a handle that came back from another process, or was changed, is refused with what to do', async () => {
  await using space = await openSpace({ hostMemory: '64MiB', storage: false });
  const child = fork(fileURLToPath(new URL('./programs/echo.js', import.meta.url)));
  child.send(space.handle);
  const [handle] = (await once(child, 'message')) as [typeof space.handle];
  child.kill();
  const attach = (given: typeof space.handle) => () => attachSpace(given);
  assert.throws(attach(handle), {
    code: 'SPACE_HANDLE',
    message: /its threads attach by space\.handle/,
  });
  assert.throws(attach({ ...space.handle, owner: space.handle.owner + 1 }), {
    code: 'OTHER_PROCESS',
    message: /other processes attach by the text that space\.share\(\) gives/,
  });
});

test('a machine without a GPU is told of one in software, with packages and variables', () => {
  const env = { ...process.env, VK_DRIVER_FILES: '/none', VK_ICD_FILENAMES: '/none' };
  const { stdout } = spawnSync(process.execPath, [command, 'doctor', '--json'], {
    encoding: 'utf8',
    env,
  });
  const { features } = JSON.parse(stdout) as { features: (Found & { available: boolean })[] };
  const gpu = features.find(({ name }) => name === 'GPU by WebGPU');
  assert.equal(gpu?.available, false);
  assert.match(
    String(gpu?.alternatives),
    /apt-get install libvulkan1 chromium-common, .*VK_DRIVER_FILES=\/.* node program\.js/,
  );
});

longTest('no sysctl and no capability is offered where seccomp forbids the call', async () => {
  const { stdout } = await runProgram('denied', [
    'userfaultfd,dev-userfaultfd',
    process.execPath,
    command,
    'doctor',
    '--json',
  ]);
  const { features } = JSON.parse(stdout) as { features: Found[] };
  const found = features.filter(({ name }) => name.startsWith('userfaultfd'));
  const said = found
    .flatMap(({ remedy, alternatives = [] }) => [remedy ?? '', ...alternatives])
    .join('\n');
  assert.match(said, /seccomp=unconfined/);
  assert.doesNotMatch(said, /sysctl vm|CAP_SYS_PTRACE/);
});

if (process.getuid?.() === 0 && existsSync('/dev/userfaultfd'))
  test('a device that this user may not open has a remedy of its own, and not the option that gives it to containers', () => {
    const options = { uid: NOBODY, gid: NOBODY, encoding: 'utf8' } as const;
    const { stdout } = spawnSync(process.execPath, [command, 'doctor', '--json'], {
      ...options,
      cwd: '/',
    });
    if (stdout === '') {
      note('SKIPPED: another user may not read this folder');
      return;
    }
    const { features } = JSON.parse(stdout) as { features: Found[] };
    const remedy = features.find(({ name }) => name.includes('/dev/userfaultfd'))?.remedy ?? '';
    assert.match(
      remedy,
      /^the mode of the device must let this user in: .*setfacl.*MODE="0666".*--user 0/,
    );
  });
else note('not run: it takes root, and a /dev/userfaultfd that others may not open');

await runTests();
