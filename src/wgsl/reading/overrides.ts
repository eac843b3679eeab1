/** `override` declarations: values that they take, and which of them an entry point needs. */
import { constantValue } from './constants.js';
import { type Parser, parse } from './syntax.js';
import type { Expression, FunctionDeclaration, GlobalConstant, Module, TypeName } from './tree.js';
import { type ScalarName, Types } from './types.js';
import { namesIn, visitExpressions } from './walk.js';
import { type Position, positionAt, WgslError } from './wgsl-error.js';

export interface Override {
  readonly name: string;
  /** What a pipeline calls it: the number of its `@id`, or its name where it has none. */
  readonly key: string;
  /** Null where only a compiler can tell. */
  readonly type: ScalarName | null;
  readonly position: Position;
}

/** @throws WgslError with line and column */
export function overridesIn(parser: Parser, source: string): Override[] {
  const module = parse(parser, source);
  return overridesOf(module, declared(module));
}

/** Those that the entry point uses, and that have neither a default nor a value. */
export function withoutValue(
  module: Module,
  entry: FunctionDeclaration,
  functions: Iterable<FunctionDeclaration>,
  given: Readonly<Record<string, unknown>>,
): Override[] {
  const used = usedNames(module, entry, functions);
  const missing = ({ name, value }: GlobalConstant) =>
    value === null && used.has(name) && !Object.hasOwn(given, name);
  return overridesOf(module, declared(module).filter(missing));
}

/** Refuses an entry point that uses an override without a value. */
export function requireValues(
  module: Module,
  entry: FunctionDeclaration,
  functions: Iterable<FunctionDeclaration>,
  given: Readonly<Record<string, unknown>>,
): void {
  const [missing] = withoutValue(module, entry, functions, given);
  if (missing === undefined) return;
  const { name, type } = missing;
  const shown = type === null ? name : `${name} (${type})`;
  const { start } = module.constants.get(name) as GlobalConstant;
  throw new WgslError(
    module.source,
    start,
    `override ${shown} has no value; give it one: constants: { ${name}: ... }`,
  );
}

function overridesOf(module: Module, constants: readonly GlobalConstant[]): Override[] {
  const types = new Types(module, {});
  return constants.map((each) => ({
    name: each.name,
    key: keyOf(module, each),
    type: typeOf(types, each),
    position: positionAt(module.source, each.start),
  }));
}

function declared({ constants }: Module): GlobalConstant[] {
  return [...constants.values()].filter(({ kind }) => kind === 'override');
}

function keyOf(module: Module, { name, attributes }: GlobalConstant): string {
  const [parameter] = attributes.find((each) => each.name === 'id')?.parameters ?? [];
  const id = parameter === undefined ? null : constantValue(module, parameter);
  return id === null ? name : String(id);
}

function typeOf(types: Types, { type, value }: GlobalConstant): ScalarName | null {
  if (type !== null) {
    const found = types.read(type);
    return found.kind === 'scalar' ? found.name : null;
  }
  const literal = value?.kind === 'unary' ? value.operand : value;
  if (literal?.kind !== 'literal') return null;
  if (literal.type === 'abstract-int') return 'i32';
  return literal.type === 'abstract-float' ? 'f32' : literal.type;
}

/** Names at module scope that the entry point needs, for its size and arrays' lengths, too. */
function usedNames(
  module: Module,
  entry: FunctionDeclaration,
  functions: Iterable<FunctionDeclaration>,
): ReadonlySet<string> {
  const used = new Set<string>();
  const use = (name: string): void => {
    if (used.has(name)) return;
    used.add(name);
    const constant = module.constants.get(name);
    if (constant?.value) useExpression(constant.value);
    useType(module.variables.get(name)?.type ?? module.aliases.get(name) ?? null);
  };
  const useExpression = (expression: Expression): void =>
    visitExpressions(expression, (each) => {
      if (each.kind === 'name' && each.local === null) use(each.name);
    });
  const useType = (type: TypeName | null): void => {
    if (type === null) return;
    use(type.name);
    for (const each of type.parameters) {
      if ('kind' in each) useExpression(each);
      else useType(each);
    }
  };
  for (const { parameters } of entry.attributes) for (const each of parameters) useExpression(each);
  for (const each of functions) for (const name of namesIn(each)) use(name);
  return used;
}
