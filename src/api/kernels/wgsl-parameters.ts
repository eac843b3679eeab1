/** A kernel's parameters as far as a module is concerned, and what has become of each of them. */
import type { ElementType } from '../../core/basics/elements.js';
import { valueTypeOf } from './uniform-parameters.js';

/** A kernel's parameter, as far as a module is concerned. */
export type Parameter =
  | { readonly kind: 'array'; readonly type: ElementType; readonly use: 'in' | 'out' | 'inout' }
  | { readonly kind: 'scalar'; readonly type: ElementType }
  | { readonly kind: 'uniform'; readonly type: string };
export type Parameters = Readonly<Record<string, Parameter>>;

/** Parameters by their names, of which it is noted which are bound. */
export class ParameterTable {
  private readonly used = new Set<string>();

  constructor(private readonly parameters: Parameters) {}

  get names(): string[] {
    return Object.keys(this.parameters);
  }

  get unused(): string[] {
    return this.names.filter((name) => !this.used.has(name));
  }

  has(name: string): boolean {
    return Object.hasOwn(this.parameters, name);
  }

  of(name: string): Parameter | undefined {
    return this.has(name) ? this.parameters[name] : undefined;
  }

  /** Notes that the parameter is bound. */
  take(name: string): Parameter | undefined {
    const parameter = this.of(name);
    if (parameter !== undefined) this.used.add(name);
    return parameter;
  }
}

/** A parameter as the program has declared it. */
export function declared(parameter: Parameter): string {
  if (parameter.kind === 'array') return `${parameter.type}.${parameter.use}`;
  if (parameter.kind === 'scalar') return parameter.type;
  const type = valueTypeOf(parameter)?.kind;
  return type === 'bytes' ? 'bytes.uniform' : type === 'any' ? 'uniform' : parameter.type;
}
