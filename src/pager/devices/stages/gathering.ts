/**
 * Says what the driver gets next: all of the launch, or the part whose pages are told by indices
 * that arrays hold, when these have come. Where its process has mapped files, arrays over them are
 * where it has them.
 */
import type { ManagerContext } from '../../core/context.js';
import { type WireError, wireError } from '../../protocol/wire.js';
import type { GatherPlans, LaunchPart } from '../gather-plans.js';
import type { Launch } from '../launch.js';
import type { MappedFiles } from '../mapped-files.js';
import type { Stage } from './stage.js';

export class Planning implements Stage {
  constructor(
    private readonly gathers: GatherPlans,
    private readonly mapped: MappedFiles,
  ) {}

  run({ work, device, operation }: Launch, done: () => void): void {
    const { faults, budgetPages } = device.driver.description;
    // A device without page faults has all pages of the launch by now.
    if (faults && work.kind === 'whole')
      work.plan = this.gathers.open(device.info.id, budgetPages, operation, (page) =>
        this.mapped.reach(device, page),
      );
    done();
  }
}

export class Gathering implements Stage {
  run(launch: Launch, done: () => void): void {
    const { work, operation } = launch;
    const { parameters } = operation;
    const found = ({ begin, end }: LaunchPart): void => {
      launch.handed = { begin, end, parameters };
      done();
    };
    if (work.kind === 'parts' || work.plan === null) found(operation);
    else work.plan.next(found);
  }
}

export class Mapping implements Stage {
  constructor(
    private readonly context: ManagerContext,
    private readonly mapped: MappedFiles,
  ) {}

  run(launch: Launch, done: () => void): void {
    const { device, handed, operation } = launch;
    const again = (): void =>
      this.context.later(() => {
        if (launch.isFirst) this.run(launch, done);
      });
    const parameters = this.mapped.parametersOf(device, operation.parameters, again);
    if (parameters === null || handed === null) return;
    const unreachable = this.mapped.unreachable(device, operation.parameters);
    if (unreachable === null) launch.handed = { ...handed, parameters };
    else launch.fail(unreachableError(launch, unreachable));
    done();
  }
}

function unreachableError({ device, kernel }: Launch, parameter: string): WireError {
  const message = `${kernel}: the process of device ${device.info.name} cannot map the registered memory of parameter ${parameter}; unregister() it, and it is copied`;
  return wireError('FILE_NOT_MAPPED', message, { parameter });
}
