/** Members before the runtime-sized array that ends a structure, and where a module names them. */
import type { FunctionDeclaration, Name } from './tree.js';
import { type StructType, sizeOf } from './types.js';
import { visitFunction, visitNames } from './walk.js';

/** Bytes that are copied are words. */
const WORD_BYTES = 4;

/** Whether the module names the variable only with members, so that a head may replace it. */
export function hasHeadApart(
  type: StructType,
  name: string,
  functions: ReadonlyMap<string, FunctionDeclaration>,
  isStored: boolean,
): boolean {
  const { offset } = type.members.at(-1) as StructType['members'][number];
  // What is written must not have bytes of the array at its end.
  if (offset % WORD_BYTES !== 0 || (isStored && headBytes(type) !== offset)) return false;
  let names = 0;
  for (const each of functions.values())
    visitNames(each, (found) => {
      if (found.name === name) names++;
    });
  return memberNames(functions, name).length === names;
}

/** Bytes before the array. */
export function headBytes(type: StructType): number {
  return sizeOf({ ...type, members: type.members.slice(0, -1) });
}

/** Places where a member of the variable is named, and which. */
export function memberNames(functions: ReadonlyMap<string, FunctionDeclaration>, name: string) {
  const found: { readonly site: Name; readonly member: string }[] = [];
  for (const declaration of functions.values())
    visitFunction(declaration, (each) => {
      if (each.kind !== 'member' || each.base.kind !== 'name') return;
      if (each.base.local === null && each.base.name === name)
        found.push({ site: each.base, member: each.member });
    });
  return found;
}
