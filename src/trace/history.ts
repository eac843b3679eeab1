/**
 * What happened in a recorded run, with causes. The recording is played through the core; each
 * command is put down to the event from which it follows, also where drivers answered in between.
 *
 * A recording shows every move of pages. It does not show touches of pages that were present: no
 * manager without access bits sees them.
 */
import type { Entry } from '../core/recording.js';
import { replay } from '../core/replay.js';
import type { Policies } from '../core/state.js';
import {
  type NodeDescription,
  PAGES_PER_BLOCK,
  type ProcessorDescription,
  Status,
  type Transfer,
} from '../core/types.js';
import type { Whereabouts } from '../core/whereabouts.js';

/** A memory that holds pages. */
export interface Memory {
  readonly id: number;
  readonly name: string;
  budgetPages: number;
}

export interface Processor {
  readonly id: number;
  readonly name: string;
  /** Its own memory, or -1. */
  readonly memory: number;
}

export interface RecordedArray {
  readonly id: number;
  readonly name: string;
  /** First page of the space. */
  readonly first: number;
  pages: number;
  readonly elementBytes: number;
}

export interface Launch {
  readonly id: number;
  readonly kernel: string;
  readonly processor: number;
  readonly beganMs: number;
  /** NaN: the recording ends before. */
  endedMs: number;
  /** Names of its arrays. */
  readonly arrays: readonly string[];
}

/**
 * Why something happened. `touch`: a thread waited for a page. `launch`: a launch needs its
 * arguments. `ahead`: read-ahead of a walk. `request`: the program asked (prefetch, copy, advice, a
 * write to a file, ...).
 */
export interface Cause {
  readonly kind: 'touch' | 'launch' | 'ahead' | 'request';
  /** The event of the core. */
  readonly event: string;
  readonly atMs: number;
  /** Who touched, or for whom; -1: nobody that is known. */
  readonly processor: number;
  /**
   * The page of the space that was touched, or the first one that was asked for; -1: none is known.
   */
  page: number;
  readonly pages: number;
  readonly write: boolean;
  /** Of a launch: its number; otherwise -1. */
  readonly launch: number;
}

/** Why pages left a memory. */
export type Leaving = 'evicted' | 'moved' | 'freed';

export interface Arrival {
  readonly kind: 'arrival';
  readonly atMs: number;
  readonly memory: number;
  /** The memory that they came from; -1: they were zero; -2: a provider such as a file. */
  readonly source: number;
  readonly page: number;
  readonly pages: number;
  readonly cause: Cause;
  /** Pages that had been evicted from this memory before. */
  returned: number;
}

export interface Departure {
  readonly kind: 'departure';
  readonly atMs: number;
  readonly memory: number;
  readonly page: number;
  readonly pages: number;
  readonly cause: Cause;
  readonly why: Leaving;
  /** Faults that had been served by then. */
  readonly faults: number;
  /** The first arrival that brought some of an eviction's pages back; null: none did. */
  regret: { readonly afterMs: number; readonly afterFaults: number; readonly cause: Cause } | null;
  /** How many of its pages came back. */
  returned: number;
}

export type Move = Arrival | Departure;

export interface Fault {
  readonly atMs: number;
  readonly processor: number;
  readonly page: number;
  readonly write: boolean;
}

/** What a record of moves begins with: where all pages are, and which launches run. */
export interface State extends Whereabouts {
  readonly launches: readonly {
    readonly id: number;
    readonly kernel: string;
    readonly processor: number;
    readonly arrays: readonly string[];
    readonly beganMs: number;
  }[];
}

/** Pages that a memory had already. */
export interface Held {
  readonly memory: number;
  readonly page: number;
  readonly pages: number;
}

export interface History {
  readonly memories: readonly Memory[];
  readonly processors: readonly Processor[];
  readonly arrays: readonly RecordedArray[];
  readonly launches: readonly Launch[];
  readonly faults: readonly Fault[];
  readonly moves: readonly Move[];
  /** What memories had when the record began. */
  readonly held: readonly Held[];
  readonly endMs: number;
  /** The array that had the page at the end, or last; null: none. */
  arrayAt(page: number): RecordedArray | null;
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
const ANSWERS = new Set(['transferred', 'revoked', 'released']);

export function historyOf(
  entries: readonly Entry[],
  timesMs: readonly number[],
  policies: Policies,
  blockCount: number,
): History {
  const reader = new Reader();
  let at = 0;
  replay(entries, policies, blockCount, (entry, manager) => {
    reader.read(entry, timesMs[at++], (id) => manager.range(id)?.first ?? -1);
  });
  return reader.history;
}

/**
 * Of a record of moves, which may have begun at any time. @param beganMs when: times of `state`
 * count from before
 */
export function historyOfMoves(
  state: State,
  entries: readonly Entry[],
  timesMs: readonly number[],
  beganMs: number,
): History {
  const reader = new Reader();
  reader.begin(state, beganMs);
  for (const [at, entry] of entries.entries()) reader.read(entry, timesMs[at], () => -1);
  return reader.history;
}

/** What a memory has of a block, and what was evicted of it and has not come back. */
class Residence {
  readonly here = new Uint8Array(PAGES_PER_BLOCK);
  readonly evicted: (Departure | null)[] = new Array(PAGES_PER_BLOCK).fill(null);
}

class Reader {
  private readonly memories: Memory[] = [];
  private readonly processors: Processor[] = [];
  private readonly arrays: RecordedArray[] = [];
  private readonly byBlock: (RecordedArray | undefined)[] = [];
  private readonly launches: Launch[] = [];
  private readonly running = new Map<number, Launch>();
  private readonly faults: Fault[] = [];
  private readonly moves: Move[] = [];
  private readonly held: Held[] = [];
  /** By the token of a command that has no answer yet. */
  private readonly causes = new Map<number, Cause>();
  private readonly transfers = new Map<number, Transfer>();
  private readonly residences = new Map<number, Residence>();
  private event: Entry | null = null;
  private cause: Cause = request('', 0);
  private now = 0;

  get history(): History {
    const { memories, processors, arrays, launches, faults, moves, held, now: endMs } = this;
    return {
      memories,
      processors,
      arrays,
      launches,
      faults,
      moves,
      held,
      endMs,
      arrayAt: (page) => this.byBlock[Math.floor(page / PAGES_PER_BLOCK)] ?? null,
    };
  }

  begin({ memories, processors, arrays, held, coming, launches }: State, beganMs: number): void {
    for (const memory of memories) {
      // Numbers of memories that have gone are free.
      for (let id = this.memories.length; id < memory.id; id++)
        this.memories.push({ id, name: `memory ${id}`, budgetPages: 0 });
      this.memories[memory.id] = { ...memory };
    }
    for (const processor of processors) this.processors[processor.id] = processor;
    for (const { reserved, ...array } of arrays) this.arrayComes(array, reserved);
    for (const [memory, page, pages] of held) {
      this.held.push({ memory, page, pages });
      for (let at = page; at < page + pages; ) {
        const end = Math.min(
          page + pages,
          (Math.floor(at / PAGES_PER_BLOCK) + 1) * PAGES_PER_BLOCK,
        );
        this.residence(memory, at).here.fill(
          1,
          at % PAGES_PER_BLOCK,
          ((end - 1) % PAGES_PER_BLOCK) + 1,
        );
        at = end;
      }
    }
    for (const [token, node, source, page, count] of coming)
      this.waits(token, { token, node, source, page, count } as Transfer);
    for (const launch of launches) {
      const known = { ...launch, beganMs: launch.beganMs - beganMs, endedMs: Number.NaN };
      this.running.set(launch.id, known);
      this.launches.push(known);
    }
  }

  read(entry: Entry, atMs: number, firstOf: (range: number) => number): void {
    this.now = atMs;
    if (entry[0] === '>') this.command(entry[1], entry[2], entry[3]);
    else if (entry[0] === '=') this.answered(entry[1], firstOf);
    else this.told(entry);
  }

  private told(entry: Entry): void {
    const [kind, name, ...args] = entry as readonly ['!' | '+', string, ...unknown[]];
    if (ANSWERS.has(name)) {
      const token = args[0] as number;
      const cause = this.causes.get(token);
      if (kind === '!' && cause !== undefined) this.cause = cause;
      this.causes.delete(token);
      const transfer = this.transfers.get(token);
      this.transfers.delete(token);
      if (name === 'transferred' && transfer !== undefined && args[1] === Status.Done)
        this.arrived(transfer);
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
      this.faults.push({ atMs, processor, page, write });
      return {
        kind: 'touch',
        event: name,
        atMs,
        processor,
        page,
        pages: 1,
        write,
        launch: this.launchOn(processor),
      };
    }
    if (name === 'launchBegin') {
      const [id, processor, given, kernel = ''] = args as [
        number,
        number,
        { name: string }[],
        string?,
      ];
      const arrays = given.map((each) => each.name);
      // A launch in parts begins once for each.
      if (!this.running.has(id)) {
        const launch = { id, kernel, processor, beganMs: atMs, endedMs: Number.NaN, arrays };
        this.running.set(id, launch);
        this.launches.push(launch);
      }
      return {
        kind: 'launch',
        event: name,
        atMs,
        processor,
        page: -1,
        pages: 0,
        write: false,
        launch: id,
      };
    }
    if (name === 'goAhead')
      return {
        kind: 'ahead',
        event: name,
        atMs,
        processor: -1,
        page: -1,
        pages: 0,
        write: false,
        launch: -1,
      };
    if (name === 'acquire' || name === 'bring') {
      const [, processor, page, pages] = args as number[];
      return {
        ...request(name, atMs),
        processor: name === 'acquire' ? processor : -1,
        page,
        pages,
      };
    }
    if (['free', 'zero', 'protect', 'clean', 'drop'].includes(name)) {
      const [, page, pages] = args as number[];
      return { ...request(name, atMs), page, pages };
    }
    return request(name, atMs);
  }

  private launchOn(processor: number): number {
    for (const launch of this.running.values())
      if (launch.processor === processor) return launch.id;
    return -1;
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
      if (this.cause.kind === 'ahead' && this.cause.page === -1) this.cause.page = transfer.page;
      if (result === Status.Done) this.arrived(transfer);
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

  private waits(token: number, transfer: Transfer | null): void {
    this.causes.set(token, this.cause);
    if (transfer !== null) this.transfers.set(token, transfer);
  }

  private arrived({ node, source, page, count }: Transfer): void {
    if (node < 0) return;
    const residence = this.residence(node, page);
    const { cause, now: atMs } = this;
    let returned = 0;
    for (let each = page % PAGES_PER_BLOCK; each < (page % PAGES_PER_BLOCK) + count; each++) {
      residence.here[each] = 1;
      const gone = residence.evicted[each];
      if (gone === null) continue;
      residence.evicted[each] = null;
      returned++;
      gone.returned++;
      gone.regret ??= {
        afterMs: atMs - gone.atMs,
        afterFaults: this.faults.length - gone.faults,
        cause,
      };
    }
    this.moves.push({
      kind: 'arrival',
      atMs,
      memory: node,
      source,
      page,
      pages: count,
      cause,
      returned,
    });
  }

  private left(node: number, page: number, count: number): void {
    const residence = this.residence(node, page);
    const first = page % PAGES_PER_BLOCK;
    let pages = 0;
    for (let each = first; each < first + count; each++) pages += residence.here[each];
    if (pages === 0) return;
    const why = this.whyLeft(page, count);
    const { cause, now: atMs } = this;
    const faults = this.faults.length;
    const move: Departure = {
      kind: 'departure',
      atMs,
      memory: node,
      page,
      pages,
      cause,
      why,
      faults,
      regret: null,
      returned: 0,
    };
    for (let each = first; each < first + count; each++) {
      if (residence.here[each] === 1 && why === 'evicted') residence.evicted[each] = move;
      residence.here[each] = 0;
    }
    this.moves.push(move);
  }

  /**
   * Pages that leave for the sake of others were evicted; those that were asked for themselves
   * moved.
   */
  private whyLeft(page: number, count: number): Leaving {
    const { cause } = this;
    if (GIVING_UP.has(cause.event)) return 'freed';
    if (cause.kind === 'ahead' || cause.page === -1) return 'evicted';
    const blocks = (at: number): number => Math.floor(at / PAGES_PER_BLOCK);
    const from = blocks(cause.page);
    const to = blocks(cause.page + Math.max(1, cause.pages) - 1);
    const meant = blocks(page) >= from && blocks(page + count - 1) <= to;
    return meant ? 'moved' : 'evicted';
  }

  private residence(node: number, page: number): Residence {
    const key = node * 2 ** 32 + Math.floor(page / PAGES_PER_BLOCK);
    let residence = this.residences.get(key);
    if (residence === undefined) this.residences.set(key, (residence = new Residence()));
    return residence;
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
  };
}
