/**
 * The core's part of a fault: what it looks up, decides and notes for a page, a page each, with
 * commands that do nothing. In processor time, which what else the machine does changes less.
 */

import {
  type Commands,
  type DeviceDescription,
  HOST,
  NO_NODE,
  PAGES_PER_BLOCK,
  type ProcessorId,
  Status,
} from '../src/core/basics/types.js';
import { MemoryManager } from '../src/core/memory-manager.js';
import { namedPolicies } from '../src/policy/choices.js';
import { type Bench, compare, type Settings, verify } from './harness.js';

const PAGES = 32 * PAGES_PER_BLOCK;

const device: DeviceDescription = {
  name: 'device',
  budgetPages: 2 * PAGES,
  frames: 'identity',
  faults: true,
  addressable: true,
  units: 1,
  memorySurvives: true,
};

class Machine {
  private filled = 0;
  private requests = 0;
  private readonly manager: MemoryManager;
  readonly device: ProcessorId;

  constructor() {
    const nothing = (): void => undefined;
    const done = (): Status => Status.Done;
    const commands: Commands = {
      map: nothing,
      revoke: done,
      transfer: ({ count }) => {
        this.filled += count;
        return Status.Done;
      },
      remap: done,
      cover: done,
      release: done,
      wake: nothing,
      deny: nothing,
      breakCopyOnWrite: nothing,
      want: nothing,
      invalidate: nothing,
      invalidated: nothing,
      requestDone: nothing,
      drained: done,
      emptied: nothing,
    };
    const policies = namedPolicies({ prefetch: 'none', readAhead: 'none' });
    this.manager = new MemoryManager(commands, policies, (2 * PAGES) / PAGES_PER_BLOCK);
    this.manager.addDevice(device, NO_NODE);
    this.device = this.manager.addDevice(device).processor;
  }

  /**
   * Microseconds of the processor for each of the faults of the last of these processors; those
   * before it have the pages first.
   */
  touch(processors: readonly ProcessorId[]): number {
    const range = this.manager.allocate(PAGES, { name: 'x', writable: true, provided: false });
    if (range === null) throw new Error('there are no addresses');
    this.filled = 0;
    let us = 0;
    for (const processor of processors) {
      const start = process.cpuUsage();
      for (let page = range.first; page < range.first + PAGES; page++)
        this.manager.fault(processor, page, true, 1);
      const { user, system } = process.cpuUsage(start);
      us = (user + system) / PAGES;
    }
    verify(this.filled === processors.length * PAGES, `${this.filled} pages`);
    this.manager.free(++this.requests, range.first, PAGES);
    this.manager.recycle(range);
    return us;
  }
}

async function run(settings: Settings): Promise<void> {
  const machine = new Machine();
  const kinds = { zero: [HOST], copy: [HOST, machine.device] };
  for (const [name, processors] of Object.entries(kinds)) {
    await compare(settings, {
      name: `core-fault/${name}`,
      unit: 'us',
      better: 'lower',
      warmUp: 8,
      ours: () => machine.touch(processors),
      extra: { pages: PAGES },
    });
  }
}

export const coreFault: Bench = {
  name: 'core-fault',
  what: "us of the processor of the core's part of a fault, commands left out: zero page, page that goes to a device",
  run,
};
