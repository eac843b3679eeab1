/** Processors that leave, or die: what only they hold comes home or is lost, and nobody waits for them. */

import { forgetAdvised } from './advice.js';
import type { Launches } from './launches.js';
import { clear, createMask, has, next } from './mask.js';
import type { Requests } from './requests.js';
import { loseNode } from './service.js';
import { makeReady, type Processor, type ProcessorCounters, processorOf, type State, unprotectAll } from './state.js';
import { PAGES_PER_BLOCK, type ProcessorId } from './types.js';
import { forgetUser } from './usage.js';
import type { Block } from './va-block.js';

export interface ProcessorFigures {
  readonly budgetPages: number;
  readonly backedPages: number;
  readonly peakPages: number;
  readonly counters: ProcessorCounters;
}

export class Departures {
  private readonly lastFigures = new Map<number, ProcessorFigures>();

  constructor(
    private readonly state: State,
    private readonly requests: Requests,
    private readonly launches: Launches,
    private readonly run: () => void,
  ) {}

  detach(id: ProcessorId): void {
    const processor = processorOf(this.state, id);
    if (processor.state !== 'alive') return;
    processor.state = 'draining';
    this.drain(processor);
  }

  lost(id: ProcessorId): void {
    const { state } = this;
    const processor = processorOf(state, id);
    if (processor.state === 'dead') return;
    // The pages of one that was leaving are on their way home already, and go on as far as they can.
    const leaving = processor.state === 'draining';
    processor.state = 'dead';
    processor.gone = !processor.description.memorySurvives;
    processor.intents.length = 0;
    unprotectAll(state, processor);
    this.launches.lost(processor);
    for (const block of state.va.blocks.values()) {
      this.dropMappings(block, id);
      makeReady(state, block);
    }
    if (leaving) this.run();
    else this.drain(processor);
  }

  figures(id: ProcessorId): ProcessorFigures {
    const processor = this.state.processors[id];
    if (processor === undefined) {
      const last = this.lastFigures.get(id);
      if (last === undefined) throw new Error(`there is no processor ${id}`);
      return last;
    }
    const { budgetPages, backedPages, peakPages, counters } = processor;
    return { budgetPages, backedPages, peakPages, counters };
  }

  private drain(processor: Processor): void {
    const request = this.requests.open(this.requests.newInner(), 'home', processor.id);
    const mask = createMask().fill(-1);
    for (const block of this.state.va.blocks.values()) {
      // A task for the processor that still waits would otherwise outlive it, and be carried out for its successor.
      const asked = block.tasks.some((task) => task.processor === processor.id);
      if (block.residences[processor.id] === undefined && block.operation === null && !asked) continue;
      this.requests.addTask(block, request, mask);
    }
    this.requests.close(request);
  }

  /** Forgets what a processor that is no more had mapped, after a word to those who watch it. */
  private dropMappings(block: Block, id: ProcessorId): void {
    const mapping = block.mappings[id];
    if (mapping === undefined) return;
    const { commands } = this.state;
    const first = block.range.watchers > 0 ? next(mapping.mapped, 0) : PAGES_PER_BLOCK;
    let end = PAGES_PER_BLOCK;
    while (first < end && !has(mapping.mapped, end - 1)) end--;
    const page = block.index * PAGES_PER_BLOCK + first;
    if (first < end) commands.invalidate(page, end - first, 'migrate', id);
    clear(mapping.mapped);
    clear(mapping.writable);
    clear(mapping.waitingRead);
    clear(mapping.waitingWrite);
    mapping.waiting = false;
    if (first < end) commands.invalidated(page, end - first, 'migrate', id);
  }

  /** Nothing of it is left to bring home. */
  drained(id: ProcessorId): void {
    const { state } = this;
    const processor = processorOf(state, id);
    for (const block of state.va.blocks.values()) {
      const mapping = block.mappings[id];
      if (mapping !== undefined) state.holds -= mapping.holds.length;
      // It may have reached host memory in place until now, of which nothing had to come home, and have what could not be brought
      // home, because every copy failed: that goes with the processor.
      this.dropMappings(block, id);
      loseNode(state, block, processor);
      block.residences[id] = undefined;
      block.mappings[id] = undefined;
      block.remote &= ~(1 << id);
    }
    this.lastFigures.set(id, this.figures(id));
    state.processors[id] = undefined;
    forgetUser(state, id);
    forgetAdvised(state, id);
    for (let index = processor.waiters.head; index !== -1; index = processor.waiters.after(index))
      state.ready.append(index);
    state.commands.drained(id);
  }
}
