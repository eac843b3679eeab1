/** Where an array is that several machines share, and whether programs agree on it. */
import {
  bytesOf,
  constructorName,
  type ElementType,
  isElementType,
} from '../../core/basics/elements.js';
import { BLOCK_BYTES, PAGE_BYTES } from '../../core/basics/types.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { SharingPlace, SharingSource } from '../../pager/protocol/sharing.js';
import type { ArrayShape, KnownArray } from '../../sharing/description.js';
import { valkeyAddress } from '../../valkey/address.js';
import type { TlsOptions } from '../../valkey/connection.js';
import { ValkeyError } from '../../valkey/errors.js';
import { checkMs, checkOptions, show } from '../values/arguments.js';
import { argumentError, OnememError, typeError } from '../values/errors.js';
import { toBytes } from '../values/sizes.js';
import { warnOfRoom } from './server-room.js';
import { checkServerUrls, serverUrls } from './server-url.js';

/** A Valkey server, or Redis 7 or newer, or any server of a cluster. */
export interface SharingServer {
  /**
   * `valkey://USER:PASSWORD@HOST:PORT/DATABASE`, `valkeys://` with TLS, or `unix:///PATH`. A list
   * names servers of one cluster; the first that answers is used.
   */
  readonly url: string | readonly string[];
  /** Milliseconds that a touch or call waits for a silent server; 5000 by default. */
  readonly timeoutMs?: number;
  /**
   * Milliseconds that others wait for this program when it is silent; 5000 by default, at least
   * 1000.
   */
  readonly leaseMs?: number;
  /** Milliseconds that launches and copies may keep blocks from others; 60,000 by default. */
  readonly holdMs?: number;
  /** Certificates as for node:tls, with `valkeys://`. */
  readonly tls?: TlsOptions;
}

/** Options of `space.sharedArray`. */
export interface SharedArrayOptions {
  /** Programs that open the same name on the same server have the same array. */
  readonly name: string;
  readonly on: SharingServer;
  /**
   * The unit of transfer, a power of two from 4 KiB to 2 MiB, the same for all; 64 KiB by default.
   */
  readonly blockBytes?: number | string;
}

export const SHARED_ARRAY_OPTIONS: OptionNames<SharedArrayOptions> = {
  name: true,
  on: true,
  blockBytes: true,
};
const SERVER_OPTIONS: OptionNames<SharingServer> = {
  url: true,
  timeoutMs: true,
  leaseMs: true,
  holdMs: true,
  tls: true,
};

const DEFAULT_BLOCK_BYTES = 65_536;
/** A machine and the server keep books about each of them. */
const MOST_BLOCKS = 65_536;
const TIMEOUT_MS = 5000;
const LEASE_MS = 5000;
const HOLD_MS = 60_000;
const LEAST_LEASE_MS = 1000;
const LONGEST_NAME = 200;

/** What is said about a shared array can be known without asking the server. */
export function sharingPlace(
  options: SharedArrayOptions,
  type: ElementType,
  length: number,
): { name: string; place: SharingPlace } {
  const { name, on, blockBytes } = options;
  checkName('a shared array', name, ', the same in all programs');
  const what = `array ${name}`;
  // Its text may have a password in it.
  if (typeof on === 'string')
    throw typeError(
      'OPTIONS',
      `on of ${what} is a string; it must be an object of options: { url: 'valkey://HOST:PORT' }`,
    );
  checkOptions(`on of ${what}`, on, SERVER_OPTIONS);
  const { timeoutMs = TIMEOUT_MS, leaseMs = LEASE_MS, holdMs = HOLD_MS, tls } = on;
  const urls = serverUrls(`on.url of ${what}`, on.url, 'SHARED_SERVER');
  checkMs(`on.timeoutMs of ${what}`, timeoutMs, 1);
  checkMs(`on.leaseMs of ${what}`, leaseMs, LEAST_LEASE_MS);
  checkMs(`on.holdMs of ${what}`, holdMs, 1);
  const bytes =
    blockBytes === undefined ? DEFAULT_BLOCK_BYTES : toBytes(`blockBytes of ${what}`, blockBytes);
  if (bytes < PAGE_BYTES || bytes > BLOCK_BYTES || (bytes & (bytes - 1)) !== 0) {
    const message = `blockBytes of ${what} is ${bytes}; it must be a power of two from ${PAGE_BYTES} (4KiB) to ${BLOCK_BYTES} (2MiB)`;
    throw argumentError('BLOCK_BYTES', message);
  }
  const blocks = Math.ceil((length * bytesOf(type)) / bytes);
  if (blocks > MOST_BLOCKS) {
    const message = `${what} has ${blocks} blocks of ${bytes} bytes; ${MOST_BLOCKS} are the most, so choose a larger blockBytes, or several arrays`;
    throw argumentError('BLOCK_BYTES', message);
  }
  try {
    checkServerUrls(`on of ${what}`, urls, tls, 'SHARED_SERVER');
  } catch (error) {
    throw serverError(name, error);
  }
  return { name, place: { urls, tls: tls ?? {}, timeoutMs, leaseMs, holdMs, blockBytes: bytes } };
}

/** Asks the server whether it can be used, and whether the array is there in another shape. */
export async function agree(
  name: string,
  place: SharingPlace,
  type: ElementType,
  length: number,
): Promise<SharingSource> {
  const { tls, timeoutMs, blockBytes } = place;
  const wanted = { type, length, blockBytes };
  // Of interest to few, and not small.
  const { checkServer } = await import('../../valkey/check.js');
  const { agreedArray, isSameShape } = await import('../../sharing/description.js');
  const { keysOf } = await import('../../sharing/steps.js');
  let known: KnownArray | null;
  let urls: readonly string[];
  let hosts: SharingSource['hosts'];
  try {
    const checked = await checkServer(place.urls, { timeoutMs, tls, key: keysOf(name).shape });
    ({ urls, hosts } = checked);
    const bytes = length * bytesOf(type);
    const then = 'writes stay in this program, and fence() and close() reject';
    warnOfRoom(checked.memory, {
      what: `shared array ${name} has ${bytes} bytes`,
      bytes,
      mayBeThere: true,
      then,
    });
    known = await agreedArray(urls, name, wanted, { timeoutMs, tls });
  } catch (error) {
    throw serverError(name, error);
  }
  const server = valkeyAddress(urls[0]).shown;
  if (known === null) {
    const message =
      `cannot open shared array ${name}: ${server} still has parts of it, but has lost its key ` +
      `{onemem:${name}}:shape, which was evicted or removed; set maxmemory-policy noeviction on ` +
      'the server. When no program uses the array any more, remove the rest of its keys ' +
      `({onemem:${name}}*)`;
    throw new OnememError('DATA_LOST', message, { array: name, url: server });
  }
  if (isSameShape(known, wanted)) return { ...place, urls, hosts, made: known.made };
  const message =
    `array ${name} on ${server} has ${shown(known)}, and not ${shown(wanted)}; open it as it is, choose another name, ` +
    `or, when nobody uses it any more, remove its keys ({onemem:${name}}*) from the server`;
  const { made: _, ...found } = known;
  throw new OnememError('SHARED_MISMATCH', message, { array: name, ...found });
}

function shown({ type, length, blockBytes }: ArrayShape): string {
  const elements = isElementType(type) ? constructorName(type) : type;
  return `${length} elements of ${elements} in blocks of ${blockBytes} bytes`;
}

function serverError(name: string, error: unknown): unknown {
  if (!(error instanceof ValkeyError)) return error;
  const message = `cannot open shared array ${name}: ${error.message}`;
  return new OnememError(
    'SHARED_SERVER',
    message,
    { array: name, reason: error.code },
    { cause: error },
  );
}

/** Names are parts of keys on the server. */
export function checkName(what: string, name: unknown, more = ''): void {
  if (
    typeof name === 'string' &&
    name !== '' &&
    name.length <= LONGEST_NAME &&
    !/[{}\s]/.test(name)
  )
    return;
  const message = `the name of ${what} is ${show(name)}; it must be 1 to ${LONGEST_NAME} characters without blanks and braces${more}`;
  throw argumentError('NAME', message);
}
