/**
 * Stands before policies of the user's own modules, which run in the thread that serves page
 * faults. One that throws, or answers what cannot be, is replaced by onemem's own from then on,
 * after a word: a policy may make a program slow, and never wrong.
 */

import { and, clear, copy, createMask } from '../core/basics/mask.js';
import type {
  EvictionPolicy,
  PlacementPolicy,
  PrefetchPolicy,
  ReadAheadPolicy,
  Touch,
  Wish,
} from '../core/basics/types.js';
import { kernelError } from '../messages/kernel-error.js';
import { tournament } from './eviction/tournament.js';
import { next } from './pattern/next.js';
import { pattern } from './pattern/pattern.js';
import { advised } from './placement/advised.js';

export type Warn = (text: string) => void;

/** A policy of a module cannot be had, or is none. */
export class PolicyError extends TypeError {
  override readonly name = 'TypeError';
  readonly code = 'POLICY';
}

function needFunction(made: unknown, kind: string): (...args: never[]) => unknown {
  if (typeof made === 'function') return made as (...args: never[]) => unknown;
  throw new PolicyError(`policies.${kind}: what the module made is no function`);
}

/** Calls the user's policy until it fails once, and onemem's own from then on. */
function withFallback<Args extends readonly unknown[], T>(
  kind: string,
  theirs: (...args: Args) => unknown,
  own: (...args: Args) => T,
  problemOf: (answer: unknown, ...args: Args) => string | null,
  warn: Warn,
): (...args: Args) => T {
  let failed = false;
  return (...args) => {
    if (failed) return own(...args);
    let problem: string | null;
    try {
      const answer = theirs(...args);
      problem = problemOf(answer, ...args);
      if (problem === null) return answer as T;
    } catch (error) {
      problem = `threw ${kernelError(error).message}`;
    }
    failed = true;
    warn(`onemem: warning: the ${kind} policy ${problem}; onemem's own takes its place\n`);
    return own(...args);
  };
}

/** What it brings besides the touched page is allowed. It gets copies of the core's masks. */
export function prefetchWithFallback(made: unknown, warn: Warn): PrefetchPolicy {
  const theirs = needFunction(made, 'prefetch') as PrefetchPolicy;
  const own = pattern();
  // What a policy that failed had answered by then counts for nothing.
  const afresh = (touch: Touch): void => {
    clear(touch.result);
    touch.ahead = 0;
    own(touch);
  };
  const policy = withFallback('prefetch', theirs, afresh, problemOf, warn);
  const masks = { mapped: createMask(), occupied: createMask(), allowed: createMask() };
  return (touch) => {
    const theirTouch = Object.assign(Object.create(touch) as Touch, masks);
    for (const name of ['mapped', 'occupied', 'allowed'] as const) copy(masks[name], touch[name]);
    policy(theirTouch);
    const { page, result } = touch;
    and(result, touch.allowed);
    result[page >>> 5] |= 1 << (page & 31);
    touch.memory = theirTouch.memory;
    touch.reason = theirTouch.reason;
    touch.ahead = theirTouch.ahead;
    touch.certain = theirTouch.certain;
  };
}

/** An answer of a number, say, with the mask unchanged, was written for something else. */
function problemOf(answer: unknown, { result, ahead }: Touch): string | null {
  if (answer !== undefined && answer !== result && result.every((word) => word === 0))
    return `answered ${String(answer)}, and put no page to bring into result`;
  if (!Number.isSafeInteger(ahead) || ahead < 0)
    return `put ${String(ahead)} into ahead, which is no number of blocks`;
  return null;
}

export function readAheadWithFallback(made: unknown, warn: Warn): ReadAheadPolicy {
  const isCount = (answer: unknown): string | null =>
    Number.isSafeInteger(answer) && (answer as number) >= 0
      ? null
      : `answered ${String(answer)}, which is no number of blocks`;
  return withFallback(
    'readAhead',
    needFunction(made, 'readAhead') as ReadAheadPolicy,
    next(),
    isCount,
    warn,
  );
}

export function placementWithFallback(made: unknown, warn: Warn): PlacementPolicy {
  const isPlace = (answer: unknown): string | null =>
    answer === 'own' || answer === 'remote'
      ? null
      : `answered ${String(answer)}, and there are 'own' and 'remote'`;
  return withFallback(
    'placement',
    needFunction(made, 'placement') as PlacementPolicy,
    advised,
    isPlace,
    warn,
  );
}

/** Throws where what a module made is no eviction policy. */
export function checkEviction(made: unknown): EvictionPolicy {
  const theirs = made as EvictionPolicy;
  for (const name of ['activate', 'used', 'evict', 'deactivate'] as const) {
    if (typeof theirs?.[name] !== 'function')
      throw new PolicyError(`policies.eviction: what the module made has no function ${name}`);
  }
  return theirs;
}

/** Onemem's own hears everything, too, so that it can take over. The core checks its choice. */
export function evictionWithFallback(made: unknown, warn: Warn): EvictionPolicy {
  const theirs = checkEviction(made);
  const own = tournament();
  let failed = false;
  const tell = (name: 'activate' | 'used' | 'deactivate', block: number, pages = 0): void => {
    own[name](block, pages);
    if (failed) return;
    try {
      theirs[name](block, pages);
    } catch (error) {
      fail(`threw in ${name}: ${kernelError(error).message}`);
    }
  };
  const attempt = (name: string, action: () => void): void => {
    if (failed) return;
    try {
      action();
    } catch (error) {
      fail(`threw in ${name}: ${kernelError(error).message}`);
    }
  };
  const fail = (problem: string): void => {
    failed = true;
    warn(`onemem: warning: the eviction policy ${problem}; onemem's own takes its place\n`);
  };
  const blocksOf = (name: 'keepFree' | 'mostAhead', nodeBlocks: number, usual: number): number => {
    if (failed || theirs[name] === undefined) return usual;
    try {
      const blocks = theirs[name](nodeBlocks);
      if (blocks === Number.POSITIVE_INFINITY && usual === blocks) return blocks;
      if (Number.isSafeInteger(blocks) && blocks >= 0) return blocks;
      fail(`answered ${String(blocks)} blocks in ${name}`);
    } catch (error) {
      fail(`threw in ${name}: ${kernelError(error).message}`);
    }
    return usual;
  };
  const wants = (wish: Wish): number => {
    if (failed) return -1;
    try {
      const block = theirs.wants?.(wish) ?? -1;
      if (Number.isSafeInteger(block) && block >= -1) return block;
      fail(`answered ${String(block)}, which is no block to bring`);
    } catch (error) {
      fail(`threw in wants: ${kernelError(error).message}`);
    }
    return -1;
  };
  return {
    activate: (block, pages) => tell('activate', block, pages),
    used: (block) => tell('used', block),
    deactivate: (block) => tell('deactivate', block),
    evict(evictable) {
      if (!failed) {
        try {
          const block = theirs.evict(evictable);
          // None is no answer where there is one: the node would be full for ever.
          if (block !== -1 && Number.isSafeInteger(block) && evictable(block)) return block;
          const other = own.evict(evictable);
          if (other === -1) return -1;
          fail(`answered ${String(block)}, where block ${other} may go`);
          return other;
        } catch (error) {
          fail(`threw in evict: ${kernelError(error).message}`);
        }
      }
      return own.evict(evictable);
    },
    keepFree(nodeBlocks) {
      const usual = own.keepFree?.(nodeBlocks) ?? 0;
      return Math.min(blocksOf('keepFree', nodeBlocks, usual), nodeBlocks / 2);
    },
    ...(theirs.mostAhead === undefined
      ? {}
      : { mostAhead: (nodeBlocks) => blocksOf('mostAhead', nodeBlocks, Number.POSITIVE_INFINITY) }),
    launchBegins: (kernel, spans) =>
      attempt('launchBegins', () => theirs.launchBegins?.(kernel, spans)),
    launchEnds: () => attempt('launchEnds', () => theirs.launchEnds?.()),
    launchWaits: (kernel, spans) =>
      attempt('launchWaits', () => theirs.launchWaits?.(kernel, spans)),
    ...(theirs.wants === undefined ? {} : { wants }),
  };
}
