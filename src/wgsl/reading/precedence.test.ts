import { expect, test } from 'vitest';
import { loadParser } from './parser.js';
import { parse } from './syntax.js';
import type { Expression } from './tree.js';

const parser = await loadParser();

/** The expression with all parentheses that its shape needs. */
function shape(expression: Expression): string {
  switch (expression.kind) {
    case 'binary':
      return `(${shape(expression.left)} ${expression.operator} ${shape(expression.right)})`;
    case 'unary':
      return `${expression.operator}${shape(expression.operand)}`;
    case 'index':
      return `${shape(expression.base)}[${shape(expression.index)}]`;
    case 'call':
      return `${expression.callee.name}(${expression.parameters.map(shape).join(', ')})`;
    case 'name':
      return expression.name;
    default:
      return expression.kind === 'literal' ? String(expression.value) : '?';
  }
}

function shapeOf(text: string): string {
  const module = parse(parser, `fn f() { let x = ${text}; }`);
  const [statement] = module.functions.get('f')!.body.body;
  return shape((statement as { value: Expression }).value);
}

test.each([
  ['a < b * c + d', '(a < ((b * c) + d))'],
  ['a < b * c + d && e', '((a < ((b * c) + d)) && e)'],
  ['a >= b + c * d', '(a >= (b + (c * d)))'],
  ['a - b - c', '((a - b) - c)'],
  ['a - (b - c)', '(a - (b - c))'],
  ['a + b * c - d / e % f', '((a + (b * c)) - ((d / e) % f))'],
  ['-a + b', '(-a + b)'],
  ['a << 2u', '(a << 2)'],
  ['a[i] < b[i + 1] || c', '((a[i] < b[(i + 1)]) || c)'],
  ['x == y + 1 || x < y - 1 + z', '((x == (y + 1)) || (x < ((y - 1) + z)))'],
  ['f(a < b * c + d, e)', 'f((a < ((b * c) + d)), e)'],
])('%s', (text, expected) => {
  expect(shapeOf(text)).toBe(expected);
});
