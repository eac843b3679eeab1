/**
 * Cuts a launch that a GPU has no room for into parts, each with its windows of the arrays
 * (src/wgsl). What the GPU holds counts in whole pages and blocks, of which the analysis knows
 * nothing but what they come to.
 */
import { bytesOf } from '../../../core/basics/elements.js';
import { RecentMap } from '../../../core/basics/recent-map.js';
import { PAGE_BYTES, PAGES_PER_BLOCK } from '../../../core/basics/types.js';
import type { LaunchFacts } from '../../../wgsl/analysis/access.js';
import { accessesOf } from '../../../wgsl/analysis/accesses.js';
import { NumberRanges, tellingArrays } from '../../../wgsl/analysis/number-ranges.js';
import { limited, type Slices } from '../../../wgsl/analysis/slices.js';
import { PageMemory } from '../../../wgsl/dividing/page-memory.js';
import { PagePlanner } from '../../../wgsl/dividing/page-plan.js';
import { PageRounds } from '../../../wgsl/dividing/page-rounds.js';
import {
  type PagedArray,
  type PageSizes,
  type PageTable,
  pageTables,
  wholePoolBytes,
} from '../../../wgsl/dividing/page-tables.js';
import {
  type LaunchPart,
  lengthOf,
  movedBytes,
  type Window,
  windowSlices,
} from '../../../wgsl/dividing/windows.js';
import { pagedSlices } from '../../../wgsl/paged-plan.js';
import { type Description, describe, type Resource } from '../../../wgsl/reading/describe.js';
import { knownNumbers } from '../../../wgsl/reading/known-numbers.js';
import type { Parser } from '../../../wgsl/reading/syntax.js';
import { type UniformValue, valueIn } from '../../../wgsl/reading/uniform-value.js';
import { type Head, hasHead, headBytesOf, withoutHeads } from '../../../wgsl/rewriting/heads.js';
import { Mode, type PagedModule } from '../../../wgsl/rewriting/paged.js';
import { type WindowedModule, windowed } from '../../../wgsl/rewriting/windowed.js';
import type { LaunchParameter } from '../../driver.js';
import type {
  LaunchDivision,
  Planning,
  WgslBinding,
  WgslCode,
  WgslLaunch,
} from '../../wgsl-launch.js';
import { type Limits, MOST_MODULES } from '../link/protocol.js';
import {
  arrayBytes,
  arrayOf,
  bindingBytesOf,
  sharerOf,
  uniformContent,
  workgroupsOf,
} from './launch-plan.js';
import { requireParser } from './parser.js';
import { PartPlanner } from './part-planner.js';

type Launch = Omit<WgslLaunch, 'id'>;
type Box = Pick<LaunchPart, 'first' | 'count'>;

/** Plans that are kept: programs launch the same few kernels over the same few arrays. */
const KEPT_PLANS = 64;
/** A launch in more parts would keep the manager's thread from its other work. */
const MOST_PARTS = 4096;
/**
 * Steps of an analysis, each a look at what a part of a launch may touch, and milliseconds that they
 * take together: after that it counts as not known.
 */
const MOST_STEPS = 20_000;
const MOST_MS = 5000;
/** Bytes of arrays that are looked at on the host, and of those at once. */
const MOST_CONTENT_BYTES = 64 * 2 ** 20;
const PIECE_BYTES = 2 ** 20;
/** What is cut by them moves no more than so many times all of its arrays. */
const MOST_MOVED = 3;
/** Bytes that a binding's size is a multiple of. */
const WORD_BYTES = 4;

/** Pages of arrays that are there in part. A table goes through a piece of 2 MiB at once. */
const PAGE_SIZES = { pageBytes: PAGE_BYTES, mostPages: 65_536, alignment: PAGE_BYTES };
/** Of columns of a matrix a page has little: smaller ones are tried where there is no room. */
const SMALLER_PAGES = [PAGE_BYTES / 4, PAGE_BYTES / 16];
const NO_PARSER =
  "the package 'wesl' was not there when the device was started; start it again now that it is";
const BLOCK_BYTES = PAGES_PER_BLOCK * PAGE_BYTES;
/** Buffers that a part wants besides its arrays where some are paged. */
const PAGING_BUFFERS = 2;

/** What a device has room for. */
export interface Room {
  readonly limits: Limits;
  readonly budgetPages: number;
  pagesOf(parameters: readonly LaunchParameter[]): number;
}

interface Analyzed {
  readonly description: Description;
  /** Whether numbers of floating point tell which elements are touched. */
  readonly truncates: boolean;
  readonly module: WindowedModule;
}

interface Plan {
  readonly parts: readonly LaunchPart[];
  /** Parts run in any order: each begins with what the last one left on the GPU. */
  backwards: boolean;
}

/** Parts of a launch that is paged, whatever its arrays hold. */
interface PagedParts {
  readonly module: PagedModule;
  readonly parts: readonly LaunchPart[];
  readonly tables: readonly PageTable[];
  readonly poolBytes: number;
  /** Null where no part can be planned. */
  readonly planner: PartPlanner | null;
  /** What its parts have touched, where they ran in rounds. */
  readonly memory: PageMemory;
  /** Why they have no windows of all arrays. */
  readonly why: string;
}

export class Divider {
  /** Null where it is not installed. */
  private readonly parser: Parser | null;

  /**
   * Loads the parser at once: the first launch that is cut would keep the manager's thread from
   * its other work for as long as that takes.
   * @param parser where the module is that reads WGSL, an optional peer: undefined where it could
   * not be found when the device was asked for
   */
  constructor(parser: string | undefined) {
    this.parser = parser === undefined ? null : requireParser(parser);
  }

  /** By the texts of modules, their entry points and constants. */
  private readonly modules = new RecentMap<string, Analyzed>(MOST_MODULES);
  /** By all that they depend on; the one that was used last stands last. */
  private readonly plans = new RecentMap<string, Plan>(KEPT_PLANS);
  private readonly paged = new RecentMap<string, PagedParts>(KEPT_PLANS);
  /** Launches that cannot be cut by what arrays hold. */
  private readonly inVain = new RecentMap<string, true>(KEPT_PLANS);

  /** Why it cannot be cut is a text, with line and column in the module where one is to blame. */
  divide(launch: Launch, room: Room): Slices<LaunchDivision | string> {
    return orReason(inTime(this.cut(launch, room), launch));
  }

  /**
   * With arrays paged whose windows are too large.
   * @param all of those that can be paged are
   * @param why it is not cut
   * @returns why it cannot be, as `divide`
   */
  page(
    launch: Launch,
    room: Room,
    all: boolean,
    why = 'it is to run paged',
  ): Slices<LaunchDivision | string> {
    return orReason(inTime(this.pagedParts(launch, room, all, why), launch));
  }

  /** What is to be read before it is planned, and then what that says. */
  *known(launch: Launch, limits: Limits): Planning<NonNullable<Launch['known']>> {
    const analysis = orReason(this.analyzed(launch.code, limits));
    const analyzed = yield* analysis as Planning<Analyzed | string>;
    // The plan that comes next says why there is none.
    if (typeof analyzed === 'string') return {};
    const work = knownNumbers(analyzed.description, (name) => arrayBytes(launch, name));
    let step = work.next(null);
    while (step.done !== true) {
      const { name, bytes } = step.value;
      step = work.next(yield { at: arrayOf(launch, name).offset, bytes });
    }
    return step.value;
  }

  /** A launch that was paged before is so again; null: none like it is known. */
  again(launch: Launch, room: Room): LaunchDivision | null {
    const analyzed = this.paged.size > 0 && this.modules.get(keyOfCode(launch.code));
    if (!analyzed) return null;
    const facts = factsOf(launch, analyzed.description);
    const found = this.knownPaged(launch, facts, room, analyzed.truncates, false);
    return found && pagedDivision(launch, found, facts);
  }

  /**
   * In parts with windows of its arrays, by numbers that some of them hold; null: that does not do.
   * Where it has not done once it is not tried again.
   */
  *byContents(launch: Launch, room: Room): Planning<LaunchDivision | null> {
    const analysis = orReason(this.analyzed(launch.code, room.limits));
    const analyzed = yield* analysis as Planning<Analyzed | string>;
    if (typeof analyzed === 'string') return null;
    const { description, truncates, module } = analyzed;
    const facts = factsOf(launch, description);
    const key = keyOf(launch, facts, room, truncates);
    if (this.inVain.get(key) !== undefined) return null;
    const telling = tellingArrays(description, facts);
    yield;
    const contents = yield* contentsOf(launch, telling, facts);
    if (contents !== null) {
      const known = { ...facts, contents };
      const work = orReason(inTime(this.planned(launch, description, known, room, null), launch));
      const plan = yield* work as Planning<Plan | string>;
      // In rounds no more comes than a page for each number.
      const numbers = telling.reduce((sum, each) => sum + lengthOf(each, facts), 0);
      const most = Math.min(MOST_MOVED * arraysBytes(launch), numbers * PAGE_BYTES);
      if (typeof plan !== 'string' && movedBytes(plan.parts) <= most) {
        const parts = dispatchesOf(plan.parts, room.limits.maxComputeWorkgroupsPerDimension);
        return divisionOf(launch, module, facts, parts, () => undefined);
      }
    }
    this.inVain.set(key, true);
    return null;
  }

  private *pagedParts(
    launch: Launch,
    room: Room,
    all: boolean,
    why: string,
  ): Slices<LaunchDivision | string> {
    const { description, truncates } = yield* this.analyzed(launch.code, room.limits);
    const facts = factsOf(launch, description);
    let found = this.knownPaged(launch, facts, room, truncates, all);
    if (found === null) {
      const made = yield* foundPaged(launch, description, facts, room, all);
      if (typeof made === 'string') return made;
      found = { ...made, why };
      this.paged.set(keyOf(launch, facts, room, truncates, all), found);
    }
    return pagedDivision(launch, found, facts);
  }

  private knownPaged(
    launch: Launch,
    facts: LaunchFacts,
    room: Room,
    truncates: boolean,
    all: boolean,
  ): PagedParts | null {
    const key = keyOf(launch, facts, room, truncates, all);
    const known = this.paged.get(key);
    if (known === undefined) return null;
    const left = room.budgetPages * PAGE_BYTES - known.poolBytes;
    if (!known.parts.every(({ windows }) => besidePages(launch, windows, room) <= left))
      return null;
    this.paged.set(key, known);
    return known;
  }

  private *cut(launch: Launch, room: Room): Slices<LaunchDivision | string> {
    const { description, truncates, module } = yield* this.analyzed(launch.code, room.limits);
    const facts = factsOf(launch, description);
    const key = keyOf(launch, facts, room, truncates);
    const found = yield* this.planned(launch, description, facts, room, key);
    if (typeof found === 'string') return `WGSL ${found} (memory is held in whole blocks of 2 MiB)`;
    const { backwards } = found;
    const parts = backwards ? found.parts.toReversed() : found.parts;
    const begin = (): void => {
      found.backwards = !backwards;
    };
    const most = room.limits.maxComputeWorkgroupsPerDimension;
    return divisionOf(launch, module, facts, dispatchesOf(parts, most), begin);
  }

  private *planned(
    launch: Launch,
    description: Description,
    facts: LaunchFacts,
    room: Room,
    /** Null: it is not kept. */
    key: string | null,
  ): Slices<Plan | string> {
    const { limits, budgetPages, pagesOf } = room;
    const known = key === null ? undefined : this.plans.get(key);
    const heldPages = (windows: readonly Window[]) => pagesOf(windowsOf(launch, windows));
    // Blocks may have become larger or smaller with the arrays that lie in them.
    if (key !== null && known?.parts.every(({ windows }) => heldPages(windows) <= budgetPages)) {
      this.plans.set(key, known);
      return known;
    }
    const plan = yield* windowSlices(description, facts, {
      budgetBytes: budgetPages * PAGE_BYTES,
      heldBytes: (windows) => heldPages(windows) * PAGE_BYTES,
      bindingBytes: bindingBytesOf(limits),
      alignmentBytes: limits.minStorageBufferOffsetAlignment,
      maxParts: MOST_PARTS,
    });
    if (plan.kind === 'refused') return plan.reason;
    const made = { parts: plan.parts, backwards: false };
    if (key !== null) this.plans.set(key, made);
    return made;
  }

  private *analyzed(code: WgslCode, limits: Limits): Slices<Analyzed> {
    const { source, entryPoint, constants } = code;
    const key = keyOfCode(code);
    let found = this.modules.get(key);
    if (found === undefined) {
      const overrides = Object.fromEntries(constants.map(({ name, value }) => [name, value]));
      const { parser } = this;
      if (parser === null) throw new Error(NO_PARSER);
      const all = describe(parser, source, entryPoint, { overrides });
      yield;
      const buffers =
        all.resources.filter(({ space }) => space === 'storage').length +
        all.resources.filter(hasHead).length;
      const description =
        buffers > limits.maxStorageBuffersPerShaderStage ? withoutHeads(all) : all;
      yield;
      const { truncates } = accessesOf(description, null);
      found = { description, truncates, module: windowed(description) };
      this.modules.set(key, found);
    }
    return found;
  }
}

/** What is in the module that cannot be had is the reason, with its place. */
function* orReason<T>(work: Slices<T | string>): Slices<T | string> {
  try {
    return yield* work;
  } catch (error) {
    if (error instanceof Error && error.name === 'WgslError') return `WGSL ${error.message}`;
    throw error;
  }
}

/** What these arrays hold; null: there are none, or they hold too much. */
function* contentsOf(
  launch: Launch,
  telling: readonly Resource[],
  facts: LaunchFacts,
): Planning<LaunchFacts['contents'] | null> {
  const bytes = telling.reduce((sum, { name }) => sum + arrayBytes(launch, name), 0);
  if (bytes === 0 || bytes > MOST_CONTENT_BYTES) return null;
  const ranges = new Map<string, NumberRanges>();
  for (const resource of telling) {
    const { name, runtimeArray, arrayOffset } = resource;
    const element = runtimeArray?.element;
    const isSigned = element?.kind === 'scalar' && element.name === 'i32';
    const length = lengthOf(resource, facts);
    const own = new NumberRanges(length, isSigned);
    const end = arrayOffset + length * WORD_BYTES;
    for (let at = arrayOffset; at < end; at += PIECE_BYTES) {
      const wanted = Math.min(PIECE_BYTES, end - at);
      const content = yield { at: arrayOf(launch, name).offset + at, bytes: wanted };
      if (content === null) return null;
      yield* own.add((at - arrayOffset) / WORD_BYTES, content) as Planning<void>;
    }
    ranges.set(name, own);
  }
  return (name, elements) => ranges.get(name)?.of(elements) ?? null;
}

function arraysBytes(launch: Launch): number {
  return launch.parameters.reduce(
    (sum, each) => (each.kind === 'array' ? sum + each.length * bytesOf(each.type) : sum),
    0,
  );
}

/** Gives work up that takes too long. */
function inTime<T>(work: Slices<T>, { code }: Launch): Slices<T | string> {
  return limited(
    work,
    { slices: MOST_STEPS, ms: MOST_MS, now: () => performance.now() },
    () =>
      `it takes too long to find out which elements the workgroups of ${code.entryPoint} touch; give the device more memory`,
  );
}

function keyOfCode({ source, entryPoint, constants }: WgslCode): string {
  return `${entryPoint} ${JSON.stringify(constants)} ${source}`;
}

/** Numbers that are no integers say nothing about elements where none is made an integer. */
function keyOf(
  { code, parameters }: Launch,
  { workgroups, uniforms }: LaunchFacts,
  { budgetPages }: Room,
  truncates: boolean,
  all = false,
): string {
  const arrays = parameters.flatMap((each) =>
    each.kind === 'array' ? [[each.offset, each.length, each.use]] : [],
  );
  const integers = (_: string, value: unknown) =>
    typeof value === 'number' && !Number.isInteger(value) && !truncates ? null : value;
  return JSON.stringify(
    [code.source, code.entryPoint, code.constants, workgroups, arrays, uniforms, budgetPages, all],
    integers,
  );
}

function divisionOf(
  launch: Launch,
  module: WindowedModule,
  facts: LaunchFacts,
  parts: readonly LaunchPart[],
  begin: () => void,
): LaunchDivision {
  const { source, group, binding, heads } = module;
  const code = withHeads({ ...launch.code, source }, heads);
  return {
    way: 'windowed',
    count: parts.length,
    poolBytes: 0,
    begin,
    partAt: (index) => {
      const part = parts[index];
      const content = Buffer.from(module.uniformOf(part, facts)).toString('base64');
      const parameters = windowsOf(launch, part.windows);
      return {
        code,
        parameters,
        part: { original: launch.code, group, binding, content, workgroups: part.count },
      };
    },
  };
}

/** Bytes that the windows of a part take, besides pages. */
function besidePages(launch: Launch, windows: readonly Window[], { pagesOf }: Room): number {
  const all = windowsOf(launch, windows);
  const paged = windows.flatMap(({ resource: { name }, bytes }) => (bytes === 0 ? [name] : []));
  return (
    pagesOf(all.filter((each) => each.kind === 'array' && !paged.includes(each.name))) * PAGE_BYTES
  );
}

/** @returns why it cannot be, as a text */
function* foundPaged(
  launch: Launch,
  description: Description,
  facts: LaunchFacts,
  room: Room,
  all: boolean,
): Slices<Omit<PagedParts, 'why'> | string> {
  const { limits } = room;
  const bound = launch.code.bindings.filter(({ kind }) => kind === 'array').length;
  const arrays = bound + description.resources.filter(hasHead).length;
  const mostBuffers = limits.maxStorageBuffersPerShaderStage;
  if (arrays + PAGING_BUFFERS > mostBuffers)
    return `it has ${arrays} arrays, and ${mostBuffers - PAGING_BUFFERS} are the most beside the two buffers that paging needs`;
  const [large, lacksPages] = yield* withPages(launch, description, facts, room, all, PAGE_SIZES);
  if (!lacksPages) return large;
  for (const pageBytes of SMALLER_PAGES) {
    const sizes = { ...PAGE_SIZES, pageBytes };
    const [small, lacks] = yield* withPages(launch, description, facts, room, all, sizes);
    if (typeof small !== 'string' && !lacks) return small;
  }
  return large;
}

/** And whether there is no room for the pages of a workgroup, where smaller ones might do. */
function* withPages(
  launch: Launch,
  description: Description,
  facts: LaunchFacts,
  room: Room,
  all: boolean,
  sizes: PageSizes,
): Slices<readonly [Omit<PagedParts, 'why'> | string, boolean]> {
  const { limits, budgetPages } = room;
  const most = Math.min(Math.floor((budgetPages * PAGE_BYTES) / 2), bindingBytesOf(limits));
  let reason = '';
  let lacksPages = false;
  for (
    let poolMost = roundDown(most);
    poolMost >= BLOCK_BYTES;
    poolMost = roundDown(poolMost / 2)
  ) {
    const tablesOf = (paged: readonly Resource[]) => {
      const wanted = pagedArraysOf(launch, description, facts, paged);
      return pageTables(wanted, Math.min(poolMost, wholePoolBytes(wanted, sizes)), sizes);
    };
    const bytesOfPools = (tables: readonly PageTable[]) =>
      tables.reduce((sum, each) => sum + each.poolBytes, 0);
    let remedy = '';
    const plan = yield* pagedSlices(
      description,
      facts,
      {
        budgetBytes: budgetPages * PAGE_BYTES,
        heldBytes: (windows) => besidePages(launch, windows, room),
        bindingBytes: bindingBytesOf(limits),
        alignmentBytes: limits.minStorageBufferOffsetAlignment,
        maxParts: MOST_PARTS,
        obstacleOf: ({ name }, isWritten) => {
          const sharer = sharerOf(launch, name, isWritten);
          if (sharer === null) return null;
          remedy = '; have arguments begin at pages of their own';
          return `'${name}' shares a page with '${sharer}'`;
        },
        tablesOf,
        poolBytes: (paged) => {
          const tables = tablesOf(paged);
          return tables && bytesOfPools(tables);
        },
      },
      all,
    );
    if (plan.kind === 'refused') {
      lacksPages ||= plan.lacksPages;
      reason ||= `${/^\d/.test(plan.reason) ? 'WGSL ' : ''}${plan.reason}${remedy}`;
      continue;
    }
    const { module } = plan;
    const parts = dispatchesOf(plan.parts, limits.maxComputeWorkgroupsPerDimension);
    const tables = tablesOf(module.paged) as PageTable[];
    const planner = PartPlanner.open(description, module.paged, facts, tables);
    const memory = new PageMemory();
    const found = { module, parts, tables, poolBytes: bytesOfPools(tables), planner, memory };
    return [found, planner !== null && parts.length > 0 && !planner.hasRoom(parts[0])];
  }
  reason ||= `${budgetPages * PAGE_BYTES} bytes of memory are too few: two blocks of 2 MiB are the least`;
  return [reason, lacksPages];
}

/** Of paged arrays a part has memory for pages instead, which no other part looks at. */
function pagedDivision(
  launch: Launch,
  { module, parts, tables, poolBytes, planner, memory, why }: PagedParts,
  facts: LaunchFacts,
): LaunchDivision {
  const { source, entryPoint, group, uniform: binding, pages, notes, modes, heads } = module;
  const code = withHeads({ ...launch.code, source, entryPoint }, heads);
  const rounds = new PageRounds(tables, module.unit, memory);
  const offsets = tables.map(({ name }) => arrayOf(launch, name).offset);
  return {
    way: 'paged',
    count: parts.length,
    poolBytes,
    begin: () => undefined,
    partAt: (index, pool) => {
      const part = parts[index];
      const units = module.units(part);
      const maskWords = Math.ceil(units / 32);
      const content = (mode: number) => {
        const round = { tables, maskWords, mode, limit: rounds.limit };
        return Buffer.from(module.uniformOf(part, facts, round)).toString('base64');
      };
      const logWords = module.logWords(part);
      const contents = () =>
        modes.map((each, at) => content(at === 0 && rounds.strict ? each | Mode.Strict : each));
      const parameters = windowsOf(launch, part.windows).map((each): LaunchParameter => {
        const table = tables.find(({ name }) => name === each.name);
        if (each.kind !== 'array' || table === undefined) return each;
        return {
          ...each,
          use: 'inout',
          offset: pool + table.offset,
          length: table.poolBytes / bytesOf(each.type),
        };
      });
      const planOf = (each: LaunchPart | undefined) =>
        (each && planner?.planOf(launch, each)) ?? null;
      const plan = () => planOf(part);
      const next = () => planOf(parts[index + 1]);
      const once = module.once;
      const paged = {
        rounds,
        why,
        once,
        offsets,
        pages,
        notes,
        units,
        maskWords,
        logWords,
        begin: () => rounds.begin(index),
        contents,
        plan,
        tells: () => planner?.tells(part) === true,
        next,
      };
      return {
        code,
        parameters,
        part: { original: launch.code, group, binding, content: '', workgroups: part.count, paged },
      };
    },
  };
}

/** Where a most is known of the pages a launch touches, there is memory for no more. */
function pagedArraysOf(
  launch: Launch,
  description: Description,
  facts: LaunchFacts,
  paged: readonly Resource[],
): PagedArray[] {
  const planner = new PagePlanner(description, facts, paged);
  const whole = { first: [0, 0, 0], count: facts.workgroups } as const;
  return paged.map((each) => ({
    name: each.name,
    bytes: arrayBytes(launch, each.name) - each.arrayOffset,
    headBytes: each.arrayOffset,
    stride: each.runtimeArray?.stride as number,
    mostPages: (pageElements) => planner.mostPages(whole, each, pageElements),
  }));
}

function roundDown(bytes: number): number {
  return Math.floor(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}

/** Parts that are one dispatch each. */
function dispatchesOf(planned: readonly LaunchPart[], mostGroups: number): LaunchPart[] {
  return planned.flatMap((part) => boxesOf(part, mostGroups).map((box) => ({ ...part, ...box })));
}

/** Workgroups of one dispatch have no order, so that they may as well be of several. */
function boxesOf({ first, count }: Box, most: number): Box[] {
  const axis = count.findIndex((each) => each > most);
  if (axis === -1) return [{ first, count }];
  const boxes: Box[] = [];
  for (let at = 0; at < count[axis]; at += most) {
    const from = first.with(axis, first[axis] + at) as [number, number, number];
    const wide = count.with(axis, Math.min(most, count[axis] - at)) as [number, number, number];
    boxes.push(...boxesOf({ first: from, count: wide }, most));
  }
  return boxes;
}

/** The arguments of a part. Those that it does not write are only read. */
function windowsOf(launch: Launch, windows: readonly Window[]): LaunchParameter[] {
  return launch.parameters.flatMap((each): LaunchParameter | LaunchParameter[] => {
    const window = windows.find(({ resource }) => resource.name === each.name);
    if (each.kind !== 'array' || window === undefined) return each;
    const { resource, offsetBytes, written, writesHead } = window;
    const size = bytesOf(each.type);
    const bytes = Math.min(
      Math.ceil(window.bytes / WORD_BYTES) * WORD_BYTES,
      each.length * size - offsetBytes,
    );
    const use = written ? 'inout' : 'in';
    const own: LaunchParameter = {
      ...each,
      use,
      offset: each.offset + offsetBytes,
      length: bytes / size,
    };
    if (!hasHead(resource)) return own;
    // What stands before its array is an argument of its own.
    const name = headName(each.name);
    const headUse = writesHead ? 'inout' : 'in';
    return [own, { ...each, name, type: 'bytes', use: headUse, length: headBytesOf(resource) }];
  });
}

/** No variable of a module has such a name. */
function headName(name: string): string {
  return `${name} before its array`;
}

function withHeads(code: WgslCode, heads: readonly Head[]): WgslCode {
  if (heads.length === 0) return code;
  const bound = heads.map(({ resource: { name, access }, group, binding, bytes }): WgslBinding => {
    const parameter = headName(name);
    return {
      group,
      binding,
      kind: 'array',
      parameter,
      writable: access !== 'read',
      leastBytes: bytes,
    };
  });
  return { ...code, bindings: [...code.bindings, ...bound] };
}

function factsOf(launch: Launch, { resources }: Description): LaunchFacts {
  const lengths: Record<string, number> = {};
  const uniforms: Record<string, UniformValue> = {};
  for (const { name, group, binding, runtimeArray, arrayOffset, type } of resources) {
    const known = launch.known?.[name];
    if (known !== undefined) uniforms[name] = known;
    if (runtimeArray !== null) {
      lengths[name] = Math.floor((arrayBytes(launch, name) - arrayOffset) / runtimeArray.stride);
      continue;
    }
    const bound = launch.code.bindings.find(
      (each) => each.group === group && each.binding === binding,
    );
    if (bound?.kind !== 'uniform') continue;
    const value = valueIn(uniformContent(bound, launch), 0, type);
    if (value !== undefined) uniforms[name] = value;
  }
  return { workgroups: workgroupsOf(launch, launch.code), lengths, uniforms };
}
