import { expect, it } from 'vitest';
import { NativeBuffer } from '../base/native-buffer.js';
import {
  contentSum,
  pageSums,
  plainSummer,
  SUMMED_PAGES,
  type Summer,
  vectorSummer,
} from './checksum.js';

const PAGE = 4096;
const WORDS = PAGE / 4;
const SEED = 2 ** 31 - 3;

/** The sums of pages that a summer has been given, with seeds that overflow. */
function sumsBy({ memory, sums }: Summer, fill: (words: Uint32Array) => void): number[] {
  const words = new Uint32Array(memory, 0, SUMMED_PAGES * WORDS);
  fill(words);
  sums(SUMMED_PAGES * PAGE, SEED);
  return [...new Uint32Array(memory, SUMMED_PAGES * PAGE, SUMMED_PAGES)];
}

const scatter = (words: Uint32Array): void => {
  for (let at = 0; at < words.length; at++) words[at] = Math.imul(at ^ (at >>> 5), 2_654_435_761);
};

function vectors(): Summer {
  const summer = vectorSummer();
  if (summer === null) throw new Error('there is no WebAssembly');
  return summer;
}

it('is the same by vectors and without', () => {
  expect(sumsBy(vectors(), scatter)).toEqual(sumsBy(plainSummer(), scatter));
});

it('differs for the same content in different places', () => {
  expect(new Set(sumsBy(vectors(), (words) => words.fill(0))).size).toBe(SUMMED_PAGES);
});

/** Whether the sum of a page is another one after each change; it is changed back. */
function noticed(changes: readonly ((words: Uint32Array) => void)[]): boolean[] {
  const { memory, sums } = vectors();
  const words = new Uint32Array(memory, 0, WORDS);
  const sum = new Uint32Array(memory, SUMMED_PAGES * PAGE, 1);
  const sumAfter = (change: (words: Uint32Array) => void): number => {
    change(words);
    sums(PAGE, SEED);
    return sum[0];
  };
  const right = sumAfter(scatter);
  return changes.map((change) => {
    scatter(words);
    return sumAfter(change) !== right;
  });
}

it('notices every bit, and bits that change together', () => {
  const changes = Array.from({ length: 32 }, (_, bit) =>
    [[0], [WORDS - 1], [bit, bit + 16], [bit, bit + 1], [bit, WORDS - 1 - bit]].map(
      (places) => (words: Uint32Array) => {
        for (const at of places) words[at] ^= 1 << bit;
      },
    ),
  ).flat();
  expect(noticed(changes).indexOf(false)).toBe(-1);
});

it('notices words that changed places', () => {
  const changes = [1, 4, 16, 64, WORDS - 1].map((other) => (words: Uint32Array) => {
    [words[0], words[other]] = [words[other], words[0]];
  });
  expect(noticed(changes)).toEqual(changes.map(() => true));
});

it('sums up pages where they lie', () => {
  const native = new NativeBuffer(2 * PAGE);
  native.bytes.fill(7);
  const expected = sumsBy(plainSummer(), (words) => words.fill(0x0707_0707)).slice(0, 2);
  expect([...pageSums(native.address, 2, SEED).subarray(0, 2)]).toEqual(expected);
});

it('makes one sum of a content, which its length and each byte of it change', () => {
  const content = new Uint8Array((SUMMED_PAGES + 1) * PAGE + 5).map((_, at) => at * 7);
  const changed = [0, PAGE, SUMMED_PAGES * PAGE, content.length - 1].map((at) =>
    contentSum(content.map((byte, each) => (each === at ? byte ^ 1 : byte))),
  );
  const shorter = [content.subarray(0, -1), content.subarray(0, PAGE), new Uint8Array()].map(
    contentSum,
  );
  expect(new Set([contentSum(content), ...changed, ...shorter]).size).toBe(8);
  // Kept on servers: it must not become another one.
  expect(contentSum(new Uint8Array(PAGE))).toBe(3_736_856_574);
});
