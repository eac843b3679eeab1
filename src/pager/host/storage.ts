/** Storage: a spill file behind the host. */
import { statfsSync } from 'node:fs';
import { constants as os } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import { PAGE_BYTES, Status } from '../../core/basics/types.js';
import type { RetriedReads } from '../../drivers/storage/retried-reads.js';
import { StorageDriver, type StorageEvents } from '../../drivers/storage/storage.js';
import { EFBIG, EIO, ENOENT, ENOSPC, EOPNOTSUPP } from '../../linux/base/constants.js';
import { tooLarge } from '../../linux/files/file-limit.js';
import type { StorageOptions } from '../protocol/space.js';
import type { Resort } from '../sources/io-ring.js';
import { Spill } from '../sources/spill.js';
import type { Chance, StorePlace } from './store.js';

/** A file system with so much space again is tried again. */
const ROOM_BYTES = 2 ** 22;

const { EACCES, EROFS, EDQUOT, EMFILE, ENFILE } = os.errno;
/** What helps at the folder itself, where something does. */
const REMEDIES: ReadonlyMap<number, string> = new Map([
  [ENOSPC, 'make room there, '],
  [EDQUOT, 'make room there, '],
  [ENOENT, 'make that folder again, '],
  [EACCES, 'let this program write there, '],
  [EROFS, 'let this program write there, '],
  [EIO, 'have that disk looked at, '],
]);
/** What helps where the folder is right, and no file can be opened in any. */
const DESCRIPTORS: ReadonlyMap<number, string> = new Map([
  [EMFILE, 'close files or sockets, or raise the limit of descriptors of this process (ulimit -n)'],
  [
    ENFILE,
    'close files or sockets of programs on this machine, or raise its limit (sysctl fs.file-max)',
  ],
]);

export class StoragePlace implements StorePlace {
  readonly name = 'storage';
  readonly bytes: number;
  readonly file: Spill;
  readonly retriesReads = true;
  readonly spoiled = 'CORRUPTED';

  constructor(
    private readonly options: StorageOptions,
    wakeFd: number,
    control: SharedArrayBuffer,
    now: () => number,
    resort: Resort,
  ) {
    this.bytes = options.bytes;
    const wholePages = Math.floor(options.bytes / PAGE_BYTES) * PAGE_BYTES;
    this.file = new Spill(options.path, wholePages, wakeFd, control, now, resort);
  }

  drive(events: StorageEvents, retried: RetriedReads | null): StorageDriver {
    // It has been tried for as long as may be.
    return new StorageDriver(this.name, this.file, Status.SourceFailed, retried, events);
  }

  chance(errno: number): Chance {
    if (errno !== ENOSPC) return 'unknown';
    try {
      const { bavail, bsize } = statfsSync(this.options.path);
      return bavail * bsize >= ROOM_BYTES ? 'good' : 'none';
    } catch {
      return 'none';
    }
  }

  textOf(errno: number): string {
    // Node.js takes every such error for one of a socket.
    if (errno === EOPNOTSUPP) return 'EOPNOTSUPP: this file system cannot do it';
    if (errno === EFBIG) return `EFBIG: ${tooLarge()}`;
    const [name, text] = getSystemErrorMap().get(-errno) ?? [
      'EIO',
      'the file is shorter than it was',
    ];
    return `${name}: ${text}`;
  }

  full(heldBytes: number, errno: number): string {
    const remedy =
      DESCRIPTORS.get(errno) ??
      `${REMEDIES.get(errno) ?? ''}save arrays elsewhere (saveNpy, writeTo) and free them, or name a folder on another disk (storage: { path }, onemem run --storage FOLDER)`;
    return `its spill file in ${this.options.path} has ${heldBytes} bytes, and more cannot be written (${this.textOf(errno)}); ${remedy}`;
  }

  unread(why: string): string {
    return `storage in ${this.options.path} could not be read (${why})`;
  }

  kept(why: string): string {
    return `space of the spill file in ${this.options.path} could not be given back (${why}); it stays with the file until pages are written there again, and the file gets no larger than it may`;
  }

  get details(): Record<string, unknown> {
    return { path: this.options.path };
  }
}
