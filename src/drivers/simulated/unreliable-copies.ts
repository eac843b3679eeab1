/**
 * The copies of a simulated device, which go wrong on demand, so that tests can see what becomes of
 * it.
 */
import { type Access, Status } from '../../core/basics/types.js';
import type { Injection } from '../driver.js';
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

  override transferIn(
    token: number,
    address: number,
    page: number,
    count: number,
    frame: number,
    access: Access,
    backed: boolean,
  ): Status {
    const { mishaps } = this;
    if (!this.lost && !backed && mishaps.refusals > 0 && count <= mishaps.refuseLargerThanPages) {
      mishaps.refusals--;
      return Status.NoMemory;
    }
    return super.transferIn(token, address, page, count, frame, access, backed);
  }

  override progress(): boolean {
    if (this.mishaps.failures === 0) return super.progress();
    if (!this.fail()) return false;
    this.mishaps.failures--;
    return true;
  }
}
