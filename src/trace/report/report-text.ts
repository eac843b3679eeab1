/** A report, and the story of a page, as text for people. */
import { alignColumns } from '../recording/columns.js';
import { count, milliseconds } from '../recording/words.js';
import type { PageStory } from './page-story.js';
import { mebibytes, type Report } from './report.js';

const MOST_ARRAYS = 8;

export function reportText(report: Report): string {
  const { durationMs, launches, faults, decisions, advice } = report;
  const lines = [
    `${milliseconds(durationMs)}, ${count(launches, 'launch', 'launches')}, ${count(faults, 'fault')}`,
    '',
    ...memoryLines(report),
    '',
    ...arrayLines(report),
    '',
    ...reasonLines(report),
  ];
  if (decisions.length === 0)
    lines.push('No eviction was regretted: no page was needed again in a memory that it had left.');
  for (const { memory, evicted, sake, regretted, bytesReturned, medianMs } of decisions) {
    const times = `${count(regretted, 'time')}, needed again after ${milliseconds(medianMs)} (median)`;
    lines.push(`${memory} evicted ${evicted} for ${sake}: ${times}, ${mebibytes(bytesReturned)}.`);
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
  ]);
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
