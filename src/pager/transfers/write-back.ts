/**
 * Shared file arrays: what has been written to them is written to their files, and what others
 * wrote to the files is read again. Runs of changed pages are held on the host while they are
 * written; a processor that writes one meanwhile leaves it changed.
 */

import { fstatSync } from 'node:fs';
import { getOrMake } from '../../core/basics/get-or-make.js';
import { Access, HOST_NODE, PAGE_BYTES } from '../../core/basics/types.js';
import { errnoName } from '../../linux/base/errors.js';
import { tooLarge } from '../../linux/files/file-limit.js';
import type { SpaceContext } from '../arrays/table/context.js';
import type { ArrayPages } from '../protocol/pages.js';
import type { WireError } from '../protocol/wire.js';
import { wireError } from '../protocol/wire.js';
import type { FileProvider, FileRange } from '../sources/files.js';
import { type IoEngine, Job } from '../sources/io-ring.js';
import { type PageRun, PageRuns } from '../sources/page-runs.js';

/** 8 MiB: large enough for a disk, small enough not to hold much. */
const RUN_PAGES = 2048;
/** Runs at once, each held and released by itself: none delays another. */
const RUNS = 4;

type Part = Pick<ArrayPages, 'firstPage' | 'count'>;
type Flushed = (bytes: number, failure: WireError | null) => void;

/**
 * What of a file may not survive a crash of the machine. The kernel tells once that pages could not
 * be put on the disk, and then takes them for written: they are durable when they have been written
 * again, and a sync after that has succeeded.
 */
interface Durability {
  /** Written since the last sync that succeeded. */
  written: PageRuns;
  /** Of these, what a sync failed for. */
  readonly suspect: PageRuns;
  failures: number;
}

/** One pass over a part of an array. */
interface Pass {
  readonly file: FileRange;
  readonly first: number;
  readonly end: number;
  readonly durable: boolean;
  readonly done: Flushed;
  /** What is written again, changed or not. */
  again: PageRun[];
  /** Syncs of the file that had failed when `again` was made. */
  failures: number;
  cursor: number;
  running: number;
  bytes: number;
  failure: WireError | null;
  ended: boolean;
}

export class WriteBack {
  private readonly durabilities = new WeakMap<FileRange, Durability>();
  /** Files that became shorter, of which a close told: the next one gives them up. */
  private readonly givenUp = new WeakSet<FileRange>();

  constructor(
    private readonly context: SpaceContext,
    private readonly files: FileProvider,
    private readonly engine: IoEngine,
  ) {}

  /** Whether what is written to the pages belongs in their file. */
  isShared(page: number): boolean {
    return this.files.rangeOf(page)?.source.shared === true;
  }

  /** Writes changed pages of a part to its file; `done`: the bytes, and what failed. */
  flush({ firstPage, count, durable }: Part & { durable: boolean }, done: Flushed): void {
    const file = this.files.rangeOf(firstPage);
    if (file === null || !file.source.shared) {
      const { text, details } = this.context.places.placeOf(firstPage);
      const message = `cannot flush ${text}: it is not shared with a file; use fileArray() with shared: true, or writeTo()`;
      done(0, wireError('NOT_SHARED', message, details));
      return;
    }
    const end = firstPage + count;
    const pass: Pass = {
      file,
      first: firstPage,
      end,
      durable,
      done,
      again: [],
      failures: 0,
      cursor: firstPage,
      running: 0,
      bytes: 0,
      failure: null,
      ended: false,
    };
    if (durable) this.writeAgain(pass);
    this.advance(pass);
  }

  private writeAgain(pass: Pass): void {
    const { suspect, failures } = this.durabilityOf(pass.file);
    pass.again = suspect.pieces(RUN_PAGES);
    pass.failures = failures;
  }

  private durabilityOf(file: FileRange): Durability {
    const durability = getOrMake(this.durabilities, file, () => ({
      written: new PageRuns(),
      suspect: new PageRuns(),
      failures: 0,
    }));
    durability.written.addAll(file.takenBack);
    file.takenBack.clear();
    return durability;
  }

  /**
   * Flushes every shared array, those that were freed and could not be written among them; tells
   * the first failure. That a file became shorter is told once: it may never be as long again.
   */
  flushAll(done: (failure: WireError | null) => void): void {
    const shared = this.files.all.filter(({ source }) => source.shared);
    const failures: WireError[] = [];
    let waiting = shared.length + 1;
    const one = (failure: WireError | null): void => {
      if (failure !== null) failures.push(failure);
      if (--waiting > 0) return;
      const [first] = failures;
      if (first === undefined) done(null);
      else {
        const arrays = failures.map(({ details }) => details.array);
        const rest = failures.length === 1 ? '' : ` (and ${failures.length - 1} more arrays)`;
        done({ ...first, message: first.message + rest, details: { ...first.details, arrays } });
      }
    };
    for (const file of shared) {
      this.flush(
        { firstPage: file.firstPage, count: file.pages, durable: false },
        (_bytes, failure) => {
          // What was lost with a device would be lost as much if the space stayed open.
          if (failure?.code === 'DATA_LOST') one(null);
          else if (failure?.code !== 'FILE_CHANGED') one(failure);
          else if (this.givenUp.has(file)) one(null);
          else {
            this.givenUp.add(file);
            one({
              ...failure,
              message: `${failure.message}; the next close() drops all writes that were not flushed`,
            });
          }
        },
      );
    }
    one(null);
  }

  /** Has pages read again. Refused while some are changed, unless that is to be forgotten. */
  reload(
    { firstPage, count, discard }: Part & { discard: boolean },
    done: (failure: WireError | null) => void,
  ): void {
    const file = this.files.rangeOf(firstPage);
    const { details } = this.context.places.placeOf(firstPage);
    if (file === null) {
      done(
        wireError(
          'NO_FILE',
          `cannot reload array ${String(details.array)}: it has no file`,
          details,
        ),
      );
      return;
    }
    // What is left of a file that became shorter can be read, if that is said; pages behind its end
    // are denied when they are touched.
    const failure = discard
      ? null
      : (this.shrunken(file, 'reload') ?? this.unflushed(file, firstPage, count));
    if (failure !== null) {
      done(failure);
      return;
    }
    this.context.requests.start(
      (request) => this.context.manager.drop(request, firstPage, count, discard),
      (_pages, denial) =>
        done(
          denial === null
            ? null
            : this.context.places.denialError(denial, firstPage, 'reloading an array'),
        ),
    );
  }

  private unflushed(file: FileRange, firstPage: number, count: number): WireError | null {
    const changed = this.context.manager.pages.changedRun(firstPage, firstPage + count, count);
    if (changed === null) return this.lostChanges(firstPage, count);
    const { text, details } = this.context.places.placeOf(changed.first);
    const remedy = file.source.shared
      ? 'await flush() first, or'
      : 'writes to a private file array never reach its file:';
    const message = `cannot reload ${text}: it has been written since it was read; ${remedy} reload({ discard: true }) forgets it`;
    return wireError('UNFLUSHED_CHANGES', message, details);
  }

  /** What was lost with a device had been written: said once, then forgotten. */
  private lostChanges(firstPage: number, count: number): WireError | null {
    const lost = this.context.manager.pages.firstLost(firstPage, firstPage + count);
    if (lost === -1) return null;
    const { text, details } = this.context.places.placeOf(lost);
    const why =
      'whose changes were lost with a device that died; reload({ discard: true }) gives them up and reads the file again';
    return wireError('DATA_LOST', `cannot reload ${text}, ${why}`, { ...details, reason: 'LOST' });
  }

  /** A file that was cut must not grow again, with a hole, by later writes. */
  private shrunken({ firstPage, source }: FileRange, what: string): WireError | null {
    const { size } = fstatSync(source.fd);
    const wanted = source.offset + source.bytes;
    if (size >= wanted) return null;
    const { details } = this.context.places.placeOf(firstPage);
    const message =
      `cannot ${what} array ${String(details.array)}: ${source.path} has become shorter, ${size} bytes where the array ends at ${wanted}; ` +
      'lengthen it again, write the array elsewhere by writeTo(), or drop all writes by reload({ discard: true })';
    return wireError('FILE_CHANGED', message, { ...details, path: source.path });
  }

  private advance(pass: Pass): void {
    while (pass.running < RUNS && pass.failure === null) {
      const again = pass.again.shift();
      const run = again ?? this.context.manager.pages.changedRun(pass.cursor, pass.end, RUN_PAGES);
      if (run === null) break;
      // Asked for each run, and only where there is one: where nothing was written, nothing is lost
      // by a file that became shorter.
      pass.failure = this.shrunken(pass.file, 'flush');
      if (pass.failure !== null) break;
      if (again === undefined) pass.cursor = run.first + run.count;
      pass.running++;
      this.writeRun(pass, run.first, run.count);
    }
    if (pass.running > 0 || pass.ended) return;
    pass.ended = true;
    const lost = this.context.manager.pages.firstLost(pass.first, pass.end);
    if (lost !== -1) pass.failure ??= this.context.places.denialError('LOST', lost, 'a flush');
    if (pass.failure === null && pass.durable) this.makeDurable(pass);
    else pass.done(pass.bytes, pass.failure);
  }

  private writeRun(pass: Pass, first: number, count: number): void {
    const ended = (bytes: number, failure: WireError | null): void => {
      pass.running--;
      pass.bytes += bytes;
      pass.failure ??= failure;
      this.context.later(() => this.advance(pass));
    };
    this.context.requests.start(
      (request) =>
        this.context.manager.bring(request, HOST_NODE, first, count, Access.Read, { hold: true }),
      (_pages, denial) => {
        // What was freed meanwhile has nothing to write any more.
        if (denial === 'FREED') ended(0, null);
        else if (denial !== null)
          ended(0, this.context.places.denialError(denial, first, 'a flush'));
        else {
          this.context.requests.start(
            (request) => this.context.manager.clean(request, first, count),
            () => this.write(pass.file, first, count, ended),
          );
        }
      },
    );
  }

  private write(file: FileRange, first: number, count: number, ended: Flushed): void {
    const { firstPage, source } = file;
    const within = (first - firstPage) * PAGE_BYTES;
    const bytes = Math.min(count * PAGE_BYTES, source.bytes - within);
    const { fd, path } = source;
    const offset = source.offset + within;
    const address = this.context.memory + first * PAGE_BYTES;
    const done = (result: number): void => {
      this.context.manager.cleaned(first, count, result === bytes);
      this.context.manager.release(HOST_NODE, first, count, Access.Read);
      if (result > 0) this.durabilityOf(file).written.add(first, count);
      const moved = Math.max(result, 0);
      const isWhole = result === bytes;
      ended(moved, isWhole ? null : this.writeError(path, first, offset + moved, result));
    };
    this.engine.begin({ kind: Job.Write, fd, address, length: bytes, offset, done });
  }

  private makeDurable(pass: Pass): void {
    const { fd, path } = pass.file.source;
    const durability = this.durabilityOf(pass.file);
    const { written } = durability;
    // What is written from now on is the business of the next sync.
    durability.written = new PageRuns();
    const done = (result: number): void => {
      if (result !== 0) {
        durability.failures++;
        durability.suspect.addAll(written);
        pass.done(pass.bytes, this.writeError(path, pass.file.firstPage, 0, result));
      } else if (durability.failures !== pass.failures) {
        // Another pass was told of an error that may have been about this one's pages.
        durability.suspect.addAll(written);
        this.writeAgain(pass);
        pass.ended = false;
        this.advance(pass);
      } else {
        durability.suspect.clear();
        pass.done(pass.bytes, null);
      }
    };
    this.engine.begin({ kind: Job.Sync, fd, address: 0, length: 0, offset: 0, done });
  }

  private writeError(path: string, page: number, position: number, result: number): WireError {
    const { details } = this.context.places.placeOf(page);
    // A device that takes fewer bytes than it was given, without an error, is full.
    const errno = result < 0 ? errnoName(-result) : 'ENOSPC';
    const remedy = errno === 'EFBIG' ? ` (${tooLarge()})` : '';
    const message =
      `cannot write array ${String(details.array)} back to ${path}: ${errno} at byte ${position}${remedy}; what was written is kept in ` +
      'memory: make room and flush() again, write it elsewhere by writeTo(), or give it up by reload({ discard: true })';
    return wireError('FLUSH_FAILED', message, { ...details, path, errno });
  }
}
