/** Which variables a module's text may store to, whatever their declarations allow. */
import type { Expression, FunctionDeclaration, Local, Module } from './tree.js';
import { builtinOf, pathOf, visitExpressions, visitStatements } from './walk.js';

/** Functions of WGSL's that change nothing by a pointer. */
const READERS = ['arrayLength', 'atomicLoad', 'workgroupUniformLoad'];

/**
 * Names of variables of the module that these functions assign to, also by pointers, or change by
 * atomics.
 * @param functions all that are reached
 */
export function storedVariables(
  module: Module,
  functions: ReadonlyMap<string, FunctionDeclaration>,
): Set<string> {
  const stored = new Set<string>();
  /** Variables of the module that a pointer may point to. */
  const targets = new Map<Local, Set<string>>();
  let isNew = true;
  const point = (local: Local, names: ReadonlySet<string>): void => {
    const known = targets.get(local) ?? new Set();
    const before = known.size;
    for (const each of names) known.add(each);
    if (known.size > before || !targets.has(local)) isNew = true;
    targets.set(local, known);
  };
  const isPointer = (each: Expression): boolean =>
    (each.kind === 'unary' && each.operator === '&') ||
    (each.kind === 'name' && each.local !== null && targets.has(each.local));
  const rootsOf = (each: Expression): ReadonlySet<string> => {
    const root = pathOf(each).at(-1);
    if (root?.kind !== 'name') return new Set();
    return root.local === null ? new Set([root.name]) : (targets.get(root.local) ?? new Set());
  };
  const store = (each: Expression): void => {
    for (const name of rootsOf(each)) stored.add(name);
  };
  const call = (each: Expression & { kind: 'call' }): void => {
    const declaration = functions.get(each.callee.name);
    for (const [at, given] of each.parameters.entries()) {
      if (!isPointer(given)) continue;
      if (declaration !== undefined)
        point((declaration.parameters[at] as { local: Local }).local, rootsOf(given));
      else if (!READERS.includes(builtinOf(each, module))) store(given);
    }
  };
  while (isNew) {
    isNew = false;
    for (const { body } of functions.values()) {
      visitStatements(body.body, (statement, expressions) => {
        if (statement.kind === 'declare' && statement.value !== null && isPointer(statement.value))
          point(statement.local, rootsOf(statement.value));
        if (statement.kind === 'assign' && statement.target !== null) store(statement.target);
        for (const expression of expressions)
          visitExpressions(expression, (each) => {
            if (each.kind === 'call') call(each);
          });
      });
    }
  }
  return stored;
}
