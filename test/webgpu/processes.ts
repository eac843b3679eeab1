/**
 * Launches of another process on a GPU that go by pages. What else processes and GPUs do together
 * is in the conformance suite.
 */
import assert from 'node:assert/strict';
import { openSpace } from '../../src/index.js';
import { attachedAgent } from '../harness/agents.js';
import { gpuWith } from '../harness/gpu.js';
import { filled, longTest, runTests, sameData } from '../harness/suite.js';

const WIDTH = 1024;
const TABLE_ROWS = 4096;
const ROWS = 80;

longTest(
  'rows of a table that is larger than the GPU, by a launch of another process',
  async () => {
    await using space = await openSpace({ hostMemory: '64MiB', devices: [gpuWith('8MiB')] });
    const table = space.array(Uint32Array, TABLE_ROWS * WIDTH, { name: 'table' });
    const ids = space.array(Uint32Array, ROWS, { name: 'ids' });
    const rows = space.array(Uint32Array, ROWS * WIDTH, { name: 'rows' });
    filled(table.data, (i) => i ^ 0x5555);
    filled(ids.data, (i) => (i * 977) % TABLE_ROWS);
    await using child = await attachedAgent(space.share());
    const wanted = (i: number): number =>
      (ids.data[Math.floor(i / WIDTH)] * WIDTH + (i % WIDTH)) ^ 0x5555;
    await child.do('lookUp', WIDTH);
    sameData(rows.data, wanted);
    // What the other process writes is seen by its next launch, on pages that the GPU had.
    await child.do('add', 'table', 977 * WIDTH, 978 * WIDTH);
    await child.do('lookUp', WIDTH);
    sameData(rows.data, (i) => wanted(i) + (Math.floor(i / WIDTH) === 1 ? 1 : 0));
    assert.equal(space.devices[0].stats().pagedLaunches, 2);
    space.checkInvariants();
  },
);

await runTests(120);
