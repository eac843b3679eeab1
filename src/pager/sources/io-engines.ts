/** What reads and writes for one store: threads, and a ring where there is one. */
import type { SpillFile } from '../../drivers/storage/disk.js';
import type { IoEngine } from './io-ring.js';
import type { StorageRing } from './storage-ring.js';

/** Where a store keeps its pages, and the threads that carry them. */
export interface StoreFile extends SpillFile {
  readonly engines: IoEngines;
  /** Nothing of it is under way any more. */
  close(): void;
  /** The threads have ended, where that matters. */
  ended?(): Promise<void>;
}

export class IoEngines {
  private readonly all: readonly IoEngine[];

  constructor(
    private readonly readers: readonly IoEngine[],
    private readonly writers: readonly IoEngine[],
    private readonly ring: StorageRing | null = null,
  ) {
    this.all = [...readers, ...writers];
  }

  /** The thread that reads which has least to do. */
  get reader(): IoEngine {
    return idlest(this.readers);
  }

  get writer(): IoEngine {
    return idlest(this.writers);
  }

  /** The number of the last small read where one is under way; 0: none is. */
  get awaited(): number {
    return this.ring?.awaited ?? 0;
  }

  /** Whether a small read or write has ended that has not been answered. */
  get hasAnswers(): boolean {
    return this.ring?.hasAnswers === true;
  }

  /** Whether the manager looks for the ends of small ones by itself, and is not woken for them. */
  watched(on: boolean): void {
    this.ring?.watched(on);
  }

  poll(): void {
    this.ring?.poll();
    for (const engine of this.all) engine.poll();
  }

  needsTurn(): boolean {
    return this.all.some((engine) => engine.needsTurn());
  }

  sleepMs(most: number): number {
    return this.all.reduce((least, engine) => engine.sleepMs(least), most);
  }

  close(): void {
    this.ring?.close();
    for (const engine of this.all) engine.close();
  }
}

function idlest(engines: readonly IoEngine[]): IoEngine {
  return engines.reduce((best, each) => (each.load < best.load ? each : best));
}
