/** Policies as programs choose them, by name or module, and as recordings state them. */

import type {
  EvictionPolicy,
  PlacementPolicy,
  PrefetchPolicy,
  ReadAheadPolicy,
} from '../core/basics/types.js';
import type { Policies } from '../core/table/processors.js';
import { kernelError } from '../messages/kernel-error.js';
import { missingModule } from '../messages/missing-module.js';
import { refuseUnknown } from '../messages/option-names.js';
import { EVICTION_POLICIES, type EvictionName } from './eviction/named.js';
import {
  evictionWithFallback,
  PolicyError,
  placementWithFallback,
  prefetchWithFallback,
  readAheadWithFallback,
  type Warn,
} from './fallback.js';
import { type NextOptions, next, noReadAhead } from './pattern/next.js';
import { none, type PatternOptions, pattern } from './pattern/pattern.js';
import { advised, migrate } from './placement/advised.js';
import { uvmPlacement, uvmPrefetch } from './uvm.js';

/**
 * A function that makes a policy: `export` of a module ('default' by default), called with
 * `options`.
 */
export interface PolicyModule {
  readonly module: URL | string;
  readonly export?: string;
  /** For the function, by structured clone; JSON if runs are recorded. */
  readonly options?: unknown;
}

/** Policies by name or module. Each node, or processor, gets one of its own. */
export interface PolicyChoices {
  /**
   * Which block leaves a full node: 'plan' (the default), 'tournament', 'lru', 'fifo', 'clock', 'sieve',
   * 's3-fifo', 's4-fifo', 'arc', 'lirs', 'w-tinylfu' or 'uvm'.
   */
  readonly eviction?: EvictionName | PolicyModule;
  /**
   * What a fault brings along, and ahead: as much as the pattern of touches says ('pattern'), as
   * NVIDIA's driver does it ('uvm'), or nothing.
   */
  readonly prefetch?:
    | 'pattern'
    | 'uvm'
    | 'none'
    | ({ readonly name: 'pattern' } & PatternOptions)
    | PolicyModule;
  /** How much 'pattern' has come ahead of a walk: the next block ('next'), or nothing. */
  readonly readAhead?: 'next' | 'none' | ({ readonly name: 'next' } & NextOptions) | PolicyModule;
  /**
   * What a device uses in host memory: as advised ('advised'), nothing ('migrate'), or also what
   * thrashes ('uvm').
   */
  readonly placement?: 'advised' | 'migrate' | 'uvm' | PolicyModule;
}

/** All policies as another system has them: 'uvm' is NVIDIA's UVM driver. */
export type PolicySet = 'uvm';

export type PolicyKind = keyof PolicyChoices;

type Maker<T> = (options: never) => T;

const NAMED = {
  eviction: EVICTION_POLICIES,
  prefetch: { pattern, uvm: uvmPrefetch, none: () => none },
  readAhead: { next, none: () => noReadAhead },
  placement: { advised: () => advised, migrate: () => migrate, uvm: () => uvmPlacement },
} satisfies Record<PolicyKind, Record<string, Maker<unknown>>>;

const KINDS = Object.keys(NAMED) as PolicyKind[];

const SETS: Readonly<Record<PolicySet, PolicyChoices>> = {
  uvm: { eviction: 'uvm', prefetch: 'uvm', readAhead: 'none', placement: 'uvm' },
};

/** The choices that a set of them stands for; undefined: there is no such set. */
export function choicesOf(set: string): PolicyChoices | undefined {
  return Object.hasOwn(SETS, set) ? SETS[set as PolicySet] : undefined;
}

/** Refuses what is no choice, by name and with what there is. Says nothing of what a module has. */
export function checkChoices(choices: PolicyChoices): void {
  refuseUnknown('OPTIONS', 'there is no policy', Object.keys(choices), KINDS);
  for (const kind of KINDS) {
    const choice = choices[kind];
    if (choice === undefined || isModule(choice)) continue;
    const name = nameOf(choice);
    if (typeof name === 'string' && Object.hasOwn(NAMED[kind], name)) {
      // It refuses options that it does not have.
      named(kind, choice)();
      continue;
    }
    const names = Object.keys(NAMED[kind]).map((each) => `'${each}'`);
    const message = `policies.${kind} is ${JSON.stringify(choice)}; there are ${names.join(', ')}, and { module, export, options }`;
    throw Object.assign(new TypeError(message), { code: 'OPTIONS' });
  }
}

/** All four, by what is chosen or usual. */
function completed({
  eviction = 'plan',
  prefetch = 'pattern',
  readAhead = 'next',
  placement = 'advised',
}: PolicyChoices): Required<PolicyChoices> {
  return { eviction, prefetch, readAhead, placement };
}

/** Read-ahead is a part of `pattern`: another policy of what comes along says itself what comes ahead. */
function prefetchMaker(
  prefetch: unknown,
  readAhead: () => ReadAheadPolicy,
): (() => PrefetchPolicy) | null {
  if (isModule(prefetch) || nameOf(prefetch) !== 'pattern') return null;
  const { name: _, ...options } =
    typeof prefetch === 'string' ? { name: prefetch } : (prefetch as { name: string });
  return () => pattern(options, readAhead());
}

/**
 * Makes the policies, and loads those of modules. Throws an error that names the policy, the module
 * and what is wrong.
 * @param warn hears of a policy of a module that throws, or answers what cannot be; the one of
 *   onemem's own takes its place
 */
export async function loadPolicies(choices: PolicyChoices, warn: Warn): Promise<Policies> {
  checkChoices(choices);
  const { eviction, prefetch, readAhead, placement } = completed(choices);
  const ahead = await maker<ReadAheadPolicy>('readAhead', readAhead, (made) =>
    readAheadWithFallback(made, warn),
  );
  return {
    eviction: await maker<EvictionPolicy>('eviction', eviction, (made) =>
      evictionWithFallback(made, warn),
    ),
    prefetch:
      prefetchMaker(prefetch, ahead) ??
      (await maker<PrefetchPolicy>('prefetch', prefetch, (made) =>
        prefetchWithFallback(made, warn),
      )),
    placement: await maker<PlacementPolicy>('placement', placement, (made) =>
      placementWithFallback(made, warn),
    ),
    looksAtTurns: looksAtTurns(placement),
  };
}

/** Those of onemem's own, which need no loading. */
export function namedPolicies(choices: PolicyChoices = {}): Policies {
  const { eviction, prefetch, readAhead, placement } = completed(choices);
  return {
    eviction: named<EvictionPolicy>('eviction', eviction),
    prefetch:
      prefetchMaker(prefetch, named<ReadAheadPolicy>('readAhead', readAhead)) ??
      named<PrefetchPolicy>('prefetch', prefetch),
    placement: named<PlacementPolicy>('placement', placement),
    looksAtTurns: looksAtTurns(placement),
  };
}

async function maker<T>(
  kind: PolicyKind,
  choice: unknown,
  withFallback: (made: unknown) => T,
): Promise<() => T> {
  if (!isModule(choice)) return named<T>(kind, choice);
  const { module: url, export: name = 'default', options } = choice;
  const where = `policies.${kind}: export '${name}' of ${url}`;
  let make: unknown;
  try {
    make = ((await import(String(url))) as Record<string, unknown>)[name];
  } catch (cause) {
    const reason = missingModule(String(url), cause) ?? (cause as Error).message;
    throw new PolicyError(`${where} cannot be loaded: ${reason}`, { cause });
  }
  if (typeof make !== 'function')
    throw new PolicyError(`${where} is no function that makes a policy`);
  const one = (): T => {
    let made: unknown;
    try {
      made = (make as (options: unknown) => unknown)(options);
    } catch (cause) {
      const given =
        options === undefined ? '; it was called without options, since the choice has none' : '';
      throw new PolicyError(`${where} threw ${kernelError(cause).message}${given}`, { cause });
    }
    return withFallback(made);
  };
  // What is wrong with it shows before the space opens.
  one();
  return one;
}

function named<T>(kind: PolicyKind, choice: unknown): () => T {
  const { name, ...options } =
    typeof choice === 'string' ? { name: choice } : (choice as { name: string });
  const make = (NAMED[kind] as Record<string, Maker<unknown>>)[name];
  return () => make(options as never) as T;
}

/** The eviction policy of some choices, in words. */
export function evictionName(choices: PolicyChoices): string {
  const { eviction } = completed(choices);
  return isModule(eviction) ? String(eviction.module) : eviction;
}

function looksAtTurns(placement: PolicyChoices['placement']): boolean {
  return placement !== 'advised' && placement !== 'migrate';
}

function nameOf(choice: unknown): unknown {
  return typeof choice === 'object' && choice !== null
    ? (choice as { name?: unknown }).name
    : choice;
}

export function isModule(choice: unknown): choice is PolicyModule {
  return typeof choice === 'object' && choice !== null && 'module' in choice;
}
