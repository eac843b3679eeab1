/** Moves the pieces that the core has queued, between two looks for faults. */
import { PAGES_PER_BLOCK, PAGES_PER_TRANSFER } from '../../core/basics/types.js';
import type { CopyThreads } from '../../drivers/copies/copy-threads.js';
import type { Core } from '../core/core.js';
import type { Part } from '../core/part.js';
import type { DevicePolls } from '../devices/device-polls.js';

/** What a piece costs besides its pages: as much as so many more. */
const PIECE_PAGES = 7;
const PIECES_PER_BLOCK = PAGES_PER_BLOCK / PAGES_PER_TRANSFER;

export class Movement implements Part {
  constructor(
    private readonly core: Pick<Core, 'manager' | 'router'>,
    private readonly copyThreads: CopyThreads,
    private readonly polls: DevicePolls,
  ) {}

  step(): number {
    if (this.moveSome() || this.goAhead() || this.copyThreads.help()) return 1;
    this.polls.sendReads();
    return 0;
  }

  get busy(): boolean {
    const { router, manager } = this.core;
    return router.busy || manager.waitsToGoAhead;
  }

  /**
   * Moves queued pieces: a large one, or several small ones that together take no longer. False
   * when there is none. Behind them it reads what devices answer, which a thread may wait for: the
   * manager goes round only when no piece is left.
   */
  private moveSome(): boolean {
    let cost = 0;
    while (cost < PAGES_PER_TRANSFER) {
      const pages = this.core.router.step();
      if (pages === 0) break;
      cost += pages + PIECE_PAGES;
    }
    if (cost === 0) return false;
    this.polls.readAnswers();
    return true;
  }

  /** Begins with the next block that is to come ahead of a processor. False when there is none. */
  private goAhead(): boolean {
    const { manager } = this.core;
    // In the order in which they will be wanted; a thread of copies and the manager are to be at
    // two blocks, not at one.
    if (!manager.waitsToGoAhead || this.copyThreads.left >= PIECES_PER_BLOCK) return false;
    manager.goAhead();
    return true;
  }
}
