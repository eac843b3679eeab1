/** Arrays that are freed, wholly or in part. A shared file gets its changes first. */
import { type Arrays, sharedError } from '../arrays/arrays.js';
import type { Guards } from '../arrays/modules/guards.js';
import type { Notifiers } from '../arrays/modules/notifiers.js';
import type { Pins } from '../arrays/pins.js';
import type { SharedArrays } from '../arrays/shared/shared-arrays.js';
import type { Requests } from '../protocol/requests.js';
import { toWire, type WireError } from '../protocol/wire.js';
import type { WriteBack } from './write-back.js';

export class Freeing {
  constructor(
    private readonly arrays: Arrays,
    private readonly pins: Pins,
    private readonly notifiers: Notifiers,
    private readonly guards: Guards,
    private readonly writeBack: WriteBack,
    private readonly sharedArrays: SharedArrays,
    private readonly say: (text: string) => void,
  ) {}

  /** @param done is told why it cannot be freed, if it cannot: it is kept then */
  free(
    wanted: Requests['free']['in'],
    done: (failure: WireError | null) => void = (failure) => this.tell(failure),
  ): void {
    const freed = this.arrays.partToFree(wanted);
    if (freed === null) {
      done(null);
      return;
    }
    const { firstPage, count } = freed;
    this.pins.check(firstPage, count, 'free');
    const whole = this.arrays.isWhole(freed.range, firstPage, count);
    if (!whole && this.sharedArrays.has(freed.range))
      throw sharedError('free a part of', wanted.name);
    if (whole) {
      this.notifiers.release(this.arrays.rangeOf(freed.range));
      this.guards.release(this.arrays.rangeOf(freed.range));
    }
    const free = (): void => this.arrays.free(freed, () => done(null));
    if (this.sharedArrays.has(freed.range)) {
      this.sharedArrays.leave(freed.range, free);
      return;
    }
    if (!this.writeBack.isShared(firstPage)) {
      free();
      return;
    }
    this.writeBack.flush({ firstPage, count, durable: false }, (_bytes, failure) => {
      if (failure === null) free();
      else done(failure);
    });
  }

  /** Frees what processes have left that ended. Returns whether there was something. */
  freeAbandoned(): boolean {
    const abandoned = this.arrays.takeAbandoned();
    for (const each of abandoned) {
      try {
        this.free(each);
      } catch (error) {
        this.tell(toWire(error));
      }
    }
    return abandoned.length > 0;
  }

  /** Of a free that no thread waits for. */
  private tell(failure: WireError | null): void {
    if (failure === null) return;
    this.say(
      `onemem: warning: a freed array is kept, and close() will try again: ${failure.message}\n`,
    );
  }
}
