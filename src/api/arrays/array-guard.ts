/** Modules that are asked before a processor gets a right to elements of an array. */
import type { OptionNames } from '../../messages/option-names.js';
import type { GuardReport, GuardSource } from '../../pager/protocol/guards.js';
import { exportOf, moduleUrl } from '../kernels/kernel.js';
import type { ArrayInternals } from '../line/internals.js';
import { checkOptions, checkSendable } from '../values/arguments.js';
import { ASYNC_DISPOSE } from '../values/disposal.js';
import { OnememError } from '../values/errors.js';
import { inspectHolding, printAs } from './parts/description.js';

/** Options of `array.guard`. */
export interface GuardOptions<D = unknown> {
  /** A module whose export is a `GuardFunction`. It runs in the manager's thread. */
  readonly module: URL | string;
  /** The export of the module; 'default' by default. */
  readonly export?: string;
  /** Passed with each question; copied once by structured clone. Shared memory stays shared. */
  readonly data?: D;
}

/** In messages. */
const EXAMPLE = "{ module: new URL('./guard.js', import.meta.url) }";
const OPTIONS: OptionNames<GuardOptions> = { module: true, export: true, data: true };

/**
 * A guard of an array; `array.guard` makes it.
 * @example
 * const x = space.array(Float32Array, 1024);
 * const module = 'data:text/javascript,export default ({ write }) => write && "note" || "allow"';
 * const guard = await x.guard({ module });
 * x.data[5] = 1;
 * console.log(guard.report().notes[0].write); // true
 * await guard.close();
 */
export class Guard {
  private closed = false;

  /** @internal */
  constructor(private readonly array: ArrayInternals) {}

  /** Whether the guard has ended: closed, or gone with its array or space. */
  get isClosed(): boolean {
    const { array } = this;
    this.closed ||= array.isFreed || this.ask() === null;
    return this.closed;
  }

  /**
   * What the guard was asked until now, and how it answered. Throws GUARD_CLOSED after its end.
   * @example
   * const x = space.array(Float32Array, 1024);
   * const guard = await x.guard({ module: 'data:text/javascript,export default () => "allow"' });
   * x.data[0] = 1;
   * console.log(guard.report().allowed); // 1
   * await guard.close();
   */
  report(): GuardReport {
    const report = this.isClosed ? null : this.ask();
    if (report !== null) return report;
    throw new OnememError(
      'GUARD_CLOSED',
      `the guard of array ${this.array.name} has been closed, or its array has been freed; ask before that`,
    );
  }

  /**
   * Ends the guard. Resolves when its array is used as all others are.
   * @example
   * const x = space.array(Float32Array, 1024);
   * const guard = await x.guard({ module: 'data:text/javascript,export default () => "allow"' });
   * await guard.close();
   * console.log(guard.isClosed); // true
   */
  async close(): Promise<void> {
    if (this.isClosed) return;
    this.closed = true;
    const { rangeId: range, space } = this.array;
    await space.client.awaitUnlessClosed(() => space.client.request('unguard', { range }));
  }

  private ask(): GuardReport | null {
    const { space, rangeId } = this.array;
    return space.client.callUnlessClosed('guardReport', { range: rangeId })?.report ?? null;
  }

  static {
    printAs(Guard, (guard, inspect) =>
      inspectHolding(
        `Guard of ${inspect(guard.array.name)}`,
        'what it was asked: guard.report()',
        guard.isClosed ? null : 'guard.close()',
      ),
    );
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.close();
  }
}

/** @internal */
export async function guardArray(array: ArrayInternals, options: GuardOptions): Promise<Guard> {
  checkOptions(`the guard of array ${array.name}`, options, OPTIONS, EXAMPLE);
  const source: GuardSource = {
    url: moduleUrl('GUARD_MODULE', options.module),
    exportName: exportOf('GUARD_MODULE', options.export),
    data: options.data,
  };
  const { name, rangeId: range } = array;
  const what = `data for the guard of array ${name} cannot be sent to the manager`;
  checkSendable('GUARD_DATA', what, options.data);
  await array.space.client.request('guard', { range, name, source });
  return new Guard(array);
}
