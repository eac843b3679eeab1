/**
 * What stands before the runtime-sized array that ends a structure. Where the array is there in
 * part, this is a variable of its own: `list.count` becomes the member of another variable, which
 * has the first bytes of the same memory.
 */
import type { Description, Resource } from '../reading/describe.js';
import { headBytes, memberNames } from '../reading/head-members.js';
import type { Module } from '../reading/tree.js';
import type { StructType } from '../reading/types.js';
import { applied, type Edit, freeBinding } from './rewriting.js';

export interface Head {
  readonly resource: Resource;
  readonly group: number;
  readonly binding: number;
  /** Bytes that are bound. */
  readonly bytes: number;
}

/** Whether something stands before the array of a variable that may be there in part. */
export function hasHead({ isDivisible, arrayOffset }: Resource): boolean {
  return isDivisible && arrayOffset > 0;
}

/** Bytes of what stands there. */
export function headBytesOf({ type }: Resource): number {
  return headBytes(type as StructType);
}

/** A module's description where heads have no room: the variables are there whole. */
export function withoutHeads(description: Description): Description {
  const resources = description.resources.map((each) =>
    hasHead(each) ? { ...each, isDivisible: false } : each,
  );
  return { ...description, resources };
}

/** Heads of arrays that may be there in part, in the same places in all modules. */
export function headsOf(
  { resources, module }: Description,
  group: number,
): { heads: readonly Head[]; next: number } {
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
export function headEdits(
  { functions }: Description,
  heads: readonly Head[],
  prefix: string,
): Edit[] {
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
export function headDeclarations(
  { structs }: Module,
  heads: readonly Head[],
  source: string,
  prefix: string,
): string {
  return heads
    .map(({ resource, group, binding }, number) => {
      const { name } = resource.type as StructType;
      const members = structs.get(name)?.members.slice(0, -1) ?? [];
      const texts = members.map(({ start, end }) =>
        applied(source.slice(start, end), []).replace(/\s+/g, ' '),
      );
      return `
struct ${prefix}_Head_${number} { ${texts.join(', ')} }
@group(${group}) @binding(${binding}) var<storage, ${resource.access}> ${prefix}_head_${number}: ${prefix}_Head_${number};`;
    })
    .join('');
}
