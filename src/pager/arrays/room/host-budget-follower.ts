/** Has the host's budget follow memory, which it looks at now and then and on stalls. */
import { closeSync } from 'node:fs';
import { type ReadText, textReader } from '../../../linux/base/text-files.js';
import {
  openTrigger,
  PRESSURE_EVENTS,
  pressureFile,
  stalledMs,
} from '../../../linux/memory/pressure.js';
import { type MemoryGroup, memoryGroups, memoryLeft } from '../../../linux/memory/system-memory.js';
import type { Poller } from '../../../linux/sockets/poll.js';
import { isPressed, isShort, nextBudget } from '../../../policy/host-budget.js';
import type { HostBudget } from './host-budget.js';

/** Between two looks; and where memory is short, or the kernel says that threads stand still. */
const LOOK_MS = 500;
const SHORT_LOOK_MS = 50;

export class HostBudgetFollower {
  private readonly read: ReadText;
  private readonly groups: readonly MemoryGroup[] = [];
  private readonly pressure: string | null = null;
  /** What the kernel raises when threads stand still; null: nothing. */
  private trigger: number | null = null;
  private follows: boolean;
  private lookedAt: number;
  private pressedAt: number;
  private stalledMs = 0;
  private isShort = false;

  /**
   * @param options where the machine's files are; null: the budget is what it was set to
   * @param slot of the poller, for what the kernel raises
   */
  constructor(
    private readonly budget: HostBudget,
    options: { readonly root: string } | null,
    private readonly poller: Poller,
    private readonly slot: number,
    private readonly wall: () => number,
  ) {
    this.follows = options !== null;
    this.read = textReader(options?.root ?? '');
    this.lookedAt = this.pressedAt = wall();
    if (options === null) return;
    this.groups = memoryGroups(this.read);
    this.pressure = pressureFile(this.groups, this.read);
    this.stalledMs = this.stalled();
    if (this.pressure === null || options.root !== '') return;
    this.trigger = openTrigger(this.pressure);
    if (this.trigger !== null) poller.set(slot, this.trigger, PRESSURE_EVENTS);
  }

  /** The manager calls it in each round. */
  look(): void {
    if (!this.follows) return;
    const raised = this.poller.readyAt(this.slot);
    // The group has gone, with its trigger.
    if ((raised & ~PRESSURE_EVENTS) !== 0) this.close();
    const now = this.wall();
    const passed = now - this.lookedAt;
    if (passed < (raised !== 0 || this.isShort ? SHORT_LOOK_MS : LOOK_MS)) return;
    this.lookedAt = now;
    const { budget } = this;
    const before = this.stalledMs;
    this.stalledMs = this.stalled();
    const seen = {
      ...memoryLeft(this.groups, this.read),
      promised: budget.promisedBytes,
      own: budget.backedBytes,
      least: budget.leastBytes,
      stalled: Math.min((this.stalledMs - before) / passed, 1),
      calmMs: now - this.pressedAt,
    };
    this.isShort = isShort(seen);
    const next = nextBudget(budget.bytes, seen);
    if (next < budget.bytes || isPressed(seen)) this.pressedAt = now;
    if (next !== budget.bytes) budget.approach(next);
  }

  sleepMs(most: number): number {
    return this.isShort ? Math.min(most, SHORT_LOOK_MS) : most;
  }

  /** The program has said how much it is to be. */
  stop(): void {
    this.follows = this.isShort = false;
    this.close();
  }

  close(): void {
    if (this.trigger === null) return;
    this.poller.clear(this.slot);
    closeSync(this.trigger);
    this.trigger = null;
  }

  private stalled(): number {
    return this.pressure === null ? 0 : stalledMs(this.read(this.pressure) ?? '');
  }
}
