/**
 * The short way of the commonest migrations: one page, which a processor waits for, of a block that
 * at most one other memory has anything of. At most some rights to the page have to be taken then,
 * and no subscriber is to be told, so that it needs no operation, which costs as much as all that
 * was decided before. What the page brings about is noted by the same functions; and where a driver
 * does not have it done at once, it goes on as an operation that has come as far as this.
 */
import { endOf, has, type Mask, next, remove } from '../basics/mask.js';
import {
  Access,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  SOURCE_PROVIDER,
  SOURCE_ZERO,
  type Source,
  Status,
} from '../basics/types.js';
import { classify, takeMemory } from '../table/backing.js';
import type { Fault } from '../table/fault.js';
import type { Node } from '../table/nodes.js';
import { nodeOf, residenceOf, type State } from '../table/state.js';
import { endToken, newToken, type Token } from '../table/tokens.js';
import { type Block, isProvided } from '../table/va-block.js';
import type { Operation } from '../table/work.js';
import { hasRoomFor, type Outcome } from './moves.js';
import { open } from './operation.js';
import { transferDone } from './operation-transfers.js';
import { accessOf, countArrival, noteContent, noteMapped } from './settling.js';

/** Stands for several nodes. */
const SEVERAL = -2;

/** As `bring`. Null: the mask is not the page alone, or not so simple, and nothing was done. */
export function bringAlone(state: State, fault: Fault, mask: Mask): Outcome | null {
  const { block, node, page, access } = fault;
  // Tasks that wait are looked at again when an operation of the block has ended.
  if (!isOnly(mask, page) || !node.description.addressable || block.tasks.length > 0) return null;
  if (node.granulePages > 1) return null;
  const other = sharer(block, node);
  if (other !== NO_NODE && !isSimple(state, block, other)) return null;
  const residence = residenceOf(state, block, node.id);
  const source = has(residence.resident, page) ? node.id : sourceOf(state, block, other, page);
  if (residence.frames !== null || source === SOURCE_PROVIDER) return null;
  const backed = has(residence.backed, page);
  if (!hasRoomFor(state, block, node, access, mask, backed ? 0 : 1)) return null;
  if (!backed) takeMemory(node, residence, page);
  const awaited = other === NO_NODE ? 0 : takeRights(state, fault);
  if (awaited > 0) {
    const operation = asOperation(state, fault, mask, backed);
    operation.phase = 'revoke';
    operation.outstanding = awaited;
    return 'started';
  }
  if (source === node.id) map(state, fault);
  else {
    const token = newToken(state, 'transfer', block, node.id, page, 1);
    token.source = source;
    const status = transfer(state, fault, token, backed);
    if (status !== Status.Done) {
      asOperation(state, fault, mask, backed);
      if (status !== Status.Pending) transferDone(state, token, status);
      return 'started';
    }
    endToken(state, token);
  }
  note(state, fault, source);
  // Only the first page that the node has of the block, the first that is not stale, or what the
  // other memory had alone makes a difference.
  if (other !== NO_NODE || residence.backedCount === 1 || node.unused.has(block.index))
    classify(state, block);
  return 'done';
}

function map(state: State, { block, processor, mapping, page, access }: Fault): void {
  const at = block.index * PAGES_PER_BLOCK + page;
  const before = accessOf(mapping.mapped, mapping.writable, page);
  state.commands.map(processor.id, at, 1, access, before, at);
}

function transfer(
  state: State,
  { block, processor, node, page, access }: Fault,
  { id, source }: Token,
  backed: boolean,
): Status {
  const at = block.index * PAGES_PER_BLOCK + page;
  const frames = source >= 0 ? residenceOf(state, block, source).frames : null;
  const order = state.transfer;
  order.token = id;
  order.source = source;
  order.sourceFrame = frames === null ? at : frames[page];
  order.node = node.id;
  order.processor = processor.id;
  order.page = at;
  order.count = 1;
  order.frame = at;
  order.access = access;
  order.backed = backed;
  order.whole = false;
  order.urgent = true;
  order.reason = processor.reason;
  return state.commands.transfer(order);
}

/** The page is there and mapped. */
function note(state: State, fault: Fault, source: Source): void {
  const { block, processor, mapping, node, page, access } = fault;
  countArrival(state, block, node, source, 1);
  noteContent(state, block, node, page, 1, access === Access.Write);
  noteMapped(state, block, processor.id, page, 1, access);
  mapping.attempts = 0;
}

function isOnly(mask: Mask, page: number): boolean {
  return next(mask, 0) === page && endOf(mask) === page + 1;
}

/** The node besides this one that has or holds anything of the block; NO_NODE: none does. */
function sharer({ residences }: Block, node: Node): NodeId {
  let found: NodeId = NO_NODE;
  for (let id = 0; id < residences.length; id++) {
    const residence = residences[id];
    if (
      residence === undefined ||
      id === node.id ||
      residence.backedCount + residence.holds.length === 0
    )
      continue;
    found = found === NO_NODE ? id : SEVERAL;
  }
  return found;
}

/**
 * Whether pages of this node, which has some of the block, are copied by the manager, no operation
 * holds them, and no subscriber is to be told.
 */
function isSimple(state: State, block: Block, id: NodeId): boolean {
  if (id === SEVERAL || block.range.watchers > 0) return false;
  const { gone, description, granulePages } = nodeOf(state, id);
  if (granulePages > 1) return false;
  return !gone && description.addressable && residenceOf(state, block, id).holds.length === 0;
}

/** Where a page comes from that its node does not have, as for an operation. */
function sourceOf(state: State, block: Block, other: NodeId, page: number): Source {
  const provided = isProvided(block, page);
  const there = other !== NO_NODE && has(residenceOf(state, block, other).resident, page);
  if (there && (provided || has(block.dirty, page))) return other;
  return provided ? SOURCE_PROVIDER : SOURCE_ZERO;
}

/**
 * Takes from all processors that reach other memory what they may not do with the page any more.
 * Returns how many of them have yet to answer.
 */
function takeRights(state: State, { block, node, page, access }: Fault): number {
  const to = access === Access.Write ? Access.None : Access.Read;
  let awaited = 0;
  for (let id = 0; id < block.mappings.length; id++) {
    const mapping = block.mappings[id];
    const processor = state.processors[id];
    if (mapping === undefined || processor === undefined || mapping.node === node.id) continue;
    const rights = to === Access.None ? mapping.mapped : mapping.writable;
    if (!has(rights, page) || has(mapping.standIn, page)) continue;
    remove(mapping.writable, page);
    if (to === Access.None) remove(mapping.mapped, page);
    processor.counters.revocations++;
    if (processor.state === 'dead') continue;
    const token = newToken(state, 'revoke', block, mapping.node, page, 1);
    const status = state.commands.revoke(token.id, id, block.index * PAGES_PER_BLOCK + page, 1, to);
    if (status === Status.Pending) awaited++;
    else endToken(state, token);
  }
  return awaited;
}

/**
 * A processor, or the page's driver, has not done yet what it was told, or could not: the page goes
 * on as an operation whose only transfer is under way.
 */
function asOperation(
  state: State,
  { block, processor, node, page, access }: Fault,
  mask: Mask,
  backed: boolean,
): Operation {
  const operation = open(block, 'migrate', node.id, processor.id, mask);
  operation.access = access;
  operation.map = true;
  operation.urgentPage = page;
  operation.reason = processor.reason;
  operation.progress = false;
  operation.whole = false;
  operation.phase = 'transfer';
  operation.transferPages = PAGES_PER_BLOCK;
  operation.failure = Status.Done;
  const word = page >>> 5;
  operation.moving[word] = mask[word];
  if (!backed) operation.reserved[word] = mask[word];
  operation.outstanding = 1;
  block.operation = operation;
  state.activeOperations++;
  return operation;
}
