/** Nodes of memory: what the machine has, and arrays that lie on one of them. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { openSpace } from '../../src/index.js';
import { runProgram } from '../harness/processes.js';
import { failsWith, longTest, note, runTests, sameData, test } from '../harness/suite.js';

const LENGTH = 2 ** 20;

/** What /proc/self/numa_maps says of the policy at an address; '' where the kernel has no such file. */
function policyAt(address: bigint): string {
  let text: string;
  try {
    text = readFileSync('/proc/self/numa_maps', 'latin1');
  } catch {
    return '';
  }
  const rows = text.split('\n').map((line) => line.split(' '));
  const row = rows.findLast(([start]) => start !== '' && BigInt(`0x${start}`) <= address);
  return row?.[1] ?? '';
}

test('the nodes of the machine have its CPUs and its memory', async () => {
  await using space = await openSpace();
  const nodes = space.numa;
  assert.ok(nodes.length >= 1);
  assert.ok(nodes.some(({ cpus }) => cpus.includes(0)));
  for (const { node, bytes, freeBytes, distances } of nodes) {
    assert.ok(bytes >= freeBytes && freeBytes >= 0, `node ${node}`);
    assert.equal(distances.length, nodes.length);
  }
});

test('a device of a machine with one node is on that node', async () => {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const nodes = space.numa.map(({ node }) => node);
  assert.ok([...nodes, null].includes(space.devices[0].numaNode));
  if (nodes.length === 1) assert.equal(space.devices[0].numaNode, nodes[0]);
});

test('pages of an array lie on its node', async () => {
  await using space = await openSpace();
  const [{ node }] = space.numa;
  const placed = space.array(Int32Array, LENGTH, { numa: { node, only: true } });
  for (let i = 0; i < LENGTH; i++) placed.data[i] = i;
  sameData(placed.data, (i) => i);
  const address = placed.addressOf(0);
  note(`policy of its pages: ${policyAt(address) || 'not shown by this kernel'}`);
  if (policyAt(address) !== '') assert.equal(policyAt(address), `bind:${node}`);
});

test('pages of an array prefer its node where they may lie elsewhere', async () => {
  await using space = await openSpace();
  const [{ node }] = space.numa;
  const placed = space.array(Int32Array, LENGTH, { numa: { node } });
  placed.data.fill(3);
  sameData(placed.data, () => 3);
  const policy = policyAt(placed.addressOf(0));
  note(`policy of its pages: ${policy || 'not shown by this kernel'}`);
  if (policy !== '') assert.equal(policy, `prefer:${node}`);
});

test('a node that the machine has not is refused by name', async () => {
  await using space = await openSpace();
  const error = await failsWith('NUMA_NODE', () =>
    space.array(Int32Array, 10, { name: 'x', numa: { node: 999 } }),
  );
  assert.ok(error instanceof RangeError);
  assert.match(error.message, /^cannot place array x on node 999: this machine has nodes? 0/);
  await failsWith('OPTIONS', () => space.array(Int32Array, 10, { numa: { on: 0 } as never }));
});

longTest('where a container forbids it, a line says so, and the array is there', async () => {
  const { code, stdout, stderr } = await runProgram('numa-refused', []);
  assert.equal(code, 0, stderr);
  assert.equal(stdout, 'true\n');
  assert.match(
    stderr,
    /^onemem: warning: array placed cannot be placed on node 0 \(mbind failed with EPERM\), and lies wherever there is room; .*CAP_SYS_NICE/,
  );
});

await runTests();
