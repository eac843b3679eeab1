/** Elements that stay in host memory. */

import type { OptionNames } from '../core/option-names.js';
import type { PinReport } from '../pager/protocol/pages.js';
import type { Client } from './client.js';
import { INSPECT, inspectHolding } from './description.js';
import { DISPOSE } from './disposal.js';

export interface PinOptions {
  /** Elements; all unless said otherwise. Pages that they share with others are pinned as a whole. */
  readonly begin?: number;
  readonly end?: number;
  /**
   * Whether to keep the kernel from swapping the pages, too, which a limit of the process may forbid (RLIMIT_MEMLOCK). `true`, which is
   * meant unless said otherwise: if it can be had. 'require': the pin fails with MEMORY_LOCK if not.
   */
  readonly lock?: boolean | 'require';
}

export const PIN_OPTIONS: OptionNames<PinOptions> = { begin: true, end: true, lock: true };

/** Pages that are in host memory and stay there until every pin of them has ended. */
export class Pin {
  /** Whether the kernel may not swap the pages. */
  readonly locked: boolean;
  private ended = false;

  /** @internal */
  constructor(
    private readonly client: Client,
    private readonly id: number,
    /** Of the array. */
    private readonly name: string,
    /** Bytes of whole pages that this is about. */
    readonly bytes: number,
    { locked }: PinReport,
  ) {
    this.locked = locked;
  }

  /** Lets the pages move again, unless another pin keeps them. A second time it does nothing. */
  unpin(): void {
    if (this.ended) return;
    this.ended = true;
    if (!this.client.isClosed) this.client.call('unpin', { pin: this.id });
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    return inspectHolding(
      `Pin of ${inspect(this.name, options)}`,
      `${this.bytes} bytes in host memory${this.locked ? ', locked' : ''}`,
      this.ended || this.client.isClosed ? null : 'pin.unpin()',
    );
  }

  [DISPOSE](): void {
    this.unpin();
  }
}
