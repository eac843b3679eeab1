/** All loads, stores and atomics on storage variables for a part of a launch. */

import type { Description } from '../reading/describe.js';
import type { Accesses, LaunchFacts, WorkgroupBox } from './access.js';
import { Arithmetic } from './arithmetic.js';
import { Facts, Symbols } from './facts.js';
import { FIRST_FRESH, type Form } from './forms.js';
import { Interpreter } from './interpreter.js';

const WHOLE = 2 ** 32 - 1;

/**
 * @param box leaves out what the other workgroups of the launch do
 * @param alone looks at the first invocation of the box alone
 * @throws WgslError for what the analysis does not understand
 */
export function accessesOf(
  description: Description,
  launch: LaunchFacts | null,
  box?: WorkgroupBox,
  alone = false,
): Accesses {
  const size = description.entryPoint.workgroupSize;
  const symbols = new Symbols();
  const { first, count } = box ?? {
    first: [0, 0, 0],
    count: launch?.workgroups ?? [WHOLE, WHOLE, WHOLE],
  };
  for (let axis = 0; axis < 3; axis++) {
    const begin = first[axis] as number;
    const end = begin + (count[axis] as number);
    const wide = size[axis] as number;
    const last = alone ? begin * wide : Math.min(end * wide - 1, WHOLE);
    symbols.fresh(begin * wide, last);
  }
  for (let axis = 0; axis < 3; axis++)
    symbols.fresh(first[axis] as number, (first[axis] as number) + (count[axis] as number) - 1);
  for (let axis = 0; axis < 3; axis++) symbols.fresh(0, alone ? 0 : (size[axis] as number) - 1);
  const interpreter = new Interpreter(description, launch, symbols, new Arithmetic(symbols, size));
  interpreter.run(new Facts(symbols));
  return interpreter;
}

/** Whether a form consists of nothing but ids: the same ids make the same element. */
export function isOfIds({ terms }: Form): boolean {
  return terms.every(([symbol]) => symbol < FIRST_FRESH);
}
