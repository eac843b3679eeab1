/** What a thread or a request is told that does not get a page must be so. */

import {
  Access,
  type DenyReason,
  HOST,
  isLoss,
  NO_NODE,
  PAGES_PER_BLOCK,
  type ProcessorId,
} from '../../src/core/basics/types.js';
import { ROOM_TRIES } from '../../src/core/service/denials.js';
import { passes } from '../../src/core/table/absence.js';
import { ModelDevice } from './model-device.js';
import type { Sources } from './sources.js';
import type { World } from './world.js';

export class Reasons {
  constructor(
    private readonly world: World,
    private readonly sources: Sources,
  ) {}

  /** For a request, whose failure may be about any of its pages. */
  ofRequest(reason: DenyReason): void {
    this.weather(reason, 'a page', undefined);
  }

  /** Some of the pages are lost, or were when it was told. */
  ofLostRequest(first: number, end: number): void {
    if (this.world.manager.pages.firstLost(first, end) !== -1) return;
    for (let page = first; page < end; page++) {
      for (const at of this.world.lineage(page)) {
        const { everLost, mayBeLost, fuzzy, freed } = this.world;
        if (everLost.has(at) || mayBeLost.has(at) || fuzzy[at] + freed[at] > 0) return;
      }
    }
    throw new Error(
      `whoever asked for pages ${first} to ${end - 1} is told that some are lost, and none is`,
    );
  }

  /** For an access to one page. Of a granule it may be about another page. */
  ofPage(reason: DenyReason, page: number, id: ProcessorId): void {
    const device = this.world.devices[id];
    const granulePages =
      device instanceof ModelDevice ? Math.min(device.granulePages, PAGES_PER_BLOCK) : 1;
    const first = page - (page % granulePages);
    const pages = Array.from({ length: granulePages }, (_, at) => first + at);
    if (!pages.some((each) => each !== page && this.holds(reason, each, id)))
      this.checkPage(reason, page, id);
  }

  private holds(reason: DenyReason, page: number, id: ProcessorId): boolean {
    try {
      this.checkPage(reason, page, id);
    } catch {
      return false;
    }
    return true;
  }

  private checkPage(reason: DenyReason, page: number, id: ProcessorId): void {
    const { world } = this;
    this.weather(reason, `page ${page}`, id);
    if (this.sources.isRefusal(reason) && !this.sources.hasSaid(reason, page))
      throw new Error(`page ${page} is denied with ${reason}, which its source never said`);
    const isLost =
      world.manager.pages.lossOf(page) !== null || world.others.of(page)?.abandoned === true;
    if (isLoss(reason) && !isLost)
      throw new Error(`page ${page} is denied as lost, and reported as if it were not`);
    // What a clone has lost, since there was no room for it when its source forgot it, is not
    // waited for.
    const { manager } = world;
    const { timesWithoutRoom } = world.behind;
    if (
      reason === 'OUT_OF_STORAGE' &&
      timesWithoutRoom < ROOM_TRIES &&
      manager.pages.lossOf(page) === null
    )
      throw new Error(`page ${page} is denied for want of room that may come soon`);
    if (reason === 'FREED' && world.freed[page] === 0 && world.fuzzy[page] === 0)
      throw new Error(`page ${page} is not freed`);
    if (reason === 'READ_ONLY' && world.rights[page] === Access.Write && world.changing[page] === 0)
      throw new Error(`page ${page} may be written`);
    const kept = world.memories.some((memory) =>
      memory.kept.some(({ first, end }) => page >= first && page < end),
    );
    if (
      reason === 'NO_ACCESS' &&
      world.rights[page] !== Access.None &&
      world.changing[page] === 0 &&
      !kept
    )
      throw new Error(`page ${page} may be read`);
    const own = world.manager.state.processors[id]?.localNode;
    if (
      (reason === 'NO_ACCESS' || reason === 'READ_ONLY') &&
      (id === HOST || own === NO_NODE) &&
      world.others.of(page) !== undefined
    )
      throw new Error(`page ${page} is denied, and nobody asked other machines for it`);
    if (reason === 'PINNED' && !world.isPinned(page)) throw new Error(`page ${page} is not pinned`);
    if (reason === 'OUTSIDE' && world.manager.state.va.rangeOfPage(page) !== undefined)
      throw new Error(`page ${page} is not outside`);
    if (reason === 'DEVICE_LOST' || reason === 'IN_PLACE')
      throw new Error(`an access is denied with ${reason}`);
  }

  /**
   * A device is ended only when nothing can be moved for it any more: what one page is denied for
   * is no reason.
   */
  ofEnd(reason: DenyReason, page: number): void {
    if (reason !== 'OUT_OF_MEMORY' && reason !== 'OUT_OF_STORAGE' && reason !== 'COPY_FAILED')
      throw new Error(`a device must end because page ${page} is denied with ${reason}`);
  }

  /**
   * A clone loses what cannot be had only when its source is overwritten without a look at it:
   * never for a write, nor for a protection.
   */
  ofLoss(reason: DenyReason, page: number): void {
    const { world } = this;
    this.weather(reason, `page ${page}`, undefined);
    if (passes(reason))
      throw new Error(`page ${page} of a clone is lost for what passes: ${reason}`);
    if (this.sources.isRefusal(reason) && !this.sources.hasSaid(reason, page))
      throw new Error(`page ${page} is lost with ${reason}, which nobody said`);
    for (const at of world.lineage(page)) if (at !== page && this.mayBeForgotten(at)) return;
    throw new Error(`page ${page} of a clone is lost though nobody overwrites what it comes from`);
  }

  /** Clones are given pages for the last time, and lose what they cannot have. */
  ofLastChance(first: number, count: number): void {
    for (let page = first; page < first + count; page++)
      if (!this.mayBeForgotten(page))
        throw new Error(`clones are to have page ${page} now, and nobody forgets it`);
  }

  /**
   * Whether the page is being overwritten, or read from its file again: what was changed stays
   * then, unless that is to be forgotten, too.
   */
  private mayBeForgotten(page: number): boolean {
    const { fuzzy, freed, arrays, manager } = this.world;
    return fuzzy[page] + freed[page] > 0 || (arrays.drops > 0 && manager.pages.isInherited(page));
  }

  private weather(reason: DenyReason, what: string, id: ProcessorId | undefined): void {
    const { world, sources } = this;
    const { copyFailure, noMemory } = world.weather;
    const bad = world.closing || copyFailure + noMemory + sources.failure > 0;
    if (reason === 'OUT_OF_MEMORY' && !world.mayWant && !bad)
      throw new Error(`${what} finds no memory, where there is enough`);
    if (reason === 'OUT_OF_STORAGE' && !world.behind.everFull)
      throw new Error(`${what} is told of a store that was never full`);
    const process = id === undefined ? undefined : world.devices[id];
    const died = process instanceof ModelDevice && process.dead;
    if (reason === 'NODE_LOST' && !world.behind.everAway)
      throw new Error(`${what} is told of a store that was never away`);
    if (reason === 'COPY_FAILED' && !world.mayFailCopies && !died)
      throw new Error(`a copy of ${what} failed, and none did`);
  }
}
