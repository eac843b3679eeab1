/**
 * Finds calls of providers that wait for Node.js's thread pool while all threads of the pool wait
 * in faults for pages of those providers: neither would ever go on. It is known when three things
 * hold. So many threads that are not the program's own wait for pages of providers as the pool has.
 * The pool does not answer. And each call of these providers has asked something of the pool.
 */
import { stat } from 'node:fs';
import { HOST } from '../../core/basics/types.js';
import type { PageQueries } from '../../core/queries/page-queries.js';

/** As libuv reads them. */
const USUAL_THREADS = 4;
const MOST_THREADS = 1024;
/** How long a call runs, and then the pool does not answer, until it counts. */
const SLOW_MS = 300;

/** What Node.js calls requests to the pool of which it tells. */
const OF_POOL = new Set([
  'FSReqPromise',
  'FSReqCallback',
  'GetAddrInfoReqWrap',
  'GetNameInfoReqWrap',
]);

/** How many requests to the pool a thread has under way, by `process.getActiveResourcesInfo()`. */
export function poolRequests(resources: readonly string[]): number {
  return resources.filter((name) => OF_POOL.has(name)).length;
}

function poolThreads(text = process.env.UV_THREADPOOL_SIZE): number {
  if (text === undefined) return USUAL_THREADS;
  return Math.min(MOST_THREADS, Math.max(1, Number.parseInt(text, 10) || 0));
}

/** Has the pool do next to nothing. */
function askPool(answered: () => void): void {
  stat('/', () => answered());
}

/** What is known of a provider. */
export interface PoolUser {
  /** Calls that have begun and not ended, and since when the youngest has run. */
  readonly calls: number;
  readonly youngestSince: number;
  /** Has its thread count its requests to the pool; the answer comes in `requests`. */
  ask(): void;
  /** Null: it has not answered. */
  readonly requests: number | null;
}

export class PoolWatch<U extends PoolUser> {
  /** Threads that faulted on pages of providers, by the page of the last fault. */
  private readonly faults = new Map<number, number>();
  /** When the pool was asked; 0: nothing is asked. */
  private askedAt = 0;
  private answers = 0;

  constructor(
    private readonly known: Pick<PageQueries, 'isAwaited'>,
    private readonly userOf: (page: number) => U | null,
    /** Whether a thread is one that runs the program's JavaScript. */
    private readonly isProgram: (thread: number) => boolean,
    private readonly now: () => number,
    private readonly ask: (answered: () => void) => void = askPool,
    readonly threads: number = poolThreads(),
  ) {}

  fault(page: number, thread: number): void {
    if (this.userOf(page) !== null) this.faults.set(thread, page);
  }

  /** Providers that wait for the pool, which waits for them. For calls that run. */
  stuck(): U[] {
    const users = this.usersWaitedFor();
    if (users === null) {
      this.askedAt = 0;
      this.answers++;
      return [];
    }
    const now = this.now();
    if (this.askedAt === 0) {
      if (users.some(({ youngestSince }) => now - youngestSince < SLOW_MS)) return [];
      this.askedAt = now;
      const asked = ++this.answers;
      this.ask(() => {
        if (asked === this.answers) this.askedAt = 0;
      });
      for (const user of users) user.ask();
      return [];
    }
    if (now - this.askedAt < SLOW_MS) return [];
    return users.every(({ calls, requests }) => calls > 0 && requests !== null && requests >= calls)
      ? users
      : [];
  }

  /** Providers that threads of the pool wait for; null: the pool has others. */
  private usersWaitedFor(): U[] | null {
    if (this.faults.size < this.threads) return null;
    const users = new Set<U>();
    for (const [thread, page] of this.faults) {
      const user = this.userOf(page);
      if (user !== null && this.known.isAwaited(HOST, page) && !this.isProgram(thread))
        users.add(user);
      else this.faults.delete(thread);
    }
    return this.faults.size < this.threads ? null : [...users];
  }
}
