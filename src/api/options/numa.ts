/** The node of memory on which an array is to lie. */
import { type NumaPlace, numaNodes } from '../../linux/memory/numa.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { NumaOption } from '../public.js';
import { checkFlag, checkOptions, show } from '../values/arguments.js';
import { argumentError } from '../values/errors.js';

const OPTIONS: OptionNames<NumaOption> = { node: true, only: true };

/** @param what the array, for the error */
export function numaPlace(what: string, numa: NumaOption): NumaPlace {
  checkOptions('numa', numa, OPTIONS);
  const { node, only = false } = numa;
  checkFlag('only', only);
  const nodes = numaNodes().map((each) => each.node);
  if (!nodes.includes(node)) {
    const list = `${nodes.length === 1 ? 'node' : 'nodes'} ${nodes.join(', ')}`;
    const message = `cannot place ${what} on node ${show(node)}: this machine has ${list}`;
    throw argumentError('NUMA_NODE', message);
  }
  return { node, only };
}
