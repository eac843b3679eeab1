/** Structures of C: where their members lie, and memory to put them together in. */
import { NativeBuffer } from '../../../../linux/base/native-buffer.js';

/** A member: a number, text with its length, or another structure. */
type Member = 'u32' | 'u64' | 'f64' | 'text' | Structure<Members>;
type Members = Readonly<Record<string, Member>>;

/** Text as the library takes and gives it. */
export interface Text {
  readonly address: number;
  readonly bytes: number;
}

type ValueOf<M extends Member> =
  M extends Structure<infer S> ? Values<S> : M extends 'text' ? Text : number;

/** What is not given is zeros. In 64 bits, -1 is all ones: what Dawn takes for undefined. */
export type Values<M extends Members> = { readonly [K in keyof M]?: ValueOf<M[K]> };

export interface Structure<M extends Members> {
  readonly bytes: number;
  readonly offsets: { readonly [K in keyof M]: number };
  readonly members: M;
}

const WORD = 8;
const CHUNK_BYTES = 64 * 1024;

/** @param own members behind the pointer that all structures begin with */
export function structure<M extends Members>(own: M): Structure<M & { nextInChain: 'u64' }> {
  const members = { nextInChain: 'u64', ...own } as const;
  const offsets: Record<string, number> = {};
  let at = 0;
  for (const [name, member] of Object.entries<Member>(members)) {
    const alignment = member === 'u32' ? 4 : WORD;
    at = Math.ceil(at / alignment) * alignment;
    offsets[name] = at;
    at += sizeOf(member);
  }
  const bytes = Math.ceil(at / WORD) * WORD;
  return { bytes, offsets: offsets as { [K in keyof typeof members]: number }, members };
}

function sizeOf(member: Member): number {
  if (typeof member === 'object') return member.bytes;
  return member === 'u32' ? 4 : member === 'text' ? 2 * WORD : WORD;
}

/** Memory for what a call is told, used again from its beginning by the next one. */
export class Arena {
  private chunk = new NativeBuffer(CHUNK_BYTES);
  /** Those that were too small for all of a call, as long as it may use them. */
  private readonly before: NativeBuffer[] = [];
  private used = 0;

  /** What was put here before is needed no more. */
  reset(): void {
    this.used = 0;
    this.before.length = 0;
  }

  /** The address of a structure. */
  put<M extends Members>(kind: Structure<M>, values: Values<M>): number {
    return this.list(kind, [values]);
  }

  /** The address of structures one after the other; 0 where there are none. */
  list<M extends Members>(kind: Structure<M>, all: readonly Values<M>[]): number {
    if (all.length === 0) return 0;
    const at = this.take(kind.bytes * all.length);
    for (const [index, values] of all.entries()) this.write(at + index * kind.bytes, kind, values);
    return this.chunk.address + at;
  }

  words(all: readonly number[], bytes: 4 | 8): number {
    if (all.length === 0) return 0;
    const at = this.take(bytes * all.length);
    for (const [index, value] of all.entries()) {
      if (bytes === 4) this.chunk.view.setUint32(at + 4 * index, value, true);
      else this.chunk.setU64(at + WORD * index, value);
    }
    return this.chunk.address + at;
  }

  text(text: string): Text {
    const encoded = Buffer.from(text);
    if (encoded.length === 0) return { address: 0, bytes: 0 };
    // A zero behind it, for those that take no length.
    const at = this.take(encoded.length + 1);
    this.chunk.bytes.set(encoded, at);
    return { address: this.chunk.address + at, bytes: encoded.length };
  }

  /** Zeroed. */
  private take(bytes: number): number {
    const rounded = Math.ceil(bytes / WORD) * WORD;
    if (this.used + rounded > this.chunk.length) {
      this.before.push(this.chunk);
      this.chunk = new NativeBuffer(Math.max(CHUNK_BYTES, rounded));
      this.used = 0;
    }
    const at = this.used;
    this.used += rounded;
    this.chunk.bytes.fill(0, at, at + rounded);
    return at;
  }

  private write<M extends Members>(at: number, kind: Structure<M>, values: Values<M>): void {
    const { chunk } = this;
    for (const [name, value] of Object.entries(values)) {
      const member = kind.members[name];
      const place = at + kind.offsets[name];
      if (typeof member === 'object') this.write(place, member, value as Values<Members>);
      else if (member === 'u32') chunk.view.setUint32(place, value as number, true);
      else if (member === 'u64') chunk.setU64(place, value as number);
      else if (member === 'f64') chunk.view.setFloat64(place, value as number, true);
      else {
        const { address, bytes } = value as Text;
        chunk.setU64(place, address);
        chunk.setU64(place + WORD, bytes);
      }
    }
  }
}
