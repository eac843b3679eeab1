/**
 * A part of a launch whose arrays are paged, while it runs: rounds of the kernel, and between them the pages that it lacked. They come from
 * host memory, where the manager has them be when they are wanted, and what was written of them goes back there. Where numbers that arrays hold
 * tell which pages these are, they come first, and the kernel runs once, by a module that does not ask for them.
 */
import { PAGE_BYTES, Status } from '../../core/types.js';
import { readMemory, writeMemory } from '../../linux/memory.js';
import type { PageCopy } from '../../wgsl/page-rounds.js';
import type { LaunchFailure, PagedPart, PagePlan, PlannedDispatch, WantedFor, WgslCode, WgslPart } from '../driver.js';
import { type Pages, pagingBuffers } from './launch-plan.js';
import { type Dispatch, type Drain, File, type Fill, Packet, type Part, type Round } from './protocol.js';
import { STAGING_SLOT_BYTES, type Staging } from './staging.js';
import { noMemoryForPages } from './unmet-buffers.js';

/** Bytes of pages that are held on the host at once. */
const BATCH_BYTES = 4 * 2 ** 20;
/**
 * Bytes of pages that the manager copies itself, so that they go to the engine in one piece, along with the kernel that needs them. It looks at no
 * fault meanwhile.
 */
const FEW_BYTES = 512 * 2 ** 10;
/** Places that one packet names. */
const PLACES_AT_ONCE = 1024;
/** Tokens of copies that are the core's are above 0. */
const TOKEN = -1;

/** What is asked of the engine and of the manager. */
export interface PagedOutlet {
  post(kind: number, what: unknown): void;
  /** What the engine calls the module. */
  moduleOf(code: WgslCode): number;
  /** Has the buffer for the table of pages be there; it is kept for later launches. `giveUpTable` has the next launch get another one. */
  needTable(table: Part): void;
  giveUpTable(): void;
  /**
   * `supplied` answers.
   * @param atOnce what it does with them has been done when it returns
   */
  want(pages: readonly Pages[], wantedFor: WantedFor, atOnce: boolean): void;
  /** Bytes of the host's memory that were wanted. */
  look(at: number, content: Uint8Array): void;
  /** Copies bytes of the host's memory that were wanted to an address. */
  copy(at: number, bytes: number, address: number): void;
  ended(failure: LaunchFailure | null): void;
}

/** Copies at a time, all one way. */
interface Batch {
  readonly isHome: boolean;
  readonly copies: PageCopy[];
}

/** Bytes of neighbouring frames, and their places on the host. */
interface Transfer {
  readonly places: [at: number, bytes: number][];
  readonly part: [buffer: number, offset: number, bytes: number];
}

type Write = Round['writes'][number];

export class PagedLaunch {
  private slot = -1;
  /** What the engine has not answered of what it was asked to write. */
  private outstanding = 0;
  private failure: LaunchFailure | null = null;
  /** Why it ends when what others have written is home. */
  private refusal: LaunchFailure | null = null;
  /** What is still to move before the next round, or the end; the pages of the first are being brought to the host, or copied. */
  private batches: Batch[] = [];
  /** Pages that are to be written with the next round. */
  private along: Write[] = [];
  /** Set where it runs by a plan: what is still to run of it, the next one last. */
  private plan: PagePlan | null;
  private planned: PlannedDispatch[] | null = null;
  /** No round follows. */
  private isLast = false;
  private over = false;

  constructor(
    private readonly kernelName: string,
    private readonly order: Dispatch,
    private readonly part: WgslPart,
    private readonly paged: PagedPart,
    /** Where the frames of each array lie. */
    private readonly pools: readonly Part[],
    private readonly staging: Staging,
    private readonly outlet: PagedOutlet,
  ) {
    const { pages } = pagingBuffers(paged);
    outlet.needTable(pages);
    this.plan = paged.plan();
    staging.take((slot) => {
      this.slot = slot;
      if (this.over) this.close();
      else if (this.plan === null) this.firstRound();
      else if (this.plan.numbers.length === 0) this.look(this.plan);
      else outlet.want(pagesIn(this.plan.numbers), 'look', true);
    });
  }

  /** The engine has written something. */
  moved(status: Status): void {
    this.outstanding--;
    if (status !== Status.Done) {
      this.failure ??= noMemoryForPages();
    }
    if (this.outstanding > 0) return;
    this.batches.shift();
    this.next();
  }

  /** A round has ended. */
  launched(failure: LaunchFailure | null): void {
    this.failure ??= failure;
    if (this.failure !== null) {
      this.end(this.failure);
      return;
    }
    const { rounds } = this.paged;
    if (this.plan !== null) {
      this.nextPlanned();
      return;
    }
    const notes = new Uint32Array(this.notedWords);
    readMemory(new Uint8Array(notes.buffer), this.staging.addressOf(this.slot));
    const { homes, copies, end } = rounds.advance(notes);
    this.batches = [...batchesOf(homes, true), ...batchesOf(copies, false)];
    this.isLast = end !== null;
    if (end !== null && end !== 'done') {
      const message = `kernel ${this.kernelName}: ${end.refused}, or give the device more memory`;
      this.refusal = { code: 'DEVICE_MEMORY', message };
    }
    this.next();
  }

  /** The pages that were wanted are on the host, or cannot be. */
  supplied(there: boolean): void {
    if (this.over) return;
    if (!there) {
      this.end({ code: 'ABORTED', message: 'pages that it touches could not be had' });
      return;
    }
    if (this.plan !== null && this.planned === null) {
      this.look(this.plan);
      return;
    }
    const { isHome, copies } = this.batches[0];
    if (this.goAlong(this.batches[0])) {
      this.along = this.packed(copies);
      this.batches = [];
      this.next();
      return;
    }
    for (const { places, part } of transfersOf(copies, (copy) => this.placeOf(copy))) {
      this.outstanding++;
      const fill: Fill = { token: TOKEN, from: places, to: part };
      const drain: Drain = { token: TOKEN, from: part, to: places };
      if (isHome) this.outlet.post(Packet.Drain, drain);
      else this.outlet.post(Packet.Fill, fill);
    }
  }

  /** Gives back what it has of the engine's; nothing more is answered. */
  close(): void {
    this.over = true;
    if (this.slot === -1) return;
    this.staging.give(this.slot);
    this.slot = -1;
    const { notes } = pagingBuffers(this.paged);
    if (this.plan === null) this.outlet.post(Packet.Destroy, [notes[0]]);
  }

  /** The numbers are on the host that tell what is touched. */
  private look(plan: PagePlan): void {
    const numbers = plan.numbers.map(({ at, bytes }) => {
      const content = new Uint8Array(bytes);
      this.outlet.look(at, content);
      return new Uint32Array(content.buffer);
    });
    const dispatches = plan.dispatches(numbers);
    if (dispatches === null) {
      this.plan = null;
      this.firstRound();
      return;
    }
    this.planned = dispatches.toReversed();
    this.nextPlanned();
  }

  private nextPlanned(): void {
    const next = this.planned?.at(-1);
    this.isLast = next === undefined;
    if (next !== undefined) this.batches = batchesOf(this.paged.rounds.admit(next.wanted), false);
    this.next();
  }

  private firstRound(): void {
    const { notes } = pagingBuffers(this.paged);
    this.outlet.post(Packet.Create, [notes[0], notes[2]]);
    this.along = [{ file: File.None, at: 0, parts: [notes] }];
    this.round();
  }

  private next(): void {
    const [batch] = this.batches;
    if (this.failure !== null) this.end(this.failure);
    else if (batch !== undefined)
      this.outlet.want(
        pagesIn(batch.copies.map((copy) => ({ at: this.placeOf(copy).at, bytes: copy.bytes }))),
        batch.isHome ? 'home' : this.plan === null ? 'device' : 'plan',
        this.goAlong(batch),
      );
    else if (this.isLast) this.end(this.refusal);
    else if (this.plan === null) this.round();
    else this.runPlanned(this.plan, this.planned?.pop() as PlannedDispatch);
  }

  private runPlanned({ code, group, binding, pages: table }: PagePlan, { workgroups, content }: PlannedDispatch): void {
    const { pages } = pagingBuffers(this.paged);
    const own = [this.part.binding, this.paged.pages, this.paged.notes];
    const bound = this.order.bound.filter((each) => each.group !== this.part.group || !own.includes(each.binding));
    const dispatch: Dispatch = {
      ...this.order,
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
  }

  /** Has the engine run something, when it has written the table of pages, what goes along, and the rest. */
  private send(writes: readonly Write[], dispatches: readonly Dispatch[], read: Round['read']): void {
    const { pages } = pagingBuffers(this.paged);
    writeMemory(this.staging.addressOf(this.slot), new Uint8Array(this.paged.rounds.entries.buffer));
    const entries: Write = { file: File.Staging, at: this.staging.offsetOf(this.slot), parts: [pages] };
    const order: Round = { writes: [entries, ...this.along, ...writes], dispatches, read };
    this.along = [];
    this.outlet.post(Packet.Round, order);
  }

  /** Whether what follows these pages is the round that needs them, and they are few. */
  private goAlong({ isHome, copies }: Batch): boolean {
    if (isHome || this.isLast || this.batches.length > 1) return false;
    const bytes = copies.reduce((sum, copy) => sum + copy.bytes, 0);
    return bytes <= Math.min(FEW_BYTES, STAGING_SLOT_BYTES - this.paged.rounds.entries.byteLength);
  }

  /** Puts pages together behind the table of pages. */
  private packed(copies: readonly PageCopy[]): Write[] {
    let done = this.paged.rounds.entries.byteLength;
    return transfersOf(copies, (copy) => this.placeOf(copy)).map(({ places, part }) => {
      const from = this.staging.offsetOf(this.slot) + done;
      for (const [at, bytes] of places) {
        this.outlet.copy(at, bytes, this.staging.addressOf(this.slot) + done);
        done += bytes;
      }
      return { file: File.Staging, at: from, parts: [part] };
    });
  }

  private round(): void {
    const { maskWords, contents } = this.paged;
    const noted = 4 * this.notedWords;
    const { notes } = pagingBuffers(this.paged);
    const at = this.staging.offsetOf(this.slot);
    const touched: Part = [notes[0], 8 * maskWords, noted];
    const cleared: Write = { file: File.None, at: 0, parts: [[notes[0], 4 * maskWords, 4 * maskWords + noted]] };
    const { group, binding } = this.part;
    const dispatches = contents().map((bytes) => ({
      ...this.order,
      bound: this.order.bound.map((each) =>
        each.kind === 'uniform' && each.group === group && each.binding === binding ? { ...each, bytes } : each,
      ),
    }));
    this.send([cleared], dispatches, { file: File.Staging, at, parts: [touched] });
  }

  /** What is noted in a round: a word for each page and, where there are logs, whether one was full. */
  private get notedWords(): number {
    return this.paged.rounds.entries.length + Math.min(1, this.paged.logWords);
  }

  private end(failure: LaunchFailure | null): void {
    this.close();
    // There may be no memory for the table.
    if (failure !== null) this.outlet.giveUpTable();
    this.outlet.ended(failure);
  }

  /** Where bytes of an array lie on the host, and where they go on the GPU. */
  private placeOf({ table, place, frame }: PageCopy): { at: number; buffer: number; offset: number } {
    const number = this.paged.rounds.tables.indexOf(table);
    const [buffer, offset] = this.pools[number];
    return { at: this.paged.offsets[number] + place, buffer, offset: offset + frame - table.offset };
  }
}

function batchesOf(copies: readonly PageCopy[], isHome: boolean): Batch[] {
  const batches: Batch[] = [];
  let room = 0;
  for (const copy of copies) {
    for (let done = 0; done < copy.bytes; ) {
      if (room === 0) {
        batches.push({ isHome, copies: [] });
        room = BATCH_BYTES;
      }
      const bytes = Math.min(room, copy.bytes - done);
      const { copies: last } = batches[batches.length - 1];
      last.push({ ...copy, place: copy.place + done, frame: copy.frame + done, bytes });
      done += bytes;
      room -= bytes;
    }
  }
  return batches;
}

/** What has neighbouring frames goes as one. */
function transfersOf(
  copies: readonly PageCopy[],
  placeOf: (copy: PageCopy) => { at: number; buffer: number; offset: number },
): Transfer[] {
  const transfers: Transfer[] = [];
  for (const copy of copies) {
    const { at, buffer, offset } = placeOf(copy);
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

/** Runs of pages, none twice. */
function pagesIn(places: readonly { at: number; bytes: number }[]): Pages[] {
  const runs: { first: number; count: number }[] = [];
  const sorted = [...places].sort((one, other) => one.at - other.at);
  for (const { at, bytes } of sorted) {
    const first = Math.floor(at / PAGE_BYTES);
    const end = Math.ceil((at + bytes) / PAGE_BYTES);
    const last = runs.at(-1);
    if (last !== undefined && first <= last.first + last.count) last.count = Math.max(last.count, end - last.first);
    else runs.push({ first, count: end - first });
  }
  return runs;
}
