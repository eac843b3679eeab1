/** Arrays over files that a process makes in the space of another one, by its own descriptors. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { openSpace } from '../../src/index.js';
import { attachedAgent } from '../harness/agents.js';
import { Folder } from '../harness/command.js';
import { openFiles } from '../harness/descriptors.js';
import { failsWith, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const LENGTH = 2 ** 18;
const numbers = Int32Array.from({ length: LENGTH }, (_, i) => i);

function int32s(path: string): Int32Array {
  return new Int32Array(new Uint8Array(readFileSync(path)).buffer);
}

test('a child opens a file that the owner then has, and both write it', async () => {
  using folder = new Folder();
  const path = folder.file('data');
  writeFileSync(path, numbers);
  await using space = await openSpace({ hostMemory: '64MiB' });
  await using child = await attachedAgent(space.share());
  const descriptors = await child.do('descriptors');
  assert.equal(await child.do('openFile', path, 'file', { shared: true }), LENGTH);
  assert.equal(await child.do('descriptors'), descriptors);
  const file = space.find<Int32Array>('file');
  assert.ok(file !== null);
  sameData(file.data, (i) => i);
  file.data[3] = 33;
  await child.do('fill', 'file', LENGTH - 2, LENGTH, 7);
  await failsWith('FILE_LOCKED', () => child.do('openFile', path, 'again', { shared: true }));
  await child.do('flush', 'file');
  sameData(int32s(path), (i) => (i >= LENGTH - 2 ? 7 : i === 3 ? 33 : i));
  space.checkInvariants();
});

test('a child makes a file, and its end writes what is in it and closes it', async () => {
  using folder = new Folder();
  const path = folder.file('made');
  await using space = await openSpace({ hostMemory: '64MiB' });
  const child = await attachedAgent(space.share());
  assert.equal(await child.do('openFile', path, 'made', { create: LENGTH }), LENGTH);
  await child.do('add', 'made', 0, LENGTH);
  assert.ok(openFiles().includes(path));
  await child.kill();
  while (space.find('made') !== null) await sleep(5);
  assert.ok(!openFiles().includes(path));
  sameData(int32s(path), () => 1);
  using again = space.fileArray(Int32Array, path, { shared: true });
  assert.equal(again.data[LENGTH - 1], 1);
});

longTest('what cannot be opened is refused in the child, and leaves nothing', async () => {
  using folder = new Folder();
  const path = folder.file('data');
  writeFileSync(path, numbers);
  await using space = await openSpace({ hostMemory: '64MiB', addressSpace: '1GiB' });
  await using child = await attachedAgent(space.share());
  await using reader = await attachedAgent(space.share({ rights: 'read' }));
  const descriptors = openFiles().length;
  await failsWith('FILE_TOO_SHORT', () => child.do('openFile', path, 'x', { length: LENGTH + 1 }));
  await failsWith('OTHER_PROCESS', () => child.do('openFile', path, 'x', { mapped: true }));
  await failsWith('ACCESS_DENIED', () => reader.do('openFile', path, 'x', {}));
  await failsWith('ADDRESS_SPACE', () => child.do('openFile', path, 'x', { create: 2 ** 30 }));
  assert.equal(openFiles().length, descriptors);
  assert.equal(readFileSync(path).length, 4 * LENGTH);
});

longTest('more of a file than memory holds comes to a child that opened it', async () => {
  using folder = new Folder();
  const path = folder.file('data');
  const length = 10 * 2 ** 20;
  writeFileSync(
    path,
    Int32Array.from({ length }, (_, i) => i % 1000),
  );
  await using space = await openSpace({ hostMemory: '32MiB' });
  await using child = await attachedAgent(space.share());
  await child.do('openFile', path, 'file', {});
  const expected =
    Math.floor(length / 1000) * 499_500 + ((length % 1000) * ((length % 1000) - 1)) / 2;
  assert.equal(await child.do('sum', 'file'), expected);
  sameData(space.find<Int32Array>('file')?.data ?? [], (i) => i % 1000);
  space.checkInvariants();
});

await runTests();
