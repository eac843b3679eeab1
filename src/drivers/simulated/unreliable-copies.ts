/** A simulated device's copies, which go wrong on demand, for tests. */
import { Status } from '../../core/basics/types.js';
import type { Injection, TransferOrder } from '../driver.js';
import { CopyEngine } from '../toolkit/copy-engine.js';
import type { DriverParts } from '../toolkit/parts.js';

/** What goes wrong next. Counters count down. */
export interface Mishaps extends Injection {
  /** Pieces with more pages than this find no memory, unless they have it already. */
  refuseLargerThanPages: number;
  /** So many of the next pieces that need memory find none. */
  refusals: number;
  /** So many of the next copies fail after they were begun. */
  failures: number;
}

export class UnreliableCopies extends CopyEngine {
  readonly mishaps: Mishaps;

  constructor(parts: DriverParts) {
    const none = { refuseLargerThanPages: Number.POSITIVE_INFINITY, refusals: 0, failures: 0 };
    const mishaps = { ...none, ...parts.inject };
    super({ ...parts, inject: mishaps });
    this.mishaps = mishaps;
  }

  override transferIn(order: TransferOrder): Status {
    const { mishaps } = this;
    const mayFail = !this.lost && !order.backed && mishaps.refusals > 0;
    if (mayFail && order.count <= mishaps.refuseLargerThanPages) {
      mishaps.refusals--;
      return Status.NoMemory;
    }
    return super.transferIn(order);
  }

  override progress(): boolean {
    if (this.mishaps.failures === 0) return super.progress();
    if (!this.fail()) return false;
    this.mishaps.failures--;
    return true;
  }
}
