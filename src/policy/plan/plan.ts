/**
 * Plans: where it is known which launches come, the block goes that is used last, as by Belady's
 * MIN. What each kind of launch uses, and when, is learned while it runs. Where nothing is known, or
 * where plans were wrong, another policy decides.
 */
import type { EvictionPolicy } from '../../core/basics/types.js';
import { tournament } from '../eviction/tournament.js';
import { Coming } from './coming.js';
import { Timeline } from './timeline.js';
import { Victims } from './victims.js';

/** One block in so many of a full memory may be a guess: MIN would keep another one there. */
const AHEAD_SHARE = 16;
const NEVER = Number.POSITIVE_INFINITY;

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
  const timeline = new Timeline();
  const memory = new Victims(timeline);
  const coming = new Coming(timeline, memory);
  return {
    activate(block, pages) {
      otherwise.activate(block, pages);
      memory.arrive(block);
    },
    used(block) {
      otherwise.used(block);
      memory.see(block);
    },
    deactivate(block) {
      otherwise.deactivate(block);
      memory.leave(block);
    },
    evict(evictable) {
      if (!timeline.isPlanned) return otherwise.evict(evictable);
      const block = memory.find(evictable);
      return block === -1 ? otherwise.evict(evictable) : block;
    },
    keepFree(nodeBlocks) {
      const blocks = otherwise.keepFree?.(nodeBlocks) ?? 0;
      return timeline.isPlanned ? Math.min(1, blocks) : blocks;
    },
    mostAhead(nodeBlocks) {
      if (!timeline.isPlanned || timeline.keptInVain)
        return otherwise.mostAhead?.(nodeBlocks) ?? NEVER;
      return Math.max(1, Math.floor(nodeBlocks / AHEAD_SHARE));
    },
    launchWaits(kernel, spans) {
      timeline.wait(kernel, spans);
      coming.again();
    },
    launchBegins(kernel, spans) {
      timeline.end(memory.isHere);
      timeline.begin(kernel, spans, memory.isHere);
      memory.again();
      coming.again();
    },
    launchEnds() {
      timeline.end(memory.isHere);
    },
    wants(wish) {
      if (!timeline.isPlanned) return -1;
      const block = coming.find(wish.freeBlocks);
      if (block === -1) return -1;
      if (wish.freeBlocks === 0 && memory.findFor(coming.use, wish.evictable) === -1) {
        coming.putBack();
        return -1;
      }
      wish.write = coming.writes;
      return block;
    },
  };
}
