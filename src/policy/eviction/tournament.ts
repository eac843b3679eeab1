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
  return evictionBy(new Tournament([lruReplacement(), lirsReplacement()]));
}

class Tournament implements Replacement {
  private readonly returns = new Returns();
  private readonly experts: readonly Expert[];
  private readonly here = new IntrusiveList();
  /** Blocks that are here and that the leader would not have here, by last use. */
  private readonly strays = new IntrusiveList();
  private leader: Expert;
  private capacity = 1;
  private decay = 0.5;
  /** Uses of blocks that are here, which nobody sees. */
  private owed = 0;
  /** What the memory may let go, while a victim is looked for. */
  private allowed: (block: number) => boolean = always;
  private readonly mayHere = (block: number): boolean =>
    this.here.has(block) && this.allowed(block);

  /** @param algorithms the first is by recency, and leads until another one is better */
  constructor(algorithms: readonly Replacement[]) {
    this.experts = algorithms.map((algorithm) => ({ algorithm, size: 0, misses: 0 }));
    [this.leader] = this.experts;
  }

  resize(blocks: number): void {
    this.capacity = blocks;
    this.decay = 0.5 ** (1 / (blocks * MEMORY));
    for (const expert of this.experts) {
      expert.algorithm.resize(blocks);
      this.shrink(expert, blocks);
    }
  }

  has(block: number): boolean {
    return this.here.has(block);
  }

  arrive(block: number, isWhole: boolean): void {
    const { returns, experts } = this;
    const [recency] = experts;
    returns.arrive(block, isWhole, this.here.size);
    if (returns.pass > 0) this.assume(returns.pass);
    // Blocks that come in parts tell nothing of a loop: a processor is in several of them, and
    // they go and come back while it is. Recency knows those.
    if (!isWhole) for (const expert of experts) if (expert !== recency) expert.misses++;
    this.touch(block, false);
  }

  touch(block: number, isFirst: boolean): void {
    const { leader } = this;
    let best = leader;
    for (const expert of this.experts) {
      expert.misses *= this.decay;
      this.show(expert, block, isFirst);
      if (expert.misses < best.misses) best = expert;
    }
    if (best !== leader && best.misses < leader.misses - this.capacity * LEAD) this.follow(best);
    this.strays.remove(block);
    this.here.append(block);
    this.returns.see(block);
  }

  victim(may: (block: number) => boolean): number {
    const stray = this.strays.find(may);
    if (stray !== -1) return stray;
    this.allowed = may;
    const victim = this.leader.algorithm.victim(this.mayHere);
    return victim === -1 ? this.here.find(may) : victim;
  }

  leave(block: number): void {
    this.returns.leave(block);
    this.here.remove(block);
    this.strays.remove(block);
  }

  /** Takes what the expert lets go until it keeps to its room. */
  private shrink(expert: Expert, room: number): void {
    const { algorithm } = expert;
    while (expert.size > room) {
      const victim = algorithm.victim(always);
      algorithm.leave(victim);
      expert.size--;
      if (expert === this.leader && this.here.has(victim)) this.strays.append(victim);
    }
  }

  private show(expert: Expert, block: number, isFirst: boolean): void {
    const { algorithm } = expert;
    if (algorithm.has(block)) algorithm.touch(block, isFirst);
    else {
      expert.misses++;
      this.shrink(expert, this.capacity - 1);
      algorithm.arrive(block, true);
      expert.size++;
    }
  }

  private follow(expert: Expert): void {
    const { here, strays } = this;
    this.leader = expert;
    for (let block = here.head; block !== -1; block = here.after(block)) {
      if (expert.algorithm.has(block)) strays.remove(block);
      else strays.append(block);
    }
  }

  /**
   * A processor that goes round through `pass` blocks that are not here uses those that are, too,
   * and nobody sees that: they do not fault. As many are taken as used as one of those blocks stands
   * for, unless they were seen in this pass.
   */
  private assume(pass: number): void {
    const { here } = this;
    this.owed += here.size / pass;
    while (this.owed >= 1) {
      this.owed--;
      const oldest = here.head;
      if (oldest !== -1 && this.returns.since(oldest) >= pass) this.touch(oldest, false);
    }
  }
}
