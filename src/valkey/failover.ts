/**
 * What is asked of a cluster while a replica has yet to take over from a server that has died. Such
 * a cluster answers, and may do in a moment what it does not do now, so that it is asked again for
 * as long as a server may take to answer. A server that nothing is known of is not waited for.
 */
import type { ValkeyAddress } from './address.js';
import { certificateProblem } from './certificates.js';
import { type ConnectionOptions, ValkeyConnection } from './connection.js';
import { PartDownError, ValkeyError } from './errors.js';
import { Pauses } from './link.js';
import { passes } from './slots.js';

/**
 * What a socket says of a server that has died, or whose machine has. Names without an address and
 * words of another program do not pass.
 */
const AWAY: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'EPIPE',
  'ETIMEDOUT',
]);
const REMEDY =
  'have the cluster repaired (valkey-cli --cluster check), or give timeoutMs more than a failover takes there: its cluster-node-timeout, 15 s unless said ' +
  'otherwise, and two or three seconds';

/**
 * @param ms how long a cluster is waited for, from when it first says that a part of it has no
 * server
 * @param attempt may be made several times. @param askMs how long servers that others name may take
 * to answer, so that one which stands still leaves time to ask who has taken over
 * @throws ValkeyError which has what became of the waiting
 */
export async function throughFailover<T>(
  ms: number,
  attempt: (askMs: number) => Promise<T>,
): Promise<T> {
  const pauses = new Pauses();
  let until: number | null = null;
  for (;;) {
    try {
      return await attempt(Math.ceil(ms / 2));
    } catch (error) {
      if (!(error instanceof ValkeyError) || !mayPass(error)) throw error;
      until ??= performance.now() + ms;
      const left = until - performance.now();
      if (left <= 0) throw waitedInVain(error, ms);
      await pauses.next(left);
    }
  }
}

/**
 * A connection to a server that another one has named. It may have a name that is good among
 * servers only, or a port where it does not speak TLS.
 *
 * @param as what it was named as, with the slots that it has
 */
export async function openNamed(
  { shown, tls }: ValkeyAddress,
  named: ValkeyAddress,
  as: string,
  options: ConnectionOptions,
): Promise<ValkeyConnection> {
  try {
    return await ValkeyConnection.open(named, options);
  } catch (cause) {
    const { code, message } = cause as ValkeyError;
    const unlessTls =
      tls && certificateProblem((cause as ValkeyError).cause) === null
        ? '; servers name ports where they speak TLS if they are told tls-cluster yes'
        : '';
    const text = `${shown} names ${named.shown} as ${as}: ${message}${unlessTls}`;
    throw new (isAway(cause as ValkeyError) ? PartDownError : ValkeyError)(code, text, { cause });
  }
}

function isAway({ code, cause }: ValkeyError): boolean {
  if (code === 'UNREACHABLE')
    return cause == null || AWAY.has((cause as { code?: string }).code ?? '');
  return code === 'TIMEOUT' || code === 'ENDED';
}

function mayPass(error: ValkeyError): boolean {
  // Servers that do not agree yet name each other.
  return error instanceof PartDownError || passes(error) || /^(MOVED|ASK)$/.test(error.word);
}

function waitedInVain(error: ValkeyError, ms: number): ValkeyError {
  const isDown = error instanceof PartDownError || error.word === 'CLUSTERDOWN';
  const text = isDown
    ? `no replica has taken over within ${ms} ms; ${REMEDY}`
    : `that has not passed within ${ms} ms; try again later, or give a longer timeoutMs`;
  return new ValkeyError(error.code, `${error.message}; ${text}`, { cause: error });
}
