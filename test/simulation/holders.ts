/**
 * What has pages stay where they are for a while: transfers of files, copies, pins, and the way of
 * changed pages to their file.
 */
import { Access, HOST_NODE, NO_NODE, PAGES_PER_BLOCK } from '../../src/core/basics/types.js';
import { isPinned, isProvided, type Memory } from './memories.js';
import type { ModelDevice } from './model-device.js';
import type { World } from './world.js';

interface Hold {
  readonly memory: Memory;
  readonly first: number;
  readonly count: number;
  readonly access: Access;
  /** Where the pages are held: the host, or a device whose memory the manager can address. */
  readonly device: ModelDevice;
}

/** Changed pages on their way to their file. */
interface WriteBack {
  readonly memory: Memory;
  readonly first: number;
  readonly count: number;
  /** They are held; a write is about to be noticed, and is; the file has them. */
  stage: 'held' | 'settling' | 'standing' | 'written';
}

/** Whether the next step is the file's, not the memory manager's. */
export function isMoving({ stage }: WriteBack): boolean {
  return stage !== 'settling';
}

export class Holders {
  readonly holds: Hold[] = [];
  readonly writeBacks: WriteBack[] = [];

  constructor(private readonly world: World) {}

  pin(): void {
    const memory = this.world.usable();
    if (memory === null || memory.frees > 0 || memory.pinned !== null) return;
    const [first, count] = this.world.pages(memory);
    memory.users++;
    const request = this.world.ask((_, failure) => {
      memory.users--;
      if (failure !== null) return;
      if (memory.frees === 0 && memory.pinned === null) {
        memory.pinned = [first, count];
        this.world.manager.pin(first, count, true);
      }
      this.world.manager.release(HOST_NODE, first, count, Access.Read);
    }, this.world.behind.store !== NO_NODE);
    this.world.trace(() => `  request ${request}: pin ${first}+${count}`);
    this.world.manager.bring(request, HOST_NODE, first, count, Access.Read, { hold: true });
  }

  unpin(): void {
    this.unpinMemory(this.world.memories.find(isPinned) as Memory);
  }

  unpinMemory(memory: Memory): void {
    const [first, count] = memory.pinned as [number, number];
    memory.pinned = null;
    this.world.trace(() => `  unpin ${first}+${count}`);
    this.world.manager.pin(first, count, false);
  }

  /** What reading and writing files does: pages come home and stay there for a while. */
  hold(): void {
    const memory = this.world.usable();
    if (memory === null) return;
    let [first, count] = this.world.pages(memory);
    const access =
      memory.range.writable && this.world.random.chance(0.5) ? Access.Write : Access.Read;
    const device = this.world.random.chance(0.3) ? this.nodeToCopyOn() : this.world.host;
    if (device !== this.world.host) {
      // A copy works on a part of at most 256 KiB, within a block, on whatever node has it; it
      // never has two of a device.
      if (this.holds.some((other) => other.device === device)) return;
      count = Math.min(count, 64, PAGES_PER_BLOCK - (first % PAGES_PER_BLOCK));
      first = Math.max(first, memory.range.first);
    }
    this.holdPages({ memory, first, count, access, device });
  }

  /** What fills the host, so that it must send pages on. */
  writeBlock(): void {
    const memory = this.world.usable();
    if (memory === null || !memory.range.writable) return;
    const { first: begin, pages } = memory.range;
    const first =
      begin + this.world.whims.below(Math.ceil(pages / PAGES_PER_BLOCK)) * PAGES_PER_BLOCK;
    const count = Math.min(PAGES_PER_BLOCK, begin + pages - first);
    this.holdPages({ memory, first, count, access: Access.Write, device: this.world.host });
  }

  holdPages(hold: Hold): void {
    const { memory, first, count, access, device } = hold;
    memory.users++;
    const request = this.world.ask(
      (_, failure) => {
        if (failure !== null) {
          memory.users--;
          return;
        }
        this.holds.push(hold);
        this.useHold(hold);
      },
      device !== this.world.host || this.world.behind.store !== NO_NODE,
    );
    this.world.trace(
      () => `  request ${request}: hold ${first}+${count} on ${device.node} with ${access}`,
    );
    this.world.manager.bring(request, device.node, first, count, access, { hold: true });
  }

  private nodeToCopyOn(): ModelDevice {
    for (const device of this.world.models()) {
      if (
        device !== this.world.host &&
        device.node !== NO_NODE &&
        !device.dead &&
        !this.world.processors.leaving.has(device.id)
      )
        return device;
    }
    return this.world.host;
  }

  private useHold({ first, count, access, device }: Hold): void {
    // A device that has died keeps no hold.
    if (this.world.devices[device.id] !== device || device.dead) return;
    for (let page = first; page < first + count; page++) {
      if (this.world.audit.isFreed(page) || this.world.audit.isLost(page)) continue;
      this.world.check(page, device.value(page), 'a file transfer or a copy');
      if (access === Access.Write) this.world.programs.writeOn(device, page);
    }
  }

  /** What the flush of a shared file does with one run of changed pages. */
  writeBack(): void {
    const memory = this.world.usable();
    if (memory === null || !isProvided(memory)) return;
    const [from, pages] = this.world.pages(memory);
    const run = this.world.manager.pages.changedRun(
      from,
      from + pages,
      this.world.random.pick([1, 16, 700]),
    );
    if (run === null) return;
    const { first, count } = run;
    memory.users++;
    const request = this.world.ask((_, failure) => {
      if (failure === null) this.writeBacks.push({ memory, first, count, stage: 'held' });
      else memory.users--;
    }, this.world.behind.store !== NO_NODE);
    this.world.trace(() => `  request ${request}: hold ${first}+${count} to write it back`);
    this.world.manager.bring(request, HOST_NODE, first, count, Access.Read, { hold: true });
  }

  goOnWritingBack(): void {
    const run = this.world.random.pick(this.writeBacks.filter(isMoving));
    const { memory, first, count } = run;
    if (run.stage === 'held') {
      run.stage = 'settling';
      const request = this.world.ask(() => {
        run.stage = 'standing';
      });
      this.world.trace(() => `  request ${request}: clean ${first}+${count}`);
      this.world.manager.clean(request, first, count);
    } else if (run.stage === 'standing') {
      run.stage = 'written';
      for (let page = first; page < first + count; page++)
        this.world.sources.file[page] = this.world.host.value(page);
    } else {
      const written = !this.world.random.chance(0.2);
      this.world.trace(
        () => `  ${first}+${count} ${written ? 'has been' : 'could not be'} written back`,
      );
      this.writeBacks.splice(this.writeBacks.indexOf(run), 1);
      memory.users--;
      this.world.manager.cleaned(first, count, written);
      this.world.manager.release(HOST_NODE, first, count, Access.Read);
    }
  }

  letGo(): void {
    const [hold] = this.holds.splice(this.world.random.below(this.holds.length), 1);
    this.useHold(hold);
    hold.memory.users--;
    this.world.trace(() => `  release ${hold.first}+${hold.count}`);
    if (this.world.devices[hold.device.id] === hold.device) {
      this.world.manager.release(hold.device.node, hold.first, hold.count, hold.access);
    }
  }
}
