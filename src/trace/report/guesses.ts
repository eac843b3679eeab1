/**
 * Whether pages that came unasked were used afterwards, as far as a recording tells: it has no
 * touches of pages that were there.
 */
import { MOST_AHEAD, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import type { History } from '../recording/history.js';
import { type Arrival, type Fault, type Launch, type Move, memoryOf } from '../recording/moves.js';

/**
 * Of a page that came with an arrival; null: nothing tells.
 * @param until when the page left the memory, or the end
 */
export function usedAfter(
  history: History,
  arrival: Arrival,
  page: number,
  until: number,
): boolean | null {
  const { memory, atMs, cause, reason } = arrival;
  const within = (time: number): boolean => time >= atMs && time <= until;
  const isOf = (processor: number): boolean => memoryOf(history, processor) === memory;
  const block = blockOf(page);
  const faults = history.faults.filter((each) => within(each.atMs) && isOf(each.processor));
  const isLater = (each: Fault): boolean => each.atMs > atMs && each.page === page;
  const goesOn = (move: Move): boolean =>
    move.kind === 'arrival' && move.source === memory && move.need !== 'room' && has(move, page);
  const { moves } = history;
  if (faults.some(isLater) || moves.some((each) => within(each.atMs) && goesOn(each))) return true;
  if (reason === 'plan' || cause.event === 'acquire') {
    const array = history.arrayAt(page)?.name ?? '';
    const uses = ({ arrays, processor, beganMs, endedMs }: Launch): boolean =>
      arrays.includes(array) && isOf(processor) && beganMs <= until && !(endedMs < atMs);
    // Threads of the host use what is there unseen.
    if (history.launches.some(uses)) return true;
    return isOf(0) ? null : false;
  }
  if (cause.kind === 'touch' && blockOf(cause.page) === block) return null;
  // A walk enters the last of the blocks that came ahead by a fault, and maybe no other one.
  const enters = ({ page: at }: Fault): boolean =>
    blockOf(at) >= block && blockOf(at) <= block + MOST_AHEAD;
  return faults.some(enters);
}

/** Whether a page came without being asked for. */
export function isGuess({ need, cause, reason }: Arrival, page: number): boolean {
  if (need === 'room' || cause.page === page) return false;
  return reason !== null || cause.kind === 'ahead' || cause.event === 'acquire';
}

function has(move: Move, page: number): boolean {
  return page >= move.page && page < move.page + move.pages;
}

function blockOf(page: number): number {
  return Math.floor(page / PAGES_PER_BLOCK);
}
