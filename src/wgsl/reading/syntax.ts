/** From the tree of the parser (the package `wesl`) to ours. Nothing else knows the parser's. */
import type * as Wesl from 'wesl/core';
import { withoutComments } from './comments.js';
import { associate } from './precedence.js';
import { withPlainComparisons } from './template-lists.js';
import type {
  Attribute,
  Block,
  Expression,
  FunctionDeclaration,
  GlobalConstant,
  GlobalVariable,
  Literal,
  Local,
  Module,
  Name,
  Span,
  Statement,
  Struct,
  TypeName,
} from './tree.js';
import { WgslError } from './wgsl-error.js';

/** What is needed of the package `wesl`, loaded with the first module (`loadParser`). */
export type Parser = Pick<typeof Wesl, 'parseSrcModule'>;

/** @throws WgslError where the source is no WGSL, or has what only WESL has */
export function parse(parser: Parser, source: string): Module {
  const { moduleElem, diagnostics, imports } = understood(parser, source);
  const wrong = diagnostics.find(isError);
  if (wrong)
    throw new WgslError(source, wrong.start, `${wrong.message}${hintFor(parser, source, wrong)}`);
  if (imports.length > 0)
    throw new WgslError(source, 0, 'imports are not WGSL; link the module first');
  return new Reader(source).module(moduleElem);
}

/** A second time without what the parser misunderstands, where that is why it refuses the text. */
function understood(parser: Parser, source: string) {
  const first = parsed(parser, source);
  if (!first.diagnostics.some(isError)) return first;
  return parsed(parser, withPlainComparisons(withoutComments(source)));
}

function isError({ severity }: { readonly severity: string }): boolean {
  return severity === 'error';
}

function parsed(parser: Parser, source: string) {
  return parser.parseSrcModule(
    { modulePath: 'package::module', debugFilePath: 'module.wgsl', src: source },
    { keepComments: false },
  );
}

function hintFor(
  parser: Parser,
  source: string,
  { message, start }: { message: string; start: number },
): string {
  if (message === 'Syntax nested too deeply')
    return ', deeper than the parser of WGSL goes; give parts of an expression names, or have a switch instead of many else if';
  const [, word] = /^\s*([A-Za-z_]\w*)/.exec(source.slice(start)) ?? [];
  return word !== undefined &&
    /^Expected (identifier|function parameter|'}' after struct)/.test(message) &&
    isReserved(parser, word)
    ? `; WGSL keeps '${word}' for itself: choose another name`
    : '';
}

/** The parser refuses reserved words as names, and does not say that they are reserved. */
function isReserved(parser: Parser, word: string): boolean {
  return parsed(parser, `alias ${word} = u32;`).diagnostics.some(isError);
}

/** Of one expression: what walks through a tree goes as deep as it is. */
const MOST_OPERATORS = 4000;

/** Which declaration a name means at a place in a function. */
class Scope {
  private readonly own = new Map<string, Local>();

  constructor(private readonly outer: Scope | null) {}

  add(local: Local): void {
    this.own.set(local.name, local);
  }

  find(name: string): Local | null {
    return this.own.get(name) ?? this.outer?.find(name) ?? null;
  }
}

class Reader {
  constructor(private readonly source: string) {}

  module(moduleElem: Wesl.ModuleElem): Module {
    const functions = new Map<string, FunctionDeclaration>();
    const variables = new Map<string, GlobalVariable>();
    const structs = new Map<string, Struct>();
    const constants = new Map<string, GlobalConstant>();
    const aliases = new Map<string, TypeName>();
    for (const each of moduleElem.decls) {
      if (each.kind === 'fn') functions.set(nameOf(each.name), this.function(each));
      else if (each.kind === 'gvar') variables.set(nameOf(each.name.decl), this.variable(each));
      else if (each.kind === 'struct') structs.set(nameOf(each.name), this.struct(each));
      else if (each.kind === 'alias') aliases.set(nameOf(each.name), this.type(each.typeRef));
      else if (each.kind === 'const' || each.kind === 'override')
        constants.set(nameOf(each.name.decl), this.constant(each));
      else if (each.kind !== 'directive' && each.kind !== 'assert' && each.kind !== 'empty')
        throw this.refuse(
          'start' in each ? each : moduleElem,
          `${each.kind} is not supported at module scope`,
        );
    }
    return { source: this.source, functions, variables, structs, constants, aliases };
  }

  private refuse({ start }: { readonly start: number }, problem: string): WgslError {
    return new WgslError(this.source, start, problem);
  }

  private function(element: Wesl.FnElem): FunctionDeclaration {
    const scope = new Scope(null);
    const parameters = element.params.map((each) => {
      const local: Local = { ...this.local(each.name, 'parameter'), start: each.name.decl.start };
      scope.add(local);
      return { local, attributes: this.attributes(each) };
    });
    const { start, end, name, returnType, body } = element;
    let statements: Statement[] = [];
    let unsupported: WgslError | null = null;
    try {
      statements = this.statements(body.body, scope);
    } catch (error) {
      if (!(error instanceof WgslError)) throw error;
      unsupported = error;
    }
    return {
      start,
      end,
      name: nameOf(name),
      parameters,
      result: returnType ? this.type(returnType) : null,
      attributes: this.attributes(element),
      // The parameters and the body are one scope.
      body: { kind: 'block', start: body.start, end: body.end, body: statements },
      bodyStart: this.source.indexOf('{', body.start) + 1,
      unsupported,
    };
  }

  private variable(element: Wesl.GlobalVarElem): GlobalVariable {
    const [space, access] = (element.template ?? []).map(({ name }) => name);
    const { decl, typeRef } = element.name;
    return {
      ...spanOf(element),
      name: nameOf(decl),
      type: typeRef ? this.type(typeRef) : null,
      space: space ?? 'handle',
      access: access ?? null,
      attributes: this.attributes(element),
    };
  }

  private struct(element: Wesl.StructElem): Struct {
    const members = element.members.map((each) => ({
      ...spanOf(each),
      name: each.name.name,
      type: this.type(each.typeRef),
      attributes: this.attributes(each),
    }));
    return { ...spanOf(element), name: nameOf(element.name), members };
  }

  private constant(element: Wesl.ConstElem | Wesl.OverrideElem): GlobalConstant {
    const { kind, init } = element;
    const { decl, typeRef } = element.name;
    return {
      kind,
      ...spanOf(element),
      name: nameOf(decl),
      type: typeRef ? this.type(typeRef) : null,
      value: init ? this.expression(init, new Scope(null)) : null,
      attributes: this.attributes(element),
    };
  }

  private local({ decl, typeRef, start, end }: Wesl.TypedDeclElem, kind: Local['kind']): Local {
    return { start, end, name: nameOf(decl), kind, type: typeRef ? this.type(typeRef) : null };
  }

  private attributes({ attributes = [] }: Wesl.HasAttributes): Attribute[] {
    return attributes.flatMap(({ attribute, start, end }): Attribute[] => {
      if (attribute.kind === '@attribute') {
        const parameters = (attribute.params ?? []).map(({ expression }) =>
          this.expression(expression, new Scope(null)),
        );
        return [{ name: attribute.name, parameters, start, end }];
      }
      if (attribute.kind === '@builtin') {
        const { param } = attribute;
        const value: Name = { kind: 'name', name: param.name, local: null, ...spanOf(param) };
        return [{ name: 'builtin', parameters: [value], start, end }];
      }
      if (attribute.kind === '@diagnostic' || attribute.kind === '@interpolate') return [];
      throw this.refuse({ start }, `${attribute.kind} is not WGSL; link the module first`);
    });
  }

  private type(element: Wesl.TypeRefElem): TypeName {
    const parameters = (element.templateParams ?? []).map((each) => this.typeParameter(each));
    return { name: element.name.originalName, parameters, ...spanOf(element) };
  }

  private typeParameter(element: Wesl.ExpressionElem): TypeName | Expression {
    if (element.kind === 'type') return this.type(element);
    if (element.kind === 'ref')
      return { name: element.ident.originalName, parameters: [], ...spanOf(element) };
    return this.expression(element, new Scope(null));
  }

  private expression(element: Wesl.ExpressionElem, scope: Scope): Expression {
    const { start, end } = element;
    switch (element.kind) {
      case 'literal':
        return this.literal(element);
      case 'ref': {
        const name = element.ident.originalName;
        return { kind: 'name', name, local: scope.find(name), start, end };
      }
      case 'type': {
        const name = element.name.originalName;
        return { kind: 'name', name, local: scope.find(name), start, end };
      }
      case 'parenthesized-expression':
        return { ...this.expression(element.expression, scope), start, end };
      case 'component-expression':
        return {
          kind: 'index',
          base: this.expression(element.base, scope),
          index: this.expression(element.access, scope),
          start,
          end,
        };
      case 'component-member-expression':
        return {
          kind: 'member',
          base: this.expression(element.base, scope),
          member: element.access.name,
          start,
          end,
        };
      case 'unary-expression': {
        const operand = this.expression(element.expression, scope);
        return { kind: 'unary', operator: element.operator.value, operand, start, end };
      }
      case 'binary-expression': {
        const operands: Expression[] = [];
        const operators: string[] = [];
        this.flatten(element, scope, operands, operators);
        return associate(operands, operators);
      }
      case 'call-expression':
        return this.call(element, scope);
      default:
        throw this.refuse(element, 'this expression is not supported');
    }
  }

  /** The chain of operands and operators in source order, whatever the parser's shape. */
  private flatten(
    element: Wesl.BinaryExpression,
    scope: Scope,
    operands: Expression[],
    operators: string[],
  ): void {
    const chain: Wesl.BinaryExpression[] = [];
    let first: Wesl.ExpressionElem = element;
    for (; first.kind === 'binary-expression'; first = first.left) chain.push(first);
    this.flattenPart(first, scope, operands, operators);
    for (const { operator, right } of chain.toReversed()) {
      if (operators.length === MOST_OPERATORS)
        throw this.refuse(
          element,
          `this expression has more than ${MOST_OPERATORS} operators in a row; give parts of it names`,
        );
      const [start, end] = operator.span;
      operators.push(this.source.slice(start, end));
      this.flattenPart(right, scope, operands, operators);
    }
  }

  private flattenPart(
    element: Wesl.ExpressionElem,
    scope: Scope,
    operands: Expression[],
    operators: string[],
  ): void {
    if (element.kind === 'binary-expression') this.flatten(element, scope, operands, operators);
    else operands.push(this.expression(element, scope));
  }

  private call(element: Wesl.FunctionCallExpression, scope: Scope): Expression & { kind: 'call' } {
    const { function: callee, templateArgs = [], start, end } = element;
    const name = callee.kind === 'type' ? callee.name.originalName : callee.ident.originalName;
    const own = callee.kind === 'type' ? (callee.templateParams ?? []) : [];
    const parameters = [...own, ...templateArgs].map((each) => this.typeParameter(each));
    return {
      kind: 'call',
      callee: { name, parameters, start: callee.start, end: callee.end },
      parameters: element.arguments.map((each) => this.expression(each, scope)),
      start,
      end,
    };
  }

  private literal(element: Wesl.Literal): Literal {
    const { value: text, start, end } = element;
    if (text === 'true' || text === 'false')
      return { kind: 'literal', type: 'bool', value: text === 'true', start, end };
    const hexadecimal = /^0x/i.test(text);
    const [, digits, suffix] = (hexadecimal && !/[.p]/i.test(text)
      ? /^(.*?)([iu]?)$/
      : /^(.*?)([iufh]?)$/
    ).exec(text) as unknown as [string, string, string];
    const suffixed = { i: 'i32', u: 'u32', f: 'f32', h: 'f16' } as const;
    const whole = hexadecimal ? !/[.p]/i.test(digits) : /^\d+$/.test(digits);
    const type = suffix
      ? suffixed[suffix as keyof typeof suffixed]
      : whole
        ? 'abstract-int'
        : 'abstract-float';
    // Hexadecimal fractions are never indices: their value is not asked for.
    const value = whole || !hexadecimal ? Number(digits) : Number.NaN;
    return { kind: 'literal', type, value, start, end };
  }

  private block({ start, end, body }: Wesl.BlockElem, outer: Scope): Block {
    return { kind: 'block', start, end, body: this.statements(body, new Scope(outer)) };
  }

  private statements(statements: readonly Wesl.Statement[], scope: Scope): Statement[] {
    return statements.flatMap((each) => this.statement(each, scope) ?? []);
  }

  private statement(element: Wesl.Statement, scope: Scope): Statement | null {
    const { start, end } = element;
    switch (element.kind) {
      case 'empty':
      case 'assert':
      // The loop around it has read it.
      case 'continuing':
        return null;
      case 'block':
        return this.block(element, scope);
      case 'var':
      case 'let':
      case 'const': {
        // The name is known from the next statement on.
        const value = element.init ? this.expression(element.init, scope) : null;
        const local = this.local(element.name, element.kind);
        scope.add(local);
        return { kind: 'declare', local, value, start, end };
      }
      case 'assign': {
        const target = element.lhs.kind === 'phony' ? null : this.expression(element.lhs, scope);
        const operator = element.op.value === '=' ? null : element.op.value.slice(0, -1);
        const value = this.expression(element.rhs, scope);
        return { kind: 'assign', target, operator, value, start, end };
      }
      case 'increment':
      case 'decrement': {
        const value: Literal = { kind: 'literal', type: 'abstract-int', value: 1, start: end, end };
        const operator = element.kind === 'increment' ? '+' : '-';
        const target = this.expression(element.target, scope);
        return { kind: 'assign', target, operator, value, start, end };
      }
      case 'call':
        return { kind: 'call', call: this.call(element.call, scope), start, end };
      case 'return': {
        const value = element.value ? this.expression(element.value, scope) : null;
        return { kind: 'return', value, start, end };
      }
      case 'break':
      case 'continue':
        return { kind: element.kind, start, end };
      case 'if':
        return this.if(element, scope);
      case 'for':
        return this.for(element, scope);
      case 'while': {
        const guard = leaveUnless(this.expression(element.condition, scope));
        return this.loop(element, [guard, this.block(element.body, scope)], []);
      }
      case 'loop':
        return this.loopStatement(element, scope);
      case 'switch':
        return this.switch(element, scope);
      default:
        throw this.refuse(element, `${element.kind} is not supported in a compute shader`);
    }
  }

  private if(element: Wesl.IfElem, scope: Scope): Statement {
    const last = element.else;
    let otherwise: Block | null = null;
    if (last?.kind === 'if')
      otherwise = { kind: 'block', ...spanOf(last), body: [this.if(last, scope)] };
    else if (last) otherwise = this.block(last, scope);
    const condition = this.expression(element.condition, scope);
    const body = this.block(element.body, scope);
    return { kind: 'if', condition, body, otherwise, ...spanOf(element) };
  }

  private for(element: Wesl.ForElem, scope: Scope): Statement {
    const { start, end } = element;
    const own = new Scope(scope);
    const first = element.init ? this.statement(element.init, own) : null;
    const guard = element.condition ? [leaveUnless(this.expression(element.condition, own))] : [];
    const continuing = element.update ? [this.statement(element.update, own) as Statement] : [];
    const loop = this.loop(element, [...guard, this.block(element.body, own)], continuing);
    return { kind: 'block', start, end, body: first ? [first, loop] : [loop] };
  }

  private loopStatement(element: Wesl.LoopElem, scope: Scope): Statement {
    // What the body declares is known in the continuing block.
    const own = new Scope(scope);
    const body = this.statements(element.body.body, own);
    const inner = new Scope(own);
    const continuing = element.continuing
      ? this.statements(element.continuing.body.body, inner)
      : [];
    const breakIf = element.continuing?.breakIf
      ? this.expression(element.continuing.breakIf, inner)
      : null;
    return { ...this.loop(element, body, continuing), breakIf };
  }

  private switch(element: Wesl.SwitchElem, scope: Scope): Statement {
    const clauses = element.clauses.map(({ selectors, body }) => ({
      isDefault: selectors.includes('default'),
      body: this.block(body, scope),
    }));
    const values = element.clauses.flatMap(({ selectors }) =>
      selectors.flatMap((each) => (each === 'default' ? [] : [this.expression(each, scope)])),
    );
    const selector = this.expression(element.selector, scope);
    return { kind: 'switch', selector, clauses, values, ...spanOf(element) };
  }

  private loop(
    element: Wesl.AbstractElemBase,
    statements: Statement[],
    continuing: Statement[],
  ): Statement & { kind: 'loop' } {
    const span = spanOf(element);
    const body: Block = { kind: 'block', body: statements, ...span };
    return { kind: 'loop', body, continuing, breakIf: null, ...span };
  }
}

function leaveUnless(condition: Expression): Statement {
  const { start, end } = condition;
  const leave: Block = { kind: 'block', start, end, body: [{ kind: 'break', start, end }] };
  const negated: Expression = { kind: 'unary', operator: '!', operand: condition, start, end };
  return { kind: 'if', condition: negated, body: leave, otherwise: null, start, end };
}

function spanOf({ start, end }: Span): Span {
  return { start, end };
}

function nameOf({ ident }: Wesl.DeclIdentElem): string {
  return ident.originalName;
}
