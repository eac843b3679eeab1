/**
 * Rewrites a module so that some of its arrays need not be there: their indices go through a table
 * of pages. A touch of a page that is absent is noted, gives zero, and takes all effect from the
 * invocation, which is run again when the page has come. Pages that are written are noted, too.
 * Other arrays are windows, as in windowed.ts. All edits are within lines, so that positions in
 * errors keep theirs.
 */
import type { Accesses, LaunchFacts } from '../analysis/access.js';
import { accessesOf } from '../analysis/accesses.js';
import { writingIndices, writtenBy } from '../analysis/writing.js';
import { FIRST_INVOCATION, type Unit, WRITTEN } from '../dividing/page-rounds.js';
import { type LaunchPart, lengthOf } from '../dividing/windows.js';
import { withoutComments } from '../reading/comments.js';
import type { Description, Resource } from '../reading/describe.js';
import type { Attribute, Expression, FunctionDeclaration, Statement } from '../reading/tree.js';
import { bodiesOf, builtinIn, some, someStatement } from '../reading/walk.js';
import { WgslError } from '../reading/wgsl-error.js';
import { eventStoreEdits, eventText, readEdits } from './event-module.js';
import { type Events, partsOf } from './events.js';
import { type Head, headDeclarations, headEdits, headsOf } from './heads.js';
import { unhidden } from './hidden-names.js';
import { onceReason, replayOf, type Together } from './paged-rules.js';
import {
  applied,
  around,
  type Edit,
  freeBinding,
  freePrefix,
  isWithin,
  lineOf,
  mapped,
  onlyOne,
  typeNames,
} from './rewriting.js';

/** How a dispatch treats invocations: bits of one word. */
export const Mode = {
  /** Stores are made. */
  Writes: 1,
  /** An invocation that met an absent page notes no more, and leaves its loops. */
  Strict: 2,
  /** Only invocations that a probe has found to lack nothing run. */
  Commit: 4,
  /** The invocations that lack nothing are noted as such, and not as done. */
  Probe: 8,
  /** Invocations go on behind what they have done before, and it is noted how far they came. */
  Resume: 16,
} as const;

/** Where the pages of one array are kept, as the module is told it. */
export interface TableFacts {
  /** Elements of a page: two to this power. */
  readonly shift: number;
  /** Its first entry in the table of pages, and how many it has. */
  readonly firstEntry: number;
  readonly pages: number;
  /** Whether touches of pages that are there are noted, too. */
  readonly notes: boolean;
}

/** What a dispatch is told besides its part. */
export interface RoundFacts {
  readonly tables: readonly TableFacts[];
  /** Words with a bit for each unit. */
  readonly maskWords: number;
  readonly mode: number;
  /** Units from here on do not run. */
  readonly limit: number;
}

export interface PagedModule {
  readonly source: string;
  readonly entryPoint: string;
  /**
   * Why it must be known before it runs which pages it touches: with line and column. Then there is
   * nothing to be run again, and the source is the module's own. Null: it is run in rounds where
   * that is not known.
   */
  readonly once: string | null;
  /** Its arrays that need not be there, in the order of the tables. */
  readonly paged: readonly Resource[];
  /** Modes of the dispatches of a round, besides `Strict`, which the first of them may have. */
  readonly modes: readonly number[];
  /** Whether invocations go on where they lacked a page: atomics give what they then find. */
  readonly resumes: boolean;
  /** What is run again as a whole. */
  readonly unit: Unit;
  /** How many of them a part has. */
  units(part: LaunchPart): number;
  /** Invocations that a part may have. */
  readonly mostInvocations: number;
  /** Words noted behind those for pages: whether a log was full, and the logs. 0: none. */
  logWords(part: Pick<LaunchPart, 'count'>): number;
  readonly group: number;
  /** Of the uniform variable that says what the part is. */
  readonly uniform: number;
  /**
   * Of the table of pages, and of what is noted: which invocations are done; which lacked nothing,
   * or which workgroups something, in this round; and a word for each page.
   */
  readonly pages: number;
  readonly notes: number;
  /** What stands before arrays that are there in part. */
  readonly heads: readonly Head[];
  uniformOf(part: LaunchPart, launch: LaunchFacts, round: RoundFacts): ArrayBuffer;
}

/** Two vectors of three with a number behind each, three numbers of logs, and one more. */
const HEADER_WORDS = 12;
/** More than there are. */
const ALL_UNITS = 2 ** 32 - 1;
/** Bits on the GPU for an invocation of a part are two: a part has at most so many. */
const MOST_INVOCATIONS = 2 ** 22;
/** Words of the logs of a part, */
const LOG_WORDS = 2 ** 21;
/** and of a log where loops tell its need, or the need is above the most. */
const LOOP_WORDS = 127;
const MOST_WORDS = 1023;
/** How often loops go on after an absent page: with zeros some have no end. */
const FUEL = 2048;

/** @throws WgslError with line and column for what cannot be rewritten, or not be run again */
export function pagedModule(description: Description, paged: readonly Resource[]): PagedModule {
  const { module, resources, functions, entryPoint } = description;
  const once = onceReason(description);
  if (once !== null) return plannedModule(description, paged, once.message);
  const { source: text, nameOf } = unhidden(module);
  const bare = withoutComments(text);
  const prefix = freePrefix(module.source);
  const accesses = accessesOf(description, null);
  const { stores, probes, events, together } = replayOf(description, accesses, new Set(paged));
  const windows = resources.filter((each) => each.isDivisible && !paged.includes(each));
  const rewritten = { paged, windows, events, prefix };
  const wrappers = wrappersOf(description, accesses, rewritten);
  const edits = [...wrappers.values()].flat();
  edits.push(...lengthEdits(description, accesses, rewritten));
  const group = Math.max(0, ...resources.map((each) => each.group));
  const { heads, next } = headsOf(description, group);
  edits.push(...headEdits(description, heads, prefix));
  if (events !== null) edits.push(...readEdits(events, prefix));
  const held = stores.map((each) =>
    events === null
      ? storeEdits(bare, each, description, edits, prefix)
      : eventStoreEdits(bare, each, events, edits, wrappers, prefix),
  );
  edits.push(...held.flat(), ...phaseEdits(together, prefix));
  for (const each of functions.values()) edits.push(...loopEdits(bare, each, together, prefix));
  const entry = functions.get(entryPoint.name) as FunctionDeclaration;
  edits.push(...plainEdits(entry));
  const bindings = bindingsOf(description, group, next);
  const words = events === null ? 0 : Math.min(events.words ?? LOOP_WORDS, MOST_WORDS);
  const rules = together === null ? ALONE : TOGETHER + (events === null ? ALL_LEAVE : ALL_WAIT);
  const invocations = (part: Pick<LaunchPart, 'count'>) =>
    workgroupsOf(part) * product(entryPoint.workgroupSize);
  return {
    source:
      applied(text, edits) +
      declarations(prefix, windows.length, paged.length, bindings) +
      headDeclarations(module, heads, bare, prefix) +
      rules.replaceAll('$', prefix) +
      (events === null ? '' : eventText(events, prefix)) +
      entryText(description, entry, nameOf, together !== null, events !== null, prefix),
    entryPoint: `${prefix}_main`,
    once: null,
    paged,
    modes: modesOf(probes, events),
    resumes: events !== null,
    unit: together === null ? 'invocation' : 'workgroup',
    units: together === null ? invocations : workgroupsOf,
    mostInvocations: events === null ? MOST_INVOCATIONS : Math.floor(LOG_WORDS / (words + 1)),
    logWords: (part) => (events === null ? 0 : 1 + invocations(part) * (words + 1)),
    ...bindings,
    heads,
    uniformOf: (part, launch, round) =>
      uniformWords({ windows, paged }, part, launch, round, [invocations(part), words]),
  };
}

function product(sizes: readonly number[]): number {
  return sizes.reduce((all, each) => all * each, 1);
}

function workgroupsOf({ count }: Pick<LaunchPart, 'count'>): number {
  return product(count);
}

/** What the rewritten module calls its arrays by, and what it notes. */
interface Rewritten {
  readonly paged: readonly Resource[];
  readonly windows: readonly Resource[];
  readonly events: Events | null;
  readonly prefix: string;
}

/** What stands around each index of an array that is not all there. */
function wrappersOf(
  description: Description,
  accesses: Accesses,
  arrays: Rewritten,
): Map<Expression, readonly Edit[]> {
  const { paged, events, prefix } = arrays;
  const { source } = description.module;
  const written = writtenBy(accesses);
  const writing = writingIndices(description, accesses);
  const wrappers = new Map<Expression, readonly Edit[]>();
  for (const [site, of] of accesses.indices) {
    const { index } = site;
    const resource = onlyOne(source, of, index.start);
    const name = nameIn(arrays, resource);
    if (name === null) continue;
    const isPaged = paged.includes(resource);
    const write = isPaged && written.has(resource) && writing.has(site) ? '_write' : '';
    const again = isPaged && events?.again.has(index) ? '_again' : '';
    wrappers.set(index, mapped(index, prefix, `${name}${write}${again}`));
  }
  return wrappers;
}

/** The same of calls for a length. */
function lengthEdits({ module }: Description, { lengths }: Accesses, arrays: Rewritten): Edit[] {
  return [...lengths].flatMap(([call, of]) => {
    const name = nameIn(arrays, onlyOne(module.source, of, call.start));
    return name === null ? [] : around(call, `${arrays.prefix}_${name}_length(`, ')');
  });
}

function nameIn({ paged, windows }: Rewritten, resource: Resource): string | null {
  if (paged.includes(resource)) return `page_${paged.indexOf(resource)}`;
  return windows.includes(resource) ? `at_${windows.indexOf(resource)}` : null;
}

/** Workgroups whose invocations wait for each other count how often they have. */
function phaseEdits(together: Together | null, prefix: string): Edit[] {
  if (together === null) return [];
  return [
    ...together.barriers.map(({ end }) => ({ at: end, text: ` ${prefix}_phase++;` })),
    ...together.loads.map(({ start }) => ({ at: start, text: `${prefix}_phase++; ` })),
  ];
}

/** Another entry point calls this one, which is a function like others from now on. */
function plainEdits({ attributes, parameters }: FunctionDeclaration): Edit[] {
  const all = [...attributes, ...parameters.flatMap((each) => each.attributes)];
  return all.map(({ start, end }) => ({ at: start, text: '', blank: end - start }));
}

/** @param numbers how many invocations the part has, and the words of a log */
function uniformWords(
  { windows, paged }: Pick<Rewritten, 'windows' | 'paged'>,
  part: LaunchPart,
  launch: LaunchFacts,
  { tables, maskWords, mode, limit }: RoundFacts,
  numbers: readonly [invocations: number, words: number],
): ArrayBuffer {
  const first = HEADER_WORDS + 4 * Math.max(1, windows.length);
  const content = new Uint32Array(first + 4 * paged.length);
  content.set([...part.first, mode, ...launch.workgroups, maskWords]);
  const { firstEntry = 0, pages = 0 } = tables.at(-1) ?? {};
  content.set([2 * maskWords + firstEntry + pages, ...numbers, Math.min(limit, ALL_UNITS)], 8);
  for (const [number, resource] of windows.entries()) {
    const window = part.windows.find((each) => each.resource === resource);
    const last = lengthOf(resource, launch) - 1;
    content.set([window?.begin ?? 0, last], HEADER_WORDS + 4 * number);
  }
  for (const [number, { shift, firstEntry, notes }] of tables.entries()) {
    const last = lengthOf(paged[number] as Resource, launch) - 1;
    content.set([shift, firstEntry, last, Number(notes)], first + 4 * number);
  }
  return content.buffer;
}

/** Of one that runs when all of its pages are there. */
function plannedModule(
  description: Description,
  paged: readonly Resource[],
  once: string,
): PagedModule {
  const { module, resources, entryPoint } = description;
  const group = Math.max(0, ...resources.map((each) => each.group));
  const { heads, next } = headsOf(description, group);
  return {
    source: module.source,
    entryPoint: entryPoint.name,
    once,
    paged,
    modes: [],
    resumes: false,
    unit: 'workgroup',
    units: workgroupsOf,
    mostInvocations: MOST_INVOCATIONS,
    logWords: () => 0,
    ...bindingsOf(description, group, next),
    heads,
    uniformOf: () => new ArrayBuffer(0),
  };
}

function bindingsOf(description: Description, group: number, next: number): Bindings {
  const uniform = freeBinding(description, group, next);
  const pages = freeBinding(description, group, uniform + 1);
  return { group, uniform, pages, notes: freeBinding(description, group, pages + 1) };
}

function modesOf(probes: boolean, events: Events | null): readonly number[] {
  if (events !== null) return [Mode.Writes | Mode.Resume];
  return probes ? [Mode.Probe, Mode.Writes | Mode.Commit] : [Mode.Writes];
}

/**
 * A store that is not made meets the same pages: its indices and values are evaluated before, once,
 * and have names in it. Constants stay, which have their types from where they stand.
 * @param source without its comments
 * @param edits all that are known; those in what gets a name are taken out
 */
function storeEdits(
  source: string,
  store: Statement,
  { functions, module }: Description,
  edits: Edit[],
  prefix: string,
): Edit[] {
  const { indices, values } = partsOf(store);
  const varies = (each: Expression): boolean =>
    each.kind === 'call'
      ? functions.has(each.callee.name)
      : each.kind === 'name' &&
        (each.local === null ? !module.constants.has(each.name) : each.local.kind !== 'const');
  const names: string[] = [];
  for (const each of [...indices, ...values]) {
    const own = edits.filter((edit) => isWithin(edit, each));
    if (own.length === 0 && !some(each, varies)) continue;
    const name = `${prefix}_named_${names.length}`;
    names.push(`let ${name} = ${lineOf(source, each, own)};`);
    for (const edit of own) edits.splice(edits.indexOf(edit), 1);
    edits.push({ at: each.start, text: name, blank: each.end - each.start });
  }
  return around(store, `{ ${names.join(' ')} if (${prefix}_writes()) { `, ' } }');
}

/**
 * Loops end by themselves in an invocation that reads zeros instead of what is absent. All of a
 * workgroup leave a loop, or none, where they wait for each other in it; and where some may return
 * in it when others are waited for behind it: those that leave would go on to wait there.
 * @param source without its comments
 */
function loopEdits(
  source: string,
  { body, result }: FunctionDeclaration,
  together: Together | null,
  prefix: string,
): Edit[] {
  const edits: Edit[] = [];
  const waits = (statements: readonly Statement[]) => together?.waits(statements) ?? false;
  const visit = (statements: readonly Statement[], waitsBehind: boolean): void => {
    for (const [number, each] of statements.entries()) {
      const isLoop = each.kind === 'loop';
      const inside = isLoop && waits([each]);
      const behind = waitsBehind || waits(statements.slice(number + 1));
      for (const body of bodiesOf(each)) visit(body, behind || inside);
      if (!isLoop) continue;
      const first = source.startsWith('loop', each.start)
        ? source.indexOf('{', each.start)
        : (each.body.body.at(-1) as Statement).start;
      const returns = behind && someStatement([each], ({ kind }) => kind === 'return');
      const leaves = inside || returns ? 'all_leave' : 'leaves';
      edits.push({ at: first + 1, text: ` if (${prefix}_${leaves}()) { break; }` });
    }
  };
  visit(body.body, false);
  // What comes after a loop that only a return left is reached now.
  if (result !== null && edits.length > 0 && body.body.at(-1)?.kind !== 'return')
    edits.push({ at: body.end - 1, text: `return ${lineOf(source, result, [])}(); ` });
  return edits;
}

interface Bindings {
  readonly group: number;
  readonly uniform: number;
  readonly pages: number;
  readonly notes: number;
}

function declarations(
  prefix: string,
  windows: number,
  paged: number,
  { group, uniform, pages, notes }: Bindings,
): string {
  const p = prefix;
  const part = `${p}_part`;
  const window = (number: number) => `
fn ${p}_at_${number}(index: u32) -> u32 { return min(index, ${part}.arrays[${number}].y) - ${part}.arrays[${number}].x; }
fn ${p}_at_${number}_length(bound: u32) -> u32 { return ${part}.arrays[${number}].y + 1u; }`;
  const page = (number: number) => `
fn ${p}_page_${number}(index: u32) -> u32 { return ${p}_translate(index, ${part}.tables[${number}]); }
fn ${p}_page_${number}_write(index: u32) -> u32 { ${p}_mark(index, ${part}.tables[${number}]); return ${p}_page_${number}(index); }
fn ${p}_page_${number}_again(index: u32) -> u32 { if (${p}_event < ${p}_known) { return 0u; } return ${p}_page_${number}(index); }
fn ${p}_page_${number}_write_again(index: u32) -> u32 { if (${p}_event < ${p}_known) { return 0u; } return ${p}_page_${number}_write(index); }
fn ${p}_page_${number}_length(bound: u32) -> u32 { return ${part}.tables[${number}].z + 1u; }`;
  return `
struct ${p}_Part {
  first: vec3u, mode: u32, groups: vec3u, mask: u32, log_begin: u32, log_stride: u32, log_words: u32, limit: u32,
  arrays: array<vec4u, ${Math.max(1, windows)}>, tables: array<vec4u, ${paged}>,
}
@group(${group}) @binding(${uniform}) var<uniform> ${part}: ${p}_Part;
@group(${group}) @binding(${pages}) var<storage, read> ${p}_pages: array<u32>;
@group(${group}) @binding(${notes}) var<storage, read_write> ${p}_notes: array<atomic<u32>>;
var<private> ${p}_absent = false;
var<private> ${p}_slot = 0u;
var<private> ${p}_fuel = ${FUEL}u;
var<private> ${p}_event = 0u;
var<private> ${p}_known = 0u;
fn ${p}_writes() -> bool { return (${part}.mode & ${Mode.Writes}u) != 0u && !${p}_absent; }
fn ${p}_leaves() -> bool {
  if (!${p}_absent) { return false; }
  if (${p}_fuel == 0u || (${part}.mode & ${Mode.Strict}u) != 0u) { return true; }
  ${p}_fuel--;
  return false;
}
fn ${p}_translate(index: u32, table: vec4u) -> u32 {
  let at = min(index, table.z);
  let page = table.y + (at >> table.x);
  let inside = at & ((1u << table.x) - 1u);
  let entry = ${p}_pages[page];
  if ((entry == 0u || table.w != 0u) && !((${part}.mode & ${Mode.Strict}u) != 0u && (${p}_absent || ${p}_strays()))) {
    let note = &${p}_notes[2u * ${part}.mask + page];
    let first = ${FIRST_INVOCATION}u - ${p}_slot;
    let noted = atomicLoad(note);
    if ((noted & ${FIRST_INVOCATION}u) < first) {
      let before = atomicMax(note, first | (noted & ${WRITTEN}u));
      // Another invocation has noted meanwhile that it is written.
      if ((before & ~noted & ${WRITTEN}u) != 0u) { atomicMax(note, first | ${WRITTEN}u); }
    }
  }
  if (entry == 0u) { ${p}_absent = true; ${p}_lack(); }
  return entry + inside;
}
fn ${p}_mark(index: u32, table: vec4u) {
  let page = table.y + (min(index, table.z) >> table.x);
  if ((${part}.mode & ${Mode.Commit | Mode.Resume}u) == 0u || ${p}_pages[page] == 0u) { return; }
  let note = &${p}_notes[2u * ${part}.mask + page];
  if (atomicLoad(note) < ${WRITTEN}u) { atomicOr(note, ${WRITTEN}u); }
}${Array.from({ length: windows }, (_, number) => window(number)).join('')}${Array.from({ length: paged }, (_, number) => page(number)).join('')}${typeNames(p)}
`;
}

/** `$` is the prefix. */
const ALONE = `
fn $_strays() -> bool { return false; }
fn $_lack() {}
`;

/**
 * Zeros that one invocation reads instead of what is absent come to others through shared memory,
 * at a barrier: from then on the workgroup strays. Invocations of the same phase still note all
 * that they touch.
 */
const TOGETHER = `
var<workgroup> $_lacking: atomic<u32>;
var<workgroup> $_over: u32;
var<workgroup> $_goes: u32;
var<private> $_phase = 0u;
fn $_lack() { atomicMax(&$_lacking, ~$_phase); }
fn $_strays() -> bool {
  let lacking = atomicLoad(&$_lacking);
  return lacking != 0u && ~lacking < $_phase;
}
fn $_tires() {
  if (!$_absent) { return; }
  if ($_fuel == 0u || ($_part.mode & ${Mode.Strict}u) != 0u) { $_over = 1u; } else { $_fuel--; }
}
`;
const ALL_LEAVE = `
fn $_all_leave() -> bool { $_tires(); return workgroupUniformLoad(&$_over) != 0u; }
`;
/** Those that leave a loop because others have to do nothing behind it. */
const ALL_WAIT = `
fn $_all_leave() -> bool {
  $_tires();
  let isOver = workgroupUniformLoad(&$_over) != 0u;
  $_absent = $_absent || isOver;
  return isOver;
}
`;

/** The entry point for units not done, workgroups or invocations: it calls the user's. */
function entryText(
  { module, entryPoint }: Description,
  entry: FunctionDeclaration,
  nameOf: (name: string) => string,
  isTogether: boolean,
  resumes: boolean,
  p: string,
): string {
  const [x, y, z] = entryPoint.workgroupSize;
  const part = `${p}_part`;
  const values: Readonly<Record<string, string>> = {
    global_invocation_id: `${p}_id + ${part}.first * vec3u(${x}, ${y}, ${z})`,
    workgroup_id: `${p}_group + ${part}.first`,
    num_workgroups: `${part}.groups`,
    local_invocation_id: `${p}_local`,
    local_invocation_index: `${p}_at`,
  };
  const builtinValue = (attributes: readonly Attribute[], start: number): string => {
    const builtin = builtinIn(attributes);
    const name = builtin?.name ?? '';
    const value = values[name];
    if (value === undefined)
      throw new WgslError(
        module.source,
        builtin?.start ?? start,
        `builtin ${name} is not supported in a launch that is paged`,
      );
    return value;
  };
  const given = entry.parameters.map(({ local, attributes }) => {
    const struct = local.type && module.structs.get(local.type.name);
    if (!struct) return builtinValue(attributes, local.start);
    return `${nameOf(struct.name)}(${struct.members.map((each) => builtinValue(each.attributes, each.start)).join(', ')})`;
  });
  const size = `${x * y * z}u`;
  const bodyText = (call: string): string => {
    if (resumes) return isTogether ? resumeTogether(p, call, size) : resumeAlone(p, call);
    return (isTogether ? runTogether : runAlone)(p, call);
  };
  return `@compute @workgroup_size(${x}, ${y}, ${z})
fn ${p}_main(
  @builtin(global_invocation_id) ${p}_id: vec3u, @builtin(workgroup_id) ${p}_group: vec3u, @builtin(num_workgroups) ${p}_count: vec3u,
  @builtin(local_invocation_id) ${p}_local: vec3u, @builtin(local_invocation_index) ${p}_at: u32,
) {
  ${p}_slot = ((${p}_group.z * ${p}_count.y + ${p}_group.y) * ${p}_count.x + ${p}_group.x)${isTogether ? '' : ` * ${x * y * z}u + ${p}_at`};
  _ = &${p}_pages;
  let ${p}_word = ${p}_slot >> 5u;
  let ${p}_bit = 1u << (${p}_slot & 31u);
  let ${p}_isCommit = (${part}.mode & ${Mode.Commit}u) != 0u;
${bodyText(`${nameOf(entry.name)}(${given.join(', ')});`)}
}
`;
}

function runAlone(p: string, call: string): string {
  return `  if (${p}_slot >= ${p}_part.limit || (atomicLoad(&${p}_notes[${p}_word]) & ${p}_bit) != 0u) { return; }
  let ${p}_ready = &${p}_notes[${p}_part.mask + ${p}_word];
  if (${p}_isCommit && (atomicLoad(${p}_ready) & ${p}_bit) == 0u) { return; }
  ${call}
  if (${p}_absent) { return; }
  if ((${p}_part.mode & ${Mode.Probe}u) != 0u) { atomicOr(${p}_ready, ${p}_bit); } else { atomicOr(&${p}_notes[${p}_word], ${p}_bit); }`;
}

/** All of a workgroup run, or none. */
function runTogether(p: string, call: string): string {
  return `  if (${p}_at == 0u) {
    let ${p}_stays = atomicLoad(&${p}_notes[${p}_word]) | select(0u, atomicLoad(&${p}_notes[${p}_part.mask + ${p}_word]), ${p}_isCommit);
    ${p}_goes = select(0u, 1u, ${p}_slot < ${p}_part.limit && (${p}_stays & ${p}_bit) == 0u);
  }
  if (workgroupUniformLoad(&${p}_goes) == 0u) { return; }
  ${call}
  if (${p}_absent) { atomicOr(&${p}_notes[${p}_part.mask + ${p}_word], ${p}_bit); }
  if (${p}_isCommit && ${p}_at == 0u) { atomicOr(&${p}_notes[${p}_word], ${p}_bit); }`;
}

function resumeAlone(p: string, call: string): string {
  return `  if (${p}_slot >= ${p}_part.limit || (atomicLoad(&${p}_notes[${p}_word]) & ${p}_bit) != 0u) { return; }
  ${p}_resume(${p}_slot);
  ${call}
  if (${p}_absent) { ${p}_pause(); } else { atomicOr(&${p}_notes[${p}_word], ${p}_bit); }`;
}

/** What of a workgroup has come so far as to end waits for the others. */
function resumeTogether(p: string, call: string, size: string): string {
  return `  if (${p}_at == 0u) { ${p}_goes = select(0u, 1u, ${p}_slot < ${p}_part.limit && (atomicLoad(&${p}_notes[${p}_word]) & ${p}_bit) == 0u); }
  if (workgroupUniformLoad(&${p}_goes) == 0u) { return; }
  ${p}_resume(${p}_slot * ${size} + ${p}_at);
  ${call}
  workgroupBarrier();
  ${p}_pause();
  if (${p}_at == 0u && atomicLoad(&${p}_lacking) == 0u) { atomicOr(&${p}_notes[${p}_word], ${p}_bit); }`;
}
