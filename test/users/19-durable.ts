/**
 * Data counts as durable when it was written again after the error that the kernel tells of once.
 */
import assert from 'node:assert/strict';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { openFailing } from '../harness/failing.js';
import { failsWith, runTests, sameData, variantTest } from '../harness/suite.js';

const BYTES = 1 << 20;

for (const before of [false, true]) {
  variantTest(
    `a sync fails once${before ? ', after a flush that was not to be durable' : ''}: the next flush writes all of it again`,
    async () => {
      const folder = mkdtempSync(`${tmpdir()}/onemem-durable-`);
      const path = `${folder}/file`;
      writeFileSync(path, Buffer.alloc(BYTES));
      const { space, arm, fired } = await openFailing('fdatasync:EIO:1', { hostMemory: '200MiB' });
      const x = space.fileArray(Uint8Array, path, { shared: true });
      x.data.fill(7);
      if (before) assert.equal(await x.flush(), BYTES);
      arm();
      const error = await failsWith('FLUSH_FAILED', () => x.flush({ durable: true }));
      assert.match(error.message, /EIO/);
      // What the kernel could not put on the disk is no longer what the file has once its memory was
      // needed for something else.
      const disk = openSync(path, 'r+');
      writeSync(disk, Buffer.alloc(BYTES));
      closeSync(disk);
      assert.equal(await x.flush({ durable: true }), BYTES);
      sameData(readFileSync(path), () => 7);
      assert.equal(await x.flush({ durable: true }), 0);
      assert.equal(fired(), 1);
      await space.close();
      rmSync(folder, { recursive: true });
    },
  );
}

await runTests();
