/** What the core knows of a touch, as a policy sees it. There is one, for the fault that is served. */
import { createMask, has, isEmpty, isSubset } from '../basics/mask.js';
import {
  Access,
  HOST_NODE,
  NO_NODE,
  NO_PROCESSOR,
  type NodeId,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  PAGES_PER_GROUP,
  type Place,
  type Reason,
  type Touch,
} from '../basics/types.js';
import { holderOf } from '../table/contents.js';
import type { Fault } from '../table/fault.js';
import type { Node } from '../table/nodes.js';
import type { Processor } from '../table/processors.js';
import { nodeOf, residenceOf, type State } from '../table/state.js';
import { type Block, NO_PAGES } from '../table/va-block.js';
import { isStored } from './read-ahead.js';

/** What a fault takes without its copy, about: docs/measurements has it. */
const FAULT_US = 10;

export class SeenTouch implements Touch {
  memory: unknown = undefined;
  again = false;
  page = 0;
  block = 0;
  pages = 0;
  write = false;
  advice: Touch['advice'] = 'normal';
  mapped = NO_PAGES;
  occupied = NO_PAGES;
  allowed = NO_PAGES;
  source: Touch['source'] = 'none';
  sourcePages = Number.POSITIVE_INFINITY;
  budgetPages = 0;
  full = false;
  pressed = false;
  evictions = 0;
  aheadBlocks = 0;
  units = 1;
  uses: Touch['uses'] = [];
  declared = false;
  readonly result = createMask();
  ahead = 0;
  certain = false;
  reason: Reason = 'lone';
  private state!: State;
  private seen!: Block;
  private processor!: Processor;
  private node!: Node;
  private holder: NodeId = NO_NODE;

  /** Looks at the page; what may come along is for the caller. */
  look(state: State, { block, processor, mapping, node, page, access }: Fault): void {
    const { range } = block;
    this.state = state;
    this.seen = block;
    this.processor = processor;
    this.node = node;
    this.memory = range.memories[processor.id];
    this.again = processor.stalled === block.index * PAGES_PER_BLOCK + page;
    this.page = page;
    this.write = access === Access.Write;
    this.block = block.index - range.first / PAGES_PER_BLOCK;
    this.pages = range.pages;
    this.advice = block.advice.pattern;
    this.mapped = mapping.mapped;
    this.budgetPages = node.budgetPages;
    this.full = node.backedPages + PAGES_PER_BLOCK > node.budgetPages;
    this.pressed = node.pressed;
    this.evictions = node.counters.evictions;
    this.aheadBlocks = node.aheadBlocks;
    this.units = processor.description.units;
    this.uses = processor.intents;
    this.declared = isDeclared(processor, block.index * PAGES_PER_BLOCK + page);
    const here = has(residenceOf(state, block, node.id).resident, page);
    this.holder = here ? NO_NODE : holderOf(state, block, page, node.id);
    this.source = sourceOf(state, this.holder);
    this.sourcePages = pagesOfAFault(state, this.holder);
    this.result.fill(0);
    this.ahead = 0;
    this.certain = false;
    this.reason = 'lone';
  }

  /** What the policy keeps is kept. */
  keep(): void {
    this.seen.range.memories[this.processor.id] = this.memory;
  }

  get continues(): boolean {
    const page = this.page - (this.page % PAGES_PER_GROUP);
    const before = page > 0 ? this.seen : this.neighbour(-1);
    const residence = before?.residences[this.holder];
    const last = (page + PAGES_PER_BLOCK - 1) % PAGES_PER_BLOCK;
    return residence !== undefined && has(residence.resident, last);
  }

  hasWhole(step: number): boolean {
    const block = this.neighbour(step);
    const mapping = block?.mappings[this.processor.id];
    if (block === undefined || mapping === undefined) return false;
    return isSubset(block.inside, mapping.mapped);
  }

  placeOf(step: number): Place {
    const block = this.neighbour(step);
    // What was never touched is zeros, or its provider's.
    if (block === undefined) return this.isInside(step) ? 'near' : 'outside';
    const residence = block.residences[this.node.id];
    if (residence?.ahead === true) return 'ahead';
    // Memory that was kept may have the content of an earlier time.
    if (residence !== undefined && !isEmpty(residence.resident)) return 'here';
    return isStored(this.state, block) ? 'far' : 'near';
  }

  goneFor(step: number): number {
    const gaveUp = this.neighbour(step)?.residences[this.node.id]?.gaveUp ?? -1;
    return gaveUp === -1 ? -1 : this.evictions - gaveUp;
  }

  private neighbour(step: number): Block | undefined {
    if (step === 0) return this.seen;
    const block = this.state.va.blocks.get(this.seen.index + step);
    return block?.range === this.seen.range ? block : undefined;
  }

  private isInside(step: number): boolean {
    const block = this.block + step;
    return block >= 0 && block * PAGES_PER_BLOCK < this.pages;
  }
}

function sourceOf(state: State, node: NodeId): Touch['source'] {
  if (node === NO_NODE) return 'none';
  if (node === HOST_NODE) return 'host';
  const { owner, description } = nodeOf(state, node);
  return owner !== NO_PROCESSOR && !description.addressable ? 'far' : 'near';
}

/**
 * Pages that a memory gives in the time that another fault for them takes. To bring more than that
 * on a guess costs more than the fault that it may save.
 */
function pagesOfAFault(state: State, node: NodeId): number {
  const speed = node === NO_NODE ? undefined : nodeOf(state, node).description.speed;
  if (speed === undefined) return Number.POSITIVE_INFINITY;
  const { latencyUs, bytesPerUs } = speed;
  return Math.max(1, Math.floor(((FAULT_US + latencyUs) * bytesPerUs) / PAGE_BYTES));
}

/** Whether a launch that runs has said that it uses the page. */
function isDeclared({ intents }: Processor, page: number): boolean {
  for (const { first, end } of intents) if (page >= first && page < end) return true;
  return false;
}
