/** Sentences on causes and moves, for people. */
import { PAGE_BYTES, type Reason } from '../../core/basics/types.js';
import type { Arrival, Cause, Departure, Names, RecordedArray } from './moves.js';

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
  launchEnd: 'the end of a launch',
  launchBegin: 'the arguments of a launch',
  goAhead: 'read-ahead',
};

/** The array and element of a page: 'table[1,024]'. */
function placeOf(names: Names, page: number): string {
  const array = names.arrayAt(page);
  return array === null ? `page ${page}` : `${array.name}[${firstElementOf(array, page)}]`;
}

function firstElementOf(array: RecordedArray, page: number): number {
  return Math.ceil(((page - array.first) * PAGE_BYTES) / array.elementBytes);
}

function nameOfLaunch({ launch, kernel }: Cause): string {
  return kernel === '' ? `launch ${launch}` : `launch ${launch} of ${kernel}`;
}

/** The array that a cause is about, or else what it is. */
export function sakeText(names: Names, { page, kind, kernel, event }: Cause): string {
  if (page >= 0) return names.arrayAt(page)?.name ?? '?';
  return kind === 'launch' ? `the arguments of ${kernel}` : (REQUESTS[event] ?? event);
}

function causeText(names: Names, cause: Cause): string {
  const who = names.processors[cause.processor]?.name;
  const during = cause.launch < 0 ? '' : ` in ${nameOfLaunch(cause)}`;
  switch (cause.kind) {
    case 'touch':
      return `a ${cause.write ? 'write' : 'read'} of ${placeOf(names, cause.page)} by ${who}${during}`;
    case 'launch':
      return `the arguments of ${nameOfLaunch(cause)}`;
    case 'ahead':
      return cause.page < 0 ? 'read-ahead' : `read-ahead of ${placeOf(names, cause.page)}${during}`;
    case 'request': {
      const call = REQUESTS[cause.event] ?? cause.event;
      return cause.page < 0 ? call : `${call} of ${placeOf(names, cause.page)}`;
    }
  }
}

/** Why pages come with the one that is touched. */
const REASONS: Readonly<Record<Reason, string>> = {
  advice: 'the program advised sequential',
  walk: 'it walks',
  repeat: 'a launch walked from there before',
  begin: 'content begins there',
  stride: 'its touches lie a stride apart',
  dense: 'most of that part was there',
  near: 'with its neighbourhood',
  trial: 'alone, to see what is touched',
  scattered: 'its touches lie scattered',
  lone: 'alone',
  plan: 'launches wait or repeat',
};

export function arrivalText(
  names: Names,
  { source, memory, cause, need, reason, returned, pages, tookMs }: Arrival,
): string {
  const size = `${bytesText(pages)}${tookMs > 0 ? ` in ${milliseconds(tookMs)}` : ''}`;
  const to = names.memories[memory].name;
  if (need === 'room') {
    const left = names.memories[source]?.name ?? 'another memory';
    return `was sent to ${to} (${size}): ${left} needed its room for ${causeText(names, cause)}`;
  }
  const from =
    source >= 0
      ? `came from ${names.memories[source]?.name} to`
      : source === -1
        ? 'began as zeros in'
        : 'was read from its file or provider into';
  const back = returned > 0 ? '; it had been evicted from there' : '';
  const what = reason === 'plan' ? 'a launch that was to come' : causeText(names, cause);
  const why = reason === null ? '' : ` (${reason}: ${REASONS[reason]})`;
  return `${from} ${to} (${size}), for ${what}${why}${back}`;
}

export function departureText(names: Names, departure: Departure): string {
  const { memory, why, cause, regret, pages } = departure;
  const name = names.memories[memory].name;
  if (why === 'freed') return `was given up in ${name}, by ${causeText(names, cause)}`;
  if (why === 'moved') return `left ${name}, for ${causeText(names, cause)}`;
  const rule = names.rule === '' ? '' : ` by ${names.rule}`;
  const text = `was evicted from ${name}${rule} (${bytesText(pages)}) to make room for ${causeText(names, cause)}`;
  if (regret === null) return `${text}; it was not needed again`;
  const after = `${milliseconds(regret.afterMs)} and ${count(regret.afterFaults, 'fault')}`;
  return `${text}; it was needed again ${after} later`;
}

/** Of pages, with their granule. */
function bytesText(pages: number): string {
  const kibibytes = (pages * PAGE_BYTES) / 1024;
  return kibibytes < 1024 ? `${kibibytes} KiB` : `${Number((kibibytes / 1024).toFixed(1))} MiB`;
}

export function milliseconds(value: number): string {
  if (value < 1) return `${Math.round(value * 1000)} us`;
  if (value < 10_000) return `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`;
  return `${(value / 1000).toFixed(1)} s`;
}

export function count(value: number, noun: string, nouns = `${noun}s`): string {
  return `${value.toLocaleString('en-US')} ${value === 1 ? noun : nouns}`;
}
