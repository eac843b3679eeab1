/** Arrays that live in a space: ordinary typed arrays, whose pages come when they are touched. */

import type { Readable, Writable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { ElementType } from '../../core/basics/elements.js';
import {
  bytesOf,
  type NumericArray,
  viewOf,
  type WritableView,
} from '../../core/basics/elements.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL } from '../../linux/base/constants.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { ArrayPages } from '../../pager/protocol/pages.js';
import { type Attributes, adviceChange, attributeRuns } from '../arrays/advice.js';
import { type Guard, type GuardOptions, guardArray } from '../arrays/array-guard.js';
import {
  type AsyncBuffer,
  asyncBufferOf,
  bufferOf,
  readStreamOf,
  webStreamOf,
  writeStreamOf,
} from '../arrays/bytes/byte-streams.js';
import { type TransferOptions, transfer } from '../arrays/bytes/transfer.js';
import { type Notifier, watchArray } from '../arrays/changes/notifier.js';
import {
  dirtyRuns,
  YOUNG_OPTIONS,
  type YoungRun,
  youngRuns,
} from '../arrays/changes/use-reports.js';
import { HOLD_OPTIONS, Hold, type HoldOptions } from '../arrays/hold.js';
import type { ArrayHandle } from '../arrays/parts/array-handle.js';
import {
  allPages,
  blocksAround,
  elementsIn,
  pagesAround,
  pagesWithin,
} from '../arrays/parts/array-pages.js';
import { type ArrayPart, checkRange, partOf, wholePagesOf } from '../arrays/parts/array-part.js';
import {
  type ArrayDescription,
  describe,
  inspectArray,
  printAs,
  UNSENDABLE,
} from '../arrays/parts/description.js';
import { PIN_OPTIONS, Pin, type PinOptions } from '../arrays/pin.js';
import { checkBoundary, type Rights, rightsOf } from '../arrays/rights.js';
import { noteArray, type SpaceInternals } from '../line/internals.js';
import { handOut } from '../line/space-handle.js';
import { noteView } from '../line/view-owners.js';
import type * as api from '../public.js';
import type { Advice, ArrayOptions, FlushOptions, ViewedRange, WatchOptions } from '../public.js';
import {
  checkFlag,
  checkLock,
  checkName,
  checkObject,
  checkOptions,
  isWhole,
  show,
} from '../values/arguments.js';
import { checkLength } from '../values/array-length.js';
import { DISPOSE } from '../values/disposal.js';
import { argumentError, madeElsewhere, OnememError, typeError } from '../values/errors.js';
import { NO_INDICES } from '../values/no-indices.js';
import { type Residency, reportResidency } from '../values/residency.js';
import { ElementRange } from './element-range.js';

const FLUSH_OPTIONS: OptionNames<FlushOptions> = { begin: true, end: true, durable: true };

const WATCH_OPTIONS: OptionNames<WatchOptions> = {
  begin: true,
  end: true,
  owner: true,
  module: true,
  export: true,
  data: true,
  onInvalidate: true,
  queue: true,
  onDetached: true,
};

const KERNEL_ADVICE = {
  normal: MADV_NORMAL,
  sequential: MADV_SEQUENTIAL,
  random: MADV_RANDOM,
} as const;

export class ManagedArray<T extends NumericArray = NumericArray> implements api.ManagedArray<T> {
  /** Comes before what cannot be cloned either, so that postMessage(array) says what to do. */
  readonly unsendable = UNSENDABLE;
  readonly space: api.AddressSpace & SpaceInternals;
  readonly type: ElementType;
  readonly name: string;
  private cached: T | null = null;
  /** The same view where this object hears of free and close, so that `data` need not ask. */
  private sure: T | null = null;
  private freed = false;
  indeterminate = false;

  constructor(
    space: api.AddressSpace & SpaceInternals,
    private placement: ArrayHandle<T>,
    /** Whether it is of a handle: its thread may have resized or freed it. */
    private readonly attached = false,
  ) {
    if (typeof placement !== 'object')
      throw madeElsewhere('an array', 'space.array(), fileArray() and the like');
    Object.freeze(placement);
    noteArray(this);
    this.space = space;
    this.type = placement.type;
    this.name = placement.name;
  }

  get length(): number {
    return this.placement.length;
  }

  get byteLength(): number {
    return this.placement.length * bytesOf(this.type);
  }

  get address(): bigint {
    return BigInt(this.placement.space.base + this.placement.firstPage * PAGE_BYTES);
  }

  addressOf(index: number): bigint {
    if (!isWhole(index, 0) || index >= this.length) {
      const indices =
        this.length === 0 ? 'it has no elements' : `indices are 0 to ${this.length - 1}`;
      throw argumentError(
        'ARRAY_RANGE',
        `${show(index)} is no index of array ${this.name}: ${indices}`,
      );
    }
    return this.address + BigInt(index * bytesOf(this.type));
  }

  indexAt(address: bigint): number {
    if (typeof address !== 'bigint')
      throw typeError('ADDRESS', `an address is a bigint, not ${show(address)}`);
    const index = Math.floor((Number(address) - Number(this.address)) / bytesOf(this.type));
    return index >= 0 && index < this.length ? index : -1;
  }

  get isFreed(): boolean {
    return this.freed;
  }

  get data(): T {
    const { sure } = this;
    return sure !== null && sure.length !== 0 ? sure : this.view();
  }

  set data(_: T) {
    throw typeError(
      'ARRAY_DATA',
      `data of array ${this.name} is its memory, which stays; copy what it is to have: data.set(values)`,
    );
  }

  get handle(): ArrayHandle<T> {
    this.assertUsable('share');
    handOut(this.placement.space);
    return this.placement;
  }

  range(begin = 0, end = this.length): ViewedRange<T> {
    checkRange(this, begin, end);
    return new ElementRange(this, begin, end);
  }

  residency(part: ArrayPart = {}): Residency {
    const { begin, end } = this.part('report on', part);
    if (begin === end) return { runs: [], bytes: {}, indeterminate: this.indeterminate };
    const report = this.space.client.call('residency', this.pagesOf(begin, end));
    const { nodes } = this.space.placeNames();
    const size = bytesOf(this.type);
    return reportResidency(report, nodes, begin, end, size, this.indeterminate);
  }

  dirty(part: ArrayPart = {}): { begin: number; end: number }[] {
    const { begin, end } = this.part('report on', part);
    return begin === end ? [] : dirtyRuns(this, begin, end);
  }

  young(options: ArrayPart & { readonly clear?: boolean } = {}): YoungRun[] {
    const { begin, end } = this.part('report on', options, YOUNG_OPTIONS);
    const { clear = true } = options;
    checkFlag('clear', clear);
    return begin === end ? [] : youngRuns(this, begin, end, clear);
  }

  async watch<D = unknown>(options: WatchOptions<D> = {}): Promise<Notifier> {
    this.assertUsable('watch');
    checkObject(`the watch of array ${this.name}`, options, '{ onInvalidate: (event) => ... }');
    partOf<WatchOptions>(this, options, WATCH_OPTIONS);
    return watchArray(this, options);
  }

  free(part?: ArrayPart): { begin: number; end: number } {
    if (part === undefined) {
      if (!this.freed)
        this.space.client.callUnlessClosed('free', { ...this.allPages, whole: true });
      this.wasFreed();
      return { begin: 0, end: this.length };
    }
    const { begin, end } = this.part('free a part of', part);
    this.refuseMapped('free a part of');
    if (begin === end) return { begin, end };
    const pages = wholePagesOf(this, begin, end, 'freed');
    this.space.client.call('free', pages);
    return this.elementsOf(pages.firstPage, pages.count);
  }

  async readFrom(fd: number, options: TransferOptions = {}): Promise<number> {
    const { bytes, complete } = await transfer(this, 'read', fd, options);
    if (complete) this.indeterminate = false;
    return bytes;
  }

  async writeTo(fd: number, options: TransferOptions = {}): Promise<number> {
    return (await transfer(this, 'write', fd, options)).bytes;
  }

  async flush(options: FlushOptions = {}): Promise<number> {
    const { begin, end } = this.part('flush', options, FLUSH_OPTIONS);
    const { durable = false } = options;
    checkFlag('durable', durable);
    // Where there is nothing to flush it is still told of an array that is not shared.
    const pages = begin === end ? { ...this.allPages, count: 0 } : this.pagesOf(begin, end);
    return (await this.space.client.request('flush', { ...pages, durable })).bytes;
  }

  async reload(options: { readonly discard?: boolean } = {}): Promise<void> {
    this.assertUsable('reload');
    checkOptions('reload()', options, { discard: true });
    const { discard = false } = options;
    checkFlag('discard', discard);
    await this.space.client.request('reload', { ...this.allPages, discard });
    if (discard) this.indeterminate = false;
  }

  async protect(rights: Rights, part: ArrayPart = {}): Promise<{ begin: number; end: number }> {
    const { begin, end } = this.part('protect', part);
    this.refuseMapped('protect');
    const access = rightsOf(this, rights);
    if (begin === end) return { begin, end };
    checkBoundary(this, 'begin', begin);
    checkBoundary(this, 'end', end);
    await this.space.client.request('protect', { ...this.wholePages(begin, end), access });
    return { begin, end };
  }

  async guard<D = unknown>(options: GuardOptions<D>): Promise<Guard> {
    this.assertUsable('guard');
    this.refuseMapped('guard');
    return guardArray(this, options);
  }

  async discard(part: ArrayPart = {}): Promise<{ begin: number; end: number }> {
    const { begin, end } = this.part('discard a part of', part);
    if (begin === end) return { begin, end };
    const pages = wholePagesOf(this, begin, end, 'discarded');
    await this.space.client.request('discard', pages);
    const whole = this.elementsOf(pages.firstPage, pages.count);
    if (whole.begin === 0 && whole.end === this.length) this.indeterminate = false;
    return whole;
  }

  async resize(length: number): Promise<void> {
    this.assertUsable('resize');
    const size = bytesOf(this.type);
    checkLength(`cannot resize array ${this.name}`, length, size);
    const { range } = this.placement;
    const wanted = { range, name: this.name, bytes: length * size };
    const { id, firstPage, pages } = await this.space.client.request('resize', wanted);
    if (id === range && length === this.length) return;
    this.forgetView();
    this.placement = Object.freeze({ ...this.placement, range: id, firstPage, pages, length });
  }

  async pin(options: PinOptions = {}): Promise<Pin> {
    const { begin, end } = this.part('pin a part of', options, PIN_OPTIONS);
    const { lock = true } = options;
    checkLock(lock);
    const { client } = this.space;
    if (begin === end) return new Pin(client, null, this.name, 0, { locked: lock !== false });
    const pin = client.newPin();
    const pages = this.pagesOf(begin, end);
    const how = { lock, writable: false, hold: false };
    const report = await client.request('pin', { ...pages, pin, ...how });
    return new Pin(client, pin, this.name, pages.count * PAGE_BYTES, report);
  }

  async hold(options: HoldOptions = {}): Promise<Hold> {
    const { begin, end } = this.part('hold a part of', options, HOLD_OPTIONS);
    const { writable = false } = options;
    checkFlag('writable', writable);
    if (begin === end || (this.placement.mapped === true && !writable))
      return new Hold(null, this, begin, end);
    const { client } = this.space;
    const pin = client.newPin();
    const pages = this.pagesOf(begin, end);
    const report = await client.request('pin', { ...pages, pin, lock: true, writable, hold: true });
    const held = new Pin(client, pin, this.name, pages.count * PAGE_BYTES, report);
    // A `resize` that was made before has been carried out first, and pages do not tell which of
    // their elements it has left.
    if (end > this.length) {
      held.unpin();
      const { name, length } = this;
      const reason = `it has ${length} since it was resized, which was called before`;
      throw new OnememError(
        'USE_AFTER_FREE',
        `cannot hold elements ${begin} to ${end - 1} of array ${name}: ${reason}`,
      );
    }
    return new Hold(held, this, begin, end);
  }

  createReadStream(part: ArrayPart = {}): Readable {
    const { begin, end } = this.part('read', part);
    return readStreamOf(this, begin, end);
  }

  createWriteStream(part: ArrayPart = {}): Writable {
    const { begin, end } = this.part('write', part);
    return writeStreamOf(this, begin, end);
  }

  toReadableStream(part: ArrayPart = {}): ReadableStream<Uint8Array> {
    const { begin, end } = this.part('read', part);
    return webStreamOf(this, begin, end);
  }

  asyncBuffer(): AsyncBuffer {
    this.assertUsable('read');
    return asyncBufferOf(this);
  }

  toBuffer(part: ArrayPart = {}): Buffer {
    const { begin, end } = this.part('read', part);
    return bufferOf(this, begin, end);
  }

  async clone(
    options: Pick<ArrayOptions, 'name' | 'keep'> = {},
  ): Promise<ManagedArray<WritableView<T>>> {
    this.assertUsable('clone');
    checkOptions(`the clone of array ${this.name}`, options, { name: true, keep: true });
    checkName(`the clone of array ${this.name}`, options.name);
    const { name = `a clone of ${this.name}`, keep = false } = options;
    checkFlag('keep', keep);
    const { range, space, length, type } = this.placement;
    const wanted = { range, name: this.name, cloneName: name, keep };
    const { id, firstPage, pages } = await this.space.client.request('clone', wanted);
    const placement = { space, range: id, firstPage, pages, length, type, name };
    const clone = new ManagedArray<WritableView<T>>(this.space, placement);
    clone.indeterminate = this.indeterminate;
    return clone;
  }

  advise(advice: Advice, part: ArrayPart = {}): { begin: number; end: number } {
    const { begin, end } = this.part('advise on', part);
    const change = adviceChange(this, advice);
    if (begin === end) return { begin, end };
    const pages = blocksAround(this.placement, begin, end);
    this.space.client.call('advise', { ...pages, change });
    if (this.placement.mapped === true) this.adviseMapping(advice.pattern, begin, end);
    return this.elementsOf(pages.firstPage, pages.count);
  }

  attributes(part: ArrayPart = {}): Attributes {
    const { begin, end } = this.part('report on', part);
    if (begin === end) return { runs: [], residency: this.residency({ begin, end }) };
    const size = bytesOf(this.type);
    const runs = this.space.client.call('attributes', blocksAround(this.placement, begin, end));
    const names = this.space.placeNames();
    return {
      runs: attributeRuns(runs, names, begin, end, PAGE_BYTES / size),
      residency: this.residency({ begin, end }),
    };
  }

  [DISPOSE](): void {
    this.free();
  }

  toJSON(): ArrayDescription {
    return describe(this);
  }

  static {
    printAs(ManagedArray, (array, inspect) => inspectArray(array, inspect));
  }

  get rangeId(): number {
    return this.placement.range;
  }

  get offset(): number {
    return this.placement.firstPage * PAGE_BYTES;
  }

  assertUsable(verb: string, asks = this.attached): void {
    this.assertHere(verb);
    if (asks) this.space.client.call('usable', { range: this.rangeId, name: this.name, verb });
  }

  /** All of it is gone, and its view with it. */
  wasFreed(): void {
    this.freed = true;
    this.forgetView();
  }

  /** A part of an array that is there. @param verb what is to be done with it */
  private part<O extends ArrayPart>(
    verb: string,
    said: O,
    known?: OptionNames<O>,
  ): { begin: number; end: number } {
    this.assertUsable(verb);
    const part = partOf(this, said, known);
    if (part.begin === part.end) this.assertUsable(verb, true);
    return part;
  }

  /** The view must be asked for again. */
  forgetView(): void {
    this.cached = null;
    this.sure = null;
  }

  private view(): T {
    const { cached } = this;
    // An array that was taken away from its buffer has no elements.
    const isWhole = cached !== null && (cached.length > 0 || this.length === 0);
    return isWhole && this.space.views.isOpen ? cached : this.newView();
  }

  /** What is said of pages does not reach threads that look at a file past the space. */
  refuseMapped(verb: string): void {
    if (this.placement.mapped !== true) return;
    const remedy = 'what is said of pages does not reach there; open it without `mapped`';
    throw typeError(
      'MAPPED_ARRAY',
      `cannot ${verb} array ${this.name}: threads read its file as the kernel has it, and ${remedy}`,
    );
  }

  /** Of a mapped file the kernel reads ahead, which is told by each thread for itself. */
  private adviseMapping(pattern: Advice['pattern'], begin: number, end: number): void {
    if (pattern === undefined) return;
    const { BYTES_PER_ELEMENT: size } = this.data;
    this.space.views.advise(this.rangeId, begin * size, end * size, KERNEL_ADVICE[pattern]);
  }

  private newView(): T {
    this.assertHere('use');
    const { range, name } = this.placement;
    const { views } = this.space;
    if (this.length === 0) {
      this.assertUsable('use');
      // It looks at no addresses, so that none need be kept for it.
      const empty = viewOf(this.type, new ArrayBuffer(0)) as T;
      this.cached = empty;
      noteView(empty, this);
      return empty;
    }
    const sure = views.ownSpace && !this.attached;
    const place = { range, name, address: Number(this.address), bytes: this.byteLength };
    const made = views.make(this.type, place, sure ? this : null) as T;
    this.cached = made;
    noteView(made, this);
    if (sure) this.sure = made;
    return made;
  }

  /** What can be told without asking: data is looked at often, and its view is harmless. */
  assertHere(verb: string): void {
    this.space.client.assertOpen(`cannot ${verb} array ${this.name}`);
    if (this.freed)
      throw new OnememError(
        'USE_AFTER_FREE',
        `cannot ${verb} array ${this.name}: it has been freed`,
      );
  }

  get allPages(): ArrayPages {
    return allPages(this.placement);
  }

  /** Whole pages that touch the elements. */
  pagesOf(begin: number, end: number): ArrayPages {
    return pagesAround(this.placement, begin, end);
  }

  /** Whole pages that belong to the elements alone; none: a count of 0 or less. */
  wholePages(begin: number, end: number): ArrayPages {
    return pagesWithin(this.placement, begin, end);
  }

  /** The elements that lie, in whole or in part, in these pages. */
  elementsOf(firstPage: number, count: number): { begin: number; end: number } {
    return elementsIn(this.placement, firstPage, count);
  }
}

Object.setPrototypeOf(ManagedArray.prototype, NO_INDICES);
