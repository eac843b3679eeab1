/** Sentences on causes and moves, for people. */
import { PAGE_BYTES } from '../core/types.js';
import type { Arrival, Cause, Departure, History, RecordedArray } from './history.js';

/** Requests in the words of the program's calls. */
const REQUESTS: Readonly<Record<string, string>> = {
  acquire: 'a prefetch or copy',
  bring: 'a copy, a write to a file, or a pin',
  arrange: 'the advice that a launch follows',
  advise: 'advise()',
  free: 'free()',
  drop: 'reload() or discard()',
  zero: 'discard()',
  protect: 'protect()',
  clean: 'flush()',
  setBudget: 'a smaller memory',
  detach: 'the end of a device',
  processorLost: 'the loss of a device',
};

/** The array and element of a page: 'table[1,024]'. */
function placeOf(history: History, page: number): string {
  const array = history.arrayAt(page);
  return array === null ? `page ${page}` : `${array.name}[${firstElementOf(array, page)}]`;
}

function firstElementOf(array: RecordedArray, page: number): number {
  return Math.ceil(((page - array.first) * PAGE_BYTES) / array.elementBytes);
}

function nameOfLaunch(history: History, id: number): string {
  const launch = history.launches.find((each) => each.id === id);
  return launch === undefined || launch.kernel === ''
    ? `launch ${id}`
    : `launch ${id} of ${launch.kernel}`;
}

function causeText(history: History, cause: Cause): string {
  const who = history.processors[cause.processor]?.name;
  const during = cause.launch < 0 ? '' : ` in ${nameOfLaunch(history, cause.launch)}`;
  switch (cause.kind) {
    case 'touch':
      return `a ${cause.write ? 'write' : 'read'} of ${placeOf(history, cause.page)} by ${who}${during}`;
    case 'launch':
      return `the arguments of ${nameOfLaunch(history, cause.launch)}`;
    case 'ahead':
      return cause.page < 0 ? 'read-ahead' : `read-ahead of ${placeOf(history, cause.page)}`;
    case 'request': {
      const call = REQUESTS[cause.event] ?? cause.event;
      return cause.page < 0 ? call : `${call} of ${placeOf(history, cause.page)}`;
    }
  }
}

export function arrivalText(
  history: History,
  { source, memory, cause, returned }: Arrival,
): string {
  const from =
    source >= 0
      ? `came from ${history.memories[source]?.name} to`
      : source === -1
        ? 'began as zeros in'
        : 'was read from its file or provider into';
  const back = returned > 0 ? '; it had been evicted from there' : '';
  return `${from} ${history.memories[memory].name}, for ${causeText(history, cause)}${back}`;
}

export function departureText(history: History, departure: Departure): string {
  const { memory, why, cause, regret } = departure;
  const name = history.memories[memory].name;
  if (why === 'freed') return `was given up in ${name}, by ${causeText(history, cause)}`;
  if (why === 'moved') return `left ${name}, for ${causeText(history, cause)}`;
  const text = `was evicted from ${name} to make room for ${causeText(history, cause)}`;
  if (regret === null) return `${text}; it was not needed again`;
  const after = `${milliseconds(regret.afterMs)} and ${count(regret.afterFaults, 'fault')}`;
  return `${text}; it was needed again ${after} later`;
}

export function milliseconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} us`;
  if (value < 10_000) return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  return `${(value / 1000).toFixed(1)} s`;
}

export function count(value: number, noun: string): string {
  return `${value.toLocaleString('en-US')} ${noun}${value === 1 ? '' : 's'}`;
}
