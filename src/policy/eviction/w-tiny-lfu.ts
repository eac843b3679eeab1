/**
 * W-TinyLFU: a window takes what is new; what leaves it stays only if it was used more often than
 * what it would push out of the main part (Einziger, Friedman and Manes, "TinyLFU", ACM ToS 2017).
 * The window grows and shrinks by hill climbing on the hit rate (Einziger et al., "Adaptive
 * Software Cache Management", Middleware 2018). Block numbers are dense, so uses are counted
 * exactly, without a sketch.
 */
import { IntrusiveList } from '../../core/basics/intrusive-list.js';
import type { EvictionPolicy } from '../../core/basics/types.js';
import { BlockTable } from './block-table.js';
import { evictionBy, type Replacement } from './replacement.js';

/** The part of the main room for blocks that were used there. */
const PROTECTED_SHARE = 0.8;
const FIRST_WINDOW_SHARE = 0.01;
const MOST_WINDOW_SHARE = 0.8;
const MOST_USES = 15;
/** Counts are halved after so many uses for each block of room; the window is judged as often. */
const SAMPLE = 10;
/** A step of the window, as a share of the room, and what is left of it after each. */
const STEP_SHARE = 0.0625;
const STEP_DECAY = 0.98;
/** A change of the hit rate from which the climb begins anew. */
const RESTART = 0.05;

/** W-TinyLFU (Einziger, Friedman and Manes, 2017). */
export function wTinyLfu(): EvictionPolicy {
  return evictionBy(wTinyLfuReplacement());
}

function wTinyLfuReplacement(): Replacement {
  const window = new IntrusiveList();
  const probation = new IntrusiveList();
  const kept = new IntrusiveList();
  const uses = new BlockTable();
  let capacity = 1;
  let windowShare = FIRST_WINDOW_SHARE;
  let step = STEP_SHARE;
  let counted = 0;
  let hits = 0;
  let lastRate = 0;

  const windowRoom = (): number => Math.max(1, Math.floor(capacity * windowShare));
  const keptRoom = (): number => Math.floor((capacity - windowRoom()) * PROTECTED_SHARE);

  function climb(): void {
    const rate = hits / counted;
    const change = rate - lastRate;
    if (change < 0) step = -step;
    step = Math.abs(change) >= RESTART ? Math.sign(step) * STEP_SHARE : step * STEP_DECAY;
    windowShare = Math.min(MOST_WINDOW_SHARE, Math.max(FIRST_WINDOW_SHARE, windowShare + step));
    lastRate = rate;
    counted = 0;
    hits = 0;
    balance();
  }

  /** What the window has no room for stands before the door of the main part. */
  function balance(): void {
    while (window.size > windowRoom()) {
      const block = window.head;
      window.remove(block);
      probation.append(block);
    }
    while (kept.size > keptRoom()) {
      const block = kept.head;
      kept.remove(block);
      probation.append(block);
    }
  }

  function count(block: number, hit: boolean): void {
    uses.set(block, Math.min(MOST_USES, uses.get(block) + 1));
    counted++;
    if (hit) hits++;
    if (counted < capacity * SAMPLE) return;
    uses.halve();
    climb();
  }

  return {
    resize(blocks) {
      capacity = blocks;
      balance();
    },
    has: (block) => window.has(block) || probation.has(block) || kept.has(block),
    arrive(block) {
      window.append(block);
      count(block, false);
      balance();
    },
    touch(block) {
      if (window.has(block)) window.append(block);
      else {
        probation.remove(block);
        kept.append(block);
        balance();
      }
      count(block, true);
    },
    victim(may) {
      const old = probation.find(may);
      if (old === -1) {
        const block = window.find(may);
        return block === -1 ? kept.find(may) : block;
      }
      // The newest of those on probation is the one that the window let go last.
      const candidate = probation.tail;
      if (candidate === old || !may(candidate)) return old;
      return uses.get(candidate) > uses.get(old) ? old : candidate;
    },
    leave(block) {
      window.remove(block);
      probation.remove(block);
      kept.remove(block);
    },
  };
}
