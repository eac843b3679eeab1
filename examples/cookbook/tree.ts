/**
 * A binary search tree whose nodes link to each other by address, larger than the device's memory.
 * The CPU plants it, the device inserts and deletes keys, and the CPU walks it and compares node by
 * node with a tree of plain objects that went through the same.
 */
import { addressView, bytes, f64, kernel, openSpace, u64 } from 'onemem';

/**
 * A node: the addresses of its two subtrees, 0 for none, and a key. Unused nodes are a list, linked
 * by their first word.
 */
const LEFT = 0n;
const RIGHT = 8n;
const KEY = 16n;
const NODE_BYTES = 32;
const KEYS = 150_000;
const CHANGES = 2000;

/**
 * `roots` holds the address of the tree's root and that of the first unused node. Each key is
 * inserted, or deleted if it is there.
 */
const toggle = kernel(
  { roots: u64.inout, nodes: bytes.inout, tree: u64, keys: f64.in },
  ({ tree, keys }, _range, memory) => {
    const unused = tree + 8n;
    for (const key of keys) {
      // The address of the link that leads to the key, wherever that link lies: in a node, or in
      // `roots`.
      let link = tree;
      let node = memory.load('u64', link);
      while (node !== 0n) {
        const own = memory.load('f64', node + 16n);
        if (own === key) break;
        link = key < own ? node : node + 8n;
        node = memory.load('u64', link);
      }
      if (node === 0n) {
        const made = memory.load('u64', unused);
        memory.store('u64', unused, memory.load('u64', made));
        memory.store('u64', made, 0n);
        memory.store('u64', made + 8n, 0n);
        memory.store('f64', made + 16n, key);
        memory.store('u64', link, made);
        continue;
      }
      const left = memory.load('u64', node);
      const right = memory.load('u64', node + 8n);
      if (left === 0n || right === 0n) memory.store('u64', link, left === 0n ? right : left);
      else {
        // The next larger node takes the place: the leftmost one of the right subtree.
        let nextLink = node + 8n;
        let next = right;
        for (
          let further = memory.load('u64', next);
          further !== 0n;
          further = memory.load('u64', next)
        ) {
          nextLink = next;
          next = further;
        }
        memory.store('u64', nextLink, memory.load('u64', next + 8n));
        memory.store('u64', next, left);
        memory.store('u64', next + 8n, memory.load('u64', node + 8n));
        memory.store('u64', link, next);
      }
      memory.store('u64', node, memory.load('u64', unused));
      memory.store('u64', unused, node);
    }
  },
);

/** The same tree of plain objects. */
interface PlainNode {
  key: number;
  left: PlainNode | null;
  right: PlainNode | null;
}

class PlainTree {
  root: PlainNode | null = null;

  toggle(key: number): void {
    this.root = this.toggled(this.root, key);
  }

  private toggled(node: PlainNode | null, key: number): PlainNode | null {
    if (node === null) return { key, left: null, right: null };
    if (key < node.key) node.left = this.toggled(node.left, key);
    else if (key > node.key) node.right = this.toggled(node.right, key);
    else if (node.left === null || node.right === null) return node.left ?? node.right;
    else {
      let next = node.right;
      while (next.left !== null) next = next.left;
      return { key: next.key, left: node.left, right: this.withoutFirst(node.right) };
    }
    return node;
  }

  private withoutFirst(node: PlainNode): PlainNode | null {
    return node.left === null ? node.right : { ...node, left: this.withoutFirst(node.left) };
  }
}

await using space = await openSpace({ devices: [{ kind: 'process', memory: '4MiB' }] });
const [device] = space.devices;
const roots = space.array(BigUint64Array, 2, { name: 'roots' });
const nodes = space.bytes((KEYS + CHANGES) * NODE_BYTES, { name: 'nodes' });
if (nodes.byteLength <= device.memory)
  throw new Error('the tree was meant to be larger than the device');
const memory = addressView(roots, nodes);
const tree = roots.address;

// All nodes are unused at first, and linked in order.
for (let i = 0; i < KEYS + CHANGES; i++) {
  const next = i + 1 < KEYS + CHANGES ? nodes.addressOf((i + 1) * NODE_BYTES) : 0n;
  memory.store('u64', nodes.addressOf(i * NODE_BYTES), next);
}
roots.data[1] = nodes.address;

/**
 * Whole numbers in an order that looks like chance, none of them twice: the generator's period is
 * the modulus less one.
 */
let state = 1;
const nextKey = (): number => (state = (state * 48_271) % 2_147_483_647);
const planted = Float64Array.from({ length: KEYS }, nextKey);
// Half of the changes delete a key that was planted, half insert a new one.
const changes = Float64Array.from({ length: CHANGES }, (_, i) =>
  i % 2 === 0 ? planted[i * 7] : nextKey(),
).sort();

const plain = new PlainTree();
for (const keys of [planted, changes]) for (const key of keys) plain.toggle(key);

// The CPU plants with the very function that the device runs.
toggle.kernel?.(
  { roots: roots.data, nodes: nodes.data, tree, keys: planted },
  { begin: 0, end: 1, size: 1, unit: 0, units: 1 },
  memory,
);
await device.run(toggle, { roots, nodes, tree, keys: changes }, { size: 1 });

/** Compares a subtree node by node, and returns how many there are. */
function compare(node: bigint, expected: PlainNode | null): number {
  if (node === 0n && expected === null) return 0;
  const key = node === 0n ? 'nothing' : memory.load('f64', node + KEY);
  if (expected === null || key !== expected.key)
    throw new Error(`${key} stands where ${expected?.key ?? 'nothing'} should`);
  return (
    1 +
    compare(memory.load('u64', node + LEFT), expected.left) +
    compare(memory.load('u64', node + RIGHT), expected.right)
  );
}

const count = compare(roots.data[0], plain.root);
if (count !== KEYS) throw new Error(`${count} keys are left instead of ${KEYS}`);
const mebibytes = (nodes.byteLength / 2 ** 20).toFixed(1);
console.log(`${KEYS} keys in ${mebibytes} MiB on a device of ${device.memory / 2 ** 20} MiB`);
console.log(`after ${CHANGES} insertions and deletions by the device all ${count} nodes are right`);
