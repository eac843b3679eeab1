/** What a server says instead of doing what it is asked, and what is to be done about it. */
import type { ValkeyError } from './errors.js';

export interface Problem {
  readonly text: string;
  readonly remedy: string;
}

/** Where in a script it was said, which tells programs nothing. */
const PLACE_IN_SCRIPT = /\s*script: [0-9a-f]{40}, on @user_script:\d+\.?$/;

/** By the first word of the server's error. */
const PROBLEMS: Readonly<Record<string, Problem>> = {
  OOM: {
    text: 'its maxmemory is used up',
    remedy: 'give it more memory (maxmemory), or remove what is not needed there',
  },
  READONLY: {
    text: 'it is a replica by now',
    remedy: 'make it the primary again (REPLICAOF NO ONE), or name the primary in the url',
  },
  NOREPLICAS: {
    text: 'it has fewer replicas than it must',
    remedy: 'see to its replicas, or lower min-replicas-to-write',
  },
  MISCONF: {
    text: 'it cannot save to its disk',
    remedy: 'see to that disk and its log, or have it take writes all the same (stop-writes-on-bgsave-error no)',
  },
  NOPERM: {
    text: 'it does not let the user of the url do what is needed',
    remedy: 'have that user do and reach it (ACL SETUSER NAME +@all ~*onemem:* &*onemem:*)',
  },
  NOAUTH: { text: 'it wants a password by now', remedy: 'name user and password in the url' },
  WRONGTYPE: {
    text: 'a key has something else in it',
    remedy: 'remove the key, which another program has written',
  },
  BUSY: {
    text: 'a script of another program runs on it, and does not end',
    remedy: 'end that script (SCRIPT KILL)',
  },
  CLUSTERDOWN: {
    text: 'its cluster has a part whose server has failed, and that no replica has taken over',
    remedy: 'have the cluster repaired: valkey-cli --cluster check',
  },
};
const WORDS = Object.keys(PROBLEMS);
/** Numbers from here on are none of the system's errors. */
const FIRST = 4096;

/** A server's error where only a number can be told; null: it is none of these. */
export function numberOf({ word }: ValkeyError): number | null {
  const at = WORDS.indexOf(word);
  return at === -1 ? null : FIRST + at;
}

/** What such a number stands for; null: it is none of these. */
export function problemOf(number: number): Problem | null {
  const word = WORDS[number - FIRST];
  if (word === undefined) return null;
  const { text, remedy } = PROBLEMS[word];
  return { text: `${word}: ${text}`, remedy };
}

/** What a server says, without what is of no use. */
function said({ message }: ValkeyError): string {
  return message.replace(PLACE_IN_SCRIPT, '');
}

/** What a server does instead of what it is asked, as the rest of a sentence that names it. */
export function insteadOf(error: ValkeyError): string {
  if (error.code === 'REFUSED') return `does not let this program in (${said(error)})`;
  if (error.code !== 'REPLY') return `does not answer (${said(error)})`;
  const problem = PROBLEMS[error.word];
  return `answers with an error (${said(error)})${problem === undefined ? '' : `; ${problem.remedy}`}`;
}
