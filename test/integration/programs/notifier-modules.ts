/** Modules that are told of invalidations in the manager's thread: good ones and bad ones. */
import type { Invalidation, NotifierFacts, NotifierFunctions } from '../../../src/index.js';

/** A log in shared memory: the first word counts the entries, each of `LOG_WORDS` words. */
export const LOG_WORDS = 6;
export const REASONS = [
  'unmap',
  'protect',
  'migrate',
  'discard',
  'resize',
  'release',
  'exclusive',
  'lost',
] as const;

/** Notes each call: which function, reason, elements, pages. */
export function log(words: Int32Array, facts: NotifierFacts): NotifierFunctions {
  const note = (
    kind: number,
    { reason, begin, end, firstPage, pages, owner, array }: Invalidation,
  ): void => {
    if (array !== facts.array) throw new Error(`told of ${array}`);
    const entry = Atomics.load(words, 0);
    const at = 1 + entry * LOG_WORDS;
    if (at + LOG_WORDS > words.length) throw new Error('the log is full');
    words.set(
      [kind + (owner === 'host' ? 0 : 2), REASONS.indexOf(reason), begin, end, firstPage, pages],
      at,
    );
    Atomics.store(words, 0, entry + 1);
  };
  return { invalidate: (change) => note(0, change), invalidated: (change) => note(1, change) };
}

/**
 * A shadow page table: a word a page, not 0 where something is known. What changes is forgotten.
 */
export function mirror(table: Int32Array): NotifierFunctions {
  return {
    invalidate: ({ firstPage, pages }) => {
      for (let page = firstPage; page < firstPage + pages; page++)
        if (Atomics.exchange(table, page, 0) !== 0) Atomics.add(table, table.length - 1, 1);
    },
  };
}

/** One that forgets nothing: for the proof that a test would see it. */
export function blind(): NotifierFunctions {
  return { invalidate: () => undefined };
}

function told(calls: Int32Array, action: () => unknown): NotifierFunctions {
  return {
    invalidate: () => {
      Atomics.add(calls, 0, 1);
      return action() as undefined;
    },
  };
}

export function throwing(calls: Int32Array): NotifierFunctions {
  return told(calls, () => {
    throw new RangeError('no such entry');
  });
}

export function throwingNonsense(calls: Int32Array): NotifierFunctions {
  return told(calls, () => {
    throw Object.create(null);
  });
}

export function slow(calls: Int32Array): NotifierFunctions {
  return told(calls, () => {
    for (const end = performance.now() + 200; performance.now() < end; );
  });
}

export function waiting(calls: Int32Array): NotifierFunctions {
  return told(calls, () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20));
}

export function later(calls: Int32Array): NotifierFunctions {
  return told(calls, async () => {
    throw new Error('too late to be heard');
  });
}

export function endless(calls: Int32Array): NotifierFunctions {
  return told(calls, () => {
    for (;;);
  });
}

export function exiting(calls: Int32Array): NotifierFunctions {
  return told(calls, () => process.exit(3));
}

export function nothing(): void {}

export function failing(): never {
  throw new Error('not today');
}

export const noFunction = 7;
