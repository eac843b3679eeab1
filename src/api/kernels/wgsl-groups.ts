/** Parameters that stand for variables by place, since the variables' names are generated. */
import { type BoundPlace, type Description, placesOf } from '../../wgsl/reading/describe.js';
import { isObject, show } from '../values/arguments.js';
import { typeError } from '../values/errors.js';
import type { Parameters } from './wgsl-parameters.js';

export interface NamedByPlace {
  /** What the entry point uses, by the names of parameters. */
  readonly described: Description;
  /** Parameters whose variables the entry point does not use. */
  readonly elsewhere: ReadonlySet<string>;
}

/** @param kernel its name, for messages */
export function namedByPlace(
  kernel: string,
  parameters: Parameters,
  described: Description,
  groups: unknown,
): NamedByPlace {
  if (groups === undefined) return { described, elsewhere: new Set() };
  const places = placesOf(described.module);
  const given = new Map<string, { readonly key: string; readonly at: readonly BoundPlace[] }>();
  const refuse = (problem: string) => typeError('WGSL_BINDING', `kernel ${kernel}: ${problem}`);
  for (const { group, binding, name } of entriesOf(kernel, groups)) {
    const key = `groups[${group}][${binding}]`;
    if (!Object.hasOwn(parameters, name))
      throw refuse(
        `${key} is ${show(name)}, which is no parameter of the kernel; it has ${Object.keys(parameters).join(', ')}`,
      );
    const other = given.get(name);
    if (other !== undefined)
      throw refuse(`parameter ${name} stands at ${other.key} and at ${key}; leave out one`);
    const at = places.filter((each) => each.group === group && each.binding === binding);
    if (at.length === 0)
      throw refuse(
        `${key} is ${name}, and the module has nothing at @group(${group}) @binding(${binding}); ` +
          `it has ${places.map((each) => `${each.name} at @group(${each.group}) @binding(${each.binding})`).join(', ')}`,
      );
    given.set(name, { key, at });
  }
  const names = new Map<string, string>();
  const elsewhere = new Set<string>();
  for (const [name, { at }] of given) {
    const used = described.resources.find((each) => at.some((other) => other.name === each.name));
    if (used === undefined) elsewhere.add(name);
    else names.set(used.name, name);
  }
  const resources = described.resources.map((each) => {
    const name = names.get(each.name);
    if (name !== undefined) return { ...each, name };
    const taken = given.get(each.name);
    if (taken === undefined) return each;
    const { line, column } = each.position;
    throw refuse(
      `WGSL ${line}:${column}: parameter ${each.name} stands at ${taken.key}, and the module has a variable ${each.name} at ` +
        `@group(${each.group}) @binding(${each.binding}); give that one a name in groups, too`,
    );
  });
  return { described: { ...described, resources }, elsewhere };
}

function* entriesOf(kernel: string, groups: unknown) {
  const wrong = (what: string, given: unknown) =>
    typeError(
      'WGSL_BINDING',
      `${what} of kernel ${kernel} names parameters by binding, such as ['x', 'y'] or { 3: 'x' }, not ${show(given)}`,
    );
  if (!Array.isArray(groups))
    throw typeError(
      'WGSL_BINDING',
      `groups of kernel ${kernel} is a list with the names of each group, such as [['x', 'y'], { 3: 'sizes' }], not ${show(groups)}`,
    );
  for (const [group, names] of groups.entries()) {
    if (names === undefined || names === null) continue;
    if (!isObject(names) && !Array.isArray(names)) throw wrong(`groups[${group}]`, names);
    for (const [key, name] of Object.entries(names)) {
      if (name === undefined || name === null) continue;
      if (typeof name !== 'string' || !/^\d+$/.test(key)) throw wrong(`groups[${group}]`, names);
      yield { group, binding: Number(key), name };
    }
  }
}
