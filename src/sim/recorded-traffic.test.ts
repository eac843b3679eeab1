import { expect, it } from 'vitest';
import type { History } from '../trace/recording/history.js';
import type { Arrival, Cause } from '../trace/recording/moves.js';
import { recordedTraffic } from './recorded-traffic.js';

const PAGE = 4096;

function arrival(memory: number, source: number, page: number, atMs: number, returned = 0) {
  const pages = { pages: 64, added: 64, taken: 64, returned };
  const what = {
    memory,
    source,
    page,
    ...pages,
    cause: {} as Cause,
    need: 'touch',
    reason: null,
  } as const;
  return { kind: 'arrival', atMs, tookMs: 2, ...what } satisfies Arrival;
}

function historyOf(moves: readonly Arrival[]): History {
  const launch = { id: 1, kernel: 'k', processor: 1, arrays: [] };
  return {
    memories: [
      { id: 0, name: 'host', budgetPages: 4096 },
      { id: 1, name: 'device', budgetPages: 1024 },
    ],
    processors: [
      { id: 0, name: 'host', memory: 0 },
      { id: 1, name: 'device', memory: 1 },
    ],
    arrays: [],
    rule: 'lru',
    launches: [{ ...launch, beganMs: 10, endedMs: 20 }],
    faults: [],
    moves,
    held: [],
    endMs: 30,
    arrayAt: () => null,
  };
}

it('joins pieces of a block, and tells what came again', () => {
  const [traffic] = recordedTraffic(
    historyOf([
      arrival(1, 0, 0, 12),
      arrival(1, 0, 64, 13),
      arrival(1, 0, 448, 14),
      // The next block begins a transfer of its own.
      arrival(1, 0, 512, 15, 64),
      arrival(0, 1, 0, 18),
      // Zeros go over no link.
      arrival(1, -1, 1024, 19),
    ]),
  );
  const piece = 64 * PAGE;
  expect(traffic.memory).toBe('device');
  expect([...traffic.inwards]).toEqual([
    [2 * piece, 1],
    [piece, 2],
  ]);
  expect([...traffic.outwards]).toEqual([[piece, 1]]);
  expect(traffic.againBytes).toBe(piece);
});

it('reads from a store what comes out of it', () => {
  const history = historyOf([arrival(0, 2, 0, 12, 64), arrival(2, 0, 512, 13)]);
  const store = { id: 2, name: 'storage', budgetPages: 4096 };
  const memories = [...history.memories, store];
  const [{ memory, inwards, outwards, againBytes }] = recordedTraffic({ ...history, memories });
  const piece = 64 * PAGE;
  expect([memory, [...inwards], [...outwards], againBytes]).toEqual([
    ...['storage', [[piece, 1]], [[piece, 1]], piece],
  ]);
});

it('takes the time of transfers off the launches once, and only within them', () => {
  const moves = [arrival(1, 0, 0, 11), arrival(1, 0, 64, 13), arrival(0, 1, 0, 13)];
  const [{ launches, launchMs, restMs }] = recordedTraffic(historyOf(moves));
  // From 10 to 11, and from 11 to 13.
  expect([launches, launchMs, restMs]).toEqual([1, 10, 7]);
});

it('has nothing of a device that nothing came to', () => {
  expect(recordedTraffic(historyOf([]))).toEqual([]);
});

it('tells what went to slow memory that was described, and back', () => {
  const history = historyOf([arrival(2, 0, 0, 12), arrival(0, 2, 0, 18)]);
  const speed = { latencyUs: 1, bytesPerUs: 1000 };
  const slow = { id: 2, name: 'memory', budgetPages: 4096, speed };
  const memories = [...history.memories, slow];
  const [traffic, ...more] = recordedTraffic({ ...history, memories });
  expect(more).toEqual([]);
  expect(traffic).toMatchObject({ memory: 'memory', speed, launches: 0, launchMs: 0 });
  const bytes = 64 * PAGE;
  expect([[...traffic.inwards], [...traffic.outwards]]).toEqual([[[bytes, 1]], [[bytes, 1]]]);
});
