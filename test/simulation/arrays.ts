/**
 * What programs do to arrays by calls: making, cloning, moving, emptying, protecting and freeing
 * them, and having pages brought.
 */

import {
  Access,
  type Advice,
  type DenyReason,
  HOST,
  HOST_NODE,
  PAGES_PER_BLOCK,
  type ProcessorId,
} from '../../src/core/basics/types.js';
import { passes } from '../../src/core/table/absence.js';
import type { Range } from '../../src/core/table/range.js';
import { isProvided, isRecyclable, type Memory, newMemory } from './memories.js';
import { granulePagesOf, providedValue } from './model-device.js';
import { WatchedDevice } from './watched-device.js';
import type { World } from './world.js';

export class Arrays {
  /** Requests under way that have pages come from their provider again. */
  drops = 0;
  /** Arrays that are being freed, as far as that goes at once. */
  tries = 0;

  constructor(private readonly world: World) {}

  allocate(): void {
    const { random } = this.world;
    const sizes =
      this.world.overflows || this.world.plots.returns || this.world.plots.starves
        ? [300, 512, 700]
        : this.world.breeds
          ? [1, 7, 40, 100]
          : null;
    let pages = this.world.walks
      ? 2048
      : random.pick(
          sizes ??
            (this.world.heavy
              ? [300, 512, 700, 1024, 1024, 1536, 1536]
              : [1, 7, 40, 300, 512, 700]),
        );
    const used = this.world.usedPages();
    // Unless the schedule is about want of memory, the host can hold everything, so that want must
    // not be heard of.
    if (!this.world.tight) pages = Math.min(pages, this.world.hostPages - used);
    if (pages <= 0) return;
    const provided = random.chance(this.world.spoils ? 0.7 : 0.3) || this.world.overflows;
    const writable = !provided || random.chance(0.8);
    // Some are to grow later; with little memory they are promised nothing.
    const reserved = random.chance(0.3) ? pages + random.between(1, 600) : pages;
    const takesBack =
      provided &&
      writable &&
      (this.world.overflows || (this.world.returns && this.world.choices.chance(0.5)));
    const range = this.world.manager.allocate(
      pages,
      { name: 'a', provided, writable, takesBack },
      reserved,
    );
    if (range === null) return;
    if (random.chance(0.4)) this.world.manager.watch(range, 1);
    this.world.trace(
      () =>
        `  range ${range.first}+${pages}${provided ? ' provided' : ''}${writable ? '' : ' read-only'}`,
    );
    for (let page = range.first; page < range.first + pages; page++) {
      this.world.sources.file[page] = providedValue(page);
      this.world.shadow[page] = provided ? this.world.sources.file[page] : 0;
    }
    this.world.begin(range, writable);
    this.world.memories.push(newMemory(range, null));
    if (this.world.plots.streams && this.world.step % 2 === 0)
      this.world.manager.advise(range, 0, pages, { pattern: 'sequential' });
    if (this.world.plots.returns)
      this.world.manager.advise(range, 0, pages, { accessedBy: this.world.processors.living() });
  }

  free(): void {
    const memory = this.world.random.pick(this.world.memories);
    if (memory.exclusive || memory.pinned !== null) return;
    if (this.world.random.chance(0.4)) this.giveBack(memory);
    else this.freePages(memory, ...this.world.pages(memory));
  }

  giveBack(memory: Memory): void {
    this.freePages(memory, memory.range.first, memory.range.pages);
  }

  private freePages(memory: Memory, first: number, count: number): void {
    memory.frees++;
    memory.freesLeft++;
    for (let page = first; page < first + count; page++) this.world.fuzzy[page]++;
    this.world.trace(() => `  free ${first}+${count}`);
    this.tries++;
    this.world.kept.free(
      memory,
      first,
      count,
      () => this.tries--,
      () => {
        for (let page = first; page < first + count; page++) {
          this.world.fuzzy[page]--;
          this.world.freed[page] = 1;
          this.world.shadow[page] = 0;
          this.world.announcements.checkFreed(page);
        }
        memory.freesLeft--;
      },
    );
  }

  /**
   * Freed arrays whose addresses may be used again: none has a clone that would have its content
   * from there.
   */
  mayRecycle(): boolean {
    return this.recyclable() !== undefined;
  }

  recycle(): void {
    const memory = this.recyclable();
    if (memory === undefined) throw new Error('no array may be recycled');
    const { range } = memory;
    this.world.trace(() => `  recycle ${range.first}+${range.pages}`);
    this.world.clones.remove(range);
    if (this.world.manager.recycle(range))
      this.world.memories.splice(this.world.memories.indexOf(memory), 1);
  }

  zero(): void {
    this.empty(this.world.random.pick(this.world.memories));
  }

  /** Has an array lose its content, in one way or another. */
  forget(memory: Memory): void {
    if (memory.exclusive || memory.pinned !== null || memory.users > 0) return;
    const way = this.world.random.below(4);
    if (way < 2) this.freePages(memory, ...this.world.pages(memory));
    else if (way === 2 && isProvided(memory)) this.dropFrom(memory);
    else this.empty(memory);
  }

  private empty(memory: Memory): void {
    if (memory.exclusive || memory.users > 0 || memory.frees > 0) return;
    const [first, count] = this.world.pages(memory);
    if (!this.mayWriteAll(first, count)) return;
    memory.exclusive = true;
    for (let page = first; page < first + count; page++) this.world.fuzzy[page]++;
    const asked = this.world.step;
    const request = this.world.ask((_, failure) => {
      memory.exclusive = false;
      this.mayBeKept(failure);
      this.emptied(first, count, asked, failure);
    });
    this.world.trace(() => `  request ${request}: zero ${first}+${count}`);
    this.world.manager.zero(request, first, count);
  }

  /** @param failure why some pages could not be emptied, which are as they were; null: all were */
  emptied(first: number, count: number, asked: number, failure: DenyReason | null = null): void {
    for (let page = first; page < first + count; page++) {
      if (failure !== null && !this.world.manager.pages.isZero(page)) this.world.fuzzy[page]--;
      else this.forgotten(page, 0, asked);
    }
  }

  /** Since the event `asked` the page has lost its content, and gives `value`. */
  private forgotten(page: number, value: number, asked: number): void {
    // A launch that failed may have emptied it before.
    if (this.world.perhapsEmpty[page] === 0)
      this.world.announcements.checkForgotten(page, this.world.shadow[page], value, asked);
    this.world.fuzzy[page]--;
    this.world.perhapsEmpty[page] = 0;
    this.world.shadow[page] = value;
    this.world.healed[page] = this.world.step;
  }

  advise(): void {
    const { range } = this.world.random.pick(this.world.memories);
    const { random } = this.world;
    const first = PAGES_PER_BLOCK * random.below(Math.ceil(range.pages / PAGES_PER_BLOCK));
    const end = Math.max(
      first + 1,
      Math.min(range.pages, first + PAGES_PER_BLOCK * random.between(1, 3)),
    );
    const change = this.world.perils
      ? { accessedBy: this.world.processors.living() }
      : random.pick<Partial<Advice>>([
          { readMostly: random.chance(0.5) },
          { preferred: random.between(-1, 2) },
          { accessedBy: random.pick([0, 2, 6, 6]) },
          { accessedBy: random.pick([0, 2, 6, 6]) },
          { pattern: random.pick(['normal', 'sequential', 'random'] as const) },
        ]);
    this.world.trace(
      () => `  advise ${range.first + first} to ${range.first + end}: ${JSON.stringify(change)}`,
    );
    this.world.manager.advise(range, first, end, change);
  }

  mayWriteAll(first: number, count: number): boolean {
    for (let page = first; page < first + count; page++)
      if (this.world.rights[page] < Access.Write || this.world.changing[page] > 0) return false;
    return true;
  }

  protect(): void {
    const memory = this.world.random.pick(this.world.memories);
    if (memory.exclusive) return;
    const [first, count] = this.world.pages(memory);
    const most = memory.range.writable ? Access.Write : Access.Read;
    const access = Math.min(
      most,
      this.world.random.pick([Access.None, Access.Read, Access.Write, Access.Write]),
    ) as Access;
    for (let page = first; page < first + count; page++) {
      // Requests of a block are carried out in their order, but those of several may overlap in
      // part.
      if (this.world.changing[page] > 0) return;
    }
    for (let page = first; page < first + count; page++) this.world.changing[page]++;
    const request = this.world.ask((_, failure) => {
      if (failure !== null) throw new Error(`protection failed: ${failure}`);
      for (let page = first; page < first + count; page++) {
        this.world.changing[page]--;
        this.world.rights[page] = access;
      }
    });
    this.world.trace(() => `  request ${request}: protect ${first}+${count} to ${access}`);
    this.world.manager.protect(request, first, count, access);
  }

  clone(): void {
    const memory = this.world.usable();
    if (memory === null || memory.users > 0 || memory.frees > 0) return;
    const { range } = memory;
    const used = this.world.usedPages();
    if (!this.world.tight && range.pages + used > this.world.hostPages) return;
    for (let page = range.first; page < range.first + range.pages; page++) {
      if (
        this.world.rights[page] === Access.None ||
        this.world.changing[page] > 0 ||
        this.world.fuzzy[page] > 0
      )
        return;
    }
    const made = this.world.manager.allocate(range.pages, {
      name: 'clone',
      provided: true,
      writable: true,
      derived: true,
    });
    if (made === null) return;
    this.world.trace(
      () => `  range ${made.first}+${made.pages} is a clone of ${range.first}+${range.pages}`,
    );
    this.world.begin(made, true);
    memory.exclusive = true;
    this.world.parents.set(made, range);
    this.world.clones.add(range, made, (failure) => {
      if (failure !== null) throw new Error(`cloning failed: ${failure}`);
      memory.exclusive = false;
      this.inherit(memory, made);
    });
  }

  private inherit(memory: Memory, made: Range): void {
    const { first } = memory.range;
    for (let at = 0; at < memory.range.pages; at++) {
      this.world.shadow[made.first + at] = this.world.shadow[first + at];
      this.world.perhapsEmpty[made.first + at] = this.world.perhapsEmpty[first + at];
    }
    this.world.shadow.fill(0, made.first + memory.range.pages, made.first + made.pages);
    this.world.memories.push(newMemory(made, memory));
  }

  /**
   * What a resize does that has no addresses left: the new place is a clone of the old one, which
   * is given back.
   */
  move(): void {
    const memory = this.world.usable();
    if (memory === null || memory.users > 0 || memory.frees > 0 || memory.pinned !== null) return;
    const { range } = memory;
    const pages = range.pages + this.world.random.between(0, 20);
    const used = this.world.usedPages();
    if (!this.world.tight && pages + used > this.world.hostPages) return;
    for (let page = range.first; page < range.first + range.pages; page++)
      if (
        this.world.rights[page] === Access.None ||
        this.world.changing[page] + this.world.fuzzy[page] > 0
      )
        return;
    const made = this.world.manager.allocate(pages, {
      name: 'moved',
      provided: true,
      writable: true,
      derived: true,
    });
    if (made === null) return;
    this.world.trace(() => `  ${range.first}+${range.pages} moves to ${made.first}+${pages}`);
    this.world.begin(made, true);
    this.world.manager.blank(made.first + range.pages, pages - range.pages);
    memory.exclusive = true;
    this.world.parents.set(made, range);
    this.world.clones.add(range, made, () => {
      memory.exclusive = false;
      this.inherit(memory, made);
      this.freePages(memory, range.first, range.pages);
    });
  }

  /**
   * Makes an array longer: by addresses that it has reserved, or by what it has given back at its
   * end.
   */
  grow(): void {
    const memory = this.world.random.pick(this.world.memories);
    const { range } = memory;
    if (
      memory.exclusive ||
      memory.users > 0 ||
      memory.freesLeft > 0 ||
      memory.source !== null ||
      range.provided
    )
      return;
    if (this.world.memories.some((each) => each.source === memory)) return;
    let from = range.pages;
    while (from > 0 && this.world.freed[range.first + from - 1] === 1) from--;
    for (let page = range.first + from; page < range.first + range.pages; page++)
      if (this.world.changing[page] > 0) return;
    let pages = this.world.random.between(from, range.reserved);
    const used = this.world.usedPages();
    if (!this.world.tight) pages = Math.min(pages, range.pages + this.world.hostPages - used);
    if (pages <= from) return;
    this.world.trace(() => `  ${range.first}+${range.pages} grows from ${from} to ${pages} pages`);
    this.world.manager.grow(range, from, pages);
    const [first, end] = [range.first + from, range.first + pages];
    this.world.shadow.fill(0, first, end);
    this.world.freed.fill(0, first, end);
    this.world.announcements.begin(first, end);
    this.world.perhapsEmpty.fill(0, first, end);
    this.world.rights.fill(range.writable ? Access.Write : Access.Read, first, end);
    if (
      this.world.freed.indexOf(1, range.first) >= range.first + range.pages ||
      this.world.freed.indexOf(1, range.first) === -1
    )
      memory.frees = 0;
    memory.exclusive = true;
    const request = this.world.ask(() => {
      memory.exclusive = false;
    });
    this.world.manager.unmapGranules(request, first, end - first);
  }

  prefetch(): void {
    const memory = this.world.usable();
    if (memory === null) return;
    const ids = [...this.world.devices.keys()].filter((id) => this.world.devices[id] !== undefined);
    const processor = this.world.random.pick(ids);
    const [first, count] = this.world.pages(memory);
    const access = this.world.random.chance(this.world.heavy ? 0.7 : 0.3)
      ? Access.Write
      : Access.Read;
    this.bring(first, count, processor, access);
  }

  /** Pages that a device has alone, and that were written there. */
  take(): void {
    const memory = this.world.usable();
    if (memory?.range.writable !== true) return;
    const [first, count] = this.world.pages(memory);
    this.bring(first, count, this.world.processors.anyDevice(), Access.Write);
  }

  /** As much as its threads, and those of a neighbour, need at once at least. */
  resizeHost(): void {
    const { budgetPages } = this.world.host.description;
    const pages = this.world.choices.between(
      Math.min(5 * PAGES_PER_BLOCK, budgetPages),
      budgetPages,
    );
    const left = this.world.manager.setBudget(HOST_NODE, pages);
    this.world.trace(() => `  the host is to have ${pages} pages, and has ${left} more`);
  }

  /** A part of an array comes to the host to be written. */
  fillHost(): void {
    const memory = this.world.usable();
    if (memory?.range.writable !== true) return;
    const { range } = memory;
    const [first, count] = this.world.plots.starves
      ? [range.first, range.pages]
      : this.world.pages(memory);
    this.bring(first, count, HOST, Access.Write);
  }

  /** A page of what a device has that leaves, asked for on the host. */
  need(): void {
    const memory = this.world.usable();
    if (memory === null) return;
    const [first] = this.world.pages(memory);
    this.bring(first, 1, HOST, Access.Read);
  }

  /** With the rest of the granules of a processor that has granules, as far as the range goes. */
  private around(first: number, end: number, processor: ProcessorId): [first: number, end: number] {
    const { devices, manager } = this.world;
    const device = devices[processor];
    const range = manager.state.va.rangeOfPage(first);
    if (device === undefined || range === undefined) return [first, end];
    const granule = Math.min(granulePagesOf(device), PAGES_PER_BLOCK);
    return [
      Math.max(range.first, first - (first % granule)),
      Math.min(range.first + range.pages, Math.ceil(end / granule) * granule),
    ];
  }

  bring(first: number, count: number, processor: ProcessorId, access: Access): void {
    const end = first + count;
    const lost = this.world.manager.pages.firstLost(first, end);
    const known = lost !== -1 && this.world.audit.isLost(lost);
    const asked = this.world.step;
    const around = this.around(first, end, processor);
    // A block may be larger than what a device without faults has at all.
    const { guards } = this.world;
    const ended = processor === HOST ? guards.bring(first, count, access) : () => undefined;
    const request = this.world.ask(
      (_, failure) => {
        ended();
        if (failure === 'LOST') this.world.reasons.ofLostRequest(...around);
        // Lost before and after, and not overwritten in between.
        if (
          failure === null &&
          known &&
          this.world.audit.isLost(lost) &&
          this.world.healed[lost] < asked
        )
          throw new Error(
            `page ${lost} is lost, and whoever asked for it was told that it has come`,
          );
      },
      this.world.devices[processor] instanceof WatchedDevice,
    );
    this.world.trace(
      () => `  request ${request}: prefetch ${first}+${count} to ${processor} with ${access}`,
    );
    const exclusive = access === Access.Write && this.world.whims.chance(0.3);
    // As of what the next launch of a device without faults uses.
    const early = request % 4 === 0 && this.world.devices[processor] instanceof WatchedDevice;
    this.world.manager.acquire(request, processor, first, count, access, { exclusive, early });
  }

  /**
   * Pages come from their file again: unchanged ones at any time, all of them while the array is
   * not in use.
   */
  drop(): void {
    const memory = this.world.usable();
    if (memory !== null && isProvided(memory)) this.dropFrom(memory);
  }

  private dropFrom(memory: Memory): void {
    const [first, count] = this.world.pages(memory);
    const all = memory.users === 0 && memory.frees === 0 && this.world.random.chance(0.4);
    if (all) {
      memory.exclusive = true;
      for (let page = first; page < first + count; page++) this.world.fuzzy[page]++;
    }
    this.drops++;
    const asked = this.world.step;
    const request = this.world.ask((_, failure) => {
      this.drops--;
      this.mayBeKept(failure);
      if (!all) return;
      memory.exclusive = false;
      for (let page = first; page < first + count; page++) {
        if (failure !== null && !this.world.manager.pages.isAbsent(page)) this.world.fuzzy[page]--;
        else this.forgotten(page, this.world.sources.file[page], asked);
      }
    });
    this.world.trace(
      () => `  request ${request}: drop ${first}+${count}${all ? ' with what was changed' : ''}`,
    );
    this.world.manager.drop(request, first, count, all);
  }

  /** To forget content fails where clones need it that could not be given it just now. */
  private mayBeKept(failure: DenyReason | null): void {
    if (failure === null) return;
    if (!passes(failure))
      throw new Error(`pages are kept for clones, which could not have them for good: ${failure}`);
    if (this.world.parents.size === 0)
      throw new Error(`pages are kept for clones, and there never was one: ${failure}`);
  }

  private recyclable(): Memory | undefined {
    const { memories } = this.world;
    return memories.find(
      (memory) => isRecyclable(memory) && !memories.some(({ source }) => source === memory),
    );
  }
}
