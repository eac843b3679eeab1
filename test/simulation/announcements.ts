/**
 * What subscribers are told, against what is really taken. That no right is taken without a word,
 * the audit looks at after each event. Here it is the other way round: nothing is announced that no
 * processor loses; and no content is forgotten without a word. Between the first page that is
 * announced and the last one there may be others, which an announcement cannot leave out.
 */
import { has } from '../../src/core/basics/mask.js';
import {
  Access,
  type InvalidationReason,
  PAGES_PER_BLOCK,
  Status,
} from '../../src/core/basics/types.js';
import { PAGES } from './model-device.js';
import type { World } from './world.js';

/** `copied`: some node has what the provider gave, which may give something else next time. */
type Content = 'freed' | 'lost' | 'zero' | 'written' | 'copied' | 'provided';

/** A page as processors have it, and as a program knows it that remembers its content. */
interface Seen {
  readonly rights: readonly Access[];
  readonly content: Content;
}

interface Announcement {
  readonly page: number;
  readonly count: number;
  readonly reason: InvalidationReason;
  readonly first: Seen;
  readonly last: Seen;
}

export class Announcements {
  private readonly open: Announcement[] = [];
  /** The event in which it was last announced that the content of the page is forgotten. */
  private readonly forgotten = new Int32Array(PAGES);
  /** Pages that were announced to be freed. */
  private readonly unmapped = new Uint8Array(PAGES);

  constructor(private readonly world: World) {}

  /** These pages are new. */
  begin(first: number, end: number): void {
    this.unmapped.fill(0, first, end);
  }

  begun(page: number, count: number, reason: InvalidationReason): void {
    const [first, last] = [this.look(page), this.look(page + count - 1)];
    if (reason === 'discard') this.forgotten.fill(this.world.step, page, page + count);
    else if (reason === 'unmap') this.unmapped.fill(1, page, page + count);
    else if (!hasRights(first) || !hasRights(last))
      throw new Error(
        `${page}+${count} is announced to be taken (${reason}), and nobody has the first page, or the last`,
      );
    this.open.push({ page, count, reason, first, last });
  }

  ended(page: number, count: number): void {
    const at = this.open.findIndex((each) => each.page === page && each.count === count);
    if (at === -1)
      throw new Error(`${page}+${count} is reported as taken, and nobody was told before`);
    const [{ reason, first, last }] = this.open.splice(at, 1);
    if (reason === 'migrate' && this.mayKeep(page)) return;
    const content = reason === 'discard' || reason === 'unmap';
    for (const [end, before] of [
      [page, first],
      [page + count - 1, last],
    ] as const) {
      const now = this.look(end);
      const lost = before.rights.some((right, id) => (now.rights[id] ?? Access.None) < right);
      if (lost || (content && now.content !== before.content)) continue;
      throw new Error(
        `${page}+${count} is reported as taken (${reason}), and nobody has lost page ${end}, which was and is ${now.content}`,
      );
    }
  }

  /**
   * The content of the page has been forgotten since the event `since`, and had been `value`, where
   * the page gives `now`.
   */
  checkForgotten(page: number, value: number, now: number, since: number): void {
    if (value === now || !this.isWatched(page) || this.forgotten[page] >= since) return;
    throw new Error(
      `page ${page} was ${value} and has become ${now}, and the subscribers of the page were not told`,
    );
  }

  /** The page has been freed. */
  checkFreed(page: number): void {
    if (this.isWatched(page) && this.unmapped[page] === 0)
      throw new Error(`page ${page} has been freed, and the subscribers of the page were not told`);
  }

  private isWatched(page: number): boolean {
    return this.world.manager.pages.rangeOf(page)?.watchers === 1;
  }

  /**
   * What could not be copied stays with the processors that have it, and so does in an eviction
   * what clones wait for.
   */
  private mayKeep(page: number): boolean {
    const operation =
      this.world.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK))?.operation ?? null;
    return operation !== null && (operation.failure !== Status.Done || operation.kind === 'evict');
  }

  private look(page: number): Seen {
    return { rights: this.rightsTo(page), content: this.contentOf(page) };
  }

  /**
   * What each processor may do with the page; what stands in for it is no content of the array's.
   */
  private rightsTo(page: number): Access[] {
    const block = this.world.manager.state.va.blocks.get(Math.floor(page / PAGES_PER_BLOCK));
    const inBlock = page % PAGES_PER_BLOCK;
    return Array.from(block?.mappings ?? [], (mapping) => {
      if (mapping === undefined || has(mapping.standIn, inBlock) || !has(mapping.mapped, inBlock))
        return Access.None;
      return has(mapping.writable, inBlock) ? Access.Write : Access.Read;
    });
  }

  private contentOf(page: number): Content {
    const { audit, manager } = this.world;
    if (audit.isFreed(page)) return 'freed';
    if (audit.isLost(page)) return 'lost';
    if (manager.pages.isZero(page)) return 'zero';
    if (!manager.pages.isInherited(page)) return 'written';
    return audit.isNowhere(page) ? 'provided' : 'copied';
  }
}

function hasRights({ rights }: Seen): boolean {
  return rights.some((right) => right !== Access.None);
}
