/**
 * Operations that use blocks of arrays which other machines have, too: launches, copies,
 * prefetches. Each holds its blocks for as long as it runs, and what others want of these waits for
 * its end.
 *
 * Blocks are asked for together, and held in their order (by array, and by block), which is the
 * same on all machines: an operation that waits for a block holds only those before it, so that no
 * two wait for each other. What others want of a block that is not held yet they get, and it is
 * asked for again.
 *
 * A hold is broken when its machine has no right to the block any more, or when others have waited
 * for too long. The operation fails then.
 */
import { exceeds, type Right, type Rights } from '../../../coherence/messages.js';

export interface BlockPort {
  /** An operation waits for a right. */
  touch(block: number, right: Right): void;
  /** Leaves threads and devices no more than the right. */
  restrict(block: number, right: 'none' | 'read'): void;
  /** So many operations run that hold blocks. */
  running(count: number): void;
}

/** `ended`: the machine has no right any more. `taken`: others waited too long. `freed`: gone. */
export type Breach = 'ended' | 'taken' | 'freed';

/** What others want of a block. */
interface Wish {
  readonly right: 'none' | 'read';
  readonly since: number;
}

export class BlockHolds<R> {
  private readonly rights = new Map<number, Right>();
  private readonly coming = new Map<number, Right>();
  private readonly holders = new Map<number, Map<Hold<R>, Right>>();
  private readonly waiting = new Map<number, Set<Hold<R>>>();
  private readonly wishes = new Map<number, Wish>();
  private runs = 0;
  /** Why nothing is to be had any more. */
  private over: R | null = null;

  constructor(
    /** Arrays are held in the order of their names. */
    readonly name: string,
    /** How long others wait for operations. */
    readonly holdMs: number,
    private readonly port: BlockPort,
    private readonly now: () => number,
  ) {}

  /** A block is being given to this machine. */
  installing(block: number, right: Right): void {
    this.coming.set(block, right);
  }

  installed(block: number): void {
    this.rights.set(block, this.coming.get(block) as Right);
    this.coming.delete(block);
    this.wake(block);
  }

  /** Others want the block when its holders leave it. @param isOver it is another machine's */
  restrict(block: number, right: 'none' | 'read', isOver: boolean): void {
    this.wishes.set(block, { right, since: this.now() });
    if (isOver) this.breakUp(block, right, 'ended');
    this.settle(block);
  }

  /**
   * This machine has no right to any block: others, which may have them, wait for no operation any
   * more. A block that is restricted later is said to be over by `restrict`.
   */
  ended(): void {
    for (const [block, { right }] of [...this.wishes]) this.breakUp(block, right, 'ended');
  }

  /** Operations that wait for the block wait no longer. */
  refuse(block: number, reason: R): void {
    for (const hold of [...(this.waiting.get(block) ?? [])]) hold.refused(this, block, reason);
  }

  /** Nothing is to be had of the array any more. */
  end(reason: R, why: Breach): void {
    this.over = reason;
    for (const block of [...this.waiting.keys()]) this.refuse(block, reason);
    for (const block of [...this.holders.keys()]) this.breakUp(block, 'none', why);
  }

  /** Takes blocks from operations that keep others waiting too long. To be called often. */
  look(): void {
    if (this.wishes.size === 0) return;
    const now = this.now();
    for (const [block, { right, since }] of [...this.wishes])
      if (now - since >= this.holdMs) this.breakUp(block, right, 'taken');
  }

  /** Whether an operation has the block from now on; otherwise it is told when that may be so. */
  take(hold: Hold<R>, block: number, right: Right): boolean {
    if (this.over !== null) {
      hold.refused(this, block, this.over);
      return false;
    }
    if (exceeds(right, this.rights.get(block) ?? 'none') || this.wishes.has(block)) {
      this.waiting.set(block, (this.waiting.get(block) ?? new Set()).add(hold));
      this.port.touch(block, right);
      return false;
    }
    this.forget(hold, block);
    this.holders.set(
      block,
      (this.holders.get(block) ?? new Map<Hold<R>, Right>()).set(hold, right),
    );
    return true;
  }

  /** The block will be taken. */
  expect(block: number, right: Right): void {
    if (this.over === null && exceeds(right, this.rights.get(block) ?? 'none'))
      this.port.touch(block, right);
  }

  /** The operation does not hold the block any more, nor wait for it. */
  release(hold: Hold<R>, block: number): void {
    this.forget(hold, block);
    const holders = this.holders.get(block);
    holders?.delete(hold);
    if (holders?.size === 0) this.holders.delete(block);
    this.settle(block);
  }

  /** An operation that holds blocks begins (1), or has ended (-1). */
  count(change: 1 | -1): void {
    this.runs += change;
    this.port.running(this.runs);
  }

  private forget(hold: Hold<R>, block: number): void {
    const waiting = this.waiting.get(block);
    waiting?.delete(hold);
    if (waiting?.size === 0) this.waiting.delete(block);
  }

  /** Gives others what they want of a block unless operations hold it. */
  private settle(block: number): void {
    const wish = this.wishes.get(block);
    if (wish === undefined) return;
    const { right } = wish;
    if ([...(this.holders.get(block)?.values() ?? [])].some((held) => exceeds(held, right))) return;
    this.wishes.delete(block);
    if (right === 'none') this.rights.delete(block);
    else if (this.rights.has(block)) this.rights.set(block, right);
    this.port.restrict(block, right);
    // Operations that wait for it ask again.
    this.wake(block);
  }

  private wake(block: number): void {
    for (const hold of [...(this.waiting.get(block) ?? [])]) hold.goOn();
  }

  private breakUp(block: number, right: Rights, why: Breach): void {
    for (const [hold, held] of [...(this.holders.get(block) ?? [])])
      if (exceeds(held, right)) hold.broken(this, why);
  }
}

export interface Need<R> {
  readonly array: BlockHolds<R>;
  readonly block: number;
  readonly right: Right;
}

/** Why the blocks of an operation cannot be had. */
export interface Refusal<R> {
  readonly array: BlockHolds<R>;
  readonly block: number;
  readonly reason: R;
}

export class Hold<R> {
  /** Why the operation, which runs, has failed. */
  breach: { readonly array: BlockHolds<R>; readonly why: Breach } | null = null;
  private readonly needs: readonly Need<R>[];
  /** Those before it are held. */
  private at = 0;
  private state: 'waiting' | 'held' | 'ended' = 'waiting';
  /** The arrays of which it holds blocks while it runs. */
  private used: readonly BlockHolds<R>[] = [];

  /** @param done hears null when all are held, or why they cannot be; perhaps before it returns */
  constructor(
    needs: readonly Need<R>[],
    private readonly done: (refusal: Refusal<R> | null) => void,
  ) {
    this.needs = inOrder(needs);
  }

  get isWaiting(): boolean {
    return this.state === 'waiting';
  }

  begin(): void {
    for (const { array, block, right } of this.needs) array.expect(block, right);
    this.goOn();
  }

  /** A block that it waits for may be there, or have gone. */
  goOn(): void {
    for (; this.state === 'waiting' && this.at < this.needs.length; this.at++) {
      const { array, block, right } = this.needs[this.at];
      if (!array.take(this, block, right)) return;
    }
    if (this.state !== 'waiting') return;
    this.state = 'held';
    this.used = [...new Set(this.needs.map(({ array }) => array))];
    for (const array of this.used) array.count(1);
    this.done(null);
  }

  refused(array: BlockHolds<R>, block: number, reason: R): void {
    if (this.state !== 'waiting') return;
    this.end();
    this.done({ array, block, reason });
  }

  /** Blocks that it held are others'. Where it has not begun it begins to wait again. */
  broken(array: BlockHolds<R>, why: Breach): void {
    if (this.state === 'held') this.breach ??= { array, why };
    this.releaseAll();
    this.goOn();
  }

  /** The operation has ended, or is not to begin. */
  end(): void {
    this.state = 'ended';
    this.releaseAll();
  }

  private releaseAll(): void {
    for (const array of this.used) array.count(-1);
    this.used = [];
    // The one that it waits for is among them.
    const taken = this.needs.slice(0, this.at + 1);
    this.at = 0;
    for (const { array, block } of taken) array.release(this, block);
  }
}

/** Each block once, with the greater right. */
function inOrder<R>(needs: readonly Need<R>[]): Need<R>[] {
  const sorted = [...needs].sort((a, b) =>
    a.array === b.array
      ? a.block - b.block || (a.right === 'write' ? -1 : 1)
      : a.array.name < b.array.name
        ? -1
        : 1,
  );
  return sorted.filter(
    ({ array, block }, at) => sorted[at - 1]?.array !== array || sorted[at - 1].block !== block,
  );
}
