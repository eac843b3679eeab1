/**
 * The short way of the commonest migration: one page, which a processor waits for, of a block that no other memory has anything of. No right has to be
 * taken then, no copy goes stale and nobody is to be told, so that it needs no operation, which costs as much as all that was decided before. What the page
 * brings about is noted by the same functions; and where a driver does not have it done at once, it goes on as an operation that has come as far as this.
 */
import { has, type Mask, WORDS } from './mask.js';
import { hasRoom, type Outcome } from './moves.js';
import type { Node } from './nodes.js';
import { open } from './operation.js';
import { accessOf, countArrival, noteContent, noteMapped, transferDone } from './operation-transfers.js';
import {
  classify,
  endToken,
  newToken,
  type Processor,
  residenceOf,
  type State,
  type Token,
  takeMemory,
} from './state.js';
import { Access, PAGES_PER_BLOCK, SOURCE_ZERO, Status } from './types.js';
import { type Block, isProvided, type Mapping } from './va-block.js';

/** As `migrate` for a page that a processor waits for. Null: it is no such page, and nothing has been done. */
export function bringAlone(
  state: State,
  block: Block,
  node: Node,
  processor: Processor,
  mapping: Mapping,
  access: Access,
  mask: Mask,
  page: number,
): Outcome | null {
  if (!isOnly(mask, page) || !isUndisputed(block, node)) return null;
  const residence = residenceOf(state, block, node.id);
  const resident = has(residence.resident, page);
  if (residence.frames !== null || (!resident && isProvided(block, page))) return null;
  const word = page >>> 5;
  if (!hasRoom(state, block, node, access, mask, word, word + 1)) return null;
  const at = block.index * PAGES_PER_BLOCK + page;
  if (resident) {
    state.commands.map(processor.id, at, 1, access, accessOf(mapping.mapped, mapping.writable, page), at);
    countArrival(state, block, node, node.id, 1);
  } else {
    const backed = has(residence.backed, page);
    if (!backed) takeMemory(node, residence, page);
    const token = newToken(state, 'transfer', block, node.id, SOURCE_ZERO, page, 1);
    const order = state.transfer;
    order.token = token.id;
    order.source = SOURCE_ZERO;
    order.sourceFrame = at;
    order.node = node.id;
    order.processor = processor.id;
    order.page = at;
    order.count = 1;
    order.frame = at;
    order.access = access;
    order.backed = backed;
    order.whole = false;
    order.urgent = true;
    const status = state.commands.transfer(order);
    if (status !== Status.Done)
      return goOnAsOperation(state, block, node, processor, access, mask, page, backed, token, status);
    endToken(state, token);
    countArrival(state, block, node, SOURCE_ZERO, 1);
  }
  noteContent(state, block, node, page, 1, access === Access.Write);
  noteMapped(state, block, processor.id, page, 1, access);
  block.attempts = 0;
  // Only the first page that the node has of the block, or the first that is not stale, makes a difference.
  if (residence.backedCount === 1 || node.unused.has(block.index)) classify(state, block);
  return 'done';
}

function isOnly(mask: Mask, page: number): boolean {
  for (let word = 0; word < WORDS; word++)
    if (mask[word] !== (word === page >>> 5 ? 1 << (page & 31) : 0)) return false;
  return true;
}

/** Whether no other node has or holds anything of the block, so that a migration to this one takes nothing from anybody. */
function isUndisputed({ residences, tasks }: Block, node: Node): boolean {
  // Tasks that wait are looked at again when an operation of the block has ended.
  if (!node.description.addressable || tasks.length > 0) return false;
  for (let id = 0; id < residences.length; id++) {
    const residence = residences[id];
    if (residence !== undefined && id !== node.id && residence.backedCount + residence.holds.length > 0) return false;
  }
  return true;
}

/** The driver has the page still to fill, or could not. */
function goOnAsOperation(
  state: State,
  block: Block,
  node: Node,
  processor: Processor,
  access: Access,
  mask: Mask,
  page: number,
  backed: boolean,
  token: Token,
  status: Status,
): Outcome {
  const operation = open(block, 'migrate', node.id, processor.id, mask);
  operation.access = access;
  operation.map = true;
  operation.urgentPage = page;
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
  if (status !== Status.Pending) transferDone(state, token, status);
  return 'started';
}
