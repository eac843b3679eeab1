/**
 * Fills pages of file arrays. What the kernel has in memory is read at once; only when it would have to wait for the disk does the
 * engine's thread take over, so that a slow disk stops nobody else.
 */
import { PAGE_BYTES, PAGES_PER_TRANSFER, Status } from '../../core/types.js';
import { preadWithoutWaiting } from '../../linux/file-io.js';
import { fillMemory } from '../../linux/memory.js';
import { NativeBuffer } from '../../linux/native-buffer.js';
import type { FileSource } from '../protocol/requests.js';
import type { IoEngine } from './io-ring.js';
import type { Sources } from './sources.js';

export interface FileRange {
  readonly firstPage: number;
  readonly pages: number;
  readonly source: FileSource;
}

export class FileProvider {
  private readonly ranges: FileRange[] = [];
  /** For what is read before it has a place: as much as a transfer moves at most. It stays in the caches. */
  private readonly buffer = new NativeBuffer(PAGES_PER_TRANSFER * PAGE_BYTES);

  constructor(
    private readonly engine: IoEngine,
    private readonly completed: (token: number, status: Status) => void,
    private readonly sources: Sources,
  ) {}

  add(firstPage: number, pages: number, source: FileSource): void {
    const range = { firstPage, pages, source };
    this.ranges.push(range);
    this.sources.add(firstPage, pages, {
      kind: 'file',
      provide: (token, page, count, target) => this.provide(range, token, page, count, target),
      contentOf: (page, count) => this.contentOf(range, page, count),
      end: () => {
        this.ranges.splice(this.ranges.indexOf(range), 1);
        // After its last write.
        this.engine.closeFile(source.fd);
      },
    });
  }

  sourceOf(page: number): FileSource | null {
    return this.rangeOf(page)?.source ?? null;
  }

  get all(): readonly FileRange[] {
    return this.ranges;
  }

  rangeOf(page: number): FileRange | null {
    for (const range of this.ranges) {
      if (page >= range.firstPage && page < range.firstPage + range.pages) return range;
    }
    return null;
  }

  /** Pages that the kernel has in memory are read into the buffer. */
  private contentOf({ firstPage, source }: FileRange, page: number, count: number): number {
    if (count > PAGES_PER_TRANSFER) return 0;
    const within = (page - firstPage) * PAGE_BYTES;
    const bytes = Math.min(count * PAGE_BYTES, source.bytes - within);
    const { address } = this.buffer;
    if (preadWithoutWaiting(source.fd, address, bytes, source.offset + within) !== bytes) return 0;
    clearRest(address, bytes, count);
    return address;
  }

  private provide(
    { firstPage, source }: FileRange,
    token: number,
    page: number,
    count: number,
    target: number,
  ): Status {
    const within = (page - firstPage) * PAGE_BYTES;
    const bytes = Math.min(count * PAGE_BYTES, source.bytes - within);
    const got = preadWithoutWaiting(source.fd, target, bytes, source.offset + within);
    if (got === bytes) {
      clearRest(target, bytes, count);
      return Status.Done;
    }
    const done = Math.max(got, 0);
    this.engine.read(source.fd, target + done, bytes - done, source.offset + within + done, (result) => {
      // Fewer bytes than the file had when it was opened: a program has cut it.
      if (result !== bytes - done) this.completed(token, Status.SourceChanged);
      else {
        clearRest(target, bytes, count);
        this.completed(token, Status.Done);
      }
    });
    return Status.Pending;
  }
}

/** The last page may go on after the end of the file; memory that was used before must not show there. */
function clearRest(target: number, bytes: number, count: number): void {
  if (bytes < count * PAGE_BYTES) fillMemory(target + bytes, 0, count * PAGE_BYTES - bytes);
}
