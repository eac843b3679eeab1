/** In how many dimensions a launch of a module is laid out, as far as its text shows it. */

import type { Description } from '../reading/describe.js';
import type { Attribute, Expression, Local } from '../reading/tree.js';
import { builtinIn, visitExpressions, visitFunction, visitStatements } from '../reading/walk.js';
import type { Position } from '../reading/wgsl-error.js';
import { positionAt } from '../reading/wgsl-error.js';
import { COMPONENTS } from './components.js';

export interface Dimensions {
  readonly count: 1 | 2 | 3;
  /** The place that shows it; null: one dimension, which nothing needs to show. */
  readonly position: Position | null;
  /** Whether its workgroups have so many dimensions, and not only its ids. */
  readonly byWorkgroup: boolean;
}

/** Builtins that tell invocations of a launch apart in each dimension. */
const IDS = ['global_invocation_id', 'workgroup_id'];

/** By the size of workgroups, and by which components of ids are read. */
export function dimensionsOf(description: Description): Dimensions {
  const { entryPoint } = description;
  const [, y, z] = entryPoint.workgroupSize;
  const wide = z > 1 ? 3 : y > 1 ? 2 : 1;
  const read = componentsRead(description);
  if (wide > 1 && wide >= read.count)
    return { count: wide, position: entryPoint.position, byWorkgroup: true };
  return { ...read, byWorkgroup: wide > 1 };
}

function componentsRead(description: Description): Pick<Dimensions, 'count' | 'position'> {
  const { module, functions } = description;
  const vectors = vectorsOf(description);
  let most = 0;
  let at: number | null = null;
  const note = (component: number, start: number): void => {
    if (component <= most) return;
    most = component;
    at = start;
  };
  for (const declaration of functions.values())
    visitFunction(declaration, (each) => {
      if (each.kind === 'member' && vectors.has(each.base))
        for (const letter of each.member) note(COMPONENTS[letter] ?? 0, each.start);
      if (each.kind === 'index' && vectors.has(each.base) && each.index.kind === 'literal')
        note(Number(each.index.value), each.start);
    });
  const position = at === null ? null : positionAt(module.source, at);
  return { count: (Math.min(most, 2) + 1) as 1 | 2 | 3, position };
}

/** Tells whether an expression is one of the ids as a whole, by whatever name. */
function vectorsOf({ module, functions, entryPoint }: Description): {
  has(expression: Expression): boolean;
} {
  const locals = new Set<Local>();
  /** Members of the structures by which an entry point has its builtins. */
  const members = new Map<Local, ReadonlySet<string>>();
  for (const { local, attributes } of functions.get(entryPoint.name)?.parameters ?? []) {
    if (isId(attributes)) locals.add(local);
    const struct = local.type && module.structs.get(local.type.name);
    const named = struct?.members.filter((each) => isId(each.attributes)).map(({ name }) => name);
    if (named !== undefined) members.set(local, new Set(named));
  }
  const has = (each: Expression): boolean => {
    if (each.kind === 'name') return each.local !== null && locals.has(each.local);
    if (each.kind !== 'member' || each.base.kind !== 'name' || each.base.local === null)
      return false;
    return members.get(each.base.local)?.has(each.member) === true;
  };
  for (let before = -1; before < locals.size; ) {
    before = locals.size;
    for (const { body } of functions.values()) {
      visitStatements(body.body, (statement, expressions) => {
        if (statement.kind === 'declare' && statement.value !== null && has(statement.value))
          locals.add(statement.local);
        for (const expression of expressions) {
          visitExpressions(expression, (each) => {
            if (each.kind !== 'call') return;
            const parameters = functions.get(each.callee.name)?.parameters ?? [];
            for (const [number, { local }] of parameters.entries()) {
              const given = each.parameters[number];
              if (given !== undefined && has(given)) locals.add(local);
            }
          });
        }
      });
    }
  }
  return { has };
}

function isId(attributes: readonly Attribute[]): boolean {
  return IDS.includes(builtinIn(attributes)?.name ?? '');
}
