/**
 * The dispatches of a part that runs by a plan: what numbers on the host tell that they touch, and
 * these pages, which are put together while what comes before runs on the GPU.
 */
import type { PageCopy } from '../../../wgsl/dividing/page-rounds.js';
import type { PagedPart, PagePlan, PlannedDispatch } from '../../wgsl-launch.js';
import type { Part } from '../link/protocol.js';
import { type FeedOutlet, PageFeed, pagesIn } from './page-feed.js';

export interface PlannedOutlet extends FeedOutlet {
  /** Bytes of the host's memory that were wanted. */
  look(at: number, content: Uint8Array): void;
}

/** Milliseconds after which the search for what is touched lets others have their turn. */
const SLICE_MS = 2;

/**
 * What comes next: a dispatch, when its pages have been sent; null: there is none. `unplanned`:
 * there is no room for what a workgroup touches; `lost`: pages could not be had.
 */
export type Next = PlannedDispatch | null | 'unplanned' | 'lost';

export class PlannedRun {
  /** Those not begun, the next one last; null: the numbers have not been looked at. */
  private left: PlannedDispatch[] | null = null;
  /** Finds them. */
  private search: Generator<undefined, readonly PlannedDispatch[] | null> | null = null;
  private problem: 'unplanned' | 'lost' | null = null;
  /** The next one, and its pages. */
  private next: { readonly dispatch: PlannedDispatch; readonly feed: PageFeed } | null = null;
  private waiting: {
    readonly partsOf: (copies: readonly PageCopy[]) => readonly Part[];
    take(next: Next): void;
  } | null = null;

  constructor(
    readonly plan: PagePlan,
    private readonly paged: Pick<PagedPart, 'rounds' | 'offsets'>,
    private readonly outlet: PlannedOutlet,
  ) {}

  start(): void {
    const { numbers } = this.plan;
    if (numbers.length === 0) this.look();
    else
      this.outlet.want(
        pagesIn(numbers, ({ at }) => at),
        'look',
        true,
      );
  }

  /** What was wanted is on the host, or cannot be. */
  supplied(there: boolean): void {
    if (!there) this.problem = 'lost';
    else if (this.left === null) this.look();
    else this.next?.feed.supplied();
  }

  step(): boolean {
    return this.advance() || this.next?.feed.step() === true;
  }

  /** Calls `take` when the pages of the next dispatch have been sent to parts of buffers. */
  give(
    partsOf: (copies: readonly PageCopy[]) => readonly Part[],
    take: (next: Next) => void,
  ): void {
    const { left, next } = this;
    if (this.problem !== null) take(this.problem);
    else if (left === null) this.waiting = { partsOf, take };
    else if (next === null) take(null);
    else next.feed.open(partsOf, () => take(next.dispatch));
  }

  /** What was given is on its way. Whether there is another, whose pages come now. */
  goOn(): boolean {
    const { rounds, offsets } = this.paged;
    const dispatch = this.left?.pop();
    this.next = null;
    if (dispatch === undefined) return false;
    const placeOf = ({ table, place }: PageCopy): number =>
      offsets[rounds.tables.indexOf(table)] + place;
    const feed = new PageFeed(rounds.admit(dispatch.wanted), 'plan', placeOf, this.outlet);
    this.next = { dispatch, feed };
    feed.start();
    return true;
  }

  close(): void {
    this.search = null;
    this.waiting = null;
    this.next?.feed.close();
  }

  private look(): void {
    const numbers = this.plan.numbers.map(({ at, bytes }) => {
      const content = new Uint8Array(bytes);
      this.outlet.look(at, content);
      return new Uint32Array(content.buffer);
    });
    this.search = this.plan.dispatches(numbers);
    this.advance();
  }

  /** Finds out a little more of what it touches. False: it is known. */
  private advance(): boolean {
    const { search } = this;
    if (search === null) return false;
    const end = performance.now() + SLICE_MS;
    let found = search.next();
    while (found.done !== true && performance.now() < end) found = search.next();
    if (found.done !== true) return true;
    this.search = null;
    const dispatches = found.value;
    if (dispatches === null) this.problem = 'unplanned';
    this.left = dispatches?.toReversed() ?? [];
    this.goOn();
    const { waiting } = this;
    this.waiting = null;
    if (waiting !== null) this.give(waiting.partsOf, (next) => waiting.take(next));
    return true;
  }
}
