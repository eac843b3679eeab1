/**
 * Cuts a launch into parts that each need one interval of each array, so that together they fit
 * into a budget. A part is an ordinary dispatch over a box of workgroups; parts run one after the
 * other.
 */
import type { Access, LaunchFacts, WorkgroupBox } from '../analysis/access.js';
import { accessesOf } from '../analysis/accesses.js';
import { commonDivisor } from '../analysis/forms.js';
import type { Slices } from '../analysis/slices.js';
import type { Description, Resource } from '../reading/describe.js';
import { positionAt } from '../reading/wgsl-error.js';
import { obstacleTo } from './commuting.js';

export interface WindowLimits {
  /** Bytes that the windows of a part may have together. */
  readonly budgetBytes: number;
  /** Bytes that windows take together where they are kept: the sum of theirs unless it is given. */
  readonly heldBytes?: (windows: readonly Window[]) => number;
  /** Bytes that one binding may have (maxStorageBufferBindingSize). */
  readonly bindingBytes: number;
  /** A window begins at a multiple of this many bytes (minStorageBufferOffsetAlignment). */
  readonly alignmentBytes?: number;
  /** More parts than this are refused: 65,536 unless it is given. */
  readonly maxParts?: number;
  /** Arrays that need not be there: their windows are empty. */
  readonly paged?: readonly Resource[];
  /** Invocations have effects as they come to them: parts are one dispatch of slow workgroups. */
  readonly resumes?: boolean;
}

/** Elements `[begin, end)` of an array, or the whole variable, with its last array's. */
export interface Window {
  readonly resource: Resource;
  readonly begin: number;
  readonly end: number;
  readonly offsetBytes: number;
  readonly bytes: number;
  readonly written: boolean;
  /** Whether what stands before its runtime-sized array is written. */
  readonly writesHead: boolean;
}

export interface LaunchPart extends WorkgroupBox {
  /** One for each storage variable, in the order of the description. */
  readonly windows: readonly Window[];
}

export type WindowPlan =
  | { readonly kind: 'parts'; readonly parts: readonly LaunchPart[] }
  /** `reason` begins with line and column, where a place in the source is to blame. */
  | { readonly kind: 'refused'; readonly reason: string };

interface Attempt extends LaunchPart {
  readonly accesses: readonly Access[];
  /** Why this is too much for the limits; null: it is not. */
  readonly excess: string | null;
}

/** What is halved until it fits is widened again to this part of what would fit. */
const WIDENED = 8;

/** Parts that move so many times what the launch moves at least need not be outdone. */
const ENOUGH = 1.1;

/** Of an array of which nothing is there. */
const EMPTY = { begin: 0, end: 0, offsetBytes: 0, bytes: 0, written: false, writesHead: false };
const ORDERS = [
  [2, 1, 0],
  [0, 1, 2],
  [1, 2, 0],
] as const;

/**
 * In slices: a look at a part is one.
 * @example
 * windowSlices(description, { workgroups: [4096, 1, 1], lengths: { x: 2 ** 20 }, uniforms: {} }, { budgetBytes, bindingBytes });
 * // ends with { kind: 'parts', parts: [{ first: [0, 0, 0], count: [512, 1, 1], windows: [{ begin: 0, end: 131072, ... }] }, ...] }
 */
export function* windowSlices(
  description: Description,
  launch: LaunchFacts,
  limits: WindowLimits,
): Slices<WindowPlan> {
  const whole: WorkgroupBox = { first: [0, 0, 0], count: launch.workgroups };
  if (launch.workgroups.includes(0)) return { kind: 'parts', parts: [] };
  const { paged = [], resumes = false } = limits;
  const all = attempt(description, launch, limits, whole);
  if (all.excess === null) {
    const reason = obstacleTo(description, all.accesses, [all], paged, resumes);
    return reason === null ? { kind: 'parts', parts: [all] } : { kind: 'refused', reason };
  }
  const enough = ENOUGH * movedBytes([all]);
  let best: Cut | null = null;
  let refused: string | null = null;
  for (const way of waysToCut(launch)) {
    const cutter: Cutter = new Cutter(description, launch, limits, best?.moved ?? Infinity);
    const found: Cut | null = yield* way(cutter, whole);
    yield;
    const reason: string | null =
      found === null
        ? cutter.reason
        : obstacleTo(description, all.accesses, found.parts, paged, resumes);
    if (reason !== null) refused ??= reason;
    else if (found !== null && found.moved < (best?.moved ?? Infinity)) best = found;
    if (best !== null && best.moved <= enough) break;
  }
  return best === null
    ? { kind: 'refused', reason: refused as string }
    : { kind: 'parts', parts: best.parts };
}

interface Cut {
  readonly parts: readonly Attempt[];
  readonly moved: number;
}

/** Null: it cannot be cut so. */
type Way = (cutter: Cutter, whole: WorkgroupBox) => Slices<Cut | null>;

function waysToCut({ workgroups }: LaunchFacts): Way[] {
  const along = ORDERS.map(
    (order): Way =>
      function* (cutter, whole) {
        const parts = yield* cutter.along(whole, order);
        return parts && { parts, moved: movedBytes(parts) };
      },
  );
  if (workgroups.filter((count) => count > 1).length < 2) return along;
  // One dimension after the other leaves thin parts, each of which wants nearly all of an array
  // that lies across them: that is cut into tiles.
  const tiles: Way = function* (cutter, whole) {
    const found = yield* cutter.tiles(whole);
    let least: Cut | null = null;
    for (const order of found === null ? [] : ORDERS) {
      yield;
      const parts = inRows(found as Attempt[], order);
      const moved = movedBytes(parts);
      if (moved < (least?.moved ?? Infinity)) least = { parts, moved };
    }
    return least;
  };
  return [tiles, ...along];
}

/** Bytes that move when each part has only what the last one had; written ones move twice. */
export function movedBytes(parts: readonly LaunchPart[]): number {
  return parts.reduce((sum, each, at) => sum + movedAfter(parts[at - 1], each), 0);
}

function movedAfter(last: LaunchPart | undefined, { windows }: LaunchPart): number {
  let moved = 0;
  for (const [number, { offsetBytes, bytes, written }] of windows.entries()) {
    const before = last?.windows[number];
    const from = Math.max(offsetBytes, before?.offsetBytes ?? Infinity);
    const to = Math.min(
      offsetBytes + bytes,
      before === undefined ? 0 : before.offsetBytes + before.bytes,
    );
    moved += (bytes - Math.max(0, to - from)) * (written ? 2 : 1);
  }
  return moved;
}

/**
 * Tiles in the order of their places, by the outermost dimension first; every other row goes back,
 * so that a part begins with what the one before it had.
 */
function inRows(tiles: readonly Attempt[], order: readonly number[]): Attempt[] {
  const places = order.map((axis) =>
    [...new Set(tiles.map(({ first }) => first[axis] as number))].sort((a, b) => a - b),
  );
  const ranks = new Map(tiles.map((each) => [each, rankOf(each, order, places)]));
  return tiles.toSorted((one, other) => (ranks.get(one) as number) - (ranks.get(other) as number));
}

function rankOf(
  { first }: Attempt,
  order: readonly number[],
  places: readonly (readonly number[])[],
): number {
  let rank = 0;
  for (const [at, axis] of order.entries()) {
    const row = places[at] as readonly number[];
    const place = row.indexOf(first[axis] as number);
    rank = rank * row.length + (rank % 2 === 0 ? place : row.length - 1 - place);
  }
  return rank;
}

/** Cuts along one dimension after the other, and remembers why it could not. */
class Cutter {
  reason = '';
  private left: number;

  /** @param least bytes that other parts move, so that parts that move more are not wanted */
  constructor(
    private readonly description: Description,
    private readonly launch: LaunchFacts,
    private readonly limits: WindowLimits,
    private readonly least: number,
  ) {
    this.left = limits.maxParts ?? 65_536;
  }

  *along(box: WorkgroupBox, [axis, ...others]: readonly number[]): Slices<Attempt[] | null> {
    const tried = yield* this.attempt(box);
    if (tried.excess === null) return [tried];
    if (axis === undefined) {
      this.reason = tried.excess;
      return null;
    }
    const parts: Attempt[] = [];
    let moved = 0;
    const count = box.count[axis] as number;
    const piece = (at: number, wide: number) => slab(box, axis, at, wide);
    const most = yield* this.greatest(1, count, 1, (wide) => piece(0, wide));
    for (let at = 0, wide = most; at < count; ) {
      // Where windows lie badly a part is smaller; the next one need not be.
      wide = yield* this.fitting(Math.min(2 * wide, most, count - at), (each) => piece(at, each));
      const made: Attempt[] | null =
        wide === 0
          ? yield* this.along(piece(at, 1), others)
          : [yield* this.attempt(piece(at, wide))];
      if (made === null) return null;
      for (const each of made) {
        moved += movedAfter(parts.at(-1), each);
        parts.push(each);
      }
      if (moved >= this.least) {
        this.reason = 'other parts move less';
        return null;
      }
      this.left -= made.length;
      if (this.left < 0) {
        this.reason = this.tooMany();
        return null;
      }
      wide = Math.max(1, wide);
      at += wide;
    }
    return parts;
  }

  /** Along all dimensions: that one is halved which leaves the least, until what remains fits. */
  *tiles(box: WorkgroupBox): Slices<Attempt[] | null> {
    let tried = yield* this.attempt(box);
    while (tried.excess !== null) {
      const halves: Attempt[] = [];
      for (const axis of [0, 1, 2])
        if ((tried.count[axis] as number) > 1)
          halves.push(yield* this.attempt(halvesAlong(tried, axis)[0]));
      const [least] = halves.toSorted((one, other) => sumOf(one.windows) - sumOf(other.windows));
      if (least === undefined) {
        this.reason = tried.excess;
        return null;
      }
      tried = least;
    }
    const places = [...tilesOf(box, tried.count)];
    if (places.length > this.left) {
      this.reason = this.tooMany();
      return null;
    }
    const tiles: Attempt[] = [];
    for (const place of places) {
      const made = yield* this.along(place, ORDERS[0]);
      if (made === null) return null;
      tiles.push(...made);
    }
    return tiles;
  }

  /** So many workgroups in a row fit, nearly as many as can; 0: not one does. */
  private *fitting(wanted: number, piece: (wide: number) => WorkgroupBox): Slices<number> {
    let fails = wanted + 1;
    for (let wide = wanted; wide >= 1; wide = Math.floor(wide / 2)) {
      const tried = yield* this.attempt(piece(wide));
      if (tried.excess === null) return yield* this.greatest(wide, fails, wide / WIDENED, piece);
      fails = wide;
    }
    return 0;
  }

  /** Between what fits and what does not, to `precision`: the least where nothing fits. */
  private *greatest(
    fitting: number,
    failing: number,
    precision: number,
    piece: (wide: number) => WorkgroupBox,
  ): Slices<number> {
    let fits = fitting;
    let fails = failing;
    while (fails - fits > Math.max(1, precision)) {
      const middle = Math.floor((fits + fails) / 2);
      const tried = yield* this.attempt(piece(middle));
      if (tried.excess === null) fits = middle;
      else fails = middle;
    }
    return fits;
  }

  private tooMany(): string {
    return `the launch would have to be cut into more than ${this.limits.maxParts ?? 65_536} parts`;
  }

  private *attempt(box: WorkgroupBox): Slices<Attempt> {
    yield;
    return attempt(this.description, this.launch, this.limits, box);
  }
}

function* tilesOf(
  { first, count }: WorkgroupBox,
  wide: WorkgroupBox['count'],
): Generator<WorkgroupBox> {
  const [x, y, z] = first;
  const [across, down, deep] = count;
  for (let k = 0; k < deep; k += wide[2])
    for (let j = 0; j < down; j += wide[1])
      for (let i = 0; i < across; i += wide[0])
        yield {
          first: [x + i, y + j, z + k],
          count: [
            Math.min(wide[0], across - i),
            Math.min(wide[1], down - j),
            Math.min(wide[2], deep - k),
          ],
        };
}

/** So many workgroups of a box along one dimension, from one of them on. */
function slab({ first, count }: WorkgroupBox, axis: number, at: number, wide: number) {
  return {
    first: first.with(axis, (first[axis] as number) + at) as [number, number, number],
    count: count.with(axis, wide) as [number, number, number],
  };
}

/** The two halves of a box along one dimension, of which the first has no less. */
export function halvesAlong(box: WorkgroupBox, axis: number) {
  const most = box.count[axis] as number;
  const half = Math.ceil(most / 2);
  return [slab(box, axis, 0, half), slab(box, axis, half, most - half)] as const;
}

/** The windows of so many workgroups, whatever they come to. */
export function windowsOfBox(
  description: Description,
  launch: LaunchFacts,
  limits: WindowLimits,
  box: WorkgroupBox,
): readonly Window[] {
  return attempt(description, launch, limits, box).windows;
}

function attempt(
  description: Description,
  launch: LaunchFacts,
  limits: WindowLimits,
  box: WorkgroupBox,
): Attempt {
  const { accesses } = accessesOf(description, launch, box);
  const windows = description.resources
    .filter(({ space }) => space === 'storage')
    .map((each) =>
      limits.paged?.includes(each)
        ? { ...EMPTY, resource: each }
        : windowOf(each, accesses, launch, limits.alignmentBytes ?? 256),
    );
  return {
    ...box,
    windows,
    accesses,
    excess: excessOf(description, accesses, windows, launch, limits),
  };
}

function windowOf(
  resource: Resource,
  accesses: readonly Access[],
  launch: LaunchFacts,
  alignment: number,
): Window {
  const own = accesses.filter((each) => each.resource === resource);
  const { runtimeArray, arrayOffset, isDivisible } = resource;
  const length = lengthOf(resource, launch);
  if (runtimeArray === null || !isDivisible) {
    const written = own.some(({ kind }) => kind !== 'load');
    const bytes = runtimeArray === null ? resource.minBytes : wholeBytes(resource, length);
    return { ...EMPTY, resource, end: length, bytes, written };
  }
  const written = own.some(({ kind, isHead }) => kind !== 'load' && !isHead);
  const writesHead = own.some(({ kind, isHead }) => kind !== 'load' && isHead);
  const { stride } = runtimeArray;
  let begin = Infinity;
  let end = 0;
  for (const access of own) {
    if (access.isHead) continue;
    const touched = elementsOf(access, length);
    if (touched.begin >= touched.end) continue;
    begin = Math.min(begin, touched.begin);
    end = Math.max(end, touched.end);
  }
  // Something must be bound also where nothing is touched.
  if (begin >= end) [begin, end] = [0, Math.min(1, length)];
  const unit = alignment / commonDivisor(alignment, stride);
  begin = Math.floor(begin / unit) * unit;
  const whole = wholeBytes(resource, length);
  while (begin > 0 && whole - begin * stride < resource.minBytes) begin -= unit;
  const bytes = Math.min(
    Math.max(arrayOffset + (end - begin) * stride, resource.minBytes),
    whole - begin * stride,
  );
  return { resource, begin, end, offsetBytes: begin * stride, bytes, written, writesHead };
}

/** Of a variable with so many elements: a structure has no fewer bytes than with one. */
function wholeBytes({ arrayOffset, runtimeArray, minBytes }: Resource, length: number): number {
  return Math.max(arrayOffset + length * (runtimeArray?.stride ?? 0), minBytes);
}

export function lengthOf({ name, runtimeArray, type }: Resource, { lengths }: LaunchFacts): number {
  if (runtimeArray === null) return type.kind === 'array' ? (type.length as number) : 1;
  const length = lengths[name];
  if (length === undefined)
    throw new RangeError(`lengths has no '${name}', a runtime-sized array of the module`);
  return length;
}

/** Elements that an access may touch. Beyond the array it is the last one, as on GPUs. */
function elementsOf({ range, kind }: Access, length: number): { begin: number; end: number } {
  if (range === null || range.hi - range.lo >= 2 ** 32) return { begin: 0, end: length };
  const shift = Math.floor((range.lo + 2 ** 31) / 2 ** 32) * 2 ** 32;
  const lo = range.lo - shift;
  const hi = range.hi - shift;
  if (hi >= 2 ** 32) return { begin: 0, end: length };
  const outside = lo < 0 || hi >= length;
  const begin = Math.max(0, lo);
  const end = Math.min(length, hi + 1);
  if (kind === 'load' || !outside) return { begin, end };
  return { begin: Math.min(begin, length - 1), end: length };
}

function excessOf(
  { module }: Description,
  accesses: readonly Access[],
  windows: readonly Window[],
  launch: LaunchFacts,
  { budgetBytes, bindingBytes, heldBytes = sumOf }: WindowLimits,
): string | null {
  const total = heldBytes(windows);
  const largest = windows.reduce<Window | null>(
    (a, b) => (a === null || b.bytes > a.bytes ? b : a),
    null,
  );
  if (largest === null || (total <= budgetBytes && largest.bytes <= bindingBytes)) return null;
  const { resource, begin, end, bytes, written } = largest;
  const own = accesses.filter((each) => each.resource === resource && !each.isHead);
  const placeOf = (access: Access | undefined): string => {
    const { line, column } = access ? positionAt(module.source, access.offset) : resource.position;
    return `${line}:${column}`;
  };
  const limit =
    bytes > bindingBytes
      ? `a binding has at most ${bindingBytes}`
      : `all arrays together may have ${budgetBytes} and would need ${total}`;
  if (!resource.isDivisible) {
    return (
      `${placeOf(undefined)}: every part has all of '${resource.name}', which is no array<T> by itself, ${bytes} bytes, and ${limit}; ` +
      'give its elements a variable of their own, of type array<T>'
    );
  }
  const length = lengthOf(resource, launch);
  const touched = own
    .map((access) => ({ access, ...elementsOf(access, length) }))
    .filter((a) => a.begin < a.end);
  const [low] = touched.toSorted((a, b) => a.begin - b.begin);
  const [high] = touched.toSorted((a, b) => b.end - a.end);
  if (low !== undefined && high !== undefined && low.end < high.begin) {
    // No index reaches far: they lie apart, as those of an element and its mirror image do.
    return (
      `${placeOf(low.access)}: a single workgroup may touch elements ${low.begin} to ${low.end - 1} of '${resource.name}' here and ` +
      `${high.begin} to ${high.end - 1} at ${placeOf(high.access)}, a part has all between them, ${bytes} bytes, and ${limit}; ` +
      `hand in the two places as two arguments, such as ${resource.name}.range(begin, end)` +
      (written ? ', or give the results an array of their own' : '')
    );
  }
  // To blame is the access that reaches farthest.
  const [widest] = touched.toSorted((a, b) => b.end - b.begin - (a.end - a.begin));
  return (
    `${placeOf(widest?.access)}: a single workgroup may touch elements ${begin} to ${end - 1} of '${resource.name}', ${bytes} bytes, and ${limit}; ` +
    'an index that is an affine function of the ids, or bounded by if, min or clamp, needs less'
  );
}

function sumOf(windows: readonly Window[]): number {
  return windows.reduce((sum, { bytes }) => sum + bytes, 0);
}
