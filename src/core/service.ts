/** What a block does next: the tasks that were asked for, then the faults that wait, each as one operation at a time. */

import { lose, reasonOf } from './absence.js';
import { serviceFaults } from './faults.js';
import { clear, isEmpty, WORDS } from './mask.js';
import { givesUp } from './moves.js';
import { ATTEMPTS } from './operation.js';
import { relieve } from './reclaim.js';
import { classify, onlyOn, type Processor, releaseBacking, residenceOf, type State } from './state.js';
import { absence, doTask, loss, own, pagesDone, protection, refusal, remoteness } from './tasks.js';
import { Access, type DenyReason, HOST, Status } from './types.js';
import type { Block, Operation, Task } from './va-block.js';

/** Called when a task of the block has been done for `pages` pages, or has failed. */
export type TaskDone = (task: Task, pages: number, failure: DenyReason | null) => void;

export function service(state: State, block: Block, taskDone: TaskDone): void {
  if (block.operation !== null) return;
  if (block.onDetour) {
    block.onDetour = false;
    residenceOf(state, block, HOST).protectedBy--;
  }
  for (let node = 0; node < block.residences.length; node++) {
    const processor = state.processors[node];
    if (processor?.gone === true) loseNode(state, block, processor);
  }
  const ended = block.spareOperation;
  let failure: Status = Status.Done;
  if (ended.failure !== Status.Done) {
    // A device that died is reported by an event of its own, which looks at every block again.
    if (ended.failure === Status.Lost && !isDeathKnown(state, ended)) return;
    // That pages could not leave a node is nothing that those who wait for this block should suffer for.
    if (ended.kind !== 'evict' || ended.task !== null) {
      failure = ended.failure as Status;
      block.attempts++;
    }
    ended.failure = Status.Done;
    if (failure === Status.NoMemory && block.attempts < ATTEMPTS) {
      const short = state.processors[ended.kind === 'evict' ? HOST : ended.processor];
      if (short !== undefined && relieve(state, short, block)) {
        short.waiters.append(block.index);
        return;
      }
    }
  } else if (ended.outstanding === 0 && !isEmpty(ended.settled)) {
    block.attempts = 0;
    clear(ended.settled);
  }
  let blocked = false;
  for (let at = 0; at < block.tasks.length; ) {
    const task = block.tasks[at];
    if (blocked && !task.ahead) {
      at++;
      continue;
    }
    let reason: DenyReason | null = null;
    if (failure !== Status.Done && ended.task === task && givesUp(block, failure)) {
      reason = reasonOf(failure);
      block.attempts = 0;
      failure = Status.Done;
    } else if (task.kind === 'present' && state.processors[task.processor]?.state !== 'alive') {
      reason = 'DEVICE_LOST';
    } else {
      // The holder of pages uses them without faulting, and would find nothing where there is none.
      if (task.hold) reason = absence(block, task) ?? remoteness(block, task);
      else if (task.kind === 'zero') reason = protection(block, task.mask, Access.Write);
      reason ??= refusal(block, task);
      const outcome = reason === null ? doTask(state, block, task) : 'done';
      if (outcome === 'started') return;
      if (outcome === 'blocked') {
        // Tasks keep their order, but pages that cannot go home for want of room there must not hold up what may make that room.
        if (task.kind !== 'home' && task.kind !== 'attach' && !task.ahead) blocked = true;
        at++;
        continue;
      }
      if (outcome === 'stuck') reason = 'OUT_OF_MEMORY';
      else reason ??= loss(block, task);
    }
    block.tasks.splice(at, 1);
    // Now, while nothing is under way in the block.
    if (task.kind === 'own') own(state, block, task, reason);
    const kept = reason === null || (task.kind === 'present' && !task.hold && reason !== 'DEVICE_LOST');
    taskDone(task, kept ? pagesDone(state, block, task) : 0, reason);
  }
  serviceFaults(state, block, failure);
  if (block.operation === null) block.unsaved = null;
}

/** Whether the processor that a lost transfer went to, or the one it came from, is known to be dead. */
function isDeathKnown(state: State, { kind, processor, lostSource }: Operation): boolean {
  const target = state.processors[kind === 'evict' ? HOST : processor];
  if (target === undefined || target.state === 'dead') return true;
  const source = state.processors[lostSource];
  return lostSource >= 0 && (source === undefined || source.state === 'dead');
}

/** The device died and its memory with it: what only it held is lost, the rest is as it is elsewhere. */
export function loseNode(state: State, block: Block, processor: Processor): void {
  const residence = block.residences[processor.id];
  if (residence === undefined || residence.backedCount === 0) return;
  const only = state.maskA;
  onlyOn(state, block, processor.id, residence.resident, only);
  for (let word = 0; word < WORDS; word++) only[word] &= block.dirty[word] & ~block.freed[word];
  lose(block, only, 'LOST');
  releaseBacking(state, block, processor, residence.backed.slice());
  classify(state, block);
}
