/** Has the core bring what a launch uses, or the part of it that is next. */
import type { SpaceContext } from '../../arrays/table/context.js';
import { isWhole, type Launch } from '../launch.js';
import { argumentsOf, arrayPages } from '../launch-arguments.js';
import type { LaunchChecks } from '../launch-checks.js';
import type { Stage } from './stage.js';

export class Bringing implements Stage {
  constructor(
    private readonly context: SpaceContext,
    private readonly checks: LaunchChecks,
  ) {}

  run(launch: Launch, done: () => void): void {
    const { requests, manager, restore, table } = this.context;
    const { id, device, work, parameters } = launch;
    const args = work.kind === 'whole' ? launch.used : argumentsOf(parameters, table);
    requests.expect(id, (_pages, failure) => {
      if (failure !== null && work.kind === 'whole' && work.joined !== null) {
        // What some of them lack is no reason for the others: each has it by itself, and those that
        // were to go with this one come after it.
        work.joined = null;
        manager.launchEnd(id);
        this.run(launch, done);
        return;
      }
      if (failure !== null) launch.fail(this.checks.denialError(launch, failure, args));
      else for (const { first, count, use } of args) if (use === 'out') restore(first, count);
      done();
    });
    device.process?.engine?.expect(arrayPages(parameters));
    const { kernelName } = launch.operation;
    manager.launchBegin(id, device.info.id, args, kernelName, isWhole(launch.operation));
  }
}
