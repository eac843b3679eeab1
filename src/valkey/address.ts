/** Where a server is, as a URL says it. */
import { ValkeyError } from './errors.js';

export interface ValkeyAddress {
  readonly host: string;
  readonly port: number;
  /** Of a socket in the file system; host and port mean nothing then. */
  readonly path: string | null;
  readonly tls: boolean;
  readonly user: string;
  /** '': none. */
  readonly password: string;
  readonly db: number;
  /** The URL without the password: for messages. */
  readonly shown: string;
}

/** Protocols, and whether they are encrypted. Both names of the server are known. */
const PROTOCOLS: Readonly<Record<string, boolean>> = {
  'valkey:': false,
  'redis:': false,
  'unix:': false,
  'valkeys:': true,
  'rediss:': true,
};
const PORT = 6379;

/** @throws ValkeyError URL */
export function valkeyAddress(text: string): ValkeyAddress {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    // The text may have a password in it.
    throw refused('it is no URL');
  }
  const tls = Object.hasOwn(PROTOCOLS, url.protocol) ? PROTOCOLS[url.protocol] : null;
  if (tls === null) throw refused(`${url.protocol} is no protocol of Valkey's`);
  const unix = url.protocol === 'unix:';
  if (unix && (url.host !== '' || url.pathname === ''))
    throw refused('unix: wants a path, as unix:///run/valkey.sock');
  if (!unix && url.hostname === '') throw refused('it names no host');
  const known = unix ? ['db', 'password'] : [];
  const unknown = [...url.searchParams.keys()].find((key) => !known.includes(key));
  if (unknown !== undefined)
    throw refused(`it has the parameter '${unknown}', which means nothing here`);
  const number = unix ? (url.searchParams.get('db') ?? '') : url.pathname.slice(1);
  if (!/^\d{0,5}$/.test(number)) throw refused(`the database '${number}' is no number`);
  const path = unix ? decodeURIComponent(url.pathname) : null;
  const host = decodeURIComponent(url.hostname).replace(/^\[(.*)\]$/, '$1');
  const user = decodeURIComponent(url.username);
  const password =
    decodeURIComponent(url.password) || (unix ? (url.searchParams.get('password') ?? '') : '');
  const port = Number(url.port || PORT);
  const place = unix ? path : `${url.hostname}:${port}`;
  const db = Number(number);
  const shown = `${url.protocol}//${place}${db === 0 ? '' : unix ? `?db=${db}` : `/${db}`}`;
  return { host, port, path, tls, user: user || 'default', password, db, shown };
}

/** A server of the same cluster by HOST:PORT: reached as the first one was. */
export function addressIn({ tls, user, password, db }: ValkeyAddress, name: string): ValkeyAddress {
  const at = name.lastIndexOf(':');
  const host = name.slice(0, at);
  const place = host.includes(':') ? `[${host}]${name.slice(at)}` : name;
  const shown = `${tls ? 'valkeys' : 'valkey'}://${place}`;
  return { host, port: Number(name.slice(at + 1)), path: null, tls, user, password, db, shown };
}

function refused(why: string): ValkeyError {
  return new ValkeyError(
    'URL',
    `the url of a Valkey server is not one: ${why}; it is valkey://[USER:PASSWORD@]HOST[:PORT][/DATABASE], valkeys:// with TLS, or unix:///PATH`,
  );
}
