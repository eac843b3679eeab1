import { describe, expect, it } from 'vitest';
import { PAGES_PER_BLOCK as BLOCK, type EvictionPolicy } from '../../core/basics/types.js';
import {
  allocateIn,
  commandsThat,
  deviceOf,
  hasPage,
  hostOf,
  managerOf,
} from '../../core/test-parts.js';
import { blockTrace } from '../../sim/block-trace.js';
import { minMisses } from '../../sim/min.js';
import { namedPolicies } from '../choices.js';

const BLOCKS = 21;
const PASSES = 3;
const UNITS = 2;
/** Pages that a thread goes on before the next one has its turn. */
const TURN = 80;

/** The pages of one pass, in order: each thread goes through its half of all three arrays. */
function passOf(firsts: readonly number[]): { page: number; write: boolean }[] {
  const half = (BLOCKS * BLOCK) / UNITS;
  const touches: { page: number; write: boolean }[] = [];
  for (let at = 0; at < half; at += TURN)
    for (let unit = 0; unit < UNITS; unit++)
      for (let page = at; page < Math.min(at + TURN, half); page++)
        for (const [array, first] of firsts.entries())
          touches.push({ page: first + unit * half + page, write: array === 0 });
  return touches;
}

/** Blocks that the memory of a device brings for triad, a = b + s c, over those of MIN. */
function overMin(room: number): number {
  let came = 0;
  let made = 0;
  const policies = namedPolicies();
  const counting = (): EvictionPolicy => {
    const policy = policies.eviction();
    // The first one is the host's.
    if (made++ === 0) return policy;
    const here = new Set<number>();
    return {
      ...policy,
      activate(block, pages) {
        if (!here.has(block)) came++;
        here.add(block);
        policy.activate(block, pages);
      },
      deactivate(block) {
        here.delete(block);
        policy.deactivate(block);
      },
    };
  };
  const host = hostOf(256, { units: 4 });
  const manager = managerOf(host, commandsThat(), { ...policies, eviction: counting }, 256);
  const device = manager.addDevice(deviceOf(room, { units: UNITS })).processor;
  const touch = (processor: number, page: number, write: boolean): void => {
    if (hasPage(manager, processor, page, write ? 'writable' : 'mapped')) return;
    manager.fault(processor, page, write, 1);
    while (manager.waitsToGoAhead) manager.goAhead();
  };
  const firsts = [0, 1, 2].map(() => allocateIn(manager, BLOCKS * BLOCK));
  for (const first of firsts)
    for (let page = 0; page < BLOCKS * BLOCK; page++) touch(0, first + page, true);
  const args = firsts.map((first, at) => {
    const use = at === 0 ? ('out' as const) : ('in' as const);
    return { first, count: BLOCKS * BLOCK, use };
  });
  came = 0;
  for (let pass = 0; pass < PASSES; pass++) manager.launchWaits(device, args, 'triad');
  for (let pass = 1; pass <= PASSES; pass++) {
    manager.launchBegin(pass, device, args, 'triad');
    for (const { page, write } of passOf(firsts)) touch(device, page, write);
    manager.launchEnd(pass);
  }
  manager.checkInvariants();
  const used: string[] = [];
  for (let pass = 0; pass < PASSES; pass++)
    for (const { page, write } of passOf(firsts)) {
      // What is written from zeros is another block than in the pass before.
      const block = `${Math.floor(page / BLOCK)} ${write ? pass : ''}`;
      if (block !== used.at(-1)) used.push(block);
    }
  return came / minMisses(blockTrace(used), room);
}

describe('plan, of a loop through more than the memory', () => {
  it.each([50, 25])('brings little more than MIN with room for %i percent of it', (percent) => {
    const room = Math.floor((3 * BLOCKS * percent) / 100);
    expect(overMin(room)).toBeLessThanOrEqual(1.15);
  });
});
