/**
 * Fills pages of file arrays. What the kernel has in memory is read at once; only when it would
 * have to wait for the disk does the engine's thread take over, so that a slow disk stops no other
 * fault. Files that arrays share take changed pages back when the host has no room for them.
 */

import { fstatSync } from 'node:fs';
import { PAGE_BYTES, PAGES_PER_TRANSFER, Status } from '../../core/basics/types.js';
import { RetriedReads } from '../../drivers/storage/retried-reads.js';
import { MAP_PRIVATE, PROT_READ } from '../../linux/base/constants.js';
import { errnoName, SystemCallError } from '../../linux/base/errors.js';
import { NativeBuffer } from '../../linux/base/native-buffer.js';
import { moveWithoutWaiting } from '../../linux/files/file-io.js';
import { firstDamaged } from '../../linux/files/file-sums.js';
import { SUM_BYTES } from '../../linux/memory/checksum.js';
import { fillMemory, mmap } from '../../linux/memory/memory.js';
import type { ManagerContext } from '../core/context.js';
import type { FileMapping, FileSource } from '../protocol/requests.js';
import { RequestError } from '../protocol/wire.js';
import { type IoEngine, Job } from './io-ring.js';
import { PageRuns } from './page-runs.js';

export interface FileRange {
  readonly firstPage: number;
  readonly pages: number;
  readonly source: FileSource;
  /** Pages that were written for want of room, since the write-back noted it last. */
  readonly takenBack: PageRuns;
  /** A page that was not as its checksum in the file says; -1: none. */
  damaged: number;
}

/** A file is tried again so much later: waiting requests hear of the error first. */
const PAUSE_MS = 50;

export class FileProvider {
  private readonly ranges: FileRange[] = [];
  /** For reads without a place yet: as large as a transfer. It stays in the caches. */
  private readonly buffer = new NativeBuffer(PAGES_PER_TRANSFER * PAGE_BYTES);

  private readonly refusing = new Map<
    FileRange,
    { readonly since: number; readonly problem: string }
  >();
  private readonly told = new WeakSet<FileRange>();
  private readonly retried: RetriedReads;
  /** Called when an array over a file has gone, before the file is closed. */
  onEnd: (range: FileRange) => void = () => undefined;

  constructor(
    private readonly context: ManagerContext,
    private readonly engine: IoEngine,
  ) {
    this.retried = new RetriedReads(context.now);
  }

  add(firstPage: number, pages: number, source: FileSource): void {
    const range = { firstPage, pages, source, takenBack: new PageRuns(), damaged: -1 };
    this.ranges.push(range);
    this.context.sources.add(firstPage, pages, {
      kind: 'file',
      provide: (token, page, count, target) => this.provide(range, token, page, count, target),
      contentOf: (page, count) => this.contentOf(range, page, count),
      ...(source.shared
        ? {
            takeBack: (token, page, count, address) =>
              this.takeBack(range, token, page, count, address),
          }
        : {}),
      end: () => {
        this.refusing.delete(range);
        this.onEnd(range);
        this.ranges.splice(this.ranges.indexOf(range), 1);
        // After its last write.
        this.engine.closeFile(source.fd);
      },
    });
  }

  sourceOf(page: number): FileSource | null {
    return this.rangeOf(page)?.source ?? null;
  }

  /** What became of an unreadable page's file, to end a sentence; null: unknown. */
  changeOf(page: number): string | null {
    const range = this.rangeOf(page);
    if (range === null) return null;
    const { fd, path, offset, bytes } = range.source;
    const { size } = fstatSync(fd);
    const end = offset + bytes;
    if (size < end)
      return `whose file has become shorter: ${path} has ${size} bytes now, and the array ends at byte ${end} of it; lengthen it again`;
    if (range.damaged === -1) return null;
    const at = offset + (range.damaged - range.firstPage) * PAGE_BYTES;
    return `whose file is damaged: the checksum of the page at byte ${at} of ${path} does not match; use another copy of it`;
  }

  /** An array's first page that its file no longer reaches; -1: none, or unknown. */
  firstCut(page: number): number {
    const range = this.rangeOf(page);
    if (range === null) return -1;
    const { fd, offset, bytes } = range.source;
    const { size } = fstatSync(fd);
    return size < offset + bytes
      ? range.firstPage + Math.floor(Math.max(0, size - offset) / PAGE_BYTES)
      : range.damaged;
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

  isMapped(firstPage: number): boolean {
    return this.rangeOf(firstPage)?.source.mapped === true;
  }

  /**
   * Maps the file of an array for a thread, as the kernel has it: its own memory, in pieces as
   * large as that lies in. Null: the array's pages are those of the space.
   */
  map(firstPage: number, name: string): FileMapping | null {
    const source = this.rangeOf(firstPage)?.source;
    if (source?.mapped !== true) return null;
    const { fd, path, offset } = source;
    const before = offset % PAGE_BYTES;
    const bytes = before + source.bytes;
    try {
      const address = mmap(bytes, {
        protection: PROT_READ,
        flags: MAP_PRIVATE,
        fd,
        offset: offset - before,
      });
      return { address, bytes, elements: address + before };
    } catch (error) {
      const why = error instanceof SystemCallError ? error.code : String(error);
      const remedy = 'leave out `mapped`: its pages are read into host memory then';
      const message = `array ${name}: ${path} cannot be mapped (${why}); ${remedy}`;
      throw new RequestError('FILE_NOT_MAPPED', message, { path });
    }
  }

  /** Why changed pages cannot go to their file now, to end a sentence; null: they can. */
  get problem(): string | null {
    for (const { problem } of this.refusing.values()) return problem;
    return null;
  }

  /** Unwritable files are tried again after a while: called before anything wants room. */
  step(): number {
    this.retried.look();
    for (const [range, { since }] of this.refusing) {
      if (this.context.now() - since < PAUSE_MS) continue;
      this.refusing.delete(range);
      this.context.manager.providerRefuses(range.firstPage, false);
    }
    return 0;
  }

  close(): void {
    for (const { source } of this.ranges) this.engine.closeFile(source.fd);
  }

  /** Milliseconds that the manager may sleep. */
  sleepMs(most: number): number {
    return this.retried.sleepMs(most);
  }

  private takeBack(
    range: FileRange,
    token: number,
    page: number,
    count: number,
    address: number,
  ): Status {
    const { firstPage, source } = range;
    const within = (page - firstPage) * PAGE_BYTES;
    const bytes = Math.min(count * PAGE_BYTES, source.bytes - within);
    // A file that was cut must not grow again, with a hole in it, by what is written behind its
    // end.
    if (fstatSync(source.fd).size < source.offset + source.bytes) {
      this.context.later(() => this.refuse(range, token, 'it has become shorter than the array'));
      return Status.Pending;
    }
    const done = (result: number): void => {
      if (result > 0) range.takenBack.add(page, count);
      if (result === bytes) this.context.router.completed(token, Status.Done);
      // A device that takes fewer bytes than it was given, without an error, is full.
      else this.refuse(range, token, result < 0 ? errnoName(-result) : 'ENOSPC');
    };
    const { fd } = source;
    const offset = source.offset + within;
    this.engine.begin({ kind: Job.Write, fd, address, length: bytes, offset, done });
    return Status.Pending;
  }

  private refuse(range: FileRange, token: number, why: string): void {
    const { path } = range.source;
    const problem = `what was written to a shared array of ${path} cannot go there (${why}); make room there, or write it elsewhere by writeTo()`;
    this.refusing.set(range, { since: this.context.now(), problem });
    if (!this.told.has(range)) this.context.warn(`warning: ${problem}; it stays in memory`);
    this.told.add(range);
    this.context.manager.providerRefuses(range.firstPage, true);
    this.context.router.completed(token, Status.Failed);
  }

  /** Pages that the kernel has in memory are read into the buffer. */
  private contentOf(range: FileRange, page: number, count: number): number {
    if (count > PAGES_PER_TRANSFER) return 0;
    const { firstPage, source } = range;
    const within = (page - firstPage) * PAGE_BYTES;
    const bytes = Math.min(count * PAGE_BYTES, source.bytes - within);
    const { address } = this.buffer;
    if (moveWithoutWaiting('read', source.fd, address, bytes, source.offset + within) !== bytes)
      return 0;
    clearRest(address, bytes, count);
    return this.isWhole(range, page, count, address) ? address : 0;
  }

  /** Whether pages are as the checksums in their file say, where it has any. */
  private isWhole(range: FileRange, page: number, count: number, address: number): boolean {
    const { firstPage, source } = range;
    if (source.sums === undefined) return true;
    const place = page - firstPage;
    const inFile = source.offset / PAGE_BYTES + place;
    const sumsAt = source.sums + place * SUM_BYTES;
    const wrong = firstDamaged(source.fd, address, count, inFile, sumsAt);
    if (wrong !== -1) range.damaged = page + wrong;
    return wrong === -1;
  }

  private provide(
    range: FileRange,
    token: number,
    page: number,
    count: number,
    target: number,
  ): Status {
    const { firstPage, source } = range;
    const within = (page - firstPage) * PAGE_BYTES;
    const bytes = Math.min(count * PAGE_BYTES, source.bytes - within);
    const got = moveWithoutWaiting('read', source.fd, target, bytes, source.offset + within);
    if (got === bytes) {
      clearRest(target, bytes, count);
      return this.isWhole(range, page, count, target) ? Status.Done : Status.SourceChanged;
    }
    const there = Math.max(got, 0);
    const [address, length] = [target + there, bytes - there];
    const job = { kind: Job.Read, fd: source.fd, address, length };
    const read = (failedAt: number): void => {
      const done = (result: number): void => {
        if (result === length) {
          this.retried.succeeded();
          clearRest(target, bytes, count);
          const isWhole = this.isWhole(range, page, count, target);
          this.context.router.completed(token, isWhole ? Status.Done : Status.SourceChanged);
          // Fewer bytes than the file had when it was opened: a program has cut it.
        } else if (result >= 0 || !this.retried.failed(failedAt, read))
          this.context.router.completed(token, Status.SourceChanged);
      };
      this.engine.begin({ ...job, offset: source.offset + within + there, done });
    };
    read(0);
    return Status.Pending;
  }
}

/** The last page may go beyond the file; earlier content must not show there. */
function clearRest(target: number, bytes: number, count: number): void {
  if (bytes < count * PAGE_BYTES) fillMemory(target + bytes, 0, count * PAGE_BYTES - bytes);
}
