/** Values of uniform variables, read from their bytes by the layout of their types (types.ts). */
import type { Type } from './types.js';

/** What a launch says of a uniform variable. */
export type UniformValue =
  | number
  | boolean
  | readonly UniformValue[]
  | { readonly [member: string]: UniformValue | undefined };

/** Floats are told as they are. @param end of an array that has no length of its own */
export function valueIn(
  view: DataView,
  at: number,
  type: Type,
  end = at,
): UniformValue | undefined {
  switch (type.kind) {
    case 'scalar':
      if (type.name === 'u32') return view.getUint32(at, true);
      if (type.name === 'i32') return view.getInt32(at, true);
      return type.name === 'f32' ? view.getFloat32(at, true) : undefined;
    case 'vector':
      return listOf(type.width, (index) => {
        const component: Type = { kind: 'scalar', name: type.component };
        return valueIn(view, at + index * (type.component === 'f16' ? 2 : 4), component);
      });
    case 'array':
      return listOf(type.length ?? Math.floor((end - at) / type.stride), (index) =>
        valueIn(view, at + index * type.stride, type.element),
      );
    case 'struct':
      return Object.fromEntries(
        type.members.map(
          (each) => [each.name, valueIn(view, at + each.offset, each.type, end)] as const,
        ),
      );
    default:
      return undefined;
  }
}

function listOf(
  length: number,
  element: (index: number) => UniformValue | undefined,
): UniformValue | undefined {
  const list = Array.from({ length }, (_, index) => element(index));
  return list.includes(undefined) ? undefined : (list as UniformValue[]);
}
