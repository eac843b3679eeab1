/**
 * How kernels are run again where a page was absent. An invocation that has met one is run once
 * more from its beginning: until then it has done nothing, and meets the same pages again. Where
 * what it wrote itself says which elements it reads, or the result of an atomic is used, that
 * cannot be; then it does nothing twice (events.ts). Where invocations wait for each other, or
 * share memory, it is the workgroup that is run again.
 */
import type { Accesses } from '../analysis/access.js';
import { writtenBy } from '../analysis/writing.js';
import type { Description, Resource } from '../reading/describe.js';
import type { Call, Expression, Index, Local, Statement } from '../reading/tree.js';
import {
  bodiesOf,
  builtinOf,
  callsIn,
  namesIn,
  pathOf,
  some,
  someStatement,
  visitExpressions,
  visitStatements,
} from '../reading/walk.js';
import { WgslError } from '../reading/wgsl-error.js';
import { type Events, effectsOf, eventsOf } from './events.js';

const BARRIER = /^(workgroupBarrier|storageBarrier)$/;
/** A barrier that gives a value. */
const UNIFORM_LOAD = 'workgroupUniformLoad';
/** Those by which less than a workgroup meets: no invocation may leave a loop alone. */
const TOGETHER = /^(textureBarrier|subgroup\w+|quad\w+)$/;

export interface Replay {
  /** Statements that write storage, which an invocation must not do that has met an absent page. */
  readonly stores: readonly Statement[];
  /**
   * Whether the invocation must be run once without any effect, to see that nothing is absent: it
   * reads what it writes, or adds to it, or writes what may itself be absent.
   */
  readonly probes: boolean;
  /** Set where invocations have effects early, and go on behind them. */
  readonly events: Events | null;
  /** Set where workgroups are run again as a whole. */
  readonly together: Together | null;
}

export interface Together {
  /** Where the invocations of a workgroup wait for each other. */
  readonly barriers: readonly Statement[];
  /** Statements before whose end they wait, since they load what is uniform. */
  readonly loads: readonly Statement[];
  /** Whether invocations wait for each other in these statements, or in what they call. */
  waits(statements: readonly Statement[]): boolean;
}

/** Why no invocation can be run again, whatever the arrays; null: that may be. */
export function onceReason({ module, functions }: Description): WgslError | null {
  for (const declaration of functions.values()) {
    for (const call of callsIn(declaration)) {
      const { name } = call.callee;
      const problem = `${name} has invocations wait for each other, and those that wait for a page cannot`;
      if (TOGETHER.test(builtinOf(call, module)))
        return new WgslError(module.source, call.start, problem);
    }
  }
  return null;
}

/** @throws WgslError at what stands in the way */
export function replayOf(
  description: Description,
  accesses: Accesses,
  paged: ReadonlySet<Resource>,
): Replay {
  const { module } = description;
  const refuse = ({ start }: { readonly start: number }, problem: string): WgslError =>
    new WgslError(module.source, start, problem);
  const once = onceReason(description);
  if (once !== null) throw once;
  const together = togetherOf(description);
  const hasResults = accesses.accesses.some(
    ({ kind, resultUsed, operation }) =>
      kind === 'atomic' && resultUsed && operation !== 'atomicLoad',
  );
  const stores = effectsOf(
    description,
    (each) => accesses.writes.has(each),
    'a store in the head of a loop cannot be held back',
  );
  const written = writtenBy(accesses);
  for (const each of stores) {
    if (together?.waits([each]))
      throw refuse(
        each,
        'invocations wait for each other in what is stored here; give it a name before it is stored',
      );
  }
  const probes =
    together !== null ||
    [...paged].some((each) => written.has(each)) ||
    accesses.accesses.some(
      ({ resource, kind }) => kind === 'atomic' || (kind === 'load' && written.has(resource)),
    );
  const hasEvents =
    hasResults || (probes && new Taint(description, accesses, written, paged).leads());
  const events = hasEvents ? eventsOf(description, accesses, stores) : null;
  return { stores, probes: probes && events === null, events, together };
}

/** Null where each invocation runs by itself. */
function togetherOf(description: Description): Together | null {
  const { module, functions } = description;
  const isShared = [...functions.values()].some((each) =>
    [...namesIn(each)].some((name) => module.variables.get(name)?.space === 'workgroup'),
  );
  const waiting = new Set<string>();
  const isWait = (each: Expression): boolean =>
    isUniformLoad(each) || isBarrier(each) || (isCall(each) && waiting.has(each.callee.name));
  const waits = (statements: readonly Statement[]): boolean =>
    someStatement(statements, (_, expressions) => expressions.some((one) => some(one, isWait)));
  for (let before = -1; before < waiting.size; ) {
    before = waiting.size;
    for (const { name, body } of functions.values()) if (waits(body.body)) waiting.add(name);
  }
  const barriers = effectsOf(description, isBarrier, 'a barrier in the head of a loop');
  const loads: Statement[] = [];
  for (const { body } of functions.values()) {
    const heads = headsIn(body.body, module.source);
    visitStatements(body.body, (each, expressions) => {
      if (!expressions.some((one) => some(one, isUniformLoad))) return;
      if (heads.has(each))
        throw new WgslError(
          module.source,
          each.start,
          `${UNIFORM_LOAD} in the head of a loop or behind else; give it a name before`,
        );
      loads.push(each);
    });
  }
  return isShared || barriers.length + loads.length > 0 ? { barriers, loads, waits } : null;

  function isUniformLoad(each: Expression): boolean {
    return isCall(each) && builtinOf(each, module) === UNIFORM_LOAD;
  }

  function isBarrier(each: Expression | Statement): boolean {
    return isCall(each) && BARRIER.test(builtinOf(each, module));
  }
}

function isCall(each: Expression | Statement): each is Call {
  return each.kind === 'call' && 'callee' in each;
}

/** Statements before which none can be put: those in heads of loops, and `if` behind `else`. */
function headsIn(statements: readonly Statement[], source: string): ReadonlySet<Statement> {
  const heads = new Set<Statement>();
  visitStatements(statements, (each) => {
    if (each.kind === 'block' && source.startsWith('for', each.start) && each.body[0] !== undefined)
      heads.add(each.body[0]);
    if (each.kind === 'loop') {
      for (const one of each.continuing) if (!source.startsWith('loop', each.start)) heads.add(one);
      const [guard] = each.body.body;
      if (guard !== undefined && !source.startsWith('loop', each.start)) heads.add(guard);
      if (each.breakIf !== null) heads.add(each);
    }
    const [inner] = each.kind === 'if' ? (each.otherwise?.body ?? []) : [];
    if (inner?.kind === 'if' && each.kind === 'if' && inner.start === each.otherwise?.start)
      heads.add(inner);
  });
  return heads;
}

function touches({ indices }: Accesses, index: Index, resources: ReadonlySet<Resource>): boolean {
  return [...(indices.get(index) ?? [])].some((each) => resources.has(each));
}

function isReference(expression: Expression): boolean {
  return expression.kind === 'unary' && expression.operator === '&';
}

/** Atomics whose results depend on which invocation comes first. */
const ORDERED = /^atomic(Add|Sub|Max|Min|And|Or|Xor|Exchange|CompareExchangeWeak)$/;

/** Values that come from what the kernel writes: variables that may have one, whatever the way. */
class Taint {
  private readonly locals = new Set<Local>();
  /** Variables of the module, and functions by what they return. */
  private readonly names = new Set<string>();

  constructor(
    private readonly description: Description,
    private readonly accesses: Accesses,
    private readonly written: ReadonlySet<Resource>,
    private readonly paged: ReadonlySet<Resource>,
  ) {
    for (const { name } of written) this.names.add(name);
  }

  /** Whether what the kernel writes may say which pages are touched. */
  leads(): boolean {
    while (this.spread());
    return [...this.description.functions.values()].some(({ body }) =>
      someStatement(
        body.body,
        (statement, expressions) =>
          this.chooses(statement) ||
          expressions.some((one) => some(one, (each) => this.selects(each))),
      ),
    );
  }

  private selects(each: Expression): boolean {
    if (each.kind === 'index')
      return touches(this.accesses, each, this.paged) && this.has(each.index);
    const isChoice = each.kind === 'binary' && (each.operator === '&&' || each.operator === '||');
    return isChoice && this.has(each.left) && this.reads(each.right);
  }

  private chooses(statement: Statement): boolean {
    switch (statement.kind) {
      case 'if':
        return this.has(statement.condition) && this.guards(bodiesOf(statement).flat());
      case 'switch':
        return this.has(statement.selector);
      case 'loop':
        return statement.breakIf !== null && this.has(statement.breakIf);
      default:
        return false;
    }
  }

  /** Whether statements read what may be absent, or leave what others are in. */
  private guards(statements: readonly Statement[]): boolean {
    return someStatement(
      statements,
      ({ kind }, expressions) =>
        ['return', 'break', 'continue'].includes(kind) ||
        expressions.some((one) => this.reads(one)),
    );
  }

  private reads(expression: Expression): boolean {
    return some(expression, (each) =>
      each.kind === 'call'
        ? this.description.functions.has(each.callee.name)
        : each.kind === 'index' && touches(this.accesses, each, this.paged),
    );
  }

  private has(expression: Expression): boolean {
    switch (expression.kind) {
      case 'name':
        return expression.local === null
          ? this.names.has(expression.name)
          : this.locals.has(expression.local);
      case 'index':
        return (
          touches(this.accesses, expression, this.written) ||
          this.has(expression.base) ||
          this.has(expression.index)
        );
      case 'member':
        return this.has(expression.base);
      case 'unary':
        return this.has(expression.operand);
      case 'binary':
        return this.has(expression.left) || this.has(expression.right);
      case 'call': {
        const builtin = builtinOf(expression, this.description.module);
        if (builtin === 'arrayLength') return false;
        if (ORDERED.test(builtin)) return true;
        return (
          this.names.has(expression.callee.name) ||
          expression.parameters.some((each) => this.has(each))
        );
      }
      default:
        return false;
    }
  }

  /** True when something more has been found. */
  private spread(): boolean {
    const { functions } = this.description;
    const before = this.locals.size + this.names.size;
    for (const { name, body } of functions.values()) {
      visitStatements(body.body, (statement, expressions) => {
        if (statement.kind === 'declare' && statement.value !== null && this.has(statement.value))
          this.locals.add(statement.local);
        const isPointer =
          statement.kind === 'declare' && statement.value !== null && isReference(statement.value);
        if (isPointer && this.locals.has(statement.local)) this.mark(statement.value as Expression);
        if (statement.kind === 'assign' && statement.target !== null)
          if (this.has(statement.value) || this.has(statement.target)) this.mark(statement.target);
        if (statement.kind === 'return' && statement.value !== null && this.has(statement.value))
          this.names.add(name);
        for (const expression of expressions) {
          visitExpressions(expression, (each) => {
            if (each.kind !== 'call') return;
            this.pass(each);
            const [target] = each.parameters;
            if (
              /^atomic[A-Z]/.test(builtinOf(each, this.description.module)) &&
              target !== undefined
            )
              if (each.parameters.some((one) => this.has(one))) this.mark(target);
          });
        }
      });
    }
    // What is assigned under a condition depends on it.
    for (const { body } of functions.values()) {
      visitStatements(body.body, (statement) => {
        if (statement.kind !== 'if' || !this.has(statement.condition)) return;
        visitStatements(bodiesOf(statement).flat(), (each) => {
          if (each.kind === 'assign' && each.target !== null) this.mark(each.target);
        });
      });
    }
    return this.locals.size + this.names.size > before;
  }

  /** The variable that is assigned to, or that a pointer may point to. */
  private mark(target: Expression): void {
    const root = pathOf(target).at(-1);
    if (root?.kind !== 'name') return;
    if (root.local !== null) this.locals.add(root.local);
    else this.names.add(root.name);
  }

  /** Into a function and, by pointers, out of it. */
  private pass({ callee, parameters }: Call): void {
    const declaration = this.description.functions.get(callee.name);
    if (declaration === undefined) return;
    for (const [at, { local }] of declaration.parameters.entries()) {
      const given = parameters[at];
      if (given === undefined) continue;
      if (this.has(given)) this.locals.add(local);
      else if (this.locals.has(local) && isReference(given)) this.mark(given);
    }
  }
}
