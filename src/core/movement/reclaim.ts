/**
 * Making room on a node. Stale memory goes first, since its content is not needed; then the policy
 * names victims. A victim whose pages have copies elsewhere is dropped at once, others are demoted
 * to the node's home first, and the block that needs the room waits for that. A demotion may need
 * room at home, and so on along the homes, which are a tree; it never waits for a promotion, so
 * that the lines cannot lock each other. Pages of the host that their provider takes back go there,
 * which needs no room.
 */

import { andNot, clear, isEmpty, isSubset, type Mask, setAndNot, size } from '../basics/mask.js';
import {
  HOST_NODE,
  NO_NODE,
  NO_PROCESSOR,
  type NodeId,
  PAGES_PER_BLOCK,
  PROVIDER,
} from '../basics/types.js';
import { classify, releaseSpare } from '../table/backing.js';
import { addCompletion } from '../table/completion.js';
import { onlyCopies } from '../table/contents.js';
import { excludeGranules, leaveByGranules, widen } from '../table/granules.js';
import { isHeld } from '../table/holds.js';
import { awaitsRelease, blocksOfGranule, lackingForBlock } from '../table/large-granule-memory.js';
import { isWithinBudget, type Node } from '../table/nodes.js';
import { makeReady, nodeOf, type State, shortageOf } from '../table/state.js';
import { type Block, NO_PAGES, type Residence } from '../table/va-block.js';
import type { Task } from '../table/work.js';
import { ATTEMPTS, open, start } from './operation.js';

/** Victims go by ranks, the lowest first; this is the rank of what a launch is about to use. */
const MOST_RANK = 3;

/** Where pages go when this node makes room; undefined: they stay, or can be had again. */
function homeOf(state: State, { home }: Node): Node | undefined {
  const node = state.nodes[home];
  return node?.state === 'alive' ? node : undefined;
}

/** Whether changed pages that the node has of the block go back to where they came from. */
function goesBack({ range }: Block, { id }: Node): boolean {
  return id === HOST_NODE && range.takesBack === true && !range.refuses;
}

/**
 * Whether `pages` more fit the node's budget now. If not, evictions that will make them fit are
 * under way, when any can be. Of the block that the room is for nothing goes meanwhile: to drop a
 * copy of it would undo what was decided about its pages.
 */
export function reclaim(state: State, block: Block, node: Node, pages: number): boolean {
  if (awaitsRelease(node, block)) return false;
  block.kept++;
  notePressure(node, pages);
  const room = findRoom(state, node, pages);
  if (node.pressed) keepFree(state, node, pages);
  block.kept--;
  return room;
}

/** What the node should have at most: its budget, its driver's limit, or what it shrinks to. */
function mostPages({ budgetPages, limitPages, goalPages }: Node): number {
  return Math.min(budgetPages, limitPages, goalPages);
}

/** A node under pressure must make room until half of it is free. */
function notePressure(node: Node, pages: number): void {
  const most = mostPages(node);
  if (node.backedPages + pages > most) node.pressed = true;
  else if (node.backedPages + pages < most / 2) node.pressed = false;
}

/**
 * How many blocks find room without one that goes. What a node under pressure has free it has made
 * free for what is needed at once.
 */
export function freeBlocks(node: Node): number {
  if (node.pressed) return 0;
  return Math.max(0, Math.floor((mostPages(node) - node.backedPages) / PAGES_PER_BLOCK));
}

/** Whether the block may leave the node just now. */
export function mayGo(state: State, node: Node, index: number): boolean {
  return isEvictable(state, node, index, false, false);
}

/** What goes next is sent home before anybody waits for its memory. */
function keepFree(state: State, node: Node, pages: number): void {
  // Stale memory is free as soon as it is needed: nothing has to go before.
  if (firstStale(state, node) !== null) return;
  const most = mostPages(node);
  const nodeBlocks = Math.floor(node.budgetPages / PAGES_PER_BLOCK);
  const free = (node.eviction.keepFree?.(nodeBlocks) ?? 0) * PAGES_PER_BLOCK;
  while (node.backedPages - node.leavingPages + pages + free > most) {
    if (evictPassed(state, node, MOST_RANK - 1)) continue;
    const victim = chooseVictim(state, node, false, MOST_RANK - 1);
    // What need not be sent anywhere goes at once when it must.
    if (victim === null || !mustBeSent(state, victim, node) || !evictVictim(state, victim, node))
      return;
  }
}

/** Whether the node has something of what goes with the block that would be gone without it. */
function mustBeSent(state: State, victim: Block, node: Node): boolean {
  if (node.large === null) return isOnlyThere(state, victim, node);
  for (const block of blocksOfGranule(state, node, node.large, victim.index))
    if (isOnlyThere(state, block, node)) return true;
  return false;
}

function isOnlyThere(state: State, block: Block, node: Node): boolean {
  const { mark } = state.masks;
  const only = state.masks.take();
  const pages = state.masks.take();
  const residence = block.residences[node.id];
  if (residence !== undefined) leavingOf(block, node, residence, pages);
  onlyCopies(state, block, node.id, pages, only);
  const any = residence !== undefined && !isEmpty(only);
  state.masks.backTo(mark);
  return any;
}

/**
 * Begins to make room for blocks of a launch, for all of them at once: each of them by itself would
 * take what leaves for the others for room of its own, and they would wait for one after the other.
 */
export function makeRoomTogether(state: State, node: Node, pages: number): void {
  notePressure(node, pages);
  findRoom(state, node, pages, MOST_RANK - 1);
}

function findRoom(state: State, node: Node, pages: number, mostRank = rankLimit(node)): boolean {
  const most = mostPages(node);
  while (node.backedPages - node.leavingPages + pages > most) {
    const stale = firstStale(state, node);
    if (stale !== null) {
      releaseAll(state, stale, node);
      continue;
    }
    if (evictPassed(state, node, mostRank)) continue;
    let victim = chooseVictim(state, node, false, mostRank);
    if (victim !== null && evictVictim(state, victim, node)) continue;
    // There is no room at home for what the policy would send there; what has a copy elsewhere
    // needs none.
    if (victim !== null) victim = chooseVictim(state, node, true, mostRank);
    if (victim !== null && evictVictim(state, victim, node, dropCopies)) continue;
    if (!dropScratch(state, node) && !dropCompletion(state, node)) break;
  }
  if (node.backedPages + pages <= most) return true;
  // A node that is to shrink, and cannot just now, refuses no room that it has.
  return (
    node.leavingPages === 0 &&
    node.backedPages + pages <= Math.min(node.budgetPages, node.limitPages)
  );
}

/** Has a node give up what it has beyond its goal. */
export function shrink(state: State, node: Node): void {
  findRoom(state, node, 0);
}

/**
 * Takes back what stands in for denied pages of another block. A launch that goes on over more of
 * them than its device has memory for would otherwise leave no room even for the next one; a thread
 * that touches such a page again is denied again.
 */
function dropScratch(state: State, node: Node): boolean {
  for (const block of node.scratchBlocks) {
    const residence = block.residences[node.id];
    if (
      block.kept > 0 ||
      block.operation !== null ||
      residence === undefined ||
      residence.shields > 0
    )
      continue;
    node.scratchBlocks.delete(block);
    if (isEmpty(residence.scratch)) continue;
    releaseSpare(state, block, node, residence.scratch);
    classify(state, block);
    makeReady(state, block);
    return true;
  }
  return false;
}

/** Takes back what was taken behind the end of a range, which has no content. */
function dropCompletion(state: State, node: Node): boolean {
  for (const block of node.completed) {
    const residence = block.residences[node.id];
    if (block.kept > 0 || block.operation !== null || residence === undefined) continue;
    node.completed.delete(block);
    const { mark } = state.masks;
    const rest = state.masks.take();
    clear(rest);
    addCompletion(block, residence, rest);
    const any = !isEmpty(rest);
    releaseSpare(state, block, node, rest);
    state.masks.backTo(mark);
    if (!any) continue;
    classify(state, block);
    makeReady(state, block);
    return true;
  }
  return false;
}

/** The rank of what may go where room is needed at once. */
function rankLimit({ expected }: Node): number {
  return expected === null ? MOST_RANK - 1 : MOST_RANK;
}

function chooseVictim(
  state: State,
  node: Node,
  droppable: boolean,
  mostRank: number,
  shielded = false,
): Block | null {
  for (let rank = state.preferences ? 0 : 2; rank <= mostRank; rank++) {
    const may = (index: number): boolean =>
      isEvictable(state, node, index, droppable, shielded) && rankOf(state, node, index) <= rank;
    const index = node.eviction.evict(may);
    // A policy may come from outside: an answer that was not allowed must not make this an endless
    // loop.
    if (index !== -1 && may(index)) return state.va.blocks.get(index) ?? null;
  }
  return null;
}

/** What is preferred elsewhere goes first, what is preferred here late, a launch's blocks last. */
function rankOf(state: State, node: Node, index: number): number {
  if (node.expected?.has(index) === true) return MOST_RANK;
  const preferred = state.va.blocks.get(index)?.advice.preferred ?? NO_NODE;
  if (preferred === NO_NODE) return 1;
  return preferred === node.id ? 2 : 0;
}

/** Whether evicting the block failed so often that trying again needs a new reason. */
export function failsToLeave(state: State, { evictFailures, evictEffort }: Residence): boolean {
  return evictFailures >= ATTEMPTS && evictEffort === state.effort;
}

/**
 * The node refused memory that its budget allows: gives something back, but nothing of the block
 * that the memory was for, so that the next attempt may do better. True if that is under way and
 * worth waiting for.
 */
export function relieve(state: State, block: Block, node: Node): boolean {
  block.kept++;
  const stale = firstStale(state, node);
  if (stale !== null) releaseAll(state, stale, node);
  else {
    const victim = chooseVictim(state, node, false, rankLimit(node));
    if (victim !== null) evictVictim(state, victim, node);
  }
  block.kept--;
  return node.leavingPages > 0;
}

/**
 * Nothing that is under way could give room. The host has more threads than blocks where much of it
 * is pinned, or its budget has shrunk: then the block on which some thread faulted last goes after
 * all, of the node or of one that its pages go to. That thread has mostly run, and faults again if
 * not. False: there is none, or a store is full, of which there may be room again soon: those who
 * need some wait for that (`waitsForRoom`).
 */
export function evictShielded(state: State, block: Block, node: Node): boolean {
  if (shortageOf(state) === 'OUT_OF_STORAGE') return false;
  block.kept++;
  let begun = false;
  for (let at: Node | undefined = node; at !== undefined && !begun; at = homeOf(state, at)) {
    const victim = chooseVictim(state, at, false, rankLimit(at), true);
    begun = victim !== null && evictVictim(state, victim, at);
  }
  block.kept--;
  return begun;
}

/** Has pages leave that a walk in strides has passed. False: there are none that can. */
function evictPassed(state: State, node: Node, mostRank: number): boolean {
  const index = node.passed.find(
    (each) => isEvictable(state, node, each, false, false) && rankOf(state, node, each) <= mostRank,
  );
  const block = state.va.blocks.get(index);
  const passed = block?.residences[node.id]?.passed;
  if (block === undefined || passed === undefined) return false;
  // What cannot leave is not tried again before more of the block has been passed.
  node.passed.remove(index);
  return evictBlock(state, block, node, null, passed);
}

/** Has what a policy chose leave, with all that goes with it. False: not all of it can. */
function evictVictim(state: State, victim: Block, node: Node, leave = evictBlock): boolean {
  if (node.large === null) return leave(state, victim, node);
  const blocks = [...blocksOfGranule(state, node, node.large, victim.index)];
  // Those that wait for their turn are not pushed out of their home for the others.
  for (const block of blocks) block.kept++;
  let all = true;
  for (const block of blocks) all = leave(state, block, node) && all;
  for (const block of blocks) block.kept--;
  return all;
}

/**
 * Begins to demote everything that the node has of the block, or `only` these pages; from a node
 * without a home only copies can go. False if there is no room for it where it should go.
 */
export function evictBlock(
  state: State,
  block: Block,
  node: Node,
  task: Task | null = null,
  only?: Mask,
): boolean {
  const residence = block.residences[node.id];
  if (residence === undefined || residence.backedCount === 0) return true;
  // A node that leaves and has no home sends what only it has to the host.
  const leaves = node.state !== 'alive' && node.id !== HOST_NODE;
  const home = homeOf(state, node) ?? (leaves ? state.nodes[HOST_NODE] : undefined);
  const back = goesBack(block, node);
  if (home === undefined && !back) return dropCopies(state, block, node, task, only);
  const { mark } = state.masks;
  const mask = state.masks.take();
  const room = back || home === undefined || makeRoom(state, block, node, home, mask, only);
  if (room) {
    leavingOf(block, node, residence, mask, only);
    evict(state, block, node, back || home === undefined ? PROVIDER : home.id, task, mask);
  }
  state.masks.backTo(mark);
  return room;
}

/**
 * Begins to give back what the node has of the block and others have, too, or can have again.
 * False: there is nothing of that kind.
 */
function dropCopies(
  state: State,
  block: Block,
  node: Node,
  task: Task | null = null,
  only?: Mask,
): boolean {
  const { mark } = state.masks;
  const mask = state.masks.take();
  const any = copiesOf(state, block, node, mask, only);
  if (any) evict(state, block, node, NO_NODE, task, mask);
  state.masks.backTo(mark);
  return any;
}

function evict(
  state: State,
  block: Block,
  node: Node,
  home: NodeId,
  task: Task | null,
  mask: Mask,
): void {
  const operation = open(block, 'evict', node.id, node.owner, mask);
  operation.target = home;
  operation.task = task;
  start(state, block, operation);
}

/**
 * What the node has of the block that may go: not what stands in for denied pages, nor what is
 * pinned. Neighbours of a pinned page go without it, or a few pins all over the host would keep all
 * of it.
 */
function leavingOf(
  { pinned }: Block,
  { id }: Node,
  { backed, scratch }: Residence,
  result: Mask,
  only = backed,
): void {
  setAndNot(result, only, scratch);
  if (id === HOST_NODE) andNot(result, pinned);
}

function isAllPinned({ pinned }: Block, { backed }: Residence): boolean {
  if (pinned === NO_PAGES) return false;
  return isSubset(backed, pinned);
}

/** What the node has of the block that need not be sent anywhere when it goes. */
function copiesOf(state: State, block: Block, node: Node, result: Mask, only?: Mask): boolean {
  const residence = block.residences[node.id];
  if (residence === undefined) return false;
  const { mark } = state.masks;
  const lone = state.masks.take();
  onlyCopies(state, block, node.id, residence.backed, lone);
  leavingOf(block, node, residence, result, only);
  excludeGranules(result, lone, node.granulePages);
  state.masks.backTo(mark);
  return !isEmpty(result);
}

/** Whether there is room at home for what only this node has of the block. */
function makeRoom(
  state: State,
  block: Block,
  node: Node,
  home: Node,
  mask: Mask,
  only?: Mask,
): boolean {
  const residence = block.residences[node.id];
  if (residence === undefined) return true;
  leavingOf(block, node, residence, mask, only);
  onlyCopies(state, block, node.id, mask, mask);
  widen(mask, home.granulePages);
  const there = block.residences[home.id]?.backed;
  if (there !== undefined) andNot(mask, there);
  const pages = home.large === null || isEmpty(mask) ? size(mask) : lackingForBlock(home, block);
  // What cannot go from there again does not stay beyond the budget, whose frame it may be.
  return (pages === 0 && isWithinBudget(home)) || reclaim(state, block, home, pages);
}

function firstStale(state: State, node: Node): Block | null {
  for (let index = node.unused.head; index !== -1; index = node.unused.after(index)) {
    const block = state.va.blocks.get(index);
    if (block === undefined || block.kept > 0 || block.operation !== null) continue;
    if (node.id === HOST_NODE && !isEmpty(block.pinned)) continue;
    const residence = block.residences[node.id];
    if (residence !== undefined && hasStale(state, node, residence)) return block;
  }
  return null;
}

/**
 * Scratch pages are no content either, but threads use them, and the rest of their granules stays.
 */
function hasStale(state: State, node: Node, residence: Residence): boolean {
  const { backedCount, backed, scratch } = residence;
  if (node.granulePages === 1 || scratch === NO_PAGES) return backedCount > size(scratch);
  const { mark } = state.masks;
  const stale = state.masks.take();
  setAndNot(stale, backed, scratch);
  leaveByGranules(state, node, residence, stale);
  const any = !isEmpty(stale);
  state.masks.backTo(mark);
  return any;
}

function releaseAll(state: State, block: Block, node: Node): void {
  const residence = block.residences[node.id];
  if (residence === undefined) return;
  const { mark } = state.masks;
  const stale = state.masks.take();
  setAndNot(stale, residence.backed, residence.scratch);
  releaseSpare(state, block, node, stale);
  state.masks.backTo(mark);
  classify(state, block);
  makeReady(state, block);
}

/**
 * What the host reads beyond its budget can go again by its copy in a store alone: while the host
 * has such pages, a store keeps its copies.
 */
function keepsCopies(state: State, { owner }: Node): boolean {
  return owner === NO_PROCESSOR && !isWithinBudget(nodeOf(state, HOST_NODE));
}

/** Such pages may come while a store takes nothing more. */
function isFullStore({ owner, limitPages, budgetPages }: Node): boolean {
  return owner === NO_PROCESSOR && limitPages < budgetPages;
}

function isEvictable(
  state: State,
  node: Node,
  index: number,
  droppable: boolean,
  shielded: boolean,
): boolean {
  if (!mayLeave(state, node, index, droppable, shielded)) return false;
  if (node.large === null) return true;
  for (const each of blocksOfGranule(state, node, node.large, index))
    if (!mayLeave(state, node, each.index, droppable, shielded)) return false;
  return true;
}

function mayLeave(
  state: State,
  node: Node,
  index: number,
  droppable: boolean,
  shielded: boolean,
): boolean {
  const block = state.va.blocks.get(index);
  if (block === undefined || block.kept > 0 || block.operation !== null) return false;
  const residence = block.residences[node.id];
  if (residence === undefined || residence.backedCount === 0) return false;
  if (residence.shields > 0 && (!shielded || block.comeTo === node.id)) return false;
  if (isHeld(block, node.id)) return false;
  if (node.id === HOST_NODE && isAllPinned(block, residence)) return false;
  if (!isEmpty(residence.scratch) || failsToLeave(state, residence)) return false;
  if (keepsCopies(state, node) && hasCopies(state, block, node)) return false;
  if (!droppable && (homeOf(state, node) !== undefined || goesBack(block, node))) return true;
  if (isFullStore(node)) return false;
  // It has nowhere to send a page to: only what can be had again may be dropped.
  return hasCopies(state, block, node);
}

function hasCopies(state: State, block: Block, node: Node): boolean {
  const { mark } = state.masks;
  const any = copiesOf(state, block, node, state.masks.take());
  state.masks.backTo(mark);
  return any;
}
