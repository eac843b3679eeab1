/** Threads wait for room of a full disk, which may come soon: tells the core how long. */

import type { MemoryManager } from '../../core/memory-manager.js';
import { ROOM_TRIES } from '../../core/service/denials.js';
import { ROOM_MS } from '../protocol/requests.js';

const STEP_MS = ROOM_MS / ROOM_TRIES;

export class RoomWait {
  private toldAt = 0;

  constructor(
    private readonly manager: MemoryManager,
    private readonly now: () => number,
  ) {}

  /** Called several times in each step. */
  look(): void {
    if (!this.manager.waitsForRoom) return;
    const now = this.now();
    if (now - this.toldAt < STEP_MS) return;
    this.toldAt = now;
    this.manager.stillNoRoom();
  }
}
