/** A report, and the story of a page, as text for people. */
import { alignColumns } from '../recording/columns.js';
import { count, milliseconds } from '../recording/words.js';
import type { KernelCost } from './kernel-costs.js';
import type { PageStory } from './page-story.js';
import { mebibytes, type Report } from './report.js';

const MOST_ARRAYS = 8;
const MOST_KERNELS = 3;
/** Arrays whose remedy stands below them. */
const MOST_REMEDIES = 3;

export function reportText(report: Report): string {
  const { durationMs, launches, faults, decisions, kernels, advice } = report;
  const lines = [
    `${milliseconds(durationMs)}, ${count(launches, 'launch', 'launches')}, ${count(faults, 'fault')}`,
    '',
    ...kernels.slice(0, MOST_KERNELS).flatMap((kernel) => [...kernelLines(kernel), '']),
    ...memoryLines(report),
    '',
    ...arrayLines(report),
    '',
    ...reasonLines(report),
  ];
  if (decisions.length === 0)
    lines.push('No eviction was regretted: no page was needed again in a memory that it had left.');
  for (const { memory, evicted, sake, regretted, bytesReturned, medianMs, remedy } of decisions) {
    const times = `${count(regretted, 'time')}, needed again after ${milliseconds(medianMs)} (median)`;
    lines.push(`${memory} evicted ${evicted} for ${sake}: ${times}, ${mebibytes(bytesReturned)}.`);
    if (remedy !== null) lines.push(`  ${remedy}.`);
  }
  lines.push(...report.conflicts.map(({ text }) => text));
  if (report.unasked.length > 0) lines.push('', ...unaskedLines(report), '');
  for (const { text } of advice) lines.push(`- ${text}`);
  return lines.join('\n');
}

function memoryLines({ memories }: Report): string[] {
  const used = memories.filter(({ bytesIn }) => bytesIn > 0);
  const rows = used.map((each) => [
    each.name,
    mebibytes(each.peakBytes),
    mebibytes(each.bytesIn),
    mebibytes(each.bytesReturned),
    `${each.evictions}`,
    `${each.regretted}`,
  ]);
  return alignColumns([
    ['memory', 'peak', 'moved in', 'of it again', 'evictions', 'regretted'],
    ...rows,
  ]);
}

/** What launches of a kernel took, and what the slowest one moved. */
export function kernelLines({ kernel, launches, medianMs, slowest }: KernelCost): string[] {
  const { launch, ms, faults, arrays } = slowest;
  const which =
    launches === 1
      ? `launch ${launch} of ${kernel}: ${milliseconds(ms)}`
      : `${kernel}: ${count(launches, 'launch', 'launches')}, ${milliseconds(medianMs)} (median); ` +
        `launch ${launch} took longest, ${milliseconds(ms)}`;
  const moved = arrays.map(({ name, bytes, bytesReturned, evictedFor }) => {
    const came = `  ${mebibytes(bytes)} of ${name} came`;
    if (bytesReturned === 0) return came;
    const why = evictedFor === null ? '' : `: evicted for ${evictedFor}`;
    return `${came}, ${mebibytes(bytesReturned)} of it again${why}`;
  });
  return [`${which}, with ${count(faults, 'fault')}`, ...moved];
}

function arrayLines({ arrays }: Report): string[] {
  const rows = arrays
    .slice(0, MOST_ARRAYS)
    .map((each) => [
      each.name,
      mebibytes(each.bytes),
      `${each.faults}`,
      mebibytes(each.bytesMoved),
      mebibytes(each.bytesReturned),
      mebibytes(each.bytesEvicted),
    ]);
  const lines = alignColumns([
    ['array', 'size', 'faults', 'moved', 'of it again', 'evicted'],
    ...rows,
  ]).flatMap((line, at) => {
    const remedy = at === 0 || at > MOST_REMEDIES ? null : arrays[at - 1].remedy;
    return remedy === null ? [line] : [line, `  ${remedy}.`];
  });
  if (arrays.length > MOST_ARRAYS) lines.push(`and ${arrays.length - MOST_ARRAYS} more`);
  return lines;
}

/** What came before it was asked for. */
function unaskedLines({ unasked }: Report): string[] {
  const rows = unasked
    .slice(0, MOST_ARRAYS)
    .map(({ array, reason, bytes, unusedBytes }) => [
      array,
      reason,
      mebibytes(bytes),
      unusedBytes === null ? 'not known' : mebibytes(unusedBytes),
    ]);
  const lines = alignColumns([['array', 'came as', 'bytes', 'unused, at least'], ...rows], 2);
  if (unasked.some(({ unusedBytes }) => unusedBytes === null))
    lines.push('not known: no touch of a page that is there is recorded');
  return lines;
}

function reasonLines({ reasons }: Report): string[] {
  if (reasons.length === 0) return [];
  const rows = reasons.map((each) => [
    each.reason,
    mebibytes(each.bytes),
    mebibytes(each.bytesReturned),
  ]);
  return [...alignColumns([['reason', 'moved in', 'of it again'], ...rows]), ''];
}

/** @param place the element and its page; @param limit how many of the last moves are shown */
export function storyText(story: PageStory, place: string, limit: number): string {
  const lines = [place, story.now];
  if (story.remedy !== null) lines.push(story.remedy);
  if (story.lines.length > limit) lines.push(`The last ${limit} of ${story.lines.length} moves:`);
  for (const { atMs, text } of story.lines.slice(-limit))
    lines.push(`  ${milliseconds(atMs).padStart(8)}  it ${text}`);
  return lines.join('\n');
}
