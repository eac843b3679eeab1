/**
 * Rewrites a module so that it runs one part of a launch on windows of its arrays: ids are those of the whole launch, indices count from
 * the window's beginning, lengths are the true ones. All edits insert text within lines, so that positions in errors keep their line.
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
  /** Its content for a part. */
  uniformOf(part: LaunchPart, launch: LaunchFacts): ArrayBuffer;
}

/** Bytes before the list of arrays: two vectors of three numbers, each with the room of four. */
const HEADER_BYTES = 32;

/** @throws WgslError with line and column for what cannot be rewritten */
export function windowed(description: Description): WindowedModule {
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
  editIds(description, functions.get(entryPoint.name) as FunctionDeclaration, prefix, edits);

  const group = Math.max(0, ...resources.map((each) => each.group));
  const used = [...module.variables.values()].length;
  const binding = freeBinding(description, group, used);
  return {
    source: applied(source, edits) + declarations(prefix, arrays, group, binding),
    group,
    binding,
    uniformOf: (part, launch) => uniformOf(arrays, part, launch),
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

function declarations(prefix: string, arrays: readonly Resource[], group: number, binding: number): string {
  const part = `${prefix}_part`;
  const functions = arrays.map(
    (_, number) => `
fn ${prefix}_at_${number}(index: u32) -> u32 { return min(index, ${part}.arrays[${number}].y) - ${part}.arrays[${number}].x; }
fn ${prefix}_length_${number}(bound: u32) -> u32 { return ${part}.arrays[${number}].y + 1u; }`,
  );
  return `
struct ${prefix}_Part { first: vec3u, groups: vec3u, arrays: array<vec4u, ${Math.max(1, arrays.length)}> }
@group(${group}) @binding(${binding}) var<uniform> ${part}: ${prefix}_Part;${functions.join('')}
`;
}

function uniformOf(arrays: readonly Resource[], part: LaunchPart, launch: LaunchFacts): ArrayBuffer {
  const words = new Uint32Array(HEADER_BYTES / 4 + 4 * Math.max(1, arrays.length));
  words.set(part.first, 0);
  words.set(launch.workgroups, 4);
  for (const [number, resource] of arrays.entries()) {
    const window = part.windows.find((each) => each.resource === resource);
    words.set([window?.begin ?? 0, lengthOf(resource, launch) - 1], HEADER_BYTES / 4 + 4 * number);
  }
  return words.buffer;
}
