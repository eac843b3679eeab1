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

export type Literal = Span & {
  readonly kind: 'literal';
  readonly value: number | boolean;
  readonly type: 'bool' | 'abstract-int' | 'abstract-float' | 'i32' | 'u32' | 'f32' | 'f16';
};
/** `local` is null for what the module declares. */
export type Name = Span & {
  readonly kind: 'name';
  readonly name: string;
  readonly local: Local | null;
};
export type Index = Span & {
  readonly kind: 'index';
  readonly base: Expression;
  readonly index: Expression;
};
export type Member = Span & {
  readonly kind: 'member';
  readonly base: Expression;
  readonly member: string;
};
export type Unary = Span & {
  readonly kind: 'unary';
  readonly operator: string;
  readonly operand: Expression;
};
export type Binary = Span & {
  readonly kind: 'binary';
  readonly operator: string;
  readonly left: Expression;
  readonly right: Expression;
};
/** A function, or a type that makes a value. */
export type Call = Span & {
  readonly kind: 'call';
  readonly callee: TypeName;
  readonly parameters: readonly Expression[];
};
export type Expression = Literal | Name | Index | Member | Unary | Binary | Call;

export type Block = Span & { readonly kind: 'block'; readonly body: readonly Statement[] };
export type Statement =
  | Block
  | (Span & { readonly kind: 'declare'; readonly local: Local; readonly value: Expression | null })
  /** `operator` of a compound assignment, such as `+`; null: none. `target` null: `_`. */
  | (Span & {
      readonly kind: 'assign';
      readonly target: Expression | null;
      readonly operator: string | null;
      readonly value: Expression;
    })
  | (Span & {
      readonly kind: 'if';
      readonly condition: Expression;
      readonly body: Block;
      readonly otherwise: Block | null;
    })
  /** Every loop: `for` and `while` begin with `if (!condition) { break; }`. */
  | (Span & {
      readonly kind: 'loop';
      readonly body: Block;
      readonly continuing: readonly Statement[];
      readonly breakIf: Expression | null;
    })
  | (Span & {
      readonly kind: 'switch';
      readonly selector: Expression;
      readonly clauses: readonly { readonly isDefault: boolean; readonly body: Block }[];
      readonly values: readonly Expression[];
    })
  | (Span & { readonly kind: 'return'; readonly value: Expression | null })
  | (Span & { readonly kind: 'break' | 'continue' })
  | (Span & { readonly kind: 'call'; readonly call: Call });

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
