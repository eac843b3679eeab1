/** Plain typed arrays as arguments: copied into the space before, and back afterwards. */
import { bytesOf, type ElementType, type NumericArray } from '../../core/basics/elements.js';
import type { StreamEvent as WireEvent } from '../../pager/protocol/operations.js';
import { type WireError, wireError } from '../../pager/protocol/wire.js';
import type { Place } from '../arrays/parts/place.js';
import type { DeviceInternals, SpaceInternals } from '../line/internals.js';
import { textOf } from '../values/arguments.js';
import { OnememError } from '../values/errors.js';
import {
  copyInPlace,
  copyToShare,
  endUse,
  makeCopy,
  type PlainUse,
  plainBytes,
  useCopy,
  writersOf,
} from './plain-copies.js';
import { registrationOf } from './registration.js';
import type { StreamOrder } from './stream-order.js';

/** Where the bytes of a plain array lie in the space. */
export type StagedPlace = Pick<Place, 'array' | 'offset' | 'length' | 'bytes'>;

export class Staging {
  private readonly uses: PlainUse[] = [];
  /** Those whose elements are to be taken when their turn comes. */
  private readonly late: PlainUse[] = [];
  private waits = false;
  /** Why elements could not be taken. */
  private failure: WireError | null = null;

  /**
   * @param what the operation, for messages
   * @param device that uses the arrays; null: none
   * @param hasResults false: nothing comes back, whatever is said of an array
   */
  constructor(
    private readonly space: SpaceInternals,
    private readonly what: string,
    private readonly order: StreamOrder,
    private readonly device: DeviceInternals | null,
    private readonly hasResults = true,
  ) {}

  /** A place for a plain array: with its elements if they go `in`, for them if they go `back`. */
  stage(
    plain: NumericArray,
    type: ElementType,
    name: string,
    { in: reads, back: isResult }: StagedUse,
  ): StagedPlace {
    const { space, order, device } = this;
    const back = isResult && this.hasResults;
    const bytes = plainBytes(plain);
    const registration = registrationOf(space, plain);
    // What begins with zeros is not to be seen so before the launch begins.
    const itself = reads ? registration?.inPlaceFor(device) : null;
    const writers = writersOf(bytes);
    if (!writers.every((use) => order.isAfter(use))) throw this.conflict(name);
    const last = writers.at(-1);
    const inPlace = itself && registration && copyInPlace(plain, registration, itself);
    const canShare = last !== undefined && !inPlace;
    const shared = canShare ? copyToShare(bytes, type, last, space, order) : null;
    const copy = inPlace ?? shared ?? makeCopy(space, plain, type, device, registration);
    const use = useCopy(copy, bytes, order, back, registration);
    this.uses.push(use);
    const unfinished = writers.some((each) => !each.copy.staging.isInPlace);
    if (shared !== null) this.waits ||= back;
    else if (inPlace ? unfinished : reads && (last !== undefined || order.isBehindCall))
      this.late.push(use);
    else if (reads) this.takeNow(use, name);
    const { array } = copy.staging;
    const offset = array.offset + bytes.begin - copy.begin;
    return { array, offset, length: plain.byteLength / bytesOf(type), bytes: plain.byteLength };
  }

  /** Runs what stages; if it throws, the copies that were made are freed. */
  attempt<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** Frees the copies, of which nothing is wanted. */
  free(): void {
    for (const use of this.uses.splice(0)) endUse(use);
  }

  /** Whether this thread must take elements, or put results back, before the operation. */
  get hasStep(): boolean {
    return this.waits || this.late.length > 0;
  }

  /** Takes the elements whose turn has come; earlier results have been put back. */
  step(): WireError | null {
    try {
      for (const use of this.late) take(use);
      return null;
    } catch (error) {
      this.failure = this.goneError(
        'cannot begin, since elements of its arrays cannot be taken',
        error,
      );
      return this.failure;
    }
  }

  /** The operation has been given. */
  begin(sequence: number): void {
    for (const use of this.uses) use.sequence = sequence;
  }

  /** Puts the results back and frees the copies. Returns the event to see, if another one. */
  end(event: WireEvent): WireEvent | undefined {
    let error: WireError | null = null;
    for (const use of this.uses.splice(0)) {
      if (use.writes && event.result === 'done') error ??= this.putBack(use);
      endUse(use);
    }
    // The step is a part of the operation, which failed by it.
    if (event.result === 'cancelled') error = this.failure;
    return error === null ? undefined : { ...event, result: 'failed', error };
  }

  private putBack(use: PlainUse): WireError | null {
    // The last news may come when the space has been closed, and its memory is gone.
    if (this.space.isClosed) {
      const message = `${this.what} has ended, but the space was closed before its results were copied back`;
      return wireError('SPACE_CLOSED', message);
    }
    try {
      const { copy, begin } = use;
      copy.staging.take(begin - copy.begin, bytesIn(use));
      return null;
    } catch (error) {
      return this.goneError('has ended, but its results cannot be copied back', error);
    }
  }

  private goneError(what: string, error: unknown): WireError {
    if (error instanceof OnememError) {
      const { code, details } = error;
      if (code === 'DATA_LOST' && this.device?.isAlive === false) {
        const message = `${this.what} ${what}: they were in the memory of device ${this.device.name}, which is gone; the typed arrays are as they were before`;
        return wireError('DEVICE_LOST', message);
      }
      return wireError(code, `${this.what} ${what}: ${error.message}`, details);
    }
    const message = `${this.what} ${what}: ${textOf(error)}; was the array transferred or resized?`;
    return wireError('PLAIN_ARRAY_GONE', message);
  }

  private takeNow(use: PlainUse, name: string): void {
    try {
      take(use);
    } catch (error) {
      if (!(error instanceof OnememError)) throw error;
      const { code, message, details } = error;
      throw new OnememError(
        code,
        `cannot copy ${name} of ${this.what} into the space: ${message}`,
        details,
      );
    }
  }

  private conflict(name: string): OnememError {
    return new OnememError(
      'ARRAY_IN_USE',
      `cannot use ${name} of ${this.what}: an operation that has not ended writes this typed array, and nothing says which of the two comes ` +
        'first; await that one (event.synchronize()), give both to one stream, have this stream wait for its event, or use a managed array',
    );
  }
}

interface StagedUse {
  readonly in: boolean;
  readonly back: boolean;
}

/** The bytes of the program's own. Throws where its buffer has become too short for them. */
function bytesIn({ buffer, begin, end }: PlainUse): Uint8Array {
  return new Uint8Array(buffer, begin, end - begin);
}

/** Has their copy in the space be as they are. */
function take(use: PlainUse): void {
  const { copy, begin } = use;
  copy.staging.put(begin - copy.begin, bytesIn(use));
}
