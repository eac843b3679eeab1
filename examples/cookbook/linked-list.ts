/**
 * A linked list whose nodes link to each other by address, in two arrays at once and larger than
 * the device's memory. The CPU builds it, the device adds it up, takes out every third node and
 * reverses the rest, and the CPU walks what is left: the same links for both.
 */
import { addressView, bytes, f64, kernel, openSpace, u64 } from 'onemem';

/** A node: the address of the next one or 0, and a value. */
const NEXT = 0n;
const VALUE = 8n;
const NODE_BYTES = 16;
const NODES = 400_000;

interface PlainNode {
  readonly address: bigint;
  readonly value: number;
}

const sum = kernel(
  { left: bytes.in, right: bytes.in, head: u64, total: f64.out },
  ({ head, total }, _range, memory) => {
    let added = 0;
    for (let node = head; node !== 0n; node = memory.load('u64', node))
      added += memory.load('f64', node + 8n);
    total[0] = added;
  },
);

const removeEveryThird = kernel(
  { left: bytes.inout, right: bytes.inout, head: u64 },
  ({ head }, _range, memory) => {
    let position = 1;
    for (let node = head; node !== 0n; position++) {
      let next = memory.load('u64', node);
      if (position % 2 === 0 && next !== 0n) {
        next = memory.load('u64', next);
        memory.store('u64', node, next);
      }
      node = next;
    }
  },
);

const reverse = kernel(
  { left: bytes.inout, right: bytes.inout, head: u64, newHead: u64.out },
  ({ head, newHead }, _range, memory) => {
    let before = 0n;
    for (let node = head; node !== 0n; ) {
      const next = memory.load('u64', node);
      memory.store('u64', node, before);
      before = node;
      node = next;
    }
    newHead[0] = before;
  },
);

await using space = await openSpace({ devices: [{ kind: 'process', memory: '4MiB' }] });
const [device] = space.devices;
const left = space.bytes((NODES / 2) * NODE_BYTES, { name: 'left' });
const right = space.bytes((NODES / 2) * NODE_BYTES, { name: 'right' });
if (left.byteLength + right.byteLength <= device.memory)
  throw new Error('the list was meant to be larger than the device');

// Neighbours in the list lie in different arrays, and in no order within a stretch of 64 nodes (37
// and 64 have no common divisor).
const list: PlainNode[] = Array.from({ length: NODES }, (_, i) => {
  const place = (i >> 1) - ((i >> 1) % 64) + (((i >> 1) * 37) % 64);
  return { address: (i % 2 === 0 ? left : right).addressOf(place * NODE_BYTES), value: i };
});

const memory = addressView(left, right);
for (const [i, { address, value }] of list.entries()) {
  memory.store('u64', address + NEXT, list[i + 1]?.address ?? 0n);
  memory.store('f64', address + VALUE, value);
}

const head = list[0].address;
const total = space.array(Float64Array, 1);
await device.run(sum, { left, right, head, total }, { size: 1 });
const expectedTotal = (NODES * (NODES - 1)) / 2;
if (total.data[0] !== expectedTotal)
  throw new Error(`the device counted ${total.data[0]} instead of ${expectedTotal}`);

const newHead = space.array(BigUint64Array, 1);
await device.run(removeEveryThird, { left, right, head }, { size: 1 });
await device.run(reverse, { left, right, head, newHead }, { size: 1 });

const expected = list.filter((_, i) => i % 3 !== 2).reverse();
let node = newHead.data[0];
for (const [i, { address, value }] of expected.entries()) {
  const found = node === 0n ? Number.NaN : memory.load('f64', node + VALUE);
  if (node !== address || found !== value) {
    throw new Error(
      `node ${i} is ${found} at 0x${node.toString(16)} instead of ${value} at 0x${address.toString(16)}`,
    );
  }
  node = memory.load('u64', node + NEXT);
}
if (node !== 0n) throw new Error(`the list goes on after ${expected.length} nodes`);

const mebibytes = (left.byteLength + right.byteLength) / 2 ** 20;
console.log(
  `${NODES} nodes in two arrays, ${mebibytes.toFixed(1)} MiB on a device of ${device.memory / 2 ** 20} MiB`,
);
console.log(`sum ${total.data[0]}; ${expected.length} left, in reverse, each where it was`);
