/**
 * The file of an --inout that is replaced keeps its owner and mode; what cannot be kept is said
 * before anything is computed.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
} from 'node:fs';
import { fileURLToPath } from 'node:url';
import { npyHeader } from '../../src/files/npy.js';
import { Folder, ramp, SAXPY, saxpy } from '../harness/command.js';
import { longTest, note, runTests, test } from '../harness/suite.js';

const N = 5000;
const NOBODY = 65534;
const RUN = ['run', 'saxpy.js', '--in', 'x=x.npy', '--inout', 'y=y.npy', '--set', 'alpha=3'];
const isRoot = process.getuid?.() === 0;

function filesFor(folder: Folder): Buffer {
  folder.write('saxpy.js', SAXPY);
  folder.npy('x.npy', 'f32', ramp(N), [N]);
  folder.npy('y.npy', 'f32', ramp(N, 7), [N]);
  const result = saxpy(ramp(N), ramp(N, 7), 3);
  return Buffer.concat([npyHeader('f32', [N]), Buffer.from(result.buffer)]);
}

longTest('owner, group and mode of the file are those of the result', async () => {
  using folder = new Folder();
  const expected = filesFor(folder);
  const path = folder.file('y.npy');
  if (isRoot) chownSync(path, 1234, 4321);
  else note('another owner is for root: only the mode is looked at');
  chmodSync(path, 0o2640);
  const before = statSync(path);
  await folder.succeed(...RUN);
  assert.ok(folder.read('y.npy').equals(expected));
  const { uid, gid, mode } = statSync(path);
  assert.deepEqual([uid, gid, mode], [before.uid, before.gid, before.mode]);
});

longTest(
  'a file of two names is not replaced, since only one of them would have the result',
  async () => {
    using folder = new Folder();
    const expected = filesFor(folder);
    const before = folder.read('y.npy');
    linkSync(folder.file('y.npy'), folder.file('same.npy'));
    await folder.fail(
      1,
      /y\.npy has 2 names \(hard links\).*name another file \(--save y=FILE for an --inout\)/,
      ...RUN,
    );
    assert.ok(folder.read('y.npy').equals(before));
    assert.equal(statSync(folder.file('same.npy')).ino, statSync(folder.file('y.npy')).ino);
    await folder.succeed(...RUN, '--save', 'y=sum.npy');
    assert.ok(folder.read('sum.npy').equals(expected));
  },
);

test('a user who cannot keep the owner is told so, and nothing is left behind', () => {
  if (!isRoot) {
    note('not root: no file of another owner can be made');
    return;
  }
  const told =
    /^FILE_OWNER result belongs to user 0 and group 0, which user 65534 of group 65534 cannot give a new file; name/;
  refusesAsNobody(told, (path) => chmodSync(path, 0o666));
});

test('a file that its owner has protected against writing is not replaced', () => {
  if (!isRoot) {
    note('not root, which this test becomes another user from');
    return;
  }
  refusesAsNobody(
    /^FILE_NOT_WRITABLE result is protected against writing \(chmod u\+w allows it\); name/,
    (path) => {
      chownSync(path, NOBODY, NOBODY);
      chmodSync(path, 0o444);
    },
  );
});

/** Another user, who may write the folder, is told so when he wants to replace a file in it. */
function refusesAsNobody(told: RegExp, prepare: (path: string) => void): void {
  using folder = new Folder();
  const path = folder.write('result', 'old');
  prepare(path);
  chmodSync(folder.path, 0o777);
  // The module alone, where every user can read it.
  copyFileSync(
    fileURLToPath(new URL('../../src/files/atomic-file.js', import.meta.url)),
    folder.file('atomic-file.mjs'),
  );
  folder.write(
    'replace.mjs',
    `import { AtomicFile } from './atomic-file.mjs';
     try { AtomicFile.create('result'); } catch (error) { console.log(error.code, error.message); }`,
  );
  const files = readdirSync(folder.path);
  const { stdout, stderr } = spawnSync(process.execPath, ['replace.mjs'], {
    cwd: folder.path,
    uid: NOBODY,
    gid: NOBODY,
    encoding: 'utf8',
  });
  assert.match(stdout, told, stderr);
  assert.deepEqual(readdirSync(folder.path), files);
  assert.equal(readFileSync(path, 'utf8'), 'old');
}

await runTests();
