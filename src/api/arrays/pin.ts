/** Elements that stay in host memory. */

import type { OptionNames } from '../../messages/option-names.js';
import type { PinReport } from '../../pager/protocol/pages.js';
import type { Client } from '../line/client.js';
import { DISPOSE } from '../values/disposal.js';
import { inspectHolding, printAs } from './parts/description.js';

/** Options of `array.pin`. */
export interface PinOptions {
  /** Elements; all by default. Pages are pinned as a whole. */
  readonly begin?: number;
  readonly end?: number;
  /**
   * Whether the kernel may not swap the pages: `true` (default) if the limit allows it, 'require'
   * fails with MEMORY_LOCK.
   */
  readonly lock?: boolean | 'require';
}

export const PIN_OPTIONS: OptionNames<PinOptions> = { begin: true, end: true, lock: true };

/**
 * Pages that stay in host memory; `array.pin` makes it.
 * @example
 * const pin = await space.array(Float32Array, 4096).pin({ begin: 0, end: 1024 });
 * console.log(pin.bytes); // 4096
 * pin.unpin();
 */
export class Pin {
  /** Whether the kernel may not swap the pages. */
  readonly locked: boolean;
  private ended = false;

  /** @internal */
  constructor(
    private readonly client: Client,
    /** Null: it is a pin of no elements, of which the manager knows nothing. */
    private readonly id: number | null,
    /** Of the array. */
    private readonly name: string,
    /** Bytes of whole pages that this is about. */
    readonly bytes: number,
    { locked }: PinReport,
  ) {
    this.locked = locked;
  }

  /**
   * Lets the pages move again, unless another pin keeps them.
   * @example
   * const x = space.array(Float32Array, 1024);
   * const pin = await x.pin();
   * pin.unpin();
   * console.log(x.residency().runs[0].pinned); // false
   */
  unpin(): void {
    if (this.ended) return;
    this.ended = true;
    if (this.id !== null) this.client.callUnlessClosed('unpin', { pin: this.id });
  }

  static {
    printAs(Pin, (pin, inspect) =>
      inspectHolding(
        `Pin of ${inspect(pin.name)}`,
        `${pin.bytes} bytes in host memory${pin.locked ? ', locked' : ''}`,
        pin.ended || pin.client.isClosed ? null : 'pin.unpin()',
      ),
    );
  }

  [DISPOSE](): void {
    this.unpin();
  }
}
