/** What a run does now: sums over a short window, and where pages are at its end. */
import { getOrMake } from '../../core/basics/get-or-make.js';
import { HOST_NODE, PAGE_BYTES } from '../../core/basics/types.js';
import {
  type Arrival,
  type Departure,
  type Fault,
  growthOf,
  type Held,
  type Launch,
  type Move,
  memoryGrowthOf,
  type Need,
  type RecordedArray,
} from '../recording/moves.js';
import { Reader, type Watcher } from '../recording/reader.js';
import { BusyTime } from './busy-time.js';

/** Bytes that arrived, by cause. */
export type BytesByCause = Readonly<Record<Need, number>>;

export interface MemoryActivity {
  readonly name: string;
  readonly usedBytes: number;
  readonly budgetBytes: number;
  readonly bytesIn: number;
  /** Of these, what had been evicted from it before. */
  readonly bytesReturned: number;
  readonly bytesEvicted: number;
}

export interface ProcessorActivity {
  readonly name: string;
  readonly faults: number;
  /** Launches that ended. */
  readonly launches: number;
  /** Time in which one ran. */
  readonly launchMs: number;
  /** The kernel that ran last; empty: none did. */
  readonly kernel: string;
}

export interface ArrayActivity {
  readonly name: string;
  readonly bytes: number;
  /** Bytes that each memory has of it, by its name. */
  readonly heldBytes: Readonly<Record<string, number>>;
  readonly faults: number;
  /** Bytes that moved to a memory, by why they did. */
  readonly bytesIn: BytesByCause;
  readonly bytesReturned: number;
  readonly bytesEvicted: number;
}

/** A window of time. */
export interface Activity {
  readonly fromMs: number;
  readonly toMs: number;
  /** Time in which pages came from or went to a store, a file or a provider. */
  readonly diskMs: number;
  /** Time in which pages went from one memory to another. */
  readonly copyMs: number;
  readonly memories: readonly MemoryActivity[];
  readonly processors: readonly ProcessorActivity[];
  /** Those that there are, and those that moved. */
  readonly arrays: readonly ArrayActivity[];
}

interface ArraySums {
  readonly array: RecordedArray;
  /** Pages by memory. */
  readonly held: number[];
  faults: number;
  bytesIn: Record<Need, number>;
  bytesReturned: number;
  bytesEvicted: number;
}

interface MemorySums {
  pages: number;
  bytesIn: number;
  bytesReturned: number;
  bytesEvicted: number;
}

interface ProcessorSums {
  faults: number;
  launches: number;
  kernel: string;
  readonly busy: BusyTime;
}

export class ActivityWatcher implements Watcher {
  readonly reader = new Reader(this);
  private readonly arrays = new Map<number, ArraySums>();
  private readonly memories: MemorySums[] = [];
  private readonly processors: ProcessorSums[] = [];
  private readonly running = new Map<number, Launch>();
  private readonly disk = new BusyTime();
  private readonly copies = new BusyTime();
  private fromMs = 0;

  held({ memory, page, pages, taken }: Held): void {
    this.memory(memory).pages += taken;
    this.change(memory, page, pages);
  }

  launched(launch: Launch): void {
    this.running.set(launch.id, launch);
  }

  faulted({ processor, page }: Fault): void {
    this.processor(processor).faults++;
    const array = this.array(page);
    if (array !== null) array.faults++;
  }

  moved(move: Move): void {
    this.memory(move.memory).pages += memoryGrowthOf(move);
    this.change(move.memory, move.page, growthOf(move));
    if (move.kind === 'arrival') this.arrived(move);
    else this.departed(move);
  }

  /** Ends the window. @param nowMs to which the run has come */
  take(nowMs: number): Activity {
    const { reader, fromMs } = this;
    this.noteLaunches(nowMs);
    const activity: Activity = {
      fromMs,
      toMs: nowMs,
      diskMs: this.disk.take(fromMs),
      copyMs: this.copies.take(fromMs),
      memories: reader.memories.flatMap(({ id, name, budgetPages }) => {
        const { pages, ...sums } = this.memory(id);
        const budgetBytes = budgetPages * PAGE_BYTES;
        return [{ name, usedBytes: pages * PAGE_BYTES, budgetBytes, ...sums }];
      }),
      // Numbers of processors that have gone are free.
      processors: reader.processors.flatMap(({ id, name }) => {
        const { busy, ...sums } = this.processor(id);
        return [{ name, ...sums, launchMs: busy.take(fromMs) }];
      }),
      arrays: [...this.arrays.values()].map((sums) => this.activityOf(sums)),
    };
    this.fromMs = nowMs;
    this.beginWindow();
    return activity;
  }

  private arrived({ atMs, memory, source, page, pages, need, returned, tookMs }: Arrival): void {
    const bytes = pages * PAGE_BYTES;
    const sums = this.memory(memory);
    sums.bytesReturned += returned * PAGE_BYTES;
    const array = this.array(page);
    if (array !== null) array.bytesReturned += returned * PAGE_BYTES;
    // Zeros cost no copy.
    if (source === -1) return;
    sums.bytesIn += bytes;
    if (array !== null) array.bytesIn[need] += bytes;
    const isOfStore = source < 0 || this.isStore(source) || this.isStore(memory);
    (isOfStore ? this.disk : this.copies).add(atMs - tookMs, atMs);
  }

  private departed({ memory, page, pages, why }: Departure): void {
    if (why !== 'evicted') return;
    this.memory(memory).bytesEvicted += pages * PAGE_BYTES;
    const array = this.array(page);
    if (array !== null) array.bytesEvicted += pages * PAGE_BYTES;
  }

  private noteLaunches(nowMs: number): void {
    for (const [id, { processor, kernel, beganMs, endedMs }] of this.running) {
      const sums = this.processor(processor);
      const hasEnded = endedMs <= nowMs;
      sums.kernel = kernel;
      sums.busy.add(beganMs, hasEnded ? endedMs : nowMs);
      if (!hasEnded) continue;
      sums.launches++;
      this.running.delete(id);
    }
  }

  private activityOf({ array, held, ...sums }: ArraySums): ArrayActivity {
    const heldBytes: Record<string, number> = {};
    for (const { id, name } of this.reader.memories)
      if ((held[id] ?? 0) > 0) heldBytes[name] = held[id] * PAGE_BYTES;
    return { name: array.name, bytes: array.pages * PAGE_BYTES, heldBytes, ...sums };
  }

  private beginWindow(): void {
    for (const [id, sums] of this.arrays) {
      if (this.reader.arrayAt(sums.array.first) !== sums.array) this.arrays.delete(id);
      Object.assign(sums, nothingMoved());
    }
    for (const sums of this.memories)
      Object.assign(sums, { bytesIn: 0, bytesReturned: 0, bytesEvicted: 0 });
    for (const sums of this.processors) Object.assign(sums, { faults: 0, launches: 0, kernel: '' });
  }

  /** A memory that is no processor's own. */
  private isStore(memory: number): boolean {
    return memory !== HOST_NODE && !this.reader.processors.some((each) => each.memory === memory);
  }

  private change(memory: number, page: number, pages: number): void {
    const held = this.array(page)?.held;
    if (held !== undefined) held[memory] = (held[memory] ?? 0) + pages;
  }

  private memory(id: number): MemorySums {
    for (let at = this.memories.length; at <= id; at++)
      this.memories.push({ pages: 0, bytesIn: 0, bytesReturned: 0, bytesEvicted: 0 });
    return this.memories[id];
  }

  private processor(id: number): ProcessorSums {
    for (let at = this.processors.length; at <= id; at++)
      this.processors.push({ faults: 0, launches: 0, kernel: '', busy: new BusyTime() });
    return this.processors[id];
  }

  private array(page: number): ArraySums | null {
    const array = this.reader.arrayAt(page);
    if (array === null) return null;
    return getOrMake(this.arrays, array.id, () => ({ array, held: [], ...nothingMoved() }));
  }
}

function nothingMoved(): Omit<ArraySums, 'array' | 'held'> {
  const bytesIn = { touch: 0, launch: 0, ahead: 0, request: 0, room: 0 };
  return { faults: 0, bytesIn, bytesReturned: 0, bytesEvicted: 0 };
}
