/**
 * Runs an entry point on ranges instead of numbers (abstract interpretation): functions are run at
 * each of their calls, the ways through an `if` are both gone and joined, and a loop is gone
 * through once with its counters standing for all their values.
 */

import { constantOf, constantValue } from '../reading/constants.js';
import type { Description, Resource } from '../reading/describe.js';
import type {
  Block,
  Call,
  Expression,
  FunctionDeclaration,
  Index,
  Local,
  Statement,
} from '../reading/tree.js';
import type { Type } from '../reading/types.js';
import type { UniformValue } from '../reading/uniform-value.js';
import { builtinIn, builtinOf } from '../reading/walk.js';
import { WgslError } from '../reading/wgsl-error.js';
import type { Access, Accesses, AtomicCall, LaunchFacts, Loaded, Named } from './access.js';
import type { Arithmetic } from './arithmetic.js';
import { builtinResult, pairwise } from './builtins.js';
import {
  COMPONENTS,
  each,
  elementType,
  literal,
  memberPlace,
  memberType,
  swizzled,
} from './components.js';
import { assume } from './conditions.js';
import { Facts, type Symbols } from './facts.js';
import { FIRST_FRESH, type Form, type Interval, isConstant } from './forms.js';
import { Ids } from './ids.js';
import { assignmentsOf } from './loop-assignments.js';
import { enterLoop, isCounted, isGuard, type Turns } from './loops.js';
import { exactPiecesOf, piecesOf } from './pieces.js';
import { real, rounded } from './reals.js';
import { anyOf, copyOf, F32, forgotten, joined, joinedValue, type State } from './state.js';
import {
  type Condition,
  integer,
  isInteger,
  OPEN,
  type Place,
  type PlacePath,
  rangeOf,
  rangeOfType,
  truth,
  UNKNOWN,
  type Value,
} from './values.js';

type ResourcePlace = Extract<Place, { kind: 'resource' }>;

interface Frame {
  readonly returns: { readonly state: State; readonly value: Value }[];
  /** Loops and switches around: `break` leaves the last. Ends of loops are known without it. */
  readonly around: (State[] | null)[];
}

/** Statements and expressions that are looked at, those of a function at each of its calls. */
const MOST_STEPS = 100_000;

export class Interpreter implements Accesses {
  readonly accesses: Access[] = [];
  readonly indices = new Map<Index, Set<Resource>>();
  readonly lengths = new Map<Call, Set<Resource>>();
  readonly writes = new Map<Statement | Call, Set<Resource>>();
  readonly loads = new Map<
    Expression,
    { readonly resources: Set<Resource>; readonly type: Type | null }
  >();
  readonly atomics = new Map<Call, AtomicCall>();
  truncates = false;
  private readonly resources: ReadonlyMap<string, Resource>;
  private readonly ids: Ids;
  /** Symbols that stand for a loaded number. */
  private readonly loaded = new Map<number, Loaded>();
  /** Of counters whose turns are known, by their symbols. */
  private readonly turns = new Map<number, Turns>();
  private recording = true;
  private steps = 0;
  /** How many statements have been met that leave a function, a loop or a turn of it. */
  private exits = { returns: 0, others: 0 };

  constructor(
    private readonly description: Description,
    private readonly launch: LaunchFacts | null,
    private readonly symbols: Symbols,
    private readonly arithmetic: Arithmetic,
  ) {
    this.ids = new Ids(description, launch, symbols, arithmetic);
    this.resources = new Map(description.resources.map((each) => [each.name, each]));
  }

  run(facts: Facts): void {
    const entry = this.description.functions.get(
      this.description.entryPoint.name,
    ) as FunctionDeclaration;
    const state: State = { locals: new Map(), facts, certain: true };
    for (const { local, attributes } of entry.parameters) {
      const builtin = builtinIn(attributes);
      const value = builtin ? this.ids.value(builtin.name) : this.ids.structure(local);
      if (value === null)
        throw this.refuse(local, `parameter ${local.name} of the entry point is not supported`);
      state.locals.set(local, value);
    }
    this.call(entry, state);
  }

  private refuse({ start }: { readonly start: number }, problem: string): WgslError {
    return new WgslError(this.description.module.source, start, problem);
  }

  /** Functions run at each call: deep chains of double calls have no end worth waiting for. */
  private step(at: { readonly start: number }): void {
    if (++this.steps > MOST_STEPS)
      throw this.refuse(
        at,
        `the analysis takes more than ${MOST_STEPS} steps until here; have functions call fewer others`,
      );
  }

  // --- functions and statements

  private call(
    declaration: FunctionDeclaration,
    state: State,
  ): { state: State | null; value: Value } {
    const frame: Frame = { returns: [], around: [] };
    const before = state.facts;
    const end = this.statements(declaration.body.body, state, frame);
    if (end) frame.returns.push({ state: end, value: UNKNOWN });
    const [first, ...others] = frame.returns;
    if (!first) return { state: null, value: UNKNOWN };
    let result: { state: State; value: Value } = first;
    for (const each of others) {
      const { state: one, value } = result;
      const { state: other } = each;
      result = {
        state: joined(this.arithmetic, one, other, before) as State,
        value: joinedValue(this.arithmetic, value, one.facts, each.value, other.facts),
      };
    }
    return result;
  }

  private statements(statements: readonly Statement[], from: State, frame: Frame): State | null {
    let state: State | null = from;
    for (const each of statements) {
      if (state === null) return null;
      state = this.statement(each, state, frame);
    }
    return state;
  }

  private statement(statement: Statement, state: State, frame: Frame): State | null {
    this.step(statement);
    switch (statement.kind) {
      case 'block':
        return this.statements(statement.body, state, frame);
      case 'declare':
        state.locals.set(statement.local, this.declared(statement.local, statement.value, state));
        return state;
      case 'assign':
        this.assign(statement, state);
        return state;
      case 'call':
        this.callValue(statement.call, state, false);
        return state;
      case 'return': {
        this.exits.returns++;
        const value = statement.value ? this.value(statement.value, state) : UNKNOWN;
        frame.returns.push({ state, value });
        return null;
      }
      case 'break':
        this.exits.others++;
        frame.around.at(-1)?.push(state);
        return null;
      case 'continue':
        this.exits.others++;
        return null;
      case 'if':
        return this.if(statement, state, frame);
      case 'switch':
        return this.switch(statement, state, frame);
      case 'loop':
        return this.loop(statement, state, frame);
    }
  }

  private if(
    { condition, body, otherwise }: Statement & { kind: 'if' },
    state: State,
    frame: Frame,
  ): State | null {
    const known = this.condition(condition, state);
    const { facts } = state;
    const ways = [assume(facts, known, true), assume(facts, known, false)] as const;
    const isOpen = ways.every((each) => each !== null);
    const go = (block: Block | null, held: Facts | null): State | null => {
      if (held === null) return null;
      const branch = copyOf(state, held);
      if (isOpen) branch.certain = false;
      return block ? this.statements(block.body, branch, frame) : branch;
    };
    const { returns, others } = this.exits;
    const end = joined(this.arithmetic, go(body, ways[0]), go(otherwise, ways[1]), facts);
    const leaves = this.exits.returns > returns || this.exits.others > others;
    if (end !== null && isOpen) end.certain = state.certain && !leaves;
    return end;
  }

  private switch(
    { selector, clauses }: Statement & { kind: 'switch' },
    state: State,
    frame: Frame,
  ): State | null {
    this.value(selector, state);
    const ends: State[] = [];
    frame.around.push(ends);
    for (const { body } of clauses) {
      const clause = copyOf(state);
      clause.certain = false;
      const end = this.statements(body.body, clause, frame);
      if (end) ends.push(end);
    }
    frame.around.pop();
    return ends.reduce<State | null>(
      (one, other) => joined(this.arithmetic, one, other, state.facts),
      null,
    );
  }

  private loop(statement: Statement & { kind: 'loop' }, state: State, frame: Frame): State | null {
    const assignments = assignmentsOf(statement);
    const quietly = <T>(what: () => T): T => {
      const recording = this.recording;
      this.recording = false;
      try {
        return what();
      } finally {
        this.recording = recording;
      }
    };
    const { returns, others } = this.exits;
    const { head, turns } = enterLoop(statement, assignments, state, {
      arithmetic: this.arithmetic,
      symbols: this.symbols,
      value: (each, at) => quietly(() => this.value(each, copyOf(at))),
      condition: (each, at) => quietly(() => this.condition(each, copyOf(at))),
    });
    frame.around.push(null);
    const end = this.body(statement, head, turns, quietly, frame);
    // Those that continue early know less than the end of the body does.
    const continuing = assignments.continues ? copyOf(head) : end;
    if (continuing) {
      const last = this.statements(statement.continuing, continuing, frame);
      if (last && statement.breakIf) this.condition(statement.breakIf, last);
    }
    frame.around.pop();
    this.exits.others = others;
    if (this.exits.returns > returns) head.certain = false;
    return head;
  }

  /** A turn of a loop. */
  private body(
    loop: Statement & { kind: 'loop' },
    head: State,
    turns: readonly Turns[],
    quietly: <T>(what: () => T) => T,
    frame: Frame,
  ): State | null {
    const [first, ...others] = loop.body.body;
    const state = copyOf(head);
    if (first?.kind !== 'if' || !isGuard(first)) {
      state.certain = false;
      return this.statements(loop.body.body, state, frame);
    }
    const guard = quietly(() => this.condition(first.condition, copyOf(head)));
    const isCertain = head.certain && isCounted(loop, turns, guard);
    if (isCertain) for (const each of turns) this.turns.set(each.symbol, each);
    const { others: exits } = this.exits;
    const inside = this.statement(first, state, frame);
    this.exits.others = exits;
    if (inside === null) return null;
    inside.certain = isCertain;
    return this.statements(others, inside, frame);
  }

  private declared(local: Local, value: Expression | null, state: State): Value {
    const type = local.type ? this.description.types.read(local.type) : null;
    if (value === null) return this.zero(type);
    const given = this.value(value, state);
    if (!isInteger(given) || given.type !== 'int') return this.typed(given, type);
    return type === null
      ? { ...given, type: local.kind === 'const' ? 'int' : 'i32' }
      : this.converted(given, type);
  }

  /** Of what is not known, at least the type is. */
  private typed(value: Value, type: Type | null): Value {
    return value.kind === 'unknown' && type ? anyOf(this.arithmetic, type) : value;
  }

  private zero(type: Type | null): Value {
    if (type?.kind === 'scalar' && (type.name === 'i32' || type.name === 'u32'))
      return integer(type.name, 0);
    if (type?.kind === 'scalar' && type.name === 'bool')
      return truth({ kind: 'known', value: false });
    if (type?.kind === 'vector') {
      const element = this.zero({ kind: 'scalar', name: type.component });
      return { kind: 'vector', elements: Array.from({ length: type.width }, () => element) };
    }
    return { kind: 'unknown', type };
  }

  private assign(statement: Statement & { kind: 'assign' }, state: State): void {
    const { target, operator, value } = statement;
    if (target === null) {
      if (value.kind === 'call') this.callValue(value, state, false);
      else this.value(value, state);
      return;
    }
    const place = this.place(target, state);
    if (place === null) throw this.refuse(target, 'this cannot be assigned to');
    if (place.kind === 'resource' && this.recording) note(this.writes, statement, place.resource);
    let given = this.value(value, state);
    if (operator !== null) {
      const old = this.load(place, target, state);
      given = pairwise(this.arithmetic, state.facts, operator, old, given);
    }
    this.store(place, target, given, state);
  }

  // --- places

  /** Null: the expression is a value and no place. */
  private place(expression: Expression, state: State): Place | null {
    switch (expression.kind) {
      case 'name':
        return this.named(expression, state);
      case 'unary': {
        if (expression.operator !== '*') return null;
        const pointer = this.value(expression.operand, state);
        return pointer.kind === 'pointer' ? pointer.place : { kind: 'other', type: null };
      }
      case 'index': {
        const base = this.base(expression.base, state);
        const index = this.value(expression.index, state);
        return base && this.element(base, index, expression);
      }
      case 'member': {
        const base = this.base(expression.base, state);
        return base && memberPlace(base, expression.member);
      }
      default:
        return null;
    }
  }

  private named({ name, local }: Expression & { kind: 'name' }, state: State): Place | null {
    if (local !== null) {
      // Parameters and `let` are values, and may be pointers.
      const kind = state.locals.get(local)?.kind;
      return local.kind === 'var' || kind === 'vector' || kind === 'structure'
        ? { kind: 'local', local, path: [] }
        : null;
    }
    const resource = this.resources.get(name);
    if (resource) {
      const known = this.launch?.uniforms[name];
      return { kind: 'resource', resource, type: resource.type, index: null, member: null, known };
    }
    const variable = this.description.module.variables.get(name);
    return variable
      ? { kind: 'other', type: variable.type && this.description.types.read(variable.type) }
      : null;
  }

  /** What is indexed, or whose member is named: a place, or what a pointer points to. */
  private base(expression: Expression, state: State): Place | null {
    const place = this.place(expression, state);
    if (place !== null) {
      if (place.kind !== 'local' || place.path.length > 0) return place;
      const value = state.locals.get(place.local);
      return value?.kind === 'pointer' ? value.place : place;
    }
    if (expression.kind !== 'name') return null;
    const value = this.value(expression, state);
    return value.kind === 'pointer' ? value.place : null;
  }

  private element(base: Place, index: Value, expression: Index): Place {
    if (base.kind === 'local') {
      return { ...base, path: [...base.path, constantIn(index)] };
    }
    if (base.kind === 'other') return { kind: 'other', type: base.type && elementType(base.type) };
    const { resource, type } = base;
    const element = elementType(type);
    if (element === null) return { kind: 'other', type: null };
    const whole =
      type === resource.runtimeArray || (type === resource.type && type.kind === 'array');
    if (whole && this.recording) note(this.indices, expression, resource);
    const at = constantIn(index);
    // What an id picks from an array is data, by which no parts are made.
    const isPicked = resource.space === 'storage' && !this.isConstant(expression.index);
    const known =
      Array.isArray(base.known) && at !== null && !isPicked
        ? (base.known as UniformValue[])[at]
        : undefined;
    return { ...base, type: element, index: whole ? index : base.index, known };
  }

  private isConstant(index: Expression): boolean {
    const { module, overrides } = this.description;
    return constantValue(module, index, overrides) !== null;
  }

  /** @param site what is a value by it, where that is more than the expression */
  private load(place: Place, expression: Expression, state: State, site = expression): Value {
    if (place.kind === 'other') return anyOf(this.arithmetic, place.type);
    if (place.kind === 'local')
      return this.part(state.locals.get(place.local) ?? this.unset(place.local), place.path);
    if (place.resource.space === 'storage') {
      this.record(place, 'load', null, true, expression, state);
      if (this.recording) noteLoad(this.loads, site, place);
      if (place.known === undefined) return this.loadedFrom(place, state);
    }
    return place.known === undefined
      ? anyOf(this.arithmetic, place.type)
      : this.known(place.known, place.type);
  }

  /** Elements of number arrays are remembered by origin; parts of elements are not. */
  private loadedFrom({ resource, type, index }: ResourcePlace, { facts }: State): Value {
    const any = anyOf(this.arithmetic, type);
    const isElement = type.kind === 'scalar' && type === resource.runtimeArray?.element;
    if (!isElement || !isInteger(any) || !resource.isDivisible) return any;
    const range = index !== null && isInteger(index) ? rangeOf(index, facts) : null;
    const held = range && this.launch?.contents?.(resource.name, range);
    const value = held ? this.arithmetic.between(any.type, held) : any;
    const symbol = value.form.terms[0]?.[0];
    if (symbol !== undefined) this.loaded.set(symbol, { resource, range });
    return value;
  }

  private part(value: Value, [at, ...rest]: PlacePath): Value {
    if (at === undefined) return value;
    if (value.kind === 'vector') {
      if (at === null) return forgotten(this.arithmetic, value.elements[0] ?? UNKNOWN);
      return this.part(
        typeof at === 'string' ? swizzled(value, at) : (value.elements[at] ?? UNKNOWN),
        rest,
      );
    }
    if (value.kind === 'structure')
      return this.part(value.members.get(String(at)) ?? UNKNOWN, rest);
    const type = value.kind === 'unknown' ? value.type : null;
    if (type === null) return UNKNOWN;
    return this.part(
      anyOf(this.arithmetic, typeof at === 'string' ? memberType(type, at) : elementType(type)),
      rest,
    );
  }

  private unset(local: Local): Value {
    return anyOf(this.arithmetic, local.type ? this.description.types.read(local.type) : null);
  }

  private known(value: UniformValue, type: Type): Value {
    if (
      type.kind === 'scalar' &&
      typeof value === 'number' &&
      (type.name === 'i32' || type.name === 'u32')
    )
      return integer(type.name, value);
    if (type.kind === 'vector' && Array.isArray(value)) {
      const element: Type = { kind: 'scalar', name: type.component };
      return {
        kind: 'vector',
        elements: value.map((each: UniformValue) => this.known(each, element)),
      };
    }
    if (type.kind === 'struct' && typeof value === 'object' && !Array.isArray(value)) {
      const given = value as Readonly<Record<string, UniformValue | undefined>>;
      const members = type.members.map(({ name, type: of }): [string, Value] => {
        const own = given[name];
        return [name, own === undefined ? anyOf(this.arithmetic, of) : this.known(own, of)];
      });
      return { kind: 'structure', members: new Map(members) };
    }
    if (type.kind === 'scalar' && type.name === 'f32' && typeof value === 'number')
      return real(value) ?? { kind: 'unknown', type };
    return anyOf(this.arithmetic, type);
  }

  private store(place: Place, expression: Expression, value: Value, state: State): void {
    if (place.kind === 'resource') this.record(place, 'store', null, false, expression, state);
    if (place.kind !== 'local') return;
    const { local, path } = place;
    const old = state.locals.get(local) ?? this.unset(local);
    state.locals.set(local, this.replaced(old, path, value));
  }

  private replaced(old: Value, [at, ...rest]: PlacePath, value: Value): Value {
    if (at === undefined) {
      if (!isInteger(value)) return value;
      if (isInteger(old)) return { ...value, type: old.type };
      const type = old.kind === 'unknown' ? old.type : old.kind === 'real' ? F32 : null;
      return value.type === 'int' && type ? this.converted(value, type) : value;
    }
    if (old.kind === 'structure') {
      if (typeof at !== 'string' || !old.members.has(at)) return UNKNOWN;
      const member = this.replaced(old.members.get(at) as Value, rest, value);
      return { kind: 'structure', members: new Map([...old.members, [at, member]]) };
    }
    if (old.kind !== 'vector') return old;
    if (at === null) return forgotten(this.arithmetic, old);
    const wanted = typeof at === 'string' ? COMPONENTS[at] : at;
    const elements = old.elements.map((each, index) =>
      index === wanted ? this.replaced(each, rest, value) : each,
    );
    return { kind: 'vector', elements };
  }

  private record(
    place: ResourcePlace,
    kind: Access['kind'],
    operation: string | null,
    resultUsed: boolean,
    { start }: Expression,
    { facts, certain }: State,
  ): void {
    if (!this.recording) return;
    const { resource, index, member } = place;
    const form = index !== null && isInteger(index) ? index.form : null;
    const range = form && facts.range(form);
    const named = form && this.namedBy(form, facts);
    const isHead = index === null && resource.runtimeArray !== null;
    this.accesses.push({
      resource,
      kind,
      isHead,
      member,
      operation,
      resultUsed,
      range,
      pieces: (gap) => form && piecesOf(form, facts, gap),
      certain: (gap) => (certain ? form && this.certainPieces(form, facts, gap) : null),
      form,
      named,
      offset: start,
    });
  }

  /** Null: what it touches depends on more than ids and turns. */
  private certainPieces(
    { terms, constant }: Form,
    facts: Facts,
    gap: number,
  ): readonly Interval[] | null {
    const own: [number, number][] = [];
    const axes = new Set<number>();
    let sum = constant;
    for (const [symbol, coefficient] of terms) {
      if (symbol < FIRST_FRESH) {
        const axis = symbol % 3;
        if (axes.has(axis)) return null;
        axes.add(axis);
        own.push([symbol, coefficient]);
        continue;
      }
      const turns = this.turns.get(symbol);
      const [piece, more] = facts.pieces(symbol);
      if (turns === undefined || piece === undefined || more !== undefined) return null;
      const { first, step } = turns;
      const last = Math.floor((step > 0 ? piece.hi - first : first - piece.lo) / Math.abs(step));
      sum += coefficient * first;
      own.push([this.symbols.fresh(0, last), coefficient * step]);
    }
    return exactPiecesOf({ terms: own, constant: sum }, facts, gap);
  }

  private namedBy({ terms, constant }: Form, facts: Facts): Named | null {
    const [only, second] = terms.filter(([symbol]) => this.loaded.has(symbol));
    if (only === undefined || second !== undefined) return null;
    const [symbol, factor] = only;
    const others = { terms: terms.filter((each) => each !== only), constant };
    return {
      by: this.loaded.get(symbol) as Loaded,
      factor,
      rest: facts.range(others),
      pieces: (gap) => piecesOf(others, facts, gap),
    };
  }

  // --- values

  private condition(expression: Expression, state: State): Condition {
    const value = this.value(expression, state);
    return value.kind === 'truth' ? value.condition : OPEN;
  }

  private value(expression: Expression, state: State): Value {
    this.step(expression);
    switch (expression.kind) {
      case 'literal':
        return literal(expression.value, expression.type);
      case 'name':
        return this.nameValue(expression, state);
      case 'index':
      case 'member': {
        const place = this.place(expression, state);
        if (place !== null) return this.load(place, expression, state);
        return this.partOfValue(expression, state);
      }
      case 'unary':
        return this.unary(expression, state);
      case 'binary':
        return this.binary(expression, state);
      case 'call':
        return this.callValue(expression, state, true);
    }
  }

  private nameValue(expression: Expression & { kind: 'name' }, state: State): Value {
    const { name, local } = expression;
    if (local !== null) return state.locals.get(local) ?? this.unset(local);
    const constant = this.description.module.constants.get(name);
    if (constant) {
      const type = constant.type ? this.description.types.read(constant.type) : null;
      if (type?.kind === 'scalar' && type.name === 'f32' && constant.kind === 'const')
        return constant.value ? this.converted(this.value(constant.value, state), type) : UNKNOWN;
      const number = constantOf(this.description.module, constant, this.description.overrides);
      const named = type?.kind === 'scalar' ? type.name : null;
      if (
        number !== null &&
        Number.isInteger(number) &&
        (named === null || named === 'i32' || named === 'u32')
      ) {
        if (named !== null) return integer(named, number);
        const value = constant.value ? this.value(constant.value, state) : UNKNOWN;
        return isInteger(value) ? { ...value, form: { terms: [], constant: number } } : value;
      }
      return constant.value && constant.kind === 'const'
        ? this.value(constant.value, state)
        : anyOf(this.arithmetic, type);
    }
    const place = this.named(expression, state);
    return place ? this.load(place, expression, state) : UNKNOWN;
  }

  /** A component or element of what is no place, such as the result of a function. */
  private partOfValue(expression: Expression & { kind: 'index' | 'member' }, state: State): Value {
    const base = this.value(expression.base, state);
    if (expression.kind === 'index') this.value(expression.index, state);
    const type = base.kind === 'unknown' ? base.type : null;
    if (expression.kind === 'member') {
      if (base.kind === 'vector') return swizzled(base, expression.member);
      const member =
        type?.kind === 'struct' && type.members.find(({ name }) => name === expression.member);
      return member ? anyOf(this.arithmetic, member.type) : UNKNOWN;
    }
    if (base.kind === 'vector') return forgotten(this.arithmetic, base.elements[0] ?? UNKNOWN);
    return anyOf(this.arithmetic, type && elementType(type));
  }

  private unary(expression: Expression & { kind: 'unary' }, state: State): Value {
    const { operator, operand } = expression;
    if (operator === '&') {
      const place = this.place(operand, state);
      return place ? { kind: 'pointer', place } : UNKNOWN;
    }
    const value = this.value(operand, state);
    if (operator === '*')
      return value.kind === 'pointer'
        ? this.load(value.place, operand, state, expression)
        : UNKNOWN;
    if (operator === '!')
      return value.kind === 'truth'
        ? truth({ kind: 'not', operand: value.condition })
        : each(value, () => truth(OPEN));
    return each(value, (one) => {
      if (one.kind === 'real') return { kind: 'real', lo: -one.hi, hi: -one.lo };
      if (!isInteger(one)) return one;
      return operator === '-' ? this.arithmetic.negate(one) : this.arithmetic.complement(one);
    });
  }

  private binary({ operator, left, right }: Expression & { kind: 'binary' }, state: State): Value {
    if (operator !== '&&' && operator !== '||') {
      const [one, other] = [this.value(left, state), this.value(right, state)];
      return pairwise(this.arithmetic, state.facts, operator, one, other);
    }
    const first = this.condition(left, state);
    // The right side is only looked at where the left has not decided.
    const held = assume(state.facts, first, operator === '&&');
    if (held === null) return truth(first);
    const { facts: before, certain } = state;
    state.facts = held;
    if (assume(before, first, operator !== '&&') !== null) state.certain = false;
    const second = this.condition(right, state);
    state.facts = before;
    state.certain = certain;
    return truth({ kind: operator === '&&' ? 'and' : 'or', left: first, right: second });
  }

  private callValue(call: Call, state: State, used: boolean): Value {
    const { callee, parameters } = call;
    const declaration = this.description.functions.get(callee.name);
    if (declaration) return this.inlined(declaration, call, state);
    const name = builtinOf(call, this.description.module);
    if (name === 'arrayLength') return this.arrayLength(call, state);
    if (name.startsWith('atomic') && name !== 'atomic') return this.atomic(call, state, used);
    if (name === 'workgroupUniformLoad') {
      const pointer = this.value(parameters[0] as Expression, state);
      return pointer.kind === 'pointer' ? this.load(pointer.place, call, state) : UNKNOWN;
    }
    const values = parameters.map((each) => this.value(each, state));
    return (
      builtinResult(this.arithmetic, state.facts, name, values) ?? this.constructed(call, values)
    );
  }

  private inlined(declaration: FunctionDeclaration, { parameters }: Call, state: State): Value {
    const values = parameters.map((each) => this.value(each, state));
    for (const [at, { local }] of declaration.parameters.entries()) {
      const type = local.type && this.description.types.read(local.type);
      const value = values[at] ?? UNKNOWN;
      state.locals.set(
        local,
        type && isInteger(value) ? this.converted(value, type) : this.typed(value, type),
      );
    }
    const exits = { ...this.exits };
    const { state: after, value } = this.call(declaration, copyOf(state));
    this.exits = exits;
    if (after) {
      for (const [local, changed] of after.locals)
        if (state.locals.has(local)) state.locals.set(local, changed);
      state.facts = after.facts;
    }
    const type = declaration.result && this.description.types.read(declaration.result);
    if (isInteger(value) && value.type === 'int' && type) return this.converted(value, type);
    return value.kind === 'unknown' ? anyOf(this.arithmetic, type) : value;
  }

  private arrayLength(call: Call, state: State): Value {
    const pointer = this.value(call.parameters[0] as Expression, state);
    if (pointer.kind !== 'pointer' || pointer.place.kind !== 'resource')
      return this.arithmetic.any('u32');
    const { resource } = pointer.place;
    if (this.recording) note(this.lengths, call, resource);
    const length = this.launch?.lengths[resource.name];
    return length === undefined
      ? this.arithmetic.between('u32', { lo: 1, hi: 2 ** 30 })
      : integer('u32', length);
  }

  private atomic(call: Call, state: State, used: boolean): Value {
    const [target, ...others] = call.parameters;
    const pointer = this.value(target as Expression, state);
    for (const each of others) this.value(each, state);
    if (pointer.kind !== 'pointer')
      throw this.refuse(call, 'this pointer to an atomic is not understood');
    const { place } = pointer;
    if (this.recording && place.kind !== 'local')
      this.atomics.set(call, {
        isStorage: place.kind === 'resource',
        type: place.type,
        resultUsed: used,
      });
    if (place.kind === 'resource') {
      if (this.recording) note(this.writes, call, place.resource);
      this.record(place, 'atomic', call.callee.name, used, call, state);
    }
    return place.kind === 'local' ? UNKNOWN : anyOf(this.arithmetic, place.type);
  }

  /** Types as functions: conversions, vectors, structures. Other numbers are not followed. */
  private constructed({ callee }: Call, values: readonly Value[]): Value {
    const { name } = callee;
    if (name === 'bitcast' && values.some(hasReal)) {
      const to = callee.parameters[0];
      return to
        ? anyOf(this.arithmetic, this.description.types.read(to as Call['callee']))
        : UNKNOWN;
    }
    const converted = name === 'bitcast' && callee.parameters[0] ? callee.parameters[0] : callee;
    const isType = /^(bool|[iu]32|f32|f16|vec[234][iufh]?|mat[234]x[234][fh]?)$/.test(
      (converted as Call['callee']).name,
    );
    const { module, types } = this.description;
    if (!isType && !module.structs.has(name) && !module.aliases.has(name)) return UNKNOWN;
    const typeName = converted as Call['callee'];
    const isOpen = typeName.parameters.length === 0;
    // The elements of a matrix are not followed.
    if (isOpen && /^mat[234]x[234]$/.test(typeName.name)) return UNKNOWN;
    const bare = isOpen && /^vec[234]$/.test(typeName.name);
    const type = bare ? null : types.read(typeName);
    if (bare || type?.kind === 'vector') {
      const width = bare ? Number(typeName.name[3]) : (type as { width: number }).width;
      const scalar: Type | null =
        type?.kind === 'vector' ? { kind: 'scalar', name: type.component } : null;
      const flat = values.flatMap((each) => (each.kind === 'vector' ? each.elements : [each]));
      const elements = Array.from({ length: width }, (_, at): Value => {
        const value =
          flat.length === 0 ? this.zero(scalar) : (flat[flat.length === 1 ? 0 : at] ?? UNKNOWN);
        return scalar ? this.converted(value, scalar) : value;
      });
      return { kind: 'vector', elements };
    }
    return values.length === 0 ? this.zero(type) : this.converted(values[0] as Value, type as Type);
  }

  /** i32 and u32 convert bit by bit: the form stays. */
  private converted(value: Value, type: Type): Value {
    if (type.kind !== 'scalar') return { kind: 'unknown', type };
    if (type.name === 'i32' || type.name === 'u32') {
      if (isInteger(value)) return { ...value, type: type.name };
      if (value.kind !== 'truth') this.truncates = true;
      if (value.kind === 'real') return this.truncated(value, type.name);
      return value.kind === 'truth'
        ? this.arithmetic.between(type.name, { lo: 0, hi: 1 })
        : this.arithmetic.any(type.name);
    }
    if (type.name === 'bool') return value.kind === 'truth' ? value : truth(OPEN);
    if (type.name !== 'f32') return { kind: 'unknown', type };
    if (value.kind === 'real') return value;
    const isKnown = isInteger(value) && isConstant(value.form);
    const range = isKnown ? rangeOf(value, new Facts(this.symbols)) : null;
    return (range && rounded(range)) ?? { kind: 'unknown', type };
  }

  /** As WGSL has it: what the type has not becomes the nearest that it has. */
  private truncated({ lo, hi }: Interval, type: 'i32' | 'u32'): Value {
    const whole = rangeOfType(type);
    const inType = (value: number) => Math.min(whole.hi, Math.max(whole.lo, Math.trunc(value)));
    return this.arithmetic.between(type, { lo: inType(lo), hi: inType(hi) });
  }
}

function constantIn(value: Value): number | null {
  return isInteger(value) && isConstant(value.form) ? value.form.constant : null;
}

function hasReal(value: Value): boolean {
  return value.kind === 'real' || (value.kind === 'vector' && value.elements.some(hasReal));
}

function note<Key>(sites: Map<Key, Set<Resource>>, key: Key, resource: Resource): void {
  const known = sites.get(key);
  if (known) known.add(resource);
  else sites.set(key, new Set([resource]));
}

function noteLoad(
  loads: Interpreter['loads'],
  site: Expression,
  { resource, type }: ResourcePlace,
): void {
  const known = loads.get(site);
  if (known) known.resources.add(resource);
  else loads.set(site, { resources: new Set([resource]), type });
}
