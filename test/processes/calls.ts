/** Calls of the guide's table of what an attached process can do, each from one. */
import assert from 'node:assert/strict';
import { npyHeader } from '../../src/files/npy.js';
import { openSpace } from '../../src/index.js';
import { attachedAgent } from '../harness/agents.js';
import { Folder } from '../harness/command.js';
import { failsWith, runTests, sameData, test } from '../harness/suite.js';

const LENGTH = 2 ** 18;
const VALUES = [1, 2, 3, 4, 5, 6];
const content = Buffer.from(Float32Array.from(VALUES).buffer);

const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);

function npy(): Buffer {
  return Buffer.concat([npyHeader('f32', [2, 3]), content]);
}

function safetensors(): Buffer {
  const text = JSON.stringify({ w: { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] } });
  const header = text.padEnd(Math.ceil(text.length / 8) * 8);
  return Buffer.concat([u64(header.length), Buffer.from(header), content]);
}

/** One tensor 'w', at the next multiple of 32 bytes. */
function gguf(): Buffer {
  const header = Buffer.concat([
    Buffer.from('GGUF'),
    ...[u32(3), u64(1), u64(0)],
    ...[u64(1), Buffer.from('w'), u32(2), u64(3), u64(2), u32(0), u64(0)],
  ]);
  return Buffer.concat([header, Buffer.alloc((32 - (header.length % 32)) % 32), content]);
}

test('files of tensors and of rows open in an attached process', async () => {
  using folder = new Folder();
  await using space = await openSpace({ hostMemory: '64MiB' });
  await using child = await attachedAgent(space.share());
  for (const [kind, bytes] of [
    ['npy', npy()],
    ['safetensors', safetensors()],
    ['gguf', gguf()],
  ] as const)
    assert.deepEqual(
      await child.do('openTensors', kind, folder.write(`file.${kind}`, bytes)),
      VALUES,
    );
  space.checkInvariants();
});

test('an attached process holds, takes for a device alone, and asks who used what', async () => {
  await using space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const x = space.array(Int32Array, LENGTH, { name: 'x' });
  x.data.fill(5);
  await using child = await attachedAgent(space.share());
  assert.equal(await child.do('holdAndRelease', 'x'), 5);
  assert.equal(space.stats().pinnedBytes, 0);
  assert.equal(await child.do('exclusive', 'x'), 4 * LENGTH);
  await child.do('young', 'x');
  await child.do('add', 'x', 0, LENGTH);
  assert.deepEqual(await child.do('young', 'x'), [`process ${child.pid}`]);
  sameData(x.data, () => 6);
  space.checkInvariants();
});

test('orders to a device that the owner has detached say so in an attached process', async () => {
  const devices = [{ kind: 'process', memory: '8MiB' }] as const;
  await using space = await openSpace({ hostMemory: '64MiB', devices });
  const x = space.array(Int32Array, LENGTH, { name: 'x' });
  x.data.fill(5);
  await using child = await attachedAgent(space.share());
  assert.deepEqual(await child.do('codesOfOrders', 'x'), ['none', 'none', 'none', 'none']);
  await space.devices[0].detach();
  const code = 'DEVICE_DETACHED';
  assert.deepEqual(await child.do('codesOfOrders', 'x'), [code, code, code, code]);
  space.checkInvariants();
});

test("pictures, events and stories of pages are the owner's alone", async () => {
  await using space = await openSpace({
    hostMemory: '64MiB',
    history: '1MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const x = space.array(Int32Array, 1000, { name: 'x' });
  x.data.fill(5);
  await using child = await attachedAgent(space.share());
  await failsWith('OTHER_PROCESS', () => child.do('explain', 'x'));
  await failsWith('OTHER_PROCESS', () => child.do('eventsOf', 'x'));
  await failsWith('OTHER_PROCESS', () => child.do('servePage'));
  sameData(x.data, () => 5);
  space.checkInvariants();
});

await runTests();
