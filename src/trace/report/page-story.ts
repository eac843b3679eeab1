/** The story of one page of a recorded run: where it was, since when, why, and what came of it. */
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { History } from '../recording/history.js';
import {
  type Arrival,
  type Held,
  type Leaving,
  type Move,
  memoryOf,
  type Need,
  type RecordedArray,
  writesTo,
} from '../recording/moves.js';
import { arrivalText, departureText, milliseconds } from '../recording/words.js';
import { isGuess, usedAfter } from './guesses.js';

export interface StoryLine {
  readonly atMs: number;
  /** The memory that it came to, or left. */
  readonly memory: string;
  /** Why it came, or how it left. */
  readonly why: Need | Leaving;
  /** The array whose touch, launch or request this was for; null: none is known. */
  readonly sake: string | null;
  /** Counts from 1; null: no launch was the cause. */
  readonly launch: number | null;
  /** Of all pages that went together. */
  readonly bytes: number;
  /** Of what came; null: it left. */
  readonly tookMs: number | null;
  /** Of what came unasked: whether it was used; null: it was asked for, or nothing tells. */
  readonly isUsed: boolean | null;
  /** Of an eviction whose pages were needed again: after how long; otherwise null. */
  readonly regrettedAfterMs: number | null;
  readonly text: string;
}

export interface PageStory {
  readonly array: string | null;
  readonly page: number;
  /** Memories that have it at the end. */
  readonly memories: readonly string[];
  /** Of these, those whose copy may be old: another processor got the page to write to it. */
  readonly outdated: readonly string[];
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
  const lines = moves.map((move, at) => lineOf(history, move, moves.slice(at + 1), page));
  const nameOf = (id: number): string => history.memories[id].name;
  const memories = [...here.keys()].map(nameOf);
  const outdated = [...here]
    .filter(([id, came]) => isOutdated(history, page, moves, id, came))
    .map(([id]) => nameOf(id));
  return {
    array: history.arrayAt(page)?.name ?? null,
    page,
    memories,
    outdated,
    now: `${nowText(moves, memories, lines)}${outdatedText(outdated)}`,
    remedy: remedyFor(history, moves),
    lines,
  };
}

/** Copies keep their memory when another processor writes: the record has the right to, not more. */
function isOutdated(
  history: History,
  page: number,
  moves: readonly Move[],
  memory: number,
  came: Move | Held,
): boolean {
  const since = 'atMs' in came ? came.atMs : 0;
  const array = history.arrayAt(page)?.name ?? '';
  const isWritten = (move: Move): boolean =>
    move.kind === 'arrival' &&
    move.memory !== memory &&
    move.need !== 'room' &&
    move.atMs >= since &&
    move !== came &&
    writesTo(move.cause, array);
  return (
    moves.some(isWritten) ||
    history.faults.some(
      (fault) =>
        fault.write &&
        fault.page === page &&
        fault.atMs > since &&
        memoryOf(history, fault.processor) !== memory,
    )
  );
}

function outdatedText(outdated: readonly string[]): string {
  if (outdated.length === 0) return '';
  return ` The copy in ${outdated.join(' and ')} may be old: another processor got it to write to it.`;
}

function lineOf(history: History, move: Move, later: readonly Move[], page: number): StoryLine {
  const { atMs, memory, pages, cause } = move;
  const shared = {
    atMs,
    memory: history.memories[memory].name,
    sake: cause.page < 0 ? null : (history.arrayAt(cause.page)?.name ?? null),
    launch: cause.launch < 0 ? null : cause.launch,
    bytes: pages * PAGE_BYTES,
  };
  if (move.kind === 'arrival') {
    const { need: why, tookMs } = move;
    const isUsed = isGuess(move, page) ? wasUsed(history, move, later, page) : null;
    const text = `${arrivalText(history, move)}${usedText(move, isGuess(move, page), isUsed)}`;
    return { ...shared, why, tookMs, isUsed, regrettedAfterMs: null, text };
  }
  const { why, regret } = move;
  const regrettedAfterMs = regret?.afterMs ?? null;
  const text = departureText(history, move);
  return { ...shared, why, tookMs: null, isUsed: null, regrettedAfterMs, text };
}

function wasUsed(
  history: History,
  arrival: Arrival,
  later: readonly Move[],
  page: number,
): boolean | null {
  const left = later.find(({ kind, memory }) => kind === 'departure' && memory === arrival.memory);
  return usedAfter(history, arrival, page, left?.atMs ?? history.endMs);
}

function usedText({ cause }: Arrival, isGuess: boolean, isUsed: boolean | null): string {
  if (!isGuess) return '';
  if (cause.event === 'acquire' && isUsed !== null)
    return `; ${isUsed ? 'a' : 'no'} launch there used its array`;
  if (isUsed === null) return '; it came unasked, and nothing tells whether it was used';
  return `; it came unasked, and was ${isUsed ? '' : 'not '}used`;
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
