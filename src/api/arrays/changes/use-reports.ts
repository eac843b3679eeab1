/** Which elements have been written, and which processors have used them. */
import type { OptionNames } from '../../../messages/option-names.js';
import type { ArrayInternals } from '../../line/internals.js';
import { namesOf } from '../../values/residency.js';
import type { ArrayPart } from '../parts/array-part.js';

/** Elements that were used, with the names of the processors. */
export interface YoungRun {
  readonly begin: number;
  readonly end: number;
  readonly processors: readonly string[];
}

export const YOUNG_OPTIONS: OptionNames<ArrayPart & { clear?: boolean }> = {
  begin: true,
  end: true,
  clear: true,
};

/** Elements that may have been written since the array was clean. */
export function dirtyRuns(
  array: ArrayInternals,
  begin: number,
  end: number,
): { begin: number; end: number }[] {
  const { runs } = array.space.client.call('dirty', array.pagesOf(begin, end));
  const result: { begin: number; end: number }[] = [];
  for (let at = 0; at < runs.length; at += 2) {
    const run = array.elementsOf(runs[at], runs[at + 1]);
    result.push({ begin: Math.max(begin, run.begin), end: Math.min(end, run.end) });
  }
  return result;
}

/** @param clear whether to begin anew to note which processors use the elements */
export function youngRuns(
  array: ArrayInternals,
  begin: number,
  end: number,
  clear: boolean,
): YoungRun[] {
  const { space } = array;
  const { runs, processors } = space.client.call('young', {
    ...array.pagesOf(begin, end),
    clear,
  });
  const result: YoungRun[] = [];
  for (let at = 0; at < runs.length; at += 3)
    result.push({
      ...array.elementsOf(runs[at], runs[at + 1]),
      processors: namesOf(runs[at + 2], processors),
    });
  return result;
}
