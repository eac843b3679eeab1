/** Slow memory: the first place that pages of the host go to. */
import { getSystemErrorMap } from 'node:util';
import type { MemorySpeed } from '../../core/basics/types.js';
import { SlowMemoryDriver } from '../../drivers/slow-memory/slow-memory.js';
import type { StorageEvents, StoreDriver } from '../../drivers/storage/storage.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { duplicateDescriptor } from '../../linux/files/file-io.js';
import { giveBack } from '../../linux/files/set-aside.js';
import type { SlowMemoryOptions } from '../protocol/space.js';
import type { Chance, StorePlace } from './store.js';

export class SlowMemoryPlace implements StorePlace {
  readonly name = 'memory';
  readonly bytes: number;
  readonly file = null;
  readonly retriesReads = false;
  readonly spoiled = 'CORRUPTED';
  readonly speed: MemorySpeed | undefined;
  /** Where it is, for messages. */
  private readonly where: string;

  constructor(private readonly options: SlowMemoryOptions) {
    this.bytes = options.bytes;
    this.speed = options.speed ?? undefined;
    this.where = options.path ?? 'of this machine';
  }

  drive(events: StorageEvents): StoreDriver {
    // The opener closes its own.
    const fd = duplicateDescriptor(this.options.fd);
    const driver = new SlowMemoryDriver(fd, this.bytes, events);
    const close = driver.close.bind(driver);
    driver.close = () => {
      close();
      if (this.options.path !== null) giveBack(fd);
      closeDescriptor(fd);
    };
    return driver;
  }

  chance(): Chance {
    return 'unknown';
  }

  textOf(errno: number): string {
    const [name, text] = getSystemErrorMap().get(-errno) ?? ['EIO', 'it cannot be written'];
    return `${name}: ${text}`;
  }

  full(heldBytes: number, errno: number): string {
    return `slow memory ${this.where} has ${heldBytes} bytes, and more cannot be written (${this.textOf(errno)}); let nothing else change that file, and make room in its file system`;
  }

  unread(why: string): string {
    return `slow memory ${this.where} could not be read (${why})`;
  }

  kept(): null {
    return null;
  }

  get details(): Record<string, unknown> {
    return { path: this.options.path };
  }
}
