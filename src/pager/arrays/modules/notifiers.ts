/**
 * Subscriptions to invalidations, as Linux's mmu_interval_notifier: a module that shadows a page
 * table is told before pages are taken from anybody. Modules are called at once, and a sequence
 * number in shared memory is odd, while pages change; events follow. Nothing that a subscriber does
 * holds a change up for longer than one call that takes too long.
 */

import {
  HOST,
  type InvalidationReason,
  isOwner,
  PAGE_BYTES,
  type ProcessorId,
} from '../../../core/basics/types.js';
import type { Range } from '../../../core/table/range.js';
import type { Loading } from '../../core/loading.js';
import type { Notice, NotifierFunctions, NotifierSource } from '../../protocol/notifiers.js';
import { Sequence } from '../../protocol/sequence.js';
import { RequestError } from '../../protocol/wire.js';
import { pagesOf } from '../table/array-table.js';
import { NotifierModule } from './notifier-module.js';
import type { Load } from './program-module.js';

/** How often subscribers whose threads have ended without a word are looked for. */
const LOOK_MS = 1000;
/** Subscriptions that a thread of an attached process may have. */
const MOST_OF_PROCESS = 256;

export interface Subscriber {
  readonly thread: number;
  notice(notice: Notice): void;
}

export interface NotifierWishes {
  /** A number that no other subscription of the space has. */
  readonly id: number;
  /** First page of the space, and how many; null: all that the range has or will have. */
  readonly firstPage: number;
  readonly count: number | null;
  readonly elementBytes: number;
  readonly length: number;
  readonly source: NotifierSource | null;
  /** Changes on behalf of this processor are no news. */
  readonly owner: ProcessorId | null;
  /** How many changes may wait for the subscriber; null: it wants no events. */
  readonly queue: number | null;
  /** A file for the number, which stays the caller's, if another process subscribes; else null. */
  readonly memory: number | null;
}

/** Changes that the subscriber has not been told of yet. */
interface Events {
  readonly limit: number;
  readonly waiting: { reason: InvalidationReason; first: number; end: number }[];
  lost: number;
  detached: string | null;
  ended: boolean;
  /** Something of this has not been told. */
  fresh: boolean;
  /** It has been told of some, and has not said that it is through with them. */
  busy: boolean;
}

interface Subscription extends NotifierWishes {
  readonly range: Range;
  readonly subscriber: Subscriber;
  readonly sequence: Sequence;
  /** First pages of the changes that it was told of and that are not through. */
  readonly open: number[];
  /** Called before and after pages change; null: there is none, or it has been dropped. */
  module: NotifierModule | null;
  owner: ProcessorId | null;
  readonly events: Events;
}

/** What the notifiers know of the rest of the manager. */
export interface NotifierSurroundings {
  range(id: number): Range | undefined;
  rangeOfPage(page: number): Range | undefined;
  /** Whether the core announces invalidations, for one subscriber more (`by` 1) or less (-1). */
  watch(range: Range, by: 1 | -1): void;
  nameOf(processor: ProcessorId): string;
  /** Whether it is a process that uses the host's memory as its own. */
  isOfHost(processor: ProcessorId): boolean;
  readonly load: Load;
  readonly loading: Loading;
  /** Whether a subscriber is still there. */
  threadExists(thread: number): boolean;
  warn(message: string): void;
  readonly now: () => number;
}

export class Notifiers {
  private readonly byRange = new Map<number, Subscription[]>();
  private readonly byId = new Map<number, Subscription>();
  private readonly news = new Set<Subscription>();
  /** Pages that are being freed because their array gets smaller. */
  private readonly resized: { readonly first: number; readonly end: number }[] = [];
  private lastLook = 0;

  constructor(private readonly around: NotifierSurroundings) {}

  get count(): number {
    return this.byId.size;
  }

  /** Adds a subscription, at once or when its module has been loaded. */
  add(
    rangeId: number,
    wishes: NotifierWishes,
    subscriber: Subscriber,
    done: (sequence: Sequence | null, failure: unknown) => void,
  ): void {
    const { source } = wishes;
    const insert = (module: NotifierModule | null): void => {
      const range = this.around.range(rangeId);
      if (range === undefined || range.freedPages === range.pages) {
        done(null, new RequestError('USE_AFTER_FREE', 'cannot watch the array: it has been freed'));
      } else done(this.insert(range, wishes, subscriber, module), null);
    };
    const range = this.around.range(rangeId);
    if (source === null || range === undefined) {
      insert(null);
      return;
    }
    const { first, end } = partOf({ ...wishes, range });
    const { elementBytes } = wishes;
    const facts = { array: range.name, ...elementsOf(wishes, range, first, end), elementBytes };
    this.around.loading.wait(
      NotifierModule.load(source, facts, this.around.load, this.around.now),
      insert,
      (error) => {
        const message = `cannot watch array ${range.name}: export '${source.exportName}' of ${source.url} ${error.message}`;
        done(null, new RequestError('NOTIFIER_MODULE', message, { array: range.name }));
      },
    );
  }

  remove(id: number): void {
    const subscription = this.byId.get(id);
    if (subscription !== undefined) this.end(subscription);
  }

  /** The thread has left, or ended. */
  forget(subscriber: Subscriber): void {
    for (const subscription of [...this.byId.values()])
      if (subscription.subscriber === subscriber) this.end(subscription);
  }

  /** The number belongs to no processor any more, and may be given to another one. */
  forgetProcessor(processor: ProcessorId): void {
    for (const subscription of this.byId.values())
      if (subscription.owner === processor) subscription.owner = null;
  }

  /** Pages change from now on: tells the subscribers that must know before. */
  begin(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void {
    const subscriptions = this.of(page);
    if (subscriptions === undefined) return;
    const said = this.reasonOf(page, reason);
    for (const subscription of subscriptions) {
      if (this.isBy(subscription, owner) || !overlaps(subscription, page, count)) continue;
      subscription.open.push(page);
      if (subscription.open.length === 1) subscription.sequence.advance();
      this.call(subscription, 'invalidate', page, count, said, owner);
    }
  }

  through(page: number, count: number, reason: InvalidationReason, owner: ProcessorId): void {
    const subscriptions = this.of(page);
    if (subscriptions === undefined) return;
    const said = this.reasonOf(page, reason);
    for (const subscription of subscriptions) {
      // A subscriber that came while the change was under way has not been told of it.
      const at = subscription.open.indexOf(page);
      if (at === -1) continue;
      subscription.open.splice(at, 1);
      this.call(subscription, 'invalidated', page, count, said, owner);
      if (subscription.open.length === 0) subscription.sequence.advance();
      this.note(subscription, page, count, said);
    }
  }

  /** Pages freed here are freed since their array gets smaller. Returns what ends that. */
  resizing(firstPage: number, count: number): () => void {
    const resize = { first: firstPage, end: firstPage + count };
    this.resized.push(resize);
    return () => {
      this.resized.splice(this.resized.indexOf(resize), 1);
    };
  }

  /** The range goes as a whole: its subscribers are told now, and nothing more. */
  release(range: Range): void {
    for (const subscription of [...(this.byRange.get(range.id) ?? [])]) {
      const { first, end } = partOf(subscription);
      this.call(subscription, 'invalidate', first, end - first, 'release', HOST);
      this.note(subscription, first, end - first, 'release');
      subscription.events.ended = true;
      subscription.events.fresh = true;
      this.end(subscription);
      this.news.add(subscription);
    }
  }

  close(): void {
    for (const subscription of [...this.byId.values()]) this.release(subscription.range);
    this.flush();
  }

  /** The subscriber is through with what it was told. */
  heard(id: number): void {
    const subscription = this.byId.get(id);
    if (subscription === undefined) return;
    subscription.events.busy = false;
    if (subscription.events.fresh) this.news.add(subscription);
  }

  /** Tells subscribers what has happened, each that is through with what it was told before. */
  flush(): void {
    if (this.news.size === 0) return;
    for (const subscription of this.news) {
      const { events, range } = subscription;
      // A subscription that ends is told the last of it, however busy its subscriber is.
      if (events.busy && !events.ended) continue;
      subscription.subscriber.notice({
        subscription: subscription.id,
        changes: events.waiting.map(({ reason, first, end }) => ({
          reason,
          firstPage: first - range.first,
          pages: end - first,
        })),
        lost: events.lost,
        detached: events.detached,
        ended: events.ended,
      });
      events.waiting.length = 0;
      events.lost = 0;
      events.fresh = false;
      events.busy = true;
    }
    this.news.clear();
  }

  look(nowMs: number): void {
    if (this.byId.size === 0 || nowMs - this.lastLook < LOOK_MS) return;
    this.lastLook = nowMs;
    this.forgetEnded();
  }

  /** Ends the subscriptions of threads that ended without a word, and of arrays that went. */
  forgetEnded(): void {
    const threads = new Map<number, boolean>();
    for (const subscription of [...this.byId.values()]) {
      const { thread } = subscription.subscriber;
      if (!threads.has(thread)) threads.set(thread, this.around.threadExists(thread));
      const gone = this.around.range(subscription.range.id) === undefined;
      if (gone) this.release(subscription.range);
      else if (threads.get(thread) === false) this.end(subscription);
    }
  }

  /** Processes of the host have one memory, and what one of them does takes nothing from another. */
  private isBy(subscription: Subscription, processor: ProcessorId): boolean {
    const { owner } = subscription;
    if (owner === null) return false;
    return owner === processor || (isOwner(owner) && this.around.isOfHost(processor));
  }

  private of(page: number): readonly Subscription[] | undefined {
    const range = this.around.rangeOfPage(page);
    return range === undefined ? undefined : this.byRange.get(range.id);
  }

  private reasonOf(page: number, reason: InvalidationReason): InvalidationReason {
    if (reason !== 'unmap' || this.resized.length === 0) return reason;
    return this.resized.some(({ first, end }) => page >= first && page < end) ? 'resize' : reason;
  }

  private insert(
    range: Range,
    wishes: NotifierWishes,
    subscriber: Subscriber,
    module: NotifierModule | null,
  ): Sequence {
    // Another process may say a number twice, and go on for ever.
    this.remove(wishes.id);
    if (wishes.memory !== null) this.checkCount(subscriber);
    const { memory } = wishes;
    const sequence = memory === null ? Sequence.inMemory() : Sequence.inFile(memory);
    const subscription: Subscription = {
      ...wishes,
      range,
      subscriber,
      sequence,
      open: [],
      module,
      events: {
        limit: wishes.queue ?? 0,
        waiting: [],
        lost: 0,
        detached: null,
        ended: false,
        fresh: false,
        busy: false,
      },
    };
    const others = this.byRange.get(range.id);
    if (others === undefined) this.byRange.set(range.id, [subscription]);
    else others.push(subscription);
    this.byId.set(wishes.id, subscription);
    this.around.watch(range, 1);
    return sequence;
  }

  /** Each has a mapping in this process. */
  private checkCount(subscriber: Subscriber): void {
    let count = 0;
    for (const each of this.byId.values()) if (each.subscriber === subscriber) count++;
    if (count < MOST_OF_PROCESS) return;
    throw new RequestError(
      'NOTIFIERS',
      `cannot watch the array: this thread of an attached process has ${count} notifiers, which is the most; close some`,
      {},
      'RangeError',
    );
  }

  /** The sequence number counts no more, and no reader may believe that nothing changed. */
  private end(subscription: Subscription): void {
    const { range, sequence, id } = subscription;
    sequence.end();
    subscription.module = null;
    subscription.open.length = 0;
    if (!this.byId.delete(id)) return;
    this.news.delete(subscription);
    this.around.watch(range, -1);
    const others = (this.byRange.get(range.id) ?? []).filter((each) => each !== subscription);
    // Not changed in place: it may be gone through at this moment.
    if (others.length === 0) this.byRange.delete(range.id);
    else this.byRange.set(range.id, others);
  }

  private call(
    subscription: Subscription,
    name: keyof NotifierFunctions,
    page: number,
    count: number,
    reason: InvalidationReason,
    owner: ProcessorId,
  ): void {
    const { module } = subscription;
    if (module === null || !module.has(name)) return;
    const { first, end } = partOf(subscription);
    const why = module.call(name, {
      array: subscription.range.name,
      ...elementsOf(
        subscription,
        subscription.range,
        Math.max(first, page),
        Math.min(end, page + count),
      ),
      reason,
      owner: this.around.nameOf(owner),
    });
    if (why !== null) this.detach(subscription, why);
  }

  private detach(subscription: Subscription, why: string): void {
    subscription.module = null;
    const { source, range, events } = subscription;
    events.detached = why;
    events.fresh = true;
    this.news.add(subscription);
    const from = source === null ? '' : ` (${source.exportName} of ${source.url})`;
    this.around.warn(
      `warning: the notifier of array ${range.name}${from} is not called any more: ${why}`,
    );
  }

  /** Keeps the change for the subscriber: joined to neighbours of its reason, or alone. */
  private note(
    subscription: Subscription,
    page: number,
    count: number,
    reason: InvalidationReason,
  ): void {
    if (subscription.queue === null) return;
    const part = partOf(subscription);
    let first = Math.max(part.first, page);
    let end = Math.min(part.end, page + count);
    const { events } = subscription;
    const { waiting } = events;
    for (let at = waiting.length - 1; at >= 0; at--) {
      const other = waiting[at];
      if (other.reason !== reason || other.end < first || other.first > end) continue;
      first = Math.min(first, other.first);
      end = Math.max(end, other.end);
      waiting.splice(at, 1);
    }
    if (waiting.length < events.limit) waiting.push({ reason, first, end });
    else events.lost++;
    events.fresh = true;
    this.news.add(subscription);
  }
}

/** Pages of the space that the subscription is about. */
function partOf({ firstPage, count, range }: Pick<Subscription, 'firstPage' | 'count' | 'range'>): {
  first: number;
  end: number;
} {
  return { first: firstPage, end: count === null ? range.first + range.pages : firstPage + count };
}

function overlaps(subscription: Subscription, page: number, count: number): boolean {
  const { first, end } = partOf(subscription);
  return page < end && page + count > first;
}

function elementsOf(
  { elementBytes, length }: NotifierWishes,
  range: Range,
  first: number,
  end: number,
): { begin: number; end: number; firstPage: number; pages: number } {
  const firstPage = first - range.first;
  const last = Math.ceil(((end - range.first) * PAGE_BYTES) / elementBytes);
  // The last page of an array may hold less than it could. One that has grown since holds more than
  // was known.
  const isAsItWas = range.pages === pagesOf(length * elementBytes);
  return {
    begin: Math.floor((firstPage * PAGE_BYTES) / elementBytes),
    end: isAsItWas ? Math.min(last, length) : last,
    firstPage,
    pages: end - first,
  };
}
