/**
 * Where processors take pages from each other: which of them writes and which reads, and at which
 * elements. What counts are the pages that were touched, not those that moved with them.
 */
import { getOrMake } from '../../core/basics/get-or-make.js';
import { PAGE_BYTES, PAGES_PER_BLOCK, PAGES_PER_GROUP } from '../../core/basics/types.js';
import {
  type Arrival,
  type Cause,
  type Fault,
  memoryOf,
  type Names,
  type RecordedArray,
  writesTo,
} from '../recording/moves.js';
import { count } from '../recording/words.js';

/** So often a page must have been taken from another processor. */
const LEAST_TIMES = 3;
const MOST_PLACES = 5;
/** Touched pages that are so close belong together. */
const NEAR_PAGES = PAGES_PER_GROUP;
const GROUPS = PAGES_PER_BLOCK / PAGES_PER_GROUP;
const NOWHERE = 255;

export interface ConflictingProcessor {
  readonly name: string;
  /** False: it may have read only. */
  readonly writes: boolean;
  /** The elements that it touched. */
  readonly begin: number;
  readonly end: number;
}

export interface Conflict {
  readonly array: string;
  /** Elements. */
  readonly begin: number;
  readonly end: number;
  /** Touches that took pages from another processor. */
  readonly moves: number;
  readonly processors: readonly ConflictingProcessor[];
  readonly text: string;
}

/** Touches of a processor that took pages from another one, by page of the block. */
interface Taker {
  writes: boolean;
  readonly pages: Uint16Array;
}

interface Block {
  readonly array: RecordedArray;
  readonly first: number;
  /** The memory that each group of pages was brought to last. */
  readonly at: Uint8Array;
  readonly takers: Map<number, Taker>;
}

/** Pages of a block that are close, and who took them. */
interface Place {
  readonly array: RecordedArray;
  readonly first: number;
  last: number;
  moves: number;
  readonly takers: Map<number, { writes: boolean; first: number; last: number }>;
}

export class Conflicts {
  private readonly blocks = new Map<number, Block>();

  constructor(private readonly names: Names) {}

  arrived({ cause, memory, source, page, pages }: Arrival): void {
    const { kind, processor } = cause;
    if (processor < 0 || (kind !== 'touch' && kind !== 'launch')) return;
    // Not what makes room.
    if (source < 0 || memory !== memoryOf(this.names, processor)) return;
    const block = this.block(page);
    if (block === null || !this.comes(block, page, pages, memory)) return;
    const isTouched = kind === 'touch' && cause.page >= block.first;
    const [from, to] = isTouched ? [cause.page, cause.page + 1] : [page, page + pages];
    const taker = takerOf(block, cause);
    taker.pages.subarray(from - block.first, to - block.first).forEach((times, at, all) => {
      all[at] = times + 1;
    });
  }

  /** A processor that reads a page may write to it when it has it. */
  faulted({ processor, page, write }: Fault): void {
    if (!write) return;
    const taker = this.blocks.get(Math.floor(page / PAGES_PER_BLOCK))?.takers.get(processor);
    if (taker !== undefined) taker.writes = true;
  }

  /** Those that moved most. */
  places(): Conflict[] {
    const places: Place[] = [];
    const blocks = [...this.blocks.values()].filter(({ takers }) => takers.size > 1);
    for (const block of blocks.sort((a, b) => a.first - b.first))
      for (const place of placesOf(block)) {
        const before = places.at(-1);
        if (before !== undefined && before.last + 1 === place.first && areAlike(before, place))
          join(before, place);
        else places.push(place);
      }
    return places
      .sort((a, b) => b.moves - a.moves)
      .slice(0, MOST_PLACES)
      .map((place) => this.conflictOf(place));
  }

  /** Whether some of the pages were another memory's. */
  private comes({ at, first }: Block, page: number, pages: number, memory: number): boolean {
    let isTaken = false;
    const last = Math.floor((page + pages - 1 - first) / PAGES_PER_GROUP);
    for (let group = Math.floor((page - first) / PAGES_PER_GROUP); group <= last; group++) {
      if (at[group] !== NOWHERE && at[group] !== memory) isTaken = true;
      at[group] = memory;
    }
    return isTaken;
  }

  private conflictOf({ array, moves, takers }: Place): Conflict {
    const processors = [...takers].map(([id, { writes, first, last }]) => {
      const name = this.names.processors[id]?.name ?? `processor ${id}`;
      return { name, writes, ...elementsOf(array, first, last) };
    });
    const begin = Math.min(...processors.map((each) => each.begin));
    const end = Math.max(...processors.map((each) => each.end));
    const conflict = { array: array.name, begin, end, moves, processors };
    return { ...conflict, text: conflictText(conflict) };
  }

  private block(page: number): Block | null {
    const array = this.names.arrayAt(page);
    if (array === null) return null;
    const index = Math.floor(page / PAGES_PER_BLOCK);
    let block = this.blocks.get(index);
    if (block?.array === array) return block;
    const at = new Uint8Array(GROUPS).fill(NOWHERE);
    block = { array, first: index * PAGES_PER_BLOCK, at, takers: new Map() };
    this.blocks.set(index, block);
    return block;
  }
}

function takerOf({ array, takers }: Block, cause: Cause): Taker {
  const taker = getOrMake(takers, cause.processor, () => ({
    writes: false,
    pages: new Uint16Array(PAGES_PER_BLOCK),
  }));
  taker.writes ||= writesTo(cause, array.name);
  return taker;
}

/** Pages that several processors took, by nearness. Those of one alone go with others'. */
function placesOf({ array, first, takers }: Block): Place[] {
  const close: Place[] = [];
  for (let at = 0; at < PAGES_PER_BLOCK; at++) {
    const page = first + at;
    for (const [id, { writes, pages }] of takers) {
      if (pages[at] === 0) continue;
      let place = close.at(-1);
      if (place === undefined || page - place.last > NEAR_PAGES)
        close.push((place = { array, first: page, last: page, moves: 0, takers: new Map() }));
      const taker = { writes, first: page, last: page };
      join(place, {
        array,
        first: page,
        last: page,
        moves: pages[at],
        takers: new Map([[id, taker]]),
      });
    }
  }
  const shared = close.filter((place) => place.takers.size > 1);
  const [whole, ...others] = close.filter((place) => place.takers.size === 1);
  for (const other of others) join(whole, other);
  if (whole !== undefined && whole.takers.size > 1) shared.push(whole);
  return shared.filter(({ moves }) => moves >= LEAST_TIMES).sort((a, b) => a.first - b.first);
}

function areAlike(one: Place, other: Place): boolean {
  if (one.array !== other.array || one.takers.size !== other.takers.size) return false;
  for (const [id, { writes }] of one.takers)
    if (other.takers.get(id)?.writes !== writes) return false;
  return true;
}

function join(to: Place, { last, moves, takers }: Place): void {
  to.last = Math.max(to.last, last);
  to.moves += moves;
  for (const [id, taker] of takers) {
    const own = to.takers.get(id);
    if (own === undefined) to.takers.set(id, { ...taker });
    else {
      own.writes ||= taker.writes;
      own.first = Math.min(own.first, taker.first);
      own.last = Math.max(own.last, taker.last);
    }
  }
}

function conflictText({ array, moves, processors }: Omit<Conflict, 'text'>): string {
  const who = processors.map(({ name, writes, begin, end }) => {
    const verb = writes ? 'writes' : 'touches';
    return `${name} ${verb} ${array}[${begin} to ${end - 1}]`;
  });
  return `${who.join(', ')}: ${count(moves, 'touch', 'touches')} took pages from another.`;
}

function elementsOf(
  { first, pages, elementBytes }: RecordedArray,
  from: number,
  to: number,
): { begin: number; end: number } {
  const elementAt = (page: number): number => Math.floor((page * PAGE_BYTES) / elementBytes);
  return { begin: elementAt(from - first), end: elementAt(Math.min(pages, to + 1 - first)) };
}
