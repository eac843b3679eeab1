/** Waiting for descriptors without an event loop. */
import { EINTR, POLLIN } from '../base/constants.js';
import { SystemCallError } from '../base/errors.js';
import { errno, libc } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';

const ENTRY_BYTES = 8;

/** A fixed number of slots, each a descriptor or empty. Waiting allocates nothing. */
export class Poller {
  private readonly area: NativeBuffer;
  private readonly timeoutOffset: number;
  /** Slots from here on are empty, and the kernel need not look at them. */
  private used = 0;

  constructor(readonly slots: number) {
    this.timeoutOffset = slots * ENTRY_BYTES;
    this.area = new NativeBuffer(this.timeoutOffset + 16);
    for (let slot = 0; slot < slots; slot++) this.area.view.setInt32(slot * ENTRY_BYTES, -1, true);
  }

  set(slot: number, fd: number, events: number = POLLIN): void {
    this.checkSlot(slot);
    const { view } = this.area;
    view.setInt32(slot * ENTRY_BYTES, fd, true);
    view.setInt16(slot * ENTRY_BYTES + 4, events, true);
    view.setInt16(slot * ENTRY_BYTES + 6, 0, true);
    if (slot >= this.used) this.used = slot + 1;
  }

  clear(slot: number): void {
    this.set(slot, -1, 0);
  }

  /**
   * Waits until a descriptor is ready; returns how many are. 0 after the timeout, or after a
   * signal. A negative timeout waits for ever, 0 does not wait, and fractions of a millisecond
   * count.
   */
  wait(timeoutMs: number): number {
    const { area, used } = this;
    let result: number;
    if (timeoutMs <= 0 || Number.isInteger(timeoutMs)) {
      result = libc.poll(area.address, used, timeoutMs < 0 ? -1 : timeoutMs);
    } else {
      const seconds = Math.floor(timeoutMs / 1000);
      area.setU64(this.timeoutOffset, seconds);
      area.setU64(this.timeoutOffset + 8, Math.floor((timeoutMs - seconds * 1000) * 1e6));
      result = libc.ppoll(area.address, used, area.address + this.timeoutOffset, 0);
    }
    if (result >= 0) return result;
    const number = errno();
    if (number !== EINTR) throw new SystemCallError('poll', { slots: used, timeoutMs }, number);
    // Nothing was looked at, so that what an earlier call left behind must not be taken for news.
    for (let slot = 0; slot < used; slot++) area.view.setInt16(slot * ENTRY_BYTES + 6, 0, true);
    return 0;
  }

  /** The POLL* bits of a slot after `wait`; 0 when it is not ready. */
  readyAt(slot: number): number {
    return this.area.view.getInt16(slot * ENTRY_BYTES + 6, true);
  }

  private checkSlot(slot: number): void {
    if (!(Number.isInteger(slot) && slot >= 0 && slot < this.slots)) {
      throw Object.assign(new RangeError(`slot ${slot} is not one of the poller's ${this.slots}`), {
        code: 'POLL_SLOT',
      });
    }
  }
}
