/** What operations use of shared arrays: held from before they begin until they end. */
import { type DenyReason, PAGE_BYTES } from '../../../core/basics/types.js';
import { type WireError, wireError } from '../../protocol/wire.js';
import type { Places } from '../table/places.js';
import { type Breach, Hold, type Refusal } from './block-holds.js';
import type { SharedArrays, UsedPages } from './shared-arrays.js';

/** The blocks that an operation holds, or waits for. */
export interface SharedUse {
  readonly isWaiting: boolean;
  /** Lets others have the blocks. @param failure of the operation; what is true comes back */
  end(failure: WireError | null): WireError | null;
}

export class SharedUses {
  private readonly waiting = new Set<() => void>();

  constructor(
    private readonly sharedArrays: SharedArrays,
    private readonly places: Places,
    private readonly later: (action: () => void) => void,
  ) {}

  /** Whether some of the pages are of arrays that other machines have, too. */
  isNeeded(pages: readonly { readonly first: number; readonly count: number }[]): boolean {
    return (
      this.sharedArrays.needsOf(pages.map(({ first, count }) => ({ first, count, write: false })))
        .length > 0
    );
  }

  /**
   * Has an operation hold what it uses. Null: it uses nothing that is shared.
   *
   * @param operation as messages name it
   * @param ready is told once, later than this returns, when it may begin (null), or why it cannot
   */
  begin(
    operation: string,
    used: readonly UsedPages[],
    ready: (failure: WireError | null) => void,
  ): SharedUse | null {
    const needs = this.sharedArrays.needsOf(used);
    if (needs.length === 0) return null;
    const hold: Hold<DenyReason> = new Hold(needs, (refusal) => {
      this.waiting.delete(cancel);
      this.later(() => ready(refusal === null ? null : this.refusalError(operation, refusal)));
    });
    const cancel = (): void => {
      this.waiting.delete(cancel);
      hold.end();
      this.later(() =>
        ready(wireError('SPACE_CLOSED', `${operation} was cancelled: the space is being closed`)),
      );
    };
    this.waiting.add(cancel);
    hold.begin();
    return {
      get isWaiting() {
        return hold.isWaiting;
      },
      end: (failure) => {
        this.waiting.delete(cancel);
        hold.end();
        const { breach } = hold;
        return breach === null
          ? failure
          : breachError(operation, breach.array.name, breach.why, breach.array.holdMs);
      },
    };
  }

  /**
   * Has something done while an operation holds what it uses.
   *
   * @param operation as messages name it
   * @param run is told how to end: what that gives is the operation's failure in truth
   * @param refuse hears why the operation is not to be
   * @returns what it holds, or waits for; null: nothing
   */
  during(
    operation: string,
    used: readonly UsedPages[],
    run: (end: (failure: WireError | null) => WireError | null) => void,
    refuse: (failure: WireError) => void,
  ): SharedUse | null {
    const use = this.begin(operation, used, (failure) => {
      if (failure !== null) refuse(failure);
      else run((error) => use?.end(error) ?? null);
    });
    if (use === null) run((error) => error);
    return use;
  }

  private refusalError(
    operation: string,
    { array, block, reason }: Refusal<DenyReason>,
  ): WireError {
    return this.places.denialError(reason, this.sharedArrays.pageOf(array, block), operation);
  }

  /** Operations that wait for blocks do not begin. */
  cancelAll(): void {
    for (const cancel of [...this.waiting]) cancel();
  }
}

export function usedBytes(offset: number, bytes: number, write: boolean): UsedPages {
  const first = Math.floor(offset / PAGE_BYTES);
  return { first, count: Math.ceil((offset + bytes) / PAGE_BYTES) - first, write };
}

function breachError(operation: string, name: string, why: Breach, holdMs: number): WireError {
  const details = { array: name };
  if (why === 'freed')
    return wireError(
      'USE_AFTER_FREE',
      `${operation} used array ${name}, which was freed meanwhile`,
      details,
    );
  if (why === 'taken') {
    const text =
      `${operation} kept other machines waiting for blocks of array ${name} for ${holdMs} ms, and ` +
      'lost them; its writes there are incomplete: open the array with a larger on.holdMs, or ' +
      'use less of it at once';
    return wireError('SHARED_TAKEN', text, details);
  }
  const text =
    `${operation} used array ${name} while this machine lost its blocks, because its connection ` +
    'broke or its lease ended: it may have read old content; do it again';
  return wireError('NODE_LOST', text, details);
}
