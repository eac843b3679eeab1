/**
 * Whether parts of a launch may run one after the other. Workgroups of one dispatch run in any
 * order and cannot see what others write, so that only arrays that a part reads and another writes
 * stand in the way, and atomics by which one learns what others have done.
 */
import type { Access, WorkgroupBox } from '../analysis/access.js';
import { isOfIds } from '../analysis/accesses.js';
import { sameForm } from '../analysis/forms.js';
import type { Description, Resource } from '../reading/describe.js';
import { positionAt } from '../reading/wgsl-error.js';

export interface PartAccesses extends WorkgroupBox {
  readonly accesses: readonly Access[];
}

/** Atomics of one kind commute; this counts where the kernel does not use their results. */
const KINDS: Readonly<Record<string, string>> = {
  atomicAdd: 'sum',
  atomicSub: 'sum',
  atomicMax: 'max',
  atomicMin: 'min',
  atomicAnd: 'and',
  atomicOr: 'or',
  atomicXor: 'xor',
  atomicStore: 'store',
  atomicLoad: 'load',
};

/**
 * @param all accesses of the launch as a whole
 * @param paged arrays of which invocations of one part, too, run one after the other
 * @param anyOrder atomics may find what they would in any order of the workgroups
 * @returns why the parts must not run one after the other, with line and column; null: they may
 */
export function obstacleTo(
  { module, resources }: Description,
  all: readonly Access[],
  parts: readonly PartAccesses[],
  paged: readonly Resource[],
  anyOrder: boolean,
): string | null {
  for (const { resource, isElements, accesses } of placesOf(resources, all)) {
    const own = accesses.filter((each) => !(anyOrder && each.kind === 'atomic'));
    if (own.every(({ kind }) => kind === 'load') || commutes(own)) continue;
    const isPaged = isElements && paged.includes(resource);
    if (isPaged ? mayBeApart(own) : parts.length < 2 || (isElements && areApart(resource, parts)))
      continue;
    const reading =
      own.find(({ kind, resultUsed }) => kind === 'load' || (kind === 'atomic' && resultUsed)) ??
      own[0];
    const { line, column } = positionAt(module.source, (reading as Access).offset);
    return reading?.kind === 'atomic'
      ? `${line}:${column}: what the atomics of one part of the launch find in '${resource.name}' may depend on the other parts`
      : `${line}:${column}: one part of the launch may read elements of '${resource.name}' that another part has written; ` +
          'give the results an array of their own';
  }
  return null;
}

/** What unrelated accesses are of: elements of an array, or a structure's member. */
function* placesOf(resources: readonly Resource[], all: readonly Access[]) {
  for (const resource of resources) {
    const own = all.filter((each) => each.resource === resource);
    const isElement = ({ isHead }: Access) =>
      !isHead && (resource.runtimeArray !== null || resource.type.kind === 'array');
    yield { resource, isElements: true, accesses: own.filter(isElement) };
    const others = own.filter((each) => !isElement(each));
    const members = new Set(others.map(({ member }) => member));
    // Where all of it is read or written at once, all belongs together.
    for (const each of members.has(null) ? [null] : members) {
      const accesses = each === null ? others : others.filter(({ member }) => member === each);
      yield { resource, isElements: false, accesses };
    }
  }
}

/** Whatever the order of the parts is. */
function commutes(accesses: readonly Access[]): boolean {
  const atomics = accesses.filter(({ kind }) => kind === 'atomic');
  if (atomics.length === 0) {
    if (accesses.every(({ kind }) => kind === 'store')) return true;
    // Each invocation reads and writes an element of its own, or the program has a race also as one
    // dispatch.
    const [first] = accesses;
    const form = first?.form;
    return (
      form != null &&
      isOfIds(form) &&
      accesses.every((each) => each.form !== null && sameForm(each.form, form))
    );
  }
  if (atomics.length < accesses.length) return false;
  const kind = KINDS[atomics[0]?.operation ?? ''];
  if (kind === undefined || atomics.some(({ operation }) => KINDS[operation ?? ''] !== kind))
    return false;
  return kind === 'load' || atomics.every(({ resultUsed }) => !resultUsed);
}

/** Whether nothing is known of reads and writes: without races they are apart. */
function mayBeApart(accesses: readonly Access[]): boolean {
  return (
    accesses.every(({ kind }) => kind !== 'atomic') &&
    accesses.some(({ form }) => form === null || !isOfIds(form))
  );
}

/** Whether no part touches what another part writes. */
function areApart(resource: Resource, parts: readonly PartAccesses[]): boolean {
  if (resource.runtimeArray === null && resource.type.kind !== 'array') return false;
  const touched: { begin: number; end: number; writeBegin: number; writeEnd: number }[] = [];
  for (const { accesses } of parts) {
    const part = { begin: Infinity, end: -Infinity, writeBegin: Infinity, writeEnd: -Infinity };
    for (const { resource: of, range, kind, isHead } of accesses) {
      if (of !== resource || isHead) continue;
      // An index below 0 reaches the array's last element, and one that wraps around any.
      if (range === null || range.lo < 0 || range.hi >= 2 ** 32) return false;
      part.begin = Math.min(part.begin, range.lo);
      part.end = Math.max(part.end, range.hi + 1);
      if (kind === 'load') continue;
      part.writeBegin = Math.min(part.writeBegin, range.lo);
      part.writeEnd = Math.max(part.writeEnd, range.hi + 1);
    }
    if (part.begin < part.end) touched.push(part);
  }
  touched.sort((one, other) => one.begin - other.begin);
  let end = -Infinity;
  let writeEnd = -Infinity;
  for (const part of touched) {
    if (part.writeBegin < end || part.begin < writeEnd) return false;
    end = Math.max(end, part.end);
    writeEnd = Math.max(writeEnd, part.writeEnd);
  }
  return true;
}
