/** What requests of other processes must look like. */
import { bytesOf, isElementType } from '../../core/basics/elements.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import { MASK_NODES } from '../../linux/memory/numa.js';
import { LONGEST_QUEUE } from '../protocol/notifiers.js';

/** True: the value is as it must be. */
type Check = (value: unknown) => boolean;

const MOST_TEXT = 4 * 2 ** 20;

export function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !ArrayBuffer.isView(value)
  );
}

export function isWhole(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}

const anything: Check = () => true;
const flag: Check = (value) => typeof value === 'boolean';
const text: Check = (value) => typeof value === 'string' && value.length <= MOST_TEXT;
const number: Check = (value) => typeof value === 'number' && !Number.isNaN(value);
const isBytes: Check = (value) => value instanceof Uint8Array;
const nothing: Check = (value) => value === null || value === undefined;
const positive: Check = (value) => isWhole(value) && value > 0;
const isNode: Check = (value) => isWhole(value) && value < MASK_NODES;
const elementSize: Check = (value) => value === 1 || value === 2 || value === 4 || value === 8;

function oneOf(...values: readonly unknown[]): Check {
  return (value) => values.includes(value);
}

function optional(check: Check): Check {
  return (value) => value === undefined || check(value);
}

function orNull(check: Check): Check {
  return (value) => value === null || check(value);
}

function list(check: Check, most = 4096): Check {
  return (value) => Array.isArray(value) && value.length <= most && value.every(check);
}

function record(fields: Record<string, Check>): Check {
  return (value) =>
    isRecord(value) && Object.entries(fields).every(([name, check]) => check(value[name]));
}

function plus(...checks: readonly Check[]): Check {
  return (value) => checks.every((check) => check(value));
}

const error = orNull(record({ name: text, code: text, message: text, details: isRecord }));

/** What is where in the space. */
export interface SpaceLayout {
  readonly bytes: number;
  /** Which range a page is part of. */
  rangeAt(page: number): number | undefined;
}

/** Ranges that a client may name; null: all. */
export type AllowedRanges = ReadonlySet<number> | null;

const code = (value: unknown): boolean =>
  record({ kind: oneOf('inline'), source: text })(value) ||
  record({ kind: oneOf('module'), url: text, exportName: text })(value) ||
  record({
    kind: oneOf('wgsl'),
    source: text,
    entryPoint: text,
    bindings: list(isRecord),
    constants: list(isRecord),
  })(value);
const file = record({
  fd: isWhole,
  path: text,
  offset: isWhole,
  bytes: isWhole,
  shared: flag,
  mapped: oneOf(false),
  sums: optional(isWhole),
});

const ofRange = record({ range: positive, name: text });
const ofStream = record({ stream: positive, sequence: isWhole });

/** What must lie in the space, in pages or bytes that one allowed range has. */
interface Inside {
  readonly pages: Check;
  readonly place: Check;
  readonly spaceBytes: number;
  areIn(firstPage: number, endPage: number): boolean;
  /** Bytes from `offset` of a value on. */
  bytesAt(value: unknown, count: number): boolean;
}

function insideOf({ bytes: spaceBytes, rangeAt }: SpaceLayout, allowed: AllowedRanges): Inside {
  const isAllowed: Check = (range) => allowed === null || allowed.has(range as number);
  const areIn = (first: number, end: number): boolean => {
    const last = Math.max(first, end - 1);
    if (!(last < spaceBytes / PAGE_BYTES)) return false;
    const range = rangeAt(first);
    return range !== undefined && isAllowed(range) && rangeAt(last) === range;
  };
  const pages = plus(
    record({ range: plus(positive, isAllowed), name: text, firstPage: isWhole, count: isWhole }),
    (value) => {
      const { range, firstPage, count } = value as {
        range: number;
        firstPage: number;
        count: number;
      };
      // What has been freed is refused by its name, which is said better elsewhere.
      if (rangeAt(firstPage) !== range)
        return rangeAt(firstPage) === undefined && firstPage + count <= spaceBytes / PAGE_BYTES;
      return areIn(firstPage, firstPage + count);
    },
  );
  const bytesAt = (value: unknown, count: number): boolean => {
    const { offset } = value as { offset: number };
    return areIn(Math.floor(offset / PAGE_BYTES), Math.ceil((offset + count) / PAGE_BYTES));
  };
  const place = record({ range: plus(positive, isAllowed), name: text, offset: isWhole });
  return { pages, place, spaceBytes, areIn, bytesAt };
}

function parameterOf({ bytesAt }: Inside): Check {
  return (value) => {
    if (!record({ name: text, kind: oneOf('array', 'scalar', 'value', 'bytes') })(value))
      return false;
    const { kind, type, offset, length, use } = value as Record<string, unknown>;
    if (kind !== 'array') return true;
    if (
      !isElementType(type) ||
      !isWhole(offset) ||
      !isWhole(length) ||
      !oneOf('in', 'out', 'inout')(use)
    )
      return false;
    return bytesAt(value, length * bytesOf(type));
  };
}

/** What streams do, by its kind. */
function operationsOf(inside: Inside, client: number): Record<string, Check> {
  const { pages, place, bytesAt } = inside;
  const parameter = parameterOf(inside);
  return {
    launch: record({
      device: isWhole,
      kernelName: text,
      code,
      parameters: list(parameter, 256),
      begin: isWhole,
      end: isWhole,
      size: isWhole,
      arrays: list(pages, 256),
      gathers: list(record({ table: text, indices: text, row: positive }), 256),
      timeoutMs: orNull(number),
      indirect: optional(
        plus(record({ offset: isWhole, numbers: positive }), (value) =>
          bytesAt(value, 4 * (value as { numbers: number }).numbers),
        ),
      ),
    }),
    prefetch: plus(pages, record({ device: isWhole, exclusive: flag })),
    copy: plus(record({ to: place, from: place, bytes: isWhole, at: orNull(isWhole) }), (value) => {
      const { to, from, bytes } = value as { to: unknown; from: unknown; bytes: number };
      return bytesAt(to, bytes) && bytesAt(from, bytes);
    }),
    discard: pages,
    free: plus(pages, record({ whole: flag })),
    call: record({ thread: oneOf(-client) }),
    cancelled: record({ reason: text }),
    wait: record({ other: positive, otherSequence: isWhole, failure: error }),
    marker: anything,
  };
}

/** Requests that make arrays, or change what they are. */
const arrayShapes: Record<string, Check> = {
  allocate: record({
    // More than the space has is refused where it is said how much that is.
    bytes: isWhole,
    name: text,
    writable: flag,
    file: optional(orNull(file)),
    provider: nothing,
    sharing: optional(oneOf(false)),
    keep: optional(flag),
    numa: optional(orNull(record({ node: isNode, only: flag }))),
    elementBytes: elementSize,
    type: optional(isElementType),
    reserveBytes: optional(isWhole),
  }),
  resize: plus(ofRange, record({ bytes: isWhole })),
  usable: plus(ofRange, record({ verb: text })),
  clone: plus(ofRange, record({ cloneName: text, keep: optional(flag) })),
};

function pageShapes({ pages }: Inside): Record<string, Check> {
  return {
    free: plus(pages, record({ whole: optional(flag) })),
    flush: plus(pages, record({ durable: flag })),
    protect: plus(pages, record({ access: oneOf(0, 1, 2) })),
    advise: plus(
      pages,
      record({
        change: record({
          readMostly: optional(flag),
          preferred: optional(number),
          accessedBy: optional(isWhole),
          pattern: optional(oneOf('normal', 'sequential', 'random')),
        }),
      }),
    ),
    attributes: pages,
    mayWrite: pages,
    discard: pages,
    pin: plus(
      pages,
      record({ pin: positive, lock: oneOf(true, false, 'require'), writable: flag, hold: flag }),
    ),
    unpin: record({ pin: positive }),
    reload: plus(pages, record({ discard: flag })),
    residency: pages,
    dirty: pages,
    young: plus(pages, record({ clear: flag })),
  };
}

/** Requests of views, of the space, and of processes that use it. */
function spaceShapes({ spaceBytes }: Inside): Record<string, Check> {
  return {
    attachArray: record({
      range: positive,
      firstPage: isWhole,
      pages: isWhole,
      bytes: isWhole,
      elementBytes: elementSize,
      name: text,
    }),
    arrays: nothing,
    viewed: ofRange,
    unviewed: record({ range: positive }),
    taken: record({ range: positive }),
    leave: record({ ended: flag }),
    stats: nothing,
    check: nothing,
    devices: nothing,
    pointer: record({ offset: plus(isWhole, (value) => (value as number) <= spaceBytes) }),
  };
}

function notifierShapes({ areIn }: Inside): Record<string, Check> {
  return {
    watch: plus(
      record({
        id: positive,
        range: positive,
        name: text,
        firstPage: isWhole,
        count: orNull(isWhole),
        elementBytes: elementSize,
        length: isWhole,
        source: nothing,
        owner: orNull(isWhole),
        queue: orNull(plus(positive, (value) => (value as number) <= LONGEST_QUEUE)),
        memory: isWhole,
      }),
      (value) => {
        const { firstPage, count } = value as { firstPage: number; count: number | null };
        return areIn(firstPage, firstPage + (count ?? 0));
      },
    ),
    unwatch: record({ subscription: positive }),
    heard: record({ subscription: positive }),
  };
}

function streamShapes(inside: Inside, client: number): Record<string, Check> {
  const operations = operationsOf(inside, client);
  return {
    enqueue: plus(ofStream, (value) => {
      const kind = (value as { kind?: unknown }).kind;
      return typeof kind === 'string' && Object.hasOwn(operations, kind) && operations[kind](value);
    }),
    estimate: operations.launch,
    cancel: record({ stream: positive, sequence: orNull(isWhole), ended: flag, reason: text }),
    called: plus(ofStream, record({ error })),
    forgive: record({ stream: positive }),
    endStream: record({ stream: positive }),
  };
}

function byteShapes({ place, bytesAt }: Inside): Record<string, Check> {
  return {
    writeBytes: plus(place, record({ bytes: isWhole, data: isBytes }), (value) => {
      const { bytes, data } = value as { bytes: number; data: Uint8Array };
      return data.length === bytes && bytesAt(value, bytes);
    }),
    readBytes: plus(place, record({ bytes: isWhole }), (value) =>
      bytesAt(value, (value as { bytes: number }).bytes),
    ),
  };
}

/** By name; a request that is not among them is not for other processes. */
export function shapesOf(
  layout: SpaceLayout,
  allowed: AllowedRanges,
  client: number,
): Record<string, Check> {
  const inside = insideOf(layout, allowed);
  return {
    ...arrayShapes,
    ...pageShapes(inside),
    ...spaceShapes(inside),
    ...notifierShapes(inside),
    ...streamShapes(inside, client),
    ...byteShapes(inside),
  };
}
