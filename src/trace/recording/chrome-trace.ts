/**
 * A history in Chrome's trace format, which Perfetto (ui.perfetto.dev) and chrome://tracing open: a
 * track for each processor with launches and faults, one for each memory with what arrived and
 * left, and counters. Times are in microseconds.
 */
import { PAGE_BYTES } from '../../core/basics/types.js';
import type { History } from './history.js';
import { type Move, memoryGrowthOf } from './moves.js';
import { arrivalText, departureText } from './words.js';

/** `X` has a duration, `i` has none, `C` is a counter, `M` names a track. */
export interface TraceEvent {
  readonly name: string;
  readonly ph: 'X' | 'i' | 'C' | 'M';
  readonly pid: number;
  readonly tid: number;
  readonly ts: number;
  readonly dur?: number;
  /** Of an instant: it belongs to its track. */
  readonly s?: 't';
  readonly args: Readonly<Record<string, unknown>>;
}

export interface ChromeTrace {
  readonly displayTimeUnit: 'ms';
  readonly traceEvents: readonly TraceEvent[];
}

const PROCESSORS = 1;
const MEMORIES = 2;

export function chromeTraceOf(history: History): ChromeTrace {
  const { processors, memories } = history;
  const traceEvents = [
    named('process_name', PROCESSORS, 0, 'processors'),
    ...processors.map(({ id, name }) => named('thread_name', PROCESSORS, id, name)),
    named('process_name', MEMORIES, 0, 'memories'),
    ...memories.map(({ id, name }) => named('thread_name', MEMORIES, id, name)),
    ...launches(history),
    ...faults(history),
    ...moves(history),
  ];
  return { displayTimeUnit: 'ms', traceEvents };
}

function named(kind: string, pid: number, tid: number, name: string): TraceEvent {
  return { name: kind, ph: 'M', pid, tid, ts: 0, args: { name } };
}

function microseconds(ms: number): number {
  return Math.round(ms * 1000);
}

function launches({ launches: all, endMs }: History): TraceEvent[] {
  return all.map(({ id, kernel, processor, arrays, beganMs, endedMs }) => {
    const ts = microseconds(beganMs);
    const dur = microseconds(Number.isNaN(endedMs) ? endMs : endedMs) - ts;
    const name = kernel === '' ? `launch ${id}` : kernel;
    return {
      name,
      ph: 'X',
      pid: PROCESSORS,
      tid: processor,
      ts,
      dur,
      args: { launch: id, arrays },
    };
  });
}

function faults(history: History): TraceEvent[] {
  return history.faults.map(({ atMs, processor, page, write }) => {
    const array = history.arrayAt(page);
    const name = `${write ? 'write' : 'read'} fault`;
    const args = { array: array?.name ?? null, page: array === null ? page : page - array.first };
    return { name, ph: 'i', s: 't', pid: PROCESSORS, tid: processor, ts: microseconds(atMs), args };
  });
}

/** Moves, and after each the bytes that its memory has. */
function moves(history: History): TraceEvent[] {
  const held = history.memories.map(() => 0);
  for (const { memory, taken } of history.held) held[memory] += taken;
  return history.moves.flatMap((move): TraceEvent[] => {
    const { memory, pages, atMs, kind } = move;
    held[memory] += memoryGrowthOf(move);
    const at = { pid: MEMORIES, tid: memory, ts: microseconds(atMs) };
    const args = {
      array: history.arrayAt(move.page)?.name ?? null,
      bytes: pages * PAGE_BYTES,
      why: why(history, move),
    };
    const counter = `${history.memories[memory].name} bytes`;
    return [
      { name: kind === 'arrival' ? 'arrives' : move.why, ph: 'i', s: 't', ...at, args },
      { name: counter, ph: 'C', ...at, args: { bytes: held[memory] * PAGE_BYTES } },
    ];
  });
}

function why(history: History, move: Move): string {
  return move.kind === 'arrival' ? arrivalText(history, move) : departureText(history, move);
}
