/** All expressions and statements of a function. */
import type {
  Attribute,
  Call,
  Expression,
  FunctionDeclaration,
  Module,
  Name,
  Statement,
} from './tree.js';

/** What an expression consists of, in the order in which that is evaluated. */
export function childrenOf(expression: Expression): readonly Expression[] {
  switch (expression.kind) {
    case 'index':
      return [expression.base, expression.index];
    case 'member':
      return [expression.base];
    case 'unary':
      return [expression.operand];
    case 'binary':
      return [expression.left, expression.right];
    case 'call':
      return expression.parameters;
    default:
      return [];
  }
}

/** An expression and all inside it, each before its own. */
export function visitExpressions(expression: Expression, visit: (each: Expression) => void): void {
  visit(expression);
  for (const each of childrenOf(expression)) visitExpressions(each, visit);
}

/** Whether the expression is such a one, or any inside it. */
export function some(expression: Expression, is: (each: Expression) => boolean): boolean {
  return is(expression) || childrenOf(expression).some((each) => some(each, is));
}

/** Statements and those inside them, each before its own, with its own expressions. */
export function visitStatements(
  statements: readonly Statement[],
  visit: (each: Statement, expressions: readonly Expression[]) => void,
): void {
  for (const each of statements) {
    visit(each, expressionsOf(each));
    for (const inside of bodiesOf(each)) visitStatements(inside, visit);
  }
}

/** Whether a statement is such a one, or any inside it. */
export function someStatement(
  statements: readonly Statement[],
  is: (each: Statement, expressions: readonly Expression[]) => boolean,
): boolean {
  return statements.some(
    (each) =>
      is(each, expressionsOf(each)) || bodiesOf(each).some((inside) => someStatement(inside, is)),
  );
}

/** A place and what it is a part of, from the last part to the variable or pointer. */
export function pathOf(place: Expression): readonly Expression[] {
  const path = [place];
  for (
    let each = place;
    each.kind === 'index' || each.kind === 'member' || each.kind === 'unary';
  ) {
    each = each.kind === 'unary' ? each.operand : each.base;
    path.push(each);
  }
  return path;
}

/** The lists of statements inside a statement. */
export function bodiesOf(statement: Statement): readonly (readonly Statement[])[] {
  switch (statement.kind) {
    case 'block':
      return [statement.body];
    case 'if':
      return [statement.body.body, statement.otherwise?.body ?? []];
    case 'loop':
      return [statement.body.body, statement.continuing];
    case 'switch':
      return statement.clauses.map(({ body }) => body.body);
    default:
      return [];
  }
}

function expressionsOf(statement: Statement): Expression[] {
  const present = (...list: (Expression | null)[]) => list.filter((each) => each !== null);
  switch (statement.kind) {
    case 'declare':
    case 'return':
      return present(statement.value);
    case 'assign':
      return present(statement.target, statement.value);
    case 'if':
      return [statement.condition];
    case 'loop':
      return present(statement.breakIf);
    case 'switch':
      return [statement.selector, ...statement.values];
    case 'call':
      return [statement.call];
    default:
      return [];
  }
}

/** All expressions of a function. */
export function visitFunction(
  { body }: FunctionDeclaration,
  visit: (each: Expression) => void,
): void {
  visitStatements(body.body, (_, expressions) => {
    for (const each of expressions) visitExpressions(each, visit);
  });
}

/** Names that the function itself does not declare, as often as they stand in it. */
export function visitNames(declaration: FunctionDeclaration, visit: (each: Name) => void): void {
  visitFunction(declaration, (each) => {
    if (each.kind === 'name' && each.local === null) visit(each);
  });
}

export function namesIn(declaration: FunctionDeclaration): Set<string> {
  const names = new Set<string>();
  visitNames(declaration, ({ name }) => names.add(name));
  return names;
}

export function callsIn(declaration: FunctionDeclaration): Call[] {
  const calls: Call[] = [];
  visitFunction(declaration, (each) => {
    if (each.kind === 'call') calls.push(each);
  });
  return calls;
}

/** The builtin that a parameter or a member is. */
export function builtinIn(attributes: readonly Attribute[]): Name | null {
  const value = attributes.find(({ name }) => name === 'builtin')?.parameters[0];
  return value?.kind === 'name' ? value : null;
}

/** The function of WGSL's own that is called; '': one of the module's, or a type of its. */
export function builtinOf(
  { callee: { name } }: Call,
  { functions, structs, aliases }: Module,
): string {
  return functions.has(name) || structs.has(name) || aliases.has(name) ? '' : name;
}
