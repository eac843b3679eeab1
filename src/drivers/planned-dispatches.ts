/** What a part does by its plan, found out before the launch begins. */
import type { PagedPart, PlannedDispatch, Planning } from './wgsl-launch.js';

/**
 * @returns null: it has no plan, or there is no room for the pages of a workgroup. `lost`: the
 * numbers that name pages cannot be had.
 */
export function* plannedDispatches({
  plan,
}: PagedPart): Planning<readonly PlannedDispatch[] | null | 'lost'> {
  const found = plan();
  if (found === null) return null;
  const numbers: Uint32Array[] = [];
  for (const each of found.numbers) {
    const content = yield each;
    if (content === null) return 'lost';
    numbers.push(new Uint32Array(content.buffer));
  }
  const search = found.dispatches(numbers);
  for (;;) {
    const step = search.next();
    if (step.done === true) return step.value;
    yield;
  }
}
