/**
 * Checksums of pages in WebAssembly, as the bytes of a module
 * (https://webassembly.github.io/spec/core/binary): `plainSums` of checksum.ts says the same in
 * words. A vector has four lanes of a page's sixteen.
 */

const VECTORS = 4;
const LANES_OF_VECTOR = 4;
const VECTOR_BYTES = 16;
const STEP_BYTES = VECTORS * VECTOR_BYTES;
const WASM_PAGE = 65_536;

interface SumParameters {
  readonly pageBytes: number;
  /** Where the sums are written, behind the pages. */
  readonly sumsAt: number;
  readonly memoryBytes: number;
  readonly prime: number;
  /** What the beginnings of two vectors differ by. */
  readonly stride: number;
  readonly turn: number;
}

type Code = readonly number[];

// Parameters, then variables: first those of 32 bits, then vectors.
const END = 0;
const SEED = 1;
const AT = 2;
const PAGE_END = 3;
const OUT = 4;
const SUM = 5;
const INTEGERS = 4;
const LANES = [6, 7, 8, 9];
const MIXED = 10;
const PRIMES = 11;
const VECTOR_VARIABLES = 6;

const I32 = 0x7f;
const V128 = 0x7b;

const ADD = [0x6a];
const MULTIPLY = [0x6c];
const XOR = [0x73];
const ROTATE_LEFT = [0x77];
/** Stores a word on a boundary of four bytes. */
const STORE = [0x36, 2, 0];
/** Goes on with the innermost loop where one number without sign is less than another. */
const AGAIN_IF_LESS = [0x49, 0x0d, 0];

const SPLAT = vector(17);
const OR_VECTOR = vector(80);
const XOR_VECTOR = vector(81);
const SHIFT_LEFT = vector(171);
const SHIFT_RIGHT = vector(173);
const MULTIPLY_VECTOR = vector(181);

const get = (variable: number): Code => [0x20, variable];
const set = (variable: number): Code => [0x21, variable];
const tee = (variable: number): Code => [0x22, variable];
const loop = (...body: readonly Code[]): Code => [0x03, 0x40, ...body.flat(), 0x0b];

/** Exports `memory`, and `sums(end, seed)`: of pages 0 to `end`, each with a seed one higher. */
export function checksumModule({
  pageBytes,
  sumsAt,
  memoryBytes,
  prime,
  stride,
  turn,
}: SumParameters): Uint8Array {
  const begin = LANES.map((lanes, at) => [
    ...get(SEED),
    ...number(at * stride),
    ...ADD,
    ...SPLAT,
    ...set(lanes),
  ]);
  const mix = LANES.map((lanes, at) => [
    ...get(AT),
    ...vector(0, 0, ...unsigned(at * VECTOR_BYTES)),
    ...get(lanes),
    ...XOR_VECTOR,
    ...tee(MIXED),
    ...number(turn),
    ...SHIFT_LEFT,
    ...get(MIXED),
    ...number(32 - turn),
    ...SHIFT_RIGHT,
    ...OR_VECTOR,
    ...get(PRIMES),
    ...MULTIPLY_VECTOR,
    ...set(lanes),
  ]);
  const fold = LANES.flatMap((lanes) =>
    Array.from({ length: LANES_OF_VECTOR }, (_, lane) => [
      ...get(SUM),
      ...get(lanes),
      ...vector(27, lane),
      ...XOR,
      ...number(turn),
      ...ROTATE_LEFT,
      ...number(prime),
      ...MULTIPLY,
      ...set(SUM),
    ]),
  );
  const step = (variable: number, by: number): Code => [
    ...get(variable),
    ...number(by),
    ...ADD,
    ...set(variable),
  ];
  const code = [
    ...[2, INTEGERS, I32, VECTOR_VARIABLES, V128],
    ...[...number(prime), ...SPLAT, ...set(PRIMES)],
    ...[...number(sumsAt), ...set(OUT)],
    ...loop(
      [...get(AT), ...number(pageBytes), ...ADD, ...set(PAGE_END)],
      ...begin,
      loop(...mix, step(AT, STEP_BYTES), get(AT), get(PAGE_END), AGAIN_IF_LESS),
      [...get(SEED), ...set(SUM)],
      ...fold,
      [...get(OUT), ...get(SUM), ...STORE],
      step(OUT, 4),
      step(SEED, 1),
      [...get(AT), ...get(END), ...AGAIN_IF_LESS],
    ),
    0x0b,
  ];
  const name = (text: string): Code => [text.length, ...new TextEncoder().encode(text)];
  return Uint8Array.from([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 2, I32, I32, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, ...unsigned(memoryBytes / WASM_PAGE)]),
    ...section(7, [2, ...name('sums'), 0, 0, ...name('memory'), 2, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ]);
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content];
}

function vector(instruction: number, ...rest: number[]): Code {
  return [0xfd, ...unsigned(instruction), ...rest];
}

/** Puts a number of 32 bits on the stack. */
function number(value: number): Code {
  const bytes = [0x41];
  for (let left = value | 0; ; left >>= 7) {
    // The last byte's second bit says the sign.
    const last = left >> 6 === 0 || left >> 6 === -1;
    bytes.push((left & 127) | (last ? 0 : 128));
    if (last) return bytes;
  }
}

/** Seven bits a byte, the lowest first. */
function unsigned(value: number): Code {
  const bytes: number[] = [];
  for (let left = value; ; left >>>= 7) {
    bytes.push((left & 127) | (left > 127 ? 128 : 0));
    if (left <= 127) return bytes;
  }
}
