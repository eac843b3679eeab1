/** Elements that system calls find where they are. */
import { bytesOf, type NumericArray } from '../../core/basics/elements.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { ArrayInternals } from '../line/internals.js';
import { ASYNC_DISPOSE, DISPOSE } from '../values/disposal.js';
import { inspectHolding, printAs } from './parts/description.js';
import type { Pin } from './pin.js';

/** Options of `array.hold`. */
export interface HoldOptions {
  /** Elements; all by default. Pages are held as a whole. */
  readonly begin?: number;
  readonly end?: number;
  /** Whether system calls write the elements, too. */
  readonly writable?: boolean;
}

export const HOLD_OPTIONS: OptionNames<HoldOptions> = { begin: true, end: true, writable: true };

/**
 * Pages that stay where system calls find them; `array.hold` makes it.
 * @example
 * const x = space.array(Uint8Array, 3);
 * x.data.fill(65);
 * const held = await x.hold();
 * console.log(held.bytes.toString('latin1')); // AAA
 * held.release();
 */
export class Hold {
  /** The elements as bytes: the array's own memory. */
  readonly bytes: Buffer;

  /** Of the array. */
  private readonly name: string;
  /** What keeps the addresses of an array that nothing pins. */
  private view: NumericArray | null;

  /**
   * @internal
   * @param pin null: the elements lie where system calls find them in any case
   */
  constructor(
    private readonly pin: Pin | null,
    array: ArrayInternals,
    private readonly begin: number,
    private readonly end: number,
  ) {
    const size = bytesOf(array.type);
    this.name = array.name;
    this.view = array.data;
    const { buffer, byteOffset } = this.view;
    this.bytes = Buffer.from(
      buffer as ArrayBuffer,
      byteOffset + begin * size,
      (end - begin) * size,
    );
  }

  /**
   * Lets the pages move again. Call it when the code that got `bytes` is through.
   * @example
   * const held = await space.array(Uint8Array, 3).hold();
   * held.release();
   * console.log(held.bytes.length); // 3
   */
  release(): void {
    this.pin?.unpin();
    this.view = null;
  }

  static {
    printAs(Hold, (hold, inspect) =>
      inspectHolding(
        `Hold of ${inspect(hold.name)}`,
        `${hold.begin === hold.end ? 'no elements' : `elements ${hold.begin} to ${hold.end - 1}`}, as bytes: hold.bytes`,
        hold.view === null ? null : 'hold.release()',
      ),
    );
  }

  [DISPOSE](): void {
    this.release();
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    this.release();
  }
}
