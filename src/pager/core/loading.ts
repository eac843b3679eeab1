/**
 * Modules of the program that are being loaded, for which the event loop must turn. A caller is told
 * when its module is there, or why it never will be.
 */
import type { Part } from './part.js';

export class Loading implements Part {
  private count = 0;

  get busy(): boolean {
    return this.count > 0;
  }

  needsTurn(): boolean {
    return this.count > 0;
  }

  wait<T>(made: Promise<T>, loaded: (made: T) => void, failed: (error: Error) => void): void {
    this.count++;
    made.then(
      (value) => {
        this.count--;
        loaded(value);
      },
      (error: Error) => {
        this.count--;
        failed(error);
      },
    );
  }
}
