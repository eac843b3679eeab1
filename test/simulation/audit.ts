/**
 * What is looked at from outside after every event: that memory, page tables and contents are what
 * the core believes.
 */

import { createMask, has, type Mask, next, size, WORDS } from '../../src/core/basics/mask.js';
import {
  Access,
  type DeviceDescription,
  HOST,
  HOST_NODE,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
} from '../../src/core/basics/types.js';
import { readingRoomOf } from '../../src/core/movement/reading-room.js';
import { onlyCopies } from '../../src/core/table/contents.js';
import { contentIn } from '../../src/core/table/granules.js';
import type { Block } from '../../src/core/table/va-block.js';
import type { SimulatedDevice } from '../../src/drivers/simulated/simulated-device.js';
import { granulePagesOf, ModelDevice, PAGES } from './model-device.js';
import { type Rights, WatchedDevice } from './watched-device.js';
import type { World } from './world.js';

const ALL_WORDS = PAGES / 32;

function noRights(): Rights {
  return { readable: new Int32Array(ALL_WORDS), writable: new Int32Array(ALL_WORDS) };
}
const NO_RIGHTS = noRights();

export class Audit {
  private readonly lostBefore = new Int32Array(ALL_WORDS);
  private readonly rights: (Rights | undefined)[] = [];
  private readonly rightsBefore: Rights[] = [];
  private readonly deviceBefore: unknown[] = [];
  private readonly pendingRead = new Int32Array(ALL_WORDS);
  private readonly pendingWrite = new Int32Array(ALL_WORDS);

  constructor(private readonly world: World) {}

  /**
   * Each block has the advice that its range knows of it, which is for the whole block: also where
   * the range may grow.
   */
  advice(): void {
    for (const { index, range, advice, gone } of this.world.manager.state.va.blocks.values()) {
      if (gone) continue;
      const begin = index * PAGES_PER_BLOCK - range.first;
      range.advice.each(begin, begin + PAGES_PER_BLOCK, (from, to, said) => {
        const [there, known] = [advice, said].map((each) => JSON.stringify(each));
        if (there === known) return;
        const what = `${known} for pages ${from} to ${to} of its range`;
        throw new Error(`block ${index} has the advice ${there}, and there is ${what}`);
      });
    }
  }

  /**
   * Beyond its budget the host has pages to read only: of those that are nowhere else it never has
   * more than the budget allows. A store that was removed, or has lost what it had, has left it
   * with more.
   */
  readingRoom(): void {
    const { state } = this.world.manager;
    const host = state.nodes[HOST_NODE];
    const { everFull, everLess } = this.world.behind;
    if (host === undefined || host.backedPages <= host.budgetPages) return;
    if (!everFull)
      throw new Error(
        `the host has ${host.backedPages} of ${host.budgetPages} pages, and no store is full`,
      );
    if (everLess) return;
    let pages = 0;
    const only = createMask();
    for (const block of state.va.blocks.values()) {
      onlyCopies(state, block, HOST_NODE, block.inside, only);
      for (let word = 0; word < WORDS; word++) only[word] &= block.dirty[word];
      pages += size(only);
    }
    if (pages > host.budgetPages)
      throw new Error(
        `the host alone has ${pages} pages, and may have ${host.budgetPages} that cannot go`,
      );
  }

  /**
   * Budgets, page tables against the core's masks, and that no processor may write what another one
   * may use.
   */
  drivers(): void {
    const { devices, manager } = this.world;
    for (let id = 0; id < devices.length; id++) {
      const device = devices[id];
      this.rights[id] = undefined;
      if (device === undefined) continue;
      if (device instanceof ModelDevice) {
        const node = id === HOST ? manager.state.nodes[HOST_NODE] : undefined;
        const beyond = node === undefined ? 0 : readingRoomOf(node);
        if (device.backedPages > device.description.budgetPages + beyond) {
          throw new Error(
            `${device.description.name} really has ${device.backedPages} pages of ${device.description.budgetPages}`,
          );
        }
        this.checkBacked(device);
        // The core has forgotten one that has gone; its driver does once its end is heard of.
        if (device.dead || this.world.processors.unheard.includes(id)) continue;
        this.rights[id] = this.ofContent(device, id, device);
        this.checkTables(device, id);
        this.checkRemote(device, id);
      } else if (
        device instanceof WatchedDevice &&
        manager.state.processors[id]?.state !== 'dead'
      ) {
        this.rights[id] = this.checkSimulated(device, id);
      }
    }
    this.checkSharing();
  }

  /**
   * What a processor could do with a watched page and cannot do any more was announced before, also
   * when the processor died.
   */
  invalidations(): void {
    const { devices } = this.world;
    for (let id = 0; id < Math.max(devices.length, this.rightsBefore.length); id++) {
      const before = (this.rightsBefore[id] ??= noRights());
      // Another device that has got the number meanwhile begins with nothing; one that is no more
      // has nothing.
      const replaced = devices[id] !== undefined && devices[id] !== this.deviceBefore[id];
      this.deviceBefore[id] = devices[id];
      const now = this.rights[id] ?? NO_RIGHTS;
      for (let word = 0; word < ALL_WORDS; word++) {
        if (!replaced) {
          this.checkAnnounced(word, before.readable[word] & ~now.readable[word], id, 'read');
          this.checkAnnounced(word, before.writable[word] & ~now.writable[word], id, 'write');
        }
        const scratch = this.scratch(id, word);
        before.readable[word] = now.readable[word] & ~scratch;
        before.writable[word] = now.writable[word] & ~scratch;
      }
    }
  }

  private checkAnnounced(word: number, gone: number, id: number, what: string): void {
    const { world } = this;
    for (let left = gone; left !== 0; left &= left - 1) {
      const page = word * 32 + 31 - Math.clz32(left & -left);
      if (world.manager.state.va.rangeOfPage(page)?.watchers !== 1) continue;
      if (world.invalidations.some((each) => page >= each.page && page < each.page + each.count))
        continue;
      const name = world.devices[id]?.description.name ?? `processor ${id}`;
      throw new Error(
        `${name} may not ${what} page ${page} any more, and the subscribers of the page were not told`,
      );
    }
  }

  /** What stands in for denied pages is no content of an array's, and goes without a word. */
  private scratch(id: number, word: number): number {
    const block = this.world.manager.state.va.blocks.get(Math.floor(word / WORDS));
    return block?.mappings[id]?.standIn[word % WORDS] ?? 0;
  }

  /** Pages are reported lost only when their last copy really went with a device. */
  lost(): void {
    const { world } = this;
    for (let index = 0; index < PAGES / PAGES_PER_BLOCK; index++) {
      const lost = world.manager.state.va.blocks.get(index)?.lost;
      for (let word = 0; word < WORDS; word++) {
        const at = index * WORDS + word;
        const now = lost?.[word] ?? 0;
        let fresh = now & ~this.lostBefore[at];
        this.lostBefore[at] = now;
        while (fresh !== 0) {
          const page = at * 32 + 31 - Math.clz32(fresh & -fresh);
          fresh &= fresh - 1;
          world.everLost.add(page);
          if (
            !world.mayBeLost.has(page) &&
            !world.mayHaveGivenUp &&
            this.lostOrigin(world.sourceOf(page)) === -1
          )
            throw new Error(`page ${page} is reported lost, but there was another copy`);
        }
      }
    }
  }

  /**
   * Every copy that counts has the value that was written last; what is nowhere was never written.
   */
  contents(): void {
    const { world } = this;
    for (const block of world.manager.state.va.blocks.values()) {
      // A clone that is being made has no content of its own yet.
      if (![...world.memories, ...world.others.memories].some(({ range }) => range === block.range))
        continue;
      const base = block.index * PAGES_PER_BLOCK;
      for (
        let page = next(block.inside, 0);
        page < PAGES_PER_BLOCK;
        page = next(block.inside, page + 1)
      ) {
        if (world.fuzzy[base + page] > 0 || has(block.lost, page) || has(block.freed, page))
          continue;
        // What other machines may write is here as it was.
        if (
          block.range.shared === true &&
          (world.rights[base + page] === Access.None || world.changing[base + page] > 0)
        )
          continue;
        let copies = 0;
        for (let node = 0; node < block.residences.length; node++) {
          const residence = block.residences[node];
          if (residence === undefined || !has(residence.resident, page)) continue;
          copies++;
          const device = world.stores[node];
          if (device instanceof ModelDevice && !device.gone)
            world.check(base + page, device.value(base + page), `the copy on node ${node}`);
        }
        if (copies > 0 || world.manager.pages.lossOf(base + page) !== null) continue;
        const initial = this.initial(block, page);
        if (initial !== null) world.check(base + page, initial, 'the first touch');
      }
    }
  }

  /**
   * A page of a clone that comes from a lost one is lost, and known to be, without a look at it.
   */
  inheritedLosses(): void {
    const { world } = this;
    if (world.everLost.size === 0) return;
    const { pages } = world.manager;
    for (const { range, source } of world.memories) {
      if (source === null) continue;
      for (let page = range.first; page < range.first + range.pages; page++) {
        const origin = this.lostOrigin(page);
        if (origin === -1 || pages.lossOf(page) !== null) continue;
        throw new Error(
          `page ${page} of a clone comes from page ${origin}, which is lost, and is not reported so`,
        );
      }
    }
  }

  /**
   * The lost page that this one would come from, over pages that no node holds, or is itself; -1:
   * none.
   */
  private lostOrigin(page: number): number {
    const { manager } = this.world;
    let at = page;
    while (at !== -1 && !this.isLost(at))
      at = this.isNowhere(at) && manager.pages.isInherited(at) ? this.world.sourceOf(at) : -1;
    return at;
  }

  isNowhere(page: number): boolean {
    const block = this.world.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    return (
      block?.residences.every(
        (each) => each === undefined || !has(each.resident, page % PAGES_PER_BLOCK),
      ) ?? true
    );
  }

  isLost(page: number): boolean {
    const block = this.world.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    return block !== undefined && has(block.lost, page % PAGES_PER_BLOCK);
  }

  /** Whether the processor finds something there that stands in for the page. */
  isScratch(id: ProcessorId, page: number): boolean {
    const block = this.world.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    const standIn = block?.mappings[id]?.standIn;
    return standIn !== undefined && has(standIn, page % PAGES_PER_BLOCK);
  }

  /** Whether the page is given back already, while the request that does it may go on. */
  isFreed(page: number): boolean {
    const block = this.world.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    return block !== undefined && has(block.freed, page % PAGES_PER_BLOCK);
  }

  /**
   * Pages whose only copy is on this node, or this one of them: they may be reported lost with it.
   */
  noteSoleCopies(node: NodeId, isConcerned: (page: number) => boolean = () => true): void {
    for (const block of this.world.manager.state.va.blocks.values()) {
      const residence = block.residences[node];
      if (residence === undefined) continue;
      for (
        let page = next(residence.resident, 0);
        page < PAGES_PER_BLOCK;
        page = next(residence.resident, page + 1)
      ) {
        const elsewhere = block.residences.some(
          (other, id) =>
            id !== node && this.isReadable(id) && other !== undefined && has(other.resident, page),
        );
        const at = block.index * PAGES_PER_BLOCK + page;
        if (!elsewhere && isConcerned(at)) this.world.mayBeLost.add(at);
      }
    }
  }

  /** How many pages the simulated device maps. */
  mapped(device: SimulatedDevice): number {
    let count = 0;
    for (let page = 0; page < PAGES; page++) if (device.table.access(page) !== Access.None) count++;
    return count;
  }

  private isReadable(id: NodeId): boolean {
    return this.world.manager.state.nodes[id]?.gone === false;
  }

  /**
   * What the first touch of the page would find; null: only a real look at what a launch that
   * failed left there can tell.
   */
  private initial(block: Block, page: number): number | null {
    if (!block.range.provided || has(block.blank, page)) return 0;
    // A page of a clone that was never touched is its source's, which cannot have been written
    // since.
    const at = block.index * PAGES_PER_BLOCK + page;
    const source = this.world.sourceOf(at);
    if (source !== -1 && (this.world.mayBeEmpty(at) || this.world.mayBeEmpty(source))) return null;
    if (source !== -1) return this.world.shadow[source];
    return this.world.sources.file[at];
  }

  /** The memory that the processor really finds at the addresses of a block. */
  private reachedBy(id: ProcessorId, block: number): unknown {
    const device = this.world.devices[id];
    if (!(device instanceof ModelDevice)) return device;
    return device.node === NO_NODE || device.remote.has(block) ? this.world.host : device;
  }

  private checkBacked(device: ModelDevice): void {
    const { va, nodes } = this.world.manager.state;
    const { blocks } = va;
    for (let index = 0; index < PAGES / PAGES_PER_BLOCK; index++) {
      // Of a granule of several blocks all has memory while one of them has.
      if (nodes[device.node]?.large?.of(index) !== undefined) continue;
      const backed = blocks.get(index)?.residences[device.node]?.backed;
      for (let word = 0; word < WORDS; word++) {
        const extra = device.backed[index * WORDS + word] & ~(backed?.[word] ?? 0);
        if (extra !== 0)
          throw new Error(
            `${device.description.name} has memory for ${pageOf(index, word, extra)}, which the core does not know`,
          );
      }
    }
  }

  /** What comes with a granule and has no content counts for nothing. */
  private ofContent(
    device: { readonly description: DeviceDescription },
    id: number,
    rights: Rights,
  ): Rights {
    if (granulePagesOf(device) === 1) return rights;
    const { readable, writable } = noRights();
    for (const block of this.world.manager.state.va.blocks.values())
      for (let word = 0; word < WORDS; word++) {
        const at = block.index * WORDS + word;
        const mapping = block.mappings[id];
        // What an array has just grown by came as the rest of granules that it has until then.
        const grown = this.grownIn(block, word) & ~(mapping?.mapped[word] ?? 0);
        const counts = (contentIn(block, word) & ~grown) | (mapping?.standIn[word] ?? 0);
        readable[at] = rights.readable[at] & counts;
        writable[at] = rights.writable[at] & counts;
      }
    return { readable, writable };
  }

  /** Pages by which an array grows, and which are not used before processors have lost them. */
  private grownIn({ tasks }: Block, word: number): number {
    let grown = 0;
    for (const { kind, mask } of tasks) if (kind === 'unmapGranules') grown |= mask[word];
    return grown;
  }

  private checkTables(device: ModelDevice, id: number): void {
    this.pendingRead.fill(0);
    this.pendingWrite.fill(0);
    for (const { page, count, to } of device.revokes) {
      for (let at = page; at < page + count; at++) {
        this.pendingWrite[at >>> 5] |= 1 << (at & 31);
        if (to === Access.None) this.pendingRead[at >>> 5] |= 1 << (at & 31);
      }
    }
    for (const { block } of device.remaps) {
      this.pendingRead.fill(-1, block * WORDS, (block + 1) * WORDS);
      this.pendingWrite.fill(-1, block * WORDS, (block + 1) * WORDS);
    }
    const { blocks } = this.world.manager.state.va;
    const { readable, writable } = this.ofContent(device, id, device);
    for (let index = 0; index < PAGES / PAGES_PER_BLOCK; index++) {
      const mapping = blocks.get(index)?.mappings[id];
      for (let word = 0; word < WORDS; word++) {
        const at = index * WORDS + word;
        this.agree(
          readable[at],
          mapping?.mapped[word] ?? 0,
          this.pendingRead[at],
          id,
          index,
          word,
          'mapped',
        );
        this.agree(
          writable[at],
          mapping?.writable[word] ?? 0,
          this.pendingWrite[at],
          id,
          index,
          word,
          'writable',
        );
      }
    }
  }

  /** Which memory the device finds at the addresses of each block. */
  private checkRemote(device: ModelDevice, id: number): void {
    const { blocks } = this.world.manager.state.va;
    for (let index = 0; index < PAGES / PAGES_PER_BLOCK; index++) {
      const believed = blocks.get(index)?.mappings[id]?.remapped === true;
      if (
        believed === device.remote.has(index) ||
        device.remaps.some(({ block }) => block === index)
      )
        continue;
      throw new Error(
        `${device.description.name} reaches block ${index} ${believed ? 'not ' : ''}in place, the core believes the opposite`,
      );
    }
  }

  private agree(
    real: number,
    believed: number,
    pending: number,
    id: number,
    index: number,
    word: number,
    what: string,
  ): void {
    const wrong = (real & ~believed & ~pending) | (believed & ~real);
    if (wrong === 0) return;
    const page = pageOf(index, word, wrong);
    throw new Error(
      `${page} is ${(real & wrong) !== 0 ? '' : 'not '}${what} at processor ${id}, the core believes the opposite`,
    );
  }

  private checkSimulated(device: WatchedDevice, id: number): Rights {
    const { blocks } = this.world.manager.state.va;
    const rights = this.ofContent(device, id, device.look());
    for (let index = 0; index < PAGES / PAGES_PER_BLOCK; index++) {
      const block = blocks.get(index);
      const mapping = block?.mappings[id];
      for (let word = 0; word < WORDS; word++) {
        const at = index * WORDS + word;
        this.agree(rights.readable[at], mapping?.mapped[word] ?? 0, 0, id, index, word, 'mapped');
        this.agree(
          rights.writable[at],
          mapping?.writable[word] ?? 0,
          0,
          id,
          index,
          word,
          'writable',
        );
      }
      const frames = mapping === undefined ? null : block?.residences[mapping.node]?.frames;
      if (
        mapping === undefined ||
        frames === undefined ||
        frames === null ||
        this.world.step % 8 !== 0
      )
        continue;
      for (
        let page = next(mapping.mapped, 0);
        page < PAGES_PER_BLOCK;
        page = next(mapping.mapped, page + 1)
      ) {
        if (frames[page] === device.table.frame(index * PAGES_PER_BLOCK + page)) continue;
        throw new Error(
          `page ${index * PAGES_PER_BLOCK + page} is mapped to a frame that it does not have`,
        );
      }
    }
    return rights;
  }

  private checkSharing(): void {
    const { blocks } = this.world.manager.state.va;
    for (let id = 0; id < this.rights.length; id++) {
      const writer = this.rights[id];
      if (writer === undefined) continue;
      for (let other = 0; other < this.rights.length; other++) {
        const user = this.rights[other];
        if (user === undefined || other === id) continue;
        for (const block of blocks.values()) {
          const mine: Mask | undefined = block.mappings[id]?.standIn;
          const theirs: Mask | undefined = block.mappings[other]?.standIn;
          for (let word = 0; word < WORDS; word++) {
            const at = block.index * WORDS + word;
            // Two processors that reach one memory see each other's writes.
            if (this.reachedBy(id, block.index) === this.reachedBy(other, block.index)) continue;
            const both =
              writer.writable[at] &
              user.readable[at] &
              ~(mine?.[word] ?? 0) &
              ~(theirs?.[word] ?? 0);
            if (both !== 0)
              throw new Error(
                `${pageOf(block.index, word, both)} can be written by ${id} while ${other} uses it`,
              );
          }
        }
      }
    }
  }
}

function pageOf(block: number, word: number, bits: number): string {
  return `page ${block * PAGES_PER_BLOCK + word * 32 + 31 - Math.clz32(bits & -bits)}`;
}
