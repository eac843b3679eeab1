/**
 * Operators by how they bind. The parser gives `a < b * c + d` another shape than the language
 * does, so that every chain of operators is taken apart and put together again here.
 */
import type { Expression } from './tree.js';

const LEVELS: readonly (readonly string[])[] = [
  ['||'],
  ['&&'],
  ['|'],
  ['^'],
  ['&'],
  ['==', '!='],
  ['<', '<=', '>', '>='],
  ['<<', '>>'],
  ['+', '-'],
  ['*', '/', '%'],
];
const LEVEL = new Map(
  LEVELS.flatMap((operators, level) => operators.map((each) => [each, level] as const)),
);

/** @param operators one fewer than operands, in the order of the source */
export function associate(
  operands: readonly Expression[],
  operators: readonly string[],
): Expression {
  let at = 0;
  const climb = (least: number): Expression => {
    let left = operands[at] as Expression;
    while (at < operators.length) {
      const operator = operators[at] as string;
      const level = LEVEL.get(operator);
      if (level === undefined) throw new Error(`no operator ${operator}`);
      if (level < least) break;
      at++;
      // Those of one level bind from the left.
      const right = climb(level + 1);
      left = { kind: 'binary', operator, left, right, start: left.start, end: right.end };
    }
    return left;
  };
  return climb(0);
}
