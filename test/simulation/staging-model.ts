/**
 * Memory that pages go over from one store to the next: little of it, so that some must wait, and
 * overwritten when it is given back.
 */
import { MAX_NODES, PAGES_PER_TRANSFER } from '../../src/core/basics/types.js';
import type { Staging } from '../../src/drivers/router.js';
import { NODE_BYTES, PAGE_BYTES } from './model-device.js';

const PIECES = 2;
const PIECE_BYTES = PAGES_PER_TRANSFER * PAGE_BYTES;
/** Behind all that nodes have. */
const BASE = (MAX_NODES + 2) * NODE_BYTES;
const GARBAGE = 0x57a61e;

export class StagingModel implements Staging {
  private readonly words = new Uint32Array((PIECES * PIECE_BYTES) / 4);
  private readonly free = Array.from({ length: PIECES }, (_, piece) => BASE + piece * PIECE_BYTES);

  take(): number {
    return this.free.pop() ?? 0;
  }

  give(address: number): void {
    if (this.free.includes(address))
      throw new Error('a piece of the staging memory is given back twice');
    const from = (address - BASE) / 4;
    this.words.fill(GARBAGE, from, from + PIECE_BYTES / 4);
    this.free.push(address);
  }

  /** Whether nothing goes over it. */
  get isIdle(): boolean {
    return this.free.length === PIECES;
  }

  read(address: number, target: Uint32Array): boolean {
    if (address < BASE) return false;
    const from = (address - BASE) / 4;
    target.set(this.words.subarray(from, from + target.length));
    return true;
  }

  write(address: number, source: Uint32Array): boolean {
    if (address < BASE) return false;
    this.words.set(source, (address - BASE) / 4);
    return true;
  }
}
