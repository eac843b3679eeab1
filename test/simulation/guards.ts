/**
 * Arrays whose rights are asked for: what threads of host memory, those of other processes too, may
 * do with their pages they have faulted for, or a request of the host has asked for all of it.
 */

import { Access, HOST, NO_NODE, type ProcessorId } from '../../src/core/basics/types.js';
import type { Range } from '../../src/core/table/range.js';
import { ModelDevice, PAGES } from './model-device.js';
import type { Random } from './random.js';
import type { World } from './world.js';

export class Guards {
  /** By processor, by page, the most that was asked for since its range was guarded. */
  private readonly asked: Int8Array[] = [];
  /** Ranges of which nobody has a right any more from the time before. */
  private readonly inForce = new Set<Range>();
  /** The last request that guards a range or lets it be: what earlier ones end with is no news. */
  private readonly latest = new Map<Range, number>();

  /** Requests under way that bring pages of a range for the host. */
  private readonly brought = new Map<Range, number>();

  constructor(
    private readonly world: World,
    private readonly random: Random,
  ) {}

  /** Guards an array, or lets a guarded one be. */
  change(): void {
    const { world } = this;
    const { range } = this.random.pick(world.memories);
    if ((this.brought.get(range) ?? 0) > 0) return;
    const on = !range.guarded || this.random.chance(0.3);
    for (const each of this.asked) each?.fill(Access.None, range.first, range.first + range.pages);
    this.inForce.delete(range);
    const request = world.ask((_, failure) => {
      if (failure !== null) throw new Error(`a guard failed: ${failure}`);
      if (on && this.latest.get(range) === request) this.inForce.add(range);
    });
    this.latest.set(range, request);
    world.trace(() => `  request ${request}: guard of ${range.first} ${on ? 'on' : 'off'}`);
    world.manager.guard(request, range, on);
    // What is read ahead there gives no right.
    if (this.random.chance(0.5))
      world.manager.advise(range, 0, range.pages, { pattern: 'sequential' });
  }

  /** A request asks for pages for the host; what is returned ends it. */
  bring(first: number, count: number, access: Access): () => void {
    this.note(HOST, first, count, access);
    const range = this.world.manager.state.va.rangeOfPage(first);
    if (range === undefined) return () => undefined;
    const { brought } = this;
    brought.set(range, (brought.get(range) ?? 0) + 1);
    return () => brought.set(range, (brought.get(range) ?? 0) - 1);
  }

  /** Threads of a processor ask for pages. */
  note(processor: ProcessorId, first: number, count: number, access: Access): void {
    const asked = this.askedBy(processor);
    for (let page = first; page < first + count; page++)
      if (asked[page] < access) asked[page] = access;
  }

  check(): void {
    for (const [processor, device] of this.world.devices.entries())
      if (device instanceof ModelDevice && (processor === HOST || device.node === NO_NODE))
        this.checkRights(processor, device);
  }

  private askedBy(processor: ProcessorId): Int8Array {
    this.asked[processor] ??= new Int8Array(PAGES);
    return this.asked[processor];
  }

  private checkRights(processor: ProcessorId, device: ModelDevice): void {
    const { manager } = this.world;
    const asked = this.askedBy(processor);
    for (const range of this.inForce) {
      if (!range.guarded || manager.range(range.id) !== range) continue;
      for (let page = range.first; page < range.first + range.pages; page++) {
        const bit = 1 << (page & 31);
        const written = (device.writable[page >>> 5] & bit) !== 0;
        const right = written
          ? Access.Write
          : (device.readable[page >>> 5] & bit) !== 0
            ? Access.Read
            : Access.None;
        // What stands in for a denied page is no page of the array's.
        if (right <= asked[page] || device.covered.has(page)) continue;
        throw new Error(
          `${device.description.name} may ${written ? 'write' : 'read'} page ${page}, which is guarded, and has not asked for that`,
        );
      }
    }
  }
}
