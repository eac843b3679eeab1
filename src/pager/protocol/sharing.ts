/** What the manager and the thread that speaks for a shared array tell each other. */
import type { MessagePort } from 'node:worker_threads';
import type { DenyReason } from '../../core/basics/types.js';
import type { TlsOptions } from '../../valkey/connection.js';
import type { HostAddresses } from '../../valkey/host-addresses.js';
import type { Start } from './starting.js';
import type { WireError } from './wire.js';

/**
 * What helps where elements are lost: such an array is not emptied, and one that has lost a block
 * here is of no more use to this program, overwritten or not.
 */
export const OPEN_AGAIN = 'free it and open it again to get the flushed content';

/** Where an array is that several machines share, and how long they wait for each other. */
export interface SharingPlace {
  /** Of one server, or of several of one cluster, the one that answered first. */
  readonly urls: readonly string[];
  readonly tls: TlsOptions;
  readonly timeoutMs: number;
  readonly leaseMs: number;
  readonly holdMs: number;
  readonly blockBytes: number;
}

/** The array that was found there. */
export interface SharingSource extends SharingPlace {
  /** Addresses of the names in the URLs. */
  readonly hosts: HostAddresses;
  /** Names it (sharing/description.ts). */
  readonly made: string;
}

export interface SharingThreadData {
  readonly source: SharingSource;
  readonly name: string;
  readonly blocks: number;
  readonly elementBytes: number;
  /** Read by the manager without an event loop. */
  readonly port: MessagePort;
  readonly wakeFd: number;
  /** How many operations run that hold blocks, in its first word. */
  readonly running: SharedArrayBuffer;
  /** Its end is told when the thread is up. */
  readonly start: Start;
}

/** What programs ask of an array that is shared, besides its elements. */
export type SharingCall =
  /** Has the server have what was written. */
  | { readonly kind: 'fence' }
  /** The same, then waits until so many programs have come. */
  | {
      readonly kind: 'barrier';
      readonly name: string;
      readonly count: number;
      readonly timeoutMs: number | null;
    };

export type ToSharing =
  | { readonly kind: 'touch'; readonly block: number; readonly right: 'read' | 'write' }
  /** `at`: when threads were given the block, by `monotonicMs`. */
  | { readonly kind: 'installed'; readonly block: number; readonly at: number }
  | { readonly kind: 'notInstalled'; readonly block: number }
  | {
      readonly kind: 'restricted';
      readonly block: number;
      readonly content: Uint8Array<ArrayBuffer> | null;
    }
  | { readonly kind: 'broken'; readonly block: number; readonly reason: DenyReason }
  | { readonly kind: 'call'; readonly id: number; readonly call: SharingCall }
  | { readonly kind: 'leave' };

export type FromSharing =
  | {
      readonly kind: 'install';
      readonly block: number;
      readonly content: Uint8Array | null;
      readonly right: 'read' | 'write';
    }
  /** `isOver`: not for others alone, but since this machine has no right to the block any more. */
  | {
      readonly kind: 'restrict';
      readonly block: number;
      readonly right: 'none' | 'read';
      readonly isOver: boolean;
    }
  /** The machine has no right to any block: what is restricted waits no more. */
  | { readonly kind: 'ended' }
  | { readonly kind: 'clean'; readonly block: number }
  /**
   * The threads that wait for the block are denied it: the server does not answer, has forgotten
   * the array, has not the block as it was written (GONE), or what this machine wrote cannot be
   * had. `why`: what the server says of this block alone.
   */
  | {
      readonly kind: 'refuse';
      readonly block: number;
      readonly reason: DenyReason;
      readonly why?: string;
    }
  /** Threads that were denied the block may wait for it again. */
  | { readonly kind: 'again'; readonly block: number }
  /** What was written and not flushed is lost, here (`own`) or on another machine. */
  | { readonly kind: 'lost'; readonly block: number; readonly own: boolean }
  /** The server has forgotten the array, flushed content included: every block is refused. */
  | { readonly kind: 'forgotten' }
  /** What the server does instead of connecting, to end a sentence; null: it is back. */
  | { readonly kind: 'connection'; readonly problem: string | null }
  | { readonly kind: 'answer'; readonly id: number; readonly failure: WireError | null }
  /** `failure`: what was written is lost, which no call has been told yet. */
  | { readonly kind: 'left'; readonly failure: WireError | null };
