/**
 * A tournament: several replacement algorithms are played on block numbers alone, beside the
 * memory; the memory follows the one that misses least at present. So it is never much worse than
 * the best of them, least recently used among them, whatever the program does. A block goes that
 * the leader would not have here; where it would have all of them, the leader's own next victim.
 *
 * Following the best expert by its ghost sets is ACME's idea (Ari et al., 2002), and the set of
 * experts is what publications name as close to the optimum together: LRU, LIRS, W-TinyLFU.
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { lirsReplacement } from './lirs.js';
import { lruReplacement } from './lru.js';
import { evictionBy, type Replacement } from './replacement.js';
import { wTinyLfuReplacement } from './w-tiny-lfu.js';

/** A miss counts half after as many misses as the room has blocks, times this. */
const MEMORY = 2;
/** Another algorithm leads when its misses are less than this share of the leader's. */
const LEAD = 0.95;

/** An algorithm that is played on block numbers alone. */
interface Expert {
  readonly algorithm: Replacement;
  size: number;
  /** Misses, of which older ones count less. */
  misses: number;
}

const always = (): boolean => true;

/**
 * Follows LRU, LIRS or W-TinyLFU, whichever misses least on block numbers kept beside the memory.
 */
export function tournament(): EvictionPolicy {
  return evictionBy(
    tournamentReplacement([lruReplacement(), lirsReplacement(), wTinyLfuReplacement()]),
  );
}

/** @param algorithms the first leads until another one is better */
function tournamentReplacement(algorithms: readonly Replacement[]): Replacement {
  const experts: readonly Expert[] = algorithms.map((algorithm) => ({
    algorithm,
    size: 0,
    misses: 0,
  }));
  const here = new IntrusiveList();
  /** Blocks that are here and that the leader would not have here, by last use. */
  const strays = new IntrusiveList();
  let leader = experts[0];
  /** What the memory may let go, while a victim is looked for. */
  let allowed: (block: number) => boolean = always;
  const mayHere = (block: number): boolean => here.has(block) && allowed(block);
  let capacity = 1;
  let decay = 0.5;

  /** Takes what the expert lets go until it keeps to its room. */
  function shrink(expert: Expert, room: number): void {
    const { algorithm } = expert;
    while (expert.size > room) {
      const victim = algorithm.victim(always);
      algorithm.leave(victim);
      expert.size--;
      if (expert === leader && here.has(victim)) strays.append(victim);
    }
  }

  function show(expert: Expert, block: number): void {
    const { algorithm } = expert;
    if (algorithm.has(block)) algorithm.touch(block);
    else {
      expert.misses++;
      shrink(expert, capacity - 1);
      algorithm.arrive(block);
      expert.size++;
    }
  }

  function follow(expert: Expert): void {
    leader = expert;
    for (let block = here.head; block !== -1; block = here.after(block)) {
      if (expert.algorithm.has(block)) strays.remove(block);
      else strays.append(block);
    }
  }

  function access(block: number): void {
    let best = leader;
    for (const expert of experts) {
      expert.misses *= decay;
      show(expert, block);
      if (expert.misses < best.misses) best = expert;
    }
    if (best !== leader && best.misses < leader.misses * LEAD) follow(best);
    strays.remove(block);
    here.append(block);
  }

  return {
    resize(blocks) {
      capacity = blocks;
      decay = 0.5 ** (1 / (blocks * MEMORY));
      for (const expert of experts) {
        expert.algorithm.resize(blocks);
        shrink(expert, blocks);
      }
    },
    has: (block) => here.has(block),
    arrive: access,
    touch: access,
    victim(may) {
      const stray = strays.find(may);
      if (stray !== -1) return stray;
      allowed = may;
      const victim = leader.algorithm.victim(mayHere);
      return victim === -1 ? here.find(may) : victim;
    },
    leave(block) {
      here.remove(block);
      strays.remove(block);
    },
  };
}
