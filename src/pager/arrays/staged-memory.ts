/**
 * Memory of devices that threads of the program read and write themselves, to hand over typed
 * arrays of their own: the pages of a staging array are held on the device, and a thread copies to
 * or from a mapping of them that is made once. The mapping is no part of the device: one that dies
 * while a thread copies leaves it as it is.
 */
import { Access, PAGE_BYTES } from '../../core/basics/types.js';
import type { KnownNode } from '../../core/memory-manager.js';
import {
  MADV_DONTFORK,
  MAP_NORESERVE,
  MAP_SHARED,
  PROT_READ,
  PROT_WRITE,
} from '../../linux/base/constants.js';
import { mmap, munmap, tryMadvise } from '../../linux/memory/memory.js';
import type { Part } from '../core/part.js';
import type { Answer } from '../protocol/messages.js';
import type { Requests } from '../protocol/requests.js';
import type { DeviceInfo } from '../protocol/space.js';
import type { SpaceContext } from './table/context.js';

/** A device whose memory can be mapped, and the file that is its memory. */
export interface StagingDevice {
  readonly info: Pick<DeviceInfo, 'id' | 'node' | 'number'>;
  readonly file: number;
}

interface Mapping {
  readonly device: number;
  readonly address: number;
  readonly bytes: number;
  readonly first: number;
  holds: number;
  /** The array has gone: it goes with the last hold. */
  isOver: boolean;
}

interface Hold {
  readonly mapping: Mapping;
  readonly first: number;
  readonly count: number;
  readonly access: Access;
  /** The node itself, since its number may be another one's when the hold ends. */
  readonly node: number;
  readonly owner: KnownNode | undefined;
  held: boolean;
  /** The thread does not want it any more. */
  dropped: boolean;
}

type Staged = Requests['stage']['out'];

export class StagedMemory implements Part {
  private readonly mappings = new Map<number, Mapping>();
  /** By the numbers that clients give them, as pins have. */
  private readonly holds = new Map<number, Hold>();

  constructor(private readonly context: SpaceContext) {}

  /** Answers where the pages are when they are there; null: they cannot be. */
  hold(
    { pin, range: id, firstPage: first, count, write }: Requests['stage']['in'],
    { info, file }: StagingDevice,
    answer: Answer<Staged>,
  ): void {
    const mapping = this.mappingOf(id, info.number, file);
    if (mapping === null) {
      answer({ memory: null }, null);
      return;
    }
    const { manager, requests } = this.context;
    const { node } = info;
    const access = write ? Access.Write : Access.Read;
    const owner = manager.node(node);
    const hold = { mapping, first, count, access, node, owner, held: false, dropped: false };
    mapping.holds++;
    this.holds.set(pin, hold);
    requests.start(
      (request) => manager.acquire(request, info.id, first, count, access, { hold: true }),
      (_pages, failure) => {
        if (failure !== null) {
          this.holds.delete(pin);
          this.letGo(mapping);
          answer({ memory: null }, null);
          return;
        }
        hold.held = true;
        if (hold.dropped) this.end(pin);
        answer({ memory: mapping.address + (first - mapping.first) * PAGE_BYTES }, null);
      },
    );
  }

  /** The thread is through. Does nothing for what is no hold. */
  end(pin: number): void {
    const hold = this.holds.get(pin);
    if (hold === undefined) return;
    hold.dropped = true;
    // Its pages are on their way: when they have come, they are let go.
    if (!hold.held) return;
    this.holds.delete(pin);
    const { manager } = this.context;
    const { node, owner, first, count, access, mapping } = hold;
    if (manager.node(node) === owner) manager.release(node, first, count, access);
    this.letGo(mapping);
  }

  /** All of an array has been freed. */
  freed(range: number): void {
    const mapping = this.mappings.get(range);
    if (mapping !== undefined) this.drop(range, mapping);
  }

  close(): void {
    // A thread that copies just now keeps its mapping, which goes with the process.
    for (const [range, mapping] of this.mappings) this.drop(range, mapping);
  }

  /** A mapping of all of the array's pages on the device; null: there is no room for one. */
  private mappingOf(range: number, device: number, file: number): Mapping | null {
    const known = this.mappings.get(range);
    if (known?.device === device) return known;
    if (known !== undefined) this.drop(range, known);
    const { first, pages } = this.context.table.get(range)?.range ?? { first: 0, pages: 0 };
    const bytes = pages * PAGE_BYTES;
    const protection = PROT_READ | PROT_WRITE;
    const flags = MAP_SHARED | MAP_NORESERVE;
    let address: number;
    try {
      address = mmap(bytes, { protection, flags, fd: file, offset: first * PAGE_BYTES });
    } catch {
      return null;
    }
    tryMadvise(address, bytes, MADV_DONTFORK);
    const mapping = { device, address, bytes, first, holds: 0, isOver: false };
    this.mappings.set(range, mapping);
    return mapping;
  }

  private drop(range: number, mapping: Mapping): void {
    this.mappings.delete(range);
    mapping.isOver = true;
    if (mapping.holds === 0) munmap(mapping.address, mapping.bytes);
  }

  private letGo(mapping: Mapping): void {
    mapping.holds--;
    if (mapping.isOver && mapping.holds === 0) munmap(mapping.address, mapping.bytes);
  }
}
