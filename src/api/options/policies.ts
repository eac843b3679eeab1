/** Policies as a program chooses them. */
import { checkChoices, choicesOf, isModule, type PolicyChoices } from '../../policy/choices.js';
import { exportOf, moduleUrl } from '../kernels/kernel.js';
import { isObject, show } from '../values/arguments.js';
import { typeError } from '../values/errors.js';

/** The choices, with modules by their addresses, for the manager and recordings. */
export function checkPolicies(given: unknown): PolicyChoices {
  const policies = typeof given === 'string' ? choicesOf(given) : given;
  if (!isObject(policies))
    throw typeError(
      'OPTIONS',
      `policies is an object such as { eviction: 'fifo' }, or 'uvm', not ${show(given)}`,
    );
  checkChoices(policies);
  const result: Record<string, unknown> = {};
  for (const [kind, choice] of Object.entries(policies)) {
    if (!isModule(choice)) result[kind] = choice;
    else {
      const { module, export: name, options } = choice;
      result[kind] = {
        module: moduleUrl('POLICY', module),
        export: exportOf('POLICY', name),
        options,
      };
    }
  }
  return result;
}
