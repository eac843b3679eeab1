/** Who answers late uses of the spaces that this thread has opened and closed: one thread for all, as long as views are left. */
import { isMainThread, type Worker } from 'node:worker_threads';
import { notifyEventfd } from '../linux/eventfd.js';
import { closeDescriptor } from '../linux/libc.js';
import { type ClosedSpace, forsake, isUnmapped } from '../pager/late-uses.js';
import { Control, type SpaceHandle } from '../pager/protocol.js';

interface Answering {
  readonly handle: SpaceHandle;
  readonly spaces: readonly ClosedSpace[];
}

let answering: Answering | null = null;
/** Descriptors of spaces that are answered for, each to be closed once. */
const descriptors = new Set<number>();
let watchesExit = false;

/** Those that are answered for now; whoever is closed next takes them over. */
export function spaces(): readonly ClosedSpace[] {
  return (answering?.spaces ?? []).filter(({ control }) => !isUnmapped(control));
}

/** From now on a manager's thread answers for its own space and for those that it took over. */
export function answeredBy(sentinel: Worker, handle: SpaceHandle, closed: readonly ClosedSpace[]): void {
  const before = answering;
  const now: Answering = { handle, spaces: closed };
  answering = now;
  for (const { faults } of closed) descriptors.add(faults);
  if (before !== null) stop(before);
  sentinel.once('exit', () => {
    if (answering === now) answering = null;
    // Nobody reads them any more, but whoever took a space over.
    const kept = new Set(answering?.spaces.map(({ faults }) => faults));
    for (const { faults } of closed) if (!kept.has(faults) && descriptors.delete(faults)) closeDescriptor(faults);
  });
  if (watchesExit || isMainThread) return;
  watchesExit = true;
  // The thread that answers ends with this one, and other threads may have views.
  process.once('exit', () => {
    if (answering === null) return;
    stop(answering);
    forsake(answering.spaces);
  });
}

function stop({ handle }: Answering): void {
  Atomics.store(new Int32Array(handle.control), Control.Stop, 1);
  notifyEventfd(handle.wakeFd);
}
