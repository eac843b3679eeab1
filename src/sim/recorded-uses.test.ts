/** What a recorded run missed is what its replay misses, for every policy. */
import { describe, expect, it } from 'vitest';
import { copy } from '../core/basics/mask.js';
import { NO_NODE, PAGES_PER_BLOCK, Status, type Touch } from '../core/basics/types.js';
import { MemoryManager } from '../core/memory-manager.js';
import { type Entry, Recorder } from '../core/recording/recording.js';
import type { Policies } from '../core/table/processors.js';
import { commandsThat, deviceOf, hostOf } from '../core/test-parts.js';
import { namedPolicies } from '../policy/choices.js';
import { EVICTION_POLICIES, type EvictionName } from '../policy/eviction/named.js';
import { missesOf } from './play-blocks.js';
import { recordedUses } from './recorded-uses.js';

const BLOCKS = 24;
const ROOM = 8;
const USES = 400;

/** A fault brings its block. */
function policiesWith(eviction: EvictionName) {
  const wholeBlocks =
    () =>
    ({ allowed, result }: { allowed: Int32Array; result: Int32Array }) =>
      copy(result, allowed);
  return { ...namedPolicies({ eviction, readAhead: 'none' }), prefetch: wholeBlocks };
}

/** One thread of a device that reads blocks: loops, and some at random. */
function* blocksUsed(): Iterable<number> {
  let state = 1;
  for (let at = 0; at < USES; at++) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield at % 5 === 0 ? Math.floor((state / 2 ** 32) * BLOCKS) : at % (ROOM + 3);
  }
}

/** Runs it; returns the recording, and how many uses did not find their block. */
function record(policies: Policies): { entries: Entry[]; misses: number } {
  const entries: Entry[] = [];
  const recorder = new Recorder((more) =>
    entries.push(...(JSON.parse(JSON.stringify(more)) as Entry[])),
  );
  const here = new Set<number>();
  let device = -1;
  const commands = commandsThat({
    transfer: ({ processor, page }) => {
      if (processor === device) here.add(Math.floor(page / PAGES_PER_BLOCK));
      return Status.Done;
    },
    release: (_token, node, page) => {
      if (node === own) here.delete(Math.floor(page / PAGES_PER_BLOCK));
      return Status.Done;
    },
  });
  const manager = new MemoryManager(recorder.commands(commands), policies, BLOCKS * 2);
  let own = -1;
  recorder.events(manager);
  manager.addDevice(hostOf(BLOCKS), NO_NODE);
  ({ processor: device, node: own } = manager.addDevice(deviceOf(ROOM)));
  const named = { name: 'x', writable: true, provided: false };
  const range = manager.allocate(BLOCKS * PAGES_PER_BLOCK, named);
  if (range === null) throw new Error('there are no addresses');
  const firstBlock = range.first / PAGES_PER_BLOCK;
  let misses = 0;
  for (const block of blocksUsed()) {
    if (here.has(firstBlock + block)) continue;
    misses++;
    manager.fault(device, range.first + block * PAGES_PER_BLOCK, true, 1);
    expect(here.has(firstBlock + block)).toBe(true);
    manager.goAhead();
  }
  return { entries, misses };
}

describe('a recorded run', () => {
  for (const [name, make] of Object.entries(EVICTION_POLICIES))
    it(`misses as often when it is replayed with ${name}`, () => {
      const { entries, misses } = record(policiesWith(name as EvictionName));
      const uses = recordedUses(entries, policiesWith(name as EvictionName), BLOCKS * 2);
      const memory = uses.find(({ budgetPages }) => budgetPages === ROOM * PAGES_PER_BLOCK);
      if (memory === undefined) throw new Error('the device is no memory');
      expect(misses).toBeGreaterThan(ROOM * 5);
      expect(memory.brought).toBe(misses);
      expect(missesOf(make(), memory.trace, ROOM)).toBe(misses);
    });

  it('is replayed with all that its policy decides', () => {
    const policies = policiesWith('lru');
    let asked = 0;
    const without = {
      ...policies,
      prefetch: () => (touch: Touch) => {
        copy(touch.result, touch.allowed);
        touch.ahead = 1;
      },
      eviction: () => ({
        ...policies.eviction(),
        mostAhead: () => {
          asked++;
          return 0;
        },
      }),
    };
    const { entries } = record(without);
    expect(asked).toBeGreaterThan(0);
    expect(recordedUses(entries, without, BLOCKS * 2)).toHaveLength(2);
  });
});
