/** Values of constant expressions for sizes of arrays and workgroups: whole numbers. */
import type { Expression, GlobalConstant, Module } from './tree.js';
import { builtinOf } from './walk.js';

/** Values that a pipeline gives to `override`s, by name. */
export type Overrides = Readonly<Record<string, number | boolean>>;

/** @returns null when it is none that can be computed here */
export function constantValue(
  module: Module,
  expression: Expression,
  overrides: Overrides = {},
): number | null {
  const value = (each: Expression): number | null => {
    switch (each.kind) {
      case 'literal':
        return typeof each.value === 'number' ? each.value : null;
      case 'name': {
        if (each.local !== null) return null;
        const constant = module.constants.get(each.name);
        return constant ? constantOf(module, constant, overrides) : null;
      }
      case 'unary': {
        const operand = value(each.operand);
        return operand !== null && each.operator === '-' ? -operand : null;
      }
      case 'binary': {
        const left = value(each.left);
        const right = value(each.right);
        return left === null || right === null ? null : compute(each.operator, left, right);
      }
      case 'call': {
        const [first, ...others] = each.parameters.map(value);
        if (first === null || first === undefined || others.includes(null)) return null;
        const name = builtinOf(each, module);
        if (name === 'u32' || name === 'i32') return Math.trunc(first);
        if (name === 'min') return Math.min(first, ...(others as number[]));
        return name === 'max' ? Math.max(first, ...(others as number[])) : null;
      }
      default:
        return null;
    }
  };
  return value(expression);
}

export function constantOf(
  module: Module,
  constant: GlobalConstant,
  overrides: Overrides,
): number | null {
  if (constant.kind === 'override' && Object.hasOwn(overrides, constant.name)) {
    const value = overrides[constant.name];
    return typeof value === 'number' ? value : null;
  }
  return constant.value ? constantValue(module, constant.value, overrides) : null;
}

function compute(operator: string, left: number, right: number): number | null {
  switch (operator) {
    case '+':
      return left + right;
    case '-':
      return left - right;
    case '*':
      return left * right;
    case '/':
      return right === 0 ? null : Math.trunc(left / right);
    case '%':
      return right === 0 ? null : left % right;
    case '<<':
      return left * 2 ** right;
    case '>>':
      return Math.floor(left / 2 ** right);
    default:
      return null;
  }
}
