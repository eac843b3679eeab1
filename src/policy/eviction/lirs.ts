/**
 * LIRS: blocks whose last two uses were close together stay, whatever passes by; the rest share a
 * small queue (Jiang and Zhang, "LIRS: An Efficient Low Inter-reference Recency Set Replacement
 * Policy", SIGMETRICS 2002). The names are the paper's: LIR blocks stay, HIR blocks pass.
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { BlockTable } from './block-table.js';
import { GhostList } from './ghost-list.js';
import { evictionBy, type Replacement } from './replacement.js';

/**
 * The queue of HIR blocks has a hundredth of the room, as in the paper, and room for what processors
 * walk through and what is read ahead of them: a share of a small memory.
 */
const HIR_SHARE = 100;
const WALKED_SHARE = 4;
const MOST_WALKED = 16;
const FEWEST_HIR = 2;
/** Blocks that have left are remembered for so many times the room. */
const GHOSTS = 3;

const enum Kind {
  none,
  lir,
  hir,
  /** In the stack only. */
  gone,
}

/** LIRS (Jiang and Zhang, SIGMETRICS 2002). */
export function lirs(): EvictionPolicy {
  return evictionBy(lirsReplacement());
}

export function lirsReplacement(): Replacement {
  /** By recency, the oldest at the head; its oldest is always a LIR block. */
  const stack = new IntrusiveList();
  const queue = new IntrusiveList();
  const ghosts = new GhostList();
  const kinds = new BlockTable();
  /** Blocks that processors are in: uses in a row of these are one, though they take turns. */
  const walked = new IntrusiveList();
  let lirCount = 0;
  let lirRoom = 1;
  let walkedRoom = 1;

  function walk(block: number): void {
    walked.append(block);
    while (walked.size > walkedRoom) walked.remove(walked.head);
  }

  function forget(block: number): void {
    stack.remove(block);
    if (kinds.get(block) !== Kind.gone) return;
    ghosts.remove(block);
    kinds.set(block, Kind.none);
  }

  function prune(): void {
    while (stack.head !== -1 && kinds.get(stack.head) !== Kind.lir) forget(stack.head);
  }

  /** The LIR block whose last use is longest ago passes from now on. */
  function demote(): void {
    prune();
    const block = stack.head;
    if (block === -1) return;
    stack.remove(block);
    kinds.set(block, Kind.hir);
    queue.append(block);
    lirCount--;
    prune();
  }

  function promote(block: number): void {
    kinds.set(block, Kind.lir);
    lirCount++;
    stack.append(block);
    while (lirCount > lirRoom) demote();
  }

  return {
    resize(blocks) {
      const walks = Math.min(MOST_WALKED, Math.floor(blocks / WALKED_SHARE));
      walkedRoom = Math.max(1, walks >> 1);
      const hirRoom = Math.min(
        Math.max(FEWEST_HIR, walks, Math.floor(blocks / HIR_SHARE)),
        blocks - 1,
      );
      lirRoom = Math.max(1, blocks - hirRoom);
      ghosts.limit = blocks * GHOSTS;
      while (lirCount > lirRoom) demote();
    },
    has: (block) => kinds.get(block) === Kind.lir || kinds.get(block) === Kind.hir,
    arrive(block) {
      walk(block);
      const remembered = kinds.get(block) === Kind.gone;
      if (remembered) ghosts.remove(block);
      if (remembered || lirCount < lirRoom) promote(block);
      else {
        kinds.set(block, Kind.hir);
        stack.append(block);
        queue.append(block);
      }
      prune();
    },
    touch(block, isFirst) {
      const goesOn = walked.has(block) || isFirst;
      walk(block);
      if (kinds.get(block) === Kind.lir) {
        stack.append(block);
        prune();
      } else if (stack.has(block) && !goesOn) {
        queue.remove(block);
        promote(block);
      } else {
        stack.append(block);
        queue.append(block);
      }
    },
    victim(may) {
      const block = queue.find(may);
      if (block !== -1) return block;
      return stack.find((each) => kinds.get(each) === Kind.lir && may(each));
    },
    leave(block) {
      walked.remove(block);
      if (kinds.get(block) === Kind.lir) lirCount--;
      queue.remove(block);
      if (stack.has(block)) {
        kinds.set(block, Kind.gone);
        while (ghosts.size >= ghosts.limit && ghosts.size > 0) forget(ghosts.oldest);
        ghosts.add(block);
      } else kinds.set(block, Kind.none);
      prune();
    },
  };
}
