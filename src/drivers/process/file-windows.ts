/** Where a device's process maps files: behind the space, in reach of arguments' offsets. */
import { PAGES_PER_BLOCK } from '../../core/basics/types.js';

interface Window {
  readonly first: number;
  readonly pages: number;
}

export class FileWindows {
  /** In the order of their addresses. */
  private readonly windows: Window[] = [];

  /** Pages from `first` to `end` may be used. */
  constructor(
    private readonly first: number,
    private readonly end: number,
  ) {}

  get any(): boolean {
    return this.windows.length > 0;
  }

  /**
   * The first page of so many that nothing else uses; -1: there are not so many. It lies in its
   * block where `filePage`, the first page of the file, lies in its own: then the kernel maps large
   * pages of its memory as a whole.
   */
  take(pages: number, filePage: number): number {
    let from = placeAfter(this.first, filePage);
    let at = 0;
    for (; at < this.windows.length && this.windows[at].first - from < pages; at++)
      from = placeAfter(this.windows[at].first + this.windows[at].pages, filePage);
    if (at === this.windows.length && this.end - from < pages) return -1;
    this.windows.splice(at, 0, { first: from, pages });
    return from;
  }

  /** Returns how many pages there were. */
  giveBack(first: number): number {
    const at = this.windows.findIndex((window) => window.first === first);
    return this.windows.splice(at, 1)[0].pages;
  }
}

function placeAfter(page: number, filePage: number): number {
  const ahead = (filePage - page) % PAGES_PER_BLOCK;
  return page + (ahead < 0 ? ahead + PAGES_PER_BLOCK : ahead);
}
