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
  /** The descriptor of its faults; the opener closes it when no thread answers any more. */
  readonly faults: number;
  readonly control: SharedArrayBuffer;
  readonly arrays: readonly ClosedArray[];
}

/** Whether no view of it is left, and its addresses have been given back. */
export function isUnmapped(control: SharedArrayBuffer): boolean {
  return Atomics.load(new Int32Array(control), Control.Views) < 0;
}

/** Late uses are not answered any more: the addresses are read-only. Descriptors stay. */
export function forsake(spaces: readonly ClosedSpace[]): void {
  for (const { base, bytes, faults, control } of spaces) {
    if (isUnmapped(control)) continue;
    watchClosed(base, bytes, null);
    Userfaultfd.fromFd(faults).wake(base, bytes);
  }
}
