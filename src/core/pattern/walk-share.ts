/**
 * How much may come with a fault where processors go through more arrays at once than their node
 * has room for blocks. By whole blocks each fault would push out a block in which a processor still
 * is, and 2 MiB would move for every few elements. How many walks there are no processor says. A
 * launch says what it uses. For the host, which has no launches, it is told by what comes back too
 * soon.
 */
import { isEmpty } from '../basics/mask.js';
import { PAGES_PER_BLOCK, PAGES_PER_GROUP } from '../basics/types.js';
import type { Node } from '../table/nodes.js';
import type { Block, Mapping } from '../table/va-block.js';

/**
 * So many blocks that came back too soon, less those that did not, have the share halved, and so
 * many that did not have it doubled.
 */
const TOO_SOON = 8;
const IN_TIME = 64;

/**
 * Pages, a power of two: a block where each walk may have one, otherwise its share of the node.
 * @param args the pages [first, end) of each argument of the launches that run
 * @param units threads that may be in different parts of an argument
 */
export function walkShare(
  args: readonly { readonly first: number; readonly end: number }[],
  units: number,
  budgetPages: number,
): number {
  let walks = 0;
  let pages = 0;
  for (const { first, end } of args) {
    walks += Math.min(units, Math.ceil((end - first) / PAGES_PER_BLOCK));
    pages += Math.min(units * PAGES_PER_BLOCK, end - first);
  }
  let share: number = PAGES_PER_BLOCK;
  if (pages <= budgetPages) return share;
  while (share > PAGES_PER_GROUP && share * walks > budgetPages) share >>= 1;
  return share;
}

/**
 * The host faults while its node is full. Only where it has nothing of the block does that tell
 * anything.
 */
export function noteHostFault(node: Node, block: Block, mapping: Mapping, page: number): void {
  const tooSoon = isTooSoon(block, mapping, page);
  block.range.hostBlock = block.index;
  if (!isEmpty(mapping.mapped)) return;
  node.tooSoon += tooSoon ? 1 : -1;
  if (node.tooSoon >= TOO_SOON) node.share = Math.max(PAGES_PER_GROUP, node.share >> 1);
  else if (node.tooSoon <= -IN_TIME) node.share = Math.min(PAGES_PER_BLOCK, node.share << 1);
  else return;
  node.tooSoon = 0;
}

/**
 * Whether the block went while the host was in it: its last fault in the range was on this block,
 * and what came with that has the page. A pass that is made again was in other blocks of the range
 * in between, and an array of one block does not tell.
 */
function isTooSoon(
  { index, range }: Block,
  { entryPage, walkPage }: Mapping,
  page: number,
): boolean {
  return (
    range.hostBlock === index &&
    range.pages > PAGES_PER_BLOCK &&
    page >= entryPage &&
    page < walkPage
  );
}
