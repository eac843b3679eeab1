/** How arrays are cut into pages, and where frames lie. Each array's first frame is zeros. */

/** An array that need not be there as a whole. */
export interface PagedArray {
  readonly name: string;
  /** Of its elements. */
  readonly bytes: number;
  /** Bytes before its first element, in its variable as in its frames. */
  readonly headBytes?: number;
  /** Bytes from one element to the next. */
  readonly stride: number;
  /** Pages of so many elements that are touched at most, where that is known. */
  mostPages?(pageElements: number): number;
}

export interface PageTable extends PagedArray {
  readonly headBytes: number;
  /** Elements of a page: two to this power. */
  readonly shift: number;
  readonly pageBytes: number;
  readonly pages: number;
  /** Of its first page in the table of all arrays. */
  readonly firstEntry: number;
  /** Frames besides the one of zeros. */
  readonly frames: number;
  /** Where its frames begin, and how many bytes they have. */
  readonly offset: number;
  readonly poolBytes: number;
  /** Whether touches of pages that are there are noted, too: some of them will have to go. */
  readonly notes: boolean;
}

export interface PageSizes {
  /** A page has about so many bytes, */
  readonly pageBytes: number;
  /** or more, so that an array has no more pages than this. */
  readonly mostPages: number;
  /** Frames of an array begin at a multiple of this many bytes. */
  readonly alignment: number;
}

/** @returns null: there is no room for a page of each */
export function pageTables(
  arrays: readonly PagedArray[],
  poolBytes: number,
  sizes: PageSizes,
): PageTable[] | null {
  const cut = arrays.map((each) => {
    const wanted = Math.max(sizes.pageBytes, each.bytes / sizes.mostPages);
    const shift = Math.max(0, Math.ceil(Math.log2(wanted / each.stride)));
    const pageBytes = 2 ** shift * each.stride;
    const pages = Math.ceil(each.bytes / pageBytes);
    const { headBytes = 0 } = each;
    return {
      ...each,
      headBytes,
      shift,
      pageBytes,
      pages,
      most: Math.min(pages, each.mostPages?.(2 ** shift) ?? pages),
    };
  });
  // Small arrays are there as a whole; what they leave the large ones share.
  const rooms = new Map<string, number>();
  let left = poolBytes;
  const bySize = [...cut].sort((one, other) => one.bytes - other.bytes);
  for (const [at, { name, most, pageBytes, headBytes }] of bySize.entries()) {
    const fair = Math.floor(left / (bySize.length - at) / sizes.alignment) * sizes.alignment;
    const all = Math.ceil((headBytes + (most + 1) * pageBytes) / sizes.alignment) * sizes.alignment;
    const room = Math.min(fair, all);
    rooms.set(name, room);
    left -= room;
  }
  let firstEntry = 0;
  let offset = 0;
  const tables: PageTable[] = [];
  for (const { most, ...each } of cut) {
    const room = rooms.get(each.name) as number;
    const frames = Math.min(most, Math.floor((room - each.headBytes) / each.pageBytes) - 1);
    if (frames < 1) return null;
    tables.push({
      ...each,
      firstEntry,
      frames,
      offset,
      poolBytes: room,
      notes: frames < each.pages,
    });
    firstEntry += each.pages;
    offset += room;
  }
  return tables;
}

/** Bytes in which all pages of these arrays have a frame. */
export function wholePoolBytes(arrays: readonly PagedArray[], sizes: PageSizes): number {
  const tables = pageTables(arrays, 2 ** 52, sizes) ?? [];
  return tables.reduce((sum, { poolBytes }) => sum + poolBytes, 0);
}
