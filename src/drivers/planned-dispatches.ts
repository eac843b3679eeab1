/** What a part does by its plan, found out before the launch begins. */
import type { PagedPart, PlannedDispatch, Planning } from './wgsl-launch.js';

/** @returns null: no plan, or no room for a workgroup's pages. `lost`: no numbers to plan by. */
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
