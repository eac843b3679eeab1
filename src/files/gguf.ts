/**
 * The header of a GGUF file, versions 2 and 3: metadata, and name, type, shape and place of each
 * tensor. The reader of npm (`@huggingface/gguf`) fetches by promises, while
 * an array over a file is made at once.
 */
import { readAt } from './read-at.js';
import { TensorFileError, type TensorFileLayout, type TensorLayout } from './tensor-layout.js';

/** How many elements of a type lie in a block, and how many bytes that has. */
const TYPES: Readonly<Record<number, readonly [name: string, elements: number, bytes: number]>> = {
  0: ['F32', 1, 4],
  1: ['F16', 1, 2],
  2: ['Q4_0', 32, 18],
  3: ['Q4_1', 32, 20],
  6: ['Q5_0', 32, 22],
  7: ['Q5_1', 32, 24],
  8: ['Q8_0', 32, 34],
  10: ['Q2_K', 256, 84],
  11: ['Q3_K', 256, 110],
  12: ['Q4_K', 256, 144],
  13: ['Q5_K', 256, 176],
  14: ['Q6_K', 256, 210],
  15: ['Q8_K', 256, 292],
  16: ['IQ2_XXS', 256, 66],
  17: ['IQ2_XS', 256, 74],
  18: ['IQ3_XXS', 256, 98],
  19: ['IQ1_S', 256, 50],
  20: ['IQ4_NL', 32, 18],
  21: ['IQ3_S', 256, 110],
  22: ['IQ2_S', 256, 82],
  23: ['IQ4_XS', 256, 136],
  24: ['I8', 1, 1],
  25: ['I16', 1, 2],
  26: ['I32', 1, 4],
  27: ['I64', 1, 8],
  28: ['F64', 1, 8],
  29: ['IQ1_M', 256, 56],
  30: ['BF16', 1, 2],
  34: ['TQ1_0', 256, 54],
  35: ['TQ2_0', 256, 66],
  39: ['MXFP4', 32, 17],
};

/** Types of metadata: how many bytes, and how they are read. */
const PLAIN: Readonly<Record<number, readonly [bytes: number, read: (from: Buffer) => unknown]>> = {
  0: [1, (from) => from.readUInt8()],
  1: [1, (from) => from.readInt8()],
  2: [2, (from) => from.readUInt16LE()],
  3: [2, (from) => from.readInt16LE()],
  4: [4, (from) => from.readUInt32LE()],
  5: [4, (from) => from.readInt32LE()],
  6: [4, (from) => from.readFloatLE()],
  7: [1, (from) => from[0] !== 0],
  10: [8, (from) => whole(from.readBigUInt64LE())],
  11: [8, (from) => whole(from.readBigInt64LE())],
  12: [8, (from) => from.readDoubleLE()],
};
const TEXT = 8;
const LIST = 9;

const MAGIC = 0x46554747;
const ALIGNMENT = 32;
const MOST_DIMENSIONS = 8;
/** Lists in lists of metadata; no program writes any. */
const MOST_DEPTH = 4;
const READ_BYTES = 2 ** 20;

type Refuse = (what: string) => Error;

/** Numbers and texts one after the other, of which no more is read than there is. */
class Header {
  private bytes = Buffer.alloc(0);
  /** Where they begin in the file, and how far they have been read. */
  private start = 0;
  private at = 0;

  constructor(
    private readonly fd: number,
    private readonly size: number,
    private readonly refuse: Refuse,
  ) {}

  get position(): number {
    return this.start + this.at;
  }

  /** The place of so many bytes. */
  private take(count: number): number {
    if (count > this.size - this.position)
      throw this.refuse(`it ends within its header, after ${this.size} bytes`);
    if (this.at + count > this.bytes.length) {
      const { position } = this;
      const most = Math.min(Math.max(count, READ_BYTES), this.size - position);
      const more = readAt(this.fd, position, most);
      if (more.length < count) throw this.refuse('its header could not be read');
      this.bytes = more;
      this.start = position;
      this.at = 0;
    }
    const from = this.at;
    this.at += count;
    return from;
  }

  u32(): number {
    return this.bytesOf(4).readUInt32LE();
  }

  /** Of things of which each takes a byte at least. */
  count(what: string): number {
    const count = this.bytesOf(8).readBigUInt64LE();
    if (count > BigInt(this.size)) throw this.refuse(`it would have ${count} ${what}`);
    return Number(count);
  }

  text(): string {
    return this.bytesOf(this.count('bytes of text')).toString();
  }

  bytesOf(count: number): Buffer {
    const from = this.take(count);
    return this.bytes.subarray(from, from + count);
  }

  value(type: number, depth = 0): unknown {
    const plain = PLAIN[type];
    if (plain !== undefined) return plain[1](this.bytesOf(plain[0]));
    if (type === TEXT) return this.text();
    if (type !== LIST)
      throw this.refuse(`its metadata has a value of type ${type}, which there is not`);
    if (depth === MOST_DEPTH) throw this.refuse('its metadata has lists in lists in lists');
    const of = this.u32();
    const count = this.count('values in a list');
    const values: unknown[] = [];
    for (let each = 0; each < count; each++) values.push(this.value(of, depth + 1));
    return values;
  }
}

function whole(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/** Reads the header alone. @throws TensorFileError */
export function readGguf(fd: number, size: number, file: string): TensorFileLayout {
  const refuse = (what: string): Error => new TensorFileError(file, 'GGUF', what);
  const header = new Header(fd, size, refuse);
  if (size < 8 || header.u32() !== MAGIC) throw refuse('it does not begin with GGUF');
  const version = header.u32();
  if (version !== 2 && version !== 3)
    throw refuse(`its version is ${version}; 2 and 3 are read, with the low byte first`);
  const tensors = header.count('tensors');
  const values = header.count('values of metadata');
  const metadata: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (let each = 0; each < values; each++) {
    const name = header.text();
    metadata[name] = header.value(header.u32());
  }
  const found: Info[] = [];
  for (let each = 0; each < tensors; each++) found.push(infoOf(header, refuse));
  const { 'general.alignment': alignment = ALIGNMENT } = metadata;
  if (typeof alignment !== 'number' || !(alignment >= 1 && alignment <= size))
    throw refuse(`its alignment is ${String(alignment)}`);
  const first = Math.ceil(header.position / alignment) * alignment;
  return { tensors: found.map((each) => layoutOf(each, first, size, refuse)), metadata };
}

interface Info extends Pick<TensorLayout, 'name' | 'shape'> {
  readonly type: number;
  readonly offset: number;
}

function infoOf(header: Header, refuse: Refuse): Info {
  const name = header.text();
  const dimensions = header.u32();
  if (dimensions > MOST_DIMENSIONS) throw refuse(`tensor ${name} has ${dimensions} dimensions`);
  const extents = Array.from({ length: dimensions }, () => header.count('elements in a row'));
  const type = header.u32();
  // The file has the innermost extent first.
  return { name, shape: extents.reverse(), type, offset: header.count('bytes before a tensor') };
}

function layoutOf(
  { name, shape, type, offset }: Info,
  first: number,
  size: number,
  refuse: Refuse,
): TensorLayout {
  const known = TYPES[type];
  if (known === undefined) throw refuse(`tensor ${name} has the type ${type}, which is not known`);
  const [dtype, elements, bytes] = known;
  const count = shape.reduce((product, extent) => product * extent, 1);
  const byteLength = (count / elements) * bytes;
  const byteOffset = first + offset;
  if (count % elements !== 0)
    throw refuse(`tensor ${name} has ${count} elements, and ${dtype} has blocks of ${elements}`);
  if (byteOffset + byteLength > size)
    throw refuse(
      `tensor ${name} lies at bytes ${byteOffset} to ${byteOffset + byteLength} of ${size}; was the file cut off?`,
    );
  return { name, dtype, shape, byteOffset, byteLength };
}
