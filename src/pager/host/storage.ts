/** Storage behind the host: what of it the core hears, and what is said of it when it fails. */
import { statfsSync } from 'node:fs';
import { getSystemErrorMap } from 'node:util';
import { HOST_NODE, type NodeId, PAGE_BYTES } from '../../core/types.js';
import { StorageDriver } from '../../drivers/storage/storage.js';
import { ENOSPC } from '../../linux/constants.js';
import type { Core } from '../core/core.js';
import type { StorageOptions, StorageStats } from '../protocol/space.js';
import { Spill } from '../sources/spill.js';

/** A file system with so much space again is tried again. */
const ROOM_BYTES = 2 ** 22;
/** After an error it is tried again so much later, so that those who wait for room hear of the error before. */
const PAUSE_MS = 50;
/** The file system is not asked more often how much space it has. */
const LOOK_MS = 5;

export class Storage {
  readonly node: NodeId;
  private readonly driver: StorageDriver;
  private readonly file: Spill;
  /** The last error, and when it was; 0: none that still stands. */
  private errno = 0;
  private failedAt = 0;
  private lookedAt = 0;
  private told = false;
  private toldOfRead = false;

  constructor(
    private readonly options: StorageOptions,
    private readonly core: Core,
    wakeFd: number,
    control: SharedArrayBuffer,
    private readonly now: () => number,
    private readonly warn: (message: string) => void,
  ) {
    const { manager, router } = core;
    const budgetPages = Math.floor(options.bytes / PAGE_BYTES);
    this.file = new Spill(options.path, budgetPages * PAGE_BYTES, wakeFd, control, now);
    this.driver = new StorageDriver(this.file, {
      transferred: (token, status) => router.completed(token, status),
      released: (token) => manager.released(token),
      spoiled: (token, page) => {
        const { source, first } = router.orderOf(token);
        manager.spoiled(source, first + page, 1);
      },
      failed: (errno, write) => this.failed(errno, write),
    });
    const description = { name: 'storage', budgetPages, frames: 'pooled', addressable: false } as const;
    this.node = manager.addNode({ ...description, memorySurvives: true });
    router.attachNode(this.node, this.driver);
    manager.setHome(HOST_NODE, this.node);
  }

  /** Answers what the disk has done. */
  poll(): void {
    this.file.poll();
  }

  needsTurn(): boolean {
    return this.file.needsTurn();
  }

  sleepMs(most: number): number {
    return this.file.sleepMs(most);
  }

  /** Storage that was full, or failed, may be written again if there is a reason to try: called before anything wants room. */
  look(): void {
    if (this.errno === 0 || !this.driver.isStill) return;
    const now = this.now();
    if (now - this.lookedAt < LOOK_MS) return;
    this.lookedAt = now;
    if (now - this.failedAt < PAUSE_MS || (this.errno === ENOSPC && !this.hasRoom())) return;
    this.errno = 0;
    this.driver.retry();
    this.core.manager.nodeFull(this.node, null);
  }

  /** Why pages cannot go there, as the rest of a sentence. */
  get problem(): string {
    const { path } = this.options;
    return `its spill file in ${path} has ${this.driver.heldPages * PAGE_BYTES} bytes, and more cannot be written (${this.errorText}); make room there, free arrays, or open the space with storage: { path } on another disk`;
  }

  get details(): Record<string, unknown> {
    return { path: this.options.path, bytes: this.driver.heldPages * PAGE_BYTES, budgetBytes: this.options.bytes };
  }

  get stats(): StorageStats {
    const { driver, options } = this;
    return {
      path: options.path,
      budgetBytes: options.bytes,
      heldBytes: driver.heldPages * PAGE_BYTES,
      bytesWritten: driver.pagesWritten * PAGE_BYTES,
      bytesRead: driver.pagesRead * PAGE_BYTES,
      full: this.errno !== 0,
    };
  }

  /** Whether the disk reads or writes the host's memory. */
  get isBusy(): boolean {
    return this.driver.isBusy;
  }

  close(): void {
    this.file.close();
  }

  private failed(errno: number, write: boolean): void {
    if (!write) {
      const text = textOf(errno);
      if (!this.toldOfRead)
        this.warn(`warning: storage in ${this.options.path} could not be read (${text}); it is tried again`);
      this.toldOfRead = true;
      return;
    }
    this.errno = errno;
    this.failedAt = this.now();
    // Once a space: the errors of those that are refused tell of a disk that stays full.
    if (!this.told) this.warn(`warning: ${this.problem}; what was written stays in memory`);
    this.told = true;
    this.core.manager.nodeFull(this.node, this.driver.heldPages);
  }

  private get errorText(): string {
    return textOf(this.errno);
  }

  private hasRoom(): boolean {
    try {
      const { bavail, bsize } = statfsSync(this.options.path);
      return bavail * bsize >= ROOM_BYTES;
    } catch {
      return false;
    }
  }
}

function textOf(errno: number): string {
  const [name, text] = getSystemErrorMap().get(-errno) ?? ['EIO', 'the file is shorter than it was'];
  return `${name}: ${text}`;
}
