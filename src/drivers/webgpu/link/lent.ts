/** What the manager and a lending thread say to each other, and the memory they share. */
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { AdapterFacts } from './protocol.js';
import { STAGING_BYTES } from './staging.js';

/** Where the manager finds a thread that has lent a GPU; it survives structured cloning. */
export interface LentPlace {
  /** Name of the broadcast channel on which the two talk. */
  readonly channel: string;
  /** An eventfd, raised when the thread has said something. */
  readonly wakeFd: number;
  /** The kernel's id of the thread. */
  readonly thread: number;
}

/** Packets are of one life of the device, from Hello on: restarts begin another. */
export interface LentMessage {
  readonly life: number;
  readonly packet: Uint8Array;
}

/** Memory of a life, with its file: the thread makes it, the driver uses it until End. */
export interface LentMemory {
  readonly address: number;
  readonly fd: number;
}

/** What the thread says when the device is there. */
export interface LentFacts extends AdapterFacts {
  readonly memory: LentMemory;
}

/** In that memory: a word that is 1 while the driver has given up, staging, and pages. */
export const GIVEN_UP_AT = 0;
export const STAGING_AT = PAGE_BYTES;
export const MIRROR_AT = STAGING_AT + STAGING_BYTES;
