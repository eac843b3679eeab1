// What the run cost, in words and tables.
import { $, countOf, element, sizeOf, timeOf } from './words.js';

const MOST_ARRAYS = 20;
/** Columns of names and sentences. The others have figures, beside the name that comes first. */
const WORDS = new Set(['for', 'from', 'came as', 'what helps']);

/** @param choose called with the name of an array that was clicked */
export function showReport({ durationMs, report }, choose) {
  const moved = report.memories.reduce((sum, each) => sum + each.bytesIn, 0);
  const again = report.memories.reduce((sum, each) => sum + each.bytesReturned, 0);
  $('summary').textContent =
    `${timeOf(durationMs)}, ${countOf(report.launches, 'launch').replace(/hs$/, 'hes')}, ` +
    `${countOf(report.faults, 'fault')}, ` +
    `${sizeOf(moved)} moved, ${sizeOf(again)} of it again after an eviction.`;
  $('advice').replaceChildren(
    ...report.advice.map(({ text }) => element('li', { textContent: text })),
  );
  const arrays = report.arrays.slice(0, MOST_ARRAYS).map((each) => [
    element('button', {
      type: 'button',
      textContent: each.name,
      onclick: () => choose(each.name),
    }),
    sizeOf(each.bytes),
    String(each.faults),
    sizeOf(each.bytesMoved),
    sizeOf(each.bytesReturned),
    sizeOf(each.bytesEvicted),
    each.remedy ?? '',
  ]);
  const header = ['array', 'size', 'faults', 'moved', 'of it again', 'evicted', 'what helps'];
  table('costs', 'Arrays, those first that moved most', header, arrays);
  const decisions = report.decisions.map((each) => [
    each.evicted,
    each.sake,
    each.memory,
    String(each.regretted),
    timeOf(each.medianMs),
    sizeOf(each.bytesReturned),
    each.remedy ?? '',
  ]);
  const columns = [
    ...['evicted', 'for', 'from', 'times', 'needed again after', 'came again'],
    'what helps',
  ];
  $('decisions').hidden = decisions.length === 0;
  table('decisions', 'Evictions that were regretted most', columns, decisions);
  $('conflicts').replaceChildren(
    ...report.conflicts.map(({ text }) => element('li', { textContent: text })),
  );
  const unasked = report.unasked
    .slice(0, MOST_ARRAYS)
    .map(({ array, reason, bytes, unusedBytes }) => [
      array,
      reason,
      sizeOf(bytes),
      unusedBytes === null ? 'not known' : sizeOf(unusedBytes),
    ]);
  $('unasked').hidden = unasked.length === 0;
  const came = ['array', 'came as', 'bytes', 'unused, at least'];
  const caption =
    'What came before it was asked for. Not known: no touch of a page that is there is recorded.';
  table('unasked', caption, came, unasked);
}

function table(id, caption, header, lines) {
  const classOf = (at) => (WORDS.has(header[at]) ? 'text' : '');
  const cellOf = (cell, name, at) => element(name, { className: classOf(at) }, cell);
  const row = (cells, name) =>
    element('tr', {}, ...cells.map((cell, at) => cellOf(cell, name, at)));
  $(id).replaceChildren(
    element('caption', { textContent: caption }),
    element('thead', {}, row(header, 'th')),
    element('tbody', {}, ...lines.map((cells) => row(cells, 'td'))),
  );
}
