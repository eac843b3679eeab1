/**
 * Lists and trees whose nodes link to each other by address, built by the CPU and changed by a
 * device, and back.
 */
import assert from 'node:assert/strict';
import {
  type AddressSpace,
  addressView,
  bytes,
  type DeviceSpecification,
  f64,
  kernel,
  type ManagedArray,
  OnememError,
  u64,
} from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, note, runTests, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const SEED = Number(process.env.ONEMEM_SEED ?? 1);
const WHOLE = { begin: 0, end: 1, size: 1, unit: 0, units: 1 };

/**
 * A list of two arrays takes 6 MiB: more than the process device has, and all at once on the
 * simulated one, which cannot fault.
 */
const DEVICES: readonly DeviceSpecification[] = [
  { kind: 'process', memory: 4 * MIB },
  { kind: 'simulated', memory: 16 * MIB },
];

/** A kernel's memory by address is no driver's business: one of the user's own gives it, too. */
const CUSTOM: DeviceSpecification = {
  kind: 'custom',
  driver: { module: new URL('./programs/drivers.js', import.meta.url), export: 'create' },
  options: { trouble: 'none' },
  memory: 16 * MIB,
};

function randomNumbers(seed: number): () => number {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function withSpace(
  device: DeviceSpecification,
  action: (space: AddressSpace) => Promise<void>,
): Promise<void> {
  await using space = await sharedSpace({ devices: [device] });
  await action(space);
  space.checkInvariants();
}

/**
 * Node of a list: next, value, and as much again that is not used, so that few nodes fill many
 * pages.
 */
const NODE_BYTES = 64;

interface ListNode {
  readonly address: bigint;
  value: number;
}

/**
 * Goes over the list once: adds `by` to each value, drops nodes whose value is then divisible by
 * seven, and reverses what is left. Returns the sum and the new head.
 */
const pass = kernel(
  { left: bytes.inout, right: bytes.inout, head: u64, by: f64, newHead: u64.out, total: f64.out },
  ({ head, by, newHead, total }, _range, memory) => {
    let before = 0n;
    let sum = 0;
    for (let node = head; node !== 0n; ) {
      const next = memory.load('u64', node);
      const value = memory.load('f64', node + 8n) + by;
      memory.store('f64', node + 8n, value);
      if (value % 7 !== 0) {
        memory.store('u64', node, before);
        before = node;
        sum += value;
      }
      node = next;
    }
    newHead[0] = before;
    total[0] = sum;
  },
);

function passPlain(list: readonly ListNode[], by: number): ListNode[] {
  for (const node of list) node.value += by;
  return list.filter(({ value }) => value % 7 !== 0).reverse();
}

class List {
  readonly left: ManagedArray<Uint8Array>;
  readonly right: ManagedArray<Uint8Array>;
  readonly newHead: ManagedArray<BigUint64Array>;
  readonly total: ManagedArray<Float64Array>;
  readonly plain: ListNode[];

  constructor(space: AddressSpace, nodes: number, random: () => number) {
    this.left = space.bytes((nodes / 2) * NODE_BYTES, { name: 'left' });
    this.right = space.bytes((nodes / 2) * NODE_BYTES, { name: 'right' });
    this.newHead = space.array(BigUint64Array, 1);
    this.total = space.array(Float64Array, 1);
    const places = Array.from({ length: nodes / 2 }, (_, i) => i * NODE_BYTES);
    // In disorder within a few pages; anywhere would be a fault a node.
    for (let i = 0; i < places.length; i++) {
      const other = Math.min(i + Math.floor(random() * 250), places.length - 1);
      [places[i], places[other]] = [places[other], places[i]];
    }
    this.plain = places.flatMap((at) =>
      [this.left, this.right].map((array) => ({
        address: array.addressOf(at),
        value: Math.floor(random() * 1000),
      })),
    );
    const memory = this.memory;
    for (const [i, { address, value }] of this.plain.entries()) {
      memory.store('u64', address, this.plain[i + 1]?.address ?? 0n);
      memory.store('f64', address + 8n, value);
    }
  }

  get memory() {
    return addressView(this.left, this.right);
  }

  /** Walks the list here, and compares it with plain objects in their order. */
  compare(expected: readonly ListNode[]): void {
    const { memory } = this;
    let node = this.newHead.data[0];
    for (const [i, { address, value }] of expected.entries()) {
      if (node !== address)
        assert.fail(`node ${i} is at ${node.toString(16)} instead of ${address.toString(16)}`);
      const found = memory.load('f64', node + 8n);
      if (found !== value) assert.fail(`node ${i} is ${found} instead of ${value}`);
      node = memory.load('u64', node);
    }
    assert.equal(node, 0n);
    const sum = expected.reduce((all, { value }) => all + value, 0);
    assert.equal(this.total.data[0], sum);
  }
}

for (const device of DEVICES) {
  longTest(
    `a list over two arrays, changed by the CPU and a ${device.kind} device in turns`,
    () =>
      withSpace(device, async (space) => {
        const list = new List(space, 100_000, randomNumbers(SEED));
        const { left, right, newHead, total } = list;
        assert.equal(
          left.byteLength + right.byteLength > Number(device.memory),
          device.kind === 'process',
        );
        let expected = list.plain;
        let head = expected[0].address;
        for (let by = 1; by <= 4; by++) {
          if (by % 2 === 1) {
            await space.devices[0].run(
              pass,
              { left, right, head, by, newHead, total },
              { size: 1 },
            );
          } else {
            const values = {
              left: left.data,
              right: right.data,
              head,
              by,
              newHead: newHead.data,
              total: total.data,
            };
            pass.kernel?.(values, WHOLE, list.memory);
          }
          expected = passPlain(expected, by);
          list.compare(expected);
          head = newHead.data[0];
        }
        const evictions = space.devices[0].stats().evictions;
        assert.equal(evictions > 0, device.kind === 'process', `${evictions} evictions`);
      }),
    60,
  );
}

/**
 * Node of a tree (a treap, after Seidel and Aragon): left, right, key, priority, and three times as
 * much that is not used.
 */
const TREE_NODE_BYTES = 128;

/**
 * Inserts the keys whose nodes stand in [first, last) by address; rotations keep the parent's
 * priority the larger one.
 */
const insert = kernel(
  { root: u64.inout, nodes: bytes.inout, tree: u64, first: u64, last: u64 },
  ({ tree, first, last }, _range, memory) => {
    for (let node = first; node < last; node += 128n) {
      const key = memory.load('f64', node + 16n);
      const priority = memory.load('f64', node + 24n);
      let link = tree;
      let at = memory.load('u64', link);
      while (at !== 0n && memory.load('f64', at + 24n) >= priority) {
        link = key < memory.load('f64', at + 16n) ? at : at + 8n;
        at = memory.load('u64', link);
      }
      memory.store('u64', link, node);
      // What was below is split by the key between both sides of the node.
      let smaller = node;
      let larger = node + 8n;
      while (at !== 0n) {
        if (memory.load('f64', at + 16n) < key) {
          memory.store('u64', smaller, at);
          smaller = at + 8n;
          at = memory.load('u64', smaller);
        } else {
          memory.store('u64', larger, at);
          larger = at;
          at = memory.load('u64', larger);
        }
      }
      memory.store('u64', smaller, 0n);
      memory.store('u64', larger, 0n);
    }
  },
);

/**
 * Takes keys out of the tree: the two subtrees of a node are merged, the larger priority on top.
 */
const remove = kernel(
  { root: u64.inout, nodes: bytes.inout, tree: u64, keys: f64.in, found: f64.out },
  ({ tree, keys, found }, _range, memory) => {
    for (let i = 0; i < keys.length; i++) {
      let link = tree;
      let at = memory.load('u64', link);
      while (at !== 0n) {
        const key = memory.load('f64', at + 16n);
        if (key === keys[i]) break;
        link = keys[i] < key ? at : at + 8n;
        at = memory.load('u64', link);
      }
      if (at === 0n) continue;
      found[i] = 1;
      let left = memory.load('u64', at);
      let right = memory.load('u64', at + 8n);
      while (left !== 0n && right !== 0n) {
        if (memory.load('f64', left + 24n) >= memory.load('f64', right + 24n)) {
          memory.store('u64', link, left);
          link = left + 8n;
          left = memory.load('u64', link);
        } else {
          memory.store('u64', link, right);
          link = right;
          right = memory.load('u64', link);
        }
      }
      memory.store('u64', link, left === 0n ? right : left);
    }
  },
);

interface TreeNode {
  readonly address: bigint;
  readonly key: number;
  readonly priority: number;
}

/**
 * What a treap must look like follows from its nodes: the largest priority on top, keys to its
 * sides. In the order of a walk from the root.
 */
function shapeOf(sorted: readonly TreeNode[]): TreeNode[] {
  const shape: TreeNode[] = [];
  const visit = (begin: number, end: number): void => {
    if (begin === end) return;
    let top = begin;
    for (let i = begin; i < end; i++) if (sorted[i].priority > sorted[top].priority) top = i;
    shape.push(sorted[top]);
    visit(begin, top);
    visit(top + 1, end);
  };
  visit(0, sorted.length);
  return shape;
}

for (const device of DEVICES) {
  longTest(
    `a tree, planted by the CPU, to which a ${device.kind} device adds and from which it takes`,
    () =>
      withSpace(device, async (space) => {
        const random = randomNumbers(SEED + 1);
        // More bits than one number has, so that no two are the same.
        const unlike = (): number => random() + random() / 2 ** 32;
        const count = 38_000;
        const planted = 37_500;
        const root = space.array(BigUint64Array, 1, { name: 'root' });
        const nodes = space.bytes(count * TREE_NODE_BYTES, { name: 'nodes' });
        assert.equal(nodes.byteLength > Number(device.memory), device.kind === 'process');
        const tree = root.address;
        const memory = addressView(root, nodes);
        const all: TreeNode[] = Array.from({ length: count }, (_, i) => {
          const node = {
            address: nodes.addressOf(i * TREE_NODE_BYTES),
            key: unlike(),
            priority: unlike(),
          };
          memory.store('f64', node.address + 16n, node.key);
          memory.store('f64', node.address + 24n, node.priority);
          return node;
        });
        assert.equal(new Set(all.flatMap(({ key, priority }) => [key, priority])).size, 2 * count);
        const [first, border] = [nodes.address, nodes.addressOf(planted * TREE_NODE_BYTES)];
        insert.kernel?.(
          { root: root.data, nodes: nodes.data, tree, first, last: border },
          WHOLE,
          memory,
        );
        const last = nodes.address + BigInt(nodes.byteLength);
        using stream = space.devices[0].stream();
        stream.launch(insert, { root, nodes, tree, first: border, last }, { size: 1 });
        const leaving = new Set(all.filter(() => random() < 0.02).map(({ key }) => key));
        // In order, so that neighbours in the tree come one after the other; with some that were
        // never there.
        const keys = Float64Array.from([...leaving, -1, 0.5, 2]).sort();
        const found = new Float64Array(keys.length);
        stream.launch(remove, { root, nodes, tree, keys, found }, { size: 1 });
        await stream.synchronize();
        assert.equal(
          found.reduce((sum, one) => sum + one, 0),
          leaving.size,
        );
        const left = all.filter(({ key }) => !leaving.has(key)).sort((a, b) => a.key - b.key);
        const expected = shapeOf(left);
        let visited = 0;
        const visit = (node: bigint): void => {
          if (node === 0n) return;
          const { address, key, priority } = expected[visited++];
          if (node !== address)
            assert.fail(`node ${visited} is at ${node.toString(16)}, not ${address.toString(16)}`);
          assert.equal(memory.load('f64', node + 16n), key);
          assert.equal(memory.load('f64', node + 24n), priority);
          visit(memory.load('u64', node));
          visit(memory.load('u64', node + 8n));
        };
        visit(root.data[0]);
        assert.equal(visited, left.length);
        note(`${left.length} nodes, ${space.devices[0].stats().evictions} evictions, seed ${SEED}`);
      }),
    60,
  );
}

for (const device of [...DEVICES, CUSTOM]) {
  test(`a ${device.kind} device that follows a wrong address fails its launch by name`, () =>
    withSpace(device, async (space) => {
      const nodes = space.array(BigUint64Array, 1024, { name: 'nodes' });
      const other = space.array(BigUint64Array, 1024, { name: 'other' });
      const follow = kernel({ nodes: u64.inout, from: u64 }, ({ nodes, from }, _range, memory) => {
        nodes[1] = memory.load('u64', from);
      });
      nodes.data[0] = 5n;
      for (const from of [
        0n,
        nodes.address - 1n,
        nodes.address + 8n * 1023n + 1n,
        other.address,
        2n ** 63n,
      ]) {
        const error = await failsWith('KERNEL_ERROR', () =>
          space.devices[0].run(follow, { nodes, from }, { size: 1 }),
        );
        assert.ok(error instanceof OnememError);
        const range = `nodes (0x${nodes.address.toString(16)} to 0x${(nodes.address + 8192n).toString(16)})`;
        assert.ok(
          error.message.includes(
            `a word of 8 bytes at 0x${from.toString(16)} lies in none of the arrays ${range}`,
          ),
          error.message,
        );
      }
      const put = kernel({ nodes: u64.in, at: u64 }, ({ at }, _range, memory) =>
        memory.store('u64', at, 6n),
      );
      const refused = await failsWith('KERNEL_ERROR', () =>
        space.devices[0].run(put, { nodes, at: nodes.address }, { size: 1 }),
      );
      assert.match(refused.message, /nodes is declared 'in', and may only be read/);
      await space.devices[0].run(follow, { nodes, from: nodes.address }, { size: 1 });
      assert.equal(nodes.data[1], 5n);
    }));

  test(`a kernel in a module, and plain arrays, by address on a ${device.kind} device`, () =>
    withSpace(device, async (space) => {
      const chase = kernel(
        { links: u64.in, ends: u64.inout, start: u64 },
        { module: new URL('./programs/kernels.js', import.meta.url), export: 'chase' },
      );
      const links = space.array(BigUint64Array, 100_000);
      for (let i = 0; i < links.length; i++)
        links.data[i] = links.addressOf((i * 48_271 + 11) % links.length);
      let expected = 17;
      for (let i = 0; i < 1000; i++) expected = (expected * 48_271 + 11) % links.length;
      const ends = new BigUint64Array(4);
      await space.devices[0].run(chase, { links, ends, start: links.addressOf(17) }, { size: 1 });
      assert.deepEqual([...ends], [links.addressOf(expected), 1000n, 0n, 0n]);
      assert.equal(links.indexAt(ends[0]), expected);
    }));
}

test('addresses of elements, and elements of addresses', () =>
  withSpace(DEVICES[0], async (space) => {
    const x = space.array(Float64Array, 1000, { name: 'x' });
    assert.equal(x.addressOf(0), x.address);
    assert.equal(x.addressOf(999), x.address + 7992n);
    assert.equal(x.indexAt(x.address + 7992n), 999);
    assert.equal(x.indexAt(x.address + 7999n), 999);
    for (const address of [0n, x.address - 1n, x.address + 8000n, 2n ** 64n])
      assert.equal(x.indexAt(address), -1);
    for (const index of [-1, 1000, 0.5, Number.NaN, '1' as never, undefined as never]) {
      assert.ok((await failsWith('ARRAY_RANGE', () => x.addressOf(index))) instanceof RangeError);
    }
    // Two arrays never share addresses, not even those behind their last elements.
    const y = space.array(Float64Array, 1000);
    assert.equal(y.indexAt(x.addressOf(999)), -1);
    addressView(x, y).store('f64', y.addressOf(3), 2.5);
    assert.equal(y.data[3], 2.5);
    assert.equal(x.data[3], 0);
    x.free();
    await failsWith('USE_AFTER_FREE', () => addressView(x, y));
  }));

await runTests();
