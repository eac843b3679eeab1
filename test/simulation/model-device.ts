/**
 * A model of a processor whose accesses fault: the host, and a device process. It has memory that
 * can be counted, page tables of its own, threads that sleep until their page is mapped, copies and
 * revocations that are through later than they were asked for. Where the core asks for something
 * that no correct manager would ask for, the model throws.
 */
import {
  Access,
  type DeviceDescription,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
  PAGE_BYTES as REAL_PAGE_BYTES,
  Status,
} from '../../src/core/basics/types.js';
import type { Driver, TransferOrder } from '../../src/drivers/driver.js';
import type { Random } from './random.js';

/** Bytes of a page in the simulation: room for one value, twice, so that half a copy shows. */
export const PAGE_BYTES = 8;
export const WORDS_PER_PAGE = PAGE_BYTES / 4;
/** The whole space, in blocks and in pages. */
export const BLOCKS = 10;
export const PAGES = BLOCKS * PAGES_PER_BLOCK;
/** Nodes lie this far apart for the manager. */
export const NODE_BYTES = 2 ** 32;
/** What is in memory that was never filled. */
const GARBAGE = 0xdeadbeef;

/** `falling`: its message has been sent, but it does not sleep yet, so that nothing can wake it. */
type ThreadState = 'running' | 'falling' | 'asleep' | 'ended';

export interface Thread {
  readonly id: number;
  readonly device: ModelDevice;
  state: ThreadState;
  /** The page that it is about to touch, or -1. */
  page: number;
  write: boolean;
  /** What it is using, so that no other thread empties it meanwhile. */
  memory: { users: number } | undefined;
}

export interface PendingRevoke {
  token: number;
  page: number;
  count: number;
  to: Access;
}

export interface PendingCopy {
  token: number;
  address: number;
  page: number;
  count: number;
  access: Access;
  backed: boolean;
}

/** How often what goes wrong or takes long. */
export interface Weather {
  noMemory: number;
  copyFailure: number;
  later: number;
}

export interface Surroundings {
  readonly random: Random;
  readonly weather: Weather;
  /** Copies bytes from where the manager addresses them. */
  readWords(address: number, target: Uint32Array): void;
  /** The device whose memory others may reach in place. */
  readonly host: ModelDevice;
  /** All devices of this kind. */
  models(): Iterable<ModelDevice>;
  /** Whether a copy that is under way reads this memory. */
  isBeingRead(address: number, bytes: number): boolean;
  trace(text: () => string): void;
}

/** What a provider, such as a file, has for a page. */
export function providedValue(page: number): number {
  return (0x8000_0000 | page) >>> 0;
}

export class ModelDevice implements Driver {
  readonly kind = 'model';
  readonly memory: number;
  readonly words: Uint32Array;
  readonly readable: Int32Array;
  readonly writable: Int32Array;
  readonly backed: Int32Array;
  /** Pages that got memory with their block, and that the core has not filled yet. */
  readonly fresh: Int32Array;
  /**
   * Blocks that got their memory in one piece, which is taken apart when a part of it is given
   * back.
   */
  private readonly pieces = new Set<number>();
  /** Pages that it has a right to, but that the kernel has taken out of its page table. */
  private readonly slipped: Int32Array;
  readonly granulePages: number;
  backedPages = 0;
  readonly revokes: PendingRevoke[] = [];
  readonly pendingCopies: PendingCopy[] = [];
  threads: Thread[] = [];
  /** Denied pages: what stands in for them is no content of an array's. */
  readonly scratch = new Set<number>();
  /** Those of them whose own content must not be seen. */
  readonly hidden = new Set<number>();
  dead = false;
  /** Blocks in which it reaches the host's memory, and switches that are under way. */
  readonly remote = new Set<number>();
  readonly remaps: { token: number; block: number; on: boolean }[] = [];
  /** Pages of such blocks that are its own all the same, and those that are about to be. */
  readonly covered = new Set<number>();
  readonly covers: { token: number; page: number }[] = [];
  /** Its memory has died with it. */
  gone = false;

  constructor(
    readonly id: ProcessorId,
    /**
     * Its own memory; NO_NODE: it has none, and reaches the host's in place.
     */
    readonly node: NodeId,
    readonly description: DeviceDescription,
    pages: number,
    private readonly around: Surroundings,
  ) {
    this.granulePages = granulePagesOf(this);
    this.memory = node === NO_NODE ? 0 : (node + 1) * NODE_BYTES;
    this.words = new Uint32Array(pages * WORDS_PER_PAGE).fill(GARBAGE);
    this.readable = new Int32Array(pages / 32);
    this.writable = new Int32Array(pages / 32);
    this.backed = new Int32Array(pages / 32);
    this.fresh = new Int32Array(pages / 32);
    this.slipped = new Int32Array(pages / 32);
  }

  map(page: number, count: number, access: Access, previous: Access, frame: number): void {
    this.expectGranules(page, count);
    if (this.dead) return;
    this.around.trace(
      () => `  ${this.description.name}: map ${page}+${count} ${previous}->${access}`,
    );
    if (frame !== page) throw new Error(`frame ${frame} of an identity node for page ${page}`);
    for (let at = page; at < page + count; at++) {
      const { backed } = this.homeOf(at);
      if (this.granulePages > 1 ? !bit(backed, at) : !this.homeOf(at).hasContent(at))
        throw new Error(`${this.description.name} is to map page ${at}, which has no memory`);
      if (this.access(at) !== previous)
        throw new Error(`page ${at} is mapped ${this.access(at)}, the core says ${previous}`);
      if (this.pendingCopies.some((copy) => covers(copy, at)))
        throw new Error(`page ${at} becomes visible before its copy ends`);
    }
    // A right that changes maps nothing.
    const slipped = previous === Access.None ? null : this.slipped.slice();
    this.publish(page, count, access);
    if (slipped !== null) this.slipped.set(slipped);
  }

  /** Whose memory a page of this device's addresses is in. */
  homeOf(page: number): ModelDevice {
    return this.isRemote(page) && !this.covered.has(page) ? this.around.host : this;
  }

  private isRemote(page: number): boolean {
    return this.node === NO_NODE || this.remote.has(Math.floor(page / PAGES_PER_BLOCK));
  }

  remap(token: number, page: number, on: boolean): Status {
    this.around.trace(
      () =>
        `  ${this.description.name}: block of ${page} reaches ${on ? 'the host' : 'its own memory'}`,
    );
    if (this.dead) return Status.Done;
    this.expectMemory();
    const block = page / PAGES_PER_BLOCK;
    if (this.threads.length > 0) throw new Error('memory is switched under threads that run');
    for (let at = page; at < page + PAGES_PER_BLOCK; at++)
      if (bit(this.backed, at) && !bit(this.fresh, at))
        throw new Error(`page ${at} is left behind in memory of ${this.description.name}`);
    if (this.around.random.chance(this.around.weather.later)) {
      this.remaps.push({ token, block, on });
      return Status.Pending;
    }
    this.switchBlock(block, on);
    return Status.Done;
  }

  cover(token: number, page: number): Status {
    this.around.trace(() => `  ${this.description.name}: page ${page} is covered`);
    if (this.dead) return Status.Done;
    this.expectMemory();
    if (!this.isRemote(page)) throw new Error(`page ${page} is not reached in place`);
    if (this.around.random.chance(this.around.weather.later)) {
      this.covers.push({ token, page });
      return Status.Pending;
    }
    this.coverPage(page);
    return Status.Done;
  }

  private expectMemory(): void {
    if (this.node === NO_NODE)
      throw new Error(`${this.description.name} has no memory of its own for pages to be in`);
  }

  coverPage(page: number): void {
    this.covered.add(page);
    clearBit(this.slipped, page);
    this.store(page, 0);
    setBit(this.readable, page);
    setBit(this.writable, page);
  }

  switchBlock(block: number, on: boolean): void {
    for (const page of this.covered)
      if (Math.floor(page / PAGES_PER_BLOCK) === block) this.covered.delete(page);
    if (on) this.remote.add(block);
    else this.remote.delete(block);
    this.slipped.fill(0, block * (PAGES_PER_BLOCK / 32), (block + 1) * (PAGES_PER_BLOCK / 32));
    this.readable.fill(0, block * (PAGES_PER_BLOCK / 32), (block + 1) * (PAGES_PER_BLOCK / 32));
    this.writable.fill(0, block * (PAGES_PER_BLOCK / 32), (block + 1) * (PAGES_PER_BLOCK / 32));
  }

  /** Its page tables are by granules, but by no more than a block. */
  private expectGranules(page: number, count: number): void {
    const granule = this.isRemote(page) ? 1 : Math.min(this.granulePages, PAGES_PER_BLOCK);
    if (page % granule !== 0 || count % granule !== 0)
      throw new Error(`pages ${page}+${count} are no granules of ${granule} pages`);
  }

  revoke(token: number, page: number, count: number, to: Access): Status {
    this.expectGranules(page, count);
    this.around.trace(
      () => `  ${this.description.name}: revoke ${page}+${count} to ${to}, token ${token}`,
    );
    if (this.dead) return Status.Done;
    if (this.around.random.chance(this.around.weather.later)) {
      this.revokes.push({ token, page, count, to });
      return Status.Pending;
    }
    this.restrict(page, count, to);
    return Status.Done;
  }

  /** A revocation takes effect; until then its threads go on as before. */
  restrict(page: number, count: number, to: Access): void {
    for (let at = page; at < page + count; at++) {
      clearBit(this.writable, at);
      if (to === Access.None) clearBit(this.readable, at);
    }
  }

  release(_token: number, page: number, count: number, frame: number): Status {
    this.around.trace(() => `  ${this.description.name}: release ${page}+${count}`);
    if (frame !== page) throw new Error(`frame ${frame} of an identity node for page ${page}`);
    this.expectGranules(page, count);
    this.takeApart(Math.floor(page / PAGES_PER_BLOCK));
    const whole = page % this.granulePages === 0 && count % this.granulePages === 0;
    for (let at = page; at < page + count; at++) {
      if (this.pendingCopies.some((copy) => covers(copy, at)))
        throw new Error(`page ${at} is given back while it is being filled`);
      if (whole) clearBit(this.fresh, at);
      else setBit(this.fresh, at);
      if (whole) this.setBacked(at, false);
      for (const model of this.around.models()) {
        if (model.homeOf(at) !== this || model.covered.has(at)) continue;
        clearBit(model.writable, at);
        clearBit(model.readable, at);
      }
      // What covers a page of another block of the granule is no memory of the granule.
      if (!this.covered.has(at))
        this.words.fill(GARBAGE, at * WORDS_PER_PAGE, (at + 1) * WORDS_PER_PAGE);
    }
    return Status.Done;
  }

  private takeApart(block: number): void {
    if (!this.pieces.delete(block)) return;
    for (const model of this.around.models()) {
      for (let at = block * PAGES_PER_BLOCK; at < (block + 1) * PAGES_PER_BLOCK; at++)
        if (model.homeOf(at) === this) setBit(model.slipped, at);
    }
  }

  /** What one of its threads may do there before it faults. */
  finds(page: number): Access {
    return bit(this.slipped, page) ? Access.None : this.access(page);
  }

  wake(page: number, count: number, access: Access = Access.None): void {
    for (let at = page; at < page + count && access !== Access.None; at++) {
      if (this.access(at) < access)
        throw new Error(`page ${at} is mapped ${this.access(at)}, the core says ${access}`);
      clearBit(this.slipped, at);
    }
    for (const thread of this.threads) {
      if (thread.state === 'asleep' && thread.page >= page && thread.page < page + count)
        thread.state = 'running';
    }
  }

  reserveBlock(page: number): void {
    if (this.dead) return;
    this.around.trace(() => `  ${this.description.name}: block of ${page} gets memory`);
    for (let at = page; at < page + PAGES_PER_BLOCK; at++)
      if (bit(this.backed, at))
        throw new Error(`page ${at} has memory already, and its block is to get it`);
    this.pieces.add(page / PAGES_PER_BLOCK);
    for (let at = page; at < page + PAGES_PER_BLOCK; at++) {
      this.setBacked(at, true);
      setBit(this.fresh, at);
    }
  }

  transferIn({ token, address, page, count, frame, access, backed }: TransferOrder): Status {
    const { random, weather } = this.around;
    if (this.dead) return Status.Lost;
    if (frame !== page) throw new Error(`frame ${frame} of an identity node for page ${page}`);
    for (let at = page; at < page + count; at++) {
      if (this.homeOf(at) !== this)
        throw new Error(`page ${at} of ${this.description.name} is not in its own memory`);
      if (this.granulePages > 1 ? backed && !bit(this.backed, at) : this.hasContent(at) !== backed)
        throw new Error(`page ${at}: the core says backed ${backed}, memory says the opposite`);
      if (this.access(at) !== Access.None)
        throw new Error(`page ${at} of ${this.description.name} is filled while it is mapped`);
    }
    if (this.granulePages > 1 && access !== Access.None)
      throw new Error(`pages ${page}+${count} are mapped before their granules are there`);
    const scarce = count > 16 ? weather.noMemory * 3 : weather.noMemory;
    if (!backed && scarce > 0 && random.chance(scarce)) return Status.NoMemory;
    this.giveGranules(page, count);
    if (random.chance(weather.later)) {
      this.pendingCopies.push({ token, address, page, count, access, backed });
      for (let at = page; at < page + count; at++) this.setBacked(at, true);
      // Half of it is there already.
      if (address !== 0)
        this.around.readWords(
          address,
          this.words.subarray(page * WORDS_PER_PAGE, page * WORDS_PER_PAGE + count),
        );
      this.around.trace(
        () => `  ${this.description.name}: copy ${page}+${count} begun, token ${token}`,
      );
      return Status.Pending;
    }
    const status = this.copy({ token, address, page, count, access, backed });
    this.around.trace(
      () =>
        `  ${this.description.name}: copy ${page}+${count} from ${where(address)} with ${access}: ${status}`,
    );
    return status;
  }

  /** The first copy into a granule gives all of it memory. */
  private giveGranules(page: number, count: number): void {
    const { granulePages } = this;
    if (granulePages === 1) return;
    for (let at = page - (page % granulePages); at < page + count; at += granulePages)
      for (let each = at; each < at + granulePages; each++) {
        if (bit(this.backed, each)) continue;
        this.setBacked(each, true);
        setBit(this.fresh, each);
      }
  }

  /** Carries a copy out, wholly or not at all. */
  copy({ address, page, count, access, backed }: PendingCopy): Status {
    const { random, weather } = this.around;
    const target = this.words.subarray(page * WORDS_PER_PAGE, (page + count) * WORDS_PER_PAGE);
    const status = random.chance(weather.copyFailure) ? Status.Failed : Status.Done;
    if (status === Status.Done) {
      if (address === 0) target.fill(0);
      else this.around.readWords(address, target);
    }
    for (let at = page; at < page + count; at++) {
      if (status === Status.Done) clearBit(this.fresh, at);
      this.setBacked(
        at,
        this.granulePages > 1 || backed || status === Status.Done || bit(this.fresh, at),
      );
    }
    if (status === Status.Done && access !== Access.None) this.publish(page, count, access);
    return status;
  }

  /** The copy will never end. */
  abandon({ page, count, backed }: PendingCopy): void {
    if (!backed && this.granulePages === 1)
      for (let at = page; at < page + count; at++) this.setBacked(at, bit(this.fresh, at));
  }

  access(page: number): Access {
    if (!bit(this.readable, page)) return Access.None;
    return bit(this.writable, page) ? Access.Write : Access.Read;
  }

  value(page: number): number {
    const { words } = this.homeOf(page);
    const value = words[page * WORDS_PER_PAGE];
    for (let word = 1; word < WORDS_PER_PAGE; word++) {
      if (words[page * WORDS_PER_PAGE + word] !== value)
        throw new Error(`page ${page} of ${this.description.name} is half copied`);
    }
    return value;
  }

  store(page: number, value: number): void {
    this.homeOf(page).words.fill(value, page * WORDS_PER_PAGE, (page + 1) * WORDS_PER_PAGE);
  }

  /**
   * The manager writes memory of this node itself, as it does for a file or for a device that
   * copies out.
   */
  fill(page: number, count: number): void {
    for (let at = page; at < page + count; at++) {
      if (this.access(at) !== Access.None)
        throw new Error(`page ${at} is filled while it is mapped`);
      this.setBacked(at, true);
      clearBit(this.fresh, at);
    }
    this.giveGranules(page, count);
  }

  /** The process ends; its memory is another matter. */
  die(): void {
    this.dead = true;
    this.threads = [];
    this.readable.fill(0);
    this.writable.fill(0);
  }

  /**
   * Nothing may be begun that needs its content; what is under way may end, since the manager still
   * addresses it.
   */
  lose(): void {
    this.gone = true;
  }

  close(): void {}

  private publish(page: number, count: number, access: Access): void {
    for (let at = page; at < page + count; at++) {
      clearBit(this.slipped, at);
      setBit(this.readable, at);
      if (access === Access.Write) setBit(this.writable, at);
    }
    this.wake(page, count);
  }

  /** Whether the page has memory that has been filled, or is being filled. */
  private hasContent(page: number): boolean {
    return bit(this.backed, page) && !bit(this.fresh, page);
  }

  private setBacked(page: number, backed: boolean): void {
    if (bit(this.backed, page) === backed) return;
    if (backed) setBit(this.backed, page);
    else clearBit(this.backed, page);
    this.backedPages += backed ? 1 : -1;
  }
}

export function granulePagesOf({
  description,
}: {
  readonly description: DeviceDescription;
}): number {
  return (description.granularityBytes ?? REAL_PAGE_BYTES) / REAL_PAGE_BYTES;
}

function bit(mask: Int32Array, page: number): boolean {
  return ((mask[page >>> 5] >>> (page & 31)) & 1) !== 0;
}

function setBit(mask: Int32Array, page: number): void {
  mask[page >>> 5] |= 1 << (page & 31);
}

function clearBit(mask: Int32Array, page: number): void {
  mask[page >>> 5] &= ~(1 << (page & 31));
}

function covers(run: { page: number; count: number }, page: number): boolean {
  return page >= run.page && page < run.page + run.count;
}

function where(address: number): string {
  if (address === 0) return 'zero';
  const node = Math.floor(address / NODE_BYTES) - 1;
  return `node ${node}, page ${(address - (node + 1) * NODE_BYTES) / PAGE_BYTES}`;
}

export function newThread(id: number, device: ModelDevice): Thread {
  return { id, device, state: 'running', page: -1, write: false, memory: undefined };
}
