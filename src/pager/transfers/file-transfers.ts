/** readFrom and writeTo, by windows of the manager's own mapping whose pages are held. */

import { getOrMake } from '../../core/basics/get-or-make.js';
import { Access, HOST_NODE, PAGE_BYTES } from '../../core/basics/types.js';
import { EBADF, EFBIG } from '../../linux/base/constants.js';
import { errnoName, isOfFullDisk } from '../../linux/base/errors.js';
import { NativeBuffer } from '../../linux/base/native-buffer.js';
import { pathOfDescriptor } from '../../linux/files/file-io.js';
import { tooLarge } from '../../linux/files/file-limit.js';
import type { SpaceContext } from '../arrays/table/context.js';
import type { Answer } from '../protocol/messages.js';
import type { FileTransfer, Requests } from '../protocol/requests.js';
import { type WireError, wireError } from '../protocol/wire.js';
import type { FileRange } from '../sources/files.js';
import { type IoEngine, Job } from '../sources/io-ring.js';
import type { Pipes } from '../sources/pipes.js';
import type { MappedReads } from './mapped-reads.js';

type Told = Answer<Requests['transferFile']['out']>;

/** 8 MiB: large enough for a disk, small enough not to hold much. */
const WINDOW_PAGES = 2048;
/** Where there is no room for a window, smaller ones are tried: down to a page. */
const SMALLER = 1 / 8;
/** What of a mapped file is read before it is written. */
const COPY_BYTES = 2 ** 20;

export class FileTransfers {
  private readonly buffers = new WeakMap<FileTransfer, NativeBuffer>();

  constructor(
    private readonly context: SpaceContext,
    private readonly engine: IoEngine,
    /** For what is read or written where it stands. */
    private readonly pipes: Pipes,
    private readonly mapped: MappedReads,
  ) {}

  start(transfer: FileTransfer, answer: Told): void {
    this.next(transfer, 0, WINDOW_PAGES, answer);
  }

  /** Writes a piece of a mapped file, which is read from the file itself. */
  private copy(transfer: FileTransfer, range: FileRange, moved: number, answer: Told): void {
    const buffer = this.bufferOf(transfer);
    const bytes = Math.min(buffer.length, transfer.bytes - moved);
    this.mapped.read(range, transfer.offset + moved, bytes, buffer.address, (complete) => {
      if (!complete) {
        this.movePages(transfer, moved, WINDOW_PAGES, answer);
        return;
      }
      this.move(transfer, buffer.address, moved, bytes, (result, movedBefore) => {
        if (result < 0) answer(null, failureOf(transfer, moved + movedBefore, -result));
        else if (result < bytes) answer({ bytes: moved + result }, null);
        else this.context.later(() => this.next(transfer, moved + bytes, WINDOW_PAGES, answer));
      });
    });
  }

  private bufferOf(transfer: FileTransfer): NativeBuffer {
    const make = () => new NativeBuffer(Math.min(COPY_BYTES, transfer.bytes));
    return getOrMake(this.buffers, transfer, make);
  }

  private move(
    { direction, fd, position }: FileTransfer,
    address: number,
    moved: number,
    bytes: number,
    done: (result: number, movedBefore: number) => void,
  ): void {
    const kind = direction === 'read' ? Job.Read : Job.Write;
    const offset = position === null ? -1 : position + moved;
    const by = position === null ? this.pipes : this.engine;
    by.begin({ kind, fd, address, length: bytes, offset, done });
  }

  private next(transfer: FileTransfer, moved: number, windowPages: number, answer: Told): void {
    const at = transfer.offset + moved;
    const end = transfer.offset + transfer.bytes;
    if (at >= end) {
      answer({ bytes: moved }, null);
      return;
    }
    // It may have been freed meanwhile, and its file closed: its pages tell that.
    const range = transfer.direction === 'write' ? this.mapped.rangeAt(at) : null;
    if (range !== null) this.copy(transfer, range, moved, answer);
    else this.movePages(transfer, moved, windowPages, answer);
  }

  private movePages(
    transfer: FileTransfer,
    moved: number,
    windowPages: number,
    answer: Told,
  ): void {
    const at = transfer.offset + moved;
    const end = transfer.offset + transfer.bytes;
    const reading = transfer.direction === 'read';
    const access = reading ? Access.Write : Access.Read;
    const first = Math.floor(at / PAGE_BYTES);
    const bytes = Math.min(end, (first + windowPages) * PAGE_BYTES) - at;
    const count = Math.ceil((at + bytes) / PAGE_BYTES) - first;
    const lost = reading ? this.lostPages(at, bytes) : null;
    if (lost !== null) {
      this.context.requests.start(
        (request) => this.context.manager.zero(request, lost.first, lost.count),
        (_pages, failure) => {
          if (failure === null) {
            this.context.restore(lost.first, lost.count);
            this.context.later(() => this.next(transfer, moved, windowPages, answer));
          } else
            answer(null, this.context.places.denialError(failure, lost.first, 'a file transfer'));
        },
      );
      return;
    }
    const release = (): void => this.context.manager.release(HOST_NODE, first, count, access);
    const transferred = (result: number, movedBefore: number): void => {
      release();
      if (result < 0) answer(null, failureOf(transfer, moved + movedBefore, -result));
      else if (result < bytes) answer({ bytes: moved + result }, null);
      else this.context.later(() => this.next(transfer, moved + bytes, windowPages, answer));
    };
    this.context.requests.start(
      (request) =>
        this.context.manager.bring(request, HOST_NODE, first, count, access, { hold: true }),
      (_pages, failure) => {
        // What failed holds nothing: a release would end the hold of another request.
        if (failure !== null) {
          if (failure === 'OUT_OF_STORAGE' && count > 1) {
            this.context.later(() =>
              this.movePages(transfer, moved, Math.ceil(count * SMALLER), answer),
            );
            return;
          }
          const page = this.context.places.pageWith(failure, first, count);
          answer(null, this.context.places.denialError(failure, page, 'a file transfer'));
          return;
        }
        this.move(transfer, this.context.memory + at, moved, bytes, transferred);
      },
    );
  }

  /** Lost pages that are about to be overwritten as a whole, and are good again. */
  private lostPages(at: number, bytes: number): { first: number; count: number } | null {
    const first = Math.ceil(at / PAGE_BYTES);
    const end = this.context.table.endsAt(at + bytes)
      ? Math.ceil((at + bytes) / PAGE_BYTES)
      : Math.floor((at + bytes) / PAGE_BYTES);
    const { pages } = this.context.manager;
    const begin = first < end ? pages.firstLost(first, end) : -1;
    if (begin === -1) return null;
    let after = begin + 1;
    while (after < end && pages.firstLost(after, after + 1) !== -1) after++;
    return { first: begin, count: after - begin };
  }
}

/** @param moved bytes that had been read or written by then */
function failureOf(
  { direction, fd, bytes }: FileTransfer,
  moved: number,
  errno: number,
): WireError {
  const reading = direction === 'read';
  const path = pathOfDescriptor(fd);
  const what = `${reading ? 'reading' : 'writing'} file descriptor ${fd}${path === null ? '' : ` (${path})`}`;
  const message = `${what} failed after ${moved} of ${bytes} bytes: ${errnoName(errno)}${remedyOf(errno, reading)}`;
  return wireError('FILE_IO', message, { errno, bytes: moved, ...(path === null ? {} : { path }) });
}

function remedyOf(errno: number, reading: boolean): string {
  if (isOfFullDisk(errno)) return '; make room on its disk, or write elsewhere';
  if (errno === EFBIG) return `: ${tooLarge()}`;
  if (errno === EBADF)
    return `: no file is open there, or not for ${reading ? 'reading' : 'writing'}`;
  return '';
}
