/** Memory of another machine: a Valkey or Redis server behind the host, or behind storage. */
import { Status } from '../../core/basics/types.js';
import type { RetriedReads } from '../../drivers/storage/retried-reads.js';
import { StorageDriver, type StorageEvents } from '../../drivers/storage/storage.js';
import { valkeyAddress } from '../../valkey/address.js';
import { isOfConnection, problemOf } from '../../valkey/remedies.js';
import type { ServerOptions } from '../protocol/space.js';
import { ValkeyFile } from '../sources/valkey-file.js';
import type { Chance, StorePlace } from './store.js';

export class ServerPlace implements StorePlace {
  readonly name = 'valkey';
  readonly bytes: number;
  readonly file: ValkeyFile;
  readonly retriesReads = false;
  readonly spoiled = 'ALTERED';
  /** Of the server that answered first, without the password. */
  readonly url: string;

  constructor(
    private readonly options: ServerOptions,
    wakeFd: number,
    control: SharedArrayBuffer,
    now: () => number,
  ) {
    this.bytes = options.bytes;
    this.url = valkeyAddress(options.urls[0]).shown;
    this.file = new ValkeyFile(options, wakeFd, control, now);
  }

  drive(events: StorageEvents, retried: RetriedReads | null): StorageDriver {
    // Its threads have waited for it as long as may be.
    return new StorageDriver(this.name, this.file, Status.Unreachable, retried, events);
  }

  chance(errno: number): Chance {
    if (!this.file.isReachable) return 'none';
    return isOfConnection(errno) ? 'good' : 'unknown';
  }

  textOf(errno: number): string {
    return problemOf(errno, this.options.timeoutMs).text;
  }

  full(heldBytes: number, errno: number): string {
    const { text, remedy } = problemOf(errno, this.options.timeoutMs);
    return `the server ${this.url} has ${heldBytes} bytes, and more cannot be sent there (${text}); ${remedy}`;
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
