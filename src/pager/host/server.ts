/** Memory of another machine: a Valkey or Redis server behind the host, or behind storage. */
import { constants as os } from 'node:os';
import { Status } from '../../core/types.js';
import { valkeyAddress } from '../../valkey/address.js';
import type { ServerOptions } from '../protocol/space.js';
import { ValkeyFile } from '../sources/valkey-file.js';
import type { StorePlace } from './store.js';

function remedyOf(errno: number): string {
  switch (errno) {
    case os.errno.ENOMEM:
      return 'give it more memory, free arrays, or open the space with smaller behind: { bytes }';
    case os.errno.EROFS:
      return 'make it the primary again (REPLICAOF NO ONE)';
    case os.errno.EPERM:
      return 'have that user do and reach it (ACL SETUSER NAME +@all ~onemem:*)';
    case os.errno.ENETDOWN:
      return 'have the cluster repaired: valkey-cli --cluster check';
    default:
      return 'see whether it runs, and can be reached';
  }
}

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
    return errno === os.errno.ENOMEM || this.file.isReachable;
  }

  textOf(errno: number): string {
    switch (errno) {
      case os.errno.ENOMEM:
        return 'OOM: its maxmemory is used up';
      case os.errno.ECONNREFUSED:
        return 'there is no connection to it';
      case os.errno.ETIMEDOUT:
        return `it has not answered for ${this.options.timeoutMs} ms`;
      case os.errno.ENETDOWN:
        return 'CLUSTERDOWN: its cluster has a part whose server has failed, and that no replica has taken over';
      case os.errno.EROFS:
        return 'READONLY: it is a replica by now';
      case os.errno.EPERM:
        return 'NOPERM: it does not let the user of the url do what is needed';
      case os.errno.EACCES:
        return 'it refuses the connection';
      default:
        return 'it answered with an error';
    }
  }

  full(heldBytes: number, errno: number): string {
    return `the server ${this.url} has ${heldBytes} bytes, and more cannot be sent there (${this.textOf(errno)}); ${remedyOf(errno)}`;
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
