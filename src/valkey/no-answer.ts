/** Why a server has not greeted, as far as that can be told, and what is to be done about it. */
import type { ValkeyAddress } from './address.js';
import { certificateProblem } from './certificates.js';

interface SocketError extends Error {
  readonly code?: string;
  /** Of OpenSSL's, without the places in its sources. */
  readonly reason?: string;
}

/** What comes as an answer to a greeting by TLS from a server that speaks none. */
const NO_TLS = /wrong version number|packet length too long|unknown protocol/i;

const WITHOUT_TLS = 'write valkey:// where the server speaks no TLS';
const WITH_TLS = 'write valkeys:// where the server wants TLS';

/** Why a connection is gone, in words. @param error null: the other end closed it */
export function whyLost(error: SocketError | null): string {
  return error === null ? 'the server closed it' : (certificateProblem(error) ?? messageOf(error));
}

/** Why none came about, with the remedy. */
export function whyNone({ tls, path }: ValkeyAddress, error: SocketError | null): string {
  const why = whyLost(error);
  const { code = '', message = '', reason = message } = error ?? {};
  if (code === 'ECONNREFUSED' || (code === 'ENOENT' && path !== null))
    return `no server listens there (${why}); start it, or correct ${path === null ? 'host and port' : 'the path'}`;
  if (code === 'ENOTFOUND') return `its host has no address (${why}); correct the name`;
  if (tls && NO_TLS.test(message))
    return `it does not speak TLS there (${reason}); ${WITHOUT_TLS}, or name the port where it does`;
  return !tls && path === null && (error === null || code === 'ECONNRESET')
    ? `${why}; ${WITH_TLS}`
    : why;
}

/** What is to be looked at where nothing was said at all. */
export function silenceRemedy({ tls, path }: ValkeyAddress, isConnected: boolean): string {
  if (!isConnected && !tls) return 'see whether its machine can be reached from here';
  const way = path === null ? ` (${tls ? WITHOUT_TLS : WITH_TLS})` : '';
  return `see whether it is a Valkey server that listens there${way}, and whether it stands still`;
}

/** What is to be done where another program's words came. */
export function otherProgramRemedy({ tls, path }: ValkeyAddress): string {
  if (path !== null) return 'name the socket of a Valkey server';
  return `name the host and port of a Valkey server${tls ? '' : `, and ${WITH_TLS}`}`;
}

/** Of several addresses that a name stands for, none may have answered. */
function messageOf(error: Error): string {
  const { errors } = error as AggregateError;
  return (
    error.message || (errors ?? []).map((each: Error) => each.message).join('; ') || String(error)
  );
}
