/** Which arrays of a launch are paged, and into which parts it is cut for the others. */
import type { LaunchFacts, WorkgroupBox } from './access.js';
import type { Description, Resource } from './describe.js';
import { type LaunchPart, planWindows, type WindowLimits, windowsOfBox } from './windows.js';

export type PagedPlan =
  | { readonly kind: 'paged'; readonly paged: readonly Resource[]; readonly parts: readonly LaunchPart[] }
  /** `reason` begins with line and column, where a place in the source is to blame. */
  | { readonly kind: 'refused'; readonly reason: string };

export interface PagedLimits extends Omit<WindowLimits, 'paged'> {
  /** Arrays that may be paged, of those that can be: all unless they are given. */
  mayPage?(resource: Resource): boolean;
  /** Bytes of memory for pages of these arrays, of the budget; null: there is no room for a page of each. */
  poolBytes(paged: readonly Resource[]): number | null;
}

/** A part has at most so many invocations: each has two bits on the GPU. */
const MOST_INVOCATIONS = 2 ** 22;

/** Arrays that are read only and can be looked up by index, those first of which a single workgroup may need most. */
function pageable(description: Description, launch: LaunchFacts, limits: PagedLimits): Resource[] {
  const one: WorkgroupBox = { first: [0, 0, 0], count: [1, 1, 1] };
  return windowsOfBox(description, launch, limits, one)
    .filter(({ resource: { access, type, runtimeArray } }) => access === 'read' && type === runtimeArray)
    .filter(({ resource }) => limits.mayPage?.(resource) !== false)
    .sort((a, b) => b.bytes - a.bytes)
    .map(({ resource }) => resource);
}

/**
 * Pages as few arrays as will do.
 * @param all of those that can be paged are
 */
export function planPaged(description: Description, launch: LaunchFacts, limits: PagedLimits, all = false): PagedPlan {
  const able = pageable(description, launch, limits);
  let reason = 'no array of the kernel is read only, so that none can be paged';
  for (let count = all ? able.length : 1; count <= able.length && count > 0; count++) {
    const paged = able.slice(0, count);
    const poolBytes = limits.poolBytes(paged);
    if (poolBytes === null) {
      reason = `there is no room for a page of each of ${paged.map(({ name }) => name).join(', ')}`;
      continue;
    }
    const plan = planWindows(description, launch, { ...limits, budgetBytes: limits.budgetBytes - poolBytes, paged });
    if (plan.kind === 'parts')
      return { kind: 'paged', paged, parts: plan.parts.flatMap((each) => smaller(description, each)) };
    reason = plan.reason;
  }
  return { kind: 'refused', reason };
}

function smaller(description: Description, part: LaunchPart): LaunchPart[] {
  const [x, y, z] = description.entryPoint.workgroupSize;
  const { first, count } = part;
  if (count[0] * count[1] * count[2] * x * y * z <= MOST_INVOCATIONS) return [part];
  const axis = count.indexOf(Math.max(...count));
  const half = Math.ceil((count[axis] as number) / 2);
  const box = (from: number, wide: number): LaunchPart => ({
    ...part,
    first: first.with(axis, (first[axis] as number) + from) as [number, number, number],
    count: count.with(axis, wide) as [number, number, number],
  });
  return [box(0, half), box(half, (count[axis] as number) - half)].flatMap((each) => smaller(description, each));
}
