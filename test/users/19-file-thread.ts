/**
 * The thread that reads and writes files cannot start for a while: a call that waits for it waits,
 * and goes on.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { closeSync, openSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openSpace } from '../../src/index.js';
import { closeDescriptor } from '../../src/linux/base/libc.js';
import { createSocketPair } from '../../src/linux/sockets/socket.js';
import { longTest, runTests, test } from '../harness/suite.js';

longTest(
  'no descriptors are left for a while: a touch of a file array and writeTo() go on afterwards',
  async () => {
    const program = fileURLToPath(new URL('./programs/no-descriptors.js', import.meta.url));
    const path = `${tmpdir()}/onemem-no-descriptors-${process.pid}`;
    const limited = `ulimit -n 200; exec "${process.execPath}" "${program}" "${path}"`;
    const { stdout } = await promisify(execFile)('sh', ['-c', limited], {
      timeout: 40_000,
      killSignal: 'SIGKILL',
    });
    assert.equal(stdout, 'first 7 of true\nwritten true\nsame true\nclosed\n');
  },
  45,
);

test('a transfer that waits for the other end of a pipe keeps no transfer of a file waiting', async () => {
  const space = await openSpace({ hostMemory: '256MiB' });
  const [ours, theirs] = createSocketPair();
  const x = space.array(Uint8Array, 4096);
  const received = x.readFrom(ours);
  const file = space.fileArray(Uint8Array, process.execPath);
  const copy = space.array(Uint8Array, 4096);
  copy.data.fill(9);
  const path = `${tmpdir()}/onemem-pipe-${process.pid}`;
  const scratch = openSync(path, 'w+');
  // Nothing has come yet: the file is written all the same.
  assert.equal(await copy.writeTo(scratch, { position: 0 }), 4096);
  assert.equal(file.data[0], 0x7f);
  writeSync(theirs, copy.data.slice(0, 100));
  closeDescriptor(theirs);
  assert.equal(await received, 100);
  assert.equal(x.data[99], 9);
  closeDescriptor(ours);
  closeSync(scratch);
  unlinkSync(path);
  await space.close();
});

await runTests();
