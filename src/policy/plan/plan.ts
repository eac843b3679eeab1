/**
 * Plans: where it is known which launches come, the block goes that is used last, as by Belady's
 * MIN. What each kind of launch uses, and when, is learned while it runs. Where nothing is known, or
 * where plans were wrong, another policy decides.
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { BlockSpan, EvictionPolicy } from '../../core/basics/types.js';
import { tournament } from '../eviction/tournament.js';
import { Coming } from './coming.js';
import { Foresight } from './foresight.js';
import { Profile } from './profile.js';

/** Kinds of launches that are remembered. */
const MOST_PROFILES = 256;
/** Blocks that are looked at for a victim, of all, in turn. */
const LOOKS = 128;
const NEVER = Number.POSITIVE_INFINITY;
const FIRST_BLOCKS = 64;
/** One block in so many of a full memory may be a guess: MIN would keep another one there. */
const AHEAD_SHARE = 16;

/**
 * Evicts what launches that wait, or that come again, use last; as `otherwise` does where neither
 * says what comes. The default.
 * @example
 * import { plan } from 'onemem/policy';
 *
 * const policy = plan();
 * const [x, y] = [1, 2].map((first) => ({ first, end: first + 1, emptied: false }));
 * for (const launch of [[x], [y], [x]]) policy.launchWaits('kernel', launch);
 * policy.launchBegins('kernel', [x]);
 * policy.activate(1, 512);
 * policy.launchEnds();
 * policy.launchBegins('kernel', [y]);
 * policy.activate(2, 512);
 * policy.activate(3, 512); // which no launch uses
 * console.log(policy.evict(() => true)); // 3
 */
export function plan(otherwise: EvictionPolicy = tournament()): EvictionPolicy {
  const profiles = new Map<string, Profile>();
  /** The last one that ended of each kernel, by the sizes of its arguments. */
  const bySizes = new Map<string, Profile>();
  const foresight = new Foresight();
  const here = new IntrusiveList();
  let current: Profile | null = null;
  /** Where the look for the next victim begins. */
  let hand = -1;
  /** The last victim, while nothing has come or gone. */
  let chosen = -1;
  let began = 0;
  /** By block that is to go or has gone: the launch that was to use it next; 0: none is known. */
  let promised = new Float64Array(FIRST_BLOCKS);
  /** Blocks that have left. */
  let gone = 0;
  const coming = new Coming(foresight, { isHere: (block) => here.has(block), nextUse });

  function profileOf(kernel: string, spans: readonly BlockSpan[]): Profile {
    let key = kernel;
    let sizes = kernel;
    for (const { first, end } of spans) {
      key += ` ${first} ${end}`;
      sizes += ` ${end - first}`;
    }
    let profile = profiles.get(key);
    if (profile === undefined) {
      if (profiles.size === MOST_PROFILES) {
        profiles.clear();
        bySizes.clear();
      }
      profiles.set(key, (profile = new Profile(sizes, spans)));
    }
    return profile;
  }

  /** The next use: how many launches from now, and when in that one; 0: now. */
  function nextUse(block: number): number {
    const now = current === null ? NEVER : current.nextUse(block);
    if (now < NEVER) return now;
    const { length } = foresight;
    for (let step = 1; step <= length; step++) {
      const use = foresight.at(step).firstUse(block);
      if (use < 0) return NEVER;
      if (use < NEVER) return step + use;
    }
    return NEVER;
  }

  function victim(may: (block: number) => boolean): number {
    let latest = 0;
    chosen = -1;
    let block = hand !== -1 && here.has(hand) ? hand : here.head;
    for (let looks = Math.min(here.size, LOOKS); looks > 0; looks--) {
      if (may(block)) {
        const use = nextUse(block);
        if (use > latest) {
          latest = use;
          chosen = block;
        }
      }
      block = here.after(block);
      if (block === -1) block = here.head;
    }
    hand = block;
    if (chosen !== -1) promised[chosen] = latest === NEVER ? 0 : began + Math.floor(latest);
    return chosen;
  }

  /** The next use after so many launches from now. */
  function useAfter(block: number, time: number): number {
    const { length } = foresight;
    const now = current === null || time >= 1 ? NEVER : current.nextUse(block);
    if (now > time && now < NEVER) return now;
    for (let step = Math.max(1, Math.floor(time)); step <= length; step++) {
      const use = foresight.at(step).firstUse(block);
      if (use < 0 && step > time) return NEVER;
      if (use >= 0 && use < NEVER && step + use > time) return step + use;
    }
    return NEVER;
  }

  /**
   * The block that goes for one that is used at that time, as MIN would have it go then: one that
   * is used before stays until it has been, and nothing goes now if it is that which MIN would let
   * go. -1: none goes now.
   */
  function victimFor(time: number, may: (block: number) => boolean): number {
    let latest = -1;
    let free = -1;
    let freeUse = -1;
    let block = hand !== -1 && here.has(hand) ? hand : here.head;
    for (let looks = Math.min(here.size, LOOKS); looks > 0; looks--) {
      const use = useAfter(block, time);
      latest = Math.max(latest, use);
      if (use > freeUse && may(block) && nextUse(block) > time) {
        free = block;
        freeUse = use;
      }
      block = here.after(block);
      if (block === -1) block = here.head;
    }
    if (freeUse < latest) return -1;
    promised[free] = freeUse === NEVER ? 0 : began + Math.floor(freeUse);
    return free;
  }

  function isPlanned(): boolean {
    return current !== null && foresight.length > 0;
  }

  function end(): void {
    if (current === null) return;
    current.end((block) => here.has(block));
    bySizes.set(current.sizes, current);
    current = null;
  }

  return {
    activate(block, pages) {
      otherwise.activate(block, pages);
      if (here.has(block)) return;
      here.append(block);
      chosen = -1;
      if (block >= promised.length) promised = larger(promised, block);
      current?.arrive(block, promised[block] > began);
      promised[block] = 0;
    },
    used(block) {
      otherwise.used(block);
      current?.see(block);
      if (block === chosen) chosen = -1;
    },
    deactivate(block) {
      otherwise.deactivate(block);
      if (!here.has(block)) return;
      if (hand === block) hand = here.after(block);
      here.remove(block);
      chosen = -1;
      current?.leave(block, promised[block] > 0);
      gone++;
    },
    evict(evictable) {
      if (!isPlanned()) return otherwise.evict(evictable);
      // To look for room again and again is not to look through all of the memory each time.
      const block = chosen !== -1 && evictable(chosen) ? chosen : victim(evictable);
      return block === -1 ? otherwise.evict(evictable) : block;
    },
    keepFree(nodeBlocks) {
      const blocks = otherwise.keepFree?.(nodeBlocks) ?? 0;
      return isPlanned() ? Math.min(1, blocks) : blocks;
    },
    mostAhead(nodeBlocks) {
      if (!isPlanned()) return otherwise.mostAhead?.(nodeBlocks) ?? NEVER;
      return Math.max(1, Math.floor(nodeBlocks / AHEAD_SHARE));
    },
    launchWaits(kernel, spans) {
      foresight.wait(profileOf(kernel, spans));
      coming.again();
    },
    launchBegins(kernel, spans) {
      end();
      began++;
      chosen = -1;
      current = profileOf(kernel, spans);
      foresight.begin(current);
      current.begin(bySizes.get(current.sizes));
      coming.again();
    },
    launchEnds: end,
    wants(wish) {
      if (current === null || !isPlanned()) return -1;
      const block = coming.find(current, gone, wish.freeBlocks);
      if (block === -1) return -1;
      if (wish.freeBlocks === 0) {
        const last = victimFor(coming.use, wish.evictable);
        if (last === -1) {
          coming.putBack();
          return -1;
        }
        chosen = last;
      }
      wish.write = coming.writes;
      return block;
    },
  };
}

function larger(array: Float64Array, block: number): Float64Array<ArrayBuffer> {
  const result = new Float64Array(Math.max(block + 1, array.length * 2));
  result.set(array);
  return result;
}
