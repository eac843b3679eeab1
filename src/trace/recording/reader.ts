/**
 * Reads a recording entry by entry and tells a watcher what happened, with causes: each command is
 * put down to the event from which it follows, also where drivers answered in between. It remembers
 * where pages are, and no moves.
 */

import { getOrMake } from '../../core/basics/get-or-make.js';
import {
  type NodeDescription,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  type ProcessorDescription,
  type Reason,
  Status,
  type Transfer,
} from '../../core/basics/types.js';
import type { Entry } from '../../core/recording/recording.js';
import {
  type Cause,
  type Departure,
  type Fault,
  type Held,
  type Launch,
  type Leaving,
  type Memory,
  type Move,
  memoryOf,
  type Names,
  type Need,
  type Processor,
  type RecordedArray,
  type State,
} from './moves.js';

/** Hears of each thing when it happens. */
export interface Watcher {
  /** Time goes on. */
  comesTo?(atMs: number): void;
  /** Pages that a memory had already. */
  held(run: Held): void;
  launched(launch: Launch): void;
  faulted(fault: Fault): void;
  moved(move: Move): void;
  /** Pages that had been evicted came back. @param first of this eviction */
  regretted?(eviction: Departure, pages: number, first: boolean): void;
}

/** Events that take pages from the program, or give up what they hold. */
const GIVING_UP = new Set([
  'free',
  'drop',
  'zero',
  'blank',
  'recycle',
  'detach',
  'removeNode',
  'nodeLost',
  'processorLost',
]);
/** Events after which a memory has less room, or needs more. */
const NEEDS_ROOM = new Set(['launchEnd', 'setBudget']);
const ANSWERS = new Set(['transferred', 'revoked', 'released']);

/** What a memory has of a block, or evicted without return. Whole blocks need no tables. */
class Residence {
  private all = false;
  private here: Uint8Array | null = null;
  /** Of all pages, or of each. */
  private gone: Departure | null = null;
  private goneEach: (Departure | null)[] | null = null;

  /** Pages come. Tells of each eviction that is over, and of how many pages. */
  come(first: number, count: number, over: (eviction: Departure, pages: number) => void): void {
    if (count === PAGES_PER_BLOCK) {
      this.all = true;
      this.here = null;
    } else if (!this.all) this.pages().fill(1, first, first + count);
    if (this.goneEach === null) {
      if (this.gone === null) return;
      if (count === PAGES_PER_BLOCK) {
        over(this.gone, PAGES_PER_BLOCK);
        this.gone = null;
        return;
      }
    }
    const each = this.each();
    let pages = 0;
    for (let at = first; at < first + count; at++) {
      const eviction = each[at];
      if (eviction === null) continue;
      pages++;
      each[at] = null;
      if (at + 1 < first + count && each[at + 1] === eviction) continue;
      over(eviction, pages);
      pages = 0;
    }
  }

  /** How many of some pages are here. */
  has(first: number, count: number): number {
    const { here } = this;
    if (here === null) return this.all ? count : 0;
    let pages = 0;
    for (let at = first; at < first + count; at++) pages += here[at];
    return pages;
  }

  /** Pages go. @param eviction null: they were not evicted */
  go(first: number, count: number, eviction: Departure | null): void {
    if (count === PAGES_PER_BLOCK && this.here === null) {
      this.all = false;
      if (eviction === null) return;
      this.gone = eviction;
      this.goneEach = null;
      return;
    }
    const here = this.pages();
    if (eviction !== null) {
      const each = this.each();
      for (let at = first; at < first + count; at++) if (here[at] === 1) each[at] = eviction;
    }
    here.fill(0, first, first + count);
  }

  private pages(): Uint8Array {
    if (this.here !== null) return this.here;
    this.here = new Uint8Array(PAGES_PER_BLOCK).fill(this.all ? 1 : 0);
    this.all = false;
    return this.here;
  }

  private each(): (Departure | null)[] {
    this.goneEach ??= new Array<Departure | null>(PAGES_PER_BLOCK).fill(this.gone);
    this.gone = null;
    return this.goneEach;
  }
}

/** A command that has no answer yet. */
interface Waiting {
  readonly cause: Cause;
  readonly sinceMs: number;
  readonly transfer: Transfer | null;
}

export class Reader implements Names {
  readonly memories: Memory[] = [];
  readonly processors: Processor[] = [];
  readonly arrays: RecordedArray[] = [];
  /** The name of the policy that chooses what is evicted; empty: not known. */
  rule = '';
  private readonly byBlock: (RecordedArray | undefined)[] = [];
  /** By the number of the core. */
  private readonly running = new Map<number, Launch>();
  private begun = 0;
  /** By the token of the command. */
  private readonly waiting = new Map<number, Waiting>();
  private readonly residences = new Map<number, Residence>();
  private faults = 0;
  private event: Entry | null = null;
  private cause: Cause = request('', 0);
  /** The time of the last entry. */
  now = 0;

  constructor(private readonly watcher: Watcher) {}

  arrayAt(page: number): RecordedArray | null {
    return this.byBlock[Math.floor(page / PAGES_PER_BLOCK)] ?? null;
  }

  begin(
    { memories, processors, arrays, held, coming, launches, rule }: State,
    beganMs: number,
  ): void {
    this.rule = rule ?? '';
    for (const memory of memories) {
      // Numbers of memories that have gone are free.
      for (let id = this.memories.length; id < memory.id; id++)
        this.memories.push({ id, name: `memory ${id}`, budgetPages: 0 });
      this.memories[memory.id] = { ...memory };
    }
    for (const processor of processors) this.processors[processor.id] = processor;
    for (const { reserved, ...array } of arrays) this.arrayComes(array, reserved);
    for (const [memory, page, pages] of held) {
      // A run may go on in the next array.
      let told = page;
      let taken = 0;
      for (let at = page; at < page + pages; ) {
        const block = Math.floor(at / PAGES_PER_BLOCK) * PAGES_PER_BLOCK;
        const end = Math.min(page + pages, block + PAGES_PER_BLOCK);
        const before = this.memoryAround(memory, at, end - at);
        this.residence(memory, at).come(at - block, end - at, () => undefined);
        taken += this.memoryAround(memory, at, end - at) - before;
        at = end;
        if (at < page + pages && this.arrayAt(at) === this.arrayAt(told)) continue;
        this.watcher.held({ memory, page: told, pages: at - told, taken });
        told = at;
        taken = 0;
      }
    }
    for (const [token, node, source, page, count] of coming)
      this.waits(token, { token, node, source, page, count } as Transfer);
    for (const { id, ...launch } of launches)
      this.launches(id, { ...launch, beganMs: launch.beganMs - beganMs, endedMs: Number.NaN });
  }

  /** @param firstOf where an array lies, if the entry does not say */
  read(entry: Entry, atMs: number, firstOf: (range: number) => number = () => -1): void {
    this.watcher.comesTo?.(atMs);
    this.now = atMs;
    if (entry[0] === '>') this.command(entry[1], entry[2], entry[3]);
    else if (entry[0] === '=') this.answered(entry[1], firstOf);
    else this.told(entry);
  }

  private told(entry: Entry): void {
    const [kind, name, ...args] = entry as readonly ['!' | '+', string, ...unknown[]];
    if (ANSWERS.has(name)) {
      const token = args[0] as number;
      const waited = this.waiting.get(token);
      this.waiting.delete(token);
      if (kind === '!' && waited !== undefined) this.cause = waited.cause;
      if (name === 'transferred' && args[1] === Status.Done && waited?.transfer)
        this.arrived(waited.transfer, this.now - waited.sinceMs);
      return;
    }
    if (kind === '+') return;
    this.event = entry;
    this.cause = this.causeOf(name, args);
    if (name === 'launchEnd') this.ended(args[0] as number);
    else if (name === 'grow') this.grown(args);
    else if (name === 'setBudget') this.budget(args);
  }

  private causeOf(name: string, args: readonly unknown[]): Cause {
    const { now: atMs } = this;
    if (name === 'fault') {
      const [processor, page, write] = args as [number, number, boolean];
      const launch = this.launchOn(processor);
      const { id: number = -1, kernel = '', written } = launch ?? {};
      const whose = { launch: number, kernel, written };
      this.faults++;
      this.watcher.faulted({ atMs, processor, page, write, launch: whose.launch });
      return { kind: 'touch', event: name, atMs, processor, page, pages: 1, write, ...whose };
    }
    if (name === 'launchBegin') {
      const [launch, processor, given, kernel = ''] = args as [
        number,
        number,
        { name: string; use?: string }[],
        string?,
      ];
      // A launch in parts begins once for each.
      const arrays = given.map((each) => each.name);
      const written = given.filter(({ use = 'in' }) => use !== 'in').map((each) => each.name);
      const began = { kernel, processor, beganMs: atMs, endedMs: Number.NaN, arrays, written };
      const { id } = this.running.get(launch) ?? this.launches(launch, began);
      const whose = { processor, launch: id, kernel, written };
      return { ...request(name, atMs), kind: 'launch', ...whose };
    }
    if (name === 'goAhead') return { ...request(name, atMs), kind: 'ahead' };
    if (name === 'acquire' || name === 'bring') {
      const [, by, page, pages] = args as number[];
      const processor = name === 'acquire' ? by : -1;
      return { ...request(name, atMs), processor, page, pages };
    }
    if (['free', 'zero', 'protect', 'clean', 'drop'].includes(name)) {
      const [, page, pages] = args as number[];
      return { ...request(name, atMs), page, pages };
    }
    return request(name, atMs);
  }

  /** Numbers are given in the order of launches: the core's own count other requests, too. */
  private launches(core: number, given: Omit<Launch, 'id'>): Launch {
    const launch = { id: ++this.begun, ...given };
    this.running.set(core, launch);
    this.watcher.launched(launch);
    return launch;
  }

  private launchOn(processor: number): Launch | null {
    for (const launch of this.running.values()) if (launch.processor === processor) return launch;
    return null;
  }

  private answered(result: unknown, firstOf: (range: number) => number): void {
    const [, name, ...args] = (this.event ?? ['!', '']) as readonly ['!', string, ...unknown[]];
    if (name === 'addDevice' || name === 'addNode' || name === 'addProcessor') {
      const description = args[0] as NodeDescription & ProcessorDescription;
      const { processor = -1, node = -1 } = (
        name === 'addDevice' ? result : { [name === 'addNode' ? 'node' : 'processor']: result }
      ) as { processor?: number; node?: number };
      if (node >= 0)
        this.memories[node] = {
          id: node,
          name: description.name,
          budgetPages: description.budgetPages,
          granularityBytes: description.granularityBytes,
          speed: description.speed,
        };
      if (processor >= 0)
        this.processors[processor] = { id: processor, name: description.name, memory: node };
    } else if (name === 'allocate' && result !== null) {
      const [pages, { name: called, elementBytes = 1 }, reserved = pages] = args as [
        number,
        { name: string; elementBytes?: number },
        number?,
      ];
      const { range: id, first = firstOf(id) } = result as { range: number; first?: number };
      this.arrayComes({ id, name: called, first, pages, elementBytes }, reserved);
    }
  }

  private arrayComes(array: RecordedArray, reservedPages: number): void {
    this.arrays.push(array);
    const block = Math.floor(array.first / PAGES_PER_BLOCK);
    for (let each = 0; each < Math.ceil(reservedPages / PAGES_PER_BLOCK); each++)
      this.byBlock[block + each] = array;
  }

  private ended(id: number): void {
    const launch = this.running.get(id);
    if (launch === undefined) return;
    launch.endedMs = this.now;
    this.running.delete(id);
  }

  private grown([range, , pages]: readonly unknown[]): void {
    const { range: id } = range as { range: number };
    const array = this.arrays.find((each) => each.id === id);
    if (array !== undefined) array.pages = Math.max(array.pages, pages as number);
  }

  private budget([node, pages]: readonly unknown[]): void {
    const memory = this.memories[node as number];
    if (memory !== undefined) memory.budgetPages = pages as number;
  }

  private command(name: string, args: readonly unknown[], result: unknown): void {
    if (name === 'transfer') {
      const transfer = args[0] as Transfer;
      // Others than what comes ahead are sent away for it.
      if (
        this.cause.kind === 'ahead' &&
        this.cause.page === -1 &&
        (transfer.reason ?? null) !== null
      )
        this.comesAhead(transfer);
      if (result === Status.Done) this.arrived(transfer, 0);
      else if (result === Status.Pending) this.waits(transfer.token, transfer);
    } else if (name === 'release') {
      const [token, node, page, count] = args as number[];
      this.left(node, page, count);
      if (result === Status.Pending) this.waits(token, null);
    } else if (
      (name === 'revoke' || name === 'remap' || name === 'cover') &&
      result === Status.Pending
    ) {
      this.waits(args[0] as number, null);
    }
  }

  /** The event does not say for whom. */
  private comesAhead({ node, page }: Transfer): void {
    const { cause } = this;
    cause.page = page;
    for (const launch of this.running.values()) {
      const { id, processor, kernel } = launch;
      if (memoryOf(this, processor) === node)
        Object.assign(cause, { launch: id, processor, kernel });
    }
  }

  private waits(token: number, transfer: Transfer | null): void {
    this.waiting.set(token, { cause: this.cause, sinceMs: this.now, transfer });
  }

  private arrived({ node, source, page, count, reason = null }: Transfer, tookMs: number): void {
    if (node < 0) return;
    const { cause, now: atMs } = this;
    let returned = 0;
    const residence = this.residence(node, page);
    const first = page % PAGES_PER_BLOCK;
    // A page that another processor has written keeps its memory here, and comes again into it.
    const added = count - residence.has(first, count);
    const before = this.memoryAround(node, page, count);
    residence.come(first, count, (eviction, pages) => {
      returned += pages;
      const isFirst = eviction.regret === null;
      eviction.returned += pages;
      const afterMs = atMs - eviction.atMs;
      eviction.regret ??= { afterMs, afterFaults: this.faults - eviction.faults, cause };
      this.watcher.regretted?.(eviction, pages, isFirst);
    });
    const need = this.needOf(node, page, count, reason);
    const taken = this.memoryAround(node, page, count) - before;
    const what = { memory: node, source, page, pages: count, added, taken, cause, need, reason };
    this.watcher.moved({ kind: 'arrival', atMs, ...what, returned, tookMs });
  }

  /** A granule of several blocks is given back at once. */
  private left(node: number, page: number, count: number): void {
    for (let at = page; at < page + count; ) {
      const block = at - (at % PAGES_PER_BLOCK);
      const end = Math.min(page + count, block + PAGES_PER_BLOCK);
      this.leftOf(node, at, end - at);
      at = end;
    }
  }

  private leftOf(node: number, page: number, count: number): void {
    const residence = this.residence(node, page);
    const first = page % PAGES_PER_BLOCK;
    const pages = residence.has(first, count);
    if (pages === 0) return;
    const why = this.whyLeft(page, count);
    const { cause, now: atMs, faults } = this;
    const before = this.memoryAround(node, page, count);
    const what = { atMs, memory: node, page, pages, given: 0, cause, why, faults };
    const move: Departure = { kind: 'departure', ...what, regret: null, returned: 0 };
    residence.go(first, count, why === 'evicted' ? move : null);
    move.given = before - this.memoryAround(node, page, count);
    this.watcher.moved(move);
  }

  /** Pages of the memory that a node has for all granules of which these are some. */
  private memoryAround(node: number, page: number, count: number): number {
    const granule = (this.memories[node]?.granularityBytes ?? PAGE_BYTES) / PAGE_BYTES;
    if (granule === 1) return this.residence(node, page).has(page % PAGES_PER_BLOCK, count);
    let pages = 0;
    for (let at = page - (page % granule); at < page + count; at += granule)
      if (this.hasSome(node, at, granule)) pages += granule;
    return pages;
  }

  /** Whether the node has any page of a granule, of a part of a block or of several. */
  private hasSome(node: number, page: number, count: number): boolean {
    for (let at = page; at < page + count; at += PAGES_PER_BLOCK) {
      const pages = Math.min(count, PAGES_PER_BLOCK);
      if (this.residence(node, at).has(at % PAGES_PER_BLOCK, pages) > 0) return true;
    }
    return false;
  }

  /** Pages that left for others were evicted; those asked for themselves moved. */
  private whyLeft(page: number, count: number): Leaving {
    const { cause } = this;
    if (GIVING_UP.has(cause.event)) return 'freed';
    return cause.kind !== 'ahead' && this.isMeant(page, count) ? 'moved' : 'evicted';
  }

  /** Whether the cause names the blocks of these pages. */
  private isMeant(page: number, count: number): boolean {
    const { cause } = this;
    if (cause.page === -1) return false;
    const blocks = (at: number): number => Math.floor(at / PAGES_PER_BLOCK);
    const from = blocks(cause.page);
    const to = blocks(cause.page + Math.max(1, cause.pages) - 1);
    return blocks(page) >= from && blocks(page + count - 1) <= to;
  }

  private needOf(node: number, page: number, count: number, reason: Reason | null): Need {
    const { cause } = this;
    const { kind, event, processor } = cause;
    if (reason !== null || this.isMeant(page, count)) return kind;
    if (processor >= 0) return node === memoryOf(this, processor) ? kind : 'room';
    return kind === 'ahead' || cause.page !== -1 || NEEDS_ROOM.has(event) ? 'room' : kind;
  }

  private residence(node: number, page: number): Residence {
    const key = node * 2 ** 32 + Math.floor(page / PAGES_PER_BLOCK);
    return getOrMake(this.residences, key, () => new Residence());
  }
}

function request(event: string, atMs: number): Cause {
  return {
    kind: 'request',
    event,
    atMs,
    processor: -1,
    page: -1,
    pages: 0,
    write: false,
    launch: -1,
    kernel: '',
  };
}
