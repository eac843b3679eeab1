/** Looks whether a launch may begin, and reads its size from an array. At 0 nothing is to do. */
import type { Arrays } from '../../arrays/arrays.js';
import type { SpaceContext } from '../../arrays/table/context.js';
import { countUse, type Launch } from '../launch.js';
import type { LaunchChecks } from '../launch-checks.js';
import { readSize } from '../launch-sizes.js';
import type { Stage } from './stage.js';

export class Size implements Stage {
  constructor(
    private readonly context: SpaceContext,
    private readonly checks: LaunchChecks,
    private readonly arrays: Arrays,
  ) {}

  run(launch: Launch, done: () => void): void {
    const { operation } = launch;
    launch.fail(this.checks.problemOf(launch.device, launch.operation, launch.args));
    if (launch.failure !== null || operation.indirect === undefined) {
      done();
      return;
    }
    readSize(this.context, operation, (sized, failure) => {
      if (!launch.isFirst) return;
      launch.fail(failure);
      if (sized !== null) {
        countUse(this.arrays, operation, -1);
        launch.operation = sized;
        countUse(this.arrays, sized, 1);
      }
      if (sized?.size === 0 && launch.failure === null) {
        launch.state = 'completed';
        launch.count();
      } else if (launch.device.alive)
        launch.fail(this.checks.problemOf(launch.device, launch.operation, launch.args));
      done();
    });
  }
}
