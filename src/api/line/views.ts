/**
 * What a thread sees of a space: typed arrays on managed memory, and how long they keep its
 * addresses taken. Addresses that a view may look at are not given to another array, and not
 * unmapped.
 */
import { type ElementType, type NumericArray, viewOf } from '../../core/basics/elements.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import { munmap, tryMadvise, view } from '../../linux/memory/memory.js';
import { threadExists } from '../../linux/processes/process.js';
import { Control, LISTED_THREADS, SpaceState } from '../../pager/protocol/control.js';
import type { FileMapping } from '../../pager/protocol/requests.js';
import type { SpaceHandle } from '../../pager/protocol/space.js';
import type { Client } from './client.js';

/** The number of views after unmapping: no later view can make it 0 again. */
const UNMAPPED = -(2 ** 30);

/**
 * A buffer on the addresses of an array, and the typed arrays of ours on it that are alive. The
 * buffer is kept when they have gone, since the program may have made others on it, or handed the
 * memory on by `transfer()` or to a stream. Which of the two can only be seen while the buffer is
 * at hand.
 */
interface Shown {
  readonly range: number;
  readonly buffer: ArrayBuffer;
  /** Where the buffer shows a file: this thread's own mapping, which goes with the buffer. */
  readonly mapping: FileMapping | null;
  readonly views: Views;
  arrays: number;
  /** Arrays that keep one of these typed arrays, and give it out unasked. */
  readonly holders: WeakRef<Holder>[];
  /** Whether the array has been freed, or the space closed: what still shows it can be emptied. */
  freed: boolean;
}

const collected = new FinalizationRegistry<Shown>((shown) => shown.views.dropped(shown));

/** An array that keeps its view, and must ask for it anew when the view has gone. */
interface Holder {
  forgetView(): void;
}

export class Views {
  private readonly shown = new Map<number, Shown[]>();
  private readonly control: Int32Array;
  private readonly base: number;
  private readonly bytes: number;
  /** What this thread shows, without what has been taken from it. */
  private own = 0;
  /** Whether this thread has nothing to do with the space any more. */
  private left = false;

  constructor(
    handle: SpaceHandle,
    private readonly client: Client,
    /** Whether this thread opened the space: no other thread can close it then. */
    readonly ownSpace: boolean,
  ) {
    this.control = new Int32Array(handle.control);
    this.base = handle.base;
    this.bytes = handle.bytes;
    client.onFreed = (range) => this.freed(range);
  }

  /**
   * A typed array on the addresses of an array, which must not have been freed.
   * @param holder the array that keeps it and must be told when the space closes
   */
  make(
    type: ElementType,
    { range, name, address, bytes }: ShownArray,
    holder: Holder | null,
  ): NumericArray {
    const known = this.shown.get(range) ?? [];
    for (const each of known) if (isTaken(each)) this.taken(each);
    let shown = known.find(({ buffer }) => buffer.byteLength === bytes);
    if (shown === undefined) shown = this.show(range, name, address, bytes);
    else this.client.call('usable', { range, name, verb: 'use' });
    const made = viewOf(type, shown.buffer);
    shown.arrays++;
    if (holder !== null) shown.holders.push(new WeakRef(holder));
    collected.register(made, shown);
    return made;
  }

  /** Tells the kernel how this thread will read whole pages around a part of a mapped file. */
  advise(range: number, begin: number, end: number, advice: number): void {
    for (const { mapping } of this.shown.get(range) ?? []) {
      if (mapping === null) continue;
      const first = mapping.elements + begin;
      const from = first - (first % PAGE_BYTES);
      tryMadvise(from, mapping.elements + end - from, advice);
    }
  }

  /** A typed array has been collected. */
  dropped(shown: Shown): void {
    shown.arrays--;
    if (this.client.isClosed) shown.freed = true;
    this.settle(shown);
  }

  /** An array has been freed by some thread; null: all have, since the space is closed. */
  freed(range: number | null): void {
    const gone =
      range === null ? [...this.shown.values()].flat() : [...(this.shown.get(range) ?? [])];
    if (range === null) this.left = true;
    for (const shown of gone) {
      shown.freed = true;
      if (range === null) for (const holder of shown.holders) holder.deref()?.forgetView();
      this.settle(shown);
    }
  }

  /** The thread ends, and its views; what was taken may be another thread's by now. */
  threadEnds(): void {
    for (const shown of [...this.shown.values()].flat()) if (isTaken(shown)) this.taken(shown);
  }

  /** None of the thread's views can be seen any more. */
  allGone(): void {
    this.gone(this.own);
  }

  /** Of a closed space. */
  tryUnmap(): void {
    const { control } = this;
    if (Atomics.load(control, Control.State) !== SpaceState.Closed) return;
    if (Atomics.compareExchange(control, Control.Views, 0, UNMAPPED) === 0)
      munmap(this.base, this.bytes);
  }

  /** The same when the views left were of terminated threads, which could not say so. */
  unmapAfterThreads(): void {
    const { control } = this;
    const views = Atomics.load(control, Control.Views);
    const taken = Atomics.load(control, Control.TakenViews);
    if (this.own > 0 || views <= 0 || taken > 0 || listedThreads(control) > 0) return;
    if (Atomics.compareExchange(control, Control.Views, views, UNMAPPED) === views)
      munmap(this.base, this.bytes);
  }

  get isUnmapped(): boolean {
    // A view that is refused raises the number for a moment.
    return Atomics.load(this.control, Control.Views) < 0;
  }

  /** Whether the space is open, as far as can be told in no time. */
  get isOpen(): boolean {
    return this.control[Control.State] !== SpaceState.Closed && !this.left;
  }

  private show(range: number, name: string, address: number, bytes: number): Shown {
    const { client, control } = this;
    // Before the view is made, and before the look whether the space is open: the thread that
    // closes it sees one of the two.
    this.own++;
    Atomics.add(control, Control.Views, 1);
    let mapping: FileMapping | null;
    try {
      mapping = client.call('viewed', { range, name });
    } catch (error) {
      client.tell('unviewed', { range });
      this.gone();
      throw error;
    }
    const buffer = view(mapping?.elements ?? address, bytes);
    const shown = { range, buffer, mapping, views: this, arrays: 0, holders: [], freed: false };
    this.shown.set(range, [...(this.shown.get(range) ?? []), shown]);
    return shown;
  }

  /**
   * Gives back addresses that no view is to look at any more. A buffer that is left, under arrays
   * that the program made on it itself, is emptied: they have no elements from then on.
   */
  private settle(shown: Shown): void {
    if (isTaken(shown)) this.taken(shown);
    else if (shown.freed && shown.arrays === 0 && this.forget(shown)) {
      takeAway(shown.buffer);
      if (shown.mapping !== null) munmap(shown.mapping.address, shown.mapping.bytes);
      this.client.tell('unviewed', { range: shown.range });
      this.gone();
    }
  }

  /** The memory is under another buffer, whose end nobody tells: its addresses stay taken. */
  private taken(shown: Shown): void {
    if (!this.forget(shown)) return;
    this.own--;
    Atomics.add(this.control, Control.TakenViews, 1);
    this.client.tell('taken', { range: shown.range });
  }

  /** False when that has been done before. */
  private forget(shown: Shown): boolean {
    const known = this.shown.get(shown.range) ?? [];
    if (!known.includes(shown)) return false;
    if (known.length === 1) this.shown.delete(shown.range);
    else
      this.shown.set(
        shown.range,
        known.filter((each) => each !== shown),
      );
    return true;
  }

  private gone(count = 1): void {
    this.own -= count;
    Atomics.sub(this.control, Control.Views, count);
    this.tryUnmap();
  }
}

/** Where an array lies that is to be shown. */
interface ShownArray {
  readonly range: number;
  readonly name: string;
  readonly address: number;
  readonly bytes: number;
}

/** No array is empty: one that has become so was transferred. */
function isTaken({ buffer }: Shown): boolean {
  return buffer.byteLength === 0;
}

/** Empties a buffer, and every array on it. */
function takeAway(buffer: ArrayBuffer): void {
  if ('transfer' in buffer) buffer.transfer(0);
  else {
    // Before Node.js 22 only a stream can do it: it takes the memory of whatever it is given, and
    // is forgotten with that.
    new ReadableStream({
      type: 'bytes',
      start: (controller) => controller.enqueue(new Uint8Array(buffer)),
    });
  }
}

/** Attached threads that have not ended. An unlisted one counts for ever: nobody sees its end. */
export function listedThreads(control: Int32Array): number {
  let count = Atomics.load(control, Control.UnlistedThreads);
  for (let place = 0; place < LISTED_THREADS; place++) {
    const thread = Atomics.load(control, Control.Threads + place);
    if (thread !== 0 && threadExists(thread)) count++;
  }
  return count;
}
