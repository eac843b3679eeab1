/** Finds the parts in which a launch runs that its device has no room for. */
import type { LaunchDivision } from '../../../drivers/wgsl-launch.js';
import type { Arrays } from '../../arrays/arrays.js';
import type { ManagerContext } from '../../core/context.js';
import { toWire } from '../../protocol/wire.js';
import type { Launch } from '../launch.js';
import type { LaunchChecks } from '../launch-checks.js';
import type { LaunchPlans } from '../launch-plans.js';
import { PageSupply } from '../page-supply.js';
import type { Stage } from './stage.js';

export class Division implements Stage {
  constructor(
    private readonly context: ManagerContext,
    private readonly checks: LaunchChecks,
    private readonly plans: LaunchPlans,
    private readonly arrays: Arrays,
  ) {}

  run(launch: Launch, done: () => void): void {
    const slices = this.checks.divide(launch.device, launch.operation);
    if (slices === null) {
      done();
      return;
    }
    const isOver = (): boolean => !launch.isFirst || launch.ending !== null || !launch.device.alive;
    this.plans.start(slices, isOver, (divided) => {
      // Meanwhile an array may have gone.
      if (!isOver())
        launch.fail(this.checks.problemOf(launch.device, launch.operation, launch.args));
      if (divided !== null && 'failure' in divided) launch.fail(divided.failure);
      else if (divided !== null && launch.failure === null) this.divide(launch, divided.division);
      done();
    });
  }

  /** Its parts, with memory for those that are paged. */
  private divide(launch: Launch, division: LaunchDivision): void {
    const { poolBytes } = division;
    let supply: PageSupply | null = null;
    try {
      if (poolBytes > 0)
        supply = new PageSupply(this.context, this.arrays, poolBytes, launch.operation.kernelName);
    } catch (error) {
      launch.fail(toWire(error));
    }
    division.begin();
    launch.work = { kind: 'parts', division, supply, part: 0 };
  }
}
