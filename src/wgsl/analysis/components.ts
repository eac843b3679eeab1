/** Literals, and the parts that values, places and types have: components, elements, members. */

import type { Type } from '../reading/types.js';
import type { UniformValue } from '../reading/uniform-value.js';
import { rounded } from './reals.js';
import { integer, type Place, truth, UNKNOWN, type Value, type Vector } from './values.js';

export const COMPONENTS: Readonly<Record<string, number>> = {
  x: 0,
  y: 1,
  z: 2,
  w: 3,
  r: 0,
  g: 1,
  b: 2,
  a: 3,
};

export function literal(value: number | boolean, type: string): Value {
  if (typeof value === 'boolean') return truth({ kind: 'known', value });
  if (type === 'abstract-int') return integer('int', value);
  if (type === 'i32' || type === 'u32') return integer(type, value);
  const unknown: Value = {
    kind: 'unknown',
    type: { kind: 'scalar', name: type === 'f16' ? 'f16' : 'f32' },
  };
  return type === 'f16' ? unknown : (rounded({ lo: value, hi: value }) ?? unknown);
}

export function elementType(type: Type): Type | null {
  if (type.kind === 'array') return type.element;
  if (type.kind === 'vector') return { kind: 'scalar', name: type.component };
  return type.kind === 'matrix'
    ? { kind: 'vector', component: type.component, width: type.rows }
    : null;
}

export function each(value: Value, change: (one: Value) => Value): Value {
  return value.kind === 'vector'
    ? { kind: 'vector', elements: value.elements.map(change) }
    : change(value);
}

export function swizzled({ elements }: Vector, member: string): Value {
  const chosen = [...member].map((letter) => elements[COMPONENTS[letter] as number] ?? UNKNOWN);
  return chosen.length === 1 ? (chosen[0] as Value) : { kind: 'vector', elements: chosen };
}

/** A member of a structure or a component of a vector. */
export function memberPlace(base: Place, member: string): Place {
  if (base.kind === 'local') return { ...base, path: [...base.path, member] };
  const type = base.type && memberType(base.type, member);
  if (base.kind === 'other') return { kind: 'other', type };
  const known = base.known as ({ [name: string]: UniformValue } & UniformValue[]) | undefined;
  const part = base.type.kind === 'vector' ? known?.[COMPONENTS[member] ?? -1] : known?.[member];
  const outermost = base.type === base.resource.type ? member : base.member;
  return { ...base, type: type ?? base.type, member: outermost, known: part };
}

export function memberType(type: Type, member: string): Type | null {
  if (type.kind === 'struct') return type.members.find(({ name }) => name === member)?.type ?? null;
  if (type.kind !== 'vector') return null;
  if (member.length === 1) return { kind: 'scalar', name: type.component };
  return { kind: 'vector', component: type.component, width: member.length as 2 | 3 | 4 };
}
