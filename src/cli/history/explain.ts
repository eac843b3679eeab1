/** `onemem explain`: why pages moved in a recorded run, and what to do about it. */

import { PAGE_BYTES } from '../../core/basics/types.js';
import type { History } from '../../trace/recording/history.js';
import type { RecordedArray } from '../../trace/recording/moves.js';
import { launchCosts } from '../../trace/report/kernel-costs.js';
import { pageOfElement, storyOf } from '../../trace/report/page-story.js';
import { Costs } from '../../trace/report/report.js';
import { kernelLines, reportText, storyText } from '../../trace/report/report-text.js';
import { defineCommand } from '../terminal/command.js';
import { UsageError } from '../terminal/failure.js';
import { print } from '../terminal/output.js';
import { readHistory, readInto } from './recorded-history.js';

const USUAL_LINES = 20;

export const command = defineCommand({
  name: 'explain',
  usage: 'TRACE [--array NAME --element N | --launch N]',
  summary: 'say why pages of a recorded run moved',
  text: `TRACE is a recording, by ONEMEM_RECORD=TRACE or space.record('TRACE'). The report names the arrays
and kernels that cost most, the evictions that were regretted most (their pages were needed again),
and what to change. A recording has no touches of present pages.

  --array NAME    the story of one page of this array: where it is, why, its moves and their causes
  --element N     the element whose page is meant (0)
  --page N        or the page of the array, of 4 KiB
  --launch N      what this launch took, moved and waited for; launches count from 1
  --limit N       how many of the last moves are shown (20)
  --json          the same as JSON
  -h, --help

Examples
  onemem explain run.rec                after: ONEMEM_RECORD=run.rec node program.js
  onemem explain run.rec --array table --element 5
  onemem explain run.rec --launch 3`,
  options: {
    array: { type: 'string' },
    element: { type: 'string' },
    page: { type: 'string' },
    launch: { type: 'string' },
    limit: { type: 'string' },
    json: { type: 'boolean' },
  },
  one: 'recording',
  async main(values, [path]) {
    const { array, json = false } = values;
    checkTogether(values);
    const limit = numberOf('limit', values.limit, USUAL_LINES);
    if (values.launch !== undefined)
      printLaunch(await readHistory(path), numberOf('launch', values.launch, 1), json);
    else if (array !== undefined) {
      const history = await readHistory(path);
      const place = placeIn(arrayNamed(history, array), values);
      const story = storyOf(history, place.page);
      print(
        json ? JSON.stringify({ ...story, ...place.said }) : storyText(story, place.text, limit),
      );
    } else {
      const costs = new Costs();
      await readInto(costs.reader, path);
      const report = costs.report();
      print(json ? JSON.stringify(report) : reportText(report));
    }
    return 0;
  },
});

type Options = Readonly<Partial<Record<'array' | 'element' | 'page' | 'launch', string>>>;

function checkTogether({ array, element, page, launch }: Options): void {
  if (launch !== undefined && array !== undefined)
    throw new UsageError('--launch and --array are two questions; ask one of them');
  if (element !== undefined && page !== undefined)
    throw new UsageError('--element and --page say the same; give one of them');
  for (const [name, value] of [
    ['element', element],
    ['page', page],
  ])
    if (value !== undefined && array === undefined)
      throw new UsageError(`--${name} goes with --array NAME`);
}

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

interface Place {
  readonly page: number;
  readonly said: { readonly element?: number };
  readonly text: string;
}

/** The page that options name. */
function placeIn(array: RecordedArray, options: Options): Place {
  const { name, first, pages, elementBytes } = array;
  if (options.page !== undefined) {
    const page = numberOf('page', options.page, 0);
    if (page >= pages)
      throw new UsageError(`--page is ${page}; ${name} has pages 0 to ${pages - 1}`);
    return { page: first + page, said: {}, text: `page ${page} of ${name}` };
  }
  const element = numberOf('element', options.element, 0);
  const page = pageOfElement(array, element, PAGE_BYTES);
  if (page === null) {
    const elements = Math.floor((pages * PAGE_BYTES) / elementBytes);
    throw new UsageError(`--element is ${element}; ${name} has elements 0 to ${elements - 1}`);
  }
  const text = `${name}[${element}], page ${page - first} of the array`;
  return { page, said: { element }, text };
}

function printLaunch(history: History, launch: number, json: boolean): void {
  const costs = launchCosts(history, launch);
  if (costs === null) {
    const { length } = history.launches;
    const has = length === 0 ? 'no launches' : `launches 1 to ${length}`;
    throw new UsageError(`--launch is ${launch}; the recording has ${has}`);
  }
  print(json ? JSON.stringify(costs) : kernelLines(costs).join('\n'));
}
