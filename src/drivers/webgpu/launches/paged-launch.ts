/**
 * A part of a launch whose arrays are paged, while it runs: rounds of the kernel, and between them
 * the pages that it lacked. They come from host memory, where the manager has them be when they are
 * wanted, and what was written of them goes back there. Where numbers that arrays hold tell which
 * pages these are, they come first, and the kernel runs once, by a module that does not ask for
 * them.
 */
import { Status } from '../../../core/basics/types.js';
import { readMemory, writeMemory } from '../../../linux/memory/memory.js';
import type { PageCopy } from '../../../wgsl/dividing/page-rounds.js';
import type { LaunchFailure } from '../../driver.js';
import type { PagedPart, PlannedDispatch, WgslCode, WgslPart } from '../../wgsl-launch.js';
import {
  type Dispatch,
  type Drain,
  File,
  Packet,
  type Part,
  type Round,
} from '../link/protocol.js';
import type { Staging } from '../link/staging.js';
import { noMemoryForPages } from '../link/unmet-buffers.js';
import { pagingBuffers } from './launch-plan.js';
import { BATCH_BYTES, cut, PageFeed, pagesIn } from './page-feed.js';
import { type PlannedOutlet, PlannedRun } from './planned-run.js';

/** Places that one packet names. */
const PLACES_AT_ONCE = 1024;
/** A launch of more rounds, or with more bytes moved for each of its pages', is told of. */
const MANY_ROUNDS = 64;
const MANY_TIMES = 20;
/** Tokens of copies that are the core's are above 0. */
const TOKEN = -1;

/** What is asked of the engine and of the manager. */
export interface PagedOutlet extends PlannedOutlet {
  post(kind: number, what: unknown): void;
  /** Tells the program that a kernel takes long, and why; once. */
  slow(kernel: string, what: string): void;
  /** What the engine calls the module. */
  moduleOf(code: WgslCode): number;
  /** Has the page table's buffer be there; it is kept. After `giveUpTable` there is another. */
  needTable(table: Part): void;
  giveUpTable(): void;
  /** The part after this one runs by a plan: what it touches may be prepared. */
  nextRun(run: PlannedRun): void;
  ended(failure: LaunchFailure | null): void;
}

/** Bytes of neighbouring frames, and their places on the host. */
interface Transfer {
  readonly places: (readonly [at: number, bytes: number])[];
  readonly part: [buffer: number, offset: number, bytes: number];
}

type Write = Round['writes'][number];

/** What is to be run. */
interface PagedOrder {
  readonly kernelName: string;
  readonly order: Dispatch;
  readonly part: WgslPart;
  readonly paged: PagedPart;
  /** Where the frames of each array lie. */
  readonly pools: readonly Part[];
}

export class PagedLaunch {
  private slot = -1;
  /** What the engine has not answered of what it was asked to write. */
  private outstanding = 0;
  private failure: LaunchFailure | null = null;
  /** Why it ends when what others have written is home. */
  private refusal: LaunchFailure | null = null;
  /** What goes home before anything comes, or before the end; the first is on its way. */
  private homes: PageCopy[][] = [];
  /** What is to come before the next round. */
  private feed: PageFeed | null = null;
  private isFirst = true;
  /** Bytes of pages that have come and gone. */
  private movedBytes = 0;
  /** No round follows. */
  private isLast = false;
  private over = false;

  /** @param planned set where it runs by a plan */
  constructor(
    private readonly launch: PagedOrder,
    private readonly staging: Staging,
    private readonly outlet: PagedOutlet,
    private planned: PlannedRun | null,
  ) {
    const { pages } = pagingBuffers(launch.paged);
    outlet.needTable(pages);
    staging.take((slot) => {
      this.slot = slot;
      if (this.over) this.close();
      else if (this.planned !== null) this.nextPlanned(this.planned);
      else this.firstRound();
    });
  }

  /** The engine has written something of the host's memory. */
  moved(status: Status): void {
    this.outstanding--;
    if (status !== Status.Done) {
      this.failure ??= noMemoryForPages();
    }
    if (this.outstanding > 0) return;
    this.homes.shift();
    this.next();
  }

  /** A round has ended. */
  launched(failure: LaunchFailure | null): void {
    this.failure ??= failure;
    if (this.failure !== null) {
      this.end(this.failure);
      return;
    }
    if (this.planned !== null) {
      this.nextPlanned(this.planned);
      return;
    }
    const { rounds, units } = this.launch.paged;
    const notes = new Uint32Array(this.notedWords);
    readMemory(new Uint8Array(notes.buffer), this.staging.addressOf(this.slot));
    const { homes, copies, end } = rounds.advance(notes, units);
    this.movedBytes += bytesOf(homes) + bytesOf(copies);
    this.tellIfSlow();
    this.homes = cut(homes, BATCH_BYTES);
    this.feed = this.feedOf(copies);
    this.isLast = end !== null;
    if (end !== null && end !== 'done') {
      const message = `kernel ${this.launch.kernelName}: ${end.refused}, or give the device more memory`;
      this.refusal = { code: 'DEVICE_MEMORY', message };
    }
    this.next();
  }

  /** A launch that takes long says so while it runs: it may never end. */
  private tellIfSlow(): void {
    const { rounds, why } = this.launch.paged;
    const all = rounds.tables.reduce((sum, { bytes }) => sum + bytes, 0);
    const times = Math.floor(this.movedBytes / all);
    if (rounds.rounds < MANY_ROUNDS && times < MANY_TIMES) return;
    this.outlet.slow(
      this.launch.kernelName,
      `has run ${rounds.rounds} times for pages that it lacked, and moved ${this.movedBytes} bytes of arrays of ${all}: ` +
        `${why}; give the device more memory, or have each workgroup touch neighbours`,
    );
  }

  /** The pages that were wanted are on the host, or cannot be. */
  supplied(there: boolean): void {
    if (this.over) return;
    if (!there) this.end(notHad());
    else if (this.planned !== null) this.planned.supplied(there);
    else if (this.homes.length === 0) this.feed?.supplied();
    else {
      for (const { places, part } of this.transfersOf(this.homes[0])) {
        this.outstanding++;
        const drain: Drain = { token: TOKEN, from: part, to: places };
        this.outlet.post(Packet.Drain, drain);
      }
    }
  }

  /** Does a piece of what it has to do. False: there is nothing. */
  step(): boolean {
    return (this.planned ?? this.feed)?.step() === true;
  }

  /** Gives back what it has of the engine's; nothing more is answered. */
  close(): void {
    this.over = true;
    (this.planned ?? this.feed)?.close();
    if (this.slot === -1) return;
    this.staging.give(this.slot);
    this.slot = -1;
    const { notes } = pagingBuffers(this.launch.paged);
    if (!this.isFirst) this.outlet.post(Packet.Destroy, [notes[0]]);
  }

  private nextPlanned(planned: PlannedRun): void {
    planned.give(
      (copies) => this.partsOf(copies),
      (next) => {
        if (next === null) this.end(null);
        else if (next === 'lost') this.end(notHad());
        else if (next !== 'unplanned') this.runPlanned(planned, next);
        else {
          this.planned = null;
          this.firstRound();
        }
      },
    );
  }

  private next(): void {
    const [home] = this.homes;
    if (this.failure !== null) this.end(this.failure);
    else if (home !== undefined)
      this.outlet.want(
        pagesIn(home, (copy) => this.placeOf(copy).at),
        'home',
        false,
      );
    else if (this.isLast) this.end(this.refusal);
    else this.roundWith(this.feed as PageFeed);
  }

  private feedOf(copies: readonly PageCopy[]): PageFeed {
    return new PageFeed(copies, 'device', (copy) => this.placeOf(copy).at, this.outlet);
  }

  /** A round, when the pages have come. */
  private roundWith(feed: PageFeed): void {
    this.feed = feed;
    feed.open(
      (copies) => this.partsOf(copies),
      () => this.round(),
    );
    feed.start();
  }

  /** The first round, with pages that are known to be touched. */
  private bring(copies: readonly PageCopy[]): void {
    this.movedBytes += bytesOf(copies);
    if (copies.length === 0) this.round();
    else this.roundWith(this.feedOf(copies));
  }

  private runPlanned(planned: PlannedRun, next: PlannedDispatch): void {
    const { code, group, binding, pages: table, workgroups, content } = next;
    const { pages } = pagingBuffers(this.launch.paged);
    const own = [this.launch.part.binding, this.launch.paged.pages, this.launch.paged.notes];
    const bound = this.launch.order.bound.filter(
      (each) => each.group !== this.launch.part.group || !own.includes(each.binding),
    );
    const dispatch: Dispatch = {
      ...this.launch.order,
      module: this.outlet.moduleOf(code),
      entryPoint: code.entryPoint,
      bound: [
        ...bound,
        { group, binding, kind: 'uniform', bytes: content },
        { group, binding: table, kind: 'buffer', writable: false, part: pages },
      ],
      workgroups: [...workgroups],
    };
    this.send([], [dispatch], { file: File.Staging, at: 0, parts: [] });
    // While the GPU works on it: what the next one needs, or the next part.
    if (planned.goOn()) return;
    const plan = this.launch.paged.next();
    if (plan !== null) this.outlet.nextRun(new PlannedRun(plan, this.launch.paged, this.outlet));
  }

  /** Has the engine run something, when it has written the table of pages and the rest. */
  private send(
    writes: readonly Write[],
    dispatches: readonly Dispatch[],
    read: Round['read'],
  ): void {
    const { pages } = pagingBuffers(this.launch.paged);
    writeMemory(
      this.staging.addressOf(this.slot),
      new Uint8Array(this.launch.paged.rounds.entries.buffer),
    );
    const entries: Write = {
      file: File.Staging,
      at: this.staging.offsetOf(this.slot),
      parts: [pages],
    };
    const order: Round = { writes: [entries, ...writes], dispatches, read };
    this.outlet.post(Packet.Round, order);
  }

  /** Its pages were not known before, or a workgroup's had no room. */
  private firstRound(): void {
    const { once } = this.launch.paged;
    if (once === null) this.bring(this.launch.paged.begin());
    else this.end(noRoom(this.launch.kernelName, once));
  }

  private round(): void {
    this.feed = null;
    const { maskWords, contents } = this.launch.paged;
    const noted = 4 * this.notedWords;
    const { notes } = pagingBuffers(this.launch.paged);
    const at = this.staging.offsetOf(this.slot);
    const touched: Part = [notes[0], 8 * maskWords, noted];
    if (this.isFirst) this.outlet.post(Packet.Create, [notes[0], notes[2]]);
    const cleared: Part = this.isFirst ? notes : [notes[0], 4 * maskWords, 4 * maskWords + noted];
    this.isFirst = false;
    const { group, binding } = this.launch.part;
    const dispatches = contents().map((bytes) => ({
      ...this.launch.order,
      bound: this.launch.order.bound.map((each) =>
        each.kind === 'uniform' && each.group === group && each.binding === binding
          ? { ...each, bytes }
          : each,
      ),
    }));
    this.send([{ file: File.None, at: 0, parts: [cleared] }], dispatches, {
      file: File.Staging,
      at,
      parts: [touched],
    });
  }

  /** Words noted in a round: one a page and, with logs, whether one was full. */
  private get notedWords(): number {
    return this.launch.paged.rounds.entries.length + Math.min(1, this.launch.paged.logWords);
  }

  private end(failure: LaunchFailure | null): void {
    this.close();
    // There may be no memory for the table.
    if (failure !== null) this.outlet.giveUpTable();
    this.outlet.ended(failure);
  }

  /** Where bytes of an array lie on the host, and where they go on the GPU. */
  private placeOf({ table, place, frame }: PageCopy): {
    at: number;
    buffer: number;
    offset: number;
  } {
    const number = this.launch.paged.rounds.tables.indexOf(table);
    const [buffer, offset] = this.launch.pools[number];
    return {
      at: this.launch.paged.offsets[number] + place,
      buffer,
      offset: offset + frame - table.offset,
    };
  }

  private partsOf(copies: readonly PageCopy[]): Part[] {
    return this.transfersOf(copies).map(({ part }) => part);
  }

  /** What has neighbouring frames goes as one. */
  private transfersOf(copies: readonly PageCopy[]): Transfer[] {
    const transfers: Transfer[] = [];
    for (const copy of copies) {
      const { at, buffer, offset } = this.placeOf(copy);
      const last = transfers.at(-1);
      if (
        last !== undefined &&
        last.part[0] === buffer &&
        last.part[1] + last.part[2] === offset &&
        last.places.length < PLACES_AT_ONCE
      ) {
        last.places.push([at, copy.bytes]);
        last.part[2] += copy.bytes;
      } else transfers.push({ places: [[at, copy.bytes]], part: [buffer, offset, copy.bytes] });
    }
    return transfers;
  }
}

/** @param once why it cannot run in rounds */
export function noRoom(kernelName: string, once: string): LaunchFailure {
  const message = `kernel ${kernelName}: a single workgroup touches more pages than there is room for, and WGSL ${once}; give the device more memory`;
  return { code: 'DEVICE_MEMORY', message };
}

function bytesOf(copies: readonly PageCopy[]): number {
  return copies.reduce((sum, { bytes }) => sum + bytes, 0);
}

function notHad(): LaunchFailure {
  return { code: 'ABORTED', message: 'pages that it touches could not be had' };
}
