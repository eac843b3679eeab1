/**
 * Pages on their way from the host to a GPU. They are wanted on the host a batch at a time, and the
 * manager puts them together in staging memory a piece at a time, between which it looks at the
 * faults. The engine gets them as soon as it is known where to.
 */
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { PageCopy } from '../../../wgsl/dividing/page-rounds.js';
import type { WantedFor } from '../../wgsl-launch.js';
import type { Part } from '../link/protocol.js';
import { STAGING_SLOT_BYTES } from '../link/staging.js';
import type { Pages } from './launch-plan.js';

/** Bytes of pages that are wanted on the host at once. */
export const BATCH_BYTES = 4 * 2 ** 20;
/** Bytes that the manager copies between two looks at the faults. */
const PIECE_BYTES = 256 * 2 ** 10;

/** What is asked of the manager and of the engine. */
export interface FeedOutlet {
  /**
   * `supplied` answers.
   * @param atOnce what is done with them has been done when it returns
   */
  want(pages: readonly Pages[], wantedFor: WantedFor, atOnce: boolean): void;
  /** A slot of staging memory; -1: there is none just now. */
  takeSlot(): number;
  giveSlot(slot: number): void;
  /** Copies bytes of the host's memory that were wanted to a slot. */
  copy(at: number, bytes: number, slot: number, to: number): void;
  /** The engine has what a slot begins with, and gives back the slot. */
  send(slot: number, parts: readonly Part[]): void;
}

export class PageFeed {
  /** The next one last. */
  private readonly batches: PageCopy[][];
  /** What is left of the batch whose pages have been on the host, the next one last. */
  private pieces: PageCopy[][] = [];
  private asked = false;
  /** Slots that have not been sent, with the bytes of the last of them. */
  private readonly filled: { readonly slot: number; readonly copies: PageCopy[] }[] = [];
  private lastBytes = 0;
  private partsOf: ((copies: readonly PageCopy[]) => readonly Part[]) | null = null;
  private done: () => void = () => undefined;
  private closed = false;

  constructor(
    copies: readonly PageCopy[],
    private readonly wantedFor: WantedFor,
    /** Where bytes begin on the host. */
    private readonly placeOf: (copy: PageCopy) => number,
    private readonly outlet: FeedOutlet,
  ) {
    this.batches = cut(copies, BATCH_BYTES).reverse();
  }

  start(): void {
    const batch = this.batches.at(-1);
    if (batch === undefined) this.send();
    else this.want(batch, this.wantedFor, false);
  }

  /** The pages that were wanted are on the host. */
  supplied(): void {
    this.asked = false;
    if (this.pieces.length === 0)
      this.pieces = cut(this.batches.at(-1) as PageCopy[], PIECE_BYTES).reverse();
    const piece = this.pieces.at(-1) as PageCopy[];
    if (!this.hasRoom(piece)) return;
    const { slot, copies } = this.filled[this.filled.length - 1];
    for (const each of piece) {
      this.outlet.copy(this.placeOf(each), each.bytes, slot, this.lastBytes);
      this.lastBytes += each.bytes;
      copies.push(each);
    }
    this.pieces.pop();
    if (this.pieces.length > 0) return;
    this.batches.pop();
    this.start();
  }

  /** Goes on with the next piece, whose pages may be lost again. False: none, or no room. */
  step(): boolean {
    const piece = this.pieces.at(-1);
    if (piece === undefined || this.asked || this.closed || !this.hasRoom(piece)) return false;
    this.want(piece, 'look', true);
    return true;
  }

  /**
   * From now on what has been put together is sent.
   * @param done called when all has been
   */
  open(partsOf: (copies: readonly PageCopy[]) => readonly Part[], done: () => void): void {
    this.partsOf = partsOf;
    this.done = done;
    this.send();
  }

  /** Nothing more is sent. */
  close(): void {
    this.closed = true;
    for (const { slot } of this.filled.splice(0)) this.outlet.giveSlot(slot);
  }

  private want(copies: readonly PageCopy[], wantedFor: WantedFor, atOnce: boolean): void {
    this.asked = true;
    this.outlet.want(pagesIn(copies, this.placeOf), wantedFor, atOnce);
  }

  /** Whether the last slot has room for a piece; if not there is another, if there can be. */
  private hasRoom(piece: readonly PageCopy[]): boolean {
    const bytes = piece.reduce((sum, each) => sum + each.bytes, 0);
    if (this.filled.length > 0 && this.lastBytes + bytes <= STAGING_SLOT_BYTES) return true;
    this.send();
    const slot = this.outlet.takeSlot();
    if (slot === -1) return false;
    this.filled.push({ slot, copies: [] });
    this.lastBytes = 0;
    return true;
  }

  private send(): void {
    if (this.partsOf === null) return;
    for (const { slot, copies } of this.filled.splice(0))
      this.outlet.send(slot, this.partsOf(copies));
    if (this.batches.length > 0) return;
    const { done } = this;
    this.done = () => undefined;
    done();
  }
}

/** Pieces of so many bytes at most. */
export function cut(copies: readonly PageCopy[], most: number): PageCopy[][] {
  const pieces: PageCopy[][] = [];
  let room = 0;
  for (const copy of copies) {
    for (let done = 0; done < copy.bytes; ) {
      if (room === 0) {
        pieces.push([]);
        room = most;
      }
      const bytes = Math.min(room, copy.bytes - done);
      const { table, place, frame } = copy;
      pieces[pieces.length - 1].push({ table, place: place + done, bytes, frame: frame + done });
      done += bytes;
      room -= bytes;
    }
  }
  return pieces;
}

/** Runs of pages, none twice, in which bytes lie that begin at a place. */
export function pagesIn<T extends { readonly bytes: number }>(
  all: readonly T[],
  placeOf: (each: T) => number,
): Pages[] {
  const runs: { first: number; count: number }[] = [];
  const isAscending = all.every((each, at) => at === 0 || placeOf(all[at - 1]) <= placeOf(each));
  const sorted = isAscending ? all : [...all].sort((one, other) => placeOf(one) - placeOf(other));
  for (const each of sorted) {
    const at = placeOf(each);
    const first = Math.floor(at / PAGE_BYTES);
    const end = Math.ceil((at + each.bytes) / PAGE_BYTES);
    const last = runs.at(-1);
    if (last !== undefined && first <= last.first + last.count)
      last.count = Math.max(last.count, end - last.first);
    else runs.push({ first, count: end - first });
  }
  return runs;
}
