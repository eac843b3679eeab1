/**
 * What a recorded run spent on moving pages: the arrays that cost most, the decisions that were
 * regretted most, and what the program can do about each.
 */
import { getOrMake } from '../../core/basics/get-or-make.js';
import { PAGE_BYTES, PAGES_PER_BLOCK } from '../../core/basics/types.js';
import {
  type Arrival,
  type Departure,
  type Fault,
  type Held,
  type Launch,
  type Move,
  type Names,
  writesTo,
} from '../recording/moves.js';
import { Reader, type Watcher } from '../recording/reader.js';
import { count, sakeText } from '../recording/words.js';
import { type Conflict, Conflicts } from './conflicts.js';
import { type Keeping, Returns } from './keeping.js';
import { type KernelCost, KernelCosts } from './kernel-costs.js';
import { type ReasonCost, Reasons } from './reasons.js';
import { Sample } from './sample.js';
import { Unasked, type UnaskedCost } from './unasked.js';

const MOST_DECISIONS = 3;
/** Moves by touches for each block of an array, from which on it goes back and forth. */
const BACK_AND_FORTH = 3;
/** The same of touches that took pages from another processor, wherever they are. */
const LEAST_TAKEN = 6;
/** Touches of single pages by launches that are worth a word. */
const LEAST_SCATTERED = 64;
/** Less that came ahead for nothing is not worth a word. */
const LEAST_UNUSED = 4 * PAGES_PER_BLOCK * PAGE_BYTES;

export interface MemoryCost {
  readonly name: string;
  readonly budgetBytes: number;
  readonly peakBytes: number;
  readonly bytesIn: number;
  /** Of these, what had been evicted from it before. */
  readonly bytesReturned: number;
  readonly bytesEvicted: number;
  readonly evictions: number;
  readonly regretted: number;
  /** All blocks that were ever in it, or granules of several: with so much nothing is evicted. */
  readonly usedBytes: number;
}

export interface ArrayCost {
  readonly name: string;
  readonly bytes: number;
  readonly faults: number;
  readonly bytesMoved: number;
  readonly bytesReturned: number;
  readonly bytesEvicted: number;
  /** Times that its pages went from one memory to another since a processor touched them. */
  readonly moves: number;
  /** The title of the remedy that concerns it; null: none is known. */
  readonly remedy: string | null;
}

/** The evictions of one array for the sake of another one that were regretted. */
export interface RegrettedEvictions {
  readonly memory: string;
  readonly evicted: string;
  readonly sake: string;
  /** Evictions whose pages were needed again. */
  readonly regretted: number;
  readonly bytesReturned: number;
  /** Until they were needed again. */
  readonly medianMs: number;
  /** The title of the remedy that concerns it; null: none is known. */
  readonly remedy: string | null;
}

export interface Remedy {
  readonly array: string | null;
  readonly what: 'memory' | 'pin' | 'accessedBy' | 'readMostly' | 'random' | 'by';
  /** Of `memory`: which, and the bytes that it needs. Of `pin`: where, which elements, how much. */
  readonly memory?: string;
  readonly begin?: number;
  readonly end?: number;
  readonly bytes?: number;
  /** What to do. */
  readonly title: string;
  /** The same, with the call and the reason. */
  readonly text: string;
}

export interface Report {
  readonly durationMs: number;
  readonly launches: number;
  readonly faults: number;
  readonly memories: readonly MemoryCost[];
  readonly arrays: readonly ArrayCost[];
  readonly decisions: readonly RegrettedEvictions[];
  /** Kernels that took most time first. */
  readonly kernels: readonly KernelCost[];
  /** Why pages came, most first. */
  readonly reasons: readonly ReasonCost[];
  /** What came before it was asked for: what was of no use first. */
  readonly unasked: readonly UnaskedCost[];
  /** Where processors take pages from each other. */
  readonly conflicts: readonly Conflict[];
  readonly advice: readonly Remedy[];
}

const blockOf = (page: number): number => Math.floor(page / PAGES_PER_BLOCK);

type Sums<T> = { -readonly [K in keyof T]: T[K] };

interface MemorySums
  extends Sums<Omit<MemoryCost, 'name' | 'budgetBytes' | 'peakBytes' | 'usedBytes'>> {
  pages: number;
  peakPages: number;
  readonly blocks: Set<number>;
  readonly returns: Returns;
}

interface ArraySums extends Sums<Omit<ArrayCost, 'remedy'>> {
  /** Whether any of its moves was for a write. */
  isWritten: boolean;
  /** Touches of launches for which the policy brought single pages. */
  scattered: number;
}

interface Regrets extends Sums<Omit<RegrettedEvictions, 'medianMs' | 'remedy'>> {
  readonly times: Sample;
}

/** Sums up a run while it goes on, or is read. */
export class Costs implements Watcher {
  /** Of a run that is read for the report alone. */
  readonly reader = new Reader(this);
  private readonly names: Names;
  private readonly memories = new Map<number, MemorySums>();
  private readonly arrays = new Map<number, ArraySums>();
  private readonly regrets = new Map<string, Regrets>();
  private readonly reasons = new Reasons();
  private readonly unasked: Unasked;
  private readonly conflicts: Conflicts;
  private readonly kernels: KernelCosts;
  private launches = 0;
  private faults = 0;

  /** @param names those of a run that is read for something else, too */
  constructor(names?: Names) {
    this.names = names ?? this.reader;
    this.unasked = new Unasked(this.names);
    this.conflicts = new Conflicts(this.names);
    this.kernels = new KernelCosts(this.names);
  }

  report(durationMs = this.reader.now): Report {
    const { launches, faults } = this;
    const memories = this.names.memories.map(({ id }) => this.memoryCost(id));
    const sums = [...this.arrays.values()].sort(
      (a, b) => b.bytesMoved - a.bytesMoved || b.faults - a.faults,
    );
    const unasked = this.unasked.costs();
    const conflicts = this.conflicts.places();
    const advice = [
      ...memoryAdvice(memories),
      ...this.keepingAdvice(),
      ...sharingAdvice(sums, conflicts),
      ...patternAdvice(unasked),
      ...indexAdvice(sums),
    ];
    const arrays = sums.map(({ isWritten, scattered, ...each }) => ({
      ...each,
      remedy: remedyOf(advice, each.name, each.bytesReturned > 0 ? null : undefined),
    }));
    const decisions = [...this.regrets.values()]
      .sort((a, b) => b.bytesReturned - a.bytesReturned)
      .slice(0, MOST_DECISIONS)
      .map(({ times, ...each }) => ({
        ...each,
        medianMs: times.median,
        remedy: remedyOf(advice, each.evicted, each.memory),
      }));
    const kernels = this.kernels.costs();
    return {
      ...{ durationMs, launches, faults, memories, arrays, decisions, kernels },
      ...{ reasons: this.reasons.costs(), unasked, conflicts, advice },
    };
  }

  held({ memory, page, pages, taken }: Held): void {
    this.unasked.held(memory, page, pages);
    const sums = this.memory(memory);
    for (let at = page; at < page + pages; at += PAGES_PER_BLOCK) sums.blocks.add(blockOf(at));
    grow(sums, taken);
  }

  launched(launch: Launch): void {
    this.launches++;
    this.unasked.launched(launch);
    this.kernels.launched(launch);
  }

  faulted(fault: Fault): void {
    this.faults++;
    this.unasked.faulted(fault);
    this.conflicts.faulted(fault);
    this.kernels.faulted(fault);
    const array = this.array(fault.page);
    if (array !== null) array.faults++;
  }

  moved(move: Move): void {
    const sums = this.memory(move.memory);
    const bytes = move.pages * PAGE_BYTES;
    const array = this.array(move.page);
    if (array !== null && writesTo(move.cause, array.name)) array.isWritten = true;
    if (move.kind === 'arrival') {
      this.reasons.arrived(move);
      this.unasked.arrived(move);
      this.conflicts.arrived(move);
      this.kernels.arrived(move);
      const again = move.returned * PAGE_BYTES;
      sums.blocks.add(blockOf(move.page));
      grow(sums, move.taken);
      sums.bytesIn += bytes;
      sums.bytesReturned += again;
      if (again > 0) sums.returns.add(move.page, move.returned);
      if (array === null) return;
      if (isScattered(move)) array.scattered++;
      // Zeros cost no copy.
      if (move.source !== -1) array.bytesMoved += bytes;
      array.bytesReturned += again;
      return;
    }
    this.unasked.departed(move);
    sums.pages -= move.given;
    if (move.why === 'evicted') {
      sums.bytesEvicted += bytes;
      sums.evictions++;
      if (array !== null) array.bytesEvicted += bytes;
    } else if (array !== null && move.why === 'moved' && move.cause.kind === 'touch') array.moves++;
  }

  regretted(eviction: Departure, pages: number, isFirst: boolean): void {
    const { names } = this;
    const memory = names.memories[eviction.memory].name;
    const evicted = names.arrayAt(eviction.page)?.name ?? '?';
    const sake = sakeText(names, eviction.cause);
    const key = JSON.stringify([memory, evicted, sake]);
    const group = getOrMake(this.regrets, key, () => {
      const nothing = { regretted: 0, bytesReturned: 0, times: new Sample() };
      return { memory, evicted, sake, ...nothing };
    });
    group.bytesReturned += pages * PAGE_BYTES;
    this.kernels.regretted(eviction, pages, sake);
    if (!isFirst) return;
    this.memory(eviction.memory).regretted++;
    group.regretted++;
    group.times.add(eviction.regret?.afterMs ?? 0);
  }

  private keepingAdvice(): Remedy[] {
    return this.names.memories.flatMap(({ id, name: memory, budgetPages }) => {
      const { returns } = this.memory(id);
      // With more room than it uses nothing had to go.
      if (this.usedPages(id) <= budgetPages) return [];
      return returns.worthKeeping(budgetPages, this.names).map((keeping) => {
        const { array, begin, end, bytes } = keeping;
        const said = keepingText(memory, keeping);
        return { array: array.name, what: 'pin', memory, begin, end, bytes, ...said };
      });
    });
  }

  private memoryCost(id: number): MemoryCost {
    const { name, budgetPages } = this.names.memories[id];
    const { pages, peakPages, blocks, returns, ...sums } = this.memory(id);
    const usedBytes = this.usedPages(id) * PAGE_BYTES;
    const peakBytes = Math.min(peakPages, budgetPages) * PAGE_BYTES;
    return { name, budgetBytes: budgetPages * PAGE_BYTES, peakBytes, usedBytes, ...sums };
  }

  /** Of all blocks that were ever in the memory, with the rest of larger granules. */
  private usedPages(id: number): number {
    const { granularityBytes = 0 } = this.names.memories[id];
    const granule = Math.max(PAGES_PER_BLOCK, granularityBytes / PAGE_BYTES);
    const granules = new Set<number>();
    for (const block of this.memory(id).blocks)
      granules.add(Math.floor((block * PAGES_PER_BLOCK) / granule));
    return granules.size * granule;
  }

  private memory(id: number): MemorySums {
    return getOrMake(this.memories, id, () => {
      const blocks = new Set<number>();
      const moved = { bytesIn: 0, bytesReturned: 0, bytesEvicted: 0, evictions: 0, regretted: 0 };
      return { pages: 0, peakPages: 0, blocks, returns: new Returns(), ...moved };
    });
  }

  private array(page: number): ArraySums | null {
    const array = this.names.arrayAt(page);
    if (array === null) return null;
    const sums = getOrMake(this.arrays, array.id, () => {
      const nothing = { faults: 0, bytesMoved: 0, bytesReturned: 0, bytesEvicted: 0, moves: 0 };
      return { name: array.name, bytes: 0, ...nothing, isWritten: false, scattered: 0 };
    });
    sums.bytes = array.pages * PAGE_BYTES;
    return sums;
  }
}

function grow(sums: MemorySums, pages: number): void {
  sums.pages += pages;
  sums.peakPages = Math.max(sums.peakPages, sums.pages);
}

/** The policy saw no order in what a launch touches. */
function isScattered({ cause, reason }: Arrival): boolean {
  return cause.launch >= 0 && (reason === 'scattered' || reason === 'lone' || reason === 'trial');
}

/**
 * What concerns an array most, or else the memory that it lost its room in.
 * @param memory null: any; undefined: a larger memory does not help
 */
function remedyOf(
  advice: readonly Remedy[],
  array: string,
  memory: string | null | undefined,
): string | null {
  const own = advice.find(
    (each) => each.array === array && (each.what !== 'pin' || !memory || each.memory === memory),
  );
  const larger = advice.find(
    (each) => each.what === 'memory' && (memory === null || each.memory === memory),
  );
  return own?.title ?? larger?.title ?? null;
}

function memoryAdvice(memories: readonly MemoryCost[]): Remedy[] {
  return memories
    .filter((each) => each.bytesReturned > 0 && each.usedBytes > each.budgetBytes)
    .map(({ name, usedBytes, budgetBytes, bytesReturned }) => {
      const [used, had, again] = [usedBytes, budgetBytes, bytesReturned].map(mebibytes);
      const title = `Give ${name} ${used} instead of ${had}`;
      const text = `${title}: then nothing leaves it, and ${again} need not come again.`;
      return { array: null, what: 'memory', memory: name, bytes: usedBytes, title, text };
    });
}

function keepingText(memory: string, keeping: Keeping): { title: string; text: string } {
  const { array, begin, end, isWhole, bytes, bytesReturned } = keeping;
  const { name } = array;
  const all = mebibytes(array.pages * PAGE_BYTES);
  const what = isWhole ? `${name} (${all})` : `${mebibytes(bytes)} of the ${all} of ${name}`;
  const place = memory === 'host' ? "'host'" : 'device';
  const part = isWhole ? '' : `, { begin: ${begin}, end: ${end} }`;
  const title = `Keep ${what} in ${memory}`;
  const call = `${name}.advise({ preferredLocation: ${place} }${part})`;
  return { title, text: `${title}: ${call}. ${mebibytes(bytesReturned)} of it came again.` };
}

function patternAdvice(unasked: readonly UnaskedCost[]): Remedy[] {
  return unasked
    .filter(({ reason, bytes, unusedBytes }) => {
      const unused = unusedBytes ?? 0;
      return reason === 'read-ahead' && unused >= LEAST_UNUSED && unused * 4 >= bytes;
    })
    .map(({ array, bytes, unusedBytes }) => {
      const title = `Have less of ${array} come ahead`;
      const text =
        `${title}: ${array}.advise({ pattern: 'random' }). ` +
        `${mebibytes(unusedBytes ?? 0)} of ${mebibytes(bytes)} that came ahead was not used.`;
      return { array, what: 'random', title, text };
    });
}

function indexAdvice(arrays: readonly ArraySums[]): Remedy[] {
  return arrays
    .filter(({ scattered, faults }) => scattered >= LEAST_SCATTERED && scattered * 2 > faults)
    .map(({ name, scattered }) => {
      const title = `Have pages of ${name} come before the kernel touches them`;
      const text =
        `${title}: where a parameter 'order' has the indices, declare ${name} as .by('order'). ` +
        `${count(scattered, 'touch', 'touches')} of launches brought single pages.`;
      return { array: name, what: 'by', title, text };
    });
}

function sharingAdvice(arrays: readonly ArraySums[], conflicts: readonly Conflict[]): Remedy[] {
  const advice: Remedy[] = [];
  for (const { name, bytes, moves, isWritten } of arrays) {
    const blocks = Math.max(1, Math.ceil(bytes / (PAGE_BYTES * PAGES_PER_BLOCK)));
    const own = conflicts.filter(({ array }) => array === name);
    const taken = own.reduce((sum, each) => sum + each.moves, 0);
    const goes = moves >= BACK_AND_FORTH * Math.max(2, blocks);
    if (!goes && taken < LEAST_TAKEN) continue;
    const times = count(Math.max(moves, taken), 'time');
    const title = isWritten
      ? `Have the device reach ${name} in place`
      : `Let each memory have a copy of ${name}`;
    const text = isWritten
      ? `${title}: ${name}.advise({ accessedBy: [device] }); or give each processor a part of ` +
        `its own, at a multiple of 4 KiB. Its pages went back and forth ${times}.`
      : `${title}: ${name}.advise({ readMostly: true }). It went back and forth ${times}.`;
    advice.push({ array: name, what: isWritten ? 'accessedBy' : 'readMostly', title, text });
  }
  return advice;
}

export function mebibytes(bytes: number): string {
  const value = bytes / 2 ** 20;
  return `${value < 10 && value !== Math.round(value) ? value.toFixed(1) : Math.round(value)} MiB`;
}
