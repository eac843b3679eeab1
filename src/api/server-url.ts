/** Where a server is, and whether what else was said of the way there fits it. */
import { valkeyAddress } from '../valkey/address.js';
import type { TlsOptions } from '../valkey/connection.js';
import { checkObject } from './arguments.js';
import { argumentError } from './errors.js';

/**
 * @param what has the options `url` and `tls`
 * @throws ValkeyError URL
 */
export function checkServerUrl(what: string, url: string, tls: TlsOptions | undefined, code: string): void {
  const address = valkeyAddress(url);
  if (tls === undefined) return;
  checkObject(`tls in ${what}`, tls);
  if (address.tls) return;
  // A program that names certificates would take the connection for an encrypted one.
  const instead = address.path === null ? address.shown.replace(/^\w+/, 'valkeys') : 'valkeys://HOST:PORT';
  const message =
    `${what} has the url ${address.shown}, by which nothing is encrypted, and tls, which is for connections that are; ` +
    `write ${instead} to have this one encrypted, or leave tls out`;
  throw argumentError(code, message);
}
