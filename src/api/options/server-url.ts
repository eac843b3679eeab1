/** Where a server is, and whether what else was said of the way there fits it. */
import type { OnememErrorCode } from '../../messages/error-codes.js';
import { type ValkeyAddress, valkeyAddress } from '../../valkey/address.js';
import type { TlsOptions } from '../../valkey/connection.js';
import { checkObject, show } from '../values/arguments.js';
import { argumentError } from '../values/errors.js';

/** More than anybody has reason to name: a server that answers names all others. */
const MOST_URLS = 100;

/**
 * What was said, as a list.
 *
 * @param what of which it was said
 */
export function serverUrls(what: string, said: unknown, code: OnememErrorCode): readonly string[] {
  if (!Array.isArray(said)) return [checkText(what, said, code)];
  if (said.length < 1 || said.length > MOST_URLS)
    throw argumentError(
      code,
      `${what} is a list of ${said.length} addresses; it must have 1 to ${MOST_URLS}, of servers of one cluster`,
    );
  return [
    ...new Set(Array.from(said, (each: unknown, at) => checkText(`${what}[${at}]`, each, code))),
  ];
}

function checkText(what: string, said: unknown, code: OnememErrorCode): string {
  if (typeof said === 'string') return said;
  throw argumentError(
    code,
    `${what} is ${show(said)}; it must be valkey://HOST:PORT, or for servers of one cluster a list of such`,
  );
}

/**
 * @param what has the options `url` and `tls`
 * @throws ValkeyError URL
 */
export function checkServerUrls(
  what: string,
  urls: readonly string[],
  tls: TlsOptions | undefined,
  code: OnememErrorCode,
): void {
  const [first, ...others] = urls.map(valkeyAddress);
  for (const other of others) {
    const difference = differenceOf(first, other);
    if (difference === null) continue;
    const message =
      `${what} has the urls ${first.shown} and ${other.shown}, which differ in ${difference}; servers of one cluster are all reached in the same way, ` +
      'so have them differ in host and port alone';
    throw argumentError(code, message);
  }
  if (tls !== undefined) checkTls(what, first, tls, code);
}

/** In what servers are reached otherwise; null: in host and port alone. */
function differenceOf(one: ValkeyAddress, other: ValkeyAddress): string | null {
  if (one.tls !== other.tls) return 'whether they are encrypted';
  return one.user === other.user && one.password === other.password ? null : 'user or password';
}

function checkTls(
  what: string,
  address: ValkeyAddress,
  tls: TlsOptions,
  code: OnememErrorCode,
): void {
  checkObject(`tls in ${what}`, tls);
  if (address.tls) return;
  // A program that names certificates would take the connection for an encrypted one.
  const instead =
    address.path === null ? address.shown.replace(/^\w+/, 'valkeys') : 'valkeys://HOST:PORT';
  const message =
    `${what} has the url ${address.shown}, by which nothing is encrypted, and tls, which is for connections that are; ` +
    `write ${instead} to have this one encrypted, or leave tls out`;
  throw argumentError(code, message);
}
