/** A launch for the engine: which bytes of which buffers are bound where, and its workgroups. */
import { bytesOf } from '../../../core/basics/elements.js';
import { PAGE_BYTES } from '../../../core/basics/types.js';
import type { LaunchParameter } from '../../driver.js';
import type { LaunchRefusal } from '../../process-driver.js';
import type { PagedPart, WgslBinding, WgslCode, WgslLaunch } from '../../wgsl-launch.js';
import type { AdapterFacts, Aside, Bound, Dispatch, Limits, Part } from '../link/protocol.js';

/** In one dimension: `global_invocation_id` wraps beyond. */
const MOST_INVOCATIONS = 2 ** 32;

type ArrayParameter = Extract<LaunchParameter, { kind: 'array' }>;
type Launch = Omit<WgslLaunch, 'id'>;

/** Bytes that a binding's size is a multiple of. */
const WORD_BYTES = 4;

export interface Pages {
  readonly first: number;
  readonly count: number;
}

/** The pages that the arrays of a launch lie in. */
export function pagesOf(launch: Launch): Pages[] {
  return launch.parameters.flatMap((each) => (each.kind === 'array' ? [pagesAround(each)] : []));
}

/** Bytes that a binding has at most, wherever in its first page it begins. */
export function bindingBytesOf({ maxStorageBufferBindingSize, maxBufferSize }: Limits): number {
  return Math.min(maxStorageBufferBindingSize, maxBufferSize - 2 * PAGE_BYTES);
}

/** An argument that the GPU cannot bind as a whole; undefined: it can bind them all. */
export function tooLarge(launch: Launch, limits: Limits): string | undefined {
  const most = bindingBytesOf(limits);
  const found = arraysOf(launch.code).find(({ parameter }) => arrayBytes(launch, parameter) > most);
  return (
    found &&
    `parameter ${found.parameter} has ${arrayBytes(launch, found.parameter)} bytes, and this GPU binds at most ${most} at once (maxStorageBufferBindingSize)`
  );
}

export function arrayBytes(launch: Launch, name: string): number {
  const { length, type } = arrayOf(launch, name);
  return length * bytesOf(type);
}

/** Why the GPU cannot run the launch, whatever it has room for; null: it can. */
export function problemOf(launch: Launch, limits: Limits): LaunchRefusal | null {
  const { code, kernelName } = launch;
  const refuse = (why: string): LaunchRefusal => ({
    code: 'DEVICE_LIMIT',
    message: `kernel ${kernelName}: ${why}`,
  });
  for (const { parameter, leastBytes } of arraysOf(code)) {
    const { offset, length, type } = arrayOf(launch, parameter);
    const bytes = length * bytesOf(type);
    if (bytes < leastBytes)
      return refuse(
        `parameter ${parameter} has ${bytes} bytes, and its variable in the module needs at least ${leastBytes}`,
      );
    if (bytes % WORD_BYTES !== 0 || offset % WORD_BYTES !== 0) {
      return refuse(
        `parameter ${parameter} begins at byte ${offset % PAGE_BYTES} of a page and has ${bytes} bytes; a GPU binds words of ` +
          `${WORD_BYTES} bytes, so that both must be multiples of ${WORD_BYTES}: of f16 an even number, from an even one on`,
      );
    }
  }
  const wide = workgroupProblem(code, limits);
  if (wide !== null) return refuse(wide);
  const invocations = workgroupsOf(launch, code).map(
    (groups, axis) => groups * code.workgroupSize[axis],
  );
  const axis = invocations.findIndex((each) => each > MOST_INVOCATIONS);
  if (axis !== -1)
    return refuse(
      `the launch has ${invocations[axis]} invocations in dimension ${'xyz'[axis]}, and WGSL counts them by u32, up to ${MOST_INVOCATIONS}; ` +
        'give the size more dimensions, or launch over parts of the arrays',
    );
  const place = placeProblem(code, limits);
  if (place !== null) return refuse(place);
  const large = code.bindings.find(
    (each) => each.kind === 'uniform' && each.bytes > limits.maxUniformBufferBindingSize,
  );
  if (large?.kind === 'uniform')
    return refuse(
      `the uniform variable of ${large.members.map(({ name }) => name).join(', ')} has ${large.bytes} bytes, and this GPU binds at most ` +
        `${limits.maxUniformBufferBindingSize} (maxUniformBufferBindingSize); declare it var<storage, read>, and hand in an array`,
    );
  const uniforms = tooManyUniforms(code, limits.maxUniformBuffersPerShaderStage);
  if (uniforms !== null)
    return refuse(`${uniforms} at once (maxUniformBuffersPerShaderStage); ${ONE_STRUCTURE}`);
  const count = arraysOf(code).length;
  if (count > limits.maxStorageBuffersPerShaderStage) {
    return refuse(
      `it has ${count} arrays, and this GPU binds at most ${limits.maxStorageBuffersPerShaderStage} at once (maxStorageBuffersPerShaderStage)`,
    );
  }
  return null;
}

const ONE_STRUCTURE = 'make them members of one structure';

/** Why the GPU has no such place to bind a variable at; null: it has all of them. */
function placeProblem({ bindings }: WgslCode, limits: Limits): string | null {
  for (const each of bindings) {
    const names = each.kind === 'array' ? [each.parameter] : each.members.map(({ name }) => name);
    const beyond = (attribute: string, number: number, most: number, limit: string): string =>
      `the variable of ${names.join(', ')} is at @${attribute}(${number}), and this GPU has @${attribute}(0) to ` +
      `@${attribute}(${most - 1}) (${limit}); give it a lower number`;
    if (each.group >= limits.maxBindGroups)
      return beyond('group', each.group, limits.maxBindGroups, 'maxBindGroups');
    if (each.binding >= limits.maxBindingsPerBindGroup)
      return beyond(
        'binding',
        each.binding,
        limits.maxBindingsPerBindGroup,
        'maxBindingsPerBindGroup',
      );
  }
  return null;
}

/** The beginning of a message: the module has more than `most` uniform variables; null: no. */
function tooManyUniforms({ bindings }: WgslCode, most: number): string | null {
  const count = bindings.filter(({ kind }) => kind === 'uniform').length;
  return count > most
    ? `it has ${count} uniform variables, and this GPU binds at most ${most}`
    : null;
}

/** Why nothing tells a part which one it is, by a uniform variable. Null: something can. */
export function noUniformLeft(
  code: WgslCode,
  { maxUniformBuffersPerShaderStage: most }: Limits,
): string | null {
  const problem = tooManyUniforms(code, most - 1);
  return (
    problem &&
    `${problem} beside the one that parts need (maxUniformBuffersPerShaderStage); ${ONE_STRUCTURE}`
  );
}

const ENABLES = /^\s*enable\b([^;]*);/gm;

/** What a module may do instead of what it enables. */
const INSTEAD: Readonly<Record<string, string>> = {
  f16: 'write it with f32',
  subgroups: 'have its workgroups share memory and wait at barriers instead',
};

/** Why the GPU does not compile the module: it enables what is missing; null: it does. */
export function featureProblem(
  { code, kernelName }: Launch,
  { features }: Pick<AdapterFacts, 'features'>,
): LaunchRefusal | null {
  for (const [, list] of code.source.matchAll(ENABLES)) {
    for (const each of list.split(',')) {
      const name = each.trim();
      const feature = name === 'f16' ? 'shader-f16' : name.replaceAll('_', '-');
      if (name === '' || features.includes(feature)) continue;
      const remedy = INSTEAD[name] ?? 'give the kernel a module of its own without it';
      const message = `kernel ${kernelName}: the module enables ${name}, which this GPU does not have (${feature}); ${remedy}`;
      return { code: 'DEVICE_LIMIT', message };
    }
  }
  return null;
}

/** Why the GPU runs no such workgroup; null: it does. */
function workgroupProblem({ workgroupSize }: WgslCode, limits: Limits): string | null {
  const names = [
    'maxComputeWorkgroupSizeX',
    'maxComputeWorkgroupSizeY',
    'maxComputeWorkgroupSizeZ',
  ] as const;
  const text = `@workgroup_size(${workgroupSize.join(', ')})`;
  const remedy = 'give the module a smaller one';
  const axis = workgroupSize.findIndex((each, at) => each > limits[names[at]]);
  if (axis !== -1)
    return `${text} has ${workgroupSize[axis]} invocations in dimension ${'xyz'[axis]}, and this GPU runs at most ${limits[names[axis]]} (${names[axis]}); ${remedy}`;
  const invocations = workgroupSize.reduce((product, each) => product * each, 1);
  const most = limits.maxComputeInvocationsPerWorkgroup;
  return invocations <= most
    ? null
    : `${text} has ${invocations} invocations, and this GPU runs at most ${most} in a workgroup (maxComputeInvocationsPerWorkgroup); ${remedy}`;
}

/** Why the GPU cannot run all workgroups of the launch in one dispatch; undefined: it can. */
export function tooManyGroups(launch: Launch, limits: Limits): string | undefined {
  const most = limits.maxComputeWorkgroupsPerDimension;
  const groups = workgroupsOf(launch, launch.code);
  const axis = groups.findIndex((each) => each > most);
  if (axis === -1) return undefined;
  return (
    `the launch has ${groups[axis]} workgroups in dimension ${'xyz'[axis]}, and this GPU runs at most ${most} in each at once ` +
    '(maxComputeWorkgroupsPerDimension)'
  );
}

/** @param moduleOf the engine's name of a module @param partOf where pages lie in one buffer */
export function planOf(
  { id, code, ...launch }: WgslLaunch,
  moduleOf: (code: WgslCode) => number,
  alignment: number,
  partOf: (pages: Pages) => Part,
): Dispatch {
  const asides: Aside[] = [];
  const parts = new Map<string, Part>();
  const written = new Set<number>();
  /** What is bound so that it might be written. */
  const writables: Part[] = [];
  for (const { parameter, writable } of arraysOf(code)) {
    const array = arrayOf(launch, parameter);
    const pages = pagesAround(array);
    const [buffer, offset] = partOf(pages);
    const part: Part = [
      buffer,
      offset + array.offset - pages.first * PAGE_BYTES,
      array.length * bytesOf(array.type),
    ];
    parts.set(parameter, part);
    if (writable && part[1] % alignment === 0) written.add(buffer);
  }
  const bound = code.bindings.map((each): Bound => {
    const { group, binding } = each;
    if (each.kind === 'uniform') {
      const { buffer } = uniformContent(each, launch);
      return {
        group,
        binding,
        kind: 'uniform',
        bytes: Buffer.from(buffer as ArrayBuffer).toString('base64'),
      };
    }
    const { writable } = each;
    const part = parts.get(each.parameter) as Part;
    const mayBeBound = writable
      ? !writables.some((other) => overlap(part, other))
      : !written.has(part[0]);
    // In one dispatch a buffer is either read or written, in places of their own, and begins at a
    // multiple of the device's own.
    if (writable) writables.push(part);
    if (part[1] % alignment === 0 && mayBeBound) {
      return { group, binding, kind: 'buffer', writable, part };
    }
    // What is declared so that it might be written, and is not, need not go back.
    const back = writable && arrayOf(launch, each.parameter).use !== 'in';
    return { group, binding, kind: 'aside', writable, index: asides.push({ part, back }) - 1 };
  });
  const original = launch.part?.original;
  if (launch.part !== undefined) {
    const { group, binding, content, paged } = launch.part;
    bound.push({ group, binding, kind: 'uniform', bytes: content });
    if (paged !== undefined) {
      const { pages, notes } = pagingBuffers(paged);
      bound.push({ group, binding: paged.pages, kind: 'buffer', writable: false, part: pages });
      bound.push({ group, binding: paged.notes, kind: 'buffer', writable: true, part: notes });
    }
  }
  return {
    launch: id,
    module: moduleOf(code),
    entryPoint: code.entryPoint,
    ...(original === undefined
      ? {}
      : { original: { module: moduleOf(original), entryPoint: original.entryPoint } }),
    constants: Object.fromEntries(code.constants.map(({ key, value }) => [key, Number(value)])),
    asides,
    zeros: (launch.zeroed ?? []).map((name) => parts.get(name) as Part),
    bound,
    workgroups: [...(launch.part?.workgroups ?? workgroupsOf(launch, code))],
  };
}

function overlap([buffer, offset, bytes]: Part, other: Part): boolean {
  return buffer === other[0] && offset < other[1] + other[2] && other[1] < offset + bytes;
}

/** Buffers beside those of pages: a paged part's table, and what invocations note. */
export function pagingBuffers({ rounds, maskWords, logWords }: PagedPart): {
  pages: Part;
  notes: Part;
} {
  const entries = rounds.entries.length;
  return {
    pages: [-1, 0, WORD_BYTES * entries],
    notes: [-2, 0, WORD_BYTES * (2 * maskWords + entries + logWords)],
  };
}

/** The launch with its arrays called as the variables of its module are. */
export function byVariables(launch: Launch): Launch {
  const { code } = launch;
  const variables = new Map<string, string>();
  for (const each of code.bindings)
    if (each.kind === 'array' && each.variable !== undefined)
      variables.set(each.parameter, each.variable);
  if (variables.size === 0) return launch;
  const nameOf = (name: string): string => variables.get(name) ?? name;
  const bindings = code.bindings.map((each) =>
    each.kind === 'array' ? { ...each, parameter: nameOf(each.parameter) } : each,
  );
  const parameters = launch.parameters.map((each) =>
    each.kind === 'array' ? { ...each, name: nameOf(each.name) } : each,
  );
  return { ...launch, code: { ...code, bindings }, parameters };
}

function arraysOf(code: WgslCode) {
  return code.bindings.filter((each) => each.kind === 'array');
}

export function arrayOf({ parameters }: Pick<Launch, 'parameters'>, name: string): ArrayParameter {
  const found = parameters.find(
    (each): each is ArrayParameter => each.kind === 'array' && each.name === name,
  );
  if (found === undefined) throw new Error(`the launch has no array ${name}`);
  return found;
}

export function pagesAround({
  offset,
  length,
  type,
}: Pick<ArrayParameter, 'offset' | 'length' | 'type'>): Pages {
  const first = Math.floor(offset / PAGE_BYTES);
  return { first, count: Math.ceil((offset + length * bytesOf(type)) / PAGE_BYTES) - first };
}

/**
 * A parameter of which something lies in a page of the array that the launch writes there: pages
 * come while the launch holds what it writes. Pages of what is written go home, so that nothing
 * that it reads may lie there, either. Null: there is none.
 */
export function sharerOf(launch: Launch, name: string, isWritten: boolean): string | null {
  const own = pagesAround(arrayOf(launch, name));
  const sharer = launch.parameters.find((each) => {
    if (each.kind !== 'array' || each.name === name || (each.use === 'in' && !isWritten))
      return false;
    const { first, count } = pagesAround(each);
    return first < own.first + own.count && own.first < first + count;
  });
  return sharer?.name ?? null;
}

export function workgroupsOf(
  { begin, end, dimensions }: Pick<Launch, 'begin' | 'end' | 'dimensions'>,
  { workgroupSize }: WgslCode,
): [number, number, number] {
  const [x, y, z] = dimensions ?? [end - begin, 1, 1];
  return [
    Math.ceil(x / workgroupSize[0]),
    Math.ceil(y / workgroupSize[1]),
    Math.ceil(z / workgroupSize[2]),
  ];
}

/** The content of a uniform variable in a launch. */
export function uniformContent(
  { bytes, members }: Extract<WgslBinding, { kind: 'uniform' }>,
  launch: Pick<Launch, 'parameters' | 'begin' | 'end' | 'size'>,
): DataView {
  const data = new DataView(new ArrayBuffer(bytes));
  for (const { name, from, type, offset } of members) {
    if (type === 'bytes') {
      new Uint8Array(data.buffer).set(contentOf(launch, name), offset);
      continue;
    }
    const value =
      from === 'launch' ? launch[name as 'begin' | 'end' | 'size'] : scalarOf(launch, name);
    if (type === 'f32') data.setFloat32(offset, value, true);
    else if (type === 'i32') data.setInt32(offset, value, true);
    else data.setUint32(offset, value, true);
  }
  return data;
}

function contentOf({ parameters }: Pick<Launch, 'parameters'>, name: string): Uint8Array {
  const found = parameters.find((each) => each.name === name && each.kind !== 'array');
  if (found?.kind !== 'bytes') throw new Error(`the launch has no bytes for ${name}`);
  return found.content;
}

function scalarOf({ parameters }: Pick<Launch, 'parameters'>, name: string): number {
  const found = parameters.find((each) => each.name === name && each.kind !== 'array');
  if (found?.kind !== 'scalar') throw new Error(`the launch has no number ${name}`);
  return Number(found.value);
}
