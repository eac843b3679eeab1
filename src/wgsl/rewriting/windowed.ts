/**
 * Rewrites a module so that it runs one part of a launch on windows of its arrays: ids are those of
 * the whole launch, indices count from the window's beginning, lengths are the true ones. Of some
 * arrays it may have pages instead, all that it touches: their indices go through a table. A part
 * that is all of its launch, as where nothing but pages is left out, needs no more than that. All
 * edits insert text within lines, so that positions in errors keep their line.
 */
import type { LaunchFacts } from '../analysis/access.js';
import { accessesOf } from '../analysis/accesses.js';
import { type LaunchPart, lengthOf } from '../dividing/windows.js';
import { withoutComments } from '../reading/comments.js';
import type { Description, Resource } from '../reading/describe.js';
import type { FunctionDeclaration, Parameter } from '../reading/tree.js';
import { builtinIn } from '../reading/walk.js';
import { WgslError } from '../reading/wgsl-error.js';
import { type Head, headDeclarations, headEdits, headsOf } from './heads.js';
import { unhidden } from './hidden-names.js';
import {
  applied,
  around,
  type Edit,
  freeBinding,
  freePrefix,
  mapped,
  onlyOne,
  typeNames,
} from './rewriting.js';

export interface WindowedModule {
  readonly source: string;
  /** Where the uniform variable is bound that says what the part is. */
  readonly group: number;
  readonly binding: number;
  /** Where the table of pages is bound, in the same group; nothing is where there are none. */
  readonly pages: number;
  /** What stands before arrays that are there in part. */
  readonly heads: readonly Head[];
  /**
   * Its content for a part.
   * @param tables of the arrays that it has pages of
   */
  uniformOf(part: LaunchPart, launch: LaunchFacts, tables?: readonly TablePlace[]): ArrayBuffer;
}

/** Where an array's pages stand in the table of all. */
export interface TablePlace {
  /** Elements of a page: two to this power. */
  readonly shift: number;
  readonly firstEntry: number;
}

/** What a uniform variable's bytes are a multiple of. */
const UNIFORM_WORDS = 4;
const AXES = ['x', 'y', 'z'] as const;

/**
 * @param paged arrays that it has pages of
 * @param isWhole for dispatches of which `isWholeLaunch` holds: GPUs in software take an eighth
 * longer where ids are added to
 * @throws WgslError with line and column for what cannot be rewritten
 */
export function windowed(
  description: Description,
  paged: readonly Resource[] = [],
  isWhole: boolean = false,
): WindowedModule {
  const { module, resources, functions, entryPoint } = description;
  const { source } = module;
  const arrays = resources.filter(({ isDivisible }) => isDivisible);
  const { source: text, nameOf } = unhidden(module);
  const prefix = freePrefix(source);
  const numberOf = new Map(arrays.map((each, number) => [each, number]));
  const edits: Edit[] = [];
  const measured = new Set<number>();
  const isPaged = arrays.map((each) => paged.includes(each));
  const isEdited = (number: number | undefined): number is number =>
    number !== undefined && (!isWhole || isPaged[number] === true);
  const { indices, lengths } = accessesOf(description, null);
  for (const [{ index }, of] of indices) {
    const number = numberOf.get(onlyOne(source, of, index.start));
    if (isEdited(number)) edits.push(...mapped(index, prefix, `at_${number}`));
  }
  for (const [call, of] of lengths) {
    const number = numberOf.get(onlyOne(source, of, call.start));
    if (!isEdited(number)) continue;
    measured.add(number);
    edits.push(...around(call, `${prefix}_length_${number}(`, ')'));
  }
  const group = Math.max(0, ...resources.map((each) => each.group));
  const { heads: all, next } = headsOf(description, group);
  const heads = all.filter(({ resource }) => isEdited(numberOf.get(resource)));
  edits.push(...headEdits(description, heads, prefix));
  const entry = functions.get(entryPoint.name) as FunctionDeclaration;
  if (!isWhole) editIds(description, entry, nameOf, prefix, edits);
  // It is bound also where nothing that is reached looks a page up.
  if (paged.length > 0) edits.push({ at: entry.bodyStart, text: ` _ = &${prefix}_pages;` });

  const binding = freeBinding(description, group, next);
  const pages = freeBinding(description, group, binding + 1);
  const members = isWhole ? pagedMembersOf(isPaged) : membersOf(isPaged, measured);
  return {
    source:
      applied(text, edits) +
      declarations(prefix, isPaged, measured, members, group, binding, pages) +
      headDeclarations(module, heads, withoutComments(text), prefix),
    heads,
    group,
    binding,
    pages,
    uniformOf: (part, launch, tables = []) => {
      const values = valuesOf(
        arrays,
        entryPoint.workgroupSize,
        part,
        launch,
        (each) => tables[paged.indexOf(each)] ?? null,
      );
      const words = new Uint32Array(Math.ceil(members.length / UNIFORM_WORDS) * UNIFORM_WORDS);
      words.set(members.map((member) => values.get(member) as number));
      return words.buffer;
    },
  };
}

/** Whether a launch is whole workgroups, with arrays in place but for paged ones. */
export function isWholeLaunch(
  { first, count, windows }: LaunchPart,
  launch: LaunchFacts,
  paged: readonly Resource[],
): boolean {
  return (
    first.every((each) => each === 0) &&
    count.every((each, axis) => each === launch.workgroups[axis]) &&
    windows.every(({ resource, begin, end }) => {
      const isAsItIs = paged.includes(resource) || !resource.isDivisible;
      return isAsItIs || (begin === 0 && end === lengthOf(resource, launch));
    })
  );
}

/**
 * What a part is told, in the order in which it lies in the uniform variable. Those that most
 * invocations read come first: GPUs in software read four numbers together, each time that one of
 * them is wanted, and four took 7 of the 25 ms of processor time that saxpy takes over a million
 * elements.
 */
function membersOf(isPaged: readonly boolean[], measured: ReadonlySet<number>): string[] {
  const windows = [...isPaged.keys()].filter((number) => !isPaged[number]);
  return [
    'invocation_x',
    ...windows.map((number) => `begin_${number}`),
    ...windows.filter((number) => measured.has(number)).map((number) => `last_${number}`),
    ...pagedMembersOf(isPaged),
    'invocation_y',
    'invocation_z',
    ...AXES.map((axis) => `workgroup_${axis}`),
    ...AXES.map((axis) => `workgroups_${axis}`),
  ];
}

function pagedMembersOf(isPaged: readonly boolean[]): string[] {
  return [...isPaged.keys()]
    .filter((number) => isPaged[number])
    .flatMap((number) => [
      `begin_${number}`,
      `last_${number}`,
      `shift_${number}`,
      `mask_${number}`,
    ]);
}

function editIds(
  { module }: Description,
  entry: FunctionDeclaration,
  nameOf: (name: string) => string,
  prefix: string,
  edits: Edit[],
): void {
  const vector = (name: string) =>
    `${prefix}_vec3u(${AXES.map((axis) => `${prefix}_part.${name}_${axis}`).join(', ')})`;
  /** What a builtin of the part becomes in the launch; null: it is the same. */
  const whole = (builtin: string, value: string): string | null => {
    if (builtin === 'workgroup_id') return `${value} + ${vector('workgroup')}`;
    if (builtin === 'global_invocation_id') return `${value} + ${vector('invocation')}`;
    return builtin === 'num_workgroups' ? vector('workgroups') : null;
  };
  const builtinOf = ({ attributes }: Pick<Parameter, 'attributes'>): string | null => {
    const { name = null, start = 0 } = builtinIn(attributes) ?? {};
    if (name === 'workgroup_index' || name === 'global_invocation_index')
      throw new WgslError(
        module.source,
        start,
        `builtin ${name} is not supported in a launch that is cut`,
      );
    return name;
  };
  const lines: string[] = [];
  for (const parameter of entry.parameters) {
    const { type, start } = parameter.local;
    const name = nameOf(parameter.local.name);
    const own = `${prefix}_${name}`;
    const builtin = builtinOf(parameter);
    const struct = type && module.structs.get(type.name);
    const members = (struct?.members ?? []).flatMap((each) => {
      const member = nameOf(each.name);
      const value = whole(builtinOf(each) ?? '', `${own}.${member}`);
      return value === null ? [] : [`${name}.${member} = ${value};`];
    });
    const value = builtin === null ? null : whole(builtin, own);
    if (value === null && members.length === 0) continue;
    edits.push({ at: start, text: `${prefix}_` });
    lines.push(
      value === null ? `var ${name} = ${own}; ${members.join(' ')}` : `let ${name} = ${value};`,
    );
  }
  if (lines.length > 0) edits.push({ at: entry.bodyStart, text: ` ${lines.join(' ')}` });
}

function declarations(
  prefix: string,
  isPaged: readonly boolean[],
  measured: ReadonlySet<number>,
  members: readonly string[],
  group: number,
  binding: number,
  pages: number,
): string {
  const part = `${prefix}_part`;
  // A window that is touched beyond the end of its array ends there, and WebGPU has all that lies
  // beyond a window be its last element.
  const functions = isPaged.map((is, number) => {
    if (!members.includes(`begin_${number}`)) return '';
    const index = is
      ? `{ let at = min(index, ${part}.last_${number}); return ${prefix}_pages[${part}.begin_${number} + (at >> ${part}.shift_${number})] + (at & ${part}.mask_${number}); }`
      : `{ return index - ${part}.begin_${number}; }`;
    const length = measured.has(number)
      ? `\nfn ${prefix}_length_${number}(bound: u32) -> u32 { return ${part}.last_${number} + 1u; }`
      : '';
    return `\nfn ${prefix}_at_${number}(index: u32) -> u32 ${index}${length}`;
  });
  const table = isPaged.includes(true)
    ? `\n@group(${group}) @binding(${pages}) var<storage, read> ${prefix}_pages: array<u32>;`
    : '';
  return `
struct ${prefix}_Part { ${members.map((member) => `${member}: u32`).join(', ')} }
@group(${group}) @binding(${binding}) var<uniform> ${part}: ${prefix}_Part;${table}${functions.join('')}${typeNames(prefix)}
`;
}

function valuesOf(
  arrays: readonly Resource[],
  workgroupSize: readonly number[],
  { first, windows }: LaunchPart,
  launch: LaunchFacts,
  tableOf: (resource: Resource) => TablePlace | null,
): Map<string, number> {
  const values = new Map<string, number>();
  for (const [at, axis] of AXES.entries()) {
    const workgroup = first[at] as number;
    values.set(`invocation_${axis}`, workgroup * (workgroupSize[at] as number));
    values.set(`workgroup_${axis}`, workgroup);
    values.set(`workgroups_${axis}`, launch.workgroups[at] as number);
  }
  for (const [number, resource] of arrays.entries()) {
    const table = tableOf(resource);
    const shift = table?.shift ?? 0;
    const window = windows.find((each) => each.resource === resource);
    values.set(`begin_${number}`, table?.firstEntry ?? window?.begin ?? 0);
    values.set(`last_${number}`, lengthOf(resource, launch) - 1);
    values.set(`shift_${number}`, shift);
    values.set(`mask_${number}`, 2 ** shift - 1);
  }
  return values;
}
