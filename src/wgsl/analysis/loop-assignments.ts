/** What a loop changes, and its counters: changed in one place, once a turn, one way. */
import type { Expression, Local, Statement } from '../reading/tree.js';
import { visitExpressions, visitStatements } from '../reading/walk.js';

type Loop = Statement & { readonly kind: 'loop' };

export interface Counter {
  readonly local: Local;
  readonly operator: string;
  readonly step: Expression;
}

export interface LoopAssignments {
  readonly assigned: ReadonlySet<Local>;
  readonly counters: readonly Counter[];
  /** Locals that are named at all: what those point to that are pointers may change, too. */
  readonly named: ReadonlySet<Local>;
  readonly continues: boolean;
}

const OF_LOOPS = new WeakMap<Statement, LoopAssignments>();

export function assignmentsOf(loop: Loop): LoopAssignments {
  const known = OF_LOOPS.get(loop);
  if (known) return known;
  const assigned = new Set<Local>();
  const named = new Set<Local>();
  const changes = new Map<Local, (Counter | null)[]>();
  const nested = new Set<Statement>();
  let continues = false;
  const change = (local: Local, counter: Counter | null) => {
    assigned.add(local);
    changes.set(local, [...(changes.get(local) ?? []), counter]);
  };
  const body = [...loop.body.body, ...loop.continuing];
  visitStatements(body, (statement, expressions) => {
    if (statement.kind === 'loop')
      visitStatements([statement.body, ...statement.continuing], (each) => nested.add(each));
    if (statement.kind === 'continue') continues = true;
    if (statement.kind === 'assign' && statement.target) {
      const local = rootOf(statement.target);
      if (local) change(local, nested.has(statement) ? null : counterOf(statement, local));
    }
    for (const expression of expressions) visit(expression);
  });
  if (loop.breakIf) visit(loop.breakIf);
  function visit(expression: Expression): void {
    visitExpressions(expression, (each) => {
      if (each.kind === 'name' && each.local) named.add(each.local);
      if (each.kind === 'unary' && each.operator === '&') {
        const local = rootOf(each.operand);
        if (local) change(local, null);
      }
    });
  }
  const counters = [...changes.values()].flatMap((list) =>
    list.length === 1 && list[0] ? [list[0]] : [],
  );
  const result = { assigned, counters, named, continues };
  OF_LOOPS.set(loop, result);
  return result;
}

/** The variable that a place is in, unless a pointer stands between. */
function rootOf(expression: Expression): Local | null {
  if (expression.kind === 'name') return expression.local;
  if (expression.kind === 'index' || expression.kind === 'member') return rootOf(expression.base);
  return null;
}

function counterOf(statement: Statement & { kind: 'assign' }, local: Local): Counter | null {
  const { target, operator, value } = statement;
  if (target?.kind !== 'name') return null;
  if (operator !== null) return { local, operator, step: value };
  if (value.kind !== 'binary') return null;
  if (value.left.kind === 'name' && value.left.local === local)
    return { local, operator: value.operator, step: value.right };
  const commutes = value.operator === '+' || value.operator === '*';
  if (commutes && value.right.kind === 'name' && value.right.local === local)
    return { local, operator: value.operator, step: value.left };
  return null;
}
