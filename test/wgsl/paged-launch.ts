/**
 * A launch whose arrays are paged, on a GPU, as a driver would make it, with pages that are a few
 * bytes.
 */
import assert from 'node:assert/strict';
import type { LaunchFacts } from '../../src/wgsl/analysis/access.js';
import { finished } from '../../src/wgsl/analysis/slices.js';
import type { PageMemory } from '../../src/wgsl/dividing/page-memory.js';
import { PagePlanner } from '../../src/wgsl/dividing/page-plan.js';
import { type PageCopy, PageRounds } from '../../src/wgsl/dividing/page-rounds.js';
import { type PageTable, pageTables } from '../../src/wgsl/dividing/page-tables.js';
import { type PagedPlan, pagedSlices } from '../../src/wgsl/paged-plan.js';
import type { Description, Resource } from '../../src/wgsl/reading/describe.js';
import { Mode } from '../../src/wgsl/rewriting/paged.js';
import { isWholeLaunch, type WindowedModule, windowed } from '../../src/wgsl/rewriting/windowed.js';
import type { Bound, Gpu } from './gpu.js';
import type { Arrays } from './kernel-case.js';
import { asBytes, bytesOf, copiesOf, headsOf, putBack } from './part-arrays.js';

const SIZES = { pageBytes: 64, mostPages: 65_536, alignment: 64 };
const BINDING_BYTES = 128 * 2 ** 20;
/** A launch that takes more rounds makes no progress. */
const MOST_ROUNDS = 5000;

export interface PagedOutcome {
  readonly rounds: number;
  readonly parts: number;
  readonly copiedBytes: number;
  readonly homeBytes: number;
}

interface Given {
  readonly description: Description;
  readonly facts: LaunchFacts;
  readonly arrays: Arrays;
  readonly overrides: Readonly<Record<string, number>>;
  readonly uniforms: readonly Bound[];
}

/**
 * @param share of the bytes of the arrays that are paged, for their frames
 * @param memory what launches like it have touched
 * @returns why it was refused, as a text
 */
export async function runPaged(
  gpu: Gpu,
  given: Given,
  share: number,
  memory: PageMemory | null = null,
): Promise<PagedOutcome | string> {
  const { description, facts, arrays, overrides, uniforms } = given;
  const plan = finished(
    pagedSlices(
      description,
      facts,
      { budgetBytes: 2 ** 30, bindingBytes: BINDING_BYTES, alignmentBytes: 64, poolBytes: () => 0 },
      true,
    ),
  );
  if (plan.kind === 'refused') return plan.reason;
  const { module, parts } = plan;
  const tables = tablesOf(module.paged, arrays, share);
  if (tables === null) return 'no room for a page of each';
  const pipeline = await gpu.pipeline(module.source, module.entryPoint, overrides);
  const rounds = new PageRounds(tables, module.unit, memory);
  const pools = tables.map(({ poolBytes }) => new Uint8Array(poolBytes));
  const pairs = (copies: readonly PageCopy[]) => pairsOf(copies, arrays, tables, pools);
  const bring = (copies: readonly PageCopy[]): void => {
    for (const { array, pool } of pairs(copies)) {
      copiedBytes += array.length;
      pool.set(array);
    }
  };
  let copiedBytes = 0;
  let homeBytes = 0;
  for (const [number, part] of parts.entries()) {
    bring(rounds.begin(number));
    const mask = Math.ceil(module.units(part) / 32);
    const logWords = module.logWords(part);
    const noted = 2 * mask + rounds.entries.length + Math.min(1, logWords);
    const notes = new Uint32Array(noted - Math.min(1, logWords) + logWords);
    const copies = copiesOf(part, arrays);
    const heads = headsOf(module.heads, arrays);
    const bound = [
      ...boundOf(description, tables, copies, pools),
      ...heads.map((each) => each.bound),
      ...uniforms,
    ];
    const { group } = module;
    bound.push({
      group,
      binding: module.pages,
      kind: 'storage',
      bytes: asBytes(rounds.entries),
      back: false,
    });
    bound.push({
      group,
      binding: module.notes,
      kind: 'storage',
      bytes: asBytes(notes),
      back: true,
    });
    for (;;) {
      notes.fill(0, mask, noted);
      for (const [at, each] of module.modes.entries()) {
        const mode = at === 0 && rounds.strict ? each | Mode.Strict : each;
        const bytes = new Uint8Array(
          module.uniformOf(part, facts, { tables, maskWords: mask, mode, limit: rounds.limit }),
        );
        await gpu.dispatch(
          pipeline,
          [...bound, { group, binding: module.uniform, kind: 'uniform', bytes, back: false }],
          part.count,
        );
      }
      const next = rounds.advance(notes.subarray(2 * mask, noted), module.units(part));
      for (const { array, pool } of pairs(next.homes)) {
        homeBytes += array.length;
        array.set(pool);
      }
      if (next.end === 'done') break;
      if (next.end !== null) return next.end.refused;
      bring(next.copies);
      if (rounds.rounds > MOST_ROUNDS) throw new Error(`not done after ${MOST_ROUNDS} rounds`);
    }
    putBack(part, arrays, copies);
    for (const each of heads) each.putBack();
  }
  // What has run is not to be refused before.
  const planner = new PagePlanner(description, facts, module.paged);
  if (!module.resumes)
    for (const part of parts)
      assert.equal(planner.excess(part, tables, module.unit === 'invocation'), null);
  return { rounds: rounds.rounds, parts: parts.length, copiedBytes, homeBytes };
}

/**
 * With what it only reads paged, and every page there before it runs.
 * @returns dispatches; null where what it touches cannot be told before
 */
export async function runPlanned(gpu: Gpu, given: Given, share: number): Promise<number | null> {
  const { description, facts, arrays } = given;
  const limits = {
    budgetBytes: 2 ** 30,
    bindingBytes: BINDING_BYTES,
    alignmentBytes: 64,
    poolBytes: () => 0,
  };
  const obstacleOf = (_: Resource, isWritten: boolean): string | null =>
    isWritten ? 'it is written' : null;
  const plan = finished(pagedSlices(description, facts, { ...limits, obstacleOf }, true));
  if (plan.kind === 'refused') return null;
  const { paged } = plan.module;
  // As a driver does, with smaller pages where those do not do.
  for (const pageBytes of [SIZES.pageBytes, SIZES.pageBytes / 4, SIZES.pageBytes / 16]) {
    const tables = tablesOf(paged, arrays, share, { ...SIZES, pageBytes });
    const dispatches = tables && (await runBoxes(gpu, given, plan, tables));
    if (dispatches !== null) return dispatches;
  }
  return null;
}

/** Null: what it touches cannot be told before. */
async function runBoxes(
  gpu: Gpu,
  { description, facts, arrays, overrides, uniforms }: Given,
  plan: Extract<PagedPlan, { kind: 'paged' }>,
  tables: readonly PageTable[],
): Promise<number | null> {
  const { paged } = plan.module;
  const smallest = Math.min(...tables.map((each) => each.pageBytes));
  const planner = new PagePlanner(description, facts, paged, smallest);
  const planned = plan.parts.map((part) =>
    finished(
      planner.boxes(part, tables, ({ resource: { name, arrayOffset }, begin, end }) =>
        new Uint32Array(bytesOf(arrays, name).slice(arrayOffset).buffer).subarray(begin, end),
      ),
    ),
  );
  if (planned.includes(null)) return null;
  const [cut, whole] = [false, true].map((isWhole) => windowed(description, paged, isWhole));
  const pipelines = new Map<WindowedModule, GPUComputePipeline>();
  const rounds = new PageRounds(tables, plan.module.unit);
  // What is not there must not be touched: it is no zeros.
  const pools = tables.map(({ poolBytes }) => new Uint8Array(poolBytes).fill(0xa5));
  let dispatches = 0;
  for (const [at, part] of plan.parts.entries()) {
    const copies = copiesOf(part, arrays);
    for (const box of planned[at] ?? []) {
      for (const { array, pool } of pairsOf(rounds.admit(box.pages), arrays, tables, pools))
        pool.set(array);
      const own = { ...part, ...box };
      const module = isWholeLaunch(own, facts, paged) ? whole : cut;
      const { group, binding, pages } = module;
      const content = new Uint8Array(module.uniformOf(own, facts, tables));
      const heads = headsOf(module.heads, arrays);
      const bound: Bound[] = [
        ...boundOf(description, tables, copies, pools),
        ...heads.map((each) => each.bound),
        ...uniforms,
      ];
      bound.push({ group, binding, kind: 'uniform', bytes: content, back: false });
      bound.push({
        group,
        binding: pages,
        kind: 'storage',
        bytes: asBytes(rounds.entries),
        back: false,
      });
      const { name } = description.entryPoint;
      const pipeline =
        pipelines.get(module) ?? (await gpu.pipeline(module.source, name, overrides));
      pipelines.set(module, pipeline);
      await gpu.dispatch(pipeline, bound, box.count);
      for (const each of heads) each.putBack();
      dispatches++;
    }
    putBack(part, arrays, copies);
  }
  return dispatches;
}

function tablesOf(
  paged: readonly Resource[],
  arrays: Arrays,
  share: number,
  sizes = SIZES,
): PageTable[] | null {
  const wanted = paged.map(({ name, runtimeArray, arrayOffset }) => ({
    name,
    bytes: (arrays[name] as Uint32Array).byteLength - arrayOffset,
    headBytes: arrayOffset,
    stride: runtimeArray?.stride as number,
  }));
  const all = wanted.reduce((sum, { bytes }) => sum + bytes, 0);
  return pageTables(wanted, Math.floor(all * share), sizes);
}

function boundOf(
  { resources }: Description,
  tables: readonly PageTable[],
  copies: ReadonlyMap<string, Uint8Array>,
  pools: readonly Uint8Array[],
): Bound[] {
  return resources
    .filter(({ space }) => space === 'storage')
    .map(({ name, group, binding, access }) => {
      const at = tables.findIndex((each) => each.name === name);
      const bytes = (at === -1 ? copies.get(name) : pools[at]) as Uint8Array;
      return { group, binding, kind: 'storage', bytes, back: access === 'read_write' };
    });
}

function pairsOf(
  copies: readonly PageCopy[],
  arrays: Arrays,
  tables: readonly PageTable[],
  pools: readonly Uint8Array[],
): { array: Uint8Array; pool: Uint8Array }[] {
  return copies.map(({ table, place, bytes, frame }) => ({
    array: bytesOf(arrays, table.name).subarray(place, place + bytes),
    pool: (pools[tables.indexOf(table)] as Uint8Array).subarray(
      frame - table.offset,
      frame - table.offset + bytes,
    ),
  }));
}
