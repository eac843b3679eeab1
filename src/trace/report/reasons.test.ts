import { beforeEach, describe, expect, it } from 'vitest';
import { PAGES_PER_BLOCK as BLOCK, HOST, NO_NODE } from '../../core/basics/types.js';
import { MemoryManager } from '../../core/memory-manager.js';
import { commandsThat, hostOf } from '../../core/test-parts.js';
import { namedPolicies } from '../../policy/choices.js';
import { Collector, type History } from '../recording/history.js';
import { MoveRecorder } from '../recording/move-recorder.js';
import { MoveRing } from '../recording/move-ring.js';
import { readTexts } from '../recording/moves-text.js';
import { storyOf } from './page-story.js';
import { Costs } from './report.js';
import { reportText } from './report-text.js';

let manager: MemoryManager;
let ring: MoveRing;
let first: number;

/** A host with room for all of a file of four blocks, whose moves are recorded. */
beforeEach(() => {
  const commands = commandsThat();
  manager = new MemoryManager(commands, namedPolicies({}), 16);
  const moves = new MoveRecorder('test', manager, commands, 'lru', () => 0);
  ring = new MoveRing(2 ** 24);
  moves.add(ring);
  manager.addDevice(hostOf(8), NO_NODE);
  const options = { name: 'x', writable: false, provided: true, elementBytes: 8 };
  first = manager.allocate(4 * BLOCK, options)?.first ?? -1;
});

function touch(...pages: number[]): History {
  for (const page of pages) manager.fault(HOST, first + page, false, 1);
  const collector = new Collector();
  readTexts(collector.reader, ring.texts, 'test');
  return collector.history;
}

describe('the reason that the policy said', () => {
  it('is with each arrival of a record of moves', () => {
    const { moves } = touch(3, 100, 164, 228);
    const arrivals = moves.filter((move) => move.kind === 'arrival');
    expect(arrivals.map(({ reason }) => reason)).toContain('near');
    expect(arrivals.at(-1)?.reason).toBe('stride');
  });

  it('is null of what the program asked for', () => {
    manager.acquire(1, HOST, first, BLOCK, 1);
    const arrivals = touch().moves.filter((move) => move.kind === 'arrival');
    expect(arrivals.length).toBeGreaterThan(0);
    expect(new Set(arrivals.map(({ reason }) => reason))).toEqual(new Set([null]));
  });

  it('is told in the story of a page', () => {
    const history = touch(3);
    expect(storyOf(history, first + 3).now).toContain('(near: with its neighbourhood)');
  });

  it('is summed up in the report', () => {
    manager.acquire(1, HOST, first + BLOCK, BLOCK, 1);
    touch(3);
    const costs = new Costs();
    readTexts(costs.reader, ring.texts, 'test');
    const report = costs.report();
    expect(report.reasons).toEqual([
      { reason: 'asked', bytes: BLOCK * 4096, bytesReturned: 0 },
      { reason: 'near', bytes: 16 * 4096, bytesReturned: 0 },
    ]);
    expect(reportText(report)).toMatch(/near +0\.1 MiB/);
  });
});
