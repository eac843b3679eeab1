/** Arrays that several machines share. */
import type { NumericArray } from '../core/elements.js';
import type { OptionNames } from '../core/option-names.js';
import type { SharingCall } from '../pager/protocol/sharing.js';
import { checkOptions, isWhole, show } from './arguments.js';
import { argumentError } from './errors.js';
import { ManagedArray } from './managed-array.js';
import { checkMs, checkName } from './sharing.js';

export interface BarrierOptions {
  /** How many milliseconds to wait for the others; as long as it takes unless said otherwise. */
  readonly timeoutMs?: number;
}

const BARRIER_OPTIONS: OptionNames<BarrierOptions> = { timeoutMs: true };

/** An array that programs on any number of machines have, whose elements are read and written as those of any other. */
export class SharedArray<T extends NumericArray = NumericArray> extends ManagedArray<T> {
  /**
   * Has the server have everything that was written here until now: from then on it is safe from the end of this program. Others need no
   * fence to see what was written. Rejects with DATA_LOST where this machine's lease had ended and others have had what it wrote, and with
   * NODE_LOST when the server does not answer: then what was written stays here, and goes there when it is back.
   */
  async fence(): Promise<void> {
    await ask(this, { kind: 'fence' });
  }

  /**
   * A fence, then waits until `count` programs, this one among them, are at the barrier of this name: each by a call of its own. It can be
   * used again when it has opened. Rejects as `fence` does, with BARRIER where others wait for another number of programs, and with
   * BARRIER_TIMEOUT.
   */
  async barrier(name: string, count: number, options: BarrierOptions = {}): Promise<void> {
    checkName('a barrier', name);
    if (!isWhole(count, 1) || count > 4096)
      throw argumentError('BARRIER', `barrier ${name} is for ${show(count)} programs; it must be 1 to 4096`);
    checkOptions('barrier()', options, BARRIER_OPTIONS);
    const { timeoutMs } = options;
    if (timeoutMs !== undefined) checkMs(`timeoutMs of barrier ${name}`, timeoutMs, 1);
    await ask(this, { kind: 'barrier', name, count, timeoutMs: timeoutMs ?? null });
  }
}

async function ask(array: ManagedArray, call: SharingCall): Promise<void> {
  array.assertUsable('share');
  await array.space.client.request('sharing', { range: array.rangeId, name: array.name, call });
}
