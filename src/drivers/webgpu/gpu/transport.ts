/** What a GPU does for its driver: buffers by number, bytes in and out, kernels. */

import type { AdapterFacts, Dispatch, Launched } from '../link/protocol.js';
import type { Waits } from './gpu.js';

/** How a kernel has run. */
export type Ran = Omit<Launched, 'launch'>;

/** What is to run, and the text of its module. */
export interface Order {
  readonly order: Dispatch;
  readonly source: string;
}

export interface Transport {
  readonly facts: AdapterFacts;
  /** Null: it does all by the event loop of the thread. */
  readonly waits: Waits | null;
  /** Resolves with the reason when the GPU is gone. What is under way may never end. */
  readonly lost: Promise<string>;
  /** Makes a buffer with any content. Where there is no memory for it, `write` says so. */
  create(buffer: number, bytes: number): Promise<void>;
  destroy(buffer: number): void;
  /** A buffer has another number from now on. What it holds is anything. */
  reuse(buffer: number, other: number): Promise<void>;
  /**
   * Fills bytes of a buffer, with zeros where there are none given. False: there is no memory for
   * the buffer.
   * @param keep has them be kept elsewhere then, until there is
   */
  write(
    buffer: number,
    offset: number,
    bytes: number,
    source: Uint8Array | null,
    keep: boolean,
  ): boolean;
  copy(
    from: number,
    fromOffset: number,
    to: number,
    toOffset: number,
    bytes: number,
  ): Promise<void>;
  /** Hands what a buffer holds now to `take`, whose memory is the transport's. */
  read(
    buffer: number,
    offset: number,
    bytes: number,
    take: (content: Uint8Array) => void,
  ): Promise<void>;
  /**
   * Has the GPU itself write what a buffer holds now to an address, at which nothing else reads or
   * writes until it is `there`. Null: not these bytes, which `read` is for.
   */
  readTo(
    buffer: number,
    offset: number,
    bytes: number,
    address: number,
    there: () => void,
  ): Promise<void> | null;
  /** Runs at most MOST_DISPATCHES kernels in order, up to a failure. Tells of all at the end. */
  dispatch(orders: readonly Order[]): Promise<Ran[]>;
  /** Why it cannot be run, if it cannot be compiled; null: it can. */
  failureOf(order: Order): Promise<Launched['failure']>;
  /** Resolves when everything that was asked for has been done. */
  idle(): Promise<void>;
  /** Has the GPU be lost, for tests. */
  lose(): void;
  /** Gives back what was made of the GPU's. The program that opened the GPU may go on with it. */
  release(): void;
}

/**
 * How each of so many kernels has run: those from one on have not, for one reason.
 * @param times of all, by a clock that is right only where all have run
 */
export function ransOf(
  count: number,
  failed: number,
  failure: Launched['failure'],
  times: readonly (number | undefined)[],
): Ran[] {
  return Array.from({ length: count }, (_, index): Ran => {
    if (index >= failed) return { failure };
    const gpuMs = times[index];
    return gpuMs === undefined ? { failure: null } : { failure: null, gpuMs };
  });
}
