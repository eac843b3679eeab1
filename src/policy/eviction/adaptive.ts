/**
 * Least recently used blocks first, until blocks come back in the order in which they went. That is
 * what a program looks like which goes again and again over more than the node has: the least
 * recently used block is the next one that it needs, and every touch misses. Then what is there
 * stays, and of what comes the oldest goes, so that each pass finds the same part of the loop
 * there. Blocks of which less than half comes at once tell nothing of a loop: a processor is in
 * several of them, and they go and come back while it is.
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import { type EvictionPolicy, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import { aheadOf } from './ahead.js';

/**
 * A block comes back in order if it went at most so many blocks before or after the one that came
 * back before it, fewer where there are few.
 */
const NEAR = 8;
/** Returns in order after which it is a loop, and the most that are counted. */
const LOOP = 16;
const MOST = 24;
/** What a block that is out of order takes off that count. */
const DOUBT = 4;
/**
 * Of a loop's blocks that come and go so many are there at once, for those that are read ahead: a
 * share of all, and the bounds.
 */
const PASSING_SHARE = 4;
const FEWEST_PASSING = 4;
const MOST_PASSING = 16;

/**
 * Least recently used, but a pass that is made again and again over too much data keeps a part of
 * it. The default.
 * @example
 * import { adaptive } from 'onemem/policy';
 *
 * const policy = adaptive();
 * policy.activate(1, 512);
 * policy.activate(2, 512);
 * console.log(policy.evict((block) => block !== 1)); // 2
 */
export function adaptive(): EvictionPolicy {
  const kept = new IntrusiveList();
  const passing = new IntrusiveList();
  /** By block: how many had gone when it went; 0: it never did. */
  let went = new Int32Array(64);
  let gone = 0;
  let last = 0;
  let order = 0;
  let loops = false;

  function note(block: number, whole: boolean): void {
    const at = block < went.length ? went[block] : 0;
    const near = Math.min(NEAR, Math.ceil((kept.size + passing.size) / PASSING_SHARE));
    const follows = at !== 0 && Math.abs(at - last) <= near;
    if (at !== 0) last = at;
    if (!whole && follows) order = Math.max(order - 1, 0);
    else order = follows ? Math.min(order + 1, MOST) : Math.max(order - DOUBT, 0);
    if (order >= LOOP) loops = true;
    if (order > 0 || !loops) return;
    loops = false;
    while (passing.head !== -1) {
      const each = passing.head;
      passing.remove(each);
      kept.append(each);
    }
  }

  function leave(block: number): void {
    if (block >= went.length) {
      const larger = new Int32Array(Math.max(block + 1, went.length * 2));
      larger.set(went);
      went = larger;
    }
    gone++;
    went[block] = gone;
  }

  return {
    activate(block, pages) {
      if (kept.has(block) || passing.has(block)) return;
      note(block, pages > PAGES_PER_BLOCK / 2);
      (loops ? passing : kept).append(block);
    },
    used: (block) => {
      if (kept.has(block)) kept.append(block);
    },
    deactivate(block) {
      if (!kept.has(block) && !passing.has(block)) return;
      kept.remove(block);
      passing.remove(block);
      leave(block);
    },
    evict(evictable) {
      const share = Math.floor((kept.size + passing.size) / PASSING_SHARE);
      const room = Math.min(MOST_PASSING, Math.max(FEWEST_PASSING, share));
      const block = passing.size >= room ? passing.find(evictable) : -1;
      if (block !== -1) return block;
      const other = kept.find(evictable);
      return other === -1 ? passing.find(evictable) : other;
    },
    ahead: aheadOf,
  };
}
