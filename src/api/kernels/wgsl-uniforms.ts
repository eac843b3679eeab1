/** How parameters fill uniform variables: whole, by name, or by members of structures. */

import type { UniformMember } from '../../drivers/wgsl-launch.js';
import { nearest } from '../../messages/option-names.js';
import type { Resource } from '../../wgsl/reading/describe.js';
import type { StructType, Type } from '../../wgsl/reading/types.js';
import type { Position } from '../../wgsl/reading/wgsl-error.js';
import { type ValueType, valueTypeOf } from './uniform-parameters.js';
import { isPadding } from './uniform-values.js';
import { declared, type Parameter, type ParameterTable } from './wgsl-parameters.js';
import { declarationOf, typeText } from './wgsl-text.js';

/** What a module may ask of the launch, as u32; a parameter by the same name comes first. */
const LAUNCH_MEMBERS: readonly string[] = ['begin', 'end', 'size'];

/** Where the bytes of a parameter go that is a value of several numbers. */
export interface UniformLayout {
  readonly type: Type;
  /** Members that are not its own: the launch's. */
  readonly left: ReadonlySet<string>;
  readonly isBytes: boolean;
}

/** Whether a member is the launch's where nothing is said of it. */
export function isLaunchMember(name: string, type: Type): boolean {
  return LAUNCH_MEMBERS.includes(name) && type.kind === 'scalar' && type.name === 'u32';
}

/** Members of uniform structures by their names alone, each with the variables that have one. */
export function membersByName(
  resources: readonly Resource[],
): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, string[]>();
  for (const { name: variable, space, type } of resources) {
    if (space !== 'uniform' || type.kind !== 'struct') continue;
    for (const { name } of type.members) found.set(name, [...(found.get(name) ?? []), variable]);
  }
  return found;
}

export class UniformBinder {
  readonly layouts = new Map<string, UniformLayout>();
  private readonly byName: ReadonlyMap<string, readonly string[]>;

  /**
   * @param resources that the entry point uses
   * @param refusal the error for what is wrong at a place
   * @param near what to do where a parameter may have been meant that is called otherwise; null:
   * nothing is like it
   */
  constructor(
    private readonly parameters: ParameterTable,
    private readonly resources: readonly Resource[],
    private readonly refusal: (position: Position, problem: string) => TypeError,
    private readonly near: (name: string) => string | null,
  ) {
    this.byName = membersByName(resources.filter(({ name }) => !parameters.has(name)));
  }

  members(resource: Resource): UniformMember[] {
    const { name, type, position } = resource;
    const whole = this.parameters.take(name);
    if (whole !== undefined) return this.placed(resource, name, name, type, 0, whole);
    if (type.kind === 'struct') return this.membersOf(resource, name, type, 0, true);
    if (isLaunchMember(name, type)) return [{ name, from: 'launch', type: 'u32', offset: 0 }];
    throw this.refusal(position, this.missing(name, name, type));
  }

  private membersOf(
    resource: Resource,
    path: string,
    { members }: StructType,
    at: number,
    isFlat: boolean,
  ): UniformMember[] {
    return members.flatMap(({ name, type, offset }) =>
      this.member(resource, `${path}.${name}`, isFlat ? name : null, type, at + offset),
    );
  }

  /** @param flat its name alone; null: it is only found by its path */
  private member(
    resource: Resource,
    path: string,
    flat: string | null,
    type: Type,
    at: number,
  ): UniformMember[] {
    const name = path.slice(path.lastIndexOf('.') + 1);
    const own = this.parameters.take(path);
    if (own !== undefined) return this.placed(resource, path, path, type, at, own);
    const found = flat === null ? undefined : this.flatParameter(resource, flat, type);
    if (found !== undefined) return this.placed(resource, path, flat as string, type, at, found);
    if (isPadding(name)) return [];
    if (isLaunchMember(name, type)) return [{ name, from: 'launch', type: 'u32', offset: at }];
    if (type.kind === 'struct' && this.parameters.names.some((each) => each.startsWith(`${path}.`)))
      return this.membersOf(resource, path, type, at, false);
    throw this.refusal(resource.position, this.missing(path, flat ?? path, type));
  }

  /** The parameter of a member's name alone, which must not be that of several members. */
  private flatParameter({ position, name: variable }: Resource, flat: string, type: Type) {
    const parameter = this.parameters.of(flat);
    // A name that is a variable's means the variable.
    if (parameter === undefined || this.resources.some(({ name }) => name === flat))
      return undefined;
    const others = (this.byName.get(flat) ?? []).filter((each) => each !== variable);
    if (others.length > 0 && isPadding(flat)) {
      const fits = problemOf(type, parameter) === null;
      return fits ? this.parameters.take(flat) : undefined;
    }
    if (others.length > 0) {
      const all = [variable, ...others];
      throw this.refusal(
        position,
        `${flat} is a member of ${all.join(' and of ')}; give the kernel parameters ` +
          `${all.map((each) => `'${each}.${flat}'`).join(' and ')} in place of ${flat}`,
      );
    }
    return this.parameters.take(flat);
  }

  /** @param name of the parameter */
  private placed(
    { position }: Resource,
    path: string,
    name: string,
    type: Type,
    offset: number,
    parameter: Parameter,
  ): UniformMember[] {
    const problem = problemOf(type, parameter);
    if (problem !== null)
      throw this.refusal(
        position,
        `uniform ${path}${problem.path} is ${problem.text}, and ${name}${problem.path} is ${problem.given}${problem.remedy(name)}`,
      );
    if (parameter.kind === 'scalar')
      return [{ name, from: 'parameter', type: parameter.type as 'f32' | 'u32' | 'i32', offset }];
    const launch = launchMembers(type, valueTypeOf(parameter) as ValueType);
    const left = new Set(launch.map((each) => each.name));
    this.layouts.set(name, { type, left, isBytes: valueTypeOf(parameter)?.kind === 'bytes' });
    return [
      { name, from: 'parameter', type: 'bytes', offset },
      ...launch.map((each) => ({ ...each, offset: offset + each.offset })),
    ];
  }

  private missing(path: string, name: string, type: Type): string {
    const shown = `uniform ${path} is ${typeText(type)}, and ${name} is no parameter of the kernel`;
    return `${shown}; ${this.near(name) ?? `give the kernel a parameter ${name}: ${declarationOf(type)}`}`;
  }
}

/** Members of a structure that its declaration leaves to the launch. */
function launchMembers(type: Type, value: ValueType): UniformMember[] {
  if (type.kind !== 'struct' || value.kind !== 'struct') return [];
  return type.members
    .filter(({ name, type: of }) => isLaunchMember(name, of))
    .filter(({ name }) => !value.members.some((each) => each.name === name))
    .map(({ name, offset }) => ({ name, from: 'launch', type: 'u32', offset }));
}

interface Problem {
  /** Of the member that does not fit, within the value. */
  readonly path: string;
  /** What it is in the module, and what the parameter says. */
  readonly text: string;
  readonly given: string;
  remedy(name: string): string;
}

/** Why a parameter does not fit a type; null: it does. */
function problemOf(type: Type, parameter: Parameter): Problem | null {
  const text = typeText(type);
  const remedy = (name: string) => `; declare ${name}: ${declarationOf(type)}`;
  if (parameter.kind === 'array')
    return { path: '', text, given: `${declared(parameter)} of the kernel`, remedy };
  if (parameter.kind === 'scalar') {
    if (type.kind === 'scalar' && type.name === parameter.type) return null;
    return { path: '', text, given: `${declared(parameter)} of the kernel`, remedy };
  }
  const problem = valueProblem(type, valueTypeOf(parameter) as ValueType, '');
  return problem && { ...problem, remedy: problem.path === '' ? remedy : () => '' };
}

function valueProblem(type: Type, value: ValueType, path: string): Omit<Problem, 'remedy'> | null {
  if (value.kind === 'any' || value.kind === 'bytes') return null;
  if (type.kind === 'struct' && value.kind === 'struct')
    return structProblem(type, value.members, path);
  if (type.kind === 'array' && value.kind === 'array' && type.length === value.length)
    return valueProblem(type.element, value.element, `${path}[0]`);
  const [text, given] = [typeText(type), typeText(value)];
  return text === given ? null : { path, text, given };
}

function structProblem(
  { members }: StructType,
  declared: Extract<ValueType, { readonly kind: 'struct' }>['members'],
  path: string,
): Omit<Problem, 'remedy'> | null {
  const given = new Map(declared.map(({ name, type }) => [name, type]));
  const names = members.map(({ name }) => name);
  const unknown = [...given.keys()].find((name) => !names.includes(name));
  if (unknown !== undefined) {
    const free = names.filter((name) => !given.has(name));
    const near = nearest(unknown, free);
    return {
      path: `${path}.${unknown}`,
      text: `nothing: ${near === null ? `the structure has ${names.join(', ')}` : `did you mean ${near}?`}`,
      given: typeText(given.get(unknown) as ValueType),
    };
  }
  for (const { name, type } of members) {
    const value = given.get(name);
    if (value !== undefined) {
      const problem = valueProblem(type, value, `${path}.${name}`);
      if (problem !== null) return problem;
    } else if (!isPadding(name) && !(path === '' && isLaunchMember(name, type)))
      return {
        path: `${path}.${name}`,
        text: typeText(type),
        given: `not declared; add ${name}: ${declarationOf(type)}`,
      };
  }
  return null;
}
