/** What `onemem top` shows, as lines of text. */
import type { ArrayActivity } from '../../trace/activity/activity.js';
import { alignColumns } from '../../trace/recording/columns.js';
import { formatBytes, formatCount, formatDuration, formatRate, plain } from '../terminal/format.js';
import type { TopFrame } from './top-space.js';

export const SORTS = ['moved', 'again', 'faults', 'size', 'name'] as const;
export type Sort = (typeof SORTS)[number];

export interface ScreenOptions {
  readonly sort: Sort;
  readonly columns: number;
  /** Lines that there is room for. */
  readonly rows: number;
}

export function screenOf(frame: TopFrame, { sort, columns, rows }: ScreenOptions): string[] {
  const { toMs, fromMs, bottleneck } = frame;
  const windowMs = toMs - fromMs;
  const rate = (bytes: number): string => (bytes === 0 ? '-' : formatRate(bytes, windowMs));
  const perSecond = (value: number): string =>
    value === 0 ? '-' : formatCount(Math.round((value * 1000) / Math.max(windowMs, 1)));
  const memories = frame.memories.map((each) => [
    plain(each.name),
    formatBytes(each.usedBytes),
    formatBytes(each.budgetBytes),
    rate(each.bytesIn),
    rate(each.bytesReturned),
    rate(each.bytesEvicted),
  ]);
  const processors = frame.processors.map((each) => [
    plain(each.name),
    perSecond(each.faults),
    perSecond(each.launches),
    `${Math.round((each.launchMs * 100) / Math.max(windowMs, 1))} %`,
    plain(each.kernel),
  ]);
  const arrays = frame.arrays
    .toSorted(orderBy(sort))
    .map((each) => [
      plain(each.name),
      formatBytes(each.bytes),
      perSecond(each.faults),
      rate(movedBytes(each)),
      rate(each.bytesReturned),
      causeOf(each),
    ]);
  const lines = [
    titleOf(frame),
    `Bottleneck in ${formatDuration(windowMs)}: ${bottleneck.text}`,
    '',
    ...alignColumns([['memory', 'used', 'of', 'in', 'again', 'evicted'], ...memories]),
    '',
    ...alignColumns([['processor', 'faults/s', 'launches/s', 'busy', 'kernel'], ...processors]),
    '',
    ...alignColumns([['array', 'size', 'faults/s', 'moved', 'again', 'most for'], ...arrays]),
  ];
  return lines.slice(0, rows).map((line) => line.slice(0, columns));
}

function titleOf({ pid, command, name, space, spaces, fromMs, toMs }: TopFrame): string {
  const what = plain(command);
  if (pid === null)
    return `Recording ${what}, from ${formatDuration(fromMs)} to ${formatDuration(toMs)}`;
  const which = spaces === 1 ? '' : `${space} of ${spaces} `;
  return `Space ${which}${name === null ? '' : `${name} `}of process ${pid} (${what})`;
}

function movedBytes({ bytesIn }: ArrayActivity): number {
  return Object.values(bytesIn).reduce((sum, bytes) => sum + bytes, 0);
}

function causeOf({ bytesIn }: ArrayActivity): string {
  const [cause, bytes] = Object.entries(bytesIn).reduce((best, each) =>
    each[1] > best[1] ? each : best,
  );
  return bytes === 0 ? '-' : cause;
}

function orderBy(sort: Sort): (a: ArrayActivity, b: ArrayActivity) => number {
  const byName = (a: ArrayActivity, b: ArrayActivity): number => a.name.localeCompare(b.name);
  if (sort === 'name') return byName;
  const of: Record<Exclude<Sort, 'name'>, (array: ArrayActivity) => number> = {
    moved: movedBytes,
    again: ({ bytesReturned }) => bytesReturned,
    faults: ({ faults }) => faults,
    size: ({ bytes }) => bytes,
  };
  return (a, b) => of[sort](b) - of[sort](a) || byName(a, b);
}
