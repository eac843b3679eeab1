/** How parameters reach a module's variables: arrays by name, numbers by uniform variables. */
import type { WgslCode, WgslConstant } from '../../drivers/wgsl-launch.js';
import { type Dimensions, dimensionsOf } from '../../wgsl/analysis/dimensions.js';
import type { Overrides } from '../../wgsl/reading/constants.js';
import {
  type Description,
  describe,
  missingOverrides,
  type Resource,
  uniformMembers,
} from '../../wgsl/reading/describe.js';
import { type Override, overridesIn } from '../../wgsl/reading/overrides.js';
import { isError, isObject, show } from '../values/arguments.js';
import { typeError } from '../values/errors.js';
import { isPadding } from './uniform-values.js';
import { Binder } from './wgsl-binder.js';
import { constantsOf } from './wgsl-constants.js';
import { namedByPlace } from './wgsl-groups.js';
import type { Parameter, Parameters } from './wgsl-parameters.js';
import { parser } from './wgsl-parser.js';
import { ELEMENTS, elementsOf } from './wgsl-text.js';
import { isLaunchMember, membersByName, type UniformLayout } from './wgsl-uniforms.js';

/** What a launch must know of a module to hand its arguments over. */
export interface ModuleArguments {
  /** Of parameters that are values of several numbers. */
  readonly layouts: ReadonlyMap<string, UniformLayout>;
  /** Parameters that the entry point does not use. */
  readonly unused: ReadonlySet<string>;
  /** Arrays that are not written, whatever the parameters say. */
  readonly readOnly: ReadonlySet<string>;
}

const ARGUMENTS = new WeakMap<WgslCode, ModuleArguments>();

export function moduleArguments(code: WgslCode): ModuleArguments {
  const found = ARGUMENTS.get(code);
  if (found === undefined)
    throw typeError(
      'KERNEL',
      'a launch takes a kernel as kernel() has made it, and no copy of its code',
    );
  return found;
}

/** The module of a kernel, bound to its parameters. TypeErrors name the place of a misfit. */
export function wgslCode(
  name: string,
  parameters: Parameters,
  source: unknown,
  entryPoint: string | undefined,
  given: unknown,
  groups: unknown = undefined,
): WgslCode {
  if (typeof source !== 'string')
    throw typeError('WGSL', `wgsl of kernel ${name} is the text of a module, not ${show(source)}`);
  if (entryPoint !== undefined && typeof entryPoint !== 'string')
    throw typeError('WGSL', `entryPoint of kernel ${name} is a name, not ${show(entryPoint)}`);
  const constants = constantsIn(name, source, given);
  const original = read(name, source, entryPoint, constants);
  const { described, elsewhere } = namedByPlace(name, parameters, original, groups);
  const binder = new Binder(name, parameters, described, elsewhere);
  const bindings = described.resources.map((each, at) => {
    const bound = binder.bind(each);
    const variable = original.resources[at].name;
    return bound.kind === 'array' && variable !== bound.parameter ? { ...bound, variable } : bound;
  });
  const unused = binder.leftOver();
  const { name: found, workgroupSize } = described.entryPoint;
  const code: WgslCode = {
    kind: 'wgsl',
    source,
    entryPoint: found,
    workgroupSize,
    bindings,
    constants,
  };
  const readOnly = described.resources.filter((each) => each.space === 'storage' && !each.isStored);
  ARGUMENTS.set(code, {
    layouts: binder.layouts,
    unused,
    readOnly: new Set(readOnly.map((each) => each.name)),
  });
  return code;
}

/** What a command line says of a module's parameters, which the module does not say itself. */
export interface ParameterChoices {
  /** Arrays that are written from zeros, and those that are always read and written. */
  readonly out: ReadonlySet<string>;
  readonly inout: ReadonlySet<string>;
  /** Names of uniform variables, or of members of them, that have values. */
  readonly values: ReadonlySet<string>;
}

/**
 * The parameters that a module's entry point asks for: arrays by their variables, values by uniform
 * variables and their members.
 * @param given values of overrides, as in `wgslCode`
 */
export function wgslParameters(
  name: string,
  source: string,
  entryPoint: string | undefined,
  choices: ParameterChoices,
  given: unknown = undefined,
): Parameters {
  const { resources } = read(name, source, entryPoint, constantsIn(name, source, given));
  const parameters: Record<string, Parameter> = {};
  const byName = membersByName(resources);
  for (const resource of resources) {
    if (resource.space === 'uniform') valueParameters(resource, byName, choices.values, parameters);
    else parameters[resource.name] = arrayParameter(resource, choices);
  }
  return parameters;
}

function arrayParameter(
  { name, type, isStored }: Resource,
  { out, inout }: ParameterChoices,
): Parameter {
  const use = out.has(name) ? 'out' : isStored || inout.has(name) ? 'inout' : 'in';
  return { kind: 'array', type: elementsOf(type) ?? 'bytes', use };
}

/** By members, unless the variable as a whole has a value. */
function valueParameters(
  resource: Resource,
  byName: ReadonlyMap<string, readonly string[]>,
  values: ReadonlySet<string>,
  parameters: Record<string, Parameter>,
): void {
  const add = (name: string, type: Resource['type']): void => {
    const number = type.kind === 'scalar' && type.name !== 'f16' ? ELEMENTS[type.name] : null;
    parameters[name] =
      number === null ? { kind: 'uniform', type: 'any' } : { kind: 'scalar', type: number };
  };
  if (values.has(resource.name)) {
    add(resource.name, resource.type);
    return;
  }
  for (const { name: member, type } of uniformMembers(resource)) {
    const path = member === '' ? resource.name : `${resource.name}.${member}`;
    const isAlone = member === '' || byName.get(member)?.length === 1;
    const name = !isAlone || values.has(path) ? path : member || path;
    const isOptional = isPadding(member) || isLaunchMember(member || resource.name, type);
    if (!isOptional || values.has(name)) add(name, type);
  }
}

export function wgslOverrides(name: string, source: string): Override[] {
  return located(name, () => overridesIn(parser(), source));
}

/**
 * Overrides that the entry point cannot do without, and that `given` has no value for.
 * @param given values of overrides, as in `wgslCode`; one that does not fit is refused
 */
export function wgslWithoutValue(
  name: string,
  source: string,
  entryPoint: string | undefined,
  given: unknown,
): Override[] {
  const values = valuesOf(constantsIn(name, source, given));
  return located(name, () => missingOverrides(parser(), source, entryPoint, values));
}

/** In how many dimensions launches of the module are laid out. */
export function wgslDimensions(
  name: string,
  { source, entryPoint, constants }: WgslCode,
): Dimensions {
  return dimensionsOf(read(name, source, entryPoint, constants));
}

/** Whether a launch over a part of the size can be told to the module. */
export function takesParts(code: WgslCode): boolean {
  const members = code.bindings.flatMap((each) => (each.kind === 'uniform' ? each.members : []));
  return ['begin', 'end'].every((name) =>
    members.some((each) => each.from === 'launch' && each.name === name),
  );
}

export function isWgslCode(code: unknown): boolean {
  const { kind, source, bindings } = (isObject(code) ? code : {}) as Partial<WgslCode>;
  return kind === 'wgsl' && typeof source === 'string' && Array.isArray(bindings);
}

function constantsIn(name: string, source: string, given: unknown): readonly WgslConstant[] {
  return given === undefined
    ? []
    : located(name, () => constantsOf(name, overridesIn(parser(), source), given));
}

function read(
  name: string,
  source: string,
  entryPoint: string | undefined,
  constants: readonly WgslConstant[],
): Description {
  return located(name, () =>
    describe(parser(), source, entryPoint, { overrides: valuesOf(constants) }),
  );
}

function valuesOf(constants: readonly WgslConstant[]): Overrides {
  return Object.fromEntries(constants.map((each) => [each.name, each.value]));
}

/** What is wrong in the module is told with the kernel's name before the place. */
function located<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isError(error) && error.name === 'WgslError')
      throw typeError('WGSL', `kernel ${name}, WGSL ${error.message}`);
    throw error;
  }
}
