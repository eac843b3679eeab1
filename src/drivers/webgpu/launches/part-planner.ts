/** How parts of a paged launch run by plans: where the naming numbers lie, and each part. */
import type { LaunchFacts } from '../../../wgsl/analysis/access.js';
import { accessesOf } from '../../../wgsl/analysis/accesses.js';
import type { Slices } from '../../../wgsl/analysis/slices.js';
import { writtenBy } from '../../../wgsl/analysis/writing.js';
import { type NamingElements, PagePlanner } from '../../../wgsl/dividing/page-plan.js';
import type { PageTable } from '../../../wgsl/dividing/page-tables.js';
import type { LaunchPart } from '../../../wgsl/dividing/windows.js';
import type { Description, Resource } from '../../../wgsl/reading/describe.js';
import { isWholeLaunch, type WindowedModule, windowed } from '../../../wgsl/rewriting/windowed.js';
import type { PagePlan, PlannedDispatch, WgslLaunch } from '../../wgsl-launch.js';
import { arrayOf, sharerOf } from './launch-plan.js';

/** What names elements are numbers of four bytes. */
const NUMBER_BYTES = 4;

export class PartPlanner {
  private constructor(
    private readonly facts: LaunchFacts,
    private readonly tables: readonly PageTable[],
    private readonly planner: PagePlanner,
    private readonly paged: readonly Resource[],
    private readonly module: WindowedModule,
    /** For a part that is the whole launch. */
    private readonly whole: WindowedModule,
  ) {}

  /** Null where what is paged is written, too. */
  static open(
    description: Description,
    paged: readonly Resource[],
    facts: LaunchFacts,
    tables: readonly PageTable[],
  ): PartPlanner | null {
    const written = writtenBy(accessesOf(description, null));
    if (paged.some((each) => written.has(each))) return null;
    const [module, whole] = [windowed(description, paged), windowed(description, paged, true)];
    return new PartPlanner(
      facts,
      tables,
      new PagePlanner(description, facts, paged),
      paged,
      module,
      whole,
    );
  }

  /** False: there is no room for what its first workgroup touches, whatever arrays hold. */
  hasRoom(part: LaunchPart): boolean {
    return this.planner.hasRoom(part, this.tables) !== false;
  }

  /** Whether numbers tell what the part touches, and not any of an array may be. */
  tells(part: LaunchPart): boolean {
    return this.planner.tells(part);
  }

  /** Null where it cannot be told before what the part touches. */
  planOf(launch: Omit<WgslLaunch, 'id'>, part: LaunchPart): PagePlan | null {
    const { planner } = this;
    const naming = planner.naming(part);
    // What the launch writes it has for itself, so that no other one may look at what lies in such
    // a page.
    if (
      naming === null ||
      !naming.every(({ resource: { name } }) => sharerOf(launch, name, false) === null)
    )
      return null;
    return {
      numbers: naming.map(({ resource: { name, arrayOffset }, begin, end }) => ({
        at: arrayOf(launch, name).offset + arrayOffset + begin * NUMBER_BYTES,
        bytes: (end - begin) * NUMBER_BYTES,
      })),
      dispatches: (contents) => this.dispatchesOf(launch, part, naming, contents),
    };
  }

  private *dispatchesOf(
    launch: Omit<WgslLaunch, 'id'>,
    part: LaunchPart,
    naming: readonly NamingElements[],
    contents: readonly Uint32Array[],
  ): Slices<readonly PlannedDispatch[] | null> {
    const { facts, tables, paged } = this;
    const boxes = yield* this.planner.boxes(part, tables, ({ resource, begin, end }) => {
      const at = naming.findIndex((each) => each.resource === resource);
      return contents[at].subarray(begin - naming[at].begin, end - naming[at].begin);
    });
    if (boxes === null) return null;
    return boxes.map(({ first, count, pages: wanted }) => {
      const box = { ...part, first, count };
      const module = isWholeLaunch(box, facts, paged) ? this.whole : this.module;
      const { source, group, binding, pages } = module;
      const content = Buffer.from(module.uniformOf(box, facts, tables)).toString('base64');
      const code = { ...launch.code, source };
      return { code, group, binding, pages, workgroups: count, content, wanted };
    });
  }
}
