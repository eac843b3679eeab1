/**
 * Staging arrays: memory of the space that typed arrays of the program's own go over. To make one
 * for each launch costs many times what the copy does, so they are kept for a moment, and used
 * again. One that was made for a device stays there, and this thread copies straight into the
 * device's memory, where that can be.
 */
import { bytesOf, type ElementType } from '../../core/basics/elements.js';
import { PAGE_BYTES } from '../../core/basics/types.js';
import { readMemory, writeMemory } from '../../linux/memory/memory.js';
import { putOwn, takeOwn } from '../arrays/bytes/byte-moves.js';
import type { ArrayInternals, DeviceInternals, SpaceInternals } from '../line/internals.js';
import { OnememError } from '../values/errors.js';

/** What was not used for so long is given back. */
const KEPT_MS = 500;
/** Of the host's memory, what unused ones may take. */
const HOST_SHARE = 1 / 8;
/** Of a device's memory, what one of them may take. */
const DEVICE_SHARE = 1 / 4;
/** The same for all unused ones. */
const KEPT_SHARE = 1 / 2;

/** Memory of the space that bytes of the program's own lie in while operations use them. */
export interface Staged {
  readonly array: ArrayInternals;
  /** It is the program's memory itself: nothing is copied, and nothing is ever out of date. */
  readonly isInPlace: boolean;
  /** Gives it these bytes, from a byte on. */
  put(from: number, source: Uint8Array): void;
  /** Fills `target` with its bytes from a byte on. */
  take(from: number, target: Uint8Array): void;
  /** No operation uses it any more. */
  give(): void;
}

class StagingArray implements Staged {
  readonly isInPlace = false;
  /** The device cannot be reached so: it goes over the host. */
  private overHost: boolean;

  /** @param device where operations use it; null: they say nothing, or use the host's memory */
  constructor(
    readonly array: ArrayInternals,
    readonly device: DeviceInternals | null,
    private readonly pool: StagingPool,
  ) {
    const most = (device?.memory ?? 0) * DEVICE_SHARE;
    // What one process maps of a device's memory another one cannot see.
    this.overHost =
      device?.capabilities.directCopies !== true ||
      array.space.client.hasOwner ||
      array.byteLength > most;
  }

  get bytes(): number {
    return this.array.byteLength;
  }

  put(from: number, source: Uint8Array): void {
    if (this.direct(from, source, true)) return;
    try {
      putOwn(this.array, from, source);
    } catch (error) {
      if (!(error instanceof OnememError) || error.code !== 'DATA_LOST') throw error;
      // What an earlier operation left there has gone with a device, and no operation uses it any more.
      const { array } = this;
      array.space.client.call('discard', array.pagesOf(0, array.length));
      putOwn(array, from, source);
    }
  }

  take(from: number, target: Uint8Array): void {
    if (!this.direct(from, target, false)) takeOwn(this.array, from, target);
  }

  give(): void {
    this.pool.give(this);
  }

  /** False: its device has no room for it just now, or cannot be reached so. */
  private direct(from: number, bytes: Uint8Array, write: boolean): boolean {
    const { array, device } = this;
    if (this.overHost || device === null || bytes.length === 0) return false;
    const { client } = array.space;
    const size = bytesOf(array.type);
    const begin = Math.floor(from / size);
    const pages = array.pagesOf(begin, Math.ceil((from + bytes.length) / size));
    const pin = client.newPin();
    const { memory } = client.call('stage', { ...pages, pin, device: device.number, write });
    if (memory === null) {
      this.overHost = true;
      return false;
    }
    // The pages begin before the bytes, where those begin within a page.
    const address = memory + ((array.offset + from) % PAGE_BYTES);
    try {
      if (write) writeMemory(address, bytes);
      else readMemory(bytes, address);
    } finally {
      client.tell('unpin', { pin });
    }
    return true;
  }
}

/** Staging arrays of one thread and space, of which it keeps those that no operation uses. */
export class StagingPool {
  private readonly idle: StagingArray[] = [];
  private timer: NodeJS.Timeout | null = null;
  private most: number;

  /**
   * @param kept bytes that are kept until `giveBack`, for memory that is registered; null: what was
   * not used for a moment is given back
   */
  constructor(
    private readonly space: SpaceInternals,
    private readonly kept: number | null,
  ) {
    this.most = kept ?? -1;
    const pools = poolsOf(space);
    pools.add(this);
    space.client.spare = () => [...pools].map((pool) => pool.giveBack()).includes(true);
  }

  /** One of at least so many bytes. What it holds is not known. */
  take(bytes: number, type: ElementType, device: DeviceInternals | null): StagingArray {
    const { idle, space } = this;
    // Not when it is given back: the space may close meanwhile.
    if (this.most === -1) this.most = space.hostBytes * HOST_SHARE;
    let best = -1;
    for (const [at, staging] of idle.entries()) {
      const fits = staging.bytes >= bytes && (this.kept !== null || staging.bytes <= 2 * bytes);
      if (!fits || staging.array.type !== type || staging.device !== device) continue;
      if (best === -1 || staging.bytes < idle[best].bytes) best = at;
    }
    if (best !== -1) return idle.splice(best, 1)[0];
    return new StagingArray(space.stagingArray(type, bytes / bytesOf(type)), device, this);
  }

  give(staging: StagingArray): void {
    const { space, idle } = this;
    if (space.isClosed) {
      staging.array.free();
      return;
    }
    idle.push(staging);
    // The oldest go first, and all of them if this one is too large.
    while (this.bytesOf(null) > this.most || this.isTooMuch(staging.device))
      idle.shift()?.array.free();
    if (idle.length === 0 || this.kept !== null) return;
    // It keeps no program from its end.
    this.timer ??= setTimeout(() => this.giveBack(), KEPT_MS).unref();
    this.timer.refresh();
  }

  /** Gives all of it back. False: there was nothing. */
  giveBack(): boolean {
    const had = this.idle.length > 0;
    for (const { array } of this.idle.splice(0)) array.free();
    return had;
  }

  /** Nothing is taken of it any more. What operations use goes when they have ended. */
  end(): void {
    this.most = 0;
    poolsOf(this.space).delete(this);
    this.giveBack();
  }

  private isTooMuch(device: DeviceInternals | null): boolean {
    return device !== null && this.bytesOf(device) > device.memory * KEPT_SHARE;
  }

  /** @param device null: wherever they are */
  private bytesOf(device: DeviceInternals | null): number {
    let sum = 0;
    for (const staging of this.idle)
      if (device === null || staging.device === device) sum += staging.bytes;
    return sum;
  }
}

/** All pools of this thread. */
const pools = new WeakMap<SpaceInternals, Set<StagingPool>>();
/** Those of plain arrays. */
const plain = new WeakMap<SpaceInternals, StagingPool>();

function poolsOf(space: SpaceInternals): Set<StagingPool> {
  const found = pools.get(space) ?? new Set<StagingPool>();
  pools.set(space, found);
  return found;
}

/** Where plain arrays are staged. */
export function plainPool(space: SpaceInternals): StagingPool {
  const pool = plain.get(space) ?? new StagingPool(space, null);
  plain.set(space, pool);
  return pool;
}
