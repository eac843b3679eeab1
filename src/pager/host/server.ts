/** Memory of another machine: a Valkey or Redis server behind the host, or behind storage. */
import { constants as os } from 'node:os';
import { Status } from '../../core/types.js';
import { valkeyAddress } from '../../valkey/address.js';
import type { ServerOptions } from '../protocol/space.js';
import { ValkeyFile } from '../sources/valkey-file.js';
import type { StorePlace } from './store.js';

const { ENOMEM, EROFS, EPERM, ENETDOWN, ECONNREFUSED, EACCES, ETIMEDOUT } = os.errno;
const REMEDY = 'see whether it runs, and can be reached';

/** What a server does that does not take pages, and what is to be done about it. */
const PROBLEMS: Readonly<Record<number, { readonly text: string; readonly remedy: string }>> = {
  [ENOMEM]: {
    text: 'OOM: its maxmemory is used up',
    remedy: 'give it more memory, free arrays, or open the space with smaller behind: { bytes }',
  },
  [EROFS]: { text: 'READONLY: it is a replica by now', remedy: 'make it the primary again (REPLICAOF NO ONE)' },
  [EPERM]: {
    text: 'NOPERM: it does not let the user of the url do what is needed',
    remedy: 'have that user do and reach it (ACL SETUSER NAME +@all ~onemem:*)',
  },
  [ENETDOWN]: {
    text: 'CLUSTERDOWN: its cluster has a part whose server has failed, and that no replica has taken over',
    remedy: 'have the cluster repaired: valkey-cli --cluster check',
  },
  [ECONNREFUSED]: { text: 'there is no connection to it', remedy: REMEDY },
  [EACCES]: { text: 'it refuses the connection', remedy: REMEDY },
};

export class ServerPlace implements StorePlace {
  readonly name = 'valkey';
  readonly bytes: number;
  readonly file: ValkeyFile;
  /** Its threads have waited for it as long as may be. */
  readonly unreadable = Status.Unreachable;
  readonly spoiled = 'ALTERED';
  /** The url without the password. */
  readonly url: string;

  constructor(
    private readonly options: ServerOptions,
    wakeFd: number,
    control: SharedArrayBuffer,
    now: () => number,
  ) {
    this.bytes = options.bytes;
    this.url = valkeyAddress(options.url).shown;
    this.file = new ValkeyFile(options, wakeFd, control, now);
  }

  /** A server that has no room may have some, one that cannot be reached must be. */
  mayTry(errno: number): boolean {
    return errno === ENOMEM || this.file.isReachable;
  }

  textOf(errno: number): string {
    if (errno === ETIMEDOUT) return `it has not answered for ${this.options.timeoutMs} ms`;
    return PROBLEMS[errno]?.text ?? 'it answered with an error';
  }

  full(heldBytes: number, errno: number): string {
    return `the server ${this.url} has ${heldBytes} bytes, and more cannot be sent there (${this.textOf(errno)}); ${PROBLEMS[errno]?.remedy ?? REMEDY}`;
  }

  unread(why: string): string {
    return `the server ${this.url} could not be read (${why})`;
  }

  /** The server drops values by itself when their time is over. */
  kept(): null {
    return null;
  }

  get details(): Record<string, unknown> {
    return { url: this.url };
  }
}
