/**
 * Rewrites a module so that it runs one part of a launch on windows of its arrays: ids are those of the whole launch, indices count from
 * the window's beginning, lengths are the true ones. Of some arrays it may have pages instead, all that it touches: their indices go through a
 * table. All edits insert text within lines, so that positions in errors keep their line.
 */
import type { LaunchFacts } from './access.js';
import { accessesOf } from './accesses.js';
import type { Description, Resource } from './describe.js';
import { applied, around, type Edit, freeBinding, freePrefix, onlyOne, refuseOwnWords } from './rewriting.js';
import type { FunctionDeclaration, Parameter } from './tree.js';
import { WgslError } from './wgsl-error.js';
import { type LaunchPart, lengthOf } from './windows.js';

export interface WindowedModule {
  readonly source: string;
  /** Where the uniform variable is bound that says what the part is. */
  readonly group: number;
  readonly binding: number;
  /** Where the table of pages is bound, in the same group; nothing is where there are none. */
  readonly pages: number;
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

/** Bytes before the list of arrays: two vectors of three numbers, each with the room of four. */
const HEADER_BYTES = 32;

/**
 * @param paged arrays that it has pages of
 * @throws WgslError with line and column for what cannot be rewritten
 */
export function windowed(description: Description, paged: readonly Resource[] = []): WindowedModule {
  const { module, resources, functions, entryPoint } = description;
  const { source } = module;
  const arrays = resources.filter(({ space, type, runtimeArray }) => space === 'storage' && type === runtimeArray);
  refuseOwnWords(module);
  const prefix = freePrefix(source);
  const numberOf = new Map(arrays.map((each, number) => [each, number]));
  const edits: Edit[] = [];
  const { indices, lengths } = accessesOf(description, null);
  for (const [{ index }, of] of indices) {
    const number = numberOf.get(onlyOne(source, of, index.start));
    if (number !== undefined) edits.push(...around(index, `${prefix}_at_${number}(u32(`, '))'));
  }
  for (const [call, of] of lengths) {
    const number = numberOf.get(onlyOne(source, of, call.start));
    if (number !== undefined) edits.push(...around(call, `${prefix}_length_${number}(`, ')'));
  }
  const entry = functions.get(entryPoint.name) as FunctionDeclaration;
  editIds(description, entry, prefix, edits);
  // It is bound also where nothing that is reached looks a page up.
  if (paged.length > 0) edits.push({ at: entry.bodyStart, text: ` _ = &${prefix}_pages;` });

  const group = Math.max(0, ...resources.map((each) => each.group));
  const used = [...module.variables.values()].length;
  const binding = freeBinding(description, group, used);
  const pages = freeBinding(description, group, binding + 1);
  const isPaged = arrays.map((each) => paged.includes(each));
  return {
    source: applied(source, edits) + declarations(prefix, isPaged, group, binding, pages),
    group,
    binding,
    pages,
    uniformOf: (part, launch, tables = []) =>
      uniformOf(arrays, part, launch, (each) => tables[paged.indexOf(each)] ?? null),
  };
}

function editIds({ module, entryPoint }: Description, entry: FunctionDeclaration, prefix: string, edits: Edit[]): void {
  const [x, y, z] = entryPoint.workgroupSize;
  const group = `${prefix}_part.first`;
  /** What a builtin of the part becomes in the launch; null: it is the same. */
  const whole = (builtin: string, value: string): string | null => {
    if (builtin === 'workgroup_id') return `${value} + ${group}`;
    if (builtin === 'global_invocation_id') return `${value} + ${group} * vec3u(${x}, ${y}, ${z})`;
    return builtin === 'num_workgroups' ? `${prefix}_part.groups` : null;
  };
  const builtinOf = ({ attributes }: Pick<Parameter, 'attributes'>): string | null => {
    const found = attributes.find(({ name }) => name === 'builtin');
    const value = found?.parameters[0];
    if (found === undefined || value?.kind !== 'name') return null;
    if (value.name === 'workgroup_index' || value.name === 'global_invocation_index')
      throw new WgslError(module.source, found.start, `builtin ${value.name} is not supported in a launch that is cut`);
    return value.name;
  };
  const lines: string[] = [];
  for (const parameter of entry.parameters) {
    const { name, type, start } = parameter.local;
    const own = `${prefix}_${name}`;
    const builtin = builtinOf(parameter);
    const struct = type && module.structs.get(type.name);
    const members = (struct?.members ?? []).flatMap((each) => {
      const value = whole(builtinOf(each) ?? '', `${own}.${each.name}`);
      return value === null ? [] : [`${name}.${each.name} = ${value};`];
    });
    const value = builtin === null ? null : whole(builtin, own);
    if (value === null && members.length === 0) continue;
    edits.push({ at: start, text: `${prefix}_` });
    lines.push(value === null ? `var ${name} = ${own}; ${members.join(' ')}` : `let ${name} = ${value};`);
  }
  if (lines.length > 0) edits.push({ at: entry.bodyStart, text: ` ${lines.join(' ')}` });
}

function declarations(
  prefix: string,
  isPaged: readonly boolean[],
  group: number,
  binding: number,
  pages: number,
): string {
  const part = `${prefix}_part`;
  const array = (number: number) => `${part}.arrays[${number}]`;
  // A window that is touched beyond the end of its array ends there, and WebGPU has all that lies beyond a window be its last element.
  const functions = isPaged.map((is, number) => {
    const index = is
      ? `{ let at = min(index, ${array(number)}.y); return ${prefix}_pages[${array(number)}.x + (at >> ${array(number)}.z)] + (at & ${array(number)}.w); }`
      : `{ return index - ${array(number)}.x; }`;
    return `
fn ${prefix}_at_${number}(index: u32) -> u32 ${index}
fn ${prefix}_length_${number}(bound: u32) -> u32 { return ${array(number)}.y + 1u; }`;
  });
  const table = isPaged.includes(true)
    ? `\n@group(${group}) @binding(${pages}) var<storage, read> ${prefix}_pages: array<u32>;`
    : '';
  return `
struct ${prefix}_Part { first: vec3u, groups: vec3u, arrays: array<vec4u, ${Math.max(1, isPaged.length)}> }
@group(${group}) @binding(${binding}) var<uniform> ${part}: ${prefix}_Part;${table}${functions.join('')}
`;
}

function uniformOf(
  arrays: readonly Resource[],
  part: LaunchPart,
  launch: LaunchFacts,
  tableOf: (resource: Resource) => TablePlace | null,
): ArrayBuffer {
  const words = new Uint32Array(HEADER_BYTES / 4 + 4 * Math.max(1, arrays.length));
  words.set(part.first, 0);
  words.set(launch.workgroups, 4);
  for (const [number, resource] of arrays.entries()) {
    const window = part.windows.find((each) => each.resource === resource);
    const table = tableOf(resource);
    const begin = table?.firstEntry ?? window?.begin ?? 0;
    const shift = table?.shift ?? 0;
    words.set([begin, lengthOf(resource, launch) - 1, shift, 2 ** shift - 1], HEADER_BYTES / 4 + 4 * number);
  }
  return words.buffer;
}
