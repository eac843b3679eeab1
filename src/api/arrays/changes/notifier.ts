/** Subscriptions to invalidations, for programs that shadow an array's page tables. */
import { types } from 'node:util';
import { bytesOf } from '../../../core/basics/elements.js';
import { HOST, PAGE_BYTES } from '../../../core/basics/types.js';
import {
  type InvalidationReason,
  LONGEST_QUEUE,
  type Notice,
  SEQUENCE_ENDED,
} from '../../../pager/protocol/notifiers.js';
import { Sequence } from '../../../pager/protocol/sequence.js';
import { exportOf, moduleUrl } from '../../kernels/kernel.js';
import type { ArrayInternals } from '../../line/internals.js';
import { checkSendable, isObject, show } from '../../values/arguments.js';
import { DISPOSE } from '../../values/disposal.js';
import { argumentError, OnememError, typeError } from '../../values/errors.js';
import { inspectHolding, printAs } from '../parts/description.js';
import { sentSequence } from './sent-sequence.js';

/** How many changes wait for a subscriber that is busy, unless it says otherwise. */
const QUEUE = 64;
/** How long a reader waits in one go for a change to be through. */
const WAIT_MS = 1000;

/** Elements whose pages were lost to a processor, for one reason. */
export interface InvalidatedElements {
  readonly reason: InvalidationReason;
  readonly begin: number;
  readonly end: number;
}

/** Changes since the subscriber was last called. */
export interface InvalidationEvent {
  /** Neighbours with one reason are one entry, in the order of their last change. */
  readonly changes: readonly InvalidatedElements[];
  /** Changes without an entry, because the queue was full: anything may have changed. */
  readonly lost: number;
}

/** What a subscriber wants, as it comes in. */
interface Wishes {
  readonly begin?: number;
  readonly end?: number;
  readonly owner?: unknown;
  readonly module?: URL | string;
  readonly export?: string;
  readonly data?: unknown;
  readonly onInvalidate?: (event: InvalidationEvent) => unknown;
  readonly queue?: number;
  readonly onDetached?: (reason: string) => unknown;
}

/** For `postMessage`: another thread passes it to `attachNotifier`. */
export interface NotifierHandle {
  readonly onemem: 1;
  readonly array: string;
  readonly sequence: SharedArrayBuffer;
}

/**
 * A number that is odd while watched pages change. It tells whether a reader has seen one state of
 * them.
 * @example
 * const x = space.array(Float32Array, 2048);
 * const reader = await x.watch();
 * let begun;
 * let copy;
 * do {
 *   begun = reader.readBegin();
 *   copy = x.data.slice();
 * } while (reader.readRetry(begun));
 * console.log(copy.length); // 2048
 * reader.close();
 */
export class SequenceReader {
  /** @internal */
  constructor(
    /** @internal */
    protected readonly arrayName: string,
    /** @internal */
    protected readonly sequence: Sequence,
  ) {}

  /**
   * Waits until no watched page is about to change, and returns the number for `readRetry`. Throws
   * NOTIFIER_ENDED after the end of the notifier.
   * @example
   * const notifier = await space.array(Float32Array, 1024).watch();
   * console.log(notifier.readBegin() % 2); // 0
   * notifier.close();
   */
  readBegin(): number {
    for (;;) {
      const now = this.sequence.load();
      if (now === SEQUENCE_ENDED) {
        throw new OnememError(
          'NOTIFIER_ENDED',
          `cannot begin to read array ${this.arrayName}: the notifier has ended, with its array, its space or its thread, or ` +
            'because it was closed; no change would be reported',
        );
      }
      if (now % 2 === 0) return now;
      this.sequence.wait(now, WAIT_MS);
    }
  }

  /**
   * Whether pages have changed since `readBegin` gave this number. If so, throw away what was read.
   * @example
   * const notifier = await space.array(Float32Array, 1024).watch();
   * console.log(notifier.readRetry(notifier.readBegin())); // false
   * notifier.close();
   */
  readRetry(begun: number): boolean {
    const now = this.sequence.loadAfterReads();
    return now !== begun || now === SEQUENCE_ENDED;
  }
}

/**
 * A subscription to the loss of rights and content of pages; `array.watch` makes it.
 * @example
 * const x = space.array(Float32Array, 1024);
 * x.data.fill(1);
 * const reasons = [];
 * const onInvalidate = ({ changes }) => void reasons.push(...changes.map(({ reason }) => reason));
 * const notifier = await x.watch({ onInvalidate });
 * await x.discard();
 * while (reasons.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
 * console.log(reasons); // [ 'discard' ]
 * notifier.close();
 */
export class Notifier extends SequenceReader {
  private closed = false;
  private detachment: string | null = null;
  private lostChanges = 0;
  /** Elements of the array when it was subscribed to. */
  private readonly length: number;

  /** @internal */
  constructor(
    private readonly array: ArrayInternals,
    private readonly id: number,
    sequence: Sequence,
  ) {
    super(array.name, sequence);
    this.length = array.length;
  }

  /** For other threads, which pass it to `attachNotifier`. */
  get handle(): NotifierHandle {
    const { arrayName: array } = this;
    const { memory } = this.sequence;
    if (memory !== null) return { onemem: 1, array, sequence: memory };
    throw new OnememError(
      'OTHER_PROCESS',
      `the notifier of array ${array} has no handle in a process that attached; each thread attaches by itself and calls watch()`,
      { array },
    );
  }

  /** Whether the subscription has ended: closed, or gone with its array, space or thread. */
  get isClosed(): boolean {
    return this.closed || this.sequence.load() === SEQUENCE_ENDED;
  }

  /** Why the module is not called any more; null while it is, or without a module. */
  get detached(): string | null {
    return this.detachment;
  }

  /** Changes that `onInvalidate` was not told of, in all. */
  get lost(): number {
    return this.lostChanges;
  }

  /**
   * Ends the subscription. Readers in any thread see it as a change.
   * @example
   * const notifier = await space.array(Float32Array, 1024).watch();
   * notifier.close();
   * console.log(notifier.isClosed); // true
   */
  close(): void {
    const { client } = this.array.space;
    client.onNotice(this.id, null);
    if (!this.closed) client.callUnlessClosed('unwatch', { subscription: this.id });
    this.end();
  }

  static {
    printAs(Notifier, (notifier, inspect) =>
      inspectHolding(
        `Notifier of ${inspect(notifier.array.name)}`,
        notifier.sequence.memory === null
          ? 'of this thread'
          : 'handle for other threads: notifier.handle',
        notifier.isClosed ? null : 'notifier.close()',
      ),
    );
  }

  [DISPOSE](): void {
    this.close();
  }

  /** @internal Tells the program's functions, one notice at a time. */
  async take(notice: Notice, options: Wishes): Promise<void> {
    const { changes, lost, detached, ended } = notice;
    this.lostChanges += lost;
    if (ended) this.end();
    const isNews = detached !== null && this.detachment === null;
    this.detachment = detached;
    const { client } = this.array.space;
    try {
      if (isNews) await options.onDetached?.(detached);
      if (changes.length + lost > 0)
        await options.onInvalidate?.({ changes: this.elementsOf(changes), lost });
    } finally {
      if (ended) client.onNotice(this.id, null);
      else client.tell('heard', { subscription: this.id });
    }
  }

  private end(): void {
    this.closed = true;
    this.sequence.close();
  }

  private elementsOf(changes: Notice['changes']): InvalidatedElements[] {
    const size = bytesOf(this.array.type);
    // What has been cut off had elements, too.
    const length = Math.max(this.length, this.array.length);
    return changes.map(({ reason, firstPage, pages }) => {
      const begin = Math.floor((firstPage * PAGE_BYTES) / size);
      const last = Math.ceil(((firstPage + pages) * PAGE_BYTES) / size);
      return { reason, begin, end: begin < length ? Math.min(last, length) : last };
    });
  }
}

/**
 * Reads by the number of a notifier that another thread made, from its handle.
 * @example
 * import { attachNotifier, openSpace } from 'onemem';
 *
 * const space = await openSpace();
 * const notifier = await space.array(Float32Array, 1024).watch();
 * const reader = attachNotifier(notifier.handle); // in a worker, of workerData
 * console.log(reader.readRetry(reader.readBegin())); // false
 * await space.close();
 */
export function attachNotifier(handle: NotifierHandle): SequenceReader {
  if (isObject(handle)) {
    const { onemem, array, sequence } = handle as Partial<NotifierHandle>;
    const shared =
      types.isSharedArrayBuffer(sequence) && sequence.byteLength === Int32Array.BYTES_PER_ELEMENT;
    if (onemem === 1 && shared && typeof array === 'string')
      return new SequenceReader(array, Sequence.inMemory(sequence));
  }
  throw typeError(
    'NOTIFIER_HANDLE',
    'this is no handle of a notifier; pass what notifier.handle gives',
  );
}

/** @internal Elements are checked by the array. */
export async function watchArray(array: ArrayInternals, options: Wishes): Promise<Notifier> {
  const { client } = array.space;
  const whole = options.begin === undefined && options.end === undefined;
  const { begin = 0, end = array.length, queue = QUEUE } = options;
  if (!(Number.isInteger(queue) && queue >= 1 && queue <= LONGEST_QUEUE)) {
    throw argumentError(
      'NOTIFIER_QUEUE',
      `queue is ${show(queue)}; it must be a whole number from 1 to ${LONGEST_QUEUE}`,
    );
  }
  for (const name of ['onInvalidate', 'onDetached'] as const) {
    if (options[name] !== undefined && typeof options[name] !== 'function')
      throw typeError(
        'NOTIFIER_FUNCTION',
        `${name} is ${show(options[name])}; it must be a function`,
      );
  }
  const { firstPage, count } = array.pagesOf(begin, end);
  const id = client.newNotifier();
  let notifier: Notifier | null = null;
  client.onNotice(id, (notice) => void notifier?.take(notice, options));
  const wishes = {
    id,
    range: array.rangeId,
    name: array.name,
    firstPage,
    count: whole ? null : count,
    elementBytes: bytesOf(array.type),
    length: array.length,
    source: sourceOf(array, options),
    owner: ownerOf(array, options.owner),
    queue: options.onInvalidate === undefined ? null : queue,
  };
  try {
    if (client.hasOwner) {
      const sequence = await sentSequence(
        () => client.isClosed,
        (memory) => client.request('watch', { ...wishes, memory }),
      );
      notifier = new Notifier(array, id, sequence);
    } else {
      const { memory } = await client.request('watch', { ...wishes, memory: null });
      notifier = new Notifier(array, id, Sequence.inMemory(memory as SharedArrayBuffer));
    }
    return notifier;
  } catch (error) {
    client.onNotice(id, null);
    throw error;
  }
}

function sourceOf(
  array: ArrayInternals,
  options: Wishes,
): { url: string; exportName: string; data: unknown } | null {
  const { module, data } = options;
  if (module === undefined) {
    if (options.export === undefined && data === undefined) return null;
    throw typeError(
      'NOTIFIER_MODULE',
      `watch() of array ${array.name} has an export or data, and no module that they are for`,
    );
  }
  const url = moduleUrl('NOTIFIER_MODULE', module);
  const exportName = exportOf('NOTIFIER_MODULE', options.export);
  const what = `data for the notifier of array ${array.name} cannot be sent to the manager`;
  checkSendable('NOTIFIER_DATA', what, data);
  return { url, exportName, data };
}

function ownerOf(array: ArrayInternals, owner: Wishes['owner']): number | null {
  if (owner === undefined) return null;
  if (owner === 'host') return HOST;
  const device = array.space.devices.find((each) => each === owner);
  if (device !== undefined) return device.id;
  throw typeError(
    'NOTIFIER_OWNER',
    `owner is none of the devices of the space of array ${array.name}; pass one of space.devices, or 'host'`,
  );
}
