/** Where a device keeps its frames: what a store must do, and the plain one. */
import { PAGE_BYTES } from '../../core/basics/types.js';

/**
 * The memory of a device, by frames of 4096 bytes. A driver with unusual memory (compressed,
 * encrypted) writes one. An error that it throws loses the device.
 */
export interface FrameStore {
  /**
   * The content of a frame. The caller may change the array, and gives it to `write` to keep it.
   */
  read(frame: number): Uint8Array;
  /** Replaces the content of a frame. The store copies what it keeps. */
  write(frame: number, bytes: Uint8Array): void;
  /** Makes the content of a frame zeros. */
  clear(frame: number): void;
  /**
   * The memory of `count` frames, if they lie side by side: copies then go straight, in one piece.
   */
  span?(frame: number, count: number): Uint8Array;
}

/**
 * Frames in one buffer.
 * @example
 * import { BufferFrames } from 'onemem/driver';
 *
 * const frames = new BufferFrames(4);
 * frames.read(3)[0] = 9;
 * console.log(frames.bytes.length, frames.bytes[3 * 4096]); // 16384 9
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

  /**
   * The memory of a frame.
   * @example
   * import { BufferFrames } from 'onemem/driver';
   *
   * console.log(new BufferFrames(4).read(0).length); // 4096
   */
  read(frame: number): Uint8Array {
    return this.span(frame, 1);
  }

  /**
   * Replaces the content of a frame by 4096 bytes.
   * @example
   * import { BufferFrames } from 'onemem/driver';
   *
   * const frames = new BufferFrames(4);
   * frames.write(1, new Uint8Array(4096).fill(2));
   * console.log(frames.read(1)[4095]); // 2
   */
  write(frame: number, bytes: Uint8Array): void {
    this.span(frame, 1).set(bytes);
  }

  /**
   * Makes the content of a frame zeros.
   * @example
   * import { BufferFrames } from 'onemem/driver';
   *
   * const frames = new BufferFrames(4);
   * frames.read(1).fill(2);
   * frames.clear(1);
   * console.log(frames.read(1)[0]); // 0
   */
  clear(frame: number): void {
    this.span(frame, 1).fill(0);
  }

  /**
   * The memory of neighbouring frames. Throws INVALID_FRAME for frames that are not there.
   * @example
   * import { BufferFrames } from 'onemem/driver';
   *
   * console.log(new BufferFrames(4).span(1, 2).length); // 8192
   */
  span(frame: number, count: number): Uint8Array {
    if (!(frame >= 0 && frame + count <= this.count)) {
      const message = `frames ${frame} to ${frame + count - 1}: there are ${this.count}, as the description's budgetPages must say`;
      throw Object.assign(new RangeError(message), { code: 'INVALID_FRAME' });
    }
    return this.bytes.subarray(frame * this.frameBytes, (frame + count) * this.frameBytes);
  }
}
