/** How a kernel's parameters reach the variables of its WGSL module: arrays by name, numbers by name or as members of uniform structures. */
import { bytesOf, type ElementType } from '../core/elements.js';
import { nearest } from '../core/option-names.js';
import type { UniformMember, WgslBinding, WgslCode, WgslConstant } from '../drivers/driver.js';
import type { Overrides } from '../wgsl/constants.js';
import { type Description, type Resource, uniformMembers } from '../wgsl/describe.js';
import { type Dimensions, dimensionsOf } from '../wgsl/dimensions.js';
import type { Override } from '../wgsl/overrides.js';
import { sizeOf, type Type } from '../wgsl/types.js';
import { type Position, positionAt } from '../wgsl/wgsl-error.js';
import { isError, isObject, show } from './arguments.js';
import { typeError } from './errors.js';
import { constantsOf } from './wgsl-constants.js';
import { describeWgsl, overridesOf, overridesWithoutValue } from './wgsl-parser.js';

/** A kernel's parameter, as far as a module is concerned. */
type Parameter =
  | { readonly kind: 'array'; readonly type: ElementType; readonly use: 'in' | 'out' | 'inout' }
  | { readonly kind: 'scalar'; readonly type: ElementType };
type Parameters = Readonly<Record<string, Parameter>>;
type ScalarName = 'i32' | 'u32' | 'f32' | 'f16' | 'bool';

/** Bytes that a uniform variable's size is a multiple of. */
const UNIFORM_BYTES = 16;
/** What a module may ask for of the launch itself, as u32; a parameter by the same name comes first. */
const LAUNCH_MEMBERS: readonly string[] = ['begin', 'end', 'size'];
/** Elements of arrays that WGSL has a type for. Whatever else an array has is handed over as bytes. */
const ELEMENTS: Readonly<Record<ScalarName, ElementType | null>> = {
  i32: 'i32',
  u32: 'u32',
  f32: 'f32',
  f16: 'u16',
  bool: null,
};

/** The module of a kernel, bound to its parameters. Throws a TypeError that says where in the module it does not fit. */
export function wgslCode(
  name: string,
  parameters: Parameters,
  source: unknown,
  entryPoint: string | undefined,
  given: unknown,
): WgslCode {
  if (typeof source !== 'string')
    throw typeError('WGSL', `wgsl of kernel ${name} is the text of a module, not ${show(source)}`);
  if (entryPoint !== undefined && typeof entryPoint !== 'string')
    throw typeError('WGSL', `entryPoint of kernel ${name} is a name, not ${show(entryPoint)}`);
  const constants = constantsIn(name, source, given);
  const described = read(name, source, entryPoint, constants);
  const binder = new Binder(name, parameters, described);
  const bindings = described.resources.map((each) => binder.bind(each));
  binder.refuseUnused();
  const { name: found, workgroupSize } = described.entryPoint;
  return { kind: 'wgsl', source, entryPoint: found, workgroupSize, bindings, constants };
}

/**
 * The parameters that a module's entry point asks for: arrays by their variables, numbers by uniform variables and their members.
 * @param out names of arrays that are written from zeros; others that may be written are read, too
 * @param numbers names of those that are given: a member `begin`, `end` or `size` is the launch's unless it is among them
 * @param given values of overrides, as in `wgslCode`
 */
export function wgslParameters(
  name: string,
  source: string,
  entryPoint: string | undefined,
  out: ReadonlySet<string>,
  numbers: ReadonlySet<string> = new Set(),
  given: unknown = undefined,
): Parameters {
  const { resources } = read(name, source, entryPoint, constantsIn(name, source, given));
  const parameters: Record<string, Parameter> = {};
  for (const resource of resources) {
    if (resource.space !== 'uniform') {
      const type = elementsOf(resource.type) ?? 'bytes';
      const use = resource.access === 'read' ? 'in' : out.has(resource.name) ? 'out' : 'inout';
      parameters[resource.name] = { kind: 'array', type, use };
      continue;
    }
    for (const { name: member, type } of uniformMembers(resource)) {
      const own = member === '' ? resource.name : member;
      // What is no number is refused where the module is bound, with its place.
      if (type.kind === 'scalar' && (!LAUNCH_MEMBERS.includes(own) || numbers.has(own)))
        parameters[own] = { kind: 'scalar', type: ELEMENTS[type.name] ?? 'u32' };
    }
  }
  return parameters;
}

/** The `override` declarations of a module. */
export function wgslOverrides(name: string, source: string): Override[] {
  return located(name, () => overridesOf(source));
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
  return located(name, () => overridesWithoutValue(source, entryPoint, values));
}

/** In how many dimensions launches of the module are laid out. */
export function wgslDimensions(name: string, { source, entryPoint, constants }: WgslCode): Dimensions {
  return dimensionsOf(read(name, source, entryPoint, constants));
}

/** Whether a launch over a part of the size can be told to the module. */
export function takesParts(code: WgslCode): boolean {
  const members = code.bindings.flatMap((each) => (each.kind === 'uniform' ? each.members : []));
  return ['begin', 'end'].every((name) => members.some((each) => each.from === 'launch' && each.name === name));
}

export function isWgslCode(code: unknown): boolean {
  const { kind, source, bindings } = (isObject(code) ? code : {}) as Partial<WgslCode>;
  return kind === 'wgsl' && typeof source === 'string' && Array.isArray(bindings);
}

function constantsIn(name: string, source: string, given: unknown): readonly WgslConstant[] {
  return given === undefined ? [] : located(name, () => constantsOf(name, overridesOf(source), given));
}

function read(
  name: string,
  source: string,
  entryPoint: string | undefined,
  constants: readonly WgslConstant[],
): Description {
  return located(name, () => describeWgsl(source, entryPoint, valuesOf(constants)));
}

function valuesOf(constants: readonly WgslConstant[]): Overrides {
  return Object.fromEntries(constants.map((each) => [each.name, each.value]));
}

/** What is wrong in the module is told with the kernel's name before the place. */
function located<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (isError(error) && error.name === 'WgslError') throw typeError('WGSL', `kernel ${name}, WGSL ${error.message}`);
    throw error;
  }
}

const SAME_NAMES = 'Variables have the names of their parameters';

class Binder {
  private readonly used = new Set<string>();

  constructor(
    private readonly kernel: string,
    private readonly parameters: Parameters,
    private readonly described: Description,
  ) {}

  bind(resource: Resource): WgslBinding {
    const { name, group, binding, space, position } = resource;
    if (resource.type.kind === 'handle') throw this.refuse(position, handleProblem(name, resource.type.name));
    if (space === 'uniform') {
      const bytes = Math.ceil(sizeOf(resource.type) / UNIFORM_BYTES) * UNIFORM_BYTES;
      return { group, binding, kind: 'uniform', bytes, members: this.members(resource) };
    }
    const parameter = this.parameter(name);
    if (parameter?.kind !== 'array') {
      const what = parameter === undefined ? 'no parameter' : `a number (${parameter.type})`;
      const use = resource.access === 'read' ? 'in' : 'inout';
      const remedy = this.remedyFor(name, 'array', `${name}: ${elementsOf(resource.type) ?? 'bytes'}.${use}`);
      throw this.refuse(position, `storage variable ${name} is ${what} of the kernel; ${remedy}`);
    }
    this.checkAccess(resource, parameter.use);
    this.checkElements(resource, parameter.type);
    return {
      group,
      binding,
      kind: 'array',
      parameter: name,
      writable: resource.access !== 'read',
      leastBytes: resource.minBytes,
    };
  }

  refuseUnused(): void {
    const unused = Object.keys(this.parameters).filter((name) => !this.used.has(name));
    if (unused.length === 0) return;
    for (const each of unused) this.refuseMisspelt(each);
    const { entryPoint, resources } = this.described;
    const there = resources.map(({ name }) => name).join(', ') || 'none';
    throw this.refuse(
      entryPoint.position,
      `entry point ${entryPoint.name} uses no variable for ${unused.join(', ')}; it uses: ${there}`,
    );
  }

  /** Of a parameter that nothing is bound for. */
  private refuseMisspelt(parameter: string): void {
    const { module, entryPoint, undeclared } = this.described;
    const declared = [...module.variables.values()].find(
      ({ name, type }) =>
        name === parameter || module.structs.get(type?.name ?? '')?.members.some((each) => each.name === parameter),
    );
    const slip = undeclared.find(({ name }) => nearest(name, [parameter, ...(declared ? [declared.name] : [])]));
    if (slip !== undefined) {
      const remedy =
        declared === undefined
          ? this.remedyWithout(parameter)
          : `did you mean ${declared.name}? Entry point ${entryPoint.name} does not use it`;
      throw this.refuse(slip.position, `${slip.name} is declared nowhere; ${remedy}`);
    }
    if (declared === undefined) return;
    const { name, space, start } = declared;
    const own = name === parameter ? '' : `, which has member ${parameter}`;
    const problem = isBoundSpace(space)
      ? `entry point ${entryPoint.name} does not use variable ${name}${own}; have it use it, or leave out parameter ${parameter}`
      : `variable ${name} is var<${space}>, which no parameter reaches; declare it so: ${this.declarationOf(parameter)}`;
    throw this.refuse(positionAt(module.source, start), problem);
  }

  /** Of a parameter that the module declares no variable for. */
  private remedyWithout(parameter: string): string {
    const { variables, source } = this.described.module;
    const bound = [...variables.values()].filter(({ space }) => isBoundSpace(space));
    const free = bound.map(({ name }) => name).filter((name) => !Object.hasOwn(this.parameters, name));
    const near = variables.get(nearest(parameter, free) ?? '');
    if (near === undefined)
      return `declare the variable of parameter ${parameter}, such as ${this.declarationOf(parameter)}`;
    const { line, column } = positionAt(source, near.start);
    return `did you mean ${near.name} (${line}:${column})? ${SAME_NAMES}`;
  }

  /** How a module declares a variable for the parameter. */
  private declarationOf(name: string): string {
    const parameter = this.parameters[name];
    const taken = this.described.resources.filter(({ group }) => group === 0).map(({ binding }) => binding);
    const place = `@group(0) @binding(${Math.max(-1, ...taken) + 1})`;
    if (parameter.kind === 'scalar') return `${place} var<uniform> ${name}: ${parameter.type};`;
    const type = Object.entries(ELEMENTS).find(([, each]) => each === parameter.type)?.[0] ?? 'u32';
    return `${place} var<storage, ${parameter.use === 'in' ? 'read' : 'read_write'}> ${name}: array<${type}>;`;
  }

  /**
   * What to do about a variable, or a member of one, that no parameter is for.
   * @param kind of the parameter that it wants
   * @param declaration of that one
   */
  private remedyFor(name: string, kind: Parameter['kind'], declaration: string): string {
    const free = Object.keys(this.parameters).filter(
      (each) => this.parameters[each].kind === kind && !this.described.resources.some((other) => names(other, each)),
    );
    const near = nearest(name, free);
    return near === null ? `give the kernel a parameter ${declaration}` : `did you mean ${near}? ${SAME_NAMES}`;
  }

  private parameter(name: string): Parameter | undefined {
    if (!Object.hasOwn(this.parameters, name)) return undefined;
    this.used.add(name);
    return this.parameters[name];
  }

  private checkAccess({ name, access, position }: Resource, use: 'in' | 'out' | 'inout'): void {
    if (use === 'in' && access !== 'read') {
      throw this.refuse(
        position,
        `${name} is var<storage, ${access}>, but parameter ${name} is only read (in); declare the parameter inout, or the variable var<storage, read>`,
      );
    }
    if (use !== 'in' && access === 'read') {
      throw this.refuse(
        position,
        `${name} is var<storage, read>, but parameter ${name} is written (${use}); declare the variable var<storage, read_write>`,
      );
    }
  }

  private checkElements({ name, type, runtimeArray, position }: Resource, declared: ElementType): void {
    if (bytesOf(declared) === 1 && declared !== 'i8') return;
    const wanted = elementsOf(type);
    if (wanted === declared) return;
    throw this.refuse(
      position,
      `${name} is ${typeText(runtimeArray ?? type)}, but parameter ${name} is ${declared}; its elements are handed over as ${wanted ?? 'bytes'}`,
    );
  }

  private members(resource: Resource): UniformMember[] {
    const { name: variable, position } = resource;
    return uniformMembers(resource).map(({ name: member, type, offset }) => {
      const name = member === '' ? variable : member;
      const shown = member === '' ? variable : `${variable}.${member}`;
      if (type.kind !== 'scalar' || (type.name !== 'i32' && type.name !== 'u32' && type.name !== 'f32')) {
        throw this.refuse(
          position,
          `uniform ${shown} is ${typeText(type)}; a kernel's numbers are i32, u32 and f32: hand in anything else as an array (var<storage, read>)`,
        );
      }
      const parameter = this.parameter(name);
      if (parameter === undefined && LAUNCH_MEMBERS.includes(name) && type.name === 'u32')
        return { name, from: 'launch', type: 'u32', offset };
      if (parameter?.kind !== 'scalar' || parameter.type !== type.name) {
        const what =
          parameter === undefined
            ? 'no parameter'
            : `${parameter.type}${parameter.kind === 'array' ? `.${parameter.use}` : ''}`;
        const declaration = `${name}: ${type.name}`;
        const remedy = parameter === undefined ? this.remedyFor(name, 'scalar', declaration) : `declare ${declaration}`;
        throw this.refuse(
          position,
          `uniform ${shown} is ${type.name}, and ${name} is ${what} of the kernel; ${remedy}`,
        );
      }
      return { name, from: 'parameter', type: type.name, offset };
    });
  }

  private refuse({ line, column }: Position, problem: string): TypeError {
    return typeError('WGSL_BINDING', `kernel ${this.kernel}, WGSL ${line}:${column}: ${problem}`);
  }
}

/** What to do about a variable that has no place in memory. */
function handleProblem(name: string, type: string): string {
  const place = `${name}[y * width + x]`;
  if (type.startsWith('sampler'))
    return `variable ${name} is a sampler, and kernels have no textures; read elements of an array, and filter by mix()`;
  if (type === 'binding_array')
    return `variable ${name} is an array of bindings, which kernels have not; give each a variable of its own`;
  if (type.startsWith('texture_storage'))
    return (
      `variable ${name} is a texture, and kernels have arrays and numbers only; declare an array in its place, ` +
      `var<storage, read_write> ${name}: array<vec4f>, and store the texel at x, y to ${place}`
    );
  return (
    `variable ${name} is a texture, and kernels have arrays and numbers only; declare an array in its place, ` +
    `var<storage, read> ${name}: array<vec4f>, and read the texel at x, y as ${place}`
  );
}

/** Whether variables of an address space are those that parameters are bound to. */
function isBoundSpace(space: string): boolean {
  return space === 'storage' || space === 'uniform' || space === 'handle';
}

/** Whether a variable stands for a parameter of that name, as a whole or by a member. */
function names(resource: Resource, parameter: string): boolean {
  if (resource.space !== 'uniform') return resource.name === parameter;
  return uniformMembers(resource).some(({ name }) => (name || resource.name) === parameter);
}

/** The elements that an array of the type is handed over as; null: raw bytes. */
function elementsOf(type: Type): ElementType | null {
  const leaves = [...new Set(scalarsOf(type))];
  return leaves.length === 1 ? ELEMENTS[leaves[0]] : null;
}

/** As WGSL writes it, but for structures, which are shown by their name. */
function typeText(type: Type): string {
  switch (type.kind) {
    case 'vector':
      return `vec${type.width}<${type.component}>`;
    case 'matrix':
      return `mat${type.columns}x${type.rows}<${type.component}>`;
    case 'atomic':
      return `atomic<${type.name}>`;
    case 'array':
      return `array<${typeText(type.element)}${type.length === null ? '' : `, ${type.length}`}>`;
    case 'pointer':
      return `ptr<${type.space}, ${typeText(type.to)}>`;
    default:
      return type.name;
  }
}

/** The numbers that a value consists of. */
function scalarsOf(type: Type): ScalarName[] {
  switch (type.kind) {
    case 'scalar':
    case 'atomic':
      return [type.name];
    case 'vector':
    case 'matrix':
      return [type.component];
    case 'array':
      return scalarsOf(type.element);
    case 'struct':
      return type.members.flatMap((each) => scalarsOf(each.type));
    default:
      return [];
  }
}
