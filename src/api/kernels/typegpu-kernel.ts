/** Kernels of TypeGPU: the WGSL that it makes, and JavaScript for devices that run functions. */
import { createRequire } from 'node:module';
import type { WgslBinding } from '../../drivers/wgsl-launch.js';
import { isObject, show, textOf } from '../values/arguments.js';
import { typeError } from '../values/errors.js';
import { packageMissing } from '../values/packages.js';
import type { Parameters } from './wgsl-parameters.js';

type Values = Readonly<Record<string, unknown>>;
type Range = { readonly begin: number; readonly end: number; readonly size: number };
type Body = (index: number) => unknown;

interface Schema {
  readonly type: string;
  readonly elementType?: Schema;
  readonly elementCount?: number;
  readonly propTypes?: Readonly<Record<string, Schema>>;
  /** Of one with attributes. */
  readonly inner?: Schema;
}

interface Entry {
  readonly uniform?: Schema;
  readonly storage?: Schema | ((length: number) => Schema);
}

/** Functions read `$`: stand-ins while WGSL is made, an error of TypeGPU's otherwise. */
interface Layout {
  $: unknown;
  readonly entries: Readonly<Record<string, Entry | null>>;
}

interface Named {
  $name(name: string): this;
}

interface Shell<T> {
  (body: Body): T & Named;
  (text: TemplateStringsArray): T & Named & { $uses(externals: object): T & Named };
}

/** What is used of the package. */
interface Typegpu {
  readonly d: {
    readonly u32: Schema;
    readonly builtin: { readonly globalInvocationId: unknown };
    struct(members: object): Schema & Named;
  };
  readonly tgpu: {
    fn(parameters: readonly Schema[]): Shell<object>;
    computeFn(options: { workgroupSize: readonly number[]; in: object }): Shell<object>;
    bindGroupLayout(entries: object): Layout;
    resolveWithContext(items: readonly object[]): {
      readonly code: string;
      readonly usedBindGroupLayouts: readonly (Layout | undefined)[];
    };
  };
}

/** What a launch tells the function's guard, by names that others hardly have. */
const LAUNCH = 'onemem_launch';
const WORKGROUP_SIZE = 256;
/** Elements that are alike in plain arrays and TypeGPU's JavaScript; others become objects. */
const NUMBERS: readonly string[] = ['f32', 'u32', 'i32'];

export interface TypegpuModule {
  readonly source: string;
  /** By their groups. */
  readonly layouts: readonly (Layout | undefined)[];
  /** Null where it is an entry point, whose JavaScript TypeGPU keeps to itself. */
  readonly body: Body | null;
}

/**
 * Has TypeGPU write the module.
 * @param module the URL of the module that the function is from, whose TypeGPU is asked; undefined:
 * the one that this package finds
 */
export function typegpuModule(
  name: string,
  parameters: Parameters,
  given: unknown,
  module: string | undefined,
): TypegpuModule {
  const isEntry = isEntryPoint(given);
  if (!isEntry && typeof given !== 'function') {
    throw typeError(
      'TYPEGPU',
      `typegpu of kernel ${name} is a function marked 'use gpu', or what tgpu.fn or tgpu.computeFn made, not ${show(given)}`,
    );
  }
  const body = isEntry ? null : (given as Body);
  if (body !== null) checkIndex(name, body);
  const taken =
    body === null ? undefined : ['begin', 'end'].find((each) => Object.hasOwn(parameters, each));
  if (taken !== undefined) {
    throw typeError(
      'TYPEGPU',
      `kernel ${name}: ${taken} is what the launch tells the guard of a function of TypeGPU; give the parameter another name`,
    );
  }
  const typegpu = loadTypegpu(module);
  try {
    const entry = body === null ? (given as object) : guarded(typegpu, body);
    // Entries of layouts get their names before anything else does, so that these are the names of
    // parameters.
    const layouts = typegpu.tgpu
      .resolveWithContext([entry])
      .usedBindGroupLayouts.filter((each) => each !== undefined);
    const { code, usedBindGroupLayouts } = typegpu.tgpu.resolveWithContext([...layouts, entry]);
    return { source: code, layouts: usedBindGroupLayouts, body };
  } catch (error) {
    throw resolutionError(name, error);
  }
}

/** The function for each index of a part, with arguments in the places of its layouts. */
export function typegpuFunction(
  name: string,
  parameters: Parameters,
  { layouts, body }: TypegpuModule,
  bindings: readonly WgslBinding[],
): (values: Values, range: Range) => void {
  if (body === null) {
    throw typeError(
      'TYPEGPU',
      `kernel ${name} is an entry point of TypeGPU, which runs on GPUs only; leave out module, or hand over the function of one index that it calls`,
    );
  }
  const places = bindings.flatMap((each) => placeOf(name, parameters, layouts[each.group], each));
  const used = [...new Set(places.map(({ layout }) => layout))];
  return (values, range) => {
    const before = used.map((layout) => layout.$);
    for (const layout of used) layout.$ = {};
    for (const { layout, key, value } of places)
      (layout.$ as Record<string, unknown>)[key] = value(values, range);
    try {
      for (let index = range.begin; index < range.end; index++) body(index);
    } finally {
      for (const [at, layout] of used.entries()) layout.$ = before[at];
    }
  };
}

interface Place {
  readonly layout: Layout;
  readonly key: string;
  readonly value: (values: Values, range: Range) => unknown;
}

function placeOf(
  name: string,
  parameters: Parameters,
  layout: Layout | undefined,
  bound: WgslBinding,
): Place[] {
  const [key, entry] = Object.entries(layout?.entries ?? {})[bound.binding] ?? [];
  if (layout === undefined || key === undefined || !entry || key === LAUNCH) return [];
  if (bound.kind === 'array') {
    const schema = typeof entry.storage === 'function' ? entry.storage(0) : entry.storage;
    const element = schema?.type === 'array' ? schema.elementType?.type : undefined;
    const { type } = parameters[bound.parameter];
    if (type === element && NUMBERS.includes(type))
      return [{ layout, key, value: (values) => values[bound.parameter] }];
    const what = element === undefined ? 'no array' : `an array of ${element}`;
    throw typeError(
      'TYPEGPU',
      `kernel ${name}: ${key} is ${what}, the parameter ${type}, and devices that run functions have arrays of ${NUMBERS.join(', ')} only, as ` +
        'they are; leave out module, and it runs on GPUs',
    );
  }
  const part = bound.members.find((each) => each.from === 'launch' && each.name !== 'size');
  if (part !== undefined) {
    throw typeError(
      'TYPEGPU',
      `kernel ${name}: the function takes ${part.name} of the launch; it is called for each index of a part anyway, and ${part.name} is not told: use size`,
    );
  }
  const { uniform: schema } = entry;
  if (schema === undefined) return [];
  return [
    { layout, key, value: (values, { size }) => uniformValue(schema, key, null, values, size) },
  ];
}

/**
 * The value of a uniform variable, or of a member of one, by the parameters of these names.
 * @param flat the member's name alone; null: it is only found by its path
 * @param size of the launch, which a member of that name has where no parameter says it
 */
function uniformValue(
  schema: Schema,
  path: string,
  flat: string | null,
  values: Values,
  size: number,
): unknown {
  const name = [path, flat].find((each) => each !== null && Object.hasOwn(values, each));
  if (name != null) return instanceOf(schema, values[name], size);
  const members = membersOf(schema);
  if (members === null)
    return path.split('.').at(-1) === 'size' ? size : instanceOf(schema, undefined, size);
  const isOuter = !path.includes('.');
  return Object.fromEntries(
    members.map(([member, of]) => [
      member,
      uniformValue(of, `${path}.${member}`, isOuter ? member : null, values, size),
    ]),
  );
}

/** A plain value as TypeGPU has it: its own vectors and matrices. Missing parts are zero. */
function instanceOf(schema: Schema, value: unknown, size: number): unknown {
  const { type, inner, elementType, elementCount = 0 } = schema;
  if (type === 'decorated' && inner !== undefined) return instanceOf(inner, value, size);
  const members = membersOf(schema);
  if (members !== null) {
    const given = (value ?? {}) as Values;
    return Object.fromEntries(
      members.map(([name, of]) => [
        name,
        instanceOf(of, given[name] ?? (name === 'size' ? size : undefined), size),
      ]),
    );
  }
  if (elementType !== undefined) {
    const given = (value ?? []) as readonly unknown[];
    return Array.from({ length: elementCount }, (_, index) =>
      instanceOf(elementType, given[index], size),
    );
  }
  if (/^(vec|mat)/.test(type))
    return (schema as unknown as (...numbers: unknown[]) => unknown)(
      ...((value ?? []) as unknown[]),
    );
  return value ?? 0;
}

function membersOf({ type, propTypes }: Schema): [string, Schema][] | null {
  return type === 'struct' && propTypes !== undefined ? Object.entries(propTypes) : null;
}

/** The entry point around a function of one index, which is called for the launch's only. */
function guarded({ tgpu, d }: Typegpu, body: Body): object {
  const members = { begin: d.u32, end: d.u32 };
  const launch = tgpu.bindGroupLayout({
    [LAUNCH]: { uniform: d.struct(members).$name('OnememLaunch') },
  });
  const own = isObject((body as { shell?: unknown }).shell)
    ? body
    : tgpu.fn([d.u32])(body).$name('body');
  const options = { workgroupSize: [WORKGROUP_SIZE], in: { id: d.builtin.globalInvocationId } };
  return tgpu.computeFn(options)`{
  let i = launch.$.onemem_launch.begin + in.id.x;
  if (i < launch.$.onemem_launch.end) { body(i); }
}`
    .$uses({ launch, body: own })
    .$name('main');
}

function isEntryPoint(given: unknown): boolean {
  return (
    isObject(given) &&
    (given as { shell?: { entryPoint?: unknown } }).shell?.entryPoint === 'compute'
  );
}

/** Refuses functions of more than an index. One without any would do the same at each. */
function checkIndex(
  name: string,
  body: Body & { readonly shell?: { readonly argTypes?: readonly Schema[] } },
): void {
  const types = body.shell?.argTypes?.map(({ type }) => type);
  if (types === undefined ? body.length === 1 : types.length === 1 && types[0] === 'u32') return;
  const has = types === undefined ? `${body.length} parameters` : `(${types.join(', ')})`;
  throw typeError(
    'TYPEGPU',
    `the function of kernel ${name} has ${has}; it takes one index (u32), and all else from bind group layouts. For more dimensions hand over an ` +
      'entry point (tgpu.computeFn)',
  );
}

function loadTypegpu(module: string | undefined): Typegpu {
  const from = module?.startsWith('file:') ? module : import.meta.url;
  try {
    return createRequire(from)('typegpu') as Typegpu;
  } catch (error) {
    throw packageMissing('kernels of TypeGPU need', 'typegpu', error, ' wesl webgpu');
  }
}

/** TypeGPU's own words, without the way down to the function. */
function resolutionError(name: string, error: unknown): TypeError {
  const cause = (error as { readonly cause?: unknown } | null)?.cause;
  const problem = textOf(cause ?? error);
  const remedy = problem.includes('metadata')
    ? "; functions are read by its build plugin: mark this one 'use gpu', and build its module with unplugin-typegpu"
    : '';
  return typeError('TYPEGPU', `kernel ${name}: TypeGPU makes no WGSL of it: ${problem}${remedy}`);
}
