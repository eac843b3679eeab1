/** The story of one page of a recorded run: where it was, since when, why, and what came of it. */
import type { History } from '../recording/history.js';
import type { Held, Move, RecordedArray } from '../recording/moves.js';
import { arrivalText, departureText, milliseconds } from '../recording/words.js';

export interface StoryLine {
  readonly atMs: number;
  readonly text: string;
}

export interface PageStory {
  readonly array: string | null;
  readonly page: number;
  /** Memories that have it at the end. */
  readonly memories: readonly string[];
  /** The sentence that answers: where it is, since when, and why. */
  readonly now: string;
  /** What would have kept it, where it was evicted and needed again. */
  readonly remedy: string | null;
  readonly lines: readonly StoryLine[];
}

/** The page of an element, or null where the array has no such element. */
export function pageOfElement(
  array: RecordedArray,
  element: number,
  pageBytes: number,
): number | null {
  const page = array.first + Math.floor((element * array.elementBytes) / pageBytes);
  return element >= 0 && page < array.first + array.pages ? page : null;
}

export function storyOf(history: History, page: number): PageStory {
  const moves = history.moves.filter((move) => page >= move.page && page < move.page + move.pages);
  const here = new Map<number, Move | Held>();
  for (const run of history.held)
    if (page >= run.page && page < run.page + run.pages) here.set(run.memory, run);
  for (const move of moves) {
    if (move.kind === 'arrival') here.set(move.memory, move);
    else here.delete(move.memory);
  }
  const lines = moves.map((move) => ({
    atMs: move.atMs,
    text: move.kind === 'arrival' ? arrivalText(history, move) : departureText(history, move),
  }));
  const memories = [...here.keys()].map((id) => history.memories[id].name);
  return {
    array: history.arrayAt(page)?.name ?? null,
    page,
    memories,
    now: nowText(moves, memories, lines),
    remedy: remedyFor(history, moves),
    lines,
  };
}

function nowText(
  moves: readonly Move[],
  memories: readonly string[],
  lines: readonly StoryLine[],
): string {
  const last = lines.at(-1);
  if (last === undefined && memories.length > 0)
    return `It is in ${memories.join(' and ')} since before the record began.`;
  if (last === undefined)
    return 'It is in no memory: nothing has touched it, or it still is in its file.';
  const where = memories.length === 0 ? 'in no memory' : `in ${memories.join(' and ')}`;
  const since = `It is ${where} since ${milliseconds(last.atMs)}: it ${last.text}.`;
  return moves.length === 1 ? since : `${since} It moved ${moves.length} times.`;
}

function remedyFor(history: History, moves: readonly Move[]): string | null {
  const regretted = moves.filter((move) => move.kind === 'departure' && move.regret !== null);
  if (regretted.length === 0) return null;
  const [{ memory, page }] = regretted;
  const name = history.arrayAt(page)?.name ?? 'the array';
  return (
    `It was evicted and needed again ${regretted.length} times. ` +
    `A larger ${history.memories[memory].name}, or ${name}.advise({ preferredLocation }), would have kept it.`
  );
}
