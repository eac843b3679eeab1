/** What a block does next: tasks, then faults that wait, each as one operation at a time. */

import { and, andNot, setAnd } from '../basics/mask.js';
import { Access, type DenyReason, NO_NODE, type NodeId } from '../basics/types.js';
import { givesUp, putsOff } from '../movement/attempts.js';
import { isAlive } from '../movement/requests.js';
import { endGuess } from '../pattern/read-ahead.js';
import { lose, reasonOf } from '../table/absence.js';
import { classify, releaseBacking } from '../table/backing.js';
import { onlyOn } from '../table/contents.js';
import type { Node } from '../table/nodes.js';
import { type State, shortageOf } from '../table/state.js';
import { type Block, NO_PAGES } from '../table/va-block.js';
import type { Task } from '../table/work.js';
import { serviceFaults } from './faults.js';
import {
  absence,
  doTask,
  loss,
  materialize,
  pagesDone,
  protection,
  refusal,
  remoteness,
} from './tasks.js';

/** Called when a task of the block has been done for `pages` pages, or has failed. */
export type TaskDone = (task: Task, pages: number, failure: DenyReason | null) => void;

export function service(state: State, block: Block, taskDone: TaskDone): void {
  if (block.operation !== null) return;
  if (block.comeTo !== NO_NODE) {
    const residence = block.residences[block.comeTo];
    if (residence !== undefined) residence.shields--;
    block.comeTo = NO_NODE;
  }
  for (let id = 0; id < block.residences.length; id++) {
    const node = state.nodes[id];
    if (node?.gone === true) loseNode(state, block, node);
    loseForgotten(state, block, id);
  }
  let blocked = false;
  for (let at = 0; at < block.tasks.length; ) {
    const task = block.tasks[at];
    if (blocked && !task.overtakes) {
      at++;
      continue;
    }
    let reason = refusalOf(state, block, task);
    if (reason === null) {
      const outcome = putsOff(state, block, task) ? 'blocked' : doTask(state, block, task);
      if (outcome === 'started') return;
      if (outcome === 'blocked') {
        // Tasks keep their order, but pages that cannot go home for want of room there must not
        // hold up what may make that room.
        if (task.kind !== 'home' && task.kind !== 'mapRemote' && !task.overtakes && !task.early)
          blocked = true;
        at++;
        continue;
      }
      reason = outcome === 'stuck' ? shortageOf(state) : (loss(block, task) ?? task.keptFor);
    }
    block.tasks.splice(at, 1);
    endGuess(state, block, task);
    // Now, while nothing is under way in the block.
    if (task.kind === 'materialize') materialize(state, block, task, reason);
    const kept =
      reason === null || (task.kind === 'present' && !task.hold && reason !== 'DEVICE_LOST');
    // A launch that has waited for it makes room at once, which must not begin with this block.
    block.kept++;
    taskDone(task, kept ? pagesDone(state, block, task) : 0, reason);
    block.kept--;
  }
  serviceFaults(state, block);
  if (block.operation === null) block.unbroken = null;
}

/** Why the task ends before its next step; null: it does not. */
function refusalOf(state: State, block: Block, task: Task): DenyReason | null {
  if (givesUp(task)) return reasonOf(task.failure);
  if (task.kind === 'present' && !isAlive(state, task)) return 'DEVICE_LOST';
  let reason: DenyReason | null = null;
  // The holder of pages uses them without faulting, and would find nothing where there is none.
  if (task.hold) reason = absence(state, block, task) ?? remoteness(state, block, task);
  else if (task.kind === 'zero') reason = protection(block, task.mask, Access.Write);
  return reason ?? refusal(state, block, task);
}

/** The node has lost pages: what only it held is lost, and its memory is stale. */
function loseForgotten(state: State, block: Block, id: NodeId): void {
  const residence = block.residences[id];
  if (residence === undefined || residence.forgotten === NO_PAGES) return;
  const { mark } = state.masks;
  const only = state.masks.take();
  // What has gone from there meanwhile is not concerned.
  setAnd(only, residence.forgotten, residence.resident);
  andNot(residence.resident, only);
  residence.forgotten = NO_PAGES;
  onlyOn(state, block, id, only, only);
  and(only, block.dirty);
  andNot(only, block.freed);
  lose(block, only, 'FORGOTTEN');
  state.masks.backTo(mark);
  classify(state, block);
}

/** The node is gone with its content: what only it held is lost, the rest is as it is elsewhere. */
export function loseNode(state: State, block: Block, node: Node): void {
  const residence = block.residences[node.id];
  if (residence === undefined || residence.backedCount === 0) return;
  const { mark } = state.masks;
  const only = state.masks.take();
  onlyOn(state, block, node.id, residence.resident, only);
  and(only, block.dirty);
  andNot(only, block.freed);
  lose(block, only, 'LOST');
  releaseBacking(state, block, node, residence.backed);
  state.masks.backTo(mark);
  classify(state, block);
}
