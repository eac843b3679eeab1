/** `onemem explain`: why pages moved in a recorded run, and what to do about it. */

import { PAGE_BYTES } from '../../core/basics/types.js';
import type { History } from '../../trace/recording/history.js';
import type { RecordedArray } from '../../trace/recording/moves.js';
import { pageOfElement, storyOf } from '../../trace/report/page-story.js';
import { reportOf } from '../../trace/report/report.js';
import { reportText, storyText } from '../../trace/report/report-text.js';
import { defineCommand } from '../terminal/command.js';
import { UsageError } from '../terminal/failure.js';
import { print } from '../terminal/output.js';
import { readHistory } from './recorded-history.js';

const USUAL_LINES = 20;

export const command = defineCommand({
  name: 'explain',
  usage: 'TRACE [--array NAME --element N]',
  summary: 'say why pages of a recorded run moved',
  text: `TRACE is a recording, by ONEMEM_RECORD=TRACE or space.record('TRACE'). The report names the arrays
that cost most, the evictions that were regretted most (their pages were needed again), and what to
change. A recording has no touches of present pages.

  --array NAME    the story of one page of this array: where it is, why, its moves and their causes
  --element N     the element whose page is meant (0)
  --limit N       how many of the last moves are shown (20)
  --json          the same as JSON
  -h, --help

Examples
  onemem explain run.rec                after: ONEMEM_RECORD=run.rec node program.js
  onemem explain run.rec --array table --element 5`,
  options: {
    array: { type: 'string' },
    element: { type: 'string' },
    limit: { type: 'string' },
    json: { type: 'boolean' },
  },
  one: 'recording',
  async main(values, [path]) {
    if (values.element !== undefined && values.array === undefined)
      throw new UsageError('--element goes with --array NAME');
    const element = numberOf('element', values.element, 0);
    const limit = numberOf('limit', values.limit, USUAL_LINES);
    const history = await readHistory(path);
    if (values.array === undefined) {
      const report = reportOf(history);
      if (values.json) print(JSON.stringify(report));
      else print(reportText(report));
    } else
      printStory(history, arrayNamed(history, values.array), element, limit, values.json === true);
    return 0;
  },
});

function numberOf(option: string, text: string | undefined, usual: number): number {
  if (text === undefined) return usual;
  const value = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(value)) return value;
  throw new UsageError(`--${option} is '${text}'; it must be a whole number of 0 or more`);
}

/** The last array of that name: one that was freed may have had it before. */
function arrayNamed(history: History, name: string): RecordedArray {
  const array = history.arrays.findLast((each) => each.name === name);
  if (array !== undefined) return array;
  const names = [...new Set(history.arrays.map((each) => each.name))];
  throw new UsageError(
    `--array: there is no array '${name}'; the recording has ${names.join(', ') || 'none'}`,
  );
}

function printStory(
  history: History,
  array: RecordedArray,
  element: number,
  limit: number,
  json: boolean,
): void {
  const page = pageOfElement(array, element, PAGE_BYTES);
  if (page === null) {
    const elements = Math.floor((array.pages * PAGE_BYTES) / array.elementBytes);
    throw new UsageError(
      `--element is ${element}; ${array.name} has elements 0 to ${elements - 1}`,
    );
  }
  const story = storyOf(history, page);
  if (json) {
    print(JSON.stringify({ ...story, element }));
    return;
  }
  print(
    storyText(story, `${array.name}[${element}], page ${page - array.first} of the array`, limit),
  );
}
