/** What closed spaces hold for views or threads that are left, until it can be given back. */
import { closeEventfd } from '../../linux/threads/eventfd.js';
import { Control } from '../../pager/protocol/control.js';
import { isMostOfAll, slotOf } from '../line/space-addresses.js';
import { listedThreads, type Views } from '../line/views.js';

/** A closed space of which something is left, because of views or threads. */
export interface Leftover {
  readonly views: Views;
  readonly control: Int32Array;
  readonly wakeFd: number;
  readonly bytes: number;
  /** Whether its manager's thread still answers faults on views that are left. */
  answers: boolean;
}

const leftovers = new Set<Leftover>();

/** A space has been closed, and something of it may be left. */
export function leaveBehind(leftover: Leftover): void {
  leftovers.add(leftover);
  reclaim();
}

/** Gives back what closed spaces still hold, if it can be by now. */
export function reclaim(): void {
  for (const leftover of leftovers) {
    const { views, control, wakeFd } = leftover;
    views.unmapAfterThreads();
    if (leftover.answers) continue;
    if (Atomics.load(control, Control.AttachedThreads) === 0 || listedThreads(control) === 0)
      closeWakeFd(control, wakeFd);
    if (views.isUnmapped && Atomics.load(control, Control.WakeFdClosed) === 1)
      leftovers.delete(leftover);
  }
}

/** An attached thread may be about to raise it, when the number could be another file's. */
function closeWakeFd(control: Int32Array, wakeFd: number): void {
  if (Atomics.compareExchange(control, Control.WakeFdClosed, 0, 1) === 0) closeEventfd(wakeFd);
}

/**
 * Has the garbage collector look for views that are no longer used, if closed spaces take half of
 * the addresses: it does not know that a small view keeps a terabyte of addresses from the next
 * space.
 */
export async function collectViews(slot: number): Promise<void> {
  reclaim();
  let taken = slot;
  for (const { views, bytes } of leftovers) if (!views.isUnmapped) taken += slotOf(bytes);
  if (!isMostOfAll(taken)) return;
  if (globalThis.gc !== undefined) globalThis.gc();
  else {
    // Loaded only here, where hardly any program comes.
    const { setFlagsFromString } = process.getBuiltinModule('node:v8');
    setFlagsFromString('--expose-gc');
    const collect = process.getBuiltinModule('node:vm').runInNewContext('gc') as () => void;
    setFlagsFromString('--no-expose-gc');
    collect();
  }
  // The registry of views is told in a later turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  reclaim();
}
