/**
 * How an invocation goes on where it lacked a page, when it has had effects by then: it is run
 * again from its beginning, and what it did before is left out. What it does, and what it finds in
 * memory that others change meanwhile, are its events, in the order of the program. What it found
 * is kept in a log, and given to it again, so that it comes to the same place in the same way. To
 * others it is an invocation that was slow.
 */
import type { Accesses } from '../analysis/access.js';
import { writtenBy } from '../analysis/writing.js';
import type { Description, Resource } from '../reading/describe.js';
import type { Call, Expression, FunctionDeclaration, Statement } from '../reading/tree.js';
import type { Type } from '../reading/types.js';
import { childrenOf, pathOf, some, visitExpressions, visitStatements } from '../reading/walk.js';
import { WgslError } from '../reading/wgsl-error.js';

/** What is read whose value an invocation must find again. */
export interface LoggedRead {
  readonly component: 'u32' | 'i32' | 'f32';
  readonly width: 1 | 2 | 3 | 4;
}

export interface Events {
  /** Calls of atomics of storage whose results are used. */
  readonly atomics: ReadonlyMap<Call, 'u32' | 'i32'>;
  /** Other reads of what the kernel writes, or of atomics that a workgroup shares. */
  readonly reads: ReadonlyMap<Expression, LoggedRead>;
  /** Indices of what is given out of the log: when it is, its page need not be there. */
  readonly again: ReadonlySet<Expression>;
  /** Statements by which a workgroup changes atomics that it shares. */
  readonly shared: readonly Statement[];
  /** What of a store has events or calls, so that it is evaluated before, and once. */
  readonly apart: ReadonlyMap<Statement, readonly Expression[]>;
  /** Words of the log that an invocation needs at most; null: loops say how many. */
  readonly words: number | null;
}

/** Parts of a store: indices in what is written to, and values, in their order. */
interface StoreParts {
  readonly target: Expression;
  readonly indices: readonly Expression[];
  readonly values: readonly Expression[];
}

/** Values that come from memory, by where they are read, with their types. */
type Values = Map<Expression, Type | null>;
type Atomics = ReadonlyMap<Call, 'u32' | 'i32'>;

/** @throws WgslError at what cannot be found again */
export function eventsOf(
  description: Description,
  accesses: Accesses,
  stores: readonly Statement[],
): Events {
  const { functions, module } = description;
  const refuse: Refuse = ({ start }, problem) => new WgslError(module.source, start, problem);
  const { atomics, values } = foundBy(accesses, refuse);
  const isAtomic = (each: Expression): boolean => each.kind === 'call' && atomics.has(each);
  const isValue = (each: Expression): boolean => values.has(each) || isAtomic(each);
  const eventful = eventfulFunctions(functions, (each) => stores.includes(each), isValue);
  // A function may change variables of the invocation besides: it is called once, also where the
  // store has been made before.
  const isApart = (expression: Expression): boolean =>
    some(
      expression,
      (each) => each.kind === 'call' && (functions.has(each.callee.name) || atomics.has(each)),
    );
  const apart = new Map<Statement, readonly Expression[]>();
  for (const store of stores) {
    checkStore(store, isApart, eventful, refuse);
    const { target, indices, values: given } = partsOf(store);
    const own = [...indices, ...given].some(isApart) ? [...indices, ...given.filter(isApart)] : [];
    apart.set(store, own);
    // What is read within a store is not looked at again.
    const inside = (expression: Expression) => {
      if (own.includes(expression)) return;
      values.delete(expression);
      for (const each of childrenOf(expression)) inside(each);
    };
    for (const each of [target, ...given]) inside(each);
  }
  const reads = new Map<Expression, LoggedRead>();
  for (const [site, type] of values)
    reads.set(
      site,
      loggedRead(type, () => refuse(site, UNREADABLE)),
    );
  const again = new Set<Expression>();
  const isEvent = (each: Expression): boolean =>
    reads.has(each) || isCallOf(each, eventful) || isAtomic(each);
  for (const site of [...atomics.keys(), ...reads.keys()]) {
    const { indices, values: given } = partsOfSite(site);
    const [first, ...others] = indices;
    // No event may come between the index and what is found by it.
    if (first !== undefined && ![...others, ...given].some((each) => some(each, isEvent)))
      again.add(first);
  }
  const isShared = (each: Statement | Call): boolean =>
    accesses.atomics.get(each as Call)?.isStorage === false;
  const shared = effectsOf(description, isShared, 'an atomic in the head of a loop');
  return { atomics, reads, again, shared, apart, words: wordsOf(description, atomics, reads) };
}

type Refuse = (at: { readonly start: number }, problem: string) => WgslError;

/** What an invocation finds that others may change meanwhile. */
function foundBy(accesses: Accesses, refuse: Refuse): { atomics: Atomics; values: Values } {
  const written = writtenBy(accesses);
  const isOwn = (resources: ReadonlySet<Resource>) =>
    [...resources].some((each) => written.has(each));
  const atomics = new Map<Call, 'u32' | 'i32'>();
  const values: Values = new Map();
  for (const [call, { isStorage, type, resultUsed }] of accesses.atomics) {
    if (!resultUsed) continue;
    if (isStorage && type?.kind === 'atomic') atomics.set(call, type.name);
    else if (call.callee.name === 'atomicLoad') values.set(call, type);
    else
      throw refuse(
        call,
        `what ${call.callee.name} gives back of memory of the workgroup is different when the workgroup is run again; ` +
          'have each invocation find its place by a sum over those before it',
      );
  }
  for (const [site, { resources, type }] of accesses.loads)
    if (isOwn(resources)) values.set(site, type);
  return { atomics, values };
}

/** @throws WgslError at a store whose parts cannot be evaluated before it, in their order */
function checkStore(
  store: Statement,
  isApart: (each: Expression) => boolean,
  eventful: ReadonlySet<string>,
  refuse: Refuse,
): void {
  const { values } = partsOf(store);
  const adds = store.kind === 'assign' && store.operator !== null;
  if (adds && values.some((each) => some(each, (one) => isCallOf(one, eventful))))
    throw refuse(
      store,
      'this adds to what a function that it calls may write; give the result a name before',
    );
  const isPlain = (each: Expression): boolean => !isApart(each) && each.kind !== 'literal';
  if (values.some((each, at) => isApart(each) && values.slice(0, at).some(isPlain)))
    throw refuse(
      store,
      'a function that this calls may change what is compared before; give both values names before',
    );
}

/** Words of the log that an invocation needs at most; null: loops say how many. */
function wordsOf(
  { functions, entryPoint }: Description,
  atomics: Atomics,
  reads: ReadonlyMap<Expression, LoggedRead>,
): number | null {
  const known = new Map<FunctionDeclaration, number>();
  const count = (declaration: FunctionDeclaration): number => {
    const before = known.get(declaration);
    if (before !== undefined) return before;
    const inLoop = new Set<Expression>();
    let words = 0;
    visitStatements(declaration.body.body, (statement, expressions) => {
      if (statement.kind === 'loop')
        visitStatements([statement], (_, inside) => {
          for (const each of inside) inLoop.add(each);
        });
      for (const expression of expressions) {
        let own = 0;
        visitExpressions(expression, (each) => {
          own += reads.get(each)?.width ?? 0;
          if (each.kind !== 'call') return;
          if (atomics.has(each)) own += each.callee.name === 'atomicCompareExchangeWeak' ? 2 : 1;
          const called = functions.get(each.callee.name);
          if (called !== undefined) own += count(called);
        });
        words += own > 0 && inLoop.has(expression) ? Infinity : own;
      }
    });
    known.set(declaration, words);
    return words;
  };
  const words = count(functions.get(entryPoint.name) as FunctionDeclaration);
  return Number.isFinite(words) ? words : null;
}

const UNREADABLE =
  'what is read here the kernel itself writes, and it is no number or vector that could be given to an invocation again; read its members one by one';

export function partsOf(store: Statement): StoreParts {
  return store.kind === 'assign' && store.target !== null
    ? withIndices(store.target, [store.value])
    : partsOfSite(callOf(store));
}

function partsOfSite(site: Expression): StoreParts {
  const [target, ...values] = site.kind === 'call' ? site.parameters : [site];
  return withIndices(target as Expression, values);
}

function withIndices(target: Expression, values: readonly Expression[]): StoreParts {
  const indices = pathOf(target).flatMap((each) => (each.kind === 'index' ? [each.index] : []));
  return { target, indices: indices.toReversed(), values };
}

function callOf(store: Statement): Call {
  return (
    store.kind === 'call' ? store.call : (store as Statement & { kind: 'assign' }).value
  ) as Call;
}

/** Functions that do or find something, or call one that does. */
function eventfulFunctions(
  functions: ReadonlyMap<string, FunctionDeclaration>,
  isStore: (each: Statement) => boolean,
  isValue: (each: Expression) => boolean,
): Set<string> {
  const found = new Set<string>();
  for (let before = -1; before < found.size; ) {
    before = found.size;
    for (const { name, body } of functions.values()) {
      visitStatements(body.body, (statement, expressions) => {
        const has = (each: Expression) => isValue(each) || isCallOf(each, found);
        if (isStore(statement) || expressions.some((each) => some(each, has))) found.add(name);
      });
    }
  }
  return found;
}

/**
 * Statements of all functions that are, or consist of, an effect that `isMeant`. One in the head of
 * a loop, which is no statement of its own, is an error that says `what`.
 */
export function effectsOf(
  { functions, module: { source } }: Description,
  isMeant: (effect: Statement | Call) => boolean,
  what: string,
): Statement[] {
  const found: Statement[] = [];
  const heads = new Set<Statement>();
  for (const { body } of functions.values()) {
    visitStatements(body.body, (each) => {
      const [head] = each.kind === 'block' ? each.body : [];
      if (head !== undefined && source.startsWith('for', each.start)) heads.add(head);
      const effect =
        each.kind === 'call'
          ? each.call
          : each.kind === 'assign' && each.target === null
            ? each.value
            : each;
      if (!isMeant(effect as Statement | Call)) return;
      if (heads.has(each) || source[each.end - 1] !== ';')
        throw new WgslError(source, each.start, `${what}; write it in the body`);
      found.push(each);
    });
  }
  return found;
}

function loggedRead(type: Type | null, refusal: () => WgslError): LoggedRead {
  const name =
    type?.kind === 'scalar' || type?.kind === 'atomic'
      ? type.name
      : type?.kind === 'vector'
        ? type.component
        : null;
  if (name !== 'u32' && name !== 'i32' && name !== 'f32') throw refusal();
  return { component: name, width: type?.kind === 'vector' ? type.width : 1 };
}

function isCallOf(expression: Expression, names: ReadonlySet<string>): boolean {
  return expression.kind === 'call' && names.has(expression.callee.name);
}
