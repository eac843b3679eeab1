/** What a server says that does not do what it is asked, and what is to be done about it. */
import type { ValkeyError } from './errors.js';

/** Where in a script it was said, which tells programs nothing. */
const PLACE_IN_SCRIPT = /\s*script: [0-9a-f]{40}, on @user_script:\d+\.?$/;

/** By the first word of the server's error. */
const REMEDIES: Readonly<Record<string, string>> = {
  OOM: 'give it more memory (maxmemory), or remove other keys',
  READONLY: 'it is a replica by now: name the primary in the url',
  NOREPLICAS: 'see to its replicas, or lower min-replicas-to-write',
  MISCONF: 'see to its disk, where it cannot save',
  NOPERM: 'have the user of the url do and reach what is needed (ACL SETUSER NAME +@all ~*onemem:* &*onemem:*)',
  NOAUTH: 'name user and password in the url',
  WRONGTYPE: 'another program has put something else in a key of the array: remove that key',
  BUSY: 'a script of another program runs on it, and does not end: SCRIPT KILL',
  CLUSTERDOWN: 'have the cluster repaired: valkey-cli --cluster check',
};

/** What a server says, without what is of no use. */
function said({ message }: ValkeyError): string {
  return message.replace(PLACE_IN_SCRIPT, '');
}

/** What a server does instead of what it is asked, as the rest of a sentence that names it. */
export function insteadOf(error: ValkeyError): string {
  if (error.code === 'REFUSED') return `does not let this program in (${said(error)})`;
  if (error.code !== 'REPLY') return `does not answer (${said(error)})`;
  const remedy = REMEDIES[error.word];
  return `answers with an error (${said(error)})${remedy === undefined ? '' : `; ${remedy}`}`;
}
