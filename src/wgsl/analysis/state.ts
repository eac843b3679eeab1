/** Where the analysis stands on a path: values of variables, and facts of symbols. */

import type { Local } from '../reading/tree.js';
import type { Type } from '../reading/types.js';
import type { Arithmetic } from './arithmetic.js';
import type { Facts } from './facts.js';
import { sameForm } from './forms.js';
import { isInteger, OPEN, truth, UNKNOWN, type Value } from './values.js';

export const F32: Type = { kind: 'scalar', name: 'f32' };

export interface State {
  readonly locals: Map<Local, Value>;
  facts: Facts;
  /** Whether every invocation comes here, in each turn of the loops around. */
  certain: boolean;
}

export function copyOf({ locals, facts, certain }: State, with_: Facts = facts): State {
  return { locals: new Map(locals), facts: with_, certain };
}

/** A value of the type of which nothing is known. */
export function anyOf(arithmetic: Arithmetic, type: Type | null): Value {
  if (type?.kind === 'scalar' || type?.kind === 'atomic') {
    if (type.name === 'i32' || type.name === 'u32') return arithmetic.any(type.name);
    if (type.name === 'bool') return truth(OPEN);
  }
  if (type?.kind === 'vector') {
    const component: Type = { kind: 'scalar', name: type.component };
    return {
      kind: 'vector',
      elements: Array.from({ length: type.width }, () => anyOf(arithmetic, component)),
    };
  }
  return { kind: 'unknown', type };
}

/** A value of the same shape of which nothing is known. */
export function forgotten(arithmetic: Arithmetic, value: Value): Value {
  if (isInteger(value)) return arithmetic.any(value.type === 'int' ? 'i32' : value.type);
  if (value.kind === 'truth') return truth(OPEN);
  if (value.kind === 'real') return { kind: 'unknown', type: F32 };
  if (value.kind === 'vector')
    return { kind: 'vector', elements: value.elements.map((each) => forgotten(arithmetic, each)) };
  if (value.kind === 'structure') {
    const members = [...value.members].map(([name, each]): [string, Value] => [
      name,
      forgotten(arithmetic, each),
    ]);
    return { kind: 'structure', members: new Map(members) };
  }
  return value;
}

/** Of two ways to the same place; `facts` hold on both. */
export function joined(
  arithmetic: Arithmetic,
  one: State | null,
  other: State | null,
  facts: Facts,
): State | null {
  if (one === null) return other;
  if (other === null) return one;
  const locals = new Map<Local, Value>();
  for (const [local, value] of one.locals) {
    const second = other.locals.get(local);
    if (second) locals.set(local, joinedValue(arithmetic, value, one.facts, second, other.facts));
  }
  return { locals, facts, certain: one.certain && other.certain };
}

export function joinedValue(
  arithmetic: Arithmetic,
  one: Value,
  oneFacts: Facts,
  other: Value,
  otherFacts: Facts,
): Value {
  if (one === other) return one;
  if (isInteger(one) && isInteger(other)) {
    if (sameForm(one.form, other.form)) return one.type === 'int' ? other : one;
    return arithmetic.either(one, oneFacts, other, otherFacts);
  }
  if (one.kind === 'truth' && other.kind === 'truth') return truth(OPEN);
  if (one.kind === 'vector' && other.kind === 'vector') {
    const elements = one.elements.map((each, at) =>
      joinedValue(arithmetic, each, oneFacts, other.elements[at] ?? UNKNOWN, otherFacts),
    );
    return { kind: 'vector', elements };
  }
  if (one.kind === 'structure' && other.kind === 'structure') {
    const members = [...one.members].map(([name, each]): [string, Value] => {
      const second = other.members.get(name) ?? UNKNOWN;
      return [name, joinedValue(arithmetic, each, oneFacts, second, otherFacts)];
    });
    return { kind: 'structure', members: new Map(members) };
  }
  if (one.kind === 'real' && other.kind === 'real')
    return { kind: 'real', lo: Math.min(one.lo, other.lo), hi: Math.max(one.hi, other.hi) };
  const types = [one, other].map((each) =>
    each.kind === 'unknown' ? each.type : each.kind === 'real' ? F32 : null,
  );
  return { kind: 'unknown', type: types[0] ?? types[1] ?? null };
}
