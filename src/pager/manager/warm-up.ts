/**
 * Runs the fault path on a manager of its own until the engine has compiled it. A program's first thousands of faults would
 * otherwise cost three times as much as the later ones, and many programs have no more than those.
 */
import { MemoryManager } from '../../core/memory-manager.js';
import { Access, type DeviceDescription, HOST_NODE, NO_NODE, PAGES_PER_BLOCK, Status } from '../../core/types.js';
import type { Driver } from '../../drivers/driver.js';
import { Router } from '../../drivers/router.js';
import { namedPolicies } from '../../policy/choices.js';

const BLOCKS = 10;
/** Every 64 KiB of a block, so that the prefetcher has something to decide. */
const STEP = 16;

/** A node that is always ready and holds nothing. */
class Nowhere implements Driver {
  readonly kind = 'nowhere';
  readonly memory = 4096;

  constructor(readonly description: DeviceDescription) {}

  map(): void {}
  wake(): void {}
  close(): void {}

  revoke(): Status {
    return Status.Done;
  }

  release(): Status {
    return Status.Done;
  }

  transferIn(): Status {
    return Status.Done;
  }
}

/** Takes a few tens of milliseconds. */
export function warmUp(): void {
  const ignore = (): void => undefined;
  const router = new Router(
    {
      deny: ignore,
      requestDone: ignore,
      drained: ignore,
      emptied: ignore,
      save: ignore,
      invalidate: ignore,
      invalidated: ignore,
    },
    { provide: () => Status.Done },
    (token, status) => manager.transferred(token, status),
  );
  const manager: MemoryManager = new MemoryManager(router, namedPolicies(), BLOCKS * 2);
  const description = { frames: 'identity', faults: true, addressable: true, units: 4, memorySurvives: true } as const;
  for (const [name, blocks] of [
    ['host', BLOCKS * 2],
    ['device', BLOCKS / 2],
  ] as const) {
    const node = new Nowhere({ ...description, name, budgetPages: blocks * PAGES_PER_BLOCK });
    const added = manager.addDevice(node.description, name === 'host' ? NO_NODE : HOST_NODE);
    router.attach(added.processor, added.node, node);
  }
  const range = manager.allocate(BLOCKS * PAGES_PER_BLOCK, { name: 'warm-up', writable: true, provided: false });
  if (range === null) return;
  // Written by the host, taken by the device, half of it changed there, and looked at by the host again. Once: a second round costs more in
  // compiling what is seldom used than it saves the program.
  for (let page = 0; page < range.pages; page += STEP) manager.fault(0, page, true, 1);
  while (router.step());
  for (let page = 0; page < range.pages; page += STEP) {
    manager.fault(1, page, page >= range.pages / 2, 2);
    while (router.step());
  }
  for (let page = 0; page < range.pages; page += STEP) manager.fault(0, page, false, 1);
  while (router.step());
  manager.acquire(1, 1, 0, PAGES_PER_BLOCK, Access.Read);
  while (router.step());
}
