/**
 * What stands before the runtime-sized array that ends a structure. Where the array is there in part, this is a variable
 * of its own: `list.count` becomes the member of another variable, which has the first bytes of the same memory.
 */
import type { Description, Resource } from './describe.js';
import { applied, type Edit, freeBinding } from './rewriting.js';
import type { Expression, FunctionDeclaration, Module, Name } from './tree.js';
import { type StructType, sizeOf } from './types.js';
import { visitExpressions, visitNames, visitStatements } from './walk.js';

export interface Head {
  readonly resource: Resource;
  readonly group: number;
  readonly binding: number;
  /** Bytes that are bound. */
  readonly bytes: number;
}

/** Bytes that are copied are words. */
const WORD_BYTES = 4;

/** Whether the module names the variable only in order to name a member of it, so that another may stand for some of them. */
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

function headBytes(type: StructType): number {
  return sizeOf({ ...type, members: type.members.slice(0, -1) });
}

/** Places where a member of the variable is named, and which. */
function memberNames(functions: ReadonlyMap<string, FunctionDeclaration>, name: string) {
  const found: { readonly site: Name; readonly member: string }[] = [];
  const visit = (each: Expression): void => {
    if (each.kind !== 'member' || each.base.kind !== 'name') return;
    if (each.base.local === null && each.base.name === name) found.push({ site: each.base, member: each.member });
  };
  for (const { body } of functions.values()) {
    visitStatements(body.body, (_, expressions) => {
      for (const expression of expressions) visitExpressions(expression, visit);
    });
  }
  return found;
}

/** Whether something stands before the array of a variable that may be there in part. */
export function hasHead({ isDivisible, arrayOffset }: Resource): boolean {
  return isDivisible && arrayOffset > 0;
}

/** Bytes of what stands there. */
export function headBytesOf({ type }: Resource): number {
  return headBytes(type as StructType);
}

/** The description of a module that is bound where there is no room for heads: such a variable is there as a whole. */
export function withoutHeads(description: Description): Description {
  const resources = description.resources.map((each) => (hasHead(each) ? { ...each, isDivisible: false } : each));
  return { ...description, resources };
}

/** Heads of variables whose arrays may be there in part. They have the same places in all modules that are made of one. */
export function headsOf({ resources, module }: Description, group: number): { heads: readonly Head[]; next: number } {
  const heads: Head[] = [];
  let next = module.variables.size;
  for (const resource of resources) {
    if (!hasHead(resource)) continue;
    const binding = freeBinding({ resources }, group, next);
    heads.push({ resource, group, binding, bytes: headBytesOf(resource) });
    next = binding + 1;
  }
  return { heads, next };
}

/** Edits that name heads. */
export function headEdits({ functions }: Description, heads: readonly Head[], prefix: string): Edit[] {
  return heads.flatMap(({ resource }, number) => {
    const array = (resource.type as StructType).members.at(-1)?.name;
    return memberNames(functions, resource.name).flatMap(({ site: { start, end }, member }) =>
      member === array ? [] : [{ at: start, text: `${prefix}_head_${number}`, blank: end - start }],
    );
  });
}

/**
 * Declarations of heads.
 * @param source without its comments
 */
export function headDeclarations({ structs }: Module, heads: readonly Head[], source: string, prefix: string): string {
  return heads
    .map(({ resource, group, binding }, number) => {
      const { name } = resource.type as StructType;
      const members = structs.get(name)?.members.slice(0, -1) ?? [];
      const texts = members.map(({ start, end }) => applied(source.slice(start, end), []).replace(/\s+/g, ' '));
      return `
struct ${prefix}_Head_${number} { ${texts.join(', ')} }
@group(${group}) @binding(${binding}) var<storage, ${resource.access}> ${prefix}_head_${number}: ${prefix}_Head_${number};`;
    })
    .join('');
}
