/**
 * All that happened in a recorded run, with causes.
 *
 * A recording shows every move of pages. It does not show touches of pages that were present: no
 * manager without access bits sees them.
 */
import type { Entry } from '../../core/recording/recording.js';
import { replay } from '../../core/recording/replay.js';
import type { Policies } from '../../core/table/processors.js';
import type { Fault, Held, Launch, Move, Names, RecordedArray } from './moves.js';
import { Reader, type Watcher } from './reader.js';

export interface History extends Names {
  readonly arrays: readonly RecordedArray[];
  readonly launches: readonly Launch[];
  readonly faults: readonly Fault[];
  readonly moves: readonly Move[];
  /** What memories had when the record began. */
  readonly held: readonly Held[];
  readonly endMs: number;
}

/** Reads a recording, which is played through the core: that says where arrays lie. */
export function readPlayed(
  reader: Reader,
  entries: readonly Entry[],
  timesMs: readonly number[],
  policies: Policies,
  blockCount: number,
): void {
  let at = 0;
  replay(entries, policies, blockCount, (entry, manager) => {
    reader.read(entry, timesMs[at++], (id) => manager.range(id)?.first ?? -1);
  });
}

/** Keeps everything. */
export class Collector implements Watcher {
  readonly reader = new Reader(this);
  private readonly launches: Launch[] = [];
  private readonly faults: Fault[] = [];
  private readonly moves: Move[] = [];
  private readonly runs: Held[] = [];

  get history(): History {
    const { reader, launches, faults, moves, runs: held } = this;
    const { memories, processors, arrays, now: endMs } = reader;
    return {
      memories,
      processors,
      arrays,
      rule: reader.rule,
      launches,
      faults,
      moves,
      held,
      endMs,
      arrayAt: (page) => reader.arrayAt(page),
    };
  }

  held(run: Held): void {
    this.runs.push(run);
  }

  launched(launch: Launch): void {
    this.launches.push(launch);
  }

  faulted(fault: Fault): void {
    this.faults.push(fault);
  }

  moved(move: Move): void {
    this.moves.push(move);
  }
}
