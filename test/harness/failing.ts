/** Spaces whose manager meets system calls that fail, as src/linux/base/failing-calls.ts says. */
import { type AddressSpace, openSpace, type SpaceOptions } from '../../src/index.js';
import { FAILING_CALLS } from '../../src/linux/base/failing-calls.js';
import { Control } from '../../src/pager/protocol/control.js';

export interface FailingSpace {
  readonly space: AddressSpace;
  /** From now on uses of the calls count. */
  arm(): void;
  /** From now on none fails. */
  disarm(): void;
  /** How many have failed. */
  fired(): number;
}

/**
 * @param calls such as `sendmsg:ENOBUFS:1-3,fdatasync:EIO`: the call, the error, and which of its
 * uses fail
 */
export async function openFailing(calls: string, options: SpaceOptions): Promise<FailingSpace> {
  process.env[FAILING_CALLS] = `later,${calls}`;
  try {
    const space = await openSpace(options);
    const control = new Int32Array(space.handle.control);
    return {
      space,
      arm: () => Atomics.or(control, Control.FailingCalls, 1),
      disarm: () => Atomics.and(control, Control.FailingCalls, ~1),
      fired: () => Atomics.load(control, Control.FailingCalls) >> 1,
    };
  } finally {
    delete process.env[FAILING_CALLS];
  }
}
