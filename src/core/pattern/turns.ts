/**
 * Blocks that go to and fro between processors. A turn: a fault takes pages that another processor's
 * memory has alone, or that it is to lose, after one of another processor did. Reads of what stays
 * where it is are none.
 */
import { has } from '../basics/mask.js';
import { Access, NO_PROCESSOR, TURN_LAPSE } from '../basics/types.js';
import type { Fault } from '../table/fault.js';
import type { Processor } from '../table/processors.js';
import { isRemote, type State } from '../table/state.js';
import type { Block } from '../table/va-block.js';

/** A fault is about to bring the page. Events take the place of a clock, which the core lacks. */
export function noteTurn(state: State, fault: Fault): void {
  if (!takesFromOthers(state, fault)) return;
  const { block, processor } = fault;
  if (state.effort - block.turnAt > TURN_LAPSE) {
    block.turns = 0;
    block.turnOf = processor.id;
  }
  block.turnAt = state.effort;
  if (block.turnOf === processor.id) return;
  if (block.turnOf !== NO_PROCESSOR) block.turns++;
  block.turnOf = processor.id;
  if (state.inPlace || processor.description.remoteAccess !== true || block.turns === 0) return;
  if (belongsInPlace(state, block, processor)) state.inPlace = true;
}

function takesFromOthers(state: State, { block, node, page, access }: Fault): boolean {
  let holders = 0;
  let isHere = false;
  for (let id = 0; id < block.residences.length; id++) {
    const residence = block.residences[id];
    if (residence === undefined || !has(residence.resident, page)) continue;
    if (id === node.id) isHere = true;
    else if (state.nodes[id]?.owner !== NO_PROCESSOR) holders++;
  }
  return access === Access.Write ? holders > 0 : holders === 1 && !isHere;
}

/** Whether the processor is to use the block in host memory, by its policy. */
export function belongsInPlace(state: State, block: Block, owner: Processor): boolean {
  const { id, localNode } = owner;
  const { accessedBy, preferred } = block.advice;
  const answer = owner.placement({
    processor: id,
    advised: ((accessedBy >>> id) & 1) !== 0 && preferred !== localNode,
    remote: isRemote(block, owner),
    turns: block.turns,
    sinceTurn: block.turns === 0 ? Number.POSITIVE_INFINITY : state.effort - block.turnAt,
  });
  return answer === 'remote';
}
