/**
 * What of a run a program may act on while it goes on: launches that ended, evictions, memories that
 * thrash or have little room left, and bursts of faults.
 */
import { PAGE_BYTES } from '../../core/basics/types.js';
import {
  type Departure,
  type Fault,
  type Held,
  type Launch,
  type Move,
  memoryGrowthOf,
} from '../recording/moves.js';
import { Reader, type Watcher } from '../recording/reader.js';

/** Evictions, thrashing and faults are looked at in parts of time so long. */
const WINDOW_MS = 1000;
/** Of what a memory could hold: if so much came again in a window, it thrashes. */
const THRASH_PART = 1 / 4;
const BURST_FAULTS = 2000;
/** Of a memory, from which on it has little room; and from which on it no longer has. */
const LITTLE_PART = 0.1;
const ENOUGH_PART = 0.2;

/** A launch has ended. */
export interface LaunchSignal {
  readonly kernel: string;
  readonly processor: string;
  /** How long ago it began, and how long it took. */
  readonly agoMs: number;
  readonly durationMs: number;
  readonly arrays: readonly string[];
  readonly faults: number;
  /** That came for it or for its touches. */
  readonly bytesIn: number;
}

/** Evictions of an array for the sake of another one, within a second. */
export interface EvictSignal {
  readonly memory: string;
  readonly array: string;
  readonly sake: string;
  readonly evictions: number;
  readonly bytes: number;
}

/** A memory evicts what is needed again, within a second. */
export interface ThrashSignal {
  readonly memory: string;
  readonly budgetBytes: number;
  /** That came again after an eviction. */
  readonly bytesReturned: number;
  /** The array of which most came again. */
  readonly array: string;
}

/** A memory has little room left, or again has enough. */
export interface HeadroomSignal {
  readonly memory: string;
  readonly isLow: boolean;
  readonly freeBytes: number;
  readonly budgetBytes: number;
}

/** Many faults within a second. */
export interface FaultSignal {
  readonly processor: string;
  readonly faults: number;
  readonly windowMs: number;
}

export type Signal =
  | ({ readonly kind: 'launch' } & LaunchSignal)
  | ({ readonly kind: 'evict' } & EvictSignal)
  | ({ readonly kind: 'thrash' } & ThrashSignal)
  | ({ readonly kind: 'headroom' } & HeadroomSignal)
  | ({ readonly kind: 'faults' } & FaultSignal);

interface Running {
  readonly launch: Launch;
  faults: number;
  bytesIn: number;
}

export class Signals implements Watcher {
  readonly reader = new Reader(this);
  private readonly running = new Map<number, Running>();
  /** By memory. */
  private readonly pages: number[] = [];
  private readonly isLow: boolean[] = [];
  private windowMs = 0;
  /** Of the window: by memory, then array; by processor; by memory, array and sake. */
  private readonly returned: Map<string, number>[] = [];
  private readonly faults: number[] = [];
  private readonly evictions = new Map<string, { evictions: number; bytes: number }>();

  held({ memory, taken }: Held): void {
    this.pages[memory] = (this.pages[memory] ?? 0) + taken;
  }

  launched(launch: Launch): void {
    this.running.set(launch.id, { launch, faults: 0, bytesIn: 0 });
  }

  faulted({ processor, launch }: Fault): void {
    this.faults[processor] = (this.faults[processor] ?? 0) + 1;
    const running = this.running.get(launch);
    if (running !== undefined) running.faults++;
  }

  moved(move: Move): void {
    const { memory, page, pages, cause } = move;
    const bytes = pages * PAGE_BYTES;
    this.pages[memory] = (this.pages[memory] ?? 0) + memoryGrowthOf(move);
    if (move.kind === 'departure') {
      if (move.why === 'evicted') this.evicted(move);
      return;
    }
    const running = this.running.get(cause.launch);
    if (running !== undefined && move.source !== -1) running.bytesIn += bytes;
    if (move.returned === 0) return;
    const name = this.nameAt(page);
    const arrays = (this.returned[memory] ??= new Map<string, number>());
    arrays.set(name, (arrays.get(name) ?? 0) + move.returned * PAGE_BYTES);
  }

  /** What there is to tell. @param nowMs to which the run has come */
  take(nowMs: number): Signal[] {
    const signals = [...this.launches(nowMs), ...this.headroom()];
    const windowMs = nowMs - this.windowMs;
    if (windowMs < WINDOW_MS) return signals;
    signals.push(...this.evicts(), ...this.thrashes(), ...this.bursts(windowMs));
    this.windowMs = nowMs;
    this.evictions.clear();
    this.returned.length = 0;
    this.faults.length = 0;
    return signals;
  }

  private *launches(nowMs: number): Generator<Signal> {
    const { processors } = this.reader;
    for (const [id, { launch, faults, bytesIn }] of this.running) {
      const { kernel, arrays, beganMs, endedMs, processor } = launch;
      if (Number.isNaN(endedMs)) continue;
      this.running.delete(id);
      const took = { agoMs: nowMs - beganMs, durationMs: endedMs - beganMs };
      const name = processors[processor]?.name ?? '';
      yield { kind: 'launch', kernel, processor: name, ...took, arrays, faults, bytesIn };
    }
  }

  private *headroom(): Generator<Signal> {
    for (const { id, name, budgetPages } of this.reader.memories) {
      if (budgetPages === 0) continue;
      const free = Math.max(0, budgetPages - (this.pages[id] ?? 0));
      const was = this.isLow[id] ?? false;
      const isLow = free < budgetPages * (was ? ENOUGH_PART : LITTLE_PART);
      this.isLow[id] = isLow;
      if (isLow === was) continue;
      const [freeBytes, budgetBytes] = [free * PAGE_BYTES, budgetPages * PAGE_BYTES];
      yield { kind: 'headroom', memory: name, isLow, freeBytes, budgetBytes };
    }
  }

  private *evicts(): Generator<Signal> {
    for (const [key, sums] of this.evictions) {
      const [memory, array, sake] = JSON.parse(key) as [string, string, string];
      yield { kind: 'evict', memory, array, sake, ...sums };
    }
  }

  private *thrashes(): Generator<Signal> {
    for (const { id, name: memory, budgetPages } of this.reader.memories) {
      const arrays = [...(this.returned[id] ?? [])].sort(([, a], [, b]) => b - a);
      const bytesReturned = arrays.reduce((sum, [, bytes]) => sum + bytes, 0);
      const budgetBytes = budgetPages * PAGE_BYTES;
      if (bytesReturned === 0 || bytesReturned < budgetBytes * THRASH_PART) continue;
      yield { kind: 'thrash', memory, budgetBytes, bytesReturned, array: arrays[0][0] };
    }
  }

  private *bursts(windowMs: number): Generator<Signal> {
    for (const { id, name } of this.reader.processors) {
      const faults = this.faults[id] ?? 0;
      if ((faults * WINDOW_MS) / windowMs < BURST_FAULTS) continue;
      yield { kind: 'faults', processor: name, faults, windowMs };
    }
  }

  private evicted({ memory, page, pages, cause }: Departure): void {
    const sake =
      cause.page >= 0 ? this.nameAt(cause.page) : cause.kernel === '' ? cause.event : cause.kernel;
    const key = JSON.stringify([this.reader.memories[memory].name, this.nameAt(page), sake]);
    const sums = this.evictions.get(key);
    const bytes = pages * PAGE_BYTES;
    if (sums === undefined) this.evictions.set(key, { evictions: 1, bytes });
    else {
      sums.evictions++;
      sums.bytes += bytes;
    }
  }

  private nameAt(page: number): string {
    return this.reader.arrayAt(page)?.name ?? '?';
  }
}
