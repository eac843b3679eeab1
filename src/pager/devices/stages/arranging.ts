/**
 * Before anything of a launch runs, while its device stands still, memory is placed as it was
 * advised, and the edges of `out` arguments are set to zero.
 */
import type { SpaceContext } from '../../arrays/table/context.js';
import type { Launch } from '../launch.js';
import type { EdgeClearing } from '../launch-arguments.js';
import type { LaunchChecks } from '../launch-checks.js';
import type { Stage } from './stage.js';

export class Arranging implements Stage {
  constructor(private readonly context: SpaceContext) {}

  run(launch: Launch, done: () => void): void {
    const { requests, manager } = this.context;
    requests.start((request) => manager.arrange(request, launch.device.info.id, launch.used), done);
  }
}

export class Edges implements Stage {
  constructor(
    private readonly context: SpaceContext,
    private readonly checks: LaunchChecks,
    private readonly edges: EdgeClearing,
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
    this.edges.clear(
      device.info.id,
      joined?.parameters ?? operation.parameters,
      (failure, page) => {
        if (failure !== null)
          launch.fail(this.context.places.denialError(failure, page, launch.kernel));
        done();
      },
    );
  }
}
