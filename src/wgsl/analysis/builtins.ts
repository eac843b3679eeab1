/** Functions of WGSL whose results say something about indices. */
import type { Arithmetic } from './arithmetic.js';
import { assume } from './conditions.js';
import type { Facts } from './facts.js';
import type { Interval } from './forms.js';
import { isReal, realFunction, realResult, rounded } from './reals.js';
import { F32, joinedValue } from './state.js';
import { type Condition, isInteger, OPEN, truth, UNKNOWN, type Value } from './values.js';

/** @returns null: no function that is known here */
export function builtinResult(
  arithmetic: Arithmetic,
  facts: Facts,
  name: string,
  values: readonly Value[],
): Value | null {
  switch (name) {
    case 'min':
    case 'max':
      return pairwise(arithmetic, facts, name, values[0], values[1]);
    case 'clamp': {
      const atLeast = pairwise(arithmetic, facts, 'max', values[0], values[1]);
      return pairwise(arithmetic, facts, 'min', atLeast, values[2]);
    }
    case 'select':
      return selected(arithmetic, facts, values);
    case 'floor':
    case 'ceil':
    case 'trunc':
      return realOf(name, values[0]);
    case 'abs':
      return absolute(arithmetic, facts, values[0]);
    case 'all':
      return folded('and', values[0]);
    case 'any':
      return folded('or', values[0]);
    default:
      return null;
  }
}

/** An operator on numbers, or on vectors and numbers, element by element. */
export function pairwise(
  arithmetic: Arithmetic,
  facts: Facts,
  operator: string,
  left: Value = UNKNOWN,
  right: Value = UNKNOWN,
): Value {
  const vector = [left, right].find((each) => each.kind === 'vector');
  if (vector !== undefined) {
    const at = (value: Value, index: number) =>
      value.kind === 'vector' ? value.elements[index] : value;
    const elements = vector.elements.map((_, index) =>
      pairwise(arithmetic, facts, operator, at(left, index), at(right, index)),
    );
    return { kind: 'vector', elements };
  }
  const compares = ['<', '<=', '>', '>=', '==', '!='].includes(operator);
  if (isInteger(left) && isInteger(right))
    return compares
      ? truth({ kind: 'compare', operator, left, right })
      : arithmetic.apply(operator, left, right, facts);
  if (compares) return truth(OPEN);
  const [one, other] = [asReal(left), asReal(right)];
  if (one !== null && other !== null)
    return realResult(operator, one, other) ?? { kind: 'unknown', type: F32 };
  if (left.kind === 'truth' && right.kind === 'truth') {
    if (operator === '&' || operator === '|')
      return truth({
        kind: operator === '&' ? 'and' : 'or',
        left: left.condition,
        right: right.condition,
      });
    return truth(OPEN);
  }
  const type = left.kind === 'unknown' ? left.type : null;
  return { kind: 'unknown', type: left.kind === 'real' || right.kind === 'real' ? F32 : type };
}

/** A number without a type becomes what the other one is. */
function asReal(value: Value): Interval | null {
  if (isReal(value)) return value;
  if (!isInteger(value) || value.type !== 'int' || value.form.terms.length > 0) return null;
  return rounded({ lo: value.form.constant, hi: value.form.constant });
}

function realOf(name: string, value: Value | undefined): Value | null {
  if (value?.kind === 'vector') {
    const elements = value.elements.map((each) => realOf(name, each) ?? UNKNOWN);
    return { kind: 'vector', elements };
  }
  return isReal(value) ? realFunction(name, value) : null;
}

function selected(
  arithmetic: Arithmetic,
  facts: Facts,
  [no = UNKNOWN, yes = UNKNOWN, choice]: readonly Value[],
): Value {
  if (choice?.kind !== 'truth') return joinedValue(arithmetic, no, facts, yes, facts);
  const whenTrue = assume(facts, choice.condition, true);
  const whenFalse = assume(facts, choice.condition, false);
  if (whenTrue === null) return no;
  if (whenFalse === null) return yes;
  return joinedValue(arithmetic, no, whenFalse, yes, whenTrue);
}

function absolute(arithmetic: Arithmetic, facts: Facts, value: Value | undefined): Value | null {
  if (!isInteger(value)) return null;
  const negative = arithmetic.negate(value);
  const zero = { ...value, form: { terms: [], constant: 0 } };
  const isNegative: Condition = { kind: 'compare', operator: '<', left: value, right: zero };
  return selected(arithmetic, facts, [value, negative, truth(isNegative)]);
}

function folded(kind: 'and' | 'or', value: Value | undefined): Value {
  if (value?.kind === 'truth') return value;
  if (value?.kind !== 'vector') return truth(OPEN);
  const conditions = value.elements.map((each) => (each.kind === 'truth' ? each.condition : OPEN));
  return truth(conditions.reduce((left, right) => ({ kind, left, right })));
}
