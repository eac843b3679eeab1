/**
 * A process has room for 15 spaces of the usual size, says so when there are more, and for many
 * small ones.
 */
import assert from 'node:assert/strict';
import { type AddressSpace, openSpace } from '../../src/index.js';
import { failsWith, longTest, runTests, test } from '../harness/suite.js';

const small = { hostMemory: '32MiB', storage: false } as const;

longTest(
  'where no addresses are left the error says how many there are, and what has room',
  async () => {
    const spaces: AddressSpace[] = [];
    const open = async (): Promise<void> => {
      for (;;) spaces.push(await openSpace({ ...small, addressSpace: '4TiB' }));
    };
    const { message } = await failsWith('ADDRESS_SPACE', open);
    assert.match(message, /room for 15 of 1 TiB, .*addressSpace: '64GiB'/);
    assert.doesNotMatch(message, /mmap|EEXIST/);
    spaces.push(await openSpace({ ...small, addressSpace: '64GiB' }));
    for (const space of spaces) await space.close();
  },
);

test('spaces that ask for few addresses lie close to each other', async () => {
  await using one = await openSpace({ ...small, addressSpace: '64GiB' });
  await using other = await openSpace({ ...small, addressSpace: '64GiB' });
  const [x, y] = [one, other].map((space) => space.array(Uint32Array, 1024));
  x.data.fill(1);
  y.data.fill(2);
  assert.deepEqual([x.data[1023], y.data[1023]], [1, 2]);
  assert.ok(Math.abs(Number(y.address - x.address)) < 2 ** 40);
});

await runTests();
