/**
 * Answers of a server, read from chunks of bytes as they come (RESP, versions 2 and 3:
 * https://valkey.io/topics/protocol). The bytes of strings can go where they are wanted without
 * being held anywhere between.
 */
import { ValkeyError } from './errors.js';

/** A string of bytes is an array of bytes; errors within an answer are values. */
export type Reply =
  | string
  | number
  | bigint
  | boolean
  | null
  | Uint8Array
  | ValkeyError
  | readonly Reply[]
  | Map<Reply, Reply>;

export interface ReplyEvents {
  /** Where the next string's bytes are to be written, or null: into memory of its own. */
  target(): Uint8Array | null;
  /** The answer to the oldest command that has none. */
  reply(value: Reply): void;
  /** What the server says unasked. */
  pushed(message: readonly Reply[]): void;
}

/** A line is a number, a status or an error. */
const LONGEST_LINE = 65_536;
/** No server has larger ones. */
const LONGEST_STRING = 2 ** 29;
/** To read less than this into its place by itself takes longer than to copy it there. */
const LEAST_ROOM = 2 ** 14;
/** Answers in answers, and members of one: what is beyond it is no answer of a server's. */
const DEEPEST = 16;
const MOST_MEMBERS = 2 ** 24;

const CR = 13;
const LF = 10;
const NOTHING = new Uint8Array(0);

type Kind = 'array' | 'map' | 'push' | 'attribute';

interface Open {
  readonly kind: Kind;
  left: number;
  readonly items: Reply[];
}

const KINDS: Readonly<Record<string, Kind>> = {
  '*': 'array',
  '~': 'array',
  '>': 'push',
  '%': 'map',
  '|': 'attribute',
};

export class ReplyReader {
  /** The beginning of a line whose end has not come. */
  private line: Uint8Array = NOTHING;
  /** Bytes of the string being read that have not come, with its end's two; -1: none. */
  private left = -1;
  private type = '';
  private length = 0;
  private into: Uint8Array = NOTHING;
  /** Answers that are not complete, the outermost first. */
  private readonly open: Open[] = [];

  constructor(private readonly events: ReplyEvents) {}

  /** Takes what has come; keeps nothing of it. @throws ValkeyError PROTOCOL, the last one */
  read(chunk: Uint8Array): void {
    let at = 0;
    while (at < chunk.length)
      at = this.left >= 0 ? this.readString(chunk, at) : this.readLine(chunk, at);
  }

  /**
   * Where the rest of a long string is wanted: the connection can have it written there, and then
   * says how much came (`filled`). At least two bytes follow of the same string, which are for
   * `read`.
   */
  room(): Uint8Array | null {
    const { left, length, into } = this;
    const done = length + 2 - left;
    return left >= 0 && into.length - done >= LEAST_ROOM ? into.subarray(done) : null;
  }

  /** So many bytes of the room have been written. */
  filled(count: number): void {
    this.left -= count;
  }

  private readLine(chunk: Uint8Array, from: number): number {
    const end = chunk.indexOf(LF, from);
    const to = end === -1 ? chunk.length : end + 1;
    const part = chunk.subarray(from, to);
    if (this.line.length + part.length > LONGEST_LINE) throw broken('a line without an end');
    if (end === -1) this.line = Buffer.concat([this.line, part]);
    else {
      const line = this.line.length === 0 ? part : Buffer.concat([this.line, part]);
      this.line = NOTHING;
      if (line.length < 3 || line[line.length - 2] !== CR)
        throw broken('a line that does not end as lines do');
      this.take(String.fromCharCode(line[0]), textOf(line.subarray(1, -2)));
    }
    return to;
  }

  private readString(chunk: Uint8Array, from: number): number {
    const to = Math.min(chunk.length, from + this.left);
    const done = this.length + 2 - this.left;
    const fits = Math.min(to - from, this.into.length - done);
    if (fits > 0) this.into.set(chunk.subarray(from, from + fits), done);
    // The last two bytes are no part of it.
    for (let tail = Math.max(from, from + this.left - 2); tail < to; tail++) {
      if (chunk[tail] !== (tail - from === this.left - 2 ? CR : LF))
        throw broken('a string longer than it was said to be');
    }
    this.left -= to - from;
    if (this.left === 0) this.endString();
    return to;
  }

  private endString(): void {
    const { into, length, type } = this;
    this.left = -1;
    this.into = NOTHING;
    if (into.length < length)
      this.add(
        new ValkeyError(
          'TOO_LARGE',
          `a value of ${length} bytes was to be read into ${into.length}`,
        ),
      );
    else if (type === '!') this.add(new ValkeyError('REPLY', textOf(into)));
    // What the text is written in comes first: three letters and a colon.
    else if (type === '=') this.add(textOf(into.subarray(4)));
    else this.add(into);
  }

  private take(type: string, text: string): void {
    switch (type) {
      case '+':
        this.add(text);
        break;
      case '-':
        this.add(new ValkeyError('REPLY', text));
        break;
      case ':': {
        const number = Number(text);
        if (!Number.isInteger(number)) throw broken(`the number '${text}'`);
        this.add(Number.isSafeInteger(number) ? number : BigInt(text));
        break;
      }
      case '(':
        if (!/^[+-]?\d+$/.test(text)) throw broken(`the number '${text}'`);
        this.add(BigInt(text));
        break;
      case ',':
        this.add(text === 'inf' ? Infinity : text === '-inf' ? -Infinity : Number(text));
        break;
      case '#':
        this.add(text === 't');
        break;
      case '_':
        this.target();
        this.add(null);
        break;
      case '$':
      case '!':
      case '=':
        this.beginString(type, sizeOf(text, LONGEST_STRING));
        break;
      case '*':
      case '~':
      case '>':
      case '%':
      case '|':
        this.beginMembers(KINDS[type], sizeOf(text, MOST_MEMBERS));
        break;
      default:
        throw broken(`an answer of the kind '${type}'`);
    }
  }

  private beginString(type: string, length: number): void {
    const target = type === '$' ? this.target() : null;
    if (length === -1) {
      this.add(null);
      return;
    }
    this.type = type;
    this.length = length;
    this.left = length + 2;
    if (target === null) this.into = new Uint8Array(length);
    else this.into = target.length > length ? target.subarray(0, length) : target;
  }

  /** Where the next string of an answer goes: one that is not there has its place, too. */
  private target(): Uint8Array | null {
    const own = !this.open.some(({ kind }) => kind === 'push' || kind === 'attribute');
    return own ? this.events.target() : null;
  }

  private beginMembers(kind: Kind, count: number): void {
    if (count === -1) {
      this.add(null);
      return;
    }
    if (this.open.length === DEEPEST) throw broken('too many answers in each other');
    const left = kind === 'map' || kind === 'attribute' ? count * 2 : count;
    this.open.push({ kind, left, items: [] });
    if (left === 0) this.endMembers();
  }

  /** A value is complete: it may be the last one of those that it stands in. */
  private add(value: Reply): void {
    const top = this.open.at(-1);
    if (top === undefined) this.events.reply(value);
    else {
      top.items.push(value);
      top.left--;
      if (top.left === 0) this.endMembers();
    }
  }

  private endMembers(): void {
    const { kind, items } = this.open.pop() as Open;
    // What is said of the value that follows is for others.
    if (kind === 'attribute') return;
    if (kind === 'push') this.events.pushed(items);
    else this.add(kind === 'map' ? mapOf(items) : items);
  }
}

/** Names in maps are text. */
function mapOf(items: readonly Reply[]): Map<Reply, Reply> {
  const map = new Map<Reply, Reply>();
  for (let at = 0; at < items.length; at += 2) {
    const key = items[at];
    map.set(key instanceof Uint8Array ? textOf(key) : key, items[at + 1]);
  }
  return map;
}

function sizeOf(text: string, most: number): number {
  const size = /^(-1|\d{1,10})$/.test(text) ? Number(text) : Number.NaN;
  if (!(size <= most)) throw broken(`the length '${text}'`);
  return size;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** A value of an answer as text, which a server may say as a string of bytes or without. */
export function replyText(value: Reply | undefined): string {
  return value instanceof Uint8Array ? textOf(value) : String(value ?? '');
}

function broken(what: string): ValkeyError {
  return new ValkeyError('PROTOCOL', `${what} came, which no Valkey server sends`);
}
