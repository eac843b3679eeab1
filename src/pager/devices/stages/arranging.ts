/**
 * Before anything of a launch runs, while its device stands still, memory is placed as it was
 * advised, and the edges of `out` arguments are set to zero.
 */
import { bytesOf } from '../../../core/basics/elements.js';
import { Access, type DenyReason, PAGE_BYTES } from '../../../core/basics/types.js';
import { fillMemory } from '../../../linux/memory/memory.js';
import type { ArrayTable } from '../../arrays/table/array-table.js';
import type { SpaceContext } from '../../arrays/table/context.js';
import { withHostBytes } from '../../arrays/table/host-bytes.js';
import type { Launch } from '../launch.js';
import { type ArrayParameter, pagesAround, pagesWithin } from '../launch-arguments.js';
import type { LaunchChecks } from '../launch-checks.js';
import type { Stage } from './stage.js';

export class Arranging implements Stage {
  constructor(private readonly context: SpaceContext) {}

  run(launch: Launch, done: () => void): void {
    const { requests, manager } = this.context;
    requests.start((request) => manager.arrange(request, launch.device.info.id, launch.used), done);
  }
}

/** Some bytes of one page, by their place in the space. */
interface Edge {
  readonly at: number;
  readonly bytes: number;
}

/** Sets the elements of `out` arguments to zero that lie in pages with elements of others. */
export class Edges implements Stage {
  constructor(
    private readonly context: SpaceContext,
    private readonly checks: LaunchChecks,
  ) {}

  run(launch: Launch, done: () => void): void {
    const { device, work, args, operation } = launch;
    // A part that is refused is not to leave behind what others have done.
    const denied = work.kind === 'whole' ? null : this.checks.denialOf(device, args);
    if (denied !== null) {
      launch.fail(this.checks.denialError(launch, denied, args));
      done();
      return;
    }
    const joined = work.kind === 'whole' ? work.joined : null;
    const outs = (joined?.parameters ?? operation.parameters).flatMap((each) =>
      each.kind === 'array' && each.use === 'out' ? [each] : [],
    );
    const edges = outs.flatMap((each) => edgesOf(each, this.context.table));
    // Nothing is emptied for a launch that could not write it then.
    if (edges.length > 0) for (const each of outs) this.checkWritable(launch, each);
    this.next(launch, edges, 0, done);
  }

  private checkWritable(launch: Launch, parameter: ArrayParameter): void {
    const { manager, places } = this.context;
    const { first, end } = pagesAround(parameter);
    const count = end - first;
    const failure = manager.pages.denial(first, count, Access.Write, launch.device.info.id);
    if (failure !== null) this.fail(launch, failure, places.pageWith(failure, first, count));
  }

  private next(launch: Launch, edges: readonly Edge[], index: number, done: () => void): void {
    if (index === edges.length || launch.failure !== null) {
      done();
      return;
    }
    const { at, bytes } = edges[index];
    withHostBytes(
      this.context,
      edges[index],
      Access.Write,
      () => fillMemory(this.context.memory + at, 0, bytes),
      (failure, page) => {
        if (failure !== null) this.fail(launch, failure, page);
        this.next(launch, edges, index + 1, done);
      },
    );
  }

  private fail(launch: Launch, failure: DenyReason, page: number): void {
    launch.fail(this.context.places.denialError(failure, page, launch.kernel));
  }
}

function edgesOf(parameter: ArrayParameter, table: ArrayTable): Edge[] {
  const { offset, length, type } = parameter;
  const end = offset + length * bytesOf(type);
  const own = pagesWithin(parameter, table);
  const before = Math.min(own.first * PAGE_BYTES, end);
  const after = Math.max(own.end * PAGE_BYTES, before);
  const edges = [
    { at: offset, bytes: before - offset },
    { at: after, bytes: end - after },
  ];
  return edges.filter(({ bytes }) => bytes > 0);
}
