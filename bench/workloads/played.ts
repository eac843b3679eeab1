/**
 * Workloads as the core sees them. The kernels run in plain arrays, and what they touch is played:
 * blocks that come, and those that Belady's MIN would bring. The figures are the same on every
 * machine.
 */
import { PAGE_BYTES, PAGES_PER_BLOCK } from '../../src/core/basics/types.js';
import { namedPolicies, type PolicyChoices } from '../../src/policy/choices.js';
import { blockTrace } from '../../src/sim/block-trace.js';
import { minMisses } from '../../src/sim/min.js';
import { ENOUGH, Machine, type Use } from '../../test/patterns/machine.js';
import type { Elements, Launch, Work, Workload } from './workload.js';

const BYTES = 2 ** 21;
/** An element stands for so many, so that few accesses go through many blocks. */
const TIMES = 64;
/** Threads of the device, and pieces of each one's part after which the next one has its turn. */
const UNITS = 2;
const PIECES = 64;
/** Launches that are known while one runs, where the program gives all to a stream. */
const WAITING = 8;
/** Numbers of pages are below it. */
const VERSIONS = 2 ** 21;

/** What a launch uses and touches. Pages are counted from the first one of the first array. */
interface Played {
  readonly kernel: string;
  readonly args: readonly (readonly [array: string, use: Use])[];
  /** Each page times two, and one more where it is written. */
  readonly touches: Int32Array;
}

/** An array's place among the pages that all arrays have. */
interface Placed {
  readonly first: number;
  readonly pages: number;
}

function placesOf({ arrays }: Work): Map<string, Placed> {
  const places = new Map<string, Placed>();
  let first = 0;
  for (const [name, { byteLength }] of Object.entries(arrays)) {
    const pages = Math.ceil((byteLength * TIMES) / PAGE_BYTES);
    places.set(name, { first, pages });
    first += Math.ceil(pages / PAGES_PER_BLOCK) * PAGES_PER_BLOCK;
  }
  return places;
}

/** The same array, which tells of each page that is touched. */
function watched(array: Elements, firstPage: number, tell: (touch: number) => void): Elements {
  const perPage = PAGE_BYTES / (array.BYTES_PER_ELEMENT * TIMES);
  let last = -1;
  const see = (element: number, write: number): void => {
    const touch = (firstPage + Math.floor(element / perPage)) * 2 + write;
    if (touch === last || touch + 1 === last) return;
    tell((last = touch));
  };
  return new Proxy(array, {
    get(target, name) {
      const element = typeof name === 'string' ? Number(name) : Number.NaN;
      if (Number.isNaN(element)) return Reflect.get(target, name, target) as unknown;
      see(element, 0);
      return target[element];
    },
    set(target, name, value: number) {
      const element = Number(name);
      see(element, 1);
      target[element] = value;
      return true;
    },
  });
}

/** Runs it in plain arrays, its threads in turn. */
function touchesOf(work: Work, places: ReadonlyMap<string, Placed>): Played[] {
  const own = new Map(Object.entries(work.arrays).map(([name, array]) => [name, array.slice()]));
  const kernels = [...new Set(work.launches.map(({ task }) => task))];
  return work.launches.map((launch) => {
    const touches: number[] = [];
    const watches = new Map<string, Elements>();
    const given = Object.entries(launch.args).map(([name, value]) => {
      if (typeof value === 'number') return [name, value];
      const place = places.get(value) as Placed;
      const array = own.get(value) as Elements;
      if (!watches.has(value))
        watches.set(
          value,
          watched(array, place.first, (touch) => touches.push(touch)),
        );
      return [name, watches.get(value)];
    });
    const args = Object.fromEntries(given) as never;
    const { size, task } = launch;
    for (let piece = 0; piece < PIECES; piece++)
      for (let unit = 0; unit < UNITS; unit++) {
        const edge = (at: number) => Math.floor((size * (unit * PIECES + at)) / (UNITS * PIECES));
        const [begin, end] = [edge(piece), edge(piece + 1)];
        if (begin < end) task.plain(args, { begin, end, size });
      }
    return {
      kernel: `kernel ${kernels.indexOf(task)}`,
      args: argumentsOf(launch),
      touches: Int32Array.from(touches),
    };
  });
}

function argumentsOf({ task, args }: Launch): [string, Use][] {
  const { parameters } = task.kernel as { parameters: Record<string, { use: Use }> };
  return Object.entries(args).flatMap(([name, value]): [string, Use][] =>
    typeof value === 'string' ? [[value, parameters[name].use]] : [],
  );
}

/**
 * Pieces of so many pages in the order in which they are used; uses in a row are one. What a launch
 * writes from zeros is another piece than it was before.
 */
function* piecesOf(
  launches: readonly Played[],
  places: ReadonlyMap<string, Placed>,
  piecePages: number,
): Iterable<number> {
  /** By block. */
  const versions = new Map<number, number>();
  let last = -1;
  for (const { args, touches } of launches) {
    for (const [name, use] of args) {
      const { first, pages } = places.get(name) as Placed;
      const begin = first / PAGES_PER_BLOCK;
      for (let block = begin; use === 'out' && block < begin + pages / PAGES_PER_BLOCK; block++)
        versions.set(block, (versions.get(block) ?? 0) + 1);
    }
    for (const touch of touches) {
      const page = touch >> 1;
      const version = versions.get(Math.floor(page / PAGES_PER_BLOCK)) ?? 0;
      const used = Math.floor(page / piecePages) + version * VERSIONS;
      if (used !== last) yield (last = used);
    }
  }
}

/** How many blocks come to the device, and of how many of their pages. */
function play(
  launches: readonly Played[],
  places: ReadonlyMap<string, Placed>,
  room: number,
  choices: PolicyChoices,
  waiting: number,
): { blocks: number; pages: number } {
  let blocks = 0;
  let made = 0;
  const policies = namedPolicies(choices);
  const counted = () => {
    const policy = policies.eviction();
    const here = new Set<number>();
    // The first one is the host's.
    if (made++ === 0) return policy;
    return {
      ...policy,
      activate(block: number, pages: number) {
        if (!here.has(block)) blocks++;
        here.add(block);
        policy.activate(block, pages);
      },
      deactivate(block: number) {
        here.delete(block);
        policy.deactivate(block);
      },
    };
  };
  const machine = new Machine(ENOUGH, { ...policies, eviction: counted });
  const device = machine.device(room, { units: UNITS });
  let base = -1;
  for (const { pages } of places.values()) {
    const first = machine.array(pages);
    if (base === -1) base = first;
  }
  blocks = 0;
  const asked = launches.map(({ args }) =>
    args.map(([name, use]) => {
      const { first, pages } = places.get(name) as Placed;
      return [base + first, pages, use] as const;
    }),
  );
  for (const [at, { kernel, touches }] of launches.entries()) {
    const last = launches[at + waiting];
    if (at === 0)
      for (let ahead = 0; ahead < Math.min(waiting, launches.length); ahead++)
        machine.waits(device, asked[ahead], launches[ahead].kernel);
    if (waiting > 0 && last !== undefined) machine.waits(device, asked[at + waiting], last.kernel);
    machine.launch(
      device,
      asked[at],
      () => {
        for (const touch of touches) machine.touch(device, base + (touch >> 1), (touch & 1) === 1);
      },
      kernel,
    );
  }
  machine.manager.checkInvariants();
  return { blocks, pages: machine.pagesTo(device) };
}

/** A workload whose touches are known. */
interface PlayedWorkload {
  /** That it uses. */
  readonly blocks: number;
  /** Blocks that the optimum brings into room for so many. */
  least(room: number): number;
  /** Pages that the optimum of single pages brings into room for so many blocks. */
  leastPages(room: number): number;
  play(room: number, choices: PolicyChoices): { blocks: number; pages: number };
}

export function played(workload: Workload): PlayedWorkload {
  const work = workload.make(BYTES);
  const places = placesOf(work);
  const launches = touchesOf(work, places);
  const trace = blockTrace(piecesOf(launches, places, PAGES_PER_BLOCK));
  const pages = blockTrace(piecesOf(launches, places, 1));
  const used = launches.flatMap(({ touches }) => [
    ...new Set(touches.map((each) => Math.floor(each / 2 / PAGES_PER_BLOCK))),
  ]);
  return {
    blocks: new Set(used).size,
    least: (room) => minMisses(trace, room),
    leastPages: (room) => minMisses(pages, room * PAGES_PER_BLOCK),
    play: (room, choices) => play(launches, places, room, choices, WAITING),
  };
}
