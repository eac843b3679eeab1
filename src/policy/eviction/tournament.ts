/**
 * A tournament: several replacement algorithms are played on block numbers alone, beside the
 * memory; the memory follows the one that misses least at present. So it is never much worse than
 * the best of them, least recently used among them, whatever the program does. A block goes that
 * the leader would not have here; where it would have all of them, the leader's own next victim.
 *
 * Following the best expert by its ghost sets is ACME's idea (Ari et al., 2002). LIRS knows loops
 * and hot sets, and LRU everything else.
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { lirsReplacement } from './lirs.js';
import { lruReplacement } from './lru.js';
import { evictionBy, type Replacement } from './replacement.js';
import { Returns } from './returns.js';

/** A miss counts half after as many misses as the room has blocks, times this. */
const MEMORY = 2;
/**
 * Another algorithm leads when it misses less than the leader by this share of the room. A change
 * costs: what the new leader would have is still to be brought.
 */
const LEAD = 0.05;

/** An algorithm that is played on block numbers alone. */
interface Expert {
  readonly algorithm: Replacement;
  size: number;
  /** Misses, of which older ones count less. */
  misses: number;
}

const always = (): boolean => true;

/**
 * Follows LRU or LIRS, whichever misses least on block numbers kept beside the memory. The default.
 * @example
 * import { tournament } from 'onemem/policy';
 *
 * const policy = tournament();
 * policy.activate(1, 512);
 * policy.activate(2, 512);
 * console.log(policy.evict((block) => block !== 1)); // 2
 */
export function tournament(): EvictionPolicy {
  return evictionBy(tournamentReplacement([lruReplacement(), lirsReplacement()]));
}

/** @param algorithms the first is by recency, and leads until another one is better */
function tournamentReplacement(algorithms: readonly Replacement[]): Replacement {
  const returns = new Returns();
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
  /** Uses of blocks that are here, which nobody sees. */
  let owed = 0;

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

  function show(expert: Expert, block: number, isFirst: boolean): void {
    const { algorithm } = expert;
    if (algorithm.has(block)) algorithm.touch(block, isFirst);
    else {
      expert.misses++;
      shrink(expert, capacity - 1);
      algorithm.arrive(block, true);
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

  function access(block: number, isFirst: boolean): void {
    let best = leader;
    for (const expert of experts) {
      expert.misses *= decay;
      show(expert, block, isFirst);
      if (expert.misses < best.misses) best = expert;
    }
    if (best !== leader && best.misses < leader.misses - capacity * LEAD) follow(best);
    strays.remove(block);
    here.append(block);
    returns.see(block);
  }

  /**
   * A processor that goes round through `pass` blocks that are not here uses those that are, too,
   * and nobody sees that: they do not fault. As many are taken as used as one of those blocks stands
   * for, unless they were seen in this pass.
   */
  function assume(pass: number): void {
    owed += here.size / pass;
    while (owed >= 1) {
      owed--;
      const oldest = here.head;
      if (oldest !== -1 && returns.since(oldest) >= pass) access(oldest, false);
    }
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
    arrive(block, isWhole) {
      const [recency] = experts;
      returns.arrive(block, isWhole, here.size);
      if (returns.pass > 0) assume(returns.pass);
      // Blocks that come in parts tell nothing of a loop: a processor is in several of them, and
      // they go and come back while it is. Recency knows those.
      if (!isWhole) for (const expert of experts) if (expert !== recency) expert.misses++;
      access(block, false);
    },
    touch: access,
    victim(may) {
      const stray = strays.find(may);
      if (stray !== -1) return stray;
      allowed = may;
      const victim = leader.algorithm.victim(mayHere);
      return victim === -1 ? here.find(may) : victim;
    },
    leave(block) {
      returns.leave(block);
      here.remove(block);
      strays.remove(block);
    },
  };
}
