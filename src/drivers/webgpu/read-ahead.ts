/**
 * Reads what the CPU will touch next of a GPU's pages before it asks: each fault by itself would wait for the engine and for the GPU, which
 * takes longer than the copy. Where one read follows the other, what lies behind comes to staging memory in pieces that grow, from
 * which pages are taken at once. It comes from the buffers, so that the core knows nothing of it: what is written there is forgotten here. As soon as
 * the core brings whole blocks ahead of the walk, no thread waits for pages any more, and nothing is read here: they come straight to their places.
 */
import { PAGE_BYTES, PAGES_PER_BLOCK, PAGES_PER_GROUP, Status } from '../../core/types.js';
import { copyMemory } from '../../linux/memory.js';
import type { Staging } from './staging.js';

/** Tokens of these reads are lower than all that launches have. */
const FIRST_TOKEN = -1_000_000;
/** So many times what was walked through is read ahead. */
const TIMES = 4;
/** Pieces that it may have: others need staging memory, too. */
const MOST_PIECES = 4;

/** What the pages are read from. */
export interface AheadSource {
  /** Whether no content lies right before a page that would be walked through on the way to it. */
  begins(page: number): boolean;
  /** The page behind those that can be read from `first` on, all of them before `end`. */
  endOfContent(first: number, end: number): number;
  /** Has pages read to a place in staging memory; `arrived` answers. */
  read(token: number, slot: number, first: number, count: number): void;
  /** Pages that were waited for are where they were wanted. */
  taken(token: number): void;
}

/** Pages that are wanted, some of which are still to come. */
interface Wanted {
  readonly token: number;
  /** Pieces that have not come. */
  missing: number;
}

interface Piece {
  readonly token: number;
  readonly first: number;
  readonly end: number;
  readonly slot: number;
  isThere: boolean;
  /** Something else may have been written since. */
  isStale: boolean;
  /** Pages that were not taken yet. */
  left: number;
  readonly waiting: {
    readonly wanted: Wanted;
    readonly page: number;
    readonly end: number;
    readonly address: number;
  }[];
}

export function isAhead(token: number): boolean {
  return token <= FIRST_TOKEN;
}

export class ReadAhead {
  private readonly pieces: Piece[] = [];
  private lastToken = FIRST_TOKEN;
  /** Where the walk goes on, how many pages it has been through, and where what was read ahead ends. */
  private next = Number.POSITIVE_INFINITY;
  private walked = 0;
  private reached = -1;

  constructor(
    private readonly staging: Staging,
    private readonly source: AheadSource,
  ) {}

  /** Copies pages that were read ahead: Done, or Pending until they come. Null: not all of them were. */
  take(token: number, page: number, count: number, address: number): Status | null {
    const until = page + count;
    if (!this.hasAll(page, until)) return null;
    const wanted: Wanted = { token, missing: 0 };
    for (const piece of [...this.pieces]) {
      const first = Math.max(page, piece.first);
      const end = Math.min(until, piece.end);
      if (first >= end || piece.isStale) continue;
      const target = address + (first - page) * PAGE_BYTES;
      piece.left -= end - first;
      if (piece.isThere) this.copy(piece, first, end, target);
      else {
        wanted.missing++;
        piece.waiting.push({ wanted, page: first, end, address: target });
      }
      if (piece.isThere && piece.left <= 0) this.drop(piece);
    }
    return wanted.missing === 0 ? Status.Done : Status.Pending;
  }

  /**
   * Hears of a read, and reads what will follow.
   * @param urgent a thread waits for it; what moves otherwise begins no walk
   */
  walk(page: number, count: number, urgent: boolean): void {
    const follows = page >= this.next && page <= Math.max(this.reached, this.next + PAGES_PER_GROUP);
    if (!follows && !urgent) return;
    if (!follows) this.forget(0, Number.POSITIVE_INFINITY);
    this.walked = follows ? this.walked + count : count;
    this.next = page + count;
    this.reached = follows ? Math.max(this.reached, this.next) : this.next;
    // Where content begins a walk mostly does.
    if (!follows && !this.source.begins(page)) return;
    if (!urgent) return;
    const border = this.next - (this.next % PAGES_PER_BLOCK) + 2 * PAGES_PER_BLOCK;
    const end = Math.min(this.next + TIMES * this.walked, border);
    while (this.reached < end && this.read());
  }

  /** What was read is in staging memory. */
  arrived(token: number): void {
    const piece = this.pieces.find((each) => each.token === token);
    if (piece === undefined) return;
    piece.isThere = true;
    for (const { page, end, address } of piece.waiting) this.copy(piece, page, end, address);
    // The core, which hears of it, may ask for more of the piece at once.
    for (const { wanted } of piece.waiting.splice(0)) if (--wanted.missing === 0) this.source.taken(wanted.token);
    if (piece.isStale || piece.left <= 0) this.drop(piece);
  }

  /** These pages get another content, or may. */
  forget(first: number, count: number): void {
    for (let at = this.pieces.length - 1; at >= 0; at--) {
      const piece = this.pieces[at];
      if (piece.first >= first + count || piece.end <= first) continue;
      piece.isStale = true;
      if (piece.isThere) this.drop(piece);
    }
  }

  private hasAll(page: number, end: number): boolean {
    let at = page;
    for (let piece = this.at(at); at < end && piece !== undefined; piece = this.at(at)) at = piece.end;
    return at >= end;
  }

  private at(page: number): Piece | undefined {
    return this.pieces.find((each) => !each.isStale && each.first <= page && page < each.end);
  }

  /**
   * Reads the next piece, which ends at a multiple of its size: some times as much as what lies before it. False: there is nothing to
   * read, or no room.
   */
  private read(): boolean {
    if (this.pieces.length === MOST_PIECES) return false;
    const { reached: first } = this;
    const before = this.walked + first - this.next;
    let size = PAGES_PER_GROUP;
    while (size < PAGES_PER_BLOCK && size < TIMES * before) size *= 2;
    const end = this.source.endOfContent(first, first - (first % size) + size);
    const slot = end === first ? -1 : this.staging.takeNow();
    if (slot === -1) return false;
    const token = --this.lastToken;
    this.pieces.push({ token, first, end, slot, isThere: false, isStale: false, left: end - first, waiting: [] });
    this.reached = end;
    this.source.read(token, slot, first, end - first);
    return true;
  }

  private copy(piece: Piece, page: number, end: number, address: number): void {
    const from = this.staging.addressOf(piece.slot) + (page - piece.first) * PAGE_BYTES;
    copyMemory(address, from, (end - page) * PAGE_BYTES);
  }

  private drop(piece: Piece): void {
    const at = this.pieces.indexOf(piece);
    if (at === -1) return;
    this.pieces.splice(at, 1);
    this.staging.give(piece.slot);
  }
}
