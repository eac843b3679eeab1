/** What went over the link of each memory in a recorded run, and how long its launches took. */

import {
  type MemorySpeed,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  SOURCE_ZERO,
} from '../core/basics/types.js';
import type { History } from '../trace/recording/history.js';
import type { Arrival, Launch, Move } from '../trace/recording/moves.js';

export interface Traffic {
  readonly memory: string;
  /** How fast it is, where the program described it. */
  readonly speed: MemorySpeed | undefined;
  /** How many transfers there were of each size, in bytes. */
  readonly inwards: ReadonlyMap<number, number>;
  readonly outwards: ReadonlyMap<number, number>;
  /** Of the bytes that came, those that had been evicted from this memory before. */
  readonly againBytes: number;
  readonly launches: number;
  /** The time of its processor's launches. */
  readonly launchMs: number;
  /** The same without the time in which something was on its way to or from the memory. */
  readonly restMs: number;
}

/** Of the memories of devices, of slow memory, and of stores: of those that something came to. */
export function recordedTraffic({ memories, processors, moves, launches }: History): Traffic[] {
  const own = new Set(processors.map(({ memory }) => memory));
  const links = [
    // The host's memory is the other end of every link.
    ...processors
      .filter(({ id, memory }) => id !== 0 && memory > 0)
      .map(({ id, memory }) => ({ id, memory, isStore: false })),
    ...memories
      .filter(({ id, speed }) => speed !== undefined || (id > 0 && !own.has(id)))
      .map(({ id, speed }) => ({ id: -1, memory: id, isStore: speed === undefined })),
  ];
  return links.flatMap(({ id, memory, isStore }) => {
    const over = moves.filter((move): move is Arrival => isOver(move, memory));
    if (over.length === 0) return [];
    // What a program waits for comes into a device, and out of a store.
    const isInwards = (move: Arrival): boolean => (move.memory === memory) !== isStore;
    const inwards = joined(over.filter(isInwards));
    const outwards = joined(over.filter((move) => !isInwards(move)));
    const ended = launches.filter((launch) => launch.processor === id && launch.endedMs > 0);
    const launchMs = ended.reduce((sum, { beganMs, endedMs }) => sum + endedMs - beganMs, 0);
    const againBytes = over.reduce(
      (sum, move) => sum + (isInwards(move) ? move.returned * PAGE_BYTES : 0),
      0,
    );
    const { name, speed } = memories[memory];
    const restMs = launchMs - busyMs(over, ended);
    const traffic = { inwards, outwards, againBytes, launches: ended.length, launchMs, restMs };
    return [{ memory: name, speed, ...traffic }];
  });
}

/** Pages that begin as zeros go over no link. */
function isOver(move: Move, memory: number): boolean {
  if (move.kind !== 'arrival' || move.source === SOURCE_ZERO) return false;
  return move.memory === memory || move.source === memory;
}

/** Neighbouring pages of a block that came one piece after the other are one transfer. */
function joined(moves: readonly Arrival[]): Map<number, number> {
  const sizes = new Map<number, number>();
  const add = (pages: number): void => {
    const bytes = pages * PAGE_BYTES;
    sizes.set(bytes, (sizes.get(bytes) ?? 0) + 1);
  };
  let end = -1;
  let pages = 0;
  let source = 0;
  for (const move of moves) {
    const goesOn = move.page === end && end % PAGES_PER_BLOCK !== 0 && move.source === source;
    if (pages > 0 && !goesOn) {
      add(pages);
      pages = 0;
    }
    pages += move.pages;
    end = move.page + move.pages;
    source = move.source;
  }
  if (pages > 0) add(pages);
  return sizes;
}

/** The time within launches in which some transfer was under way. */
function busyMs(moves: readonly Arrival[], launches: readonly Launch[]): number {
  const spans = moves.map(({ atMs, tookMs }) => [atMs - tookMs, atMs] as const);
  spans.sort(([a], [b]) => a - b);
  let sum = 0;
  for (const { beganMs, endedMs } of launches) {
    let done = beganMs;
    for (const [from, to] of spans) {
      const begin = Math.max(from, done);
      const end = Math.min(to, endedMs);
      if (end <= begin) continue;
      sum += end - begin;
      done = end;
    }
  }
  return sum;
}
