/**
 * Launches whose kernels use of an array what the indices in another one name (`in.by('order')`).
 * The manager reads the indices ahead of the kernel and has the pages that they name brought to the
 * device, in the order of their addresses, instead of one at each fault. A launch that names more
 * pages than a part of the device's memory runs in parts one after the other: while one runs, the
 * pages of the next come. A plan moves pages and decides nothing else: what it does not bring, the
 * kernel's faults do.
 */
import { bytesOf, type NumericArray, viewOf } from '../../core/basics/elements.js';
import { Access, HOST_NODE, PAGE_BYTES, type ProcessorId } from '../../core/basics/types.js';
import type { LaunchParameter } from '../../drivers/driver.js';
import { readMemory } from '../../linux/memory/memory.js';
import type { SpaceContext } from '../arrays/table/context.js';
import type { Gather, StreamOperation } from '../protocol/operations.js';

/**
 * A part of a launch names no more than this part of the device's pages: the pages of two parts,
 * and what else the launch uses, have room.
 */
const PARTS_OF_NODE = 8;
/** One element may name more: so many parts' worth are brought, the rest comes by faults. */
const MOST_PARTS = 4;
/** Indices that are read between two looks at the faults. */
const INDICES_AT_ONCE = 2048;
/** Pages of indices that are brought to the host at once. */
const INDEX_PAGES = 16;
/** Runs asked for between two looks at the faults, and under way at once. */
const RUNS_AT_ONCE = 16;
const RUNS_UNDER_WAY = 64;

/** A launch as it was handed in. */
type Launch = Pick<
  Extract<StreamOperation, { kind: 'launch' }>,
  'begin' | 'end' | 'size' | 'parameters' | 'gathers'
>;

type ArrayParameter = Extract<LaunchParameter, { kind: 'array' }>;

/** A part of a launch whose pages have come. */
export interface LaunchPart {
  readonly begin: number;
  readonly end: number;
}

interface Run {
  readonly first: number;
  readonly count: number;
  readonly access: Access;
}

/** One array that is used by indices. */
interface Table {
  readonly firstPage: number;
  readonly offset: number;
  readonly bytes: number;
  readonly rowBytes: number;
  readonly access: Access;
  readonly indices: ArrayParameter;
  /** A bit for each page of the table that the part at hand names. */
  readonly marks: Uint8Array;
  /** Those pages, by their place in the table. */
  readonly named: number[];
  /** Those of them that the device lacks. */
  readonly absent: number[];
  /** Where indices are copied to, and the same memory as elements. */
  readonly bytesRead: Uint8Array;
  readonly values: NumericArray;
  /** The next index to be read. */
  at: number;
  /** Pages of indices that are held on the host. */
  held: { readonly first: number; readonly count: number } | null;
}

type GatherContext = Pick<SpaceContext, 'manager' | 'requests' | 'memory'>;

export class GatherPlans {
  /** Plans that can go on. */
  private readonly ready: GatherPlan[] = [];

  constructor(private readonly context: GatherContext) {}

  /**
   * A plan for a launch on a device with page faults; null: its kernel's parameters name nothing to
   * plan for.
   * @param isMapped whether the device reads the file itself where it reads a page
   */
  open(
    processor: ProcessorId,
    budgetPages: number,
    operation: Launch,
    isMapped: (page: number) => boolean,
  ): GatherPlan | null {
    const { gathers, parameters } = operation;
    if (gathers.length === 0) return null;
    const arrays = new Map(
      parameters.flatMap((each) => (each.kind === 'array' ? [[each.name, each] as const] : [])),
    );
    const tables = gathers
      .flatMap((gather) => tableOf(gather, arrays))
      .filter(({ firstPage }) => !isMapped(firstPage));
    if (tables.length === 0) return null;
    const most = Math.max(1, Math.floor(budgetPages / PARTS_OF_NODE));
    const goOn = (plan: GatherPlan): void => void this.ready.push(plan);
    return new GatherPlan(this.context, processor, most, operation, tables, goOn);
  }

  /** Takes one plan a little further. */
  step(): number {
    const plan = this.ready.shift();
    if (plan === undefined) return 0;
    plan.step();
    return 1;
  }

  /** Whether a plan can go on. */
  get busy(): boolean {
    return this.ready.length > 0;
  }
}

export class GatherPlan {
  private phase: 'idle' | 'indices' | 'reading' | 'bringing' | 'there' | 'closed' = 'idle';
  /** Where the part begins; `read`: how far indices are read, `spanEnd`: how far they are here. */
  private begin: number;
  private read: number;
  private spanEnd: number;
  private outstanding = 0;
  /** Indices could not be had: the rest of the launch is a part without a plan. */
  private failed = false;
  private readonly runs: Run[] = [];
  /** Elements whose indices are read, and brought to the host, at once. */
  private readonly stride: number;
  private readonly span: number;
  private wanted: ((part: LaunchPart) => void) | null = null;

  constructor(
    private readonly context: GatherContext,
    private readonly processor: ProcessorId,
    /** The most pages that a part is to bring. */
    private readonly most: number,
    private readonly launch: Launch,
    private readonly tables: readonly Table[],
    private readonly goOn: (plan: GatherPlan) => void,
  ) {
    for (const table of tables) table.at = this.indicesOf(table, launch.begin, launch.end).from;
    this.begin = launch.begin;
    this.read = launch.begin;
    this.spanEnd = launch.begin;
    let indices = INDICES_AT_ONCE;
    let span = Number.POSITIVE_INFINITY;
    let each = 0;
    for (const { rowBytes, indices: order } of tables) {
      // A few indices at a time, so that a part is not much larger than it should be.
      indices = Math.min(indices, most / 4 / (1 + Math.ceil(rowBytes / PAGE_BYTES)));
      span = Math.min(span, (INDEX_PAGES * PAGE_BYTES) / bytesOf(order.type));
      each = Math.max(each, order.length / launch.size);
    }
    this.stride = Math.max(1, Math.floor(indices / each));
    this.span = Math.max(this.stride, Math.floor(span / each));
  }

  /** Whether no part is left. */
  get over(): boolean {
    return this.begin >= this.launch.end;
  }

  /** Calls `ready` when the pages of the next part have come; there must be one. */
  next(ready: (part: LaunchPart) => void): void {
    this.wanted = ready;
    if (this.phase === 'there') this.hand();
    else this.prepare();
  }

  /** Begins to bring the pages of the next part, if there is one and that has not begun. */
  prepare(): void {
    if (this.phase === 'idle' && !this.over) this.bringIndices();
  }

  /** Nothing more is asked for. */
  close(): void {
    this.phase = 'closed';
    this.wanted = null;
    this.letGo();
  }

  /** Reads some indices, or asks for some pages. */
  step(): void {
    if (this.phase === 'reading') this.readSome();
    else if (this.phase === 'bringing') this.bringSome();
  }

  private bringIndices(): void {
    this.phase = 'indices';
    const { launch, read } = this;
    this.spanEnd = Math.min(launch.end, read + this.span);
    this.outstanding = this.tables.length;
    for (const table of this.tables) {
      const { offset, type } = table.indices;
      const { from, to } = this.indicesOf(table, read, this.spanEnd);
      const first = Math.floor((offset + from * bytesOf(type)) / PAGE_BYTES);
      const count = Math.ceil((offset + to * bytesOf(type)) / PAGE_BYTES) - first;
      if (to <= from) {
        this.haveIndices();
        continue;
      }
      this.context.requests.start(
        (request) =>
          this.context.manager.bring(request, HOST_NODE, first, count, Access.Read, { hold: true }),
        (_pages, failure) => {
          if (failure === null) table.held = { first, count };
          else this.failed = true;
          this.haveIndices();
        },
      );
    }
  }

  private haveIndices(): void {
    this.outstanding--;
    if (this.phase === 'closed') this.letGo();
    else if (this.outstanding === 0) {
      this.phase = 'reading';
      this.goOn(this);
    }
  }

  private readSome(): void {
    const to = Math.min(this.spanEnd, this.read + this.stride);
    let absent = 0;
    for (const table of this.tables) {
      if (!this.failed && this.note(table, this.indicesOf(table, this.read, to).to)) {
        this.goOn(this);
        return;
      }
      absent += table.absent.length;
    }
    this.read = this.failed ? this.launch.end : to;
    if (this.read < this.spanEnd && absent < this.most) {
      this.goOn(this);
      return;
    }
    this.letGo();
    if (this.read < this.launch.end && absent < this.most) {
      this.bringIndices();
      return;
    }
    let pages = MOST_PARTS * this.most;
    for (const table of this.tables) pages -= takeRuns(table, this.runs, pages);
    this.phase = 'bringing';
    this.goOn(this);
  }

  /** The indices of a table that the elements [from, to) of the launch are taken to use. */
  private indicesOf({ indices }: Table, from: number, to: number): { from: number; to: number } {
    const each = indices.length / this.launch.size;
    return {
      from: Math.floor(from * each),
      to: to === this.launch.size ? indices.length : Math.floor(to * each),
    };
  }

  /** Notes pages that the next indices before `to` name. True: there are more to read. */
  private note(table: Table, to: number): boolean {
    const { indices, bytesRead, values, rowBytes, bytes, offset, firstPage } = table;
    const size = bytesOf(indices.type);
    const count = Math.min(values.length, to - table.at);
    if (count <= 0) return false;
    readMemory(
      bytesRead.subarray(0, count * size),
      this.context.memory + indices.offset + table.at * size,
    );
    for (let k = 0; k < count; k++) {
      const start = Number(values[k]) * rowBytes;
      if (!(start >= 0 && start + rowBytes <= bytes)) continue;
      const last = Math.floor((offset + start + rowBytes - 1) / PAGE_BYTES) - firstPage;
      for (let page = Math.floor((offset + start) / PAGE_BYTES) - firstPage; page <= last; page++)
        this.noteOne(table, page);
    }
    table.at += count;
    return table.at < to;
  }

  private noteOne({ firstPage, marks, named, absent, access }: Table, page: number): void {
    const bit = 1 << (page & 7);
    if ((marks[page >>> 3] & bit) !== 0) return;
    marks[page >>> 3] |= bit;
    named.push(page);
    const { pages } = this.context.manager;
    const there = pages.isMapped(this.processor, firstPage + page, access === Access.Write);
    if (!there && !pages.isRemote(this.processor, firstPage + page)) absent.push(page);
  }

  private bringSome(): void {
    const { runs } = this;
    for (
      let step = 0;
      step < RUNS_AT_ONCE && runs.length > 0 && this.outstanding < RUNS_UNDER_WAY;
      step++
    ) {
      const { first, count, access } = runs.pop() as Run;
      this.outstanding++;
      this.context.requests.start(
        (request) => this.context.manager.acquire(request, this.processor, first, count, access),
        // Of what cannot be had the kernel hears when it touches that.
        () => this.brought(),
      );
    }
    if (this.outstanding === 0) this.there();
    else if (runs.length > 0 && this.outstanding < RUNS_UNDER_WAY) this.goOn(this);
  }

  private brought(): void {
    const full = this.outstanding-- === RUNS_UNDER_WAY;
    if (this.phase !== 'bringing') return;
    if (this.runs.length > 0) {
      if (full) this.goOn(this);
    } else if (this.outstanding === 0) this.there();
  }

  private there(): void {
    this.phase = 'there';
    if (this.wanted !== null) this.hand();
  }

  private hand(): void {
    const ready = this.wanted;
    const part = { begin: this.begin, end: this.read };
    this.wanted = null;
    this.begin = this.read;
    this.phase = 'idle';
    ready?.(part);
  }

  private letGo(): void {
    for (const table of this.tables) {
      if (table.held === null) continue;
      const { first, count } = table.held;
      table.held = null;
      this.context.manager.release(HOST_NODE, first, count, Access.Read);
    }
  }
}

function tableOf(
  { table, indices, row }: Gather,
  arrays: ReadonlyMap<string, ArrayParameter>,
): Table[] {
  const array = arrays.get(table);
  const order = arrays.get(indices);
  if (array === undefined || order === undefined) return [];
  const { offset, length, type, use } = array;
  const bytes = length * bytesOf(type);
  const firstPage = Math.floor(offset / PAGE_BYTES);
  const buffer = new ArrayBuffer(INDICES_AT_ONCE * bytesOf(order.type));
  return [
    {
      firstPage,
      offset,
      bytes,
      rowBytes: row * bytesOf(type),
      access: use === 'in' ? Access.Read : Access.Write,
      indices: order,
      marks: new Uint8Array(Math.ceil((Math.ceil((offset + bytes) / PAGE_BYTES) - firstPage) / 8)),
      named: [],
      absent: [],
      bytesRead: new Uint8Array(buffer),
      values: viewOf(order.type, buffer),
      at: 0,
      held: null,
    },
  ];
}

/** Adds `most` pages to be brought to `runs`, the first last, and forgets them. Their count. */
function takeRuns(
  { firstPage, access, absent, named, marks }: Table,
  runs: Run[],
  most: number,
): number {
  absent.length = Math.min(absent.length, most);
  absent.sort((a, b) => b - a);
  const pages = absent.length;
  for (let at = 0; at < pages; ) {
    let end = at + 1;
    while (end < pages && absent[end] === absent[end - 1] - 1) end++;
    runs.push({ first: firstPage + absent[end - 1], count: end - at, access });
    at = end;
  }
  for (const page of named) marks[page >>> 3] = 0;
  named.length = 0;
  absent.length = 0;
  return pages;
}
