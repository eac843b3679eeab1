/**
 * What a server does or says instead of what it is asked, and what is to be done about it: the same
 * words for pages of a space and for shared arrays.
 */
import { constants as os } from 'node:os';
import type { ValkeyError, ValkeyErrorCode } from './errors.js';

interface Problem {
  readonly text: string;
  readonly remedy: string;
}

/** Where in a script it was said, which tells programs nothing. */
const PLACE_IN_SCRIPT = /\s*script: [0-9a-f]{40}, on @user_script:\d+\.?$/;

/** By the first word of the server's error. */
const PROBLEMS: Readonly<Record<string, Problem>> = {
  OOM: {
    text: 'its maxmemory is used up',
    remedy: 'give it more memory (maxmemory), or remove unneeded keys there',
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
    remedy:
      'see to that disk and its log, or have it take writes all the same (stop-writes-on-bgsave-error no)',
  },
  NOPERM: {
    text: 'its user in the url lacks rights',
    remedy: 'give that user the rights (ACL SETUSER NAME +@all ~*onemem:* &*onemem:*)',
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
const NO_CONNECTION: Problem = {
  text: 'there is no connection to it',
  remedy: 'see whether it runs, and can be reached',
};
const OTHER_ERROR: Problem = { text: 'it answered with an error', remedy: 'see what its log says' };

/** By the kind of what went wrong, where no word of the server's tells more. */
const OTHERS: Readonly<Record<ValkeyErrorCode, Problem>> = {
  URL: NO_CONNECTION,
  UNREACHABLE: NO_CONNECTION,
  ENDED: NO_CONNECTION,
  TIMEOUT: { text: 'it has not answered in time', remedy: NO_CONNECTION.remedy },
  REFUSED: {
    text: 'it does not let this program in',
    remedy: 'have it know user and password of the url as it did when it was opened',
  },
  REPLY: OTHER_ERROR,
  PROTOCOL: OTHER_ERROR,
  TOO_LARGE: OTHER_ERROR,
};
/** What this machine lacks for the threads that speak with a server, by the system's numbers. */
const OWN: ReadonlyMap<number, Problem> = new Map(
  (
    [
      [
        'EMFILE',
        'close files or sockets, or raise the limit of descriptors of this process (ulimit -n)',
      ],
      [
        'ENFILE',
        'close files or sockets of programs on this machine, or raise its limit (sysctl fs.file-max)',
      ],
      [
        'EAGAIN',
        'raise the limit of processes and threads (ulimit -u, pids.max of the control group)',
      ],
      ['ENOMEM', 'have less in memory, or give this process more'],
    ] as const
  ).map(([name, remedy]) => [
    os.errno[name],
    { text: `no thread could be started here that speaks with it (${name})`, remedy },
  ]),
);
const WORDS = Object.keys(PROBLEMS);
const CODES = Object.keys(OTHERS) as ValkeyErrorCode[];
/** Numbers from here on are none of the system's errors. */
const FIRST = 4096;

/** What went wrong where only a number can be told. */
export function numberOf({ code, word }: ValkeyError): number {
  const at = WORDS.indexOf(word);
  return FIRST + (at === -1 ? WORDS.length + CODES.indexOf(code) : at);
}

/**
 * What such a number stands for; any other one is what cannot be told. @param timeoutMs how long
 * the server was waited for
 */
export function problemOf(number: number, timeoutMs: number): Problem {
  const at = number - FIRST;
  const word = WORDS[at];
  if (word !== undefined)
    return { text: `${word}: ${PROBLEMS[word].text}`, remedy: PROBLEMS[word].remedy };
  const code = CODES[at - WORDS.length];
  if (code === 'TIMEOUT')
    return { text: `it has not answered for ${timeoutMs} ms`, remedy: OTHERS.TIMEOUT.remedy };
  return code === undefined ? (OWN.get(number) ?? OTHER_ERROR) : OTHERS[code];
}

/** Whether such a number says that the server was not there, or did not answer. */
export function isOfConnection(number: number): boolean {
  const code = CODES[number - FIRST - WORDS.length];
  return code === 'UNREACHABLE' || code === 'ENDED' || code === 'TIMEOUT';
}

/** What a server says, without what is of no use. */
function said({ message }: ValkeyError): string {
  return message.replace(PLACE_IN_SCRIPT, '');
}

/** What a server does instead of what it is asked, as the rest of a sentence that names it. */
export function insteadOf(error: ValkeyError): string {
  const { remedy } = PROBLEMS[error.word] ?? OTHERS[error.code];
  // What is known of the way to a server is said with its remedy (no-answer.ts).
  const isSaid = error.code === 'UNREACHABLE' || error.code === 'TIMEOUT';
  return `${doingOf(error)} (${said(error)})${isSaid ? '' : `; ${remedy}`}`;
}

function doingOf({ code }: ValkeyError): string {
  if (code === 'REFUSED') return 'does not let this program in';
  return code === 'REPLY' ? 'answers with an error' : 'does not answer';
}
