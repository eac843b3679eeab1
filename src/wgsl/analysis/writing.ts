/** What a kernel writes, and by which indices. */

import type { Description, Resource } from '../reading/describe.js';
import type { Expression, Index } from '../reading/tree.js';
import { pathOf, visitExpressions, visitStatements } from '../reading/walk.js';
import type { Accesses } from './access.js';

/** Variables that are written anywhere; others may be declared so, too. */
export function writtenBy({ accesses }: Pick<Accesses, 'accesses'>): Set<Resource> {
  const writes = accesses.filter(
    ({ kind, operation }) => kind !== 'load' && operation !== 'atomicLoad',
  );
  return new Set(writes.map(({ resource }) => resource));
}

/** Indices in what is assigned to, or pointed to, whether it is then written or not. */
export function writingIndices({ functions }: Description, { indices }: Accesses): Set<Index> {
  const found = new Set<Index>();
  const follow = (target: Expression): void => {
    for (const each of pathOf(target))
      if (each.kind === 'index' && indices.has(each)) found.add(each);
  };
  for (const { body } of functions.values()) {
    visitStatements(body.body, (statement, expressions) => {
      if (statement.kind === 'assign' && statement.target !== null) follow(statement.target);
      for (const expression of expressions) {
        visitExpressions(expression, (each) => {
          if (each.kind === 'unary' && each.operator === '&') follow(each.operand);
        });
      }
    });
  }
  return found;
}
