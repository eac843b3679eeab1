/** Arrays that several machines share. */
import type { NumericArray } from '../../core/basics/elements.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { SharingCall } from '../../pager/protocol/sharing.js';
import { checkName } from '../options/sharing.js';
import type * as api from '../public.js';
import type { BarrierOptions } from '../public.js';
import { checkMs, checkOptions, isWhole, show } from '../values/arguments.js';
import { argumentError } from '../values/errors.js';
import { ManagedArray } from './managed-array.js';

const BARRIER_OPTIONS: OptionNames<BarrierOptions> = { timeoutMs: true };

/** An array of programs on any number of machines, read and written as any other. */
export class SharedArray<T extends NumericArray = NumericArray>
  extends ManagedArray<T>
  implements api.SharedArray<T>
{
  async fence(): Promise<void> {
    await ask(this, 'fence', { kind: 'fence' });
  }

  async barrier(name: string, count: number, options: BarrierOptions = {}): Promise<void> {
    checkName('a barrier', name);
    if (!isWhole(count, 1) || count > 4096)
      throw argumentError(
        'BARRIER',
        `barrier ${name} is for ${show(count)} programs; it must be 1 to 4096`,
      );
    checkOptions('barrier()', options, BARRIER_OPTIONS);
    const { timeoutMs } = options;
    if (timeoutMs !== undefined) checkMs(`timeoutMs of barrier ${name}`, timeoutMs, 1);
    await ask(this, 'wait at a barrier of', {
      kind: 'barrier',
      name,
      count,
      timeoutMs: timeoutMs ?? null,
    });
  }
}

async function ask(array: ManagedArray, verb: string, call: SharingCall): Promise<void> {
  array.assertUsable(verb);
  await array.space.client.request('sharing', { range: array.rangeId, name: array.name, call });
}
