/**
 * The tree of a WGSL module as the analysis sees it: names are resolved to their declarations,
 * operators bind as the language says, and all loops are one kind. `start` and `end` are offsets
 * into the source; those of an expression include its parentheses.
 */

import type { WgslError } from './wgsl-error.js';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A variable, constant or parameter. Each declaration is its own object: names repeat. */
export interface Local extends Span {
  readonly name: string;
  readonly kind: 'var' | 'let' | 'const' | 'parameter';
  readonly type: TypeName | null;
}

export interface TypeName extends Span {
  readonly name: string;
  /** Types, and expressions such as the length of an array. A lone name is a type. */
  readonly parameters: readonly (TypeName | Expression)[];
}

/** One kind of expression or statement. */
type Of<Kind extends string, Parts = object> = Span & { readonly kind: Kind } & Readonly<Parts>;

export type Literal = Of<
  'literal',
  {
    value: number | boolean;
    type: 'bool' | 'abstract-int' | 'abstract-float' | 'i32' | 'u32' | 'f32' | 'f16';
  }
>;
/** `local` is null for what the module declares. */
export type Name = Of<'name', { name: string; local: Local | null }>;
export type Index = Of<'index', { base: Expression; index: Expression }>;
export type Member = Of<'member', { base: Expression; member: string }>;
export type Unary = Of<'unary', { operator: string; operand: Expression }>;
export type Binary = Of<'binary', { operator: string; left: Expression; right: Expression }>;
/** A function, or a type that makes a value. */
export type Call = Of<'call', { callee: TypeName; parameters: readonly Expression[] }>;
export type Expression = Literal | Name | Index | Member | Unary | Binary | Call;

export type Block = Of<'block', { body: readonly Statement[] }>;
type Clause = Readonly<{ isDefault: boolean; body: Block }>;
export type Statement =
  | Block
  | Of<'declare', { local: Local; value: Expression | null }>
  /** `operator` of a compound assignment, such as `+`; null: none. `target` null: `_`. */
  | Of<'assign', { target: Expression | null; operator: string | null; value: Expression }>
  | Of<'if', { condition: Expression; body: Block; otherwise: Block | null }>
  /** Every loop: `for` and `while` begin with `if (!condition) { break; }`. */
  | Of<'loop', { body: Block; continuing: readonly Statement[]; breakIf: Expression | null }>
  | Of<
      'switch',
      { selector: Expression; clauses: readonly Clause[]; values: readonly Expression[] }
    >
  | Of<'return', { value: Expression | null }>
  | Of<'break' | 'continue'>
  | Of<'call', { call: Call }>;

export interface Attribute extends Span {
  readonly name: string;
  readonly parameters: readonly Expression[];
}

export interface Parameter {
  readonly local: Local;
  readonly attributes: readonly Attribute[];
}

export interface FunctionDeclaration extends Span {
  readonly name: string;
  readonly parameters: readonly Parameter[];
  readonly result: TypeName | null;
  readonly attributes: readonly Attribute[];
  readonly body: Block;
  /** Where a statement may be put in before all others. */
  readonly bodyStart: number;
  /** Set where the body has what compute shaders lack, as others may, and is not read. */
  readonly unsupported: WgslError | null;
}

export interface GlobalVariable extends Span {
  readonly name: string;
  readonly type: TypeName | null;
  readonly space: string;
  readonly access: string | null;
  readonly attributes: readonly Attribute[];
}

export interface Struct extends Span {
  readonly name: string;
  readonly members: readonly (Span & {
    readonly name: string;
    readonly type: TypeName;
    readonly attributes: readonly Attribute[];
  })[];
}

export interface GlobalConstant extends Span {
  readonly name: string;
  readonly kind: 'const' | 'override';
  readonly type: TypeName | null;
  readonly value: Expression | null;
  readonly attributes: readonly Attribute[];
}

export interface Module {
  readonly source: string;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly variables: ReadonlyMap<string, GlobalVariable>;
  readonly structs: ReadonlyMap<string, Struct>;
  readonly constants: ReadonlyMap<string, GlobalConstant>;
  readonly aliases: ReadonlyMap<string, TypeName>;
}
