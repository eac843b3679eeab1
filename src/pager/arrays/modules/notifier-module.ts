/**
 * A subscriber's module in the manager's thread: its functions are loaded, and called as long as
 * they are quick. The manager serves nothing else meanwhile, so that a module which throws, returns
 * a promise or takes too long is not called again.
 */
import { types } from 'node:util';
import { threadRunningNs, threadWaits } from '../../../linux/threads/thread-usage.js';
import type {
  CreateNotifier,
  Invalidation,
  NotifierFacts,
  NotifierFunctions,
  NotifierSource,
} from '../../protocol/notifiers.js';
import { fromModule, type Load, textOf, Unfit } from './program-module.js';

/** How long a function of a module may take. */
const LIMIT_MS = 1;
/**
 * Longer than this it never takes by an accident of the engine, such as a collection of garbage
 * that falls into the call: computing, and waiting.
 */
const RUNNING_LIMIT_MS = 10;
const WAITING_LIMIT_MS = 250;
/** Calls that may take too long; one is forgotten after so many good ones. */
const ACCIDENTS = 2;
const GOOD_CALLS = 32;

export class NotifierModule {
  /** Calls that took too long, less what good ones have made up for. */
  private accidents = 0;

  private constructor(
    private readonly functions: NotifierFunctions,
    private readonly now: () => number,
  ) {}

  static load(
    source: NotifierSource,
    facts: NotifierFacts,
    load: Load,
    now: () => number,
  ): Promise<NotifierModule> {
    return fromModule(source, load, async (create: CreateNotifier) => {
      const functions = await create(source.data, facts);
      checkFunctions(functions);
      return new NotifierModule(functions, now);
    });
  }

  has(name: keyof NotifierFunctions): boolean {
    return this.functions[name] !== undefined;
  }

  /** Returns why the module must not be called again; null: it may. */
  call(name: keyof NotifierFunctions, invalidation: Invalidation): string | null {
    const running = threadRunningNs();
    const waits = threadWaits();
    const started = this.now();
    let result: unknown;
    try {
      result = this.functions[name]?.(invalidation);
    } catch (error) {
      return `${name} threw ${textOf(error)}`;
    }
    const ms = this.now() - started;
    if (types.isPromise(result)) {
      // The promise is not waited for, and must not end the manager when it rejects.
      Promise.prototype.then.call(result, undefined, () => undefined);
      return `${name} returned a promise, and must be through when it returns`;
    }
    if (ms <= LIMIT_MS) {
      if (this.accidents > 0) this.accidents -= 1 / GOOD_CALLS;
    } else if (this.isTooLong(ms, (threadRunningNs() - running) / 1e6, threadWaits() > waits)) {
      return `${name} took ${ms.toFixed(1)} ms, and may take ${LIMIT_MS} ms`;
    }
    return null;
  }

  /** Whether the function itself took long: neither other threads did, nor an accident. */
  private isTooLong(ms: number, ranMs: number, waited: boolean): boolean {
    if (ranMs > RUNNING_LIMIT_MS || (waited && ms > WAITING_LIMIT_MS)) return true;
    if (ranMs > LIMIT_MS || waited) this.accidents++;
    return this.accidents > ACCIDENTS;
  }
}

function checkFunctions(functions: unknown): void {
  const { invalidate, invalidated } = (functions ?? {}) as Partial<NotifierFunctions>;
  if (
    typeof invalidate !== 'function' ||
    (invalidated !== undefined && typeof invalidated !== 'function')
  ) {
    throw new Unfit(
      'must return an object with a function invalidate, and perhaps one named invalidated',
    );
  }
}
