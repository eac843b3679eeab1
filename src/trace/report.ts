/**
 * What a recorded run spent on moving pages: the arrays that cost most, the decisions that were
 * regretted most, and what the program can do about each.
 */
import { PAGE_BYTES, PAGES_PER_BLOCK } from '../core/types.js';
import type { Departure, History } from './history.js';

const MOST_DECISIONS = 3;
/**
 * Moves between memories by touches, for each block of the array, from which it goes back and
 * forth.
 */
const BACK_AND_FORTH = 3;

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
  /** All blocks that were ever in it: with so much memory nothing is evicted. */
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
}

export interface Remedy {
  readonly array: string | null;
  readonly what: 'memory' | 'pin' | 'accessedBy' | 'readMostly';
  readonly text: string;
}

export interface Report {
  readonly durationMs: number;
  readonly launches: number;
  readonly faults: number;
  readonly memories: readonly MemoryCost[];
  readonly arrays: readonly ArrayCost[];
  readonly decisions: readonly RegrettedEvictions[];
  readonly advice: readonly Remedy[];
}

export function reportOf(history: History): Report {
  const memories = history.memories.map(({ id }) => memoryCost(history, id));
  const arrays = arrayCosts(history);
  const decisions = decisionsOf(history);
  return {
    durationMs: history.endMs,
    launches: history.launches.length,
    faults: history.faults.length,
    memories,
    arrays,
    decisions: decisions.slice(0, MOST_DECISIONS),
    advice: adviceOn(history, memories, arrays, decisions),
  };
}

const blockOf = (page: number): number => Math.floor(page / PAGES_PER_BLOCK);

function memoryCost({ memories, moves, held }: History, id: number): MemoryCost {
  const { name, budgetPages } = memories[id];
  const blocks = new Set<number>();
  const total = { bytesIn: 0, bytesReturned: 0, bytesEvicted: 0, evictions: 0, regretted: 0 };
  let pages = 0;
  for (const run of held) {
    if (run.memory !== id) continue;
    pages += run.pages;
    for (let page = run.page; page < run.page + run.pages; page += PAGES_PER_BLOCK)
      blocks.add(blockOf(page));
  }
  let peak = pages;
  for (const move of moves) {
    if (move.memory !== id) continue;
    if (move.kind === 'arrival') {
      blocks.add(blockOf(move.page));
      pages += move.pages;
      peak = Math.max(peak, pages);
      total.bytesIn += move.pages * PAGE_BYTES;
      total.bytesReturned += move.returned * PAGE_BYTES;
      continue;
    }
    pages = Math.max(0, pages - move.pages);
    if (move.why !== 'evicted') continue;
    total.bytesEvicted += move.pages * PAGE_BYTES;
    total.evictions++;
    if (move.regret !== null) total.regretted++;
  }
  const usedBytes = blocks.size * PAGES_PER_BLOCK * PAGE_BYTES;
  const peakBytes = Math.min(peak, budgetPages) * PAGE_BYTES;
  return { name, budgetBytes: budgetPages * PAGE_BYTES, peakBytes, usedBytes, ...total };
}

function arrayCosts(history: History): ArrayCost[] {
  type Sums = { -readonly [K in keyof ArrayCost]: ArrayCost[K] };
  const sums = new Map<number, Sums>();
  const sumOf = (page: number): Sums | null => {
    const array = history.arrayAt(page);
    if (array === null) return null;
    let sum = sums.get(array.id);
    if (sum === undefined) {
      const nothing = { faults: 0, bytesMoved: 0, bytesReturned: 0, bytesEvicted: 0, moves: 0 };
      sums.set(array.id, (sum = { name: array.name, bytes: array.pages * PAGE_BYTES, ...nothing }));
    }
    return sum;
  };
  for (const { page } of history.faults) {
    const sum = sumOf(page);
    if (sum !== null) sum.faults++;
  }
  for (const move of history.moves) {
    const sum = sumOf(move.page);
    if (sum === null) continue;
    if (move.kind === 'departure') {
      if (move.why === 'evicted') sum.bytesEvicted += move.pages * PAGE_BYTES;
      else if (move.why === 'moved' && move.cause.kind === 'touch') sum.moves++;
      continue;
    }
    // Zeros cost no copy.
    if (move.source !== -1) sum.bytesMoved += move.pages * PAGE_BYTES;
    sum.bytesReturned += move.returned * PAGE_BYTES;
  }
  return [...sums.values()].sort((a, b) => b.bytesMoved - a.bytesMoved || b.faults - a.faults);
}

function decisionsOf(history: History): RegrettedEvictions[] {
  const groups = new Map<string, Departure[]>();
  for (const move of history.moves) {
    if (move.kind !== 'departure' || move.why !== 'evicted' || move.regret === null) continue;
    const evicted = history.arrayAt(move.page)?.name ?? '?';
    const key = JSON.stringify([
      history.memories[move.memory].name,
      evicted,
      sakeOf(history, move),
    ]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [move]);
    else group.push(move);
  }
  const decisions = [...groups].map(([key, moves]): RegrettedEvictions => {
    const [memory, evicted, sake] = JSON.parse(key) as [string, string, string];
    const times = moves.map(({ regret }) => regret?.afterMs ?? 0).sort((a, b) => a - b);
    return {
      memory,
      evicted,
      sake,
      regretted: moves.length,
      bytesReturned: moves.reduce((sum, { returned }) => sum + returned * PAGE_BYTES, 0),
      medianMs: times[times.length >> 1],
    };
  });
  return decisions.sort((a, b) => b.bytesReturned - a.bytesReturned);
}

function sakeOf(history: History, { cause }: Departure): string {
  if (cause.page >= 0) return history.arrayAt(cause.page)?.name ?? '?';
  const launch = history.launches.find(({ id }) => id === cause.launch);
  return launch === undefined ? cause.event : `the arguments of ${launch.kernel}`;
}

function adviceOn(
  history: History,
  memories: readonly MemoryCost[],
  arrays: readonly ArrayCost[],
  decisions: readonly RegrettedEvictions[],
): Remedy[] {
  const advice: Remedy[] = [];
  for (const { name, usedBytes, budgetBytes, bytesReturned } of memories) {
    if (bytesReturned === 0 || usedBytes <= budgetBytes) continue;
    const [used, had, again] = [usedBytes, budgetBytes, bytesReturned].map(mebibytes);
    const text = `Give ${name} ${used} instead of ${had}: then nothing leaves it, and ${again} need not come again.`;
    advice.push({ array: null, what: 'memory', text });
  }
  const told = new Set<string>();
  for (const { memory, evicted, bytesReturned } of decisions) {
    const array = arrays.find(({ name }) => name === evicted);
    const room = memories.find(({ name }) => name === memory);
    if (array === undefined || room === undefined || told.has(evicted)) continue;
    if (array.bytes > room.budgetBytes / 2 || bytesReturned < array.bytes) continue;
    told.add(evicted);
    const size = mebibytes(array.bytes);
    const text =
      `Keep ${evicted} (${size}) in ${memory}: ${evicted}.advise({ preferredLocation: ${memory === 'host' ? "'host'" : 'device'} }). ` +
      `${mebibytes(bytesReturned)} of it came again.`;
    advice.push({ array: evicted, what: 'pin', text });
  }
  for (const { name, bytes, moves } of arrays) {
    const blocks = Math.max(1, Math.ceil(bytes / (PAGE_BYTES * PAGES_PER_BLOCK)));
    if (moves < BACK_AND_FORTH * blocks || moves < BACK_AND_FORTH * 2) continue;
    const onlyRead = history.moves.every(
      (move) => history.arrayAt(move.page)?.name !== name || !move.cause.write,
    );
    const text = onlyRead
      ? `Let each memory have a copy of ${name}: ${name}.advise({ readMostly: true }). It went back and forth ${moves} times.`
      : `${name} went back and forth ${moves} times between processors: have the device reach it in place, ` +
        `${name}.advise({ accessedBy: [device] }), or give each processor a part of its own.`;
    advice.push({ array: name, what: onlyRead ? 'readMostly' : 'accessedBy', text });
  }
  return advice;
}

export function mebibytes(bytes: number): string {
  const value = bytes / 2 ** 20;
  return `${value < 10 && value !== Math.round(value) ? value.toFixed(1) : Math.round(value)} MiB`;
}
