/** What launches of each kernel took, and what the slowest of them moved and waited for. */
import { getOrMake } from '../../core/basics/get-or-make.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { History } from '../recording/history.js';
import type { Arrival, Departure, Fault, Launch, Names } from '../recording/moves.js';
import { sakeText } from '../recording/words.js';
import { Sample } from './sample.js';

/** Of so many kernels launches are looked at. */
const MOST_KERNELS = 256;
const MOST_TOLD = 16;

/** What came of an array while a launch ran, since it or one of its touches needed it. */
export interface LaunchArrayCost {
  readonly name: string;
  readonly bytes: number;
  /** Of these, what had been evicted before. */
  readonly bytesReturned: number;
  /** For which array most of that had been evicted; null: nothing came again. */
  readonly evictedFor: string | null;
}

export interface SlowLaunch {
  /** Counts from 1, in the order in which launches began. */
  readonly launch: number;
  readonly ms: number;
  readonly faults: number;
  /** Those that moved most first. */
  readonly arrays: readonly LaunchArrayCost[];
}

export interface KernelCost {
  readonly kernel: string;
  /** Launches that have ended. */
  readonly launches: number;
  readonly totalMs: number;
  readonly medianMs: number;
  readonly slowest: SlowLaunch;
}

interface ArraySums {
  pages: number;
  returned: number;
  /** Pages that came again, by the array for which they had been evicted. */
  readonly sakes: Map<string, number>;
}

interface Known {
  readonly launch: Launch;
  faults: number;
  readonly arrays: Map<string, ArraySums>;
}

interface Sums {
  launches: number;
  totalMs: number;
  readonly times: Sample;
  slowest: Known;
}

export class KernelCosts {
  private readonly running = new Map<number, Known>();
  private readonly kernels = new Map<string, Sums>();

  constructor(private readonly names: Names) {}

  launched(launch: Launch): void {
    this.takeEnded();
    this.running.set(launch.id, { launch, faults: 0, arrays: new Map() });
  }

  faulted({ launch }: Fault): void {
    const known = this.running.get(launch);
    if (known !== undefined) known.faults++;
  }

  arrived({ cause, need, reason, page, pages, returned, source }: Arrival): void {
    const known = this.running.get(cause.launch);
    const array = this.names.arrayAt(page)?.name;
    if (known === undefined || array === undefined || need === 'room') return;
    // It is for a later one.
    if (reason === 'plan') return;
    const sums = sumsOf(known, array);
    sums.returned += returned;
    // Zeros cost no copy.
    if (source !== -1) sums.pages += pages;
  }

  /** Pages came again. @param sake for which array they had been evicted */
  regretted({ page, regret }: Departure, pages: number, sake: string): void {
    const known = this.running.get(regret?.cause.launch ?? -1);
    const array = this.names.arrayAt(page)?.name;
    if (known === undefined || array === undefined) return;
    const { sakes } = sumsOf(known, array);
    sakes.set(sake, (sakes.get(sake) ?? 0) + pages);
  }

  /** Those that took most time first. */
  costs(): KernelCost[] {
    this.takeEnded();
    return [...this.kernels]
      .map(([kernel, { launches, totalMs, times, slowest }]) => ({
        ...{ kernel, launches, totalMs },
        medianMs: times.median,
        slowest: slowLaunchOf(slowest),
      }))
      .sort((a, b) => b.totalMs - a.totalMs)
      .slice(0, MOST_TOLD);
  }

  private takeEnded(): void {
    for (const [id, known] of this.running) {
      const { kernel } = known.launch;
      const ms = tookMs(known);
      if (Number.isNaN(ms)) continue;
      this.running.delete(id);
      let sums = this.kernels.get(kernel);
      if (sums === undefined) {
        if (this.kernels.size === MOST_KERNELS) continue;
        const nothing = { launches: 0, totalMs: 0, times: new Sample() };
        this.kernels.set(kernel, (sums = { ...nothing, slowest: known }));
      }
      sums.launches++;
      sums.totalMs += ms;
      sums.times.add(ms);
      if (ms > tookMs(sums.slowest)) sums.slowest = known;
    }
  }
}

/** Of one launch of a recorded run; null: there is none of that number. */
export function launchCosts(history: History, id: number): KernelCost | null {
  const found = history.launches.find((each) => each.id === id);
  if (found === undefined) return null;
  const costs = new KernelCosts(history);
  const endedMs = Number.isNaN(found.endedMs) ? history.endMs : found.endedMs;
  costs.launched({ ...found, endedMs });
  for (const fault of history.faults) costs.faulted(fault);
  for (const move of history.moves) {
    if (move.kind === 'arrival') costs.arrived(move);
    else if (move.regret !== null)
      costs.regretted(move, move.returned, sakeText(history, move.cause));
  }
  return costs.costs()[0];
}

function sumsOf({ arrays }: Known, name: string): ArraySums {
  return getOrMake(arrays, name, () => ({ pages: 0, returned: 0, sakes: new Map() }));
}

function tookMs({ launch }: Known): number {
  return launch.endedMs - launch.beganMs;
}

function slowLaunchOf(known: Known): SlowLaunch {
  const arrays = [...known.arrays].map(([name, { pages, returned, sakes }]) => ({
    name,
    bytes: pages * PAGE_BYTES,
    bytesReturned: returned * PAGE_BYTES,
    evictedFor: [...sakes].sort((a, b) => b[1] - a[1]).at(0)?.[0] ?? null,
  }));
  const { launch, faults } = known;
  const moved = arrays.filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
  return { launch: launch.id, ms: tookMs(known), faults, arrays: moved };
}
