/**
 * Sorts an array that is larger than the memory it may have: parts that fit are sorted where they
 * are, then merged into a second array. All of both that memory has no room for is on storage, and
 * nothing here says so but `hostMemory`.
 *
 *   node .build/examples/apps/sort-on-storage.js [--size 48MiB] [--memory 32MiB] [--storage FOLDER]
 *
 * `--size 2GiB --memory 512MiB` takes two minutes of a processor, and 4 GiB of disk.
 */
import { parseArgs } from 'node:util';
import { openSpace } from 'onemem';

const { values } = parseArgs({
  options: {
    size: { type: 'string', default: '48MiB' },
    memory: { type: 'string', default: '32MiB' },
    storage: { type: 'string' },
  },
});
const bytesOf = (text: string): number => {
  const [, number, unit = ''] = /^(\d+)(MiB|GiB)?$/.exec(text) ?? [];
  if (number === undefined) throw new Error(`${text} is no size such as 128MiB or 2GiB`);
  return Number(number) * { '': 1, MiB: 2 ** 20, GiB: 2 ** 30 }[unit as '' | 'MiB' | 'GiB'];
};
const [size, memory] = [bytesOf(values.size), bytesOf(values.memory)];
const length = size / 4;

await using space = await openSpace({
  hostMemory: memory,
  ...(values.storage === undefined ? {} : { storage: { path: values.storage, bytes: 3 * size } }),
});
const [from, to] = [space.array(Uint32Array, length), space.array(Uint32Array, length)];

// Numbers in no order, with a sum, of 32 bits, by which it can be seen that none was lost.
let state = 1;
let sum = 0;
for (let i = 0; i < length; i++) {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  from.data[i] = state;
  sum = (sum + state) >>> 0;
}

// Parts of a quarter of the memory: sorting one touches all of it again and again.
const partLength = Math.floor(memory / 16);
const parts: { at: number; readonly end: number }[] = [];
for (let at = 0; at < length; at += partLength) {
  const end = Math.min(at + partLength, length);
  from.data.subarray(at, end).sort();
  parts.push({ at, end });
}

// The heads of all parts in a heap, the smallest at its top.
const source = from.data;
const heap = parts.slice().sort((a, b) => source[a.at] - source[b.at]);
for (let i = 0; i < length; i++) {
  const first = heap[0];
  to.data[i] = source[first.at++];
  if (first.at === first.end) {
    const last = heap.pop() as (typeof heap)[0];
    if (heap.length === 0) break;
    if (last !== first) heap[0] = last;
  }
  let hole = 0;
  const moved = heap[0];
  const value = source[moved.at];
  for (;;) {
    let child = 2 * hole + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && source[heap[child + 1].at] < source[heap[child].at]) child++;
    if (source[heap[child].at] >= value) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = moved;
}

let found = 0;
let ordered = true;
for (let i = 0; i < length; i++) {
  found = (found + to.data[i]) >>> 0;
  if (i > 0 && to.data[i] < to.data[i - 1]) ordered = false;
}
const written = space.stats().storage?.bytesWritten ?? 0;
if (!ordered || found !== sum) {
  console.error(`not sorted: ${ordered ? 'numbers were lost' : 'out of order'}`);
  process.exitCode = 1;
} else
  console.log(
    `sorted ${length} numbers, ${values.size}, in ${values.memory} of memory; ${Math.round(written / 2 ** 20)} MiB went to storage`,
  );
