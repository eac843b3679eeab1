/** What a machine and the server of a shared array say to each other. `C` is a block's content. */

export type Right = 'read' | 'write';
export type Rights = 'none' | Right;

const STRENGTH: Record<Rights, number> = { none: 0, read: 1, write: 2 };

/** Whether a right is more than another one. */
export function exceeds(right: Rights, other: Rights): boolean {
  return STRENGTH[right] > STRENGTH[other];
}

/**
 * A block that a machine owned before its connection or its lease ended: `epoch` names the grant,
 * `version` the content that the server has by what the machine knows; 0: the machine has a newer
 * one, whatever the server has. `flush` is the number by which the machine has flushed its content,
 * without an answer yet; 0: it has not.
 */
export interface Claim {
  readonly block: number;
  readonly epoch: number;
  readonly version: number;
  readonly flush: number;
}

export type Request<C> =
  /** Begins a session. `made` tells the array from others made under its name. */
  | { readonly kind: 'hello'; readonly made: string }
  /**
   * The first of a session, in place of an earlier one (0: of none), whose copies are gone and
   * whose blocks are claimed. What the machine has said so in an earlier session and comes late
   * takes nothing from it.
   */
  | {
      readonly kind: 'claim';
      readonly session: number;
      readonly previous: number;
      readonly claims: readonly Claim[];
    }
  /** `have` is the version of the content that is on the machine already, 0 if none is. */
  | {
      readonly kind: 'acquire';
      readonly session: number;
      readonly block: number;
      readonly right: Right;
      readonly have: number;
    }
  /**
   * The owner's content, null if it is what the server has, and which right the owner keeps.
   * `flush` is the same number for the same content, and another one for each other that the
   * machine sends; 0 without one.
   */
  | {
      readonly kind: 'flush';
      readonly session: number;
      readonly block: number;
      readonly epoch: number;
      readonly flush: number;
      readonly content: C | null;
      readonly keep: Rights;
    }
  /** The copy that was read is gone. What was granted before the server heard it is given back. */
  | { readonly kind: 'release'; readonly session: number; readonly block: number }
  /** A session that is in the way of this one may have gone: the server looks again. */
  | { readonly kind: 'remind'; readonly session: number; readonly block: number };

/** Stands for a content that the server has no more, or has other than it was written. */
export const SPOILED = 'spoiled';
export type Spoiled = typeof SPOILED;

/** `content` is null if the machine has it. A spoiled one is given back unused. */
export interface Granted<C> {
  readonly kind: 'granted';
  readonly block: number;
  readonly right: Right;
  readonly epoch: number;
  readonly version: number;
  readonly content: C | null | Spoiled;
}

export type Reply<C> =
  | { readonly kind: 'welcome'; readonly session: number }
  /**
   * Which claims hold, which do not because others came after them, with less than the machine has
   * sent, and of which the server has an older content than the machine had flushed: it was started
   * again without what came last, or replaced by a copy that lags. What is named in none had been
   * flushed.
   */
  | {
      readonly kind: 'claimed';
      readonly kept: readonly number[];
      readonly lost: readonly number[];
      readonly older: readonly number[];
    }
  /** The array that the machine has opened is not there any more: no session begins. */
  | { readonly kind: 'forgotten' }
  | Granted<C>
  /** Others have the block, or wait for it longer: a notice grants it. */
  | { readonly kind: 'wait'; readonly block: number }
  | { readonly kind: 'flushed'; readonly block: number; readonly version: number }
  /** The session is over, or another one has the block. */
  | { readonly kind: 'refused' };

/** What the server says of itself, to the session `to`. */
export type Notice<C> =
  /** Another machine waits for this right: give up what is in the way of it. */
  | { readonly kind: 'recall'; readonly to: number; readonly block: number; readonly right: Right }
  /** The machine has what it waited for. */
  | (Granted<C> & { readonly to: number })
  /** For all sessions: the owner's lease has ended, and what it had not flushed is lost. */
  | { readonly kind: 'lost'; readonly to: 'all'; readonly block: number };
