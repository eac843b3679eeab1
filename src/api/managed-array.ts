/** Arrays that live in a space: ordinary typed arrays, whose pages come when they are touched. */

import type { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { ElementType } from '../core/elements.js';
import { bytesOf, type NumericArray, type WritableView } from '../core/elements.js';
import type { OptionNames } from '../core/option-names.js';
import { PAGE_BYTES } from '../core/types.js';
import type { ArrayPages } from '../pager/protocol/pages.js';
import type { AddressSpace } from './address-space.js';
import { type Attributes, adviceChange, attributeRuns } from './advice.js';
import { checkFlag, checkName, checkOptions, isWhole, show } from './arguments.js';
import type { ArrayHandle } from './array-handle.js';
import { checkLength } from './array-length.js';
import { blocksAround, elementsIn, pagesAround, pagesWithin } from './array-pages.js';
import { type ArrayPart, checkRange, noWholePage, partOf } from './array-part.js';
import { bufferOf, readStreamOf, webStreamOf } from './byte-streams.js';
import { type ArrayDescription, describe, INSPECT, inspectArray, UNSENDABLE } from './description.js';
import { DISPOSE } from './disposal.js';
import { argumentError, OnememError, typeError } from './errors.js';
import { HOLD_OPTIONS, Hold, type HoldOptions } from './hold.js';
import { type Notifier, watchArray } from './notifier.js';
import { PIN_OPTIONS, Pin, type PinOptions } from './pin.js';
import { type Advice, type ArrayRange, WATCH_OPTIONS, type WatchOptions } from './public-types.js';
import { type Residency, reportResidency } from './residency.js';
import { checkBoundary, type Rights, rightsOf } from './rights.js';
import { noteArray } from './seen.js';
import { type TransferOptions, transfer } from './transfer.js';
import { dirtyRuns, YOUNG_OPTIONS, type YoungRun, youngRuns } from './use-reports.js';
import { noteView } from './view-owners.js';

const FLUSH_OPTIONS: OptionNames<FlushOptions> = { begin: true, end: true, durable: true };

export interface FlushOptions {
  /** Elements; all unless said otherwise. Pages that they share with others are written as a whole. */
  readonly begin?: number;
  readonly end?: number;
  /** Whether to wait until the file would survive a crash of the machine (fdatasync). */
  readonly durable?: boolean;
}

export class ManagedArray<T extends NumericArray = NumericArray> {
  /** @internal Comes before what cannot be cloned either, so that postMessage(array) says what to do. */
  readonly unsendable = UNSENDABLE;
  readonly space: AddressSpace;
  readonly type: ElementType;
  readonly name: string;
  private cached: T | null = null;
  /** The same, of an array that nobody frees or closes without this object being told, so that `data` need not ask. */
  private sure: T | null = null;
  private freed = false;
  /** A device that was writing the array died: its content is undefined until it is overwritten. */
  indeterminate = false;

  /** @internal */
  constructor(
    space: AddressSpace,
    private placement: ArrayHandle<T>,
    /** Whether it was made from a handle: the thread that made it may have resized or freed it since. */
    private readonly attached = false,
  ) {
    Object.freeze(placement);
    noteArray(this);
    this.space = space;
    this.type = placement.type;
    this.name = placement.name;
  }

  /** Elements. */
  get length(): number {
    return this.placement.length;
  }

  get byteLength(): number {
    return this.placement.length * bytesOf(this.type);
  }

  /** The address of the first element; the same for every processor. */
  get address(): bigint {
    return BigInt(this.placement.space.base + this.placement.firstPage * PAGE_BYTES);
  }

  /** The address of an element, to be stored as a link to it. */
  addressOf(index: number): bigint {
    if (!isWhole(index, 0) || index >= this.length) {
      const last = this.length - 1;
      throw argumentError('ARRAY_RANGE', `${show(index)} is no index of array ${this.name}: indices are 0 to ${last}`);
    }
    return this.address + BigInt(index * bytesOf(this.type));
  }

  /** The element that an address lies in, or -1 when it lies outside of the array. */
  indexAt(address: bigint): number {
    if (typeof address !== 'bigint') throw typeError('ADDRESS', `an address is a bigint, not ${show(address)}`);
    const index = Math.floor((Number(address) - Number(this.address)) / bytesOf(this.type));
    return index >= 0 && index < this.length ? index : -1;
  }

  get isFreed(): boolean {
    return this.freed;
  }

  /**
   * The array itself, the same object at every use. A view keeps the array's addresses taken; once the array is freed, or the space is
   * closed, reading a view that is left gives zeros, and writing it ends the process with a message. Code that takes a view's buffer, by
   * `transfer()` or as a stream does that reads into it, leaves the view empty: `data` is another view of the same elements from then
   * on, and the addresses stay taken when the array is freed.
   */
  get data(): T {
    const { sure } = this;
    return sure !== null && sure.length !== 0 ? sure : this.view();
  }

  /** For postMessage to another thread, which makes an array of it by `attachArray`. */
  get handle(): ArrayHandle<T> {
    this.assertUsable('share');
    return this.placement;
  }

  /** Elements [begin, end). */
  range(begin = 0, end = this.length): ArrayRange<T> {
    checkRange(this, begin, end);
    return { array: this, begin, end };
  }

  /** Where the pages of a part are. Faults nothing in. */
  residency(part: ArrayPart = {}): Residency {
    this.assertUsable('report on');
    const { begin, end } = partOf(this, part);
    const report = this.space.client.call('residency', this.pagesOf(begin, end));
    return reportResidency(report, this.space.placeNames(), begin, end, bytesOf(this.type), this.indeterminate);
  }

  /**
   * What the CPU or a device may have written since the array was made, emptied, flushed or read from its file, in whole pages: a
   * processor that was given the right to write a page counts as having done so. Faults nothing in.
   */
  dirty(part: ArrayPart = {}): { begin: number; end: number }[] {
    this.assertUsable('report on');
    const { begin, end } = partOf(this, part);
    return dirtyRuns(this, begin, end);
  }

  /**
   * Which processors have used the part since that was last asked, in whole blocks of 2 MiB: those that faulted there, and devices
   * whose launches had it as an argument. Plain use of pages that are there already is not to be seen. With `clear: false` it stays
   * as it is for the next caller.
   */
  young(options: ArrayPart & { readonly clear?: boolean } = {}): YoungRun[] {
    this.assertUsable('report on');
    const { begin, end } = partOf(this, options, YOUNG_OPTIONS);
    const { clear = true } = options;
    checkFlag('clear', clear);
    return youngRuns(this, begin, end, clear);
  }

  /**
   * Subscribes to invalidations: a subscriber that keeps tables of its own about the array's pages is told before a processor loses what it had of
   * them, by a module in the manager's thread or by a sequence number, and afterwards by an event. Resolves when the subscription
   * is in force; rejects with NOTIFIER_MODULE when its module cannot be loaded.
   */
  async watch<D = unknown>(options: WatchOptions<D> = {}): Promise<Notifier> {
    this.assertUsable('watch');
    partOf<WatchOptions>(this, options, WATCH_OPTIONS);
    return watchArray(this, options);
  }

  /**
   * Gives the array's memory back, or that of a part: the whole pages inside it, since the others hold elements of what is kept.
   * Returns the elements that were freed, and refuses a part without a whole page (NO_WHOLE_PAGE), as well as one that has been
   * freed. What is freed must not be used any more: calls that would are refused (USE_AFTER_FREE), those of an array of which nothing is left as
   * those of one that was freed as a whole.
   */
  free(part?: ArrayPart): { begin: number; end: number } {
    if (part === undefined) {
      if (!this.freed && !this.space.isClosed) {
        this.space.client.call('free', { ...this.pagesOf(0, this.length), whole: true });
      }
      this.freed = true;
      this.forgetView();
      return { begin: 0, end: this.length };
    }
    this.assertUsable('free a part of');
    const { begin, end } = partOf(this, part);
    const pages = this.wholePages(begin, end);
    if (pages.count <= 0) throw noWholePage(this, begin, end, 'freed');
    this.space.client.call('free', pages);
    return this.elementsOf(pages.firstPage, pages.count);
  }

  /** Fills the array, or a part, from an open file; safe without privilege, and nothing is faulted in. Returns the bytes read. */
  async readFrom(fd: number, options: TransferOptions = {}): Promise<number> {
    const { bytes, complete } = await transfer(this, 'read', fd, options);
    if (complete) this.indeterminate = false;
    return bytes;
  }

  /** Writes the array, or a part, to an open file; safe without privilege. Returns the bytes written. */
  async writeTo(fd: number, options: TransferOptions = {}): Promise<number> {
    return (await transfer(this, 'write', fd, options)).bytes;
  }

  /**
   * Writes what the CPU and devices have written, whole pages of it, to the file that the array shares; after that every program reads
   * it there. What is written while it goes on may be among it, and is written by the next one. Returns the bytes written. When it
   * rejects with FLUSH_FAILED, everything is still in memory.
   */
  async flush(options: FlushOptions = {}): Promise<number> {
    this.assertUsable('flush');
    const { begin, end } = partOf(this, options, FLUSH_OPTIONS);
    const { durable = false } = options;
    checkFlag('durable', durable);
    return (await this.space.client.request('flush', { ...this.pagesOf(begin, end), durable })).bytes;
  }

  /**
   * Has the array show what its file holds now: pages are read again when they are touched. Rejects with UNFLUSHED_CHANGES when the
   * array has been written and not flushed, and with DATA_LOST when changes were lost with a device, unless `discard` says that this may be
   * forgotten. Nothing should use it meanwhile.
   */
  async reload(options: { readonly discard?: boolean } = {}): Promise<void> {
    this.assertUsable('reload');
    checkOptions('reload()', options, { discard: true });
    const { discard = false } = options;
    checkFlag('discard', discard);
    await this.space.client.request('reload', { ...this.pagesOf(0, this.length), discard });
    if (discard) this.indeterminate = false;
  }

  /**
   * Changes what everybody may do to the elements from now on: the CPU, devices, transfers and copies; 'readwrite' undoes it. A part
   * begins and ends where pages do, or at the end of the array. A launch that does more fails and names array and page. A CPU that
   * does more is told so on stderr; then a load or store ends the process, and a system call fails with EFAULT, as does every use of
   * that page until rights are changed again. Returns the elements that this is about.
   */
  async protect(rights: Rights, part: ArrayPart = {}): Promise<{ begin: number; end: number }> {
    this.assertUsable('protect');
    const access = rightsOf(this, rights);
    const { begin, end } = partOf(this, part);
    checkBoundary(this, 'begin', begin);
    checkBoundary(this, 'end', end);
    await this.space.client.request('protect', { ...this.wholePages(begin, end), access });
    return { begin, end };
  }

  /**
   * Forgets the content of the array, or of the whole pages within a part: they read as zero from now on, wherever they were. Nothing
   * is copied, now or when they leave a device. Their memory is kept for what is written next. Returns the elements that were
   * forgotten.
   */
  async discard(part: ArrayPart = {}): Promise<{ begin: number; end: number }> {
    this.assertUsable('discard a part of');
    const { begin, end } = partOf(this, part);
    const pages = this.wholePages(begin, end);
    if (pages.count <= 0) throw noWholePage(this, begin, end, 'discarded');
    await this.space.client.request('discard', pages);
    const whole = this.elementsOf(pages.firstPage, pages.count);
    if (whole.begin === 0 && whole.end === this.length) this.indeterminate = false;
    return whole;
  }

  /**
   * Makes the array longer or shorter. New elements are zero, also where there were some before; pages behind the end are given back.
   * Up to the `maxLength` that it was made with the array stays at its address; beyond that it moves, with rights and advice, and for
   * that the host's budget must have room for both. Take `data` anew: an older view shows what it covered while the array stays, and
   * counts as that of a freed array when it moves. A move makes handles stale, and so does any change for those who attach later
   * (STALE_HANDLE). Refused for pinned arrays, for those of files and providers, and while a launch, a copy or another call that was
   * made before has not ended. If it fails, the array is as it was. Nobody else should use the array meanwhile.
   */
  async resize(length: number): Promise<void> {
    this.assertUsable('resize');
    const size = bytesOf(this.type);
    checkLength(`cannot resize array ${this.name}`, length, size);
    const { range } = this.placement;
    const made = await this.space.client.request('resize', { range, name: this.name, bytes: length * size });
    const { id, firstPage, pages } = made;
    if (id === range && length === this.length) return;
    this.forgetView();
    this.placement = Object.freeze({ ...this.placement, range: id, firstPage, pages, length });
  }

  /**
   * Brings the array, or a part, home to host memory, and keeps it there until every pin of it has ended: devices can read it, and a
   * launch that writes it fails with PINNED. Until then it cannot be freed, resized, discarded or reloaded. Pinned pages count in full
   * against the host's budget.
   */
  async pin(options: PinOptions = {}): Promise<Pin> {
    this.assertUsable('pin a part of');
    const { begin, end } = partOf(this, options, PIN_OPTIONS);
    const { lock = true } = options;
    if (lock !== true && lock !== false && lock !== 'require') {
      throw typeError('OPTIONS', `lock is true, false or 'require', not ${show(lock)}`);
    }
    const { client } = this.space;
    const pin = client.newPin();
    const pages = this.pagesOf(begin, end);
    const report = await client.request('pin', { ...pages, pin, lock, writable: false });
    return new Pin(client, pin, pages.count * PAGE_BYTES, report);
  }

  /**
   * Brings the array, or a part, home and keeps it there, mapped, so that system calls find it, also where they must not fault: hand
   * `hold.bytes` to a socket, to fs.write, to a native addon, and end the hold when they are through. It is a pin, with what that
   * forbids meanwhile. Reading always works. Held `writable` the elements may be written as well, until their pages are shared
   * again: by a device that reads them, a clone, `flush` or `protect`. Rejects with ACCESS_DENIED where the elements may not be written.
   */
  async hold(options: HoldOptions = {}): Promise<Hold> {
    this.assertUsable('hold a part of');
    const { begin, end } = partOf(this, options, HOLD_OPTIONS);
    const { writable = false } = options;
    checkFlag('writable', writable);
    const { client } = this.space;
    const pin = client.newPin();
    const pages = this.pagesOf(begin, end);
    const report = await client.request('pin', { ...pages, pin, lock: true, writable });
    const held = new Pin(client, pin, pages.count * PAGE_BYTES, report);
    // A `resize` that was made before has been carried out first, and pages do not tell which of their elements it has left.
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

  /**
   * The elements as bytes, in order, for `pipe` and `pipeline`: read as the other end takes them, into ordinary memory, without a
   * fault of this thread. The stream fails where elements cannot be had (DATA_LOST, ACCESS_DENIED, FILE_CHANGED, ...), or when the
   * array is freed. What is written meanwhile may be in it.
   */
  createReadStream(part: ArrayPart = {}): Readable {
    this.assertUsable('read');
    const { begin, end } = partOf(this, part);
    return readStreamOf(this, begin, end);
  }

  /** The same as a stream of the web, such as the body of a Response: `new Response(array.toReadableStream())`. */
  toReadableStream(part: ArrayPart = {}): ReadableStream<Uint8Array> {
    this.assertUsable('read');
    const { begin, end } = partOf(this, part);
    return webStreamOf(this, begin, end);
  }

  /** A copy of the elements' bytes in ordinary memory, which every system call takes. Brings pages as a loop over the elements does. */
  toBuffer(part: ArrayPart = {}): Buffer {
    this.assertUsable('read');
    const { begin, end } = partOf(this, part);
    return bufferOf(this, begin, end);
  }

  /**
   * Another array with the same elements, which may be written whatever this one allows. Nothing is copied before one is written
   * of the two, or touches the clone: then pages are, one by one. What each of them is written is its own, from the CPU and devices.
   * It takes its share of the host's budget at once. Elements that are written while `clone` runs may be in it or not; what a file or a
   * provider gives is asked for when it is needed.
   */
  async clone(options: { readonly name?: string } = {}): Promise<ManagedArray<WritableView<T>>> {
    this.assertUsable('clone');
    checkOptions(`the clone of array ${this.name}`, options, { name: true });
    checkName(`the clone of array ${this.name}`, options.name);
    const { name = `a clone of ${this.name}` } = options;
    const { range, space, length, type } = this.placement;
    const made = await this.space.client.request('clone', { range, name: this.name, cloneName: name });
    const { id, firstPage, pages } = made;
    const clone = new ManagedArray<WritableView<T>>(this.space, {
      space,
      range: id,
      firstPage,
      pages,
      length,
      type,
      name,
    });
    clone.indeterminate = this.indeterminate;
    return clone;
  }

  /**
   * Says how the array, or a part of it, will be used: whole blocks of 2 MiB around the part. Nothing moves at once and nothing is taken
   * from anybody; what is not named stays as it was said before. Returns the elements that it covers.
   */
  advise(advice: Advice, part: ArrayPart = {}): { begin: number; end: number } {
    this.assertUsable('advise on');
    const change = adviceChange(this, advice);
    const { begin, end } = partOf(this, part);
    const pages = blocksAround(this.placement, begin, end);
    this.space.client.call('advise', { ...pages, change });
    return this.elementsOf(pages.firstPage, pages.count);
  }

  /** What was advised for the array, or a part of it, and where its pages really are. Faults nothing in. */
  attributes(part: ArrayPart = {}): Attributes {
    this.assertUsable('report on');
    const { begin, end } = partOf(this, part);
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

  /** What the array is, without its elements, which may be more than a text can hold: those are in `data`. */
  toJSON(): ArrayDescription {
    return describe(this);
  }

  /** @internal For console.log. */
  [INSPECT](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    return inspectArray(this, (value) => inspect(value, options));
  }

  /** @internal */
  get rangeId(): number {
    return this.placement.range;
  }

  /** @internal Byte offset in the space. */
  get offset(): number {
    return this.placement.firstPage * PAGE_BYTES;
  }

  /** @internal */
  assertUsable(verb: string): void {
    this.assertHere(verb);
    if (this.attached) this.space.client.call('usable', { range: this.rangeId, name: this.name, verb });
  }

  /** @internal The view must be asked for again. */
  forgetView(): void {
    this.cached = null;
    this.sure = null;
  }

  private view(): T {
    const { cached } = this;
    // An array that was taken away from its buffer has no elements.
    if (cached !== null && cached.length !== 0 && this.space.views.isOpen) return cached;
    return this.newView();
  }

  private newView(): T {
    this.assertHere('use');
    const { range, name } = this.placement;
    const { views } = this.space;
    const sure = views.ownSpace && !this.attached;
    const place = { range, name, address: Number(this.address), bytes: this.byteLength };
    const made = views.make(this.type, place, sure ? this : null) as T;
    this.cached = made;
    noteView(made, this);
    if (sure) this.sure = made;
    return made;
  }

  /** What can be told without asking: data is looked at often, and its view stays harmless in any case. */
  private assertHere(verb: string): void {
    this.space.client.assertOpen(`cannot ${verb} array ${this.name}`);
    if (this.freed) throw new OnememError('USE_AFTER_FREE', `cannot ${verb} array ${this.name}: it has been freed`);
  }

  /** @internal Whole pages that touch the elements. */
  pagesOf(begin: number, end: number): ArrayPages {
    return pagesAround(this.placement, begin, end);
  }

  /** @internal Whole pages that belong to the elements alone; none: a count of 0 or less. */
  wholePages(begin: number, end: number): ArrayPages {
    return pagesWithin(this.placement, begin, end);
  }

  /** @internal The elements that lie, in whole or in part, in these pages. */
  elementsOf(firstPage: number, count: number): { begin: number; end: number } {
    return elementsIn(this.placement, firstPage, count);
  }
}
