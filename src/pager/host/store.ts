/** A store behind the host: what of it the core hears, and what is said of it when it fails. */
import { type MemorySpeed, type NodeId, PAGE_BYTES } from '../../core/basics/types.js';
import { READ_MS, RetriedReads } from '../../drivers/storage/retried-reads.js';
import type { StorageEvents, StoreDriver } from '../../drivers/storage/storage.js';
import type { ManagerContext } from '../core/context.js';
import { ROOM_MS } from '../protocol/requests.js';
import type { StorageStats } from '../protocol/space.js';
import type { StoreFile } from '../sources/io-engines.js';

/** After an error the next try is so much later: waiting requests hear of the error first. */
const PAUSE_MS = 50;
/** The store is not asked more often whether there is room again. */
const LOOK_MS = 5;

/** Of another try: no reason, only a try can tell, or the obstacle is gone. */
export type Chance = 'none' | 'unknown' | 'good';

/** Where a store keeps its pages, with its words. */
export interface StorePlace {
  readonly name: string;
  readonly bytes: number;
  /** Null: there is none, as its memory is addressed. */
  readonly file: StoreFile | null;
  /** Of memory: how fast it is, where that was described. */
  readonly speed?: MemorySpeed;
  /** Makes what moves its pages. @param retried has reads that failed tried again; null: none */
  drive(events: StorageEvents, retried: RetriedReads | null): StoreDriver;
  /** Whether reads that failed are to be tried again. */
  readonly retriesReads: boolean;
  /** What becomes of a page that comes back other than it was written. */
  readonly spoiled: 'CORRUPTED' | 'ALTERED';
  /** How likely it is that what failed with an error number would not fail again. */
  chance(errno: number): Chance;
  textOf(errno: number): string;
  /** Why pages cannot go there, with the remedy, as the rest of a sentence. */
  full(heldBytes: number, errno: number): string;
  /** Why pages cannot come back, as a sentence of its own. */
  unread(why: string): string;
  /** What could not be given back there, as a sentence of its own; null: it goes by itself. */
  kept(why: string): string | null;
  /** For programs. */
  readonly details: Record<string, unknown>;
}

type StoreContext = Pick<ManagerContext, 'manager' | 'router' | 'now' | 'warn'>;

export class Store {
  readonly node: NodeId;
  private readonly driver: StoreDriver;
  /** The last error, and when it was; 0: none that still stands. */
  private errno = 0;
  private failedAt = 0;
  private lookedAt = 0;
  /** A write failed, and since then none has succeeded, and nothing says that one would. */
  private isFull = false;
  /** What had been written when it failed. */
  private writtenBefore = 0;
  private told = false;
  private toldOfRead = false;
  private toldOfKept = false;
  private readErrno = 0;
  private readonly retried: RetriedReads | null;

  /** @param before the node whose pages go there when it has no room */
  constructor(
    readonly place: StorePlace,
    private readonly context: StoreContext,
    before: NodeId,
  ) {
    const { manager, router, now } = context;
    const budgetPages = Math.floor(place.bytes / PAGE_BYTES);
    this.retried = place.retriesReads ? new RetriedReads(now) : null;
    const events: StorageEvents = {
      transferred: (token, status) => router.completed(token, status),
      released: (token) => manager.released(token),
      spoiled: (token, page, reason) => {
        const { source, first } = router.orderOf(token);
        manager.spoiled(source, first + page, 1, reason === 'GONE' ? reason : place.spoiled);
      },
      failed: (errno, write) => this.failed(errno, write),
      kept: (errno) => this.kept(errno),
    };
    this.driver = place.drive(events, this.retried);
    this.node = manager.addNode({
      name: place.name,
      budgetPages,
      frames: 'pooled',
      addressable: this.driver.memory !== 0,
      memorySurvives: true,
      ...(place.speed === undefined ? {} : { speed: place.speed }),
    });
    router.attachNode(this.node, this.driver);
    manager.setHome(before, this.node);
  }

  /**
   * Begins what has come for it. A store that was full, or failed, may be written again if there is
   * a reason to try: called before anything wants room.
   */
  look(): void {
    if (this.driver.isFresh) this.driver.go();
    this.retried?.look();
    if (this.errno === 0 || !this.driver.isStill) return;
    const now = this.context.now();
    if (now - this.lookedAt < LOOK_MS) return;
    this.lookedAt = now;
    if (now - this.failedAt < PAUSE_MS) return;
    const chance = this.place.chance(this.errno);
    if (chance === 'none') return;
    this.errno = 0;
    if (chance === 'good') this.isFull = false;
    this.driver.retry();
    this.context.manager.nodeFull(this.node, null);
  }

  /** Its last write failed, and has not been tried again. */
  get fails(): boolean {
    return this.errno !== 0;
  }

  /** Why pages cannot go there, as the rest of a sentence. */
  get problem(): string {
    return this.place.full(this.heldBytes, this.errno);
  }

  /** Why they cannot come back. */
  get readProblem(): string {
    return this.place.unread(this.place.textOf(this.readErrno));
  }

  /** Why they cannot just now, as a sentence; null: none was given up. */
  get lasting(): string | null {
    return this.retried?.gaveUp === true ? this.readProblem : null;
  }

  close(): void {
    this.driver.close();
    this.place.file?.close();
  }

  sleepMs(most: number): number {
    return this.retried?.sleepMs(most) ?? most;
  }

  get details(): Record<string, unknown> {
    return { ...this.place.details, bytes: this.heldBytes, budgetBytes: this.place.bytes };
  }

  get figures(): Omit<StorageStats, 'path'> {
    const { driver, place } = this;
    return {
      budgetBytes: place.bytes,
      heldBytes: this.heldBytes,
      bytesWritten: driver.pagesWritten * PAGE_BYTES,
      bytesRead: driver.pagesRead * PAGE_BYTES,
      full: this.fails || (this.isFull && driver.pagesWritten === this.writtenBefore),
    };
  }

  /** Whether something has come for it since the last look. */
  get isFresh(): boolean {
    return this.driver.isFresh;
  }

  /** Whether the host's memory, or that between two stores, is being read or written. */
  get isBusy(): boolean {
    return this.driver.isBusy;
  }

  private get heldBytes(): number {
    return this.driver.heldPages * PAGE_BYTES;
  }

  private kept(errno: number): void {
    const text = this.toldOfKept ? null : this.place.kept(this.place.textOf(errno));
    if (text === null) return;
    this.context.warn(`warning: ${text}`);
    this.toldOfKept = true;
  }

  private failed(errno: number, write: boolean): void {
    if (!write) {
      this.readErrno = errno;
      if (!this.toldOfRead)
        this.context.warn(
          `warning: ${this.readProblem}; it is tried again${this.retried === null ? '' : ` for ${READ_MS / 1000} s`}`,
        );
      this.toldOfRead = true;
      return;
    }
    this.errno = errno;
    this.failedAt = this.context.now();
    this.isFull = true;
    this.writtenBefore = this.driver.pagesWritten;
    // Once a space: the errors of those that are refused tell of a store that stays full.
    if (!this.told)
      this.context.warn(
        `warning: ${this.problem}; all writes stay in memory, and accesses that need room wait for it up to ${ROOM_MS / 1000} s`,
      );
    this.told = true;
    this.context.manager.nodeFull(this.node, this.driver.heldPages);
  }
}
