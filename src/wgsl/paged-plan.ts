/** Which arrays of a launch are paged, and into which parts it is cut for the others. */
import type { LaunchFacts, WorkgroupBox } from './analysis/access.js';
import { accessesOf } from './analysis/accesses.js';
import type { Slices } from './analysis/slices.js';
import { writtenBy } from './analysis/writing.js';
import { PagePlanner } from './dividing/page-plan.js';
import { tooManyPages } from './dividing/page-rounds.js';
import type { PageTable } from './dividing/page-tables.js';
import {
  halvesAlong,
  type LaunchPart,
  type WindowLimits,
  windowSlices,
  windowsOfBox,
} from './dividing/windows.js';
import type { Description, Resource } from './reading/describe.js';
import { WgslError } from './reading/wgsl-error.js';
import { type PagedModule, pagedModule } from './rewriting/paged.js';

export type PagedPlan =
  | { readonly kind: 'paged'; readonly module: PagedModule; readonly parts: readonly LaunchPart[] }
  /** `reason` begins with line and column, where a place in the source is to blame. */
  | {
      readonly kind: 'refused';
      readonly reason: string;
      /** Whether smaller pages might do. */
      readonly lacksPages: boolean;
    };

export interface PagedLimits extends Omit<WindowLimits, 'paged'> {
  /** Why an array that could be paged is not to be; null: it may be, as all by default. */
  obstacleOf?(resource: Resource, isWritten: boolean): string | null;
  /** Bytes of memory for pages of these arrays; null: there is none for a page of each. */
  poolBytes(paged: readonly Resource[]): number | null;
  /** How they are cut into pages, where that is known: what can have no end is not begun. */
  tablesOf?(paged: readonly Resource[]): readonly PageTable[] | null;
}

/** Parts of which the first workgroup is looked at. */
const MOST_LOOKS = 16;

/**
 * Pages as few arrays as will do, in slices.
 * @param all of those that can be paged are
 */
export function* pagedSlices(
  description: Description,
  launch: LaunchFacts,
  limits: PagedLimits,
  all = false,
): Slices<PagedPlan> {
  const { able, written, obstacles } = candidates(description, launch, limits);
  let reason = `no array of the kernel can be looked up page by page`;
  let lacksPages = false;
  if (obstacles.length > 0) reason += `: ${obstacles.join('; ')}`;
  for (const paged of choices(able, written, all)) {
    yield;
    const found = yield* planWith(description, launch, limits, paged);
    if (typeof found !== 'string' && found.kind === 'paged') return found;
    reason = typeof found === 'string' ? found : found.reason;
    lacksPages ||= typeof found !== 'string';
  }
  return { kind: 'refused', reason, lacksPages };
}

/** Why it cannot be with these arrays is a text. */
function* planWith(
  description: Description,
  launch: LaunchFacts,
  limits: PagedLimits,
  paged: readonly Resource[],
): Slices<PagedPlan | string> {
  const poolBytes = limits.poolBytes(paged);
  if (poolBytes === null)
    return `there is no room for a page of each of ${paged.map(({ name }) => name).join(', ')}`;
  let module: PagedModule;
  try {
    module = pagedModule(description, paged);
  } catch (error) {
    if (error instanceof WgslError) return error.message;
    throw error;
  }
  const plan = yield* windowSlices(description, launch, {
    ...limits,
    budgetBytes: limits.budgetBytes - poolBytes,
    paged,
    resumes: module.resumes,
  });
  if (plan.kind === 'refused') return plan.reason;
  const parts = plan.parts.flatMap((each) => smaller(description, each, module.mostInvocations));
  const excess = yield* excessOf(description, launch, module, parts, limits.tablesOf?.(paged));
  if (excess !== null) return { kind: 'refused', reason: excess, lacksPages: true };
  const isKnown = module.once === null || (yield* isPlanned(description, launch, paged, parts));
  return isKnown ? { kind: 'paged', module, parts } : (module.once as string);
}

/**
 * Why a workgroup, or an invocation, cannot have all the pages that it touches. The first ones of
 * parts stand for all: others may be found out only as they run.
 */
function* excessOf(
  description: Description,
  launch: LaunchFacts,
  { paged, unit, resumes }: PagedModule,
  parts: readonly LaunchPart[],
  tables: readonly PageTable[] | null = null,
): Slices<string | null> {
  // Where an invocation goes on, it need not have at once what it has touched before.
  if (tables === null || resumes) return null;
  const planner = new PagePlanner(description, launch, paged);
  for (const each of parts.slice(0, MOST_LOOKS)) {
    yield;
    const table = planner.excess(each, tables, unit === 'invocation');
    if (table !== null) return tooManyPages(table, unit);
  }
  return null;
}

/** Whether it is known of all parts, before they run, which pages they touch. */
function* isPlanned(
  description: Description,
  launch: LaunchFacts,
  paged: readonly Resource[],
  parts: readonly LaunchPart[],
): Slices<boolean> {
  const planner = new PagePlanner(description, launch, paged);
  if (paged.some(({ isStored }) => isStored)) return false;
  for (const each of parts) {
    yield;
    if (!planner.tells(each)) return false;
  }
  return true;
}

/** Arrays that may be paged, those first of which a workgroup needs most; why others not. */
function candidates(description: Description, launch: LaunchFacts, limits: PagedLimits) {
  const written = writtenBy(accessesOf(description, null));
  const one: WorkgroupBox = { first: [0, 0, 0], count: [1, 1, 1] };
  const obstacles: string[] = [];
  const able = windowsOfBox(description, launch, limits, one)
    .filter(({ resource }) => {
      const isWritten = written.has(resource);
      const obstacle =
        shapeObstacle(resource, isWritten) ?? limits.obstacleOf?.(resource, isWritten) ?? null;
      if (obstacle !== null) obstacles.push(obstacle);
      return obstacle === null;
    })
    .sort((a, b) => b.bytes - a.bytes)
    .map(({ resource }) => resource);
  return { able, written, obstacles };
}

/** Why pages of a variable cannot come and go, for what it is; null: they can. */
function shapeObstacle(
  { name, runtimeArray, isDivisible, arrayOffset }: Resource,
  isWritten: boolean,
): string | null {
  if (runtimeArray === null) return `'${name}' is of a size that the module says`;
  if (!isDivisible)
    return `'${name}' is a structure that an array ends, and is handed on as a whole`;
  // What stands before its array lies in a page that would have to go home.
  if (isWritten && arrayOffset > 0) return `'${name}' is written, and has members before its array`;
  return null;
}

/**
 * Arrays that may be paged together, what is to be tried first before the others: those first that
 * come first in `able`, and what is written only where it does not do to page the rest, since its
 * pages must go home, too.
 */
function choices(
  able: readonly Resource[],
  written: ReadonlySet<Resource>,
  all: boolean,
): (readonly Resource[])[] {
  const read = able.filter((each) => !written.has(each));
  const beginnings = (list: readonly Resource[]) => list.map((_, at) => list.slice(0, at + 1));
  const lists = all ? [able, read] : [...beginnings(read), ...beginnings(able)];
  return lists.filter(({ length }) => length > 0);
}

function smaller(description: Description, part: LaunchPart, most: number): LaunchPart[] {
  const [x, y, z] = description.entryPoint.workgroupSize;
  const { count } = part;
  if (count[0] * count[1] * count[2] * x * y * z <= most) return [part];
  return halvesAlong(part, count.indexOf(Math.max(...count))).flatMap((each) =>
    smaller(description, { ...part, ...each }, most),
  );
}
