/** Types of a module in words: as WGSL has them, and as a kernel's parameters. */
import type { ElementType } from '../../core/basics/elements.js';
import type { Type } from '../../wgsl/reading/types.js';
import type { ValueType } from './uniform-parameters.js';

type ScalarName = 'i32' | 'u32' | 'f32' | 'f16' | 'bool';

/** Elements that WGSL has a type for. All others are handed over as bytes. */
export const ELEMENTS: Readonly<Record<ScalarName, ElementType | null>> = {
  i32: 'i32',
  u32: 'u32',
  f32: 'f32',
  f16: 'u16',
  bool: null,
};

/** The elements that an array of the type is handed over as; null: raw bytes. */
export function elementsOf(type: Type): ElementType | null {
  const leaves = [...new Set(scalarsOf(type))];
  return leaves.length === 1 ? ELEMENTS[leaves[0]] : null;
}

/** As WGSL writes it, but for structures, which are shown by their name. */
export function typeText(type: Type | ValueType): string {
  switch (type.kind) {
    case 'vector':
      return `vec${type.width}<${type.component}>`;
    case 'matrix':
      return `mat${type.columns}x${type.rows}<${type.component}>`;
    case 'atomic':
      return `atomic<${type.name}>`;
    case 'array':
      return `array<${typeText(type.element)}${type.length === null ? '' : `, ${type.length}`}>`;
    case 'pointer':
      return `ptr<${type.space}, ${typeText(type.to)}>`;
    default:
      return 'name' in type ? type.name : type.kind;
  }
}

/** The numbers that a value consists of. */
function scalarsOf(type: Type): ScalarName[] {
  switch (type.kind) {
    case 'scalar':
    case 'atomic':
      return [type.name];
    case 'vector':
    case 'matrix':
      return [type.component];
    case 'array':
      return scalarsOf(type.element);
    case 'struct':
      return type.members.flatMap((each) => scalarsOf(each.type));
    default:
      return [];
  }
}

const COMPONENTS: Readonly<Record<string, string>> = { f32: 'f', u32: 'u', i32: 'i' };

/** How a kernel declares a parameter of the type. */
export function declarationOf(type: Type): string {
  switch (type.kind) {
    case 'scalar':
      return type.name in COMPONENTS ? type.name : 'uniform';
    case 'vector':
      return type.component in COMPONENTS
        ? `vec${type.width}${COMPONENTS[type.component]}`
        : 'uniform';
    case 'matrix':
      return type.component === 'f32' ? `mat${type.columns}x${type.rows}f` : 'uniform';
    case 'array': {
      const element = declarationOf(type.element);
      return element === 'uniform' ? element : `arrayOf(${element}, ${type.length})`;
    }
    case 'struct': {
      const members = type.members.map((each) => `${each.name}: ${declarationOf(each.type)}`);
      return members.length > MOST_SHOWN ? 'uniform' : `struct({ ${members.join(', ')} })`;
    }
    default:
      return 'uniform';
  }
}

/** Members of a structure that a message spells out. */
const MOST_SHOWN = 8;
