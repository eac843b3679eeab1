/**
 * Arrays whose rights are asked for: what threads of the host may do with their pages they have
 * faulted for, or a request has asked for all of it.
 */

import { Access, HOST } from '../../src/core/basics/types.js';
import type { Range } from '../../src/core/table/range.js';
import { ModelDevice, PAGES } from './model-device.js';
import type { Random } from './random.js';
import type { World } from './world.js';

export class Guards {
  /** By page, the most that was asked for since its range was guarded. */
  private readonly asked = new Int8Array(PAGES);
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
    this.asked.fill(Access.None, range.first, range.first + range.pages);
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
    this.note(first, count, access);
    const range = this.world.manager.state.va.rangeOfPage(first);
    if (range === undefined) return () => undefined;
    const { brought } = this;
    brought.set(range, (brought.get(range) ?? 0) + 1);
    return () => brought.set(range, (brought.get(range) ?? 0) - 1);
  }

  /** The host asks for pages. */
  note(first: number, count: number, access: Access): void {
    for (let page = first; page < first + count; page++)
      if (this.asked[page] < access) this.asked[page] = access;
  }

  check(): void {
    const { manager, devices } = this.world;
    const host = devices[HOST];
    if (!(host instanceof ModelDevice)) return;
    for (const range of this.inForce) {
      if (!range.guarded || manager.range(range.id) !== range) continue;
      for (let page = range.first; page < range.first + range.pages; page++) {
        const bit = 1 << (page & 31);
        const written = (host.writable[page >>> 5] & bit) !== 0;
        const right = written
          ? Access.Write
          : (host.readable[page >>> 5] & bit) !== 0
            ? Access.Read
            : Access.None;
        if (right <= this.asked[page]) continue;
        throw new Error(
          `the host may ${written ? 'write' : 'read'} page ${page}, which is guarded, and has not asked for that`,
        );
      }
    }
  }
}
