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
  return new Lirs();
}

class Lirs implements Replacement {
  /** By recency, the oldest at the head; its oldest is always a LIR block. */
  private readonly stack = new IntrusiveList();
  private readonly queue = new IntrusiveList();
  private readonly ghosts = new GhostList();
  private readonly kinds = new BlockTable();
  /** Blocks that processors are in: uses in a row of these are one, though they take turns. */
  private readonly walked = new IntrusiveList();
  private lirCount = 0;
  private lirRoom = 1;
  private walkedRoom = 1;

  resize(blocks: number): void {
    const walks = Math.min(MOST_WALKED, Math.floor(blocks / WALKED_SHARE));
    this.walkedRoom = Math.max(1, walks >> 1);
    const hirRoom = Math.min(
      Math.max(FEWEST_HIR, walks, Math.floor(blocks / HIR_SHARE)),
      blocks - 1,
    );
    this.lirRoom = Math.max(1, blocks - hirRoom);
    this.ghosts.limit = blocks * GHOSTS;
    while (this.lirCount > this.lirRoom) this.demote();
  }

  has(block: number): boolean {
    const kind = this.kinds.get(block);
    return kind === Kind.lir || kind === Kind.hir;
  }

  arrive(block: number): void {
    const { kinds, ghosts } = this;
    this.walk(block);
    const remembered = kinds.get(block) === Kind.gone;
    if (remembered) ghosts.remove(block);
    if (remembered || this.lirCount < this.lirRoom) this.promote(block);
    else {
      kinds.set(block, Kind.hir);
      this.stack.append(block);
      this.queue.append(block);
    }
    this.prune();
  }

  touch(block: number, isFirst: boolean): void {
    const { stack, queue, walked } = this;
    const goesOn = walked.has(block) || isFirst;
    this.walk(block);
    if (this.kinds.get(block) === Kind.lir) {
      stack.append(block);
      this.prune();
    } else if (stack.has(block) && !goesOn) {
      queue.remove(block);
      this.promote(block);
    } else {
      stack.append(block);
      queue.append(block);
    }
  }

  victim(may: (block: number) => boolean): number {
    const block = this.queue.find(may);
    if (block !== -1) return block;
    return this.stack.find((each) => this.kinds.get(each) === Kind.lir && may(each));
  }

  leave(block: number): void {
    const { kinds, ghosts } = this;
    this.walked.remove(block);
    if (kinds.get(block) === Kind.lir) this.lirCount--;
    this.queue.remove(block);
    if (this.stack.has(block)) {
      kinds.set(block, Kind.gone);
      while (ghosts.size >= ghosts.limit && ghosts.size > 0) this.forget(ghosts.oldest);
      ghosts.add(block);
    } else kinds.set(block, Kind.none);
    this.prune();
  }

  private walk(block: number): void {
    const { walked } = this;
    walked.append(block);
    while (walked.size > this.walkedRoom) walked.remove(walked.head);
  }

  private forget(block: number): void {
    this.stack.remove(block);
    if (this.kinds.get(block) !== Kind.gone) return;
    this.ghosts.remove(block);
    this.kinds.set(block, Kind.none);
  }

  private prune(): void {
    const { stack, kinds } = this;
    while (stack.head !== -1 && kinds.get(stack.head) !== Kind.lir) this.forget(stack.head);
  }

  /** The LIR block whose last use is longest ago passes from now on. */
  private demote(): void {
    this.prune();
    const block = this.stack.head;
    if (block === -1) return;
    this.stack.remove(block);
    this.kinds.set(block, Kind.hir);
    this.queue.append(block);
    this.lirCount--;
    this.prune();
  }

  private promote(block: number): void {
    this.kinds.set(block, Kind.lir);
    this.lirCount++;
    this.stack.append(block);
    while (this.lirCount > this.lirRoom) this.demote();
  }
}
