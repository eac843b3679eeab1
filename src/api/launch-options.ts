/** What is said of launches, and of the streams that they are given to. */
import type { OptionNames } from '../core/option-names.js';
import type { LaunchWay } from '../drivers/driver.js';
import type { LaunchSize } from './launch-size.js';

/** A launch covers a number of work items, or of workgroups: one of the two is given. */
export type LaunchOptions = LaunchSettings & (LaunchOfItems | LaunchOfWorkgroups);

interface LaunchOfItems {
  /**
   * How many work items there are: the kernel is called for parts of [0, size). In two or three dimensions for kernels in WGSL, such as
   * [width, height]; a function sees their product. Or elements of a managed `Uint32Array` that have one to three such numbers, as `counts.range(0, 1)`: they
   * are read when the turn of the launch has come, so that a kernel before it may have written them. Where one of them is 0 then, nothing runs, and no
   * array is emptied.
   */
  readonly size: LaunchSize;
  readonly workgroups?: undefined;
}

interface LaunchOfWorkgroups {
  /**
   * How many workgroups there are, on a GPU: a number, two or three of them, or elements of a managed `Uint32Array`
   * that have one to three, which are read when the turn of the launch has come. What a module writes for
   * `dispatchWorkgroupsIndirect` is such counts. A launch of workgroups runs as a whole.
   */
  readonly workgroups: LaunchSize;
  readonly size?: undefined;
}

interface LaunchSettings {
  /**
   * Only [begin, end) of them. A launch over a part does not empty its `out` arrays first, so that several launches can write one
   * array together: what none of them wrote reads as it did before.
   */
  readonly begin?: number;
  readonly end?: number;
  /**
   * Aborted, it ends the launch, and cancels what comes after it in its stream; `error.cause` is its reason. A launch that has not begun
   * is CANCELLED. One that runs is ended in the middle: it is ABORTED, and arrays that it was writing are indeterminate. A device that
   * cannot end a kernel (`capabilities.cancellation`) lets it finish.
   */
  readonly signal?: AbortSignal;
  /**
   * How many milliseconds the launch may run, from when its device has done everything before it; then it is ended with TIMEOUT, as
   * an aborted one. That of the stream unless said otherwise. Refused for a device that cannot end a kernel (NO_CANCELLATION): of a GPU's launches
   * those that have several parts or rounds end between two of them by `signal: AbortSignal.timeout(ms)`.
   */
  readonly timeoutMs?: number;
  /**
   * For debugging: runs the first part of the launch twice before it begins, on the device and here by the function itself, on two copies
   * of all arguments, and fails with KERNEL_DIFFERS where they do not do the same. The module of a kernel from a module is imported here, too. A
   * kernel that cannot be compared, as one that uses `memory`, is warned of (ONEMEM_NOT_VERIFIED). That of the space unless said otherwise.
   */
  readonly verify?: boolean;
  /**
   * How a GPU runs the launch, for tests and comparisons: 'direct', with all that it uses on the GPU; 'windowed', in parts; 'paged', with pages
   * of its read-only arrays brought as they are touched. What cannot be so is refused (DEVICE_MEMORY). Without it, the first way that fits.
   */
  readonly way?: LaunchWay;
}

export interface StreamOptions {
  /** Aborted, it cancels everything of the stream that has not begun, for good, and ends a launch that runs. */
  readonly signal?: AbortSignal;
  /** How many milliseconds each launch of the stream may run. */
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

export const STREAM_OPTIONS: OptionNames<StreamOptions> = { signal: true, timeoutMs: true };
