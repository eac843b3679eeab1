/** Memory between host memory and storage: a file on tmpfs, or bytes of a node of memory. */
import assert from 'node:assert/strict';
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AddressSpace,
  openSpace,
  type SlowMemorySpecification,
  type SlowMemoryStats,
} from '../../src/index.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const N = 10 * MIB;
const HOST = '32MiB';
const folder = mkdtempSync('/dev/shm/onemem-slow-');
const disk = mkdtempSync(join(tmpdir(), 'onemem-slow-'));
process.on('exit', () => {
  for (const each of [folder, disk]) rmSync(each, { recursive: true, force: true });
});

const value = (i: number): number => Math.imul(i, 2_654_435_761) | 0;
let files = 0;

/** A file on tmpfs of so many bytes. */
function file(bytes: number): string {
  const path = join(folder, `memory-${++files}`);
  closeSync(openSync(path, 'w'));
  truncateSync(path, bytes);
  return path;
}

function statsOf(space: AddressSpace): SlowMemoryStats {
  const { slowMemory } = space.stats();
  assert.ok(slowMemory !== null);
  return slowMemory;
}

function fill(space: AddressSpace) {
  const x = space.array(Int32Array, N);
  for (let i = 0; i < N; i++) x.data[i] = value(i);
  return x;
}

test('what the host has no room for goes to a file in memory, and comes back as it was', async () => {
  const path = file(32 * MIB);
  const slowMemory = { path, latencyUs: 0.3, bandwidth: '30GB' };
  const space = await openSpace({ hostMemory: HOST, storage: false, slowMemory });
  assert.equal(statsOf(space).budgetBytes, 32 * MIB);
  const x = fill(space);
  sameData(x.data, value);
  const { bytesWritten, bytesRead, heldBytes, ...rest } = statsOf(space);
  assert.ok(bytesWritten >= 8 * MIB && bytesRead >= 8 * MIB && heldBytes >= 8 * MIB);
  assert.deepEqual(rest, {
    path,
    node: null,
    latencyUs: 0.3,
    bandwidth: 30e9,
    budgetBytes: 32 * MIB,
    full: false,
  });
  assert.equal(x.residency().bytes.memory, heldBytes);
  assert.ok(space.stats().processors[0].peakBytes <= 32 * MIB);
  space.checkInvariants();
  await space.close();
  const { size, blocks } = statSync(path);
  assert.deepEqual([size, blocks], [32 * MIB, 0]);
});

test('what slow memory has no room for goes on to storage', async () => {
  const slowMemory = { path: file(4 * MIB) };
  const storage = { path: disk, bytes: '64MiB' };
  await using space = await openSpace({ hostMemory: HOST, storage, slowMemory });
  const x = fill(space);
  sameData(x.data, value);
  const { bytesWritten, heldBytes } = statsOf(space);
  assert.ok(bytesWritten > 4 * MIB && heldBytes <= 4 * MIB);
  assert.ok((x.residency().bytes.storage ?? 0) > 0);
  space.checkInvariants();
});

longTest('a node of memory gives bytes, which are gone with the space', async () => {
  const probe = await openSpace({ storage: false });
  const [{ node }] = probe.numa;
  await probe.close();
  const slowMemory = { node, bytes: '24MiB' };
  await using space = await openSpace({ hostMemory: HOST, storage: false, slowMemory });
  const x = fill(space);
  sameData(x.data, value);
  const { path, node: where, budgetBytes } = statsOf(space);
  assert.deepEqual([path, where, budgetBytes], [null, node, 24 * MIB]);
});

test('a file is the memory of one space, and free again after it', async () => {
  const path = file(4 * MIB);
  const open = () => openSpace({ hostMemory: HOST, storage: false, slowMemory: { path } });
  const space = await open();
  const error = await failsWith('SLOW_MEMORY', open);
  assert.match(error.message, /another space uses it; name a file for each space/);
  await space.close();
  await (await open()).close();
});

test('a file with content is refused, and keeps it', async () => {
  const path = join(folder, 'precious');
  writeFileSync(path, 'precious');
  truncateSync(path, 4 * MIB);
  const error = await failsWith('SLOW_MEMORY', () => openSpace({ slowMemory: { path } }));
  assert.match(error.message, /it has content, which would be overwritten/);
  assert.equal(readFileSync(path, 'latin1').slice(0, 8), 'precious');
});

longTest('a file that is cut under a space holds what comes to it then', async () => {
  const path = file(32 * MIB);
  await using space = await openSpace({ hostMemory: HOST, storage: false, slowMemory: { path } });
  const fd = openSync(path, 'r+');
  ftruncateSync(fd, 0);
  closeSync(fd);
  const x = fill(space);
  sameData(x.data, value);
});

for (const [what, slowMemory, code, expected] of [
  ['a number', 7, 'OPTIONS', /slowMemory/],
  ['nothing', {}, 'SLOW_MEMORY', /neither path nor bytes/],
  ['an unknown option', { bytes: '4MiB', speed: 1 }, 'OPTIONS', /speed/],
  ['no such file', { path: '/dev/shm/no/such' }, 'SLOW_MEMORY', /ENOENT.*truncate -s/],
  ['a folder', { path: folder }, 'SLOW_MEMORY', /it is a folder/],
  ['a device', { path: '/dev/null' }, 'SLOW_MEMORY', /it is a device.*daxctl/],
  ['a short file', { path: file(4096) }, 'SLOW_MEMORY', /it has 4096 bytes, and 2097152/],
  ['more than the file', { path: file(4 * MIB), bytes: '8MiB' }, 'SLOW_MEMORY', /too short/],
  ['too few bytes', { bytes: 4096 }, 'SIZE', /slowMemory\.bytes is 4096/],
  ['no room', { bytes: '2TiB' }, 'SLOW_MEMORY', /slowMemory has 2199023255552 bytes/],
  ['a node that is not there', { bytes: '4MiB', node: 77 }, 'NUMA_NODE', /node 77/],
  ['a path and a node', { path: file(4 * MIB), node: 0 }, 'SLOW_MEMORY', /say one of them/],
  ['a latency below 0', { bytes: '4MiB', latencyUs: -1, bandwidth: 1e9 }, 'SLOW_MEMORY', /latency/],
  ['a latency alone', { bytes: '4MiB', latencyUs: 1 }, 'SLOW_MEMORY', /no bandwidth/],
  ['no bandwidth', { bytes: '4MiB', bandwidth: 0 }, 'SIZE', /slowMemory\.bandwidth is 0/],
  ['little bandwidth', { bytes: '4MiB', bandwidth: 10 }, 'SLOW_MEMORY', /at least 1000000/],
] as const)
  test(`slow memory is refused by name: ${what}`, async () => {
    const said = slowMemory as SlowMemorySpecification;
    const error = await failsWith(code, () => openSpace({ hostMemory: HOST, slowMemory: said }));
    assert.match(error.message, expected);
  });

test('a file on a disk is refused', async () => {
  const path = join(disk, 'file');
  writeFileSync(path, '');
  truncateSync(path, 4 * MIB);
  const error = await failsWith('SLOW_MEMORY', () => openSpace({ slowMemory: { path } }));
  assert.match(error.message, /use storage: \{ path \} for a disk/);
});

await runTests();
