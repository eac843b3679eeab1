import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BlockSpan, EvictionPolicy } from '../../core/basics/types.js';
import { blockTrace } from '../../sim/block-trace.js';
import { minMisses } from '../../sim/min.js';
import { lru } from '../eviction/lru.js';
import { tournament } from '../eviction/tournament.js';
import { plan } from './plan.js';

const ROOM = 64;

/** A launch that goes through the blocks of its arguments side by side. */
interface Played {
  readonly kernel: string;
  readonly spans: readonly BlockSpan[];
}

function span(first: number, blocks: number, emptied = false): BlockSpan {
  return { first, end: first + blocks, emptied, written: emptied };
}

function usesOf({ spans }: Played): number[] {
  const uses: number[] = [];
  const most = Math.max(...spans.map(({ first, end }) => end - first));
  for (let at = 0; at < most; at++)
    for (const { first, end } of spans) if (first + at < end) uses.push(first + at);
  return uses;
}

/** A node with room for some blocks, whose policy sees what faults. */
class Node {
  readonly there = new Set<number>();
  misses = 0;

  constructor(readonly policy: EvictionPolicy) {}

  launch(launch: Played, uses = usesOf(launch)): void {
    this.policy.launchBegins?.(launch.kernel, launch.spans);
    for (const block of uses) this.use(block);
    this.policy.launchEnds?.();
  }

  use(block: number): void {
    const { policy, there } = this;
    if (there.has(block)) return;
    this.misses++;
    policy.used(block);
    if (there.size === ROOM) {
      const victim = policy.evict((each) => there.has(each));
      if (!there.delete(victim)) throw new Error(`block ${victim} is not there`);
      policy.deactivate(victim);
    }
    there.add(block);
    policy.activate(block, 512);
  }
}

function missesOf(launches: readonly Played[], policy: EvictionPolicy, waiting = 0): number {
  const node = new Node(policy);
  const wait = (at: number): void => {
    const launch = launches[at];
    if (launch !== undefined) policy.launchWaits?.(launch.kernel, launch.spans);
  };
  for (let at = 0; at < waiting; at++) wait(at);
  for (const [at, launch] of launches.entries()) {
    if (waiting > 0) wait(at + waiting);
    node.launch(launch);
  }
  return node.misses;
}

function least(launches: readonly Played[]): number {
  return minMisses(blockTrace(launches.flatMap(usesOf)), ROOM);
}

function repeated(iteration: readonly Played[], times: number): Played[] {
  return Array.from({ length: times }, () => iteration).flat();
}

const [from, to] = [span(0, 40), span(40, 40)];
const there = { kernel: 'step', spans: [from, to] };
const back = { kernel: 'step', spans: [to, from] };

describe('plan', () => {
  it('lets go what an iteration that comes again uses last', () => {
    const once = missesOf(repeated([there, back], 3), plan());
    const more = missesOf(repeated([there, back], 13), plan()) - once;
    const best = least(repeated([there, back], 13)) - least(repeated([there, back], 3));
    expect(more / best).toBeLessThan(1.1);
  });

  it('knows what launches that wait will use, from the first one on', () => {
    const launches = repeated([there, back], 4);
    expect(missesOf(launches, plan(), 4) / least(launches)).toBeLessThan(1.2);
    expect(missesOf(launches, tournament()) / least(launches)).toBeGreaterThan(1.5);
  });

  it('lets go first what the next launch begins from zeros', () => {
    const policy = plan();
    const node = new Node(policy);
    const other = { kernel: 'other', spans: [span(40, 24)] };
    const third = { kernel: 'third', spans: [span(100, 8)] };
    const fresh = { kernel: 'fresh', spans: [span(0, 40, true), span(40, 24)] };
    for (const { kernel, spans } of [third, fresh]) policy.launchWaits?.(kernel, spans);
    node.launch({ kernel: 'first', spans: [span(0, 40)] });
    node.launch(other);
    node.launch(third);
    for (let block = 40; block < 64; block++) expect(node.there.has(block)).toBe(true);
  });

  /** What the plan has come while a launch runs, with room for so many more. */
  function wanted(policy: EvictionPolicy, freeBlocks: number): number[] {
    const found: number[] = [];
    for (;;) {
      const wish = { freeBlocks: freeBlocks - found.length, evictable: () => true, write: false };
      const block = policy.wants?.(wish) ?? -1;
      if (block === -1) return found;
      if (wish.freeBlocks === 0) policy.deactivate(policy.evict(() => true));
      policy.activate(block, 512);
      found.push(wish.write ? -block : block);
    }
  }

  it('has come what the next launch uses, where all of it has room', () => {
    const begun = (): EvictionPolicy => {
      const policy = plan();
      policy.launchWaits?.('next', [span(10, 3), span(20, 2, true)]);
      policy.launchBegins?.('now', [span(0, 2)]);
      for (const block of [0, 1]) policy.activate(block, 512);
      return policy;
    };
    expect(wanted(begun(), 5)).toEqual([10, 11, 12]);
    expect(wanted(begun(), 4)).toEqual([]);
    expect(wanted(begun(), 0)).toEqual([]);
  });

  it('lets go for that only what is used later', () => {
    const begun = (last: BlockSpan): EvictionPolicy => {
      const policy = plan();
      const node = new Node(policy);
      for (let time = 0; time < 2; time++)
        for (const [kernel, at] of [
          ['now', span(0, 2)],
          ['next', span(10, 3)],
        ] as const)
          node.launch({ kernel, spans: [at] });
      for (const block of [10, 11, 12]) policy.deactivate(block);
      policy.launchWaits?.('next', [span(10, 3)]);
      policy.launchWaits?.('last', [last]);
      policy.launchBegins?.('now', [span(0, 2)]);
      for (const block of [30, 31, 32]) policy.activate(block, 512);
      return policy;
    };
    expect(wanted(begun(span(50, 1)), 0)).toEqual([10, 11, 12]);
    // What runs uses 0 and 1, and MIN would let those go.
    expect(wanted(begun(span(30, 3)), 0)).toEqual([]);
  });

  it('lets few guesses come in ahead of walks, since they stand where blocks are kept', () => {
    const policy = plan(lru());
    const node = new Node(policy);
    for (let time = 0; time < 3; time++) node.launch(there);
    policy.launchBegins?.(there.kernel, there.spans);
    expect(policy.mostAhead?.(ROOM)).toBe(ROOM / 16);
  });

  it('does not limit them where nothing stays that is kept', () => {
    const policy = plan(lru());
    const node = new Node(policy);
    for (let time = 0; time < 3; time++) {
      node.launch(there);
      for (const block of node.there) policy.deactivate(block);
      node.there.clear();
    }
    policy.launchBegins?.(there.kernel, there.spans);
    expect(policy.mostAhead?.(ROOM)).toBe(Number.POSITIVE_INFINITY);
  });

  it('does not either where all that stays is what the launch begins from zeros', () => {
    const policy = plan(lru());
    const node = new Node(policy);
    const fill = { kernel: 'fill', spans: [span(0, 40), span(40, 40, true)] };
    for (let time = 0; time < 3; time++) {
      node.launch(fill);
      for (const block of [...node.there]) {
        if (block >= 40) continue;
        policy.deactivate(block);
        node.there.delete(block);
      }
    }
    policy.launchBegins?.(fill.kernel, fill.spans);
    expect(policy.mostAhead?.(ROOM)).toBe(Number.POSITIVE_INFINITY);
  });

  it('has nothing come of what a launch uses at random', () => {
    const policy = plan();
    const node = new Node(policy);
    const random = [3, 9, 1, 7, 0, 8, 2, 6, 4, 5];
    const table = { kernel: 'gather', spans: [span(10, 10)] };
    node.launch(
      table,
      random.map((at) => 10 + at),
    );
    for (const block of random) policy.deactivate(10 + block);
    policy.launchWaits?.(table.kernel, table.spans);
    policy.launchBegins?.('now', [span(0, 2)]);
    for (const block of [0, 1]) policy.activate(block, 512);
    expect(wanted(policy, 50)).toEqual([]);
  });

  it('is no worse than the tournament by much where launches come in no order', () => {
    let state = 1;
    const launches = Array.from({ length: 200 }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const at = Math.floor((state / 2 ** 32) * 8);
      return { kernel: `${at}`, spans: [span(at * 16, 16)] };
    });
    expect(missesOf(launches, plan()) / missesOf(launches, tournament())).toBeLessThan(1.1);
  });

  it('leaves a plan where the launches turn to something else', () => {
    const turned = repeated([{ kernel: 'hot', spans: [span(200, 60)] }], 8);
    const launches = [...repeated([there, back], 6), ...turned];
    const before = missesOf(launches.slice(0, 12), plan());
    expect(missesOf(launches, plan()) - before).toBeLessThanOrEqual(2.5 * 60);
  });

  it('leaves it where a launch goes through its blocks at random', () => {
    let state = 1;
    const uses = Array.from({ length: 4000 }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return Math.floor((state / 2 ** 32) * 80);
    });
    const count = (policy: EvictionPolicy): number => {
      const node = new Node(policy);
      for (let time = 0; time < 4; time++) node.launch(there, uses);
      return node.misses;
    };
    expect(count(plan()) / count(tournament())).toBeLessThan(1.1);
  });

  it('still plans what a launch streams beside a table that it uses at random', () => {
    let state = 1;
    const probe = (): number[] =>
      Array.from({ length: 60 }, (_, at) => {
        const table = [1, 2, 3, 4].map(() => {
          state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
          return 100 + Math.floor((state / 2 ** 32) * 48);
        });
        return [at, ...table];
      }).flat();
    const count = (policy: EvictionPolicy): number => {
      const node = new Node(policy);
      state = 1;
      const launch = { kernel: 'probe', spans: [span(0, 60), span(100, 48)] };
      for (let time = 0; time < 8; time++) node.launch(launch, probe());
      return node.misses;
    };
    expect(count(plan()) / count(tournament())).toBeLessThan(0.7);
  });

  it('names only blocks that are there and may go, and any of them where no other may', () => {
    const step = fc.record({
      what: fc.nat(5),
      block: fc.nat(40),
      blocks: fc.integer({ min: 1, max: 20 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const policy = plan();
        const here = new Set<number>();
        const drop = (block: number): void => {
          here.delete(block);
          policy.deactivate(block);
        };
        for (const { what, block, blocks } of steps) {
          const spans = [span(block, blocks, blocks % 3 === 0)];
          if (what === 0) policy.launchBegins?.('kernel', spans);
          else if (what === 1) policy.launchWaits?.('kernel', spans);
          else if (what === 2) policy.launchEnds?.();
          else if (what === 3) drop(block);
          else {
            if (!here.has(block) && here.size === 10) {
              const kept = [...here][0];
              const victim = policy.evict((each) => each !== kept && here.has(each));
              expect(victim !== kept && here.has(victim)).toBe(true);
              drop(victim);
            }
            here.add(block);
            policy.activate(block, 512);
            policy.used(block);
          }
        }
        for (const block of here) expect(policy.evict((each) => each === block)).toBe(block);
        for (const block of [...here]) drop(block);
        expect(policy.evict(() => true)).toBe(-1);
      }),
    );
  });
});
