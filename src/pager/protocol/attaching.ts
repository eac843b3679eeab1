/**
 * How a thread of another process comes to a space: what it says, and what it gets.
 *
 * It connects to the owner's socket and says `AttachHello`. The owner answers with `AttachOffer`
 * and the memory file. The process maps that at the same addresses, and sends a userfaultfd for
 * them, which the owner serves from then on, and the ends of two streams: one for requests
 * (frames), one by which the process is told of its end. The owner answers with `AttachWelcome`.
 */
import type { ElementType } from '../../core/basics/elements.js';
import type { WireError } from './wire.js';

/** Raised when what is said here changes. */
export const ATTACH_VERSION = 1;

/** How values of requests are written: by node:v8, or as text for other languages. */
export type Codec = 'v8' | 'json';

/** What another process may do with the arrays of a space. */
export type ShareRights = 'read' | 'write';

export interface AttachHello {
  readonly onemem: number;
  /** Of the handle; null: to look at all of the space. */
  readonly token: string | null;
  readonly codec: Codec;
  /** The process only looks, and maps nothing. Its stream comes along; `AttachWelcome` follows. */
  readonly look?: boolean;
}

export interface AttachOffer {
  readonly name: string;
  readonly base: number;
  readonly bytes: number;
  readonly userModeOnly: boolean;
  /**
   * Whether the process may store. Otherwise the descriptor is open for reading alone: it is mapped
   * privately, so that nothing that is done to the mapping reaches the space.
   */
  readonly writes: boolean;
  /** The userfaultfd of another attached thread here. Nothing is to be mapped then. */
  readonly mapped: number | null;
}

/**
 * What the process says when it has mapped the memory. The stream of requests comes along, then the
 * one of its end and the userfaultfd if they are new.
 */
export interface AttachMapped {
  /** The number of the userfaultfd in the process. */
  readonly faults: number;
  /** The thread is told of the owner's end already, since it attached before. */
  readonly watched: boolean;
}

export interface AttachWelcome {
  /** Of the client; requests that name a thread name this one, negative. */
  readonly client: number;
  readonly stores: readonly string[];
  readonly hostBudgetBytes: number;
}

export interface AttachRefusal {
  readonly refused: WireError;
}

/** What the thread of a process that watches for the owner's end is started with. */
export interface AttachedWatchData {
  /** The end of a stream by which the owner says `LifeNotice`s, a line each. */
  readonly life: number;
  readonly faults: number;
  readonly base: number;
  readonly bytes: number;
  readonly owner: number;
}

/** What a denied access of an attached process ends in. */
export const DENIED_OUTCOME =
  'A load or store ends the process (SIGBUS); a system call fails with EFAULT.';

/** A line for the standard error of a process whose access was denied; poison follows. */
export interface DenialNotice {
  readonly say: string;
  readonly page: number;
}

/** Pages whose accesses failed, and may be used again: the poison is to go. */
export interface RestoreNotice {
  readonly restored: readonly number[];
}

/**
 * Blocks, first and number of each run, that the process is to take out of its page tables, which
 * those keep small. It answers by a byte when it has.
 */
export interface IdleNotice {
  readonly idle: readonly (readonly [number, number])[];
}

export type LifeNotice = DenialNotice | RestoreNotice | IdleNotice;

/** An array as other processes find it. */
export interface ArrayListing {
  readonly range: number;
  readonly name: string;
  readonly firstPage: number;
  readonly pages: number;
  readonly length: number;
  readonly type: ElementType;
  readonly mapped: boolean;
}

export interface ProcessOverview {
  readonly pid: number;
  readonly threads: number;
}

export interface ArrayOverview {
  readonly name: string;
  /** The process with which it goes; null: it stays as long as the space. */
  readonly process: number | null;
  readonly type: ElementType | null;
  readonly length: number;
  readonly bytes: number;
  /** Bytes that each memory holds, by its name; pages that several hold count for each. */
  readonly heldBytes: Readonly<Record<string, number>>;
}

/** What a space consists of, as other processes see it. */
export interface SpaceOverview {
  /** Memories: their bytes in use, and the most that there may be. */
  readonly memories: readonly {
    readonly name: string;
    readonly kind: 'host' | 'store' | 'device';
    readonly usedBytes: number;
    readonly budgetBytes: number;
  }[];
  readonly processes: readonly ProcessOverview[];
  readonly arrays: readonly ArrayOverview[];
}

/** Each process takes numbers of streams, pins and notifiers from a part of its own. */
export const NUMBERS_PER_CLIENT = 2 ** 20;

/** What a handle for other processes says. */
export interface HandleParts {
  readonly owner: number;
  readonly socket: string;
  readonly token: string;
}

const HANDLE = /^onemem:(\d{1,10}):([0-9A-Za-z._-]{1,80}):([0-9a-f]{24})$/;

export function handleText({ owner, socket, token }: HandleParts): string {
  return `onemem:${owner}:${socket}:${token}`;
}

/** Null: the text is no handle. */
export function readHandle(text: string): HandleParts | null {
  const found = HANDLE.exec(text.trim());
  return found === null ? null : { owner: Number(found[1]), socket: found[2], token: found[3] };
}

export function socketName(socket: string): string {
  return `onemem-${socket}`;
}

/** What a space that programs find by a name may be called. */
export const SPACE_NAME = /^[0-9A-Za-z_-][0-9A-Za-z._-]{0,63}$/;

/** The socket of a space that is found by a name: each user has names of their own. */
export function namedSocket(user: number, name: string): string {
  return `${user}.${name}`;
}

/** The name of the space; null: it has none. */
export function nameOfSocket(socket: string): string | null {
  return /^\d+\.(.+)$/.exec(socket)?.[1] ?? null;
}

/** The most bytes of arrays whose name is this one, or begins with it and a slash. */
export interface Quota {
  readonly name: string;
  readonly bytes: number;
}
