/** Where a device keeps its frames: what a store must do, and the plain one. */
import { PAGE_BYTES } from '../../core/types.js';

/**
 * The memory of a device, frame by frame. A driver that keeps it in an unusual way (compressed, encrypted, behind a protocol)
 * writes one; `BufferFrames` is a store in a buffer. A frame holds 4096 bytes. What a store throws loses the device.
 *
 * ```ts
 * const kept = new Map<number, Uint8Array>();
 * const frames: FrameStore = {
 *   read: (frame) => kept.get(frame) ?? new Uint8Array(PAGE_BYTES),
 *   write: (frame, bytes) => void kept.set(frame, bytes.slice()),
 *   clear: (frame) => void kept.delete(frame),
 * };
 * ```
 */
export interface FrameStore {
  /** The content of a frame, 4096 bytes. The caller may change the array, and gives it to `write` if that is to last. */
  read(frame: number): Uint8Array;
  /** Replaces the content of a frame by 4096 bytes. The array is the caller's: the store copies what it keeps. */
  write(frame: number, bytes: Uint8Array): void;
  /** Makes the content of a frame zeros. */
  clear(frame: number): void;
  /**
   * The content of `count` frames as they lie in memory, where they do: what is written to the array is in the frames. With it copies
   * go straight, in one piece.
   */
  span?(frame: number, count: number): Uint8Array;
}

/**
 * Frames in one buffer.
 *
 * ```ts
 * const frames = new BufferFrames(context.budgetPages);
 * ```
 */
export class BufferFrames implements FrameStore {
  /** All frames, one after the other. */
  readonly bytes: Uint8Array;

  /**
   * @param count frames; as many as the budget has pages
   * @param frameBytes bytes of a frame: 4096, but for models of devices with smaller pages
   */
  constructor(
    readonly count: number,
    private readonly frameBytes: number = PAGE_BYTES,
  ) {
    this.bytes = new Uint8Array(count * frameBytes);
  }

  read(frame: number): Uint8Array {
    return this.span(frame, 1);
  }

  write(frame: number, bytes: Uint8Array): void {
    this.span(frame, 1).set(bytes);
  }

  clear(frame: number): void {
    this.span(frame, 1).fill(0);
  }

  /** A frame that is not there is a RangeError with the code `INVALID_FRAME`. */
  span(frame: number, count: number): Uint8Array {
    if (!(frame >= 0 && frame + count <= this.count)) {
      const message = `frames ${frame} to ${frame + count - 1}: there are ${this.count}, as the description's budgetPages must say`;
      throw Object.assign(new RangeError(message), { code: 'INVALID_FRAME' });
    }
    return this.bytes.subarray(frame * this.frameBytes, (frame + count) * this.frameBytes);
  }
}
