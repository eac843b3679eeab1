/** Memory of other machines, where pages go that neither host memory nor storage has room for. */
import type { OptionNames } from '../../messages/option-names.js';
import type { ServerOptions } from '../../pager/protocol/space.js';
import type { TlsOptions } from '../../valkey/connection.js';
import { ValkeyError } from '../../valkey/errors.js';
import { checkMs, checkOptions, show } from '../values/arguments.js';
import { argumentError, OnememError } from '../values/errors.js';
import { storeBudget } from '../values/sizes.js';
import { warnOfRoom } from './server-room.js';
import { checkServerUrls, serverUrls } from './server-url.js';

/** A Valkey server, or Redis 7 or newer, or servers of a cluster, that keeps pages of a space. */
export interface BehindSpecification {
  readonly kind: 'valkey';
  /**
   * `valkey://USER:PASSWORD@HOST:PORT/DATABASE`, `valkeys://` with TLS, or `unix:///PATH`. A list
   * names servers of one cluster; the first that answers is used.
   */
  readonly url: string | readonly string[];
  /** The most bytes of pages on the server. */
  readonly bytes: number | string;
  /** Milliseconds that a touch waits for a silent server; 5000 by default. */
  readonly timeoutMs?: number;
  /**
   * Milliseconds that pages outlive a program that does not close its space; an hour by default.
   */
  readonly leaseMs?: number;
  /** Certificates as for node:tls, with `valkeys://`. */
  readonly tls?: TlsOptions;
}

const BEHIND_OPTIONS: OptionNames<BehindSpecification> = {
  kind: true,
  url: true,
  bytes: true,
  timeoutMs: true,
  leaseMs: true,
  tls: true,
};
const TIMEOUT_MS = 5000;
const LEASE_MS = 3_600_000;
const LEAST_LEASE_MS = 1000;

/** What was said about memory behind; null: none. Connects once, so that errors come here. */
export async function serverMemoryOf(
  said: BehindSpecification | undefined,
): Promise<ServerOptions | null> {
  if (said === undefined) return null;
  if (typeof said !== 'object' || said === null) {
    // The text of a url may have a password in it.
    const what = typeof said === 'string' ? 'a string' : show(said);
    throw argumentError('BEHIND', `behind is ${what}; it must be { kind: 'valkey', url, bytes }`);
  }
  checkOptions('behind', said, BEHIND_OPTIONS);
  if (said.kind !== 'valkey')
    throw argumentError('BEHIND', `behind.kind is ${show(said.kind)}; it must be 'valkey'`);
  const { timeoutMs = TIMEOUT_MS, leaseMs = LEASE_MS, tls } = said;
  const given = serverUrls('behind.url', said.url, 'BEHIND');
  checkMs('behind.timeoutMs', timeoutMs, 1);
  checkMs('behind.leaseMs', leaseMs, LEAST_LEASE_MS);
  const bytes = storeBudget('behind.bytes', said.bytes);
  try {
    checkServerUrls('behind', given, tls, 'BEHIND');
    // Of interest to few, and not small.
    const { checkServer } = await import('../../valkey/check.js');
    const { memory, urls, hosts } = await checkServer(given, { timeoutMs, tls: tls ?? {} });
    const then = 'what needs room waits for it, and fails with OUT_OF_STORAGE';
    warnOfRoom(memory, { what: `behind.bytes is ${bytes}`, bytes, mayBeThere: false, then });
    return { kind: 'valkey', urls, hosts, bytes, timeoutMs, leaseMs, tls: tls ?? {} };
  } catch (error) {
    if (!(error instanceof ValkeyError)) throw error;
    throw new OnememError(
      'BEHIND',
      `behind: ${error.message}`,
      { reason: error.code },
      { cause: error },
    );
  }
}
