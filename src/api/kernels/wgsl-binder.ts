/** What each variable of a module is bound to. Errors name the place where it does not fit. */
import { bytesOf, type ElementType } from '../../core/basics/elements.js';
import type { WgslBinding } from '../../drivers/wgsl-launch.js';
import { nearest } from '../../messages/option-names.js';
import { type Description, type Resource, uniformMembers } from '../../wgsl/reading/describe.js';
import { sizeOf } from '../../wgsl/reading/types.js';
import { type Position, positionAt } from '../../wgsl/reading/wgsl-error.js';
import { typeError } from '../values/errors.js';
import { UNIFORM_BYTES } from './uniform-values.js';
import { declared, type Parameter, type Parameters, ParameterTable } from './wgsl-parameters.js';
import { ELEMENTS, elementsOf, typeText } from './wgsl-text.js';
import { UniformBinder, type UniformLayout } from './wgsl-uniforms.js';

const SAME_NAMES = 'Variables have the names of their parameters';

export class Binder {
  private readonly parameters: ParameterTable;
  private readonly uniforms: UniformBinder;

  constructor(
    private readonly kernel: string,
    parameters: Parameters,
    private readonly described: Description,
    /** Parameters whose variables the entry point does not use, as is known already. */
    private readonly elsewhere: ReadonlySet<string>,
  ) {
    this.parameters = new ParameterTable(parameters);
    this.uniforms = new UniformBinder(
      this.parameters,
      described.resources,
      (position, problem) => this.refuse(position, problem),
      (name) => this.nearTo(name, 'array', false),
    );
  }

  get layouts(): ReadonlyMap<string, UniformLayout> {
    return this.uniforms.layouts;
  }

  bind(resource: Resource): WgslBinding {
    const { name, group, binding, space, position } = resource;
    if (resource.type.kind === 'handle')
      throw this.refuse(position, handleProblem(name, resource.type.name));
    if (space === 'uniform') {
      const bytes = Math.ceil(sizeOf(resource.type) / UNIFORM_BYTES) * UNIFORM_BYTES;
      return { group, binding, kind: 'uniform', bytes, members: this.uniforms.members(resource) };
    }
    const parameter = this.parameters.take(name);
    if (parameter?.kind !== 'array') {
      const what = parameter === undefined ? 'no parameter' : `a number (${declared(parameter)})`;
      const use = resource.access === 'read' ? 'in' : 'inout';
      const remedy =
        this.nearTo(name, 'array', true) ??
        `give the kernel a parameter ${name}: ${elementsOf(resource.type) ?? 'bytes'}.${use}`;
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

  /**
   * Parameters of variables that the module has and the entry point does not use, as where a module
   * has several entry points. Others that nothing is bound for are refused.
   */
  leftOver(): ReadonlySet<string> {
    const left = new Set<string>();
    const lost: string[] = [];
    for (const each of this.parameters.unused) {
      if (this.elsewhere.has(each) || this.isElsewhere(each)) left.add(each);
      else lost.push(each);
    }
    for (const each of lost) this.refuseMisspelt(each);
    if (lost.length === 0) return left;
    const { entryPoint, resources } = this.described;
    const there = resources.map(({ name }) => name).join(', ') || 'none';
    throw this.refuse(
      entryPoint.position,
      `entry point ${entryPoint.name} uses no variable for ${lost.join(', ')}; it uses: ${there}`,
    );
  }

  /** Whether a parameter is for a variable, or its member, that the entry point does not use. */
  private isElsewhere(parameter: string): boolean {
    const { resources, undeclared } = this.described;
    const found = this.declaringVariables(parameter);
    for (const { name } of found) {
      const used = resources.find((each) => each.name === name);
      if (used === undefined) continue;
      throw this.refuse(
        used.position,
        `${parameter} is part of variable ${name}, which parameter ${name} gives as a whole; leave out one of the two`,
      );
    }
    const isSlip = undeclared.some(({ name }) => nearest(name, [parameter]) !== null);
    return !isSlip && found.some(({ space }) => isBoundSpace(space));
  }

  /** Variables that a parameter may stand for, whether the entry point uses them or not. */
  private declaringVariables(parameter: string) {
    const { variables, structs } = this.described.module;
    const [root, ...path] = parameter.split('.');
    return [...variables.values()].filter(({ name, type, space }) => {
      if (name === root) return path.length === 0 || space === 'uniform';
      const struct = structs.get(type?.name ?? '');
      return (
        path.length === 0 &&
        space === 'uniform' &&
        struct?.members.some((each) => each.name === parameter)
      );
    });
  }

  /** Of a parameter that nothing is bound for. */
  private refuseMisspelt(parameter: string): void {
    const { module, entryPoint, undeclared } = this.described;
    const [variable] = this.declaringVariables(parameter);
    const slip = undeclared.find(({ name }) =>
      nearest(name, [parameter, ...(variable ? [variable.name] : [])]),
    );
    if (slip !== undefined) {
      const remedy =
        variable === undefined
          ? this.remedyWithout(parameter)
          : `did you mean ${variable.name}? Entry point ${entryPoint.name} does not use it`;
      throw this.refuse(slip.position, `${slip.name} is declared nowhere; ${remedy}`);
    }
    if (variable === undefined) return;
    const { name, space, start } = variable;
    throw this.refuse(
      positionAt(module.source, start),
      `variable ${name} is var<${space}>, which no parameter reaches; declare it so: ${this.declarationOf(parameter)}`,
    );
  }

  /** Of a parameter that the module declares no variable for. */
  private remedyWithout(parameter: string): string {
    const { variables, source } = this.described.module;
    const bound = [...variables.values()].filter(({ space }) => isBoundSpace(space));
    const free = bound.map(({ name }) => name).filter((name) => !this.parameters.has(name));
    const near = variables.get(nearest(parameter, free) ?? '');
    if (near === undefined)
      return `declare the variable of parameter ${parameter}, such as ${this.declarationOf(parameter)}`;
    const { line, column } = positionAt(source, near.start);
    return `did you mean ${near.name} (${line}:${column})? ${SAME_NAMES}`;
  }

  /** How a module declares a variable for the parameter. */
  private declarationOf(name: string): string {
    const parameter = this.parameters.of(name) as Parameter;
    const taken = this.described.resources
      .filter(({ group }) => group === 0)
      .map(({ binding }) => binding);
    const place = `@group(0) @binding(${Math.max(-1, ...taken) + 1})`;
    if (parameter.kind !== 'array') return `${place} var<uniform> ${name}: ${parameter.type};`;
    const type = Object.entries(ELEMENTS).find(([, each]) => each === parameter.type)?.[0] ?? 'u32';
    return `${place} var<storage, ${parameter.use === 'in' ? 'read' : 'read_write'}> ${name}: array<${type}>;`;
  }

  /** A parameter whose name is like that of an unbound variable, or of a member of one. */
  private nearTo(name: string, kind: Parameter['kind'], isKind: boolean): string | null {
    const free = this.parameters.names.filter(
      (each) =>
        (this.parameters.of(each)?.kind === kind) === isKind &&
        !this.described.resources.some((other) => names(other, each)),
    );
    const near = nearest(name, free);
    return near && `did you mean ${near}? ${SAME_NAMES}`;
  }

  private checkAccess(
    { name, access, isStored, position }: Resource,
    use: 'in' | 'out' | 'inout',
  ): void {
    if (use === 'in' && isStored) {
      throw this.refuse(
        position,
        `the module writes ${name}, but parameter ${name} is only read (in); declare the parameter inout`,
      );
    }
    if (use !== 'in' && access === 'read') {
      throw this.refuse(
        position,
        `${name} is var<storage, read>, but parameter ${name} is written (${use}); declare the variable var<storage, read_write>`,
      );
    }
  }

  private checkElements(
    { name, type, runtimeArray, position }: Resource,
    given: ElementType,
  ): void {
    if (bytesOf(given) === 1 && given !== 'i8') return;
    const wanted = elementsOf(type);
    if (wanted === given) return;
    throw this.refuse(
      position,
      `${name} is ${typeText(runtimeArray ?? type)}, but parameter ${name} is ${given}; its elements are handed over as ${wanted ?? 'bytes'}`,
    );
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
  if (resource.name === parameter.split('.')[0]) return true;
  return (
    resource.space === 'uniform' && uniformMembers(resource).some(({ name }) => name === parameter)
  );
}
