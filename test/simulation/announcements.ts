/**
 * What subscribers are told, against what is really taken. That nothing is taken without a word, the audit looks at after each event; here it
 * is the other way round: nothing is announced that nobody loses. Between the first page that is announced and the last one there may be
 * others, which an announcement cannot leave out.
 */
import { has } from '../../src/core/mask.js';
import { Access, type InvalidationReason, PAGES_PER_BLOCK } from '../../src/core/types.js';
import type { World } from './world.js';

interface Announcement {
  readonly page: number;
  readonly count: number;
  /** What processors could do with the first page and with the last one; null: content is taken, also where no processor could see it. */
  readonly before: readonly (readonly Access[])[] | null;
  readonly reason: InvalidationReason;
}

export class Announcements {
  private readonly open: Announcement[] = [];

  constructor(private readonly world: World) {}

  begun(page: number, count: number, reason: InvalidationReason): void {
    const content = reason === 'discard' || reason === 'unmap';
    const before = content ? null : [this.rightsTo(page), this.rightsTo(page + count - 1)];
    if (before?.some((rights) => rights.every((right) => right === Access.None)))
      throw new Error(
        `${page}+${count} is announced to be taken (${reason}), and nobody has the first page, or the last`,
      );
    this.open.push({ page, count, before, reason });
  }

  ended(page: number, count: number): void {
    const at = this.open.findIndex((each) => each.page === page && each.count === count);
    if (at === -1) throw new Error(`${page}+${count} is reported as taken, and nobody was told before`);
    const [{ before, reason }] = this.open.splice(at, 1);
    // What was to leave, and could not be copied, stays with those who have it.
    if (before === null || reason === 'migrate') return;
    for (const [end, rights] of before.entries()) {
      const now = this.rightsTo(end === 0 ? page : page + count - 1);
      if (!rights.some((right, id) => (now[id] ?? Access.None) < right))
        throw new Error(
          `${page}+${count} is reported as taken, and nobody has lost the ${end === 0 ? 'first' : 'last'} page`,
        );
    }
  }

  /** What each processor may do with the page; what stands in for it is nobody's content. */
  private rightsTo(page: number): Access[] {
    const block = this.world.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    const inBlock = page % PAGES_PER_BLOCK;
    return Array.from(block?.mappings ?? [], (mapping) => {
      if (mapping === undefined || has(mapping.standIn, inBlock) || !has(mapping.mapped, inBlock)) return Access.None;
      return has(mapping.writable, inBlock) ? Access.Write : Access.Read;
    });
  }
}
