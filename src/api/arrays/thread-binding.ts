/** Threads that are on the manager's CPU. */

import { currentCpu, noteBound } from '../../linux/threads/affinity.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { Client } from '../line/client.js';
import { checkOptions, isWhole, show } from '../values/arguments.js';
import { DISPOSE } from '../values/disposal.js';
import { argumentError, OnememError } from '../values/errors.js';
import { INSPECT, inspectHolding } from './parts/description.js';

/** Options of `space.bindThread`. */
export interface BindThreadOptions {
  /** The CPU; by default the manager's if that is bound, else the one on which the thread runs. */
  readonly cpu?: number;
}

const BIND_THREAD_OPTIONS: OptionNames<BindThreadOptions> = { cpu: true };

/** That of this thread; it may be of a space that has been closed since. */
let current: ThreadBinding | null = null;

/**
 * A thread that shares the manager's CPU, until `release()` or the close of the space.
 * @example
 * const binding = space.bindThread();
 * console.log(Number.isInteger(binding.cpu)); // true
 * binding.release();
 */
export class ThreadBinding {
  private released = false;

  /** @internal */
  constructor(
    private readonly client: Client,
    /** The CPU. */
    readonly cpu: number,
  ) {}

  /** @internal */
  get isOver(): boolean {
    return this.released || this.client.isClosed;
  }

  /** @internal Whether it is of this connection to a space. */
  isOf(client: Client): boolean {
    return this.client === client;
  }

  /**
   * Lets the thread run where it could before; the manager, too, after the last binding.
   * @example
   * const binding = space.bindThread();
   * binding.release();
   * console.log('free'); // free
   */
  release(): void {
    if (this.isOver) return;
    this.client.callUnlessClosed('releaseThread', null);
    this.released = true;
    noteBound(null);
  }

  /** @internal */
  [INSPECT](): string {
    return inspectHolding(
      'ThreadBinding',
      `CPU ${this.cpu}`,
      this.isOver ? null : 'binding.release()',
    );
  }

  [DISPOSE](): void {
    this.release();
  }
}

export function bindThread(client: Client, options: BindThreadOptions): ThreadBinding {
  checkOptions('bindThread()', options, BIND_THREAD_OPTIONS);
  const { cpu: wanted } = options;
  client.assertOpen('cannot bind the thread');
  if (current !== null && !current.isOver) {
    throw new OnememError(
      'THREAD_BOUND',
      `this thread is bound to CPU ${current.cpu} already; release() that first`,
      {
        managerCpu: current.cpu,
      },
    );
  }
  if (wanted !== undefined && !isWhole(wanted, 0)) {
    throw argumentError('CPU', `cpu is ${show(wanted)}; it must be the number of a CPU`);
  }
  const { cpu, cpus } = client.call('bindThread', { cpu: wanted ?? null, current: currentCpu() });
  noteBound(cpus);
  current = new ThreadBinding(client, cpu);
  return current;
}

export function releaseThread(client: Client): void {
  if (current?.isOf(client) === true) current.release();
}
