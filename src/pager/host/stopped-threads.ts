/** Threads of the program that drive a device, and which page each of them is stopped at. */

import { HOST } from '../../core/basics/types.js';
import type { PageQueries } from '../../core/queries/page-queries.js';

export interface Stop {
  readonly page: number;
  readonly write: boolean;
  readonly since: number;
}

export class StoppedThreads {
  private readonly threads = new Map<number, Stop | null>();

  constructor(
    private readonly known: PageQueries,
    private readonly now: () => number,
  ) {}

  watch(thread: number): void {
    if (!this.threads.has(thread)) this.threads.set(thread, null);
  }

  fault(page: number, write: boolean, thread: number): void {
    if (this.threads.size > 0 && this.threads.has(thread))
      this.threads.set(thread, { page, write, since: this.now() });
  }

  /** Where the thread is stopped; null: it runs, as far as is known. */
  stopOf(thread: number): Stop | null {
    const stop = this.threads.get(thread) ?? null;
    if (stop === null || this.known.isAwaited(HOST, stop.page)) return stop;
    this.threads.set(thread, null);
    return null;
  }
}
