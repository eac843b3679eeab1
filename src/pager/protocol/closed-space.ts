/** Closed spaces of which views are left, in words that go from one thread to another. */
import { watchClosed } from '../../drivers/host-linux/closed-space.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { Control } from './control.js';

/** An array as it was when its space was closed. */
export interface ClosedArray {
  readonly name: string;
  readonly firstPage: number;
  readonly pages: number;
  readonly bytes: number;
  readonly elementBytes: number;
}

export interface ClosedSpace {
  readonly base: number;
  readonly bytes: number;
  /**
   * The descriptor that its faults come by; the opener of the space closes it, when no thread
   * answers by it any more.
   */
  readonly faults: number;
  readonly control: SharedArrayBuffer;
  readonly arrays: readonly ClosedArray[];
}

/** Whether no view of it is left, and its addresses have been given back. */
export function isUnmapped(control: SharedArrayBuffer): boolean {
  return Atomics.load(new Int32Array(control), Control.Views) < 0;
}

/**
 * Late uses are not answered any more: from now on the addresses can only be read. The descriptors
 * stay open.
 */
export function forsake(spaces: readonly ClosedSpace[]): void {
  for (const { base, bytes, faults, control } of spaces) {
    if (isUnmapped(control)) continue;
    watchClosed(base, bytes, null);
    Userfaultfd.fromFd(faults).wake(base, bytes);
  }
}
