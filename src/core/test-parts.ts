/**
 * What unit tests of the core are put together from: devices that differ in a word or two, and
 * commands of which a test looks at one or two. Nothing but these tests has it, and the package
 * goes without it.
 */
import { has } from './basics/mask.js';
import {
  PAGES_PER_BLOCK as BLOCK,
  type Commands,
  type DeviceDescription,
  NO_NODE,
  type ProcessorId,
  Status,
} from './basics/types.js';
import type { Policies } from './table/processors.js';
import type { RangeOptions } from './table/range.js';
import { OpenManager } from './test-manager.js';

/** A device with room for so many blocks, whose memory the manager reaches. */
export function deviceOf(blocks: number, more: Partial<DeviceDescription> = {}): DeviceDescription {
  return {
    name: 'device',
    budgetPages: blocks * BLOCK,
    frames: 'identity',
    faults: true,
    addressable: true,
    units: 1,
    memorySurvives: true,
    ...more,
  };
}

/** The host with room for so many blocks. */
export function hostOf(blocks: number, more: Partial<DeviceDescription> = {}): DeviceDescription {
  return deviceOf(blocks, { name: 'host', ...more });
}

/** Commands that are done at once, all of them, but those that are a test's own. */
export function commandsThat(own: Partial<Commands> = {}): Commands {
  const done = (): Status => Status.Done;
  const ignored = (): void => undefined;
  return {
    map: ignored,
    revoke: done,
    transfer: done,
    remap: done,
    cover: done,
    release: done,
    wake: ignored,
    deny: ignored,
    breakCopyOnWrite: ignored,
    want: ignored,
    invalidate: ignored,
    invalidated: ignored,
    requestDone: ignored,
    drained: () => Status.Done,
    emptied: ignored,
    ...own,
  };
}

/** A manager of a space of so many blocks, which has its host, and no device yet. */
export function managerOf(
  host: DeviceDescription,
  commands: Commands,
  policies: Policies,
  blocks = 64,
): OpenManager {
  const manager = new OpenManager(commands, policies, blocks);
  manager.addDevice(host, NO_NODE);
  return manager;
}

/** Makes an array of zeros that may be written. Returns its first page. */
export function allocateIn(
  manager: OpenManager,
  pages: number,
  about: Partial<RangeOptions> = {},
): number {
  const range = manager.allocate(pages, {
    name: 'array',
    writable: true,
    provided: false,
    ...about,
  });
  if (range === null) throw new Error('no addresses are left');
  return range.first;
}

/** Whether the processor's page tables have the page; as `writable`, whether for writing. */
export function hasPage(
  manager: OpenManager,
  processor: ProcessorId,
  page: number,
  as: 'mapped' | 'writable' = 'mapped',
): boolean {
  const mapping = manager.state.va.blocks.get(Math.floor(page / BLOCK))?.mappings[processor];
  return mapping !== undefined && has(mapping[as], page % BLOCK);
}

/** A thread reads the page, and what comes ahead comes. Returns whether it faulted. */
export function touchIn(manager: OpenManager, processor: ProcessorId, page: number): boolean {
  if (hasPage(manager, processor, page)) return false;
  manager.fault(processor, page, false, 1);
  while (manager.waitsToGoAhead) manager.goAhead();
  return true;
}

/** A policy that answers as those of `make`, once `tell` has heard what it is asked. */
export function overheard<Request, Answer>(
  make: () => (request: Request) => Answer,
  tell: (request: Request) => void,
): () => (request: Request) => Answer {
  return () => {
    const policy = make();
    return (request) => {
      tell(request);
      return policy(request);
    };
  };
}
