/** Spaces in files: `space.save` and `openSpace({ from })`. */
import assert from 'node:assert/strict';
import {
  closeSync,
  copyFileSync,
  openSync,
  readSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { openSpace } from '../../src/index.js';
import { Agent, attachedAgent } from '../harness/agents.js';
import { Folder } from '../harness/command.js';
import { failsWith, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const options = { hostMemory: '32MiB', storage: true } as const;

/** Saves a space with an array larger than its memory, one that is nearly empty, and small ones. */
async function saved(folder: Folder): Promise<string> {
  const path = folder.file('saved');
  await using space = await openSpace(options);
  const x = space.array(Int32Array, 10 * MIB, { name: 'x' });
  for (let i = 0; i < x.length; i++) x.data[i] = i;
  const sparse = space.array(Float64Array, 8 * MIB, { name: 'sparse' });
  sparse.data[5 * MIB] = 2.5;
  space.array(Uint8Array, 0, { name: 'empty' });
  space.bytes(3, { name: 'raw' }).data.set([1, 2, 3]);
  assert.equal(await space.save(path), statSync(path).size);
  return path;
}

longTest(
  'a saved space opens with the same arrays, larger than memory, and zeros take no room',
  async () => {
    using folder = new Folder();
    const path = await saved(folder);
    assert.ok(statSync(path).blocks * 512 < 45 * MIB, `${statSync(path).blocks} blocks`);
    await using space = await openSpace({ ...options, from: path });
    sameData(space.find<Int32Array>('x')?.data ?? [], (i) => i);
    const sparse = space.find<Float64Array>('sparse');
    assert.deepEqual([sparse?.length, sparse?.data[5 * MIB], sparse?.data[5]], [8 * MIB, 2.5, 0]);
    assert.equal(space.find('empty')?.length, 0);
    assert.deepEqual([...(space.find<Uint8Array>('raw')?.data ?? [])], [1, 2, 3]);
    space.checkInvariants();
  },
);

longTest('two programs open one file, and neither sees what the other one writes', async () => {
  using folder = new Folder();
  const path = await saved(folder);
  const before = readStart(path);
  await using space = await openSpace({ ...options, from: path });
  await using agent = new Agent();
  await agent.do('openFrom', path);
  await agent.do('add', 'x', 0, MIB);
  assert.equal(await agent.do('read', 'x', 5), 6);
  const x = space.find<Int32Array>('x');
  assert.ok(x !== null);
  assert.equal(x.data[5], 5);
  x.data[7] = -1;
  assert.equal(await agent.do('read', 'x', 7), 8);
  assert.deepEqual(readStart(path), before);
});

longTest(
  'a space that was opened from a file is saved to the same one, with what was changed',
  async () => {
    using folder = new Folder();
    const path = await saved(folder);
    {
      await using space = await openSpace({ ...options, from: path });
      const x = space.find<Int32Array>('x');
      if (x !== null) x.data[9 * MIB] = -7;
      await space.save(path);
    }
    await using space = await openSpace({ ...options, from: path });
    sameData(space.find<Int32Array>('x')?.data ?? [], (i) => (i === 9 * MIB ? -7 : i));
  },
);

longTest('an attached process saves the space that it uses', async () => {
  using folder = new Folder();
  await using space = await openSpace(options);
  space.array(Int32Array, MIB, { name: 'x' }).data.fill(3);
  await using agent = await attachedAgent(space.share());
  await agent.do('save', folder.file('saved'));
  await using again = await openSpace({ ...options, from: folder.file('saved') });
  sameData(again.find<Int32Array>('x')?.data ?? [], () => 3);
});

longTest('kill -9 in the middle of a save leaves the old file', async () => {
  using folder = new Folder();
  const path = await saved(folder);
  const agent = new Agent();
  await agent.do('openFrom', path);
  let before: Buffer;
  let value = 0;
  // A save that has ended before the process stands still is followed by another one.
  do {
    await agent.do('fill', 'x', 0, 10 * MIB, ++value);
    before = readStart(path);
    let isOver = false;
    const saving = agent.do('save', path).finally(() => {
      isOver = true;
    });
    saving.catch(() => undefined);
    while (!isOver && folder.temporaries.length === 0) await sleep(1);
    agent.process.kill('SIGSTOP');
    await agent.stopped();
    if (folder.temporaries.length > 0) break;
    agent.process.kill('SIGCONT');
    await saving;
  } while (value < 20);
  assert.ok(folder.temporaries.length > 0);
  await agent.kill();
  assert.deepEqual(readStart(path), before);
  await using space = await openSpace({ ...options, from: path });
  assert.equal(space.find<Int32Array>('x')?.data[8], value === 1 ? 8 : value - 1);
});

/** The head, and the beginning of the first array. */
function readStart(path: string): Buffer {
  const bytes = Buffer.alloc(MIB);
  const fd = openSync(path, 'r');
  readSync(fd, bytes, 0, MIB, 0);
  closeSync(fd);
  return bytes;
}

test('cut, foreign and damaged files are refused by name, before anything is started', async () => {
  using folder = new Folder();
  const path = folder.file('good');
  {
    await using space = await openSpace(options);
    space.array(Int32Array, 1000, { name: 'x' }).data.fill(3);
    await space.save(path);
  }
  const bad = folder.file('bad');
  const refused = async (message: RegExp): Promise<void> => {
    const error = await failsWith('SPACE_FILE', () => openSpace({ ...options, from: bad }));
    assert.match(error.message, message);
    assert.ok(error.message.includes(bad));
  };
  const { size } = statSync(path);
  copyFileSync(path, bad);
  truncateSync(bad, size - 1);
  await refused(/has \d+ bytes, and was written with \d+/);
  for (const [at, message] of [
    [3, /is no saved space/],
    [20, /the checksum of its head/],
    [40, /the checksum of its head/],
    [size - 2, /the checksum of its list/],
  ] as const) {
    copyFileSync(path, bad);
    flip(bad, at);
    await refused(message);
  }
  writeFileSync(bad, '');
  await refused(/is no saved space/);
  await failsWith('SPACE_FILE', () => openSpace({ from: folder.path }));
  await failsWith('ENOENT', () => openSpace({ from: folder.file('nothing') }));
});

test('a damaged page is refused by its byte in the file, and all others are there', async () => {
  using folder = new Folder();
  const path = folder.file('damaged');
  {
    await using space = await openSpace(options);
    space.array(Int32Array, 3000, { name: 'x' }).data.fill(3);
    const holes = space.array(Int32Array, 2 ** 20, { name: 'holes' });
    holes.data[0] = 7;
    await space.save(path);
  }
  // The arrays begin at bytes 4096 and 16384: the second page of one, a hole of the other.
  flip(path, 2 * 4096 + 1);
  flip(path, 16384 + 100 * 4096);
  await using space = await openSpace({ ...options, from: path });
  const x = space.find<Int32Array>('x');
  const holes = space.find<Int32Array>('holes');
  assert.ok(x !== null && holes !== null);
  const nothing = openSync('/dev/null', 'w');
  const error = await failsWith('FILE_CHANGED', () => x.writeTo(nothing));
  assert.match(error.message, /the checksum of the page at byte 8192 of .*damaged does not match/);
  await failsWith('FILE_CHANGED', () => holes.writeTo(nothing));
  closeSync(nothing);
  sameData(x.data.subarray(0, 1024), () => 3);
  sameData(x.data.subarray(2048), () => 3);
  assert.deepEqual([holes.data[0], holes.data[2 ** 20 - 1]], [7, 0]);
});

function flip(path: string, at: number): void {
  const fd = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(fd, byte, 0, 1, at);
  byte[0] ^= 1;
  writeSync(fd, byte, 0, 1, at);
  closeSync(fd);
}

test('an attached process reads files into arrays and writes arrays to files', async () => {
  using folder = new Folder();
  await using space = await openSpace(options);
  const x = space.array(Int32Array, 100_000, { name: 'x' });
  folder.write('in', new Uint8Array(Int32Array.from({ length: 70_000 }, (_, i) => i).buffer));
  await using agent = await attachedAgent(space.share());
  assert.equal(await agent.do('readFrom', 'x', folder.file('in'), 10), 280_000);
  sameData(x.data, (i) => (i < 10 || i >= 70_010 ? 0 : i - 10));
  assert.equal(await agent.do('writeTo', 'x', folder.file('out')), 400_000);
  assert.deepEqual(folder.read('out'), Buffer.from(x.data.buffer, x.data.byteOffset, 400_000));
});

await runTests();
