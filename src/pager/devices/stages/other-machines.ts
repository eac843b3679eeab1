/** Waits until other machines have nothing of what the launch uses. */

import { type SharedUses, usedBytes } from '../../arrays/shared/shared-uses.js';
import type { SpaceContext } from '../../arrays/table/context.js';
import type { Launch } from '../launch.js';
import { argumentsOf } from '../launch-arguments.js';
import { SIZE_BYTES } from '../launch-sizes.js';
import type { Stage } from './stage.js';

export class OtherMachines implements Stage {
  constructor(
    private readonly context: SpaceContext,
    private readonly sharedUses: SharedUses,
  ) {}

  run(launch: Launch, done: () => void): void {
    const { parameters, indirect } = launch.operation;
    launch.args = argumentsOf(parameters, this.context.table);
    const used = launch.args.map(({ first, count, use }) => ({
      first,
      count,
      write: use !== 'in',
    }));
    if (indirect !== undefined)
      used.push(usedBytes(indirect.offset, indirect.numbers * SIZE_BYTES, false));
    launch.sharedUse = this.sharedUses.begin(launch.kernel, used, (failure) => {
      launch.fail(failure);
      done();
    });
    if (launch.sharedUse === null) done();
  }
}
