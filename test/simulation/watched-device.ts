/**
 * The simulated device as it is, with a note of when its page table may have changed, since reading
 * all of it takes long; and with readers that are late: something of the device may still read
 * frames that were released, until the device says that nothing does.
 */

import { Access, Status } from '../../src/core/basics/types.js';
import type { TransferOrder } from '../../src/drivers/driver.js';
import { SimulatedDevice } from '../../src/drivers/simulated/simulated-device.js';
import { PAGE_BYTES, PAGES } from './model-device.js';

/** What a processor can really do now, a bit for each page. */
export interface Rights {
  readonly readable: Int32Array;
  readonly writable: Int32Array;
}

export class WatchedDevice extends SimulatedDevice {
  /** Where the manager reads it; 0: it cannot. */
  override memory = 0;
  private readonly rights: Rights = {
    readable: new Int32Array(PAGES / 32),
    writable: new Int32Array(PAGES / 32),
  };
  /** Its memory, as the manager reads it. */
  readonly words = new Uint32Array(this.frames.bytes.buffer);
  private changed = false;
  /** Releases whose readers have not ended, with what these began to read. */
  readonly late: {
    readonly token: number;
    readonly frame: number;
    readonly content: Uint8Array;
  }[] = [];
  /** Copies out of it that will not bring what came in; and whether the next is one of them. */
  readonly spoiled: { readonly token: number; readonly count: number }[] = [];
  spoils: () => boolean = () => false;
  /** Copies out of it that are under way; the world takes them away. */
  readonly reading = new Set<number>();
  /**
   * Frames that the core may still ask for, though the device has said that it has forgotten them:
   * it says so again.
   */
  private readonly forgotten = new Set<number>();
  /** It does not answer for the time being. */
  away = false;
  /** Whether readers are late now. */
  isLate: () => boolean = () => false;

  override map(...args: Parameters<SimulatedDevice['map']>): void {
    this.changed = true;
    super.map(...args);
  }

  override revoke(...args: Parameters<SimulatedDevice['revoke']>): Status {
    this.changed = true;
    return super.revoke(...args);
  }

  override readonly transferIn = (order: TransferOrder): Status => {
    if (this.away) return Status.Failed;
    const { count, frame } = order;
    for (let each = frame; each < frame + count; each++) this.forgotten.delete(each);
    return this.copies.transferIn(order);
  };

  /**
   * The content of a frame is gone. @param isAwaited whether the core may be about to ask for it
   */
  forget(frame: number, isAwaited: boolean): void {
    this.frames.span(frame, 1).fill(0xdb);
    if (isAwaited) this.forgotten.add(frame);
  }

  override release(token: number, page: number, count: number, frame = 0): Status {
    this.changed = true;
    super.release(token, page, count);
    if (!this.isLate()) return Status.Done;
    this.late.push({ token, frame, content: this.framesAt(frame, count).slice() });
    return Status.Pending;
  }

  override readonly transferOut = (order: TransferOrder): Status => {
    if (this.away) return Status.Unreachable;
    const { token, frame, count } = order;
    let isForgotten = false;
    for (let each = frame; each < frame + count; each++) isForgotten ||= this.forgotten.has(each);
    if (this.copies.lost || !(isForgotten || this.spoils())) {
      const status = this.copies.transferOut(order);
      if (status === Status.Pending) this.reading.add(token);
      return status;
    }
    this.spoiled.push({ token, count });
    return Status.Pending;
  };

  /**
   * The last reader of a release has ended: it must have found what was there when it began.
   * Returns the release's token.
   */
  endLate(which: number): number {
    const [{ token, frame, content }] = this.late.splice(which, 1);
    const now = this.framesAt(frame, content.length / PAGE_BYTES);
    const at = content.findIndex((byte, index) => byte !== now[index]);
    if (at !== -1)
      throw new Error(
        `${this.description.name}: frame ${frame + Math.floor(at / PAGE_BYTES)} got new content while it was still read`,
      );
    return token;
  }

  private framesAt(frame: number, count: number): Uint8Array {
    return this.frames.span(frame, count);
  }

  override progress(): boolean {
    const moved = super.progress();
    if (moved) this.changed = true;
    return moved;
  }

  look(): Rights {
    const { readable, writable } = this.rights;
    if (!this.changed) return this.rights;
    this.changed = false;
    readable.fill(0);
    writable.fill(0);
    for (let word = 0; word < readable.length; word++) {
      let read = 0;
      let write = 0;
      for (let bit = 0; bit < 32; bit++) {
        const access = this.table.access(word * 32 + bit);
        if (access !== Access.None) read |= 1 << bit;
        if (access === Access.Write) write |= 1 << bit;
      }
      readable[word] = read;
      writable[word] = write;
    }
    return this.rights;
  }
}
