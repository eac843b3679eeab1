/** What a module's entry point uses, and how, to bind arrays and numbers by name. */
import { constantValue, type Overrides } from './constants.js';
import { hasHeadApart } from './head-members.js';
import { type Override, requireValues, withoutValue } from './overrides.js';
import { storedVariables } from './stores.js';
import { type Parser, parse } from './syntax.js';
import type { Attribute, FunctionDeclaration, GlobalVariable, Module } from './tree.js';
import { type ArrayType, type StructMember, sizeOf, type Type, Types } from './types.js';
import { callsIn, namesIn, visitNames } from './walk.js';
import { type Position, positionAt, WgslError } from './wgsl-error.js';

/** A variable with `@group` and `@binding`. */
export interface Resource {
  readonly name: string;
  readonly group: number;
  readonly binding: number;
  readonly space: 'storage' | 'uniform' | 'handle';
  /** Null where the variable is neither storage nor uniform. */
  readonly access: 'read' | 'write' | 'read_write' | null;
  /** Whether the entry point, or what it calls, may store to it. */
  readonly isStored: boolean;
  readonly type: Type;
  /** The runtime-sized array that the variable is, or that its structure ends with. */
  readonly runtimeArray: ArrayType | null;
  /** Bytes of what stands before that array. */
  readonly arrayOffset: number;
  /** Whether some elements may be there without others, and without what precedes them. */
  readonly isDivisible: boolean;
  /** Bytes that must be bound at least. */
  readonly minBytes: number;
  readonly position: Position;
}

export interface EntryPoint {
  readonly name: string;
  readonly workgroupSize: readonly [number, number, number];
  readonly position: Position;
}

export interface Description {
  readonly entryPoint: EntryPoint;
  /** Those that the entry point, or what it calls, names; in the order of groups and bindings. */
  readonly resources: readonly Resource[];
  /**
   * Names of values in these functions that nothing declares, each where it stands first: the
   * compiler refuses them.
   */
  readonly undeclared: readonly { readonly name: string; readonly position: Position }[];
  /** For the analysis of accesses. */
  readonly module: Module;
  readonly types: Types;
  /** The entry point and what it calls, by name. */
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly overrides: Overrides;
}

const AXES = ['x', 'y', 'z'] as const;

export interface DescribeOptions {
  /** Values of `override` declarations that the pipeline will have, by name. */
  readonly overrides?: Overrides;
}

/**
 * @param entryPoint may be left out where there is one only
 * @throws WgslError with line and column: a source that is no WGSL, an entry point that is not
 * there, or what is not supported
 * @example
 * const { resources } = describe(await loadParser(), source, 'main');
 * resources[0]; // { name: 'x', group: 0, binding: 0, space: 'storage', access: 'read', ... }
 */
export function describe(
  parser: Parser,
  source: string,
  entryPoint?: string,
  { overrides = {} }: DescribeOptions = {},
): Description {
  const module = parse(parser, source);
  const types = new Types(module, overrides);
  const entry = entryOf(module, entryPoint);
  const functions = reachedFrom(module, entry);
  requireValues(module, entry, functions.values(), overrides);
  const used = new Set([...functions.values()].flatMap((each) => [...namesIn(each)]));
  const stored = storedVariables(module, functions);
  const resources = [...module.variables.values()]
    .filter((each) => used.has(each.name) && isBound(each))
    .map((each) => resourceOf(module, types, each, functions, stored.has(each.name)))
    .sort((one, other) => one.group - other.group || one.binding - other.binding);
  refuseSharedPlaces(module, resources);
  return {
    entryPoint: {
      name: entry.name,
      workgroupSize: workgroupSizeOf(module, entry, overrides),
      position: positionAt(source, entry.start),
    },
    resources,
    undeclared: undeclaredIn(module, functions.values()),
    module,
    types,
    functions,
    overrides,
  };
}

/**
 * Overrides that the entry point uses, and that have neither a default nor a value: what `describe`
 * would refuse.
 * @throws WgslError with line and column
 */
export function missingOverrides(
  parser: Parser,
  source: string,
  entryPoint: string | undefined,
  overrides: Overrides,
): Override[] {
  const module = parse(parser, source);
  const entry = entryOf(module, entryPoint);
  return withoutValue(module, entry, reachedFrom(module, entry).values(), overrides);
}

/** Members of a uniform structure; another type is one member without a name. */
export function uniformMembers({ type }: Resource): readonly StructMember[] {
  return type.kind === 'struct'
    ? type.members
    : [{ name: '', type, offset: 0, size: sizeOf(type) }];
}

/** Where a variable of a module is bound. */
export interface BoundPlace {
  readonly name: string;
  readonly group: number;
  readonly binding: number;
}

/** Variables with a place, whether the entry point uses them or not. */
export function placesOf(module: Module): readonly BoundPlace[] {
  return [...module.variables.values()].flatMap(({ name, attributes }) => {
    const [group, binding] = ['group', 'binding'].map((wanted) =>
      attributes.find((each) => each.name === wanted),
    );
    if (group === undefined || binding === undefined) return [];
    return [{ name, group: numberOf(module, group), binding: numberOf(module, binding) }];
  });
}

/** Whether a variable is to have a place at which something is bound: it may lack it by mistake. */
function isBound({ space, attributes }: GlobalVariable): boolean {
  return (
    (space !== 'private' && space !== 'workgroup') ||
    attributes.some(({ name }) => name === 'binding')
  );
}

/** @param resources in the order of their places */
function refuseSharedPlaces({ source, variables }: Module, resources: readonly Resource[]): void {
  const at = resources.findIndex(
    ({ group, binding }, index) =>
      group === resources[index - 1]?.group && binding === resources[index - 1]?.binding,
  );
  if (at === -1) return;
  const [first, second] = resources
    .slice(at - 1, at + 1)
    .map(({ name }) => variables.get(name) as GlobalVariable)
    .sort((one, other) => one.start - other.start) as [GlobalVariable, GlobalVariable];
  const { group, binding } = resources[at] as Resource;
  const place = `@group(${group}) @binding(${binding})`;
  throw new WgslError(
    source,
    second.start,
    `variables ${first.name} and ${second.name} are both at ${place}; give each a place of its own`,
  );
}

function undeclaredIn(
  module: Module,
  functions: Iterable<FunctionDeclaration>,
): Description['undeclared'] {
  const found = new Map<string, Position>();
  for (const each of functions)
    visitNames(each, ({ name, start }) => {
      const isDeclared =
        module.variables.has(name) || module.constants.has(name) || module.functions.has(name);
      if (!isDeclared && !found.has(name)) found.set(name, positionAt(module.source, start));
    });
  return [...found].map(([name, position]) => ({ name, position }));
}

function isEntry({ attributes }: FunctionDeclaration): boolean {
  return attributes.some(({ name }) => name === 'compute');
}

function entryOf(module: Module, name: string | undefined): FunctionDeclaration {
  const entries = [...module.functions.values()].filter(isEntry);
  const there = entries.map((each) => each.name).join(', ');
  if (entries.length === 0) {
    const at = (name === undefined ? undefined : module.functions.get(name)?.start) ?? 0;
    throw new WgslError(
      module.source,
      at,
      'the module has no @compute entry point; write one, such as @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) { ... }',
    );
  }
  if (name === undefined) {
    if (entries.length === 1) return entries[0] as FunctionDeclaration;
    throw new WgslError(
      module.source,
      0,
      `the module has several @compute entry points; name one, by entryPoint (onemem run: --entry): ${there}`,
    );
  }
  const found = module.functions.get(name);
  if (found && isEntry(found)) return found;
  const at = found?.start ?? 0;
  throw new WgslError(
    module.source,
    at,
    `${name} is not a compute entry point of the module; there are: ${there}`,
  );
}

function reachedFrom(module: Module, entry: FunctionDeclaration): Map<string, FunctionDeclaration> {
  const reached = new Map<string, FunctionDeclaration>();
  const visit = (each: FunctionDeclaration) => {
    if (reached.has(each.name)) return;
    if (each.unsupported !== null) throw each.unsupported;
    reached.set(each.name, each);
    for (const { callee } of callsIn(each)) {
      const called = module.functions.get(callee.name);
      if (called) visit(called);
    }
  };
  visit(entry);
  return reached;
}

function numberOf(module: Module, attribute: Attribute): number {
  const [parameter] = attribute.parameters;
  const value = parameter ? constantValue(module, parameter) : null;
  if (value !== null && Number.isSafeInteger(value) && value >= 0) return value;
  throw new WgslError(
    module.source,
    attribute.start,
    `@${attribute.name} needs a whole number that is a constant`,
  );
}

function resourceOf(
  module: Module,
  types: Types,
  variable: GlobalVariable,
  functions: ReadonlyMap<string, FunctionDeclaration>,
  isStored: boolean,
): Resource {
  const { name, space, access, attributes, start } = variable;
  const find = (wanted: string) => {
    const found = attributes.find((each) => each.name === wanted);
    if (found) return numberOf(module, found);
    throw new WgslError(
      module.source,
      start,
      `variable ${name} has no @${wanted}; give it both, such as @group(0) @binding(0)`,
    );
  };
  if (space !== 'storage' && space !== 'uniform' && space !== 'handle')
    throw new WgslError(
      module.source,
      start,
      `variable ${name} is var<${space}>, which nothing can be bound to; declare it var<storage, read>, var<storage, read_write> or var<uniform>`,
    );
  if (variable.type === null)
    throw new WgslError(module.source, start, `variable ${name} has no type`);
  const type = types.read(variable.type);
  const last = type.kind === 'struct' ? type.members.at(-1) : { type, offset: 0 };
  const tail = last?.type;
  const runtimeArray =
    space === 'storage' && tail?.kind === 'array' && tail.length === null ? tail : null;
  const arrayOffset = runtimeArray === null ? 0 : (last?.offset ?? 0);
  const isDivisible =
    runtimeArray !== null &&
    (arrayOffset === 0 ||
      (type.kind === 'struct' && hasHeadApart(type, name, functions, isStored)));
  return {
    name,
    group: find('group'),
    binding: find('binding'),
    space,
    access:
      space === 'handle'
        ? null
        : space === 'uniform'
          ? 'read'
          : ((access ?? 'read') as Resource['access']),
    isStored,
    type,
    runtimeArray,
    arrayOffset,
    isDivisible,
    minBytes: space === 'handle' ? 0 : sizeOf(type),
    position: positionAt(module.source, start),
  };
}

function workgroupSizeOf(
  module: Module,
  entry: FunctionDeclaration,
  overrides: Overrides,
): [number, number, number] {
  const attribute = entry.attributes.find(({ name }) => name === 'workgroup_size');
  if (!attribute)
    throw new WgslError(
      module.source,
      entry.start,
      `entry point ${entry.name} has no @workgroup_size`,
    );
  const refuse = ({ start }: { readonly start: number }, problem: string): WgslError =>
    new WgslError(module.source, start, `@workgroup_size of entry point ${entry.name} ${problem}`);
  const { parameters } = attribute;
  if (parameters.length > AXES.length)
    throw refuse(
      attribute,
      `has ${parameters.length} numbers; give it one for each dimension, three at most`,
    );
  const [x = 1, y = 1, z = 1] = parameters.map((each, axis) => {
    const value = constantValue(module, each, overrides);
    if (value === null)
      throw refuse(
        each,
        'is not a constant that can be computed here; write a number, or a const or override that is one',
      );
    if (!Number.isSafeInteger(value) || value < 1)
      throw refuse(
        each,
        `is ${value} in dimension ${AXES[axis]}; it must be a whole number of 1 or more, such as 64`,
      );
    return value;
  });
  return [x, y, z];
}
