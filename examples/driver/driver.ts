/**
 * A device that keeps its memory compressed: where pages are alike, or empty, it takes far less of
 * the machine than it seems to have. It has no page faults, so that the manager hands it all pages
 * of a launch before it begins.
 *
 * It is a whole driver. Its own is how frames are kept; the page table, the copies and the calls of
 * kernels are parts of the library.
 */
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import {
  Access,
  CopyEngine,
  type CreateDriver,
  type FrameStore,
  LaunchQueue,
  PAGE_BYTES,
  PageTable,
  Status,
} from 'onemem/driver';

/** Quick rather than small: a thread that waits for a page waits for this. */
const LEVEL = { level: 1 };
const ZEROS = Buffer.alloc(PAGE_BYTES);

/**
 * Pages that are packed or unpacked in a row: about half a millisecond, in which no fault is
 * served.
 */
const PAGES_AT_ONCE = 8;

class CompressedFrames implements FrameStore {
  /** Frames that hold anything but zeros. */
  private readonly packed = new Map<number, Buffer>();

  read(frame: number): Uint8Array {
    const packed = this.packed.get(frame);
    return packed === undefined ? new Uint8Array(PAGE_BYTES) : inflateRawSync(packed);
  }

  write(frame: number, bytes: Uint8Array): void {
    if (ZEROS.equals(bytes)) this.packed.delete(frame);
    else this.packed.set(frame, deflateRawSync(bytes, LEVEL));
  }

  clear(frame: number): void {
    this.packed.delete(frame);
  }
}

export const create: CreateDriver = (context) => {
  const { name, budgetPages, events } = context;
  const table = new PageTable();
  const frames = new CompressedFrames();
  const parts = { ...context, table, frames, pagesAtOnce: PAGES_AT_ONCE };
  const copies = new CopyEngine(parts);
  const launches = new LaunchQueue(parts);
  const none = { faults: false, addressable: false, memorySurvives: false, units: 0 };
  return {
    kind: 'compressed',
    description: { name, budgetPages, frames: 'pooled', ...none },
    // The manager cannot address this memory: it asks for copies.
    memory: 0,
    map: (page, count, access, _previous, frame) => table.map(page, count, frame, access),
    revoke(_token, page, count, to) {
      table.restrict(page, count, to);
      return Status.Done;
    },
    release(_token, page, count, frame) {
      table.restrict(page, count, Access.None);
      for (let at = frame; at < frame + count; at++) frames.clear(at);
      return Status.Done;
    },
    // No thread of the device waits: its accesses do not fault.
    wake: () => {},
    transferIn: (order) => copies.transferIn(order),
    transferOut: (order) => copies.transferOut(order),
    launch: (launch) => launches.add(launch),
    // Copies come first: a launch that was asked for has its pages already.
    progress: () => copies.progress() || launches.progress(),
    lose(reason) {
      copies.lose();
      launches.lose(reason);
      events.died(reason);
    },
    close: () => launches.close(),
  };
};
