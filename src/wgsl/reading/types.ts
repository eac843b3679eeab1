/** Types of WGSL and their layout (sections "Types" and "Memory Layout" of the standard). */
import { constantValue, type Overrides } from './constants.js';
import type { Expression, Module, Struct, TypeName } from './tree.js';
import { WgslError } from './wgsl-error.js';

export type ScalarName = 'bool' | 'i32' | 'u32' | 'f32' | 'f16';
/** `stride`: bytes from one element to the next. `length` null: as long as what is bound. */
export type ArrayType = {
  readonly kind: 'array';
  readonly element: Type;
  readonly length: number | null;
  readonly stride: number;
};
export type StructType = {
  readonly kind: 'struct';
  readonly name: string;
  readonly align: number;
  readonly members: readonly StructMember[];
};
export type Type =
  | { readonly kind: 'scalar'; readonly name: ScalarName }
  | { readonly kind: 'atomic'; readonly name: 'i32' | 'u32' }
  | { readonly kind: 'vector'; readonly component: ScalarName; readonly width: 2 | 3 | 4 }
  | {
      readonly kind: 'matrix';
      readonly component: 'f32' | 'f16';
      readonly columns: number;
      readonly rows: 2 | 3 | 4;
    }
  | ArrayType
  | StructType
  | { readonly kind: 'pointer'; readonly space: string; readonly to: Type }
  /** Textures, samplers, and arrays of bindings: nothing that has a place in memory. */
  | { readonly kind: 'handle'; readonly name: string };

export interface StructMember {
  readonly name: string;
  readonly type: Type;
  /** Bytes from the beginning of the structure. */
  readonly offset: number;
  readonly size: number;
}

const SCALARS = new Set(['bool', 'i32', 'u32', 'f32', 'f16']);
const SUFFIXES: Readonly<Record<string, ScalarName>> = { i: 'i32', u: 'u32', f: 'f32', h: 'f16' };

/**
 * Numbers, vectors and matrices by their names; null: the name is none of these.
 * @param component of those whose names lack it
 */
export function numbersNamed(
  name: string,
  component: () => ScalarName | null,
): Extract<Type, { readonly kind: 'scalar' | 'vector' | 'matrix' }> | null {
  if (SCALARS.has(name)) return { kind: 'scalar', name: name as ScalarName };
  const [, columns = '', rows, suffix] = /^(?:mat([234])x|vec)([234])([iufh])?$/.exec(name) ?? [];
  const own = rows === undefined ? null : suffix ? SUFFIXES[suffix] : component();
  if (own === null) return null;
  const width = Number(rows) as 2 | 3 | 4;
  if (columns === '') return { kind: 'vector', component: own, width };
  if (own !== 'f32' && own !== 'f16') return null;
  return { kind: 'matrix', component: own, columns: Number(columns), rows: width };
}

/** Reads types of a module, each structure once. */
export class Types {
  private readonly structs = new Map<string, StructType>();

  constructor(
    private readonly module: Module,
    private readonly overrides: Overrides,
  ) {}

  read({ name, parameters, start }: TypeName): Type {
    const alias = this.module.aliases.get(name);
    if (alias) return this.read(alias);
    const struct = this.module.structs.get(name);
    if (struct) return this.struct(struct);
    const numbers = numbersNamed(name, () => this.scalar(parameters[0], start));
    if (numbers !== null) return numbers;
    if (name === 'atomic')
      return { kind: 'atomic', name: this.scalar(parameters[0], start) as 'i32' | 'u32' };
    if (name === 'array') return this.array(parameters, start);
    if (name === 'ptr') {
      const [space, to] = parameters as readonly TypeName[];
      if (space && to) return { kind: 'pointer', space: space.name, to: this.read(to) };
    }
    if (/^(texture_|sampler|binding_array$)/.test(name)) return { kind: 'handle', name };
    throw new WgslError(
      this.module.source,
      start,
      `type ${name} is not supported: it is no structure or alias of the module, and no type of numbers, vectors, matrices, arrays or atomics`,
    );
  }

  struct({ name, members, start }: Struct): StructType {
    const known = this.structs.get(name);
    if (known) return known;
    let offset = 0;
    let align = 1;
    const placed = members.map((each): StructMember => {
      const type = this.read(each.type);
      const attribute = (wanted: string) => {
        const found = each.attributes.find((attribute) => attribute.name === wanted)?.parameters[0];
        return found ? this.constant(found) : null;
      };
      const own = attribute('align') ?? alignOf(type);
      align = Math.max(align, own);
      offset = roundUp(own, offset);
      const size = attribute('size') ?? sizeOf(type);
      const member = { name: each.name, type, offset, size };
      offset += size;
      return member;
    });
    if (placed.length === 0)
      throw new WgslError(this.module.source, start, `structure ${name} has no members`);
    const type: StructType = { kind: 'struct', name, align, members: placed };
    this.structs.set(name, type);
    return type;
  }

  private array([element, length]: TypeName['parameters'], start: number): ArrayType {
    if (element === undefined || 'kind' in element)
      throw new WgslError(
        this.module.source,
        start,
        'array without an element type is not supported here',
      );
    const type = this.read(element);
    const stride = roundUp(alignOf(type), sizeOf(type));
    return {
      kind: 'array',
      element: type,
      length: length === undefined ? null : this.constant(length),
      stride,
    };
  }

  private scalar(parameter: TypeName | Expression | undefined, start: number): ScalarName {
    const type = parameter && !('kind' in parameter) ? this.read(parameter) : null;
    if (type?.kind === 'scalar') return type.name;
    throw new WgslError(this.module.source, start, 'a scalar type was expected');
  }

  private constant(expression: TypeName | Expression): number {
    const value = constantValue(this.module, nameIfLone(expression), this.overrides);
    if (value !== null) return value;
    throw new WgslError(
      this.module.source,
      expression.start,
      'this is not a constant that can be computed here',
    );
  }
}

/** In the parameters of a type a lone name looks like a type. */
function nameIfLone(expression: TypeName | Expression): Expression {
  if ('kind' in expression) return expression;
  const { name, start, end } = expression;
  return { kind: 'name', name, local: null, start, end };
}

function roundUp(unit: number, value: number): number {
  return Math.ceil(value / unit) * unit;
}

function alignOf(type: Type): number {
  switch (type.kind) {
    case 'vector':
      return (type.width === 2 ? 2 : 4) * scalarBytes(type.component);
    case 'matrix':
      return (type.rows === 2 ? 2 : 4) * scalarBytes(type.component);
    case 'array':
      return alignOf(type.element);
    case 'struct':
      return type.align;
    case 'scalar':
      return scalarBytes(type.name);
    default:
      return 4;
  }
}

/** Bytes of a value; of an array without a length, of one element: the least to be bound. */
export function sizeOf(type: Type): number {
  switch (type.kind) {
    case 'vector':
      return type.width * scalarBytes(type.component);
    case 'matrix':
      return type.columns * alignOf(type);
    case 'array':
      return (type.length ?? 1) * type.stride;
    case 'struct': {
      const last = type.members[type.members.length - 1] as StructMember;
      return roundUp(alignOf(type), last.offset + last.size);
    }
    case 'scalar':
      return scalarBytes(type.name);
    default:
      return 4;
  }
}

function scalarBytes(name: ScalarName): number {
  return name === 'f16' ? 2 : 4;
}
