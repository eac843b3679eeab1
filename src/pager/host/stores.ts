/** What is behind the host, nearest first: each sends pages on when it has no room. */
import {
  type DenyReason,
  HOST_NODE,
  isLossOfServer,
  type NodeId,
  PAGE_BYTES,
} from '../../core/basics/types.js';
import type { ManagerContext } from '../core/context.js';
import type { ServerStats, SlowMemoryStats, StorageStats } from '../protocol/space.js';
import { TAGS } from '../sources/forgotten-tags.js';
import type { Resort } from '../sources/io-ring.js';
import { ServerPlace } from './server.js';
import { SlowMemoryPlace } from './slow-memory.js';
import { StoragePlace } from './storage.js';
import { Store } from './store.js';

const US_PER_SECOND = 1e6;

export class Stores {
  private readonly all: Store[] = [];
  private readonly slowMemory: Store | null = null;
  private readonly storage: Store | null = null;
  private readonly server: Store | null = null;

  constructor(
    private readonly context: ManagerContext,
    resort: Resort,
  ) {
    const { options, now } = context;
    const { slowMemory, storage, behind, wakeFd, control } = options;
    if (slowMemory !== null) this.slowMemory = this.add(new SlowMemoryPlace(slowMemory));
    if (storage !== null)
      this.storage = this.add(new StoragePlace(storage, wakeFd, control, now, resort));
    if (behind !== null) this.server = this.add(new ServerPlace(behind, wakeFd, control, now));
  }

  get any(): boolean {
    return this.all.length > 0;
  }

  /** Answers what disks and servers have done. */
  poll(): void {
    for (const { place } of this.all) place.file?.engines.poll();
    // After what had arrived before, and before anything that is sent from now on.
    const place = this.server?.place;
    if (place instanceof ServerPlace) place.file.forgotten.hear((tags) => this.forget(place, tags));
  }

  needsTurn(): boolean {
    return this.all.some(({ place }) => place.file?.engines.needsTurn() === true);
  }

  sleepMs(most: number): number {
    return this.all.reduce(
      (least, store) => store.sleepMs(store.place.file?.engines.sleepMs(least) ?? least),
      most,
    );
  }

  /** Whether the next step begins something. */
  get busy(): boolean {
    return this.all.some((store) => store.isFresh);
  }

  step(): number {
    for (const store of this.all) store.look();
    return 0;
  }

  /** Why pages cannot go there, as the rest of a sentence; of several the one that is to blame. */
  get problem(): string {
    return this.failing.problem;
  }

  /** Why pages that only another machine has cannot be had. */
  get readProblem(): string {
    return this.server?.readProblem ?? '';
  }

  /** Why pages of a disk cannot be had just now; null: as far as is known they can. */
  get unreadable(): string | null {
    return this.storage?.lasting ?? null;
  }

  /** The store that has lost pages, as messages name it. */
  get serverName(): string {
    return `the server ${this.server?.place instanceof ServerPlace ? this.server.place.url : ''}`;
  }

  /** What programs are told of a failure. */
  detailsOf(reason: DenyReason): Record<string, unknown> | undefined {
    if (reason === 'OUT_OF_STORAGE') return this.any ? this.failing.details : undefined;
    return reason === 'NODE_LOST' || isLossOfServer(reason) ? this.server?.details : undefined;
  }

  get slowMemoryStats(): SlowMemoryStats | null {
    const { slowMemory: options } = this.context.options;
    if (options === null || this.slowMemory === null) return null;
    const { path, node, speed } = options;
    const { pagesOut = 0 } = this.context.manager.node(this.slowMemory.node)?.counters ?? {};
    return {
      path,
      node,
      latencyUs: speed?.latencyUs ?? null,
      bandwidth: speed === null ? null : speed.bytesPerUs * US_PER_SECOND,
      ...this.slowMemory.figures,
      bytesRead: pagesOut * PAGE_BYTES,
    };
  }

  get storageStats(): StorageStats | null {
    const { storage } = this.context.options;
    return storage === null || this.storage === null
      ? null
      : { path: storage.path, ...this.storage.figures };
  }

  get serverStats(): ServerStats | null {
    const place = this.server?.place;
    return place instanceof ServerPlace && this.server !== null
      ? { kind: 'valkey', url: place.url, ...this.server.figures }
      : null;
  }

  /** The last page that a disk was asked for and that has yet to come; 0: none. */
  get awaited(): number {
    return this.storage?.place.file?.engines.awaited ?? 0;
  }

  /** Whether a disk has moved a page that has not been answered. */
  get hasAnswers(): boolean {
    return this.storage?.place.file?.engines.hasAnswers === true;
  }

  /** Whether the manager looks for what the disk has done by itself, and is not woken for it. */
  watched(on: boolean): void {
    this.storage?.place.file?.engines.watched(on);
  }

  /** Whether memory of the space is being read or written. */
  get isBusy(): boolean {
    return this.all.some((store) => store.isBusy);
  }

  close(): void {
    for (const store of this.all) store.close();
    this.context.staging.close();
  }

  /** What has to be done elsewhere has been done. */
  async ended(): Promise<void> {
    await Promise.all(this.all.map(({ place }) => place.file?.ended?.()));
  }

  private forget({ url }: ServerPlace, tags: readonly number[]): void {
    this.context.manager.forgot(this.server?.node as NodeId, tags, TAGS);
    this.context.warn(
      `warning: the server ${url} was restarted empty; pages that only it had are lost, by name`,
    );
  }

  private get failing(): Store {
    return this.all.findLast((store) => store.fails) ?? (this.all.at(-1) as Store);
  }

  private add(place: Store['place']): Store {
    const before = this.all.at(-1)?.node ?? HOST_NODE;
    const store = new Store(place, this.context, before);
    this.all.push(store);
    return store;
  }
}
