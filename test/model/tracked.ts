/**
 * A managed array beside a plain one, and what each of its pages allows: what a program must find,
 * and what it may be told.
 */
import assert from 'node:assert/strict';
import type {
  ElementType,
  ManagedArray,
  NumericArray,
  Rights,
  SharedArray,
} from '../../src/index.js';

export const PAGE_BYTES = 4096;

/** What is told of pages that need not be had to be overwritten as a whole. */
export const CURABLE = ['DATA_LOST', 'ACCESS_REFUSED', 'PROVIDER_FAILED', 'FILE_CHANGED'];

export const CONSTRUCTORS = {
  i8: Int8Array,
  u8: Uint8Array,
  u8c: Uint8ClampedArray,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;

export type PlainType = keyof typeof CONSTRUCTORS;

export function plainArray(type: ElementType, length: number): NumericArray {
  return new CONSTRUCTORS[type === 'bytes' ? 'u8' : type](length);
}

/** The same over a part of a buffer. */
export function plainOver(
  type: ElementType,
  buffer: ArrayBufferLike,
  byteOffset: number,
  length: number,
): NumericArray {
  return new CONSTRUCTORS[type === 'bytes' ? 'u8' : type](
    buffer as ArrayBuffer,
    byteOffset,
    length,
  );
}

export function bytesOf(plain: NumericArray): Uint8Array {
  return new Uint8Array(plain.buffer, plain.byteOffset, plain.byteLength);
}

export interface Part {
  readonly begin: number;
  readonly end: number;
}

export interface SharedFile {
  readonly path: string;
  readonly byteOffset: number;
  /**
   * All that the file must hold after a flush; the array's bytes in it are brought up to date by
   * then.
   */
  readonly content: Uint8Array;
}

export type Access = 'read' | 'write';

/**
 * What a page is that cannot be used, and the code by which that is told. A clone's page is
 * `refused` for good when its source, which refuses it, has been overwritten or freed; the same
 * goes for one whose provider threw. A page whose file became shorter is `cut`: it may be in memory
 * or not, and is `severed` when it is known to be lost, with a device or with what its source had.
 */
const CODES = {
  freed: ['USE_AFTER_FREE'],
  lost: ['DATA_LOST'],
  refuses: ['ACCESS_REFUSED'],
  refused: ['ACCESS_REFUSED'],
  throws: ['PROVIDER_FAILED'],
  threw: ['PROVIDER_FAILED'],
  cut: ['FILE_CHANGED'],
  severed: ['FILE_CHANGED', 'DATA_LOST'],
};
type Gone = keyof typeof CODES;

/** What a clone's page becomes that it can have from its source no more. */
const FOR_GOOD = { refuses: 'refused', throws: 'threw', cut: 'severed' } as const;

/** Whether the page's content is nowhere any more, so that residency() says `lost`. */
export function isLost(gone: Gone | null): boolean {
  return gone === 'lost' || gone === 'refused' || gone === 'threw' || gone === 'severed';
}

export class Tracked {
  readonly pageElements: number;
  /** Nothing: the page can be had. */
  readonly gone: (Gone | null)[];
  readonly rights: Rights[];
  readonly pins: number[];
  /** Devices, by their bits, of which one may have the only copy of a page. */
  readonly onlyOn: number[];
  readonly clones = new Set<Tracked>();
  source: Tracked | null = null;
  busy: Promise<void> | null = null;
  /** Devices that have had it as an argument, by their bits. */
  usedBy = 0;
  advisedInPlace = false;
  /** Whether it may differ from its file. */
  wrote = false;
  /**
   * Pages that were lost with their source since that was last checked, and what they were before.
   */
  private readonly lostBySource = new Map<number, keyof typeof FOR_GOOD>();
  /**
   * Pages of a file that became shorter which are in memory after something failed that was to
   * overwrite them as a whole: if it emptied them before, clones that could not be given them have
   * lost them.
   */
  readonly perhapsEmptied = new Set<number>();
  /**
   * It was protected against all access at some time: its clones were given what could be had, and
   * lost the rest.
   */
  wasHidden = false;
  /** The same array on another machine. */
  other: SharedArray | null = null;
  /** Its file has become shorter. */
  isCut = false;

  constructor(
    public name: string,
    readonly array: ManagedArray,
    public plain: NumericArray,
    readonly kind: 'plain' | 'file' | 'mapped' | 'shared' | 'provided' | 'clone' | 'several',
    readonly writable: boolean,
    readonly file: SharedFile | null = null,
  ) {
    this.pageElements = PAGE_BYTES / plain.BYTES_PER_ELEMENT;
    this.gone = [];
    this.rights = [];
    this.pins = [];
    this.onlyOn = [];
    this.fitPages();
  }

  get length(): number {
    return this.plain.length;
  }

  get pages(): number {
    return this.gone.length;
  }

  /** As many pages as the elements take; new ones are as they are in a new array. */
  fitPages(): void {
    const pages = Math.ceil(this.plain.length / this.pageElements);
    for (const list of [this.gone, this.rights, this.pins, this.onlyOn])
      list.length = Math.min(list.length, pages);
    while (this.gone.length < pages) {
      this.gone.push(null);
      this.rights.push(this.writable ? 'readwrite' : 'read');
      this.pins.push(0);
      this.onlyOn.push(0);
    }
  }

  /** Pages that a part touches, as [first, end). */
  pagesOf({ begin, end }: Part): [number, number] {
    if (begin === end) return [0, 0];
    return [Math.floor(begin / this.pageElements), Math.ceil(end / this.pageElements)];
  }

  /** Pages that lie wholly in a part. */
  wholePagesOf({ begin, end }: Part): [number, number] {
    if (begin === end) return [0, 0];
    const last = end === this.length ? this.pages : Math.floor(end / this.pageElements);
    return [Math.ceil(begin / this.pageElements), last];
  }

  /** The elements of pages. */
  elementsOf(first: number, end: number): Part {
    return {
      begin: first * this.pageElements,
      end: Math.min(end * this.pageElements, this.length),
    };
  }

  /** A part, and what shares granules of `granulePages` with it. */
  around(part: Part, granulePages: number): Part {
    const [first, end] = this.pagesOf(part);
    if (granulePages === 1 || first === end) return part;
    return this.elementsOf(
      first - (first % granulePages),
      Math.ceil(end / granulePages) * granulePages,
    );
  }

  get whole(): Part {
    return { begin: 0, end: this.length };
  }

  /** All of it has been freed, by parts. */
  get isFreed(): boolean {
    return this.gone.every((each) => each === 'freed');
  }

  /**
   * The code that must be told, whatever is done, when pages of the part have been freed, or all of
   * the array: then of an empty part, too.
   */
  freedIn(part: Part): string[] {
    const isFreed = this.isFreed || this.some(part, (page) => this.gone[page] === 'freed');
    return isFreed ? [...CODES.freed] : [];
  }

  /**
   * Codes of which one must be told when a part is used by a device or by a call that `minds` what
   * pages are; of what is cut none need be.
   */
  refusals(part: Part, access: Access, minds = (_gone: Gone): boolean => true): Set<string> {
    const codes = new Set<string>(this.isFreed ? CODES.freed : []);
    const [first, end] = this.pagesOf(part);
    for (let page = first; page < end; page++) {
      const gone = this.gone[page];
      if (gone !== null && gone !== 'cut' && minds(gone))
        for (const code of CODES[gone]) codes.add(code);
      if (this.rights[page] === 'none' || (access === 'write' && this.rights[page] === 'read'))
        codes.add('ACCESS_DENIED');
      if (access === 'write' && this.pins[page] > 0) codes.add('PINNED');
    }
    if (access === 'write' && !this.writable && first < end) codes.add('ACCESS_DENIED');
    return codes;
  }

  /** Whether the CPU may use a part without being ended for it. */
  allows(part: Part, access: Access): boolean {
    const [first, end] = this.pagesOf(part);
    if ((access === 'write' && !this.writable) || this.isFreed) return false;
    for (let page = first; page < end; page++) {
      if (this.gone[page] !== null || this.rights[page] === 'none') return false;
      if (access === 'write' && this.rights[page] === 'read') return false;
    }
    return true;
  }

  /** Whether any page satisfies. */
  some(part: Part, wanted: (page: number) => boolean): boolean {
    const [first, end] = this.pagesOf(part);
    for (let page = first; page < end; page++) if (wanted(page)) return true;
    return false;
  }

  /** The array and all that may have pages from it. */
  get family(): Tracked[] {
    return [this, ...[...this.clones].flatMap(({ family }) => family)];
  }

  /**
   * A device may have the only copy of pages from now on, also for those that were cloned from
   * them.
   */
  holdOnly(part: Part, bits: number): void {
    const [first, end] = this.pagesOf(part);
    for (let page = first; page < end; page++) this.onlyOn[page] |= bits;
    for (const clone of this.clones) {
      if (part.begin < clone.length)
        clone.holdOnly({ begin: part.begin, end: Math.min(part.end, clone.length) }, bits);
    }
  }

  /**
   * A device reads: a page that only some device may have it may have, too, and be the last one
   * that does.
   */
  readBy(part: Part, bit: number): void {
    this.usedBy |= bit;
    const [first, end] = this.pagesOf(part);
    for (let page = first; page < end; page++) {
      if (this.onlyOn[page] === 0) continue;
      this.holdOnly(this.elementsOf(page, page + 1), bit);
    }
  }

  /** The CPU has written pages: no device has them. */
  cameHome(part: Part): void {
    const [first, end] = this.pagesOf(part);
    for (let page = first; page < end; page++) this.onlyOn[page] = 0;
  }

  /** Whole pages have new content, whatever was the matter with them. */
  healed(first: number, end: number): void {
    for (let page = first; page < end; page++)
      if (this.gone[page] !== 'freed') this.gone[page] = null;
  }

  /**
   * The manager says that a page is lost: either its device took it along, which `could` be, or its
   * source, which does not give it, has been overwritten.
   */
  lose(page: number, could: boolean): void {
    const gone = this.gone[page];
    if (isLost(gone)) return;
    if (gone === 'refuses' || gone === 'throws' || gone === 'cut') {
      if (!(gone === 'cut' && could)) this.lostBySource.set(page, gone);
      this.gone[page] = FOR_GOOD[gone];
    } else {
      assert.ok(
        could,
        `page ${page} of ${this.name} is lost, and no device that died had the only copy`,
      );
      this.gone[page] = 'lost';
    }
  }

  /**
   * When nothing is under way it is known of what was lost with its source whether that has been
   * overwritten.
   */
  checkLosses(): void {
    for (const [page, gone] of this.lostBySource)
      assert.ok(
        this.hasNoSource(page, gone),
        `page ${page} of ${this.name} is lost, and its source is as it was`,
      );
    this.lostBySource.clear();
  }

  /**
   * Whether a page of a clone, which could not be had, was overwritten where it would come from.
   */
  private hasNoSource(page: number, gone: Gone | null): boolean {
    if (this.kind !== 'clone') return false;
    const { source } = this;
    if (source === null || source.wasHidden || source.perhapsEmptied.has(page)) return true;
    return source.gone[page] !== gone || source.hasNoSource(page, gone);
  }

  /** Compares a part that can be read. */
  verify({ begin, end }: Part): void {
    const { data } = this.array;
    this.compare(data.subarray(begin, end) as NumericArray, { begin, end }, 'array');
  }

  /** Compares what a part was found to hold. */
  compare(found: NumericArray, { begin, end }: Part, what: string): void {
    const wanted = this.plain.subarray(begin, end) as NumericArray;
    assert.equal(found.length, wanted.length);
    if (Buffer.compare(bytesOf(found), bytesOf(wanted)) === 0) return;
    let wrong = 0;
    let first = -1;
    let last = -1;
    for (let i = 0; i < wanted.length; i++) {
      if (found[i] === wanted[i]) continue;
      if (wrong++ === 0) first = i;
      last = i;
    }
    const at = (i: number): string =>
      `${begin + i} (page ${Math.floor((begin + i) / this.pageElements)}): ${found[i]} instead of ${wanted[i]}`;
    assert.fail(
      `${what} ${this.name} (${this.array.type}): ${wrong} elements of ${begin} to ${end} are wrong, from ${at(first)}, to ${at(last)}`,
    );
  }
}
