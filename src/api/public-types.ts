/** Types of arguments, options and results that name the classes which users hold. What does their work is in other files. */
import type { NumericArray } from '../core/elements.js';
import type { OptionNames } from '../core/option-names.js';
import type { NumpyType } from '../files/npy.js';
import type { Device } from './device.js';
import type { ArrayParameter, KernelParameters, ScalarParameter, TypedArrays } from './kernel.js';
import type { ManagedArray } from './managed-array.js';
import type { InvalidationEvent } from './notifier.js';
import type { ResidencyRun } from './residency.js';

/** A part of an array with the array, in elements. */
export interface ArrayRange<T extends NumericArray = NumericArray> {
  readonly array: ManagedArray<T>;
  readonly begin: number;
  readonly end: number;
}

/** Elements of managed arrays: all of one, a part of one, or what a view of one shows. */
export type ManagedElements<T extends NumericArray = NumericArray> = ManagedArray<T> | ArrayRange<T> | T;

/** Where a copy goes to or comes from: elements of a managed array, or a typed array of the program's own. */
export type CopyPlace = ManagedElements | NumericArray;

export interface CopyOptions {
  /** Whose memory the copied elements are to be in afterwards; where the destination is unless said otherwise. */
  readonly at?: Device | 'host';
  /** Aborted before the copy has begun, it cancels the copy, as that of a launch does. */
  readonly signal?: AbortSignal;
}

/**
 * What a launch takes for each parameter of a kernel: managed arrays, `x.range(a, b)` of them and views of them, which are used where
 * they are; other typed arrays, which are copied there and back; numbers. The kernel sees element `a` of the array as the first one of the
 * range. No two arguments may overlap if one of them is written.
 */
export type LaunchArguments<P extends KernelParameters> = {
  readonly [K in keyof P]: P[K] extends ArrayParameter<infer T, infer _U>
    ? ManagedElements<TypedArrays[T]>
    : P[K] extends ScalarParameter<infer T>
      ? T extends 'i64' | 'u64'
        ? bigint
        : number
      : never;
};

export interface Advice {
  /**
   * Mostly read: processors that read get copies of their own (read duplication), also where a kernel's parameter says that it might
   * write. Any write leaves one copy. False unsets it.
   */
  readonly readMostly?: boolean;
  /** The memory that keeps the pages longest when room is needed there, while their copies elsewhere go first. Null unsets it. */
  readonly preferredLocation?: Device | 'host' | null;
  /**
   * Devices that reach host memory in place instead of having pages migrate; all that were named before and are not now are unset, null
   * or [] unsets all. Takes effect at each device's next launch that uses the array. At most 8,192 blocks of 2 MiB a device, and only
   * for devices that can (`device.capabilities.remoteAccess`): elsewhere pages migrate, and `attributes` says so.
   */
  readonly accessedBy?: Device | readonly Device[] | null;
  /** How the elements are walked through: neighbours are brought along early ('sequential'), or not at all ('random'). */
  readonly pattern?: 'normal' | 'sequential' | 'random';
}

export interface WatchOptions<D = unknown> {
  /** Elements [begin, end), in whole pages; the whole array, with what it grows by, unless said otherwise. */
  readonly begin?: number;
  readonly end?: number;
  /** What happens on behalf of this processor is no news: a device that watches for itself knows what it does. */
  readonly owner?: Device | 'host';
  /** A module whose functions are called in the manager's thread before pages change: its export is a `CreateNotifier`. */
  readonly module?: URL | string;
  /** 'default' unless said otherwise. */
  readonly export?: string;
  /** For the module; copied by structured clone, so that shared memory is shared with it. */
  readonly data?: D;
  /**
   * Called in this thread when pages have changed, with all that has happened since it was last called. It is not called again before
   * it has returned, or its promise has settled. It keeps no program alive.
   */
  readonly onInvalidate?: (event: InvalidationEvent) => unknown;
  /** How many entries may wait for `onInvalidate`; 64 unless said otherwise. */
  readonly queue?: number;
  /** Called when the module is not called any more, with the reason, which is also printed. */
  readonly onDetached?: (reason: string) => unknown;
}

export const WATCH_OPTIONS: OptionNames<WatchOptions> = {
  begin: true,
  end: true,
  owner: true,
  module: true,
  export: true,
  data: true,
  onInvalidate: true,
  queue: true,
  onDetached: true,
};

export interface PointerAttributes {
  /** Name of the array. */
  readonly array: string;
  /** Index of the element that the address lies in, and bytes from the beginning of the array. */
  readonly element: number;
  readonly byteOffset: number;
  /** Of the page: as `residency()` says it. */
  readonly state: ResidencyRun['state'];
  readonly nodes: readonly string[];
  readonly access: Readonly<Record<string, 'read' | 'write'>>;
  /** It stays in the host's memory until it is unpinned. */
  readonly pinned: boolean;
  /** The memory that has the content: the only one that does, or the host's where it is one of several. Null when none has. */
  readonly owner: Device | 'host' | null;
  /** Where the page is for each device, by its name: at the same address, or null on a device whose memory has an order of its own. */
  readonly deviceAddresses: Readonly<Record<string, bigint | null>>;
}

/** An array over a `.npy` file, and what the file says about it. */
export interface NpyArray<T extends NumericArray = NumericArray> {
  readonly array: ManagedArray<T>;
  /** The extents, as NumPy's `a.shape`: [] for a single number. */
  readonly shape: readonly number[];
  /** As NumPy's `a.dtype.name`; an array of 'bool' is one of bytes that are 0 or 1. */
  readonly dtype: NumpyType;
}
