/** A task or a thread whose pages did not come tries again, ATTEMPTS times at most. */
import { Status } from '../basics/types.js';
import { isFinal } from '../table/absence.js';
import type { State } from '../table/state.js';
import type { Block } from '../table/va-block.js';
import type { Asker } from '../table/work.js';
import { ATTEMPTS } from './operation.js';
import { relieve } from './reclaim.js';

/** Whether it is no use to try again, or has been tried often enough. */
export function givesUp({ attempts, failure }: Asker): boolean {
  return failure !== Status.Done && (isFinal(failure) || attempts >= ATTEMPTS);
}

/** Whether an asker that does not give up waits before its next attempt. */
export function putsOff(state: State, block: Block, asker: Asker): boolean {
  const { failure, triedNode } = asker;
  // A device that died is reported by an event of its own.
  if (failure !== Status.NoMemory) return failure === Status.Lost;
  asker.failure = Status.Done;
  const short = state.nodes[triedNode];
  if (short === undefined || !relieve(state, block, short)) return false;
  short.waiters.append(block.index);
  return true;
}
