/**
 * A part of a launch whose arrays are paged, while it runs: rounds of the kernel, and between them the pages that it lacked. They come from
 * host memory, where the manager has them be when they are wanted.
 */
import { PAGE_BYTES, Status } from '../../core/types.js';
import { readMemory, writeMemory } from '../../linux/memory.js';
import type { PageCopy } from '../../wgsl/page-rounds.js';
import type { LaunchFailure, PagedPart, WgslPart } from '../driver.js';
import { type Pages, pagingBuffers } from './launch-plan.js';
import { type Dispatch, File, type Fill, Packet, type Part, type Round } from './protocol.js';
import type { Staging } from './staging.js';

/** Bytes of pages that are held on the host at once. */
const BATCH_BYTES = 4 * 2 ** 20;
/** Places that one packet names. */
const PLACES_AT_ONCE = 1024;
/** Tokens of copies that are the core's are above 0. */
const TOKEN = -1;

/** What is asked of the engine and of the manager. */
export interface PagedOutlet {
  post(kind: number, what: unknown): void;
  /** `supplied` answers. */
  want(pages: readonly Pages[]): void;
  ended(failure: LaunchFailure | null): void;
}

export class PagedLaunch {
  private slot = -1;
  /** What the engine has not answered of what it was asked to write. */
  private outstanding = 0;
  private failure: LaunchFailure | null = null;
  /** What is still to come before the next round; the first of it is being brought to the host, or copied from there. */
  private batches: PageCopy[][] = [];
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
    const { pages, notes } = pagingBuffers(paged);
    outlet.post(Packet.Create, [pages[0], pages[2]]);
    outlet.post(Packet.Create, [notes[0], notes[2]]);
    staging.take((slot) => {
      this.slot = slot;
      if (this.over) {
        this.close();
        return;
      }
      this.write(File.None, 0, notes);
      this.round();
    });
  }

  /** The engine has written something. */
  moved(status: Status): void {
    this.outstanding--;
    if (status !== Status.Done) {
      const message =
        'the GPU has no memory for pages of a launch; give the device less memory, or end what else uses the GPU';
      this.failure ??= { code: 'DEVICE_MEMORY', message };
    }
    if (this.outstanding > 0 || this.batches.length === 0) return;
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
    const notes = new Uint32Array(rounds.entries.length);
    readMemory(new Uint8Array(notes.buffer), this.staging.addressOf(this.slot));
    const next = rounds.advance(notes);
    if (next.kind === 'done') this.end(null);
    else if (next.kind === 'refused') {
      const message = `kernel ${this.kernelName}: ${next.reason}, or give the device more memory`;
      this.end({ code: 'DEVICE_MEMORY', message });
    } else {
      this.batches = batchesOf(next.copies);
      this.next();
    }
  }

  /** The pages that were wanted are on the host, or cannot be. */
  supplied(there: boolean): void {
    if (this.over) return;
    if (!there) {
      this.end({ code: 'ABORTED', message: 'pages that it touches could not be had' });
      return;
    }
    for (const each of fillsOf(this.batches[0], (copy) => this.placeOf(copy))) {
      this.outstanding++;
      this.outlet.post(Packet.Fill, each);
    }
  }

  /** Gives back what it has of the engine's; nothing more is answered. */
  close(): void {
    this.over = true;
    if (this.slot === -1) return;
    this.staging.give(this.slot);
    this.slot = -1;
    const { pages, notes } = pagingBuffers(this.paged);
    this.outlet.post(Packet.Destroy, [pages[0]]);
    this.outlet.post(Packet.Destroy, [notes[0]]);
  }

  private next(): void {
    if (this.failure !== null) this.end(this.failure);
    else if (this.batches.length === 0) this.round();
    else this.outlet.want(pagesIn(this.batches[0].map((copy) => ({ at: this.placeOf(copy).at, bytes: copy.bytes }))));
  }

  private round(): void {
    const { rounds, maskWords, contents } = this.paged;
    const { pages, notes } = pagingBuffers(this.paged);
    const at = this.staging.offsetOf(this.slot);
    writeMemory(this.staging.addressOf(this.slot), new Uint8Array(rounds.entries.buffer));
    this.write(File.Staging, at, pages);
    const touched: Part = [notes[0], 8 * maskWords, notes[2] - 8 * maskWords];
    this.write(File.None, 0, touched);
    const { group, binding } = this.part;
    const dispatches = contents().map((bytes) => ({
      ...this.order,
      bound: this.order.bound.map((each) =>
        each.kind === 'uniform' && each.group === group && each.binding === binding ? { ...each, bytes } : each,
      ),
    }));
    const order: Round = { dispatches, read: { file: File.Staging, at, parts: [touched] } };
    this.outlet.post(Packet.Round, order);
  }

  private write(file: File, at: number, part: Part): void {
    this.outstanding++;
    this.outlet.post(Packet.Write, { token: TOKEN, file, at, parts: [part] });
  }

  private end(failure: LaunchFailure | null): void {
    this.close();
    this.outlet.ended(failure);
  }

  /** Where bytes of an array lie on the host, and where they go on the GPU. */
  private placeOf({ table, from, to }: PageCopy): { at: number; buffer: number; offset: number } {
    const number = this.paged.rounds.tables.indexOf(table);
    const [buffer, offset] = this.pools[number];
    return { at: this.paged.offsets[number] + from, buffer, offset: offset + to - table.offset };
  }
}

function batchesOf(copies: readonly PageCopy[]): PageCopy[][] {
  const batches: PageCopy[][] = [];
  let room = 0;
  for (const copy of copies) {
    for (let done = 0; done < copy.bytes; ) {
      if (room === 0) {
        batches.push([]);
        room = BATCH_BYTES;
      }
      const bytes = Math.min(room, copy.bytes - done);
      batches[batches.length - 1].push({ ...copy, from: copy.from + done, to: copy.to + done, bytes });
      done += bytes;
      room -= bytes;
    }
  }
  return batches;
}

/** What goes to neighbouring frames goes as one. */
function fillsOf(
  copies: readonly PageCopy[],
  placeOf: (copy: PageCopy) => { at: number; buffer: number; offset: number },
): Fill[] {
  const fills: { token: number; from: [number, number][]; to: [number, number, number] }[] = [];
  for (const copy of copies) {
    const { at, buffer, offset } = placeOf(copy);
    const last = fills.at(-1);
    if (
      last !== undefined &&
      last.to[0] === buffer &&
      last.to[1] + last.to[2] === offset &&
      last.from.length < PLACES_AT_ONCE
    ) {
      last.from.push([at, copy.bytes]);
      last.to[2] += copy.bytes;
    } else fills.push({ token: TOKEN, from: [[at, copy.bytes]], to: [buffer, offset, copy.bytes] });
  }
  return fills;
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
