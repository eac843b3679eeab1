/** Plain typed arrays as arguments: copied into the space for one operation, and back when it is through. */
import type { ElementType, NumericArray } from '../core/elements.js';
import type { StreamEvent as WireEvent } from '../pager/protocol/operations.js';
import type { ArraySeen, SpaceSeen } from './seen.js';

interface Staged {
  readonly plain: NumericArray;
  readonly array: ArraySeen;
  readonly back: boolean;
}

export class Staging {
  private readonly staged: Staged[] = [];

  /** @param what the operation, for messages */
  constructor(
    private readonly space: SpaceSeen,
    private readonly what: string,
  ) {}

  /** A managed array for a plain one: with its elements if they go `in`, and for them if they come `back`. */
  stage(plain: NumericArray, type: ElementType, name: string, use: { in: boolean; back: boolean }): ArraySeen {
    const array = this.space.arrayOf(type, plain.length, `a copy for ${name}`);
    this.staged.push({ plain, array, back: use.back });
    if (use.in) (array.data as Float32Array).set(plain as Float32Array);
    return array;
  }

  /** Runs what stages; if it throws, the copies that were made are freed. */
  attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      for (const { array } of this.staged.splice(0)) array.free();
      throw error;
    }
  }

  /** Puts the results back and frees the copies. Returns the event that the program is to see, if it is another one. */
  end(event: WireEvent): WireEvent | undefined {
    let failure: { code: string; message: string } | null = null;
    for (const { plain, array, back } of this.staged.splice(0)) {
      if (back && event.result === 'done') failure ??= this.putBack(plain, array);
      array.free();
    }
    return failure === null
      ? undefined
      : { ...event, result: 'failed', error: { name: 'OnememError', details: {}, ...failure } };
  }

  private putBack(plain: NumericArray, array: ArraySeen): { code: string; message: string } | null {
    // The last news may come when the space has been closed, and its memory is gone.
    if (this.space.isClosed) {
      const message = `${this.what} has ended, but the space was closed before its results were copied back`;
      return { code: 'SPACE_CLOSED', message };
    }
    try {
      (plain as Float32Array).set(array.data as Float32Array);
      return null;
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `${this.what} has ended, but its results cannot be copied back: ${why}; was the array transferred or resized?`;
      return { code: 'COPY_BACK', message };
    }
  }
}
