/**
 * Checksums of pages, a word each. A page's words go round sixteen lanes, in each of which a word
 * is mixed with what came before: no change of one word goes unnoticed, and of others one in 2^32.
 * By the vectors of WebAssembly 2 MiB take a quarter of the time that node:zlib's CRC-32 takes. As
 * that sees no memory but its own, pages are copied there, as many as stay in a processor's cache.
 */

import { addressOf, libc } from '../base/libc.js';
import { freeAddresses } from '../processes/process.js';
import { checksumModule } from './checksum-code.js';

const PAGE = 4096;
export const SUMMED_PAGES = 16;
export const SUM_BYTES = 4;
const SUMS_AT = SUMMED_PAGES * PAGE;
/** A whole number of WebAssembly's pages. */
const MEMORY_BYTES = 2 * SUMS_AT;
const LANES = 16;
const LANES_ALIKE = 4;
/** The prime of xxHash's rounds; any odd number that is neither sparse nor dense would do. */
const PRIME = 0x9e37_79b1;
const STRIDE = 0x5bd1_e995;
const TURN = 13;

/** Memory for pages and their sums; sums up those below `end`, each with a seed one higher. */
export interface Summer {
  readonly memory: ArrayBuffer;
  sums(end: number, seed: number): void;
}

/** As much of WebAssembly as is needed, if the engine has it. */
interface Wasm {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (
    module: object,
  ) => { exports: { memory: { buffer: ArrayBuffer }; sums: Summer['sums'] } };
}

interface Place {
  readonly summer: Summer;
  readonly address: number;
  readonly sums: Uint32Array;
}

/** Made with the first page: most threads sum up none. */
let place: Place | null = null;

/**
 * The checksums of up to SUMMED_PAGES pages, good until this is called again.
 *
 * @param seed of the first page; pages with the same content and different seeds have different
 * sums
 */
export function pageSums(address: number, pages: number, seed: number): Uint32Array {
  place ??= placeOf(vectorSummer() ?? plainSummer());
  const { summer, sums } = place;
  libc.memcpy(place.address, address, pages * PAGE);
  summer.sums(pages * PAGE, seed | 0);
  return sums;
}

/**
 * A checksum of some bytes, of which programs on other machines know, too: what it makes of them
 * must stay. A change within one page never goes unnoticed that the page's own sum shows.
 */
export function contentSum(content: Uint8Array): number {
  const pages = Math.ceil(content.length / PAGE);
  let whole = content;
  if (content.length < pages * PAGE) {
    whole = new Uint8Array(pages * PAGE);
    whole.set(content);
  }
  const address = addressOf(whole);
  let sum = content.length;
  for (let page = 0; page * PAGE < whole.length; page += SUMMED_PAGES) {
    const count = Math.min(SUMMED_PAGES, pages - page);
    const sums = pageSums(address + page * PAGE, count, page);
    for (let at = 0; at < count; at++) sum = Math.imul(sum ^ sums[at], PRIME);
  }
  return sum >>> 0;
}

function placeOf(summer: Summer): Place {
  const { memory } = summer;
  return {
    summer,
    address: addressOf(new Uint8Array(memory)),
    sums: new Uint32Array(memory, SUMS_AT, SUMMED_PAGES),
  };
}

/** Null without WebAssembly (--jitless), or with limited addresses: it takes 10 GiB of them. */
export function vectorSummer(): Summer | null {
  const { WebAssembly } = globalThis as { WebAssembly?: Wasm };
  if (WebAssembly === undefined || freeAddresses() !== Number.POSITIVE_INFINITY) return null;
  const parameters = { pageBytes: PAGE, sumsAt: SUMS_AT, memoryBytes: MEMORY_BYTES };
  const code = checksumModule({ ...parameters, prime: PRIME, stride: STRIDE, turn: TURN });
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(code));
    return { memory: exports.memory.buffer, sums: exports.sums };
  } catch {
    return null;
  }
}

/** The same in three times the time. */
export function plainSummer(): Summer {
  const memory = new ArrayBuffer(MEMORY_BYTES);
  const words = new Int32Array(memory);
  const lanes = new Int32Array(LANES);
  const mix = (before: number, word: number): number => {
    const mixed = before ^ word;
    return Math.imul((mixed << TURN) | (mixed >>> (32 - TURN)), PRIME);
  };
  const sumOf = (first: number, seed: number): number => {
    for (let lane = 0; lane < LANES; lane++)
      lanes[lane] = seed + Math.imul(Math.floor(lane / LANES_ALIKE), STRIDE);
    for (let at = 0; at < PAGE / 4; at++)
      lanes[at % LANES] = mix(lanes[at % LANES], words[first + at]);
    return lanes.reduce(mix, seed);
  };
  const sums = (end: number, seed: number): void => {
    for (let page = 0; page < end / PAGE; page++)
      words[SUMS_AT / 4 + page] = sumOf((page * PAGE) / 4, (seed + page) | 0);
  };
  return { memory, sums };
}
