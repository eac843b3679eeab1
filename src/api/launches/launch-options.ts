/** What is said of launches, and of the streams that they are given to. */

import type { LaunchWay } from '../../drivers/wgsl-launch.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { LaunchSize } from './launch-size.js';

/** A launch covers a number of work items, or of workgroups: one of the two is given. */
export type LaunchOptions = LaunchSettings & (LaunchOfItems | LaunchOfWorkgroups);

interface LaunchOfItems {
  /**
   * Work items: the kernel runs for parts of [0, size). Two or three numbers for kernels in WGSL,
   * such as [width, height]. Or elements of a `Uint32Array` of the space, read when the launch's
   * turn comes; if one is 0, nothing runs.
   */
  readonly size: LaunchSize;
  readonly workgroups?: undefined;
}

interface LaunchOfWorkgroups {
  /**
   * Workgroups on a GPU, as `dispatchWorkgroups` takes them: numbers, or elements of a
   * `Uint32Array` of the space, read when the launch's turn comes. Such a launch runs as a whole.
   */
  readonly workgroups: LaunchSize;
  readonly size?: undefined;
}

interface LaunchSettings {
  /**
   * A part of the work. It does not empty `out` arrays, so several launches can write one array.
   */
  readonly begin?: number;
  readonly end?: number;
  /**
   * Ends the launch, and cancels later operations of its stream: CANCELLED before it runs, ABORTED
   * while it runs. A device that cannot end a kernel lets it finish.
   */
  readonly signal?: AbortSignal;
  /**
   * The most milliseconds that the launch may run (TIMEOUT); by default that of the stream. Refused
   * by devices that cannot end a kernel (NO_CANCELLATION).
   */
  readonly timeoutMs?: number;
  /**
   * For debugging: runs the first part on the device and here, on copies, and fails with
   * KERNEL_DIFFERS at the first difference. By default that of the space.
   */
  readonly verify?: boolean;
  /**
   * How a GPU runs the launch, for tests; by default the first of the three that fits (else
   * DEVICE_MEMORY).
   */
  readonly way?: LaunchWay;
}

/** Options of `space.stream`. */
export interface HostStreamOptions {
  /** Cancels all operations that have not begun, for good, and ends a running launch. */
  readonly signal?: AbortSignal;
}

/** Options of `device.stream`. */
export interface StreamOptions extends HostStreamOptions {
  /** The most milliseconds that each launch may run. */
  readonly timeoutMs?: number;
}

export const LAUNCH_OPTIONS: OptionNames<LaunchOptions> = {
  size: true,
  workgroups: true,
  begin: true,
  end: true,
  signal: true,
  timeoutMs: true,
  verify: true,
  way: true,
};

export const HOST_STREAM_OPTIONS: OptionNames<HostStreamOptions> = { signal: true };
export const STREAM_OPTIONS: OptionNames<StreamOptions> = { signal: true, timeoutMs: true };
