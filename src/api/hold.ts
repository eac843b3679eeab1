/** Elements that system calls find where they are. */
import { bytesOf, type NumericArray } from '../core/elements.js';
import type { OptionNames } from '../core/option-names.js';
import { INSPECT, inspectHolding } from './description.js';
import { ASYNC_DISPOSE, DISPOSE } from './disposal.js';
import type { Pin } from './pin.js';
import type { ArraySeen } from './seen.js';

export interface HoldOptions {
  /** Elements; all unless said otherwise. Pages that they share with others are held as a whole. */
  readonly begin?: number;
  readonly end?: number;
  /** Whether system calls are to write the elements, too; they may only read them unless said otherwise. */
  readonly writable?: boolean;
}

export const HOLD_OPTIONS: OptionNames<HoldOptions> = { begin: true, end: true, writable: true };

/** A pin whose bytes are handed to others: to a socket, to fs.write, to a native addon. */
export class Hold {
  /** The elements as bytes: the array's own memory, not a copy. */
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
    array: ArraySeen,
    private readonly begin: number,
    private readonly end: number,
  ) {
    const size = bytesOf(array.type);
    this.name = array.name;
    this.view = array.data;
    const { buffer, byteOffset } = this.view;
    this.bytes = Buffer.from(buffer as ArrayBuffer, byteOffset + begin * size, (end - begin) * size);
  }

  /** Lets the pages move again, unless another hold or pin keeps them. Not before the code that was handed `bytes` is through with them. */
  release(): void {
    this.pin?.unpin();
    this.view = null;
  }

  /** @internal */
  [INSPECT](_depth: number, options: object, inspect: (value: unknown, options: object) => string): string {
    return inspectHolding(
      `Hold of ${inspect(this.name, options)}`,
      `elements ${this.begin} to ${this.end - 1}, as bytes: hold.bytes`,
      this.view === null ? null : 'hold.release()',
    );
  }

  [DISPOSE](): void {
    this.release();
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    this.release();
  }
}
