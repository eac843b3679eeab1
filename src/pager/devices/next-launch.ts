/**
 * What the next launch of a device without page faults uses comes while one runs, where the device
 * has room for what both use: copies and kernels go side by side. Nothing of it is held; the launch
 * asks for all that it uses when its turn has come, and finds most of it there.
 */

import { Access } from '../../core/basics/types.js';
import type { SharedUses } from '../arrays/shared/shared-uses.js';
import type { SpaceContext } from '../arrays/table/context.js';
import type { Device } from './device.js';
import type { Launch } from './launch.js';
import { argumentsOf, arrayPages } from './launch-arguments.js';
import type { LaunchChecks } from './launch-checks.js';

export class NextLaunch {
  constructor(
    private readonly context: SpaceContext,
    private readonly checks: LaunchChecks,
    private readonly sharedUses: SharedUses,
  ) {}

  /** @param running as the driver has it, with those that go with it */
  bring(device: Device, running: Launch, next: Launch): void {
    const { description } = device.driver;
    // A part that runs has the device's memory to itself.
    if (description.faults || !device.alive || running.work.kind === 'parts' || next.askedAhead)
      return;
    next.askedAhead = true;
    const { operation, ending } = next;
    const args = argumentsOf(operation.parameters, this.context.table);
    const used =
      running.work.joined?.args ?? argumentsOf(running.operation.parameters, this.context.table);
    if (
      ending !== null ||
      this.context.manager.launchPages([...used, ...args], device.info.id) > description.budgetPages
    )
      return;
    // What fails is for its own turn to tell; what is cut into parts, needs other machines' leave,
    // or has a size that is not known yet comes then.
    if (
      operation.indirect !== undefined ||
      this.checks.denialOf(device, args) !== null ||
      this.sharedUses.isNeeded(args)
    )
      return;
    if (
      this.checks.problemOf(device, operation, args) !== null ||
      !this.checks.isWhole(device, operation)
    )
      return;
    device.process?.engine?.expect(arrayPages(operation.parameters));
    for (const { first, count, use } of args) {
      // What is emptied before the launch runs need not come.
      if (use === 'out') continue;
      const access = use === 'in' ? Access.Read : Access.Write;
      this.context.requests.start(
        (request) =>
          this.context.manager.acquire(request, device.info.id, first, count, access, {
            early: true,
          }),
        () => undefined,
      );
    }
  }
}
