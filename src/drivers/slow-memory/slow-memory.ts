/**
 * Memory behind the host that no processor runs on, and that this machine addresses: of a node of
 * memory, of persistent memory, or behind CXL. It is a file that is mapped. The drivers that
 * bring pages back read them there. Pages come by a call of the system: where another process has
 * cut the file, the call fails, and an access would end the process.
 */
import { PAGE_BYTES, Status } from '../../core/basics/types.js';
import { MAP_SHARED, PROT_READ, PROT_WRITE } from '../../linux/base/constants.js';
import { SystemCallError } from '../../linux/base/errors.js';
import { pwriteFromAddress } from '../../linux/files/file-io.js';
import { fillMemory, mmap, munmap } from '../../linux/memory/memory.js';
import type { TransferOrder } from '../driver.js';
import type { StorageEvents, StoreDriver } from '../storage/storage.js';
import { WrittenFrames } from '../storage/written-frames.js';

export class SlowMemoryDriver implements StoreDriver {
  readonly kind = 'memory';
  readonly memory: number;
  readonly isStill = true;
  readonly isBusy = false;
  /** The manager reads it without this driver. */
  readonly pagesRead = 0;
  pagesWritten = 0;
  private readonly written = new WrittenFrames();
  private failing = false;
  /** The error that is yet to be told of; 0: none is. */
  private untold = 0;

  /** @param fd the file, whose first so many bytes have memory */
  constructor(
    private readonly fd: number,
    private readonly bytes: number,
    private readonly events: Pick<StorageEvents, 'failed'>,
  ) {
    this.memory = mmap(bytes, { protection: PROT_READ | PROT_WRITE, flags: MAP_SHARED, fd });
  }

  /** Nothing may be told from within a command. */
  get isFresh(): boolean {
    return this.untold !== 0;
  }

  get heldPages(): number {
    return this.written.count;
  }

  transferIn({ address, count, frame }: TransferOrder): Status {
    if (this.failing) return Status.Failed;
    const [at, length] = [frame * PAGE_BYTES, count * PAGE_BYTES];
    try {
      if (address === 0) fillMemory(this.memory + at, 0, length);
      else pwriteFromAddress(this.fd, address, length, at);
    } catch (error) {
      if (!(error instanceof SystemCallError)) throw error;
      this.failing = true;
      this.untold = error.errno;
      return Status.Failed;
    }
    this.written.note(frame, count);
    this.pagesWritten += count;
    return Status.Done;
  }

  /** The memory stays with the space: it was set aside for this. */
  release(_token: number, _page: number, count: number, frame: number): Status {
    this.written.forget(frame, count);
    return Status.Done;
  }

  go(): void {
    const { untold } = this;
    this.untold = 0;
    if (untold !== 0) this.events.failed(untold, true);
  }

  retry(): void {
    this.failing = false;
  }

  close(): void {
    munmap(this.memory, this.bytes);
  }
}
