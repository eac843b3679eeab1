/** Blocks that are kept from eviction for the thread that faults on them. */

import type { Processor } from './processors.js';
import { reachedBy, residenceOf, type State } from './state.js';
import type { Block } from './va-block.js';

/**
 * Keeps the block that a thread faults on from being evicted until the thread faults elsewhere,
 * which proves that it has run. Without this two threads on a small device could take each other's
 * pages for ever.
 */
export function shield(state: State, processor: Processor, thread: number, block: Block): void {
  const { slotThread, slotBlock } = processor;
  let slot = 0;
  while (slot < slotThread.length && slotThread[slot] !== thread) slot++;
  if (slot === slotThread.length) {
    slot = processor.nextSlot;
    processor.nextSlot = (slot + 1) % slotThread.length;
    slotThread[slot] = thread;
  }
  if (slotBlock[slot] === block.index) return;
  unshield(state, processor, slot);
  slotBlock[slot] = block.index;
  residenceOf(state, block, reachedBy(state, block, processor.id)).shields++;
}

function unshield(state: State, processor: Processor, slot: number): void {
  const index = processor.slotBlock[slot];
  if (index === -1) return;
  processor.slotBlock[slot] = -1;
  const block = state.va.blocks.get(index);
  const mapping = block?.mappings[processor.id];
  const residence = mapping === undefined ? undefined : block?.residences[mapping.node];
  if (residence !== undefined && residence.shields > 0) residence.shields--;
}

/** No thread of the processor runs any more. */
export function unshieldAll(state: State, processor: Processor): void {
  processor.waited = 0;
  processor.lacksRoom = false;
  for (let slot = 0; slot < processor.slotBlock.length; slot++) {
    unshield(state, processor, slot);
    processor.slotThread[slot] = -1;
  }
  const node = state.nodes[processor.localNode];
  if (node !== undefined) node.pump = true;
}
