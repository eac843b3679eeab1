/**
 * What users hold: spaces, devices, arrays, streams and events, as interfaces, which name each
 * other since an array tells its space and a space makes arrays; and what their calls take and
 * give. The classes behind them know this file, and of each other only those that they make.
 */
import type { Readable, Writable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type {
  ElementType,
  NumericArray,
  ReadonlyView,
  WritableView,
  WrittenView,
} from '../core/basics/elements.js';
import type { NumpyType } from '../files/npy.js';
import type { NumaNode } from '../linux/memory/numa.js';
import type { OnememErrorCode } from '../messages/error-codes.js';
import type { ShareRights } from '../pager/protocol/attaching.js';
import type { ProcessorStats, SpaceHandle, SpaceStats } from '../pager/protocol/space.js';
import type { Attributes } from './arrays/advice.js';
import type { Guard, GuardOptions } from './arrays/array-guard.js';
import type { AsyncBuffer } from './arrays/bytes/byte-streams.js';
import type { TransferOptions } from './arrays/bytes/transfer.js';
import type { InvalidationEvent, Notifier } from './arrays/changes/notifier.js';
import type { YoungRun } from './arrays/changes/use-reports.js';
import type { WaitResult } from './arrays/changes/wait.js';
import type { FileArrayOptions, FileUse } from './arrays/files/file-array.js';
import type { OpenNpyOptions, SaveNpyOptions } from './arrays/files/npy.js';
import type { Hold, HoldOptions } from './arrays/hold.js';
import type { ArrayHandle } from './arrays/parts/array-handle.js';
import type { ArrayPart } from './arrays/parts/array-part.js';
import type { ArrayType } from './arrays/parts/array-type.js';
import type {
  ArrayDescription,
  DeviceDescription,
  SpaceDescription,
  StreamDescription,
  StreamEventDescription,
} from './arrays/parts/description.js';
import type { Pin, PinOptions } from './arrays/pin.js';
import type { ProvidedArrayOptions } from './arrays/provided-array.js';
import type { Rights } from './arrays/rights.js';
import type { BindThreadOptions, ThreadBinding } from './arrays/thread-binding.js';
import type {
  ArrayParameter,
  Kernel,
  KernelParameters,
  ScalarParameter,
  TypedArrays,
} from './kernels/kernel.js';
import type { UniformValueOf } from './kernels/uniform-parameters.js';
import type { HostStreamOptions, LaunchOptions, StreamOptions } from './launches/launch-options.js';
import type { RegisterableMemory, RegisterOptions, Registration } from './launches/registration.js';
import type { MetricsOptions } from './objects/prom-client.js';
import type { SpaceServer } from './objects/serve.js';
import type { EventsOptions, SpaceEvents } from './objects/space-events.js';
import type { DeviceSpecification } from './options/device-specification.js';
import type { Explanation, Recording, RecordOptions, SpaceReport } from './options/recording.js';
import type { SharedArrayOptions } from './options/sharing.js';
import type { ASYNC_DISPOSE, DISPOSE } from './values/disposal.js';
import type { FilePath } from './values/file-path.js';
import type { Residency, ResidencyRun } from './values/residency.js';

/** A part of an array: elements [begin, end). */
export interface ArrayRange<T extends NumericArray = NumericArray> {
  readonly array: ManagedArray<T>;
  readonly begin: number;
  readonly end: number;
}

/** A part of an array, with a view of it. */
export interface ViewedRange<T extends NumericArray = NumericArray> extends ArrayRange<T> {
  /** The elements, as `array.data.subarray(begin, end)`. */
  readonly data: T;
}

/** Elements of managed arrays: a whole array, a part, or a view. */
export type ManagedElements<T extends NumericArray = NumericArray> =
  | ManagedArray<T>
  | ArrayRange<T>
  | T;

/** Source or destination of a copy: managed elements, or a typed array of the program's own. */
export type CopyPlace = ManagedElements | NumericArray;

export interface CopyOptions {
  /** Whose memory has the result; by default that of the destination. */
  readonly at?: Device | 'host';
  /** Cancels a copy that has not begun. */
  readonly signal?: AbortSignal;
}

/**
 * One argument for each parameter of a kernel. Managed arrays, ranges and views are used in place.
 * Other typed arrays are copied there and back. Parameters of a number type take numbers (`bigint`
 * for i64 and u64). A written argument must not overlap another one (OVERLAPPING_ARGUMENTS).
 *
 * The program's own typed array is copied when the launch is given, or in its turn if an earlier
 * operation of its order writes it or calls a function. Results are put back when the launch has
 * ended well. Operations that nothing puts in order are refused if one writes it (ARRAY_IN_USE).
 */
export type LaunchArguments<P extends KernelParameters> = {
  readonly [K in keyof P]: P[K] extends ArrayParameter<infer T, infer U>
    ? ManagedElements<U extends 'in' ? TypedArrays[T] : WrittenView<TypedArrays[T]>>
    : P[K] extends ScalarParameter<infer T>
      ? T extends 'i64' | 'u64'
        ? bigint
        : number
      : UniformValueOf<P[K]>;
};

/** Advice on when pages move. It never changes what programs read. */
export interface Advice {
  /** Readers get copies of their own, even if a kernel declares `inout`. False unsets it. */
  readonly readMostly?: boolean;
  /** The memory that keeps the pages longest. Null unsets it. */
  readonly preferredLocation?: Device | 'host' | null;
  /**
   * Devices that use host memory in place, from their next launch on; null or [] unsets it. At most
   * 8,192 blocks of 2 MiB a device. Devices without `capabilities.remoteAccess` migrate pages as
   * usual.
   */
  readonly accessedBy?: Device | readonly Device[] | null;
  /** The order of accesses: neighbours come early ('sequential') or not at all ('random'). */
  readonly pattern?: 'normal' | 'sequential' | 'random';
}

/** Options of `array.watch`. */
export interface WatchOptions<D = unknown> {
  /** Elements [begin, end), in whole pages; by default the whole array, as it grows. */
  readonly begin?: number;
  readonly end?: number;
  /** Leaves out changes that happen on behalf of this processor. */
  readonly owner?: Device | 'host';
  /** A module whose export is a `CreateNotifier`. It runs in the manager's thread. */
  readonly module?: URL | string;
  /** The export of the module; 'default' by default. */
  readonly export?: string;
  /** Passed to the module by structured clone. Shared memory stays shared. */
  readonly data?: D;
  /** Called in this thread after pages have changed, with all changes since its last call. */
  readonly onInvalidate?: (event: InvalidationEvent) => unknown;
  /** The most entries that wait for `onInvalidate`; 64 by default. */
  readonly queue?: number;
  /** Called with the reason when the module is not called any more. */
  readonly onDetached?: (reason: string) => unknown;
}

/** What lies at an address. */
export interface PointerAttributes {
  /** Name of the array. */
  readonly array: string;
  /** Index of the element, and bytes from the beginning of the array. */
  readonly element: number;
  readonly byteOffset: number;
  /** Of the page, as in `residency()`. */
  readonly state: ResidencyRun['state'];
  readonly nodes: readonly string[];
  readonly access: Readonly<Record<string, 'read' | 'write'>>;
  /** Whether the page stays in host memory until it is unpinned. */
  readonly pinned: boolean;
  /** The memory with the content; the host's if it is one of several. Null if none has it. */
  readonly owner: Device | 'host' | null;
  /** The page's address on each device, by name. Null if the device has an order of its own. */
  readonly deviceAddresses: Readonly<Record<string, bigint | null>>;
}

/** An array over a `.npy` file. */
export interface NpyArray<T extends NumericArray = NumericArray> {
  readonly array: ManagedArray<T>;
  /** The extents, as `a.shape` of NumPy; [] for a single number. */
  readonly shape: readonly number[];
  /** As `a.dtype.name` of NumPy. 'bool' has bytes that are 0 or 1. */
  readonly dtype: NumpyType;
}

/** Options of `space.share()`. */
export interface ShareOptions {
  /** Whether processes may write, launch and allocate, or only read; 'write' by default. */
  readonly rights?: ShareRights;
  /** The arrays that the handle allows; all that the space has, now and later, by default. */
  readonly arrays?: readonly ManagedArray[];
}

/** What onemem knows of a `Table` of `apache-arrow`. */
export interface ArrowTable {
  readonly numRows: number;
  readonly schema: { readonly fields: readonly { readonly name: string }[] };
  getChild(name: string): ArrowColumn | null;
}

/** What onemem knows of a `Vector` of `apache-arrow`. */
export interface ArrowColumn {
  readonly length: number;
  readonly nullCount: number;
  readonly data: readonly { readonly length: number; readonly values: unknown }[];
}

/** A file of Arrow IPC, not read yet. */
export interface ArrowFile {
  /** A `Table` of `apache-arrow`, over the array. */
  readonly table: ArrowTable;
  /** All of the file. Keep it as long as the table. */
  readonly bytes: ManagedArray<ReadonlyView<Uint8Array>>;
}

/** A tensor of a file. */
export interface Tensor {
  readonly name: string;
  /** As the file calls it, such as 'F32', 'BF16' or 'Q4_K'. */
  readonly dtype: string;
  readonly shape: readonly number[];
  /** Where it begins in the file. */
  readonly byteOffset: number;
  readonly byteLength: number;
  /** Whether it begins at a multiple of its elements' size: only then can it be `mapped`. */
  readonly isAligned: boolean;
}

/** The tensors of a model file. Only the header has been read. */
export interface TensorFile {
  /** In the order of the file. */
  readonly tensors: readonly Tensor[];
  /** What else the header says. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /**
   * A tensor as an array over the file. Numbers that JavaScript has no typed array for are raw:
   * 'F16' and 'BF16' as Uint16Array, all others as bytes. Throws TENSOR for a name that is not
   * there, and FILE_ALIGNMENT for one that cannot be mapped.
   */
  array(
    name: string,
    options: FileUse & ({ readonly writable: true } | { readonly shared: true }),
  ): ManagedArray<NumericArray>;
  array(name: string, options?: FileUse): ManagedArray<ReadonlyView<NumericArray>>;
}

/** Options of `space.close`. */
export interface CloseOptions {
  /** After so many milliseconds running launches are ended; by default they may finish. */
  readonly timeoutMs?: number;
}

/** Options of `space.array`. */
export interface ArrayOptions {
  readonly name?: string;
  /** Elements up to which `resize` leaves the array at its address. It costs addresses only. */
  readonly maxLength?: number;
  /**
   * The array stays when the process that made it ends. Without it, an array that an attached
   * process made goes when that process has ended and no other one has a view of it.
   */
  readonly keep?: boolean;
  /** On which node of memory its pages are to lie in host memory; see `space.numa`. */
  readonly numa?: NumaOption;
}

/** Where pages of an array are to lie, on a machine of several nodes. */
export interface NumaOption {
  readonly node: number;
  /** Never on another node; without it, they may lie elsewhere if the node has no room. */
  readonly only?: boolean;
}

/** Two arrays that the live picture draws as points. */
export interface ServedPoints {
  /** Of the drawing; that of `y` by default. */
  readonly name?: string;
  /** Across; by default the index of the element. */
  readonly x?: ManagedArray;
  /** Up. */
  readonly y: ManagedArray;
}

/** Options of `space.serve`. */
export interface ServeOptions {
  /** From 1 to 65535; any that is free by default. */
  readonly port?: number;
  /**
   * Arrays whose elements the page draws as points while it is open, 20 times a second at most. Of
   * more than 8,192 elements it draws 64 pieces. It reads them as the CPU does: pages that only a
   * device has come to the host.
   */
  readonly points?: readonly ServedPoints[];
}

/**
 * A range of addresses for all processors, with its arrays and devices. `openSpace` opens it.
 * @example
 * import { openSpace } from 'onemem';
 *
 * const space = await openSpace({ hostMemory: '64MiB' });
 * const x = space.array(Float64Array, 1_000_000);
 * x.data[999_999] = 7;
 * console.log(x.data[999_999]); // 7
 * await space.close();
 */
export interface AddressSpace {
  /** All devices in the order in which they came, with dead and detached ones. */
  readonly devices: readonly Device[];
  /**
   * Another thread passes it to `attachSpace`, and so does another process that gets it as JSON, as
   * by `process.send()`.
   */
  readonly handle: SpaceHandle;
  readonly isClosed: boolean;
  /**
   * Nodes of memory (NUMA) of this machine: CPUs, bytes, free bytes, distances. Most machines have
   * one. The option `numa` of an array places it on one.
   * @example
   * const [{ node, cpus, freeBytes }] = space.numa;
   * console.log(node, cpus.length > 0, freeBytes > 0); // 0 true true
   */
  readonly numa: readonly NumaNode[];
  /**
   * Changes the budget of host memory, at least '32MiB', while the program runs. Resolves when
   * enough pages have left. Rejects with HOST_BUDGET if arrays or pins need more, or if nothing can
   * leave; then the old budget stays.
   * @example
   * await space.setHostMemory('256MiB');
   * console.log(space.stats().processors[0].budgetBytes); // 268435456
   */
  setHostMemory(bytes: number | string): Promise<void>;
  /**
   * Binds this thread and the manager to one CPU until `release()` or the close of the space. It
   * speeds up threads that wait for one fault after the other. Throws CPU for a CPU that cannot be
   * had, and THREAD_BOUND if the thread is bound already or the manager is bound elsewhere.
   * @example
   * const binding = space.bindThread();
   * console.log(binding.cpu >= 0); // true
   * binding.release();
   */
  bindThread(options?: BindThreadOptions): ThreadBinding;
  /**
   * Allocates `length` elements, 0 or more, all zero. Memory is taken by pages of 4 KiB when they
   * are written. Throws a RangeError if the budget (HOST_BUDGET) or the addresses have no room.
   * @example
   * const x = space.array(Float32Array, 1000, { name: 'x' });
   * x.data.fill(2);
   * console.log(x.length, x.byteLength, x.data[999]); // 1000 4000 2
   */
  array<T extends NumericArray>(
    type: ArrayType<T>,
    length: number,
    options?: ArrayOptions,
  ): ManagedArray<T>;
  /**
   * Allocates `length` bytes, all zero, for kernels that make views of their own. Throws as `array`
   * does.
   * @example
   * const raw = space.bytes(4096);
   * console.log(raw.data.length); // 4096
   */
  bytes(length: number, options?: ArrayOptions): ManagedArray<Uint8Array>;
  /**
   * An array over a file, read page by page on touch. It is private: with `writable: true` changes
   * stay in memory, with `shared: true` `flush` writes them to the file. `mapped: true` shows the
   * kernel's own memory of the file, which is the fastest way to read it. `create: length` makes or
   * empties the file and shares it; none of it is read. Throws TRAILING_BYTES, FILE_LOCKED (shared
   * twice), MAPPED_WRITABLE, FILE_ALIGNMENT, CREATE, or the error of Node.js. A file that becomes
   * shorter ends later touches with FILE_CHANGED.
   * @example
   * import { writeFileSync } from 'node:fs';
   * import { openSpace } from 'onemem';
   *
   * writeFileSync('numbers.bin', Float64Array.of(1, 2, 3));
   * const space = await openSpace();
   * const numbers = space.fileArray(Float64Array, 'numbers.bin');
   * console.log(numbers.length, numbers.data[2]); // 3 3
   * await space.close();
   */
  fileArray<T extends NumericArray>(
    type: ArrayType<T>,
    file: FilePath,
    options: FileArrayOptions &
      ({ readonly writable: true } | { readonly shared: true } | { readonly create: number }),
  ): ManagedArray<T>;
  fileArray<T extends NumericArray>(
    type: ArrayType<T>,
    file: FilePath,
    options?: FileArrayOptions,
  ): ManagedArray<ReadonlyView<T>>;
  /**
   * The tensors of a safetensors file; only the header is read. Throws TENSOR_FILE, or the error of
   * Node.js.
   * @example
   * import { writeFileSync } from 'node:fs';
   * import { openSpace } from 'onemem';
   *
   * const header = '{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}  ';
   * const length = new BigUint64Array([BigInt(header.length)]);
   * const content = [new Uint8Array(length.buffer), Buffer.from(header), new Uint8Array(8)];
   * writeFileSync('model.safetensors', Buffer.concat(content));
   * const space = await openSpace();
   * const model = space.openSafetensors('model.safetensors');
   * console.log(model.tensors[0].shape, model.array('w', { mapped: true }).data[1]); // [ 2 ] 0
   * await space.close();
   */
  openSafetensors(file: FilePath): TensorFile;
  /**
   * The tensors of a GGUF file, as those of `openSafetensors`, with the outermost extent first.
   * Quantized ones, such as 'Q4_K', are bytes. Throws TENSOR_FILE, or the error of Node.js.
   * @example
   * import { writeFileSync } from 'node:fs';
   * import { openSpace } from 'onemem';
   *
   * const header = Buffer.alloc(64);
   * header.write('GGUF');
   * header.writeUInt32LE(3, 4); // the version
   * header.writeUInt32LE(1, 8); // a tensor, and no metadata
   * header.writeUInt32LE(1, 24);
   * header.write('w', 32);
   * header.writeUInt32LE(1, 33); // one dimension
   * header.writeUInt32LE(2, 37); // of two elements of F32
   * writeFileSync('model.gguf', Buffer.concat([header, Buffer.from(Float32Array.of(1, 2).buffer)]));
   * const space = await openSpace();
   * const model = space.openGguf('model.gguf');
   * console.log(model.tensors[0].dtype, model.array('w', { mapped: true }).data[1]); // F32 2
   * await space.close();
   */
  openGguf(file: FilePath): TensorFile;
  /**
   * An Arrow IPC file as a table over an array, by the package `apache-arrow`. Columns are read
   * when they are looked at. Rejects with ARROW, or PACKAGE_MISSING.
   */
  openArrow(file: FilePath): Promise<ArrowFile>;
  /**
   * Copies the columns of a table of `apache-arrow` to arrays, each under its name. Throws ARROW
   * for a column that lacks values, or has no numbers.
   */
  fromArrow(table: ArrowTable): Record<string, ManagedArray>;
  /**
   * An array over a NumPy `.npy` file. Only the header is read. Element (i, j) of shape [rows,
   * columns] is `array.data[i * columns + j]`. `create: shape` makes a file of zeros that the array
   * shares. Throws UNSUPPORTED_ARRAY_FILE (with the NumPy
   * expression that converts the file), NOT_AN_ARRAY_FILE, TRUNCATED_ARRAY_FILE, or
   * TRAILING_BYTES.
   * @example
   * const saved = space.array(Float32Array, 6);
   * saved.data.set([1, 2, 3, 4, 5, 6]);
   * await space.saveNpy('rows.npy', saved, { shape: [2, 3] });
   * const { array, shape } = space.openNpy('rows.npy', { type: Float32Array });
   * console.log(shape, array.data[1 * shape[1] + 2]); // [ 2, 3 ] 6
   */
  openNpy<T extends NumericArray = NumericArray>(
    file: FilePath,
    options: OpenNpyOptions<T> &
      (
        | { readonly writable: true }
        | { readonly shared: true }
        | { readonly create: readonly number[] }
      ),
  ): NpyArray<T>;
  openNpy<T extends NumericArray = NumericArray>(
    file: FilePath,
    options?: OpenNpyOptions<T>,
  ): NpyArray<ReadonlyView<T>>;
  /**
   * Writes an array, or a range, to a `.npy` file, which replaces an old one only when it is
   * complete and on the disk. Resolves with the bytes written. Rejects with FILE_OWNER, HARD_LINKS,
   * FILE_NOT_WRITABLE or FILE_LOCKED if the old file cannot be replaced as it is.
   * @example
   * const x = space.array(Int32Array, 100);
   * console.log(await space.saveNpy('x.npy', x)); // 528
   */
  saveNpy(
    file: FilePath,
    source: ManagedArray | ArrayRange,
    options?: SaveNpyOptions,
  ): Promise<number>;
  /**
   * Writes all arrays to a file, which replaces an old one only when it is complete and on the disk.
   * `openSpace({ from: path })` opens it. Zeros that were never written take no room. Threads
   * should write to no array meanwhile. Resolves with the bytes of the file. Rejects as `saveNpy`.
   * @example
   * const kept = space.array(Int32Array, 3, { name: 'kept' });
   * kept.data.set([1, 2, 3]);
   * await space.save('saved.space');
   * const again = await openSpace({ from: 'saved.space' });
   * console.log(again.find('kept').data[2]); // 3
   * await again.close();
   */
  save(file: FilePath): Promise<number>;
  /**
   * An array whose pages an export of a module fills on touch, in a thread of its own. The function
   * must be pure, because dropped pages are asked for again. Rejects with PROVIDER_FAILED if the
   * module cannot be loaded. Errors of the function come out of the call that touched the pages.
   * @example
   * const module = 'data:text/javascript,export default ({ values, begin }) => values.forEach((_, i) => { values[i] = begin + i; })';
   * const counting = await space.providedArray(Float64Array, 1_000_000, { module });
   * console.log(counting.data[123_456]); // 123456
   */
  providedArray<T extends NumericArray, D = unknown>(
    type: ArrayType<T>,
    length: number,
    options: ProvidedArrayOptions<D> & { readonly writable: true },
  ): Promise<ManagedArray<T>>;
  providedArray<T extends NumericArray, D = unknown>(
    type: ArrayType<T>,
    length: number,
    options: ProvidedArrayOptions<D>,
  ): Promise<ManagedArray<ReadonlyView<T>>>;
  /**
   * Opens an array by name, whose elements programs on several machines share through a Valkey or
   * Redis server. Elements are 0 until written. Rejects with SHARED_SERVER if the server cannot be
   * used, and with SHARED_MISMATCH if the name has another type, length or block size. Calls that
   * need pages to stand still are refused (SHARED_ARRAY).
   */
  sharedArray<T extends NumericArray>(
    type: ArrayType<T>,
    length: number,
    options: SharedArrayOptions,
  ): Promise<SharedArray<T>>;
  /**
   * An array of another thread, from its handle.
   * @example
   * const x = space.array(Int32Array, 10);
   * const same = space.attachArray(x.handle);
   * same.data[3] = 4;
   * console.log(x.data[3]); // 4
   */
  // biome-ignore lint/suspicious/noExplicitAny: what came as a message has no type, and then neither has the array.
  attachArray<T extends NumericArray = any>(handle: ArrayHandle<T>): ManagedArray<T>;
  /**
   * A text by which other processes of this user attach to the space: `attachSpace(text)`. It
   * passes through an environment variable, an argument or a message. With `rights: 'read'` they
   * can neither store nor change anything; with `arrays` they reach these alone. Both guard against
   * mistakes: a process of the same user can read this process's memory anyway.
   * @example
   * const text = space.share({ rights: 'read' });
   * console.log(text.startsWith('onemem:')); // true
   */
  share(options?: ShareOptions): string;
  /**
   * The array of that name, made by any thread or process; the last one if several have it. Null:
   * there is none, or it is being resized.
   * @example
   * space.array(Float64Array, 10, { name: 'table' });
   * console.log(space.find('table')?.length); // 10
   */
  // biome-ignore lint/suspicious/noExplicitAny: a name says nothing of the type of the elements.
  find<T extends NumericArray = any>(name: string): ManagedArray<T> | null;
  /**
   * Stops this thread while an element has `value`, until `notify` or `timeoutMs`. It may return
   * 'ok' without a reason: look at the element again. Changes by devices are noticed within 0.2 s.
   * Throws ACCESS_DENIED, or the code of a page that cannot be had.
   * @example
   * const flag = space.array(Int32Array, 1);
   * console.log(space.wait(flag, 0, 1), space.wait(flag, 0, 0, 10)); // not-equal timed-out
   */
  wait(
    array: ManagedArray<Int32Array> | ManagedArray<Uint32Array>,
    index: number,
    value: number,
    timeoutMs?: number,
  ): WaitResult;
  /**
   * Wakes up to `count` threads that wait for an element, all by default, and returns how many
   * slept. Change the element first.
   * @example
   * const flag = space.array(Int32Array, 1);
   * Atomics.store(flag.data, 0, 1);
   * console.log(space.notify(flag, 0)); // 0
   */
  notify(
    array: ManagedArray<Int32Array> | ManagedArray<Uint32Array>,
    index: number,
    count?: number,
  ): number;
  /**
   * The array, element and page at an address; null if no array has it. Faults nothing in.
   * @example
   * const x = space.array(Float32Array, 10, { name: 'measured' });
   * console.log(space.pointerAttributes(x.addressOf(3))?.element); // 3
   */
  pointerAttributes(address: bigint): PointerAttributes | null;
  /**
   * Adds a device. Every thread then has it in `space.devices`. Rejects with DEVICE_START if it
   * does not come up, with DEVICES beyond 15 devices, and with DEVICE_NAME for a name that is
   * taken.
   * @example
   * const added = await space.addDevice({ kind: 'simulated', memory: '8MiB', name: 'small' });
   * console.log(added.name, added.memory); // small 8388608
   * await added.detach();
   */
  addDevice(specification: DeviceSpecification): Promise<Device>;
  /**
   * Has the space know memory that others made, so that it is used in place or over memory that is
   * kept for it. Throws REGISTER and REGISTER_SIZE for what cannot be, REGISTERED where it overlaps
   * memory that this thread has registered, and MEMORY_LOCK.
   * @example
   * const { Memory } = globalThis.WebAssembly;
   * const memory = new Memory({ initial: 16 });
   * const registration = space.register(memory);
   * console.log(registration.mode, registration.bytes); // in place 1048576
   * registration.unregister();
   */
  register(memory: RegisterableMemory, options?: RegisterOptions): Registration;
  /**
   * A stream of the host: copies, prefetches, functions, discards and frees in order, also in a
   * space without devices. It waits for events of any stream of the space.
   * @example
   * const x = space.array(Int32Array, 4);
   * const own = space.stream();
   * own.copy(x, Int32Array.of(1, 2, 3, 4));
   * own.call(() => console.log(x.data[3])); // 4
   * await own.synchronize();
   */
  stream(options?: HostStreamOptions): HostStream;
  /**
   * Faults, bytes moved and memory of every processor since the space was opened.
   * @example
   * console.log(space.stats().processors[0].name); // host
   */
  stats(): SpaceStats;
  /**
   * The counters of `stats()` in the text format of Prometheus, for the program's own `/metrics`.
   * @example
   * console.log(space.metrics().includes('# TYPE onemem_faults_total counter')); // true
   */
  metrics(): string;
  /**
   * Has the package `prom-client` collect these counters, too: `register.metrics()` reads them each
   * time. Several spaces share the metrics, told apart by the label `space`; one that is closed is
   * left out. Rejects with PACKAGE_MISSING without the package.
   * @example
   * import { openSpace } from 'onemem';
   * import { register } from 'prom-client';
   *
   * const space = await openSpace();
   * await space.collectMetrics();
   * console.log((await register.metrics()).includes('onemem_faults_total{')); // true
   * await space.close();
   */
  collectMetrics(options?: MetricsOptions): Promise<void>;
  /**
   * Writes moves of pages down in a file, with their causes and times, until `stop()`: for `onemem
   * explain` and `onemem view`. It has names of arrays and kernels, and no content. A disk that is
   * full ends the recording with a warning, and not the program. Rejects with RECORDING if the file
   * cannot be written, and with SIZE or OPTIONS.
   * @example
   * const recording = await space.record('run.rec', { limit: '64MiB' });
   * space.array(Float32Array, 1000).data.fill(1);
   * const { bytes, failure } = await recording.stop();
   * console.log(bytes > 0, failure); // true null
   */
  record(file: FilePath, options?: RecordOptions): Promise<Recording>;
  /**
   * What moves of pages cost, which evictions were regretted, and what to change, of the last moves
   * that the space keeps: by `openSpace({ history })`, or while it records. Rejects with NO_HISTORY
   * if it keeps none.
   * @example
   * import { openSpace } from 'onemem';
   *
   * const space = await openSpace({ history: '16MiB' });
   * space.array(Float32Array, 1000, { name: 'x' }).data.fill(1);
   * const { arrays, text } = await space.report();
   * console.log(arrays[0].name, text.includes('evictions')); // x true
   * await space.close();
   */
  report(): Promise<SpaceReport>;
  /**
   * Where the page of an element is, since when and why, with its last moves and their causes.
   * Rejects with NO_HISTORY if the space keeps no moves, with ARRAY, ARRAY_INDEX, FOREIGN_ARRAY or
   * USE_AFTER_FREE.
   * @example
   * import { openSpace } from 'onemem';
   *
   * const space = await openSpace({ history: '16MiB' });
   * const x = space.array(Float32Array, 1000, { name: 'x' });
   * x.data[5] = 1;
   * const { memories, text } = await space.explain(x, 5);
   * console.log(memories, text.includes('a write of x[0] by host')); // [ 'host' ] true
   * await space.close();
   */
  explain(array: ManagedArray, element: number): Promise<Explanation>;
  /**
   * Serves the live picture of the space to a browser of this machine: addresses by time, memory,
   * transfers and launches, as `onemem view` shows them of a file; `metrics` at the end of the
   * address gives the counters. Rejects with PORT, OPTIONS, SERVE or SPACE_CLOSED.
   * @example
   * const { url } = await space.serve();
   * console.log(/^http:.*\/$/.test(url)); // true
   */
  serve(options?: ServeOptions): Promise<SpaceServer>;
  /**
   * Tells what the program may act on, while it runs: launches, evictions, thrashing, little room,
   * bursts of faults. Rejects with OPTIONS, SERVE or SPACE_CLOSED.
   * @example
   * const events = await space.events();
   * events.on('headroom', ({ memory, isLow }) => console.warn(memory, isLow));
   * console.log(events.eventNames()); // [ 'headroom' ]
   */
  events(options?: EventsOptions): Promise<SpaceEvents>;
  /**
   * Throws if the manager's books do not agree with themselves. For tests and bug reports.
   * @example
   * space.checkInvariants();
   * console.log('the books agree'); // the books agree
   */
  checkInvariants(): void;
  /**
   * Waits for running launches, cancels others (SPACE_CLOSED), flushes shared files, and ends the
   * devices. Views that are left read zeros. Rejects with FLUSH_FAILED or FILE_CHANGED if a file
   * cannot be written: the space stays open, and a second call gives up what a shorter file cannot
   * take. Rejects with NODE_LOST or DATA_LOST if a shared array could not be flushed.
   * @example
   * import { openSpace } from 'onemem';
   *
   * const space = await openSpace();
   * await space.close();
   * console.log(space.isClosed); // true
   */
  close(options?: CloseOptions): Promise<void>;
  [ASYNC_DISPOSE](): Promise<void>;
  /**
   * A description, for `JSON.stringify`.
   * @example
   * console.log(JSON.parse(JSON.stringify(space)).state); // open
   */
  toJSON(): SpaceDescription;
  /** The same in one line. */
  toString(): string;
}

/** What a device can do. */
export interface DeviceCapabilities {
  /** Whether it has page faults: a launch may then use more than its memory. */
  readonly pageFaults: boolean;
  /** Whether `Atomics` in a kernel work together with those of the CPU. */
  readonly atomics: boolean;
  /** Whether kernels can use host memory in place (`accessedBy`). */
  readonly remoteAccess: boolean;
  /**
   * Whether small writes of the CPU, to pages in many places, go to it in one transfer when it next
   * uses them. False where each piece is a copy by a CPU, as to a process device: there a transfer
   * costs nothing that could be shared.
   */
  readonly writeCombining: boolean;
  /**
   * Whether typed arrays of the program's own, as arguments, are copied straight into its memory and
   * back. Otherwise they go over pages of host memory.
   */
  readonly directCopies: boolean;
  /**
   * Whether kernels use registered memory of WebAssembly where it lies, as `in` and `inout`
   * arguments. Otherwise it is copied.
   */
  readonly registeredInPlace: boolean;
  /** Whether a running launch can be ended. */
  readonly cancellation: boolean;
  /** What it runs: functions, or modules in WGSL. */
  readonly kernels: 'functions' | 'wgsl';
  /** The unit in which content moves, in bytes. */
  readonly pageBytes: number;
  /**
   * The unit in which it gets memory, maps pages and gives both back, in bytes: `pageBytes`, or more
   * where its hardware has larger pages. It maps no more than 2 MiB at once.
   */
  readonly granularityBytes: number;
  /** Whether its memory can be read after its death. */
  readonly memorySurvives: boolean;
  /** Threads that run kernels. */
  readonly units: number;
}

/** Memory of a device now, in bytes. */
export interface DeviceMemory {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

/** What would become of a launch, by `device.estimate`. Bytes are counted in whole pages. */
export interface LaunchEstimate {
  /**
   * As a whole, in parts with windows of its arrays, with pages of its arrays as they are touched,
   * or not at all.
   */
  readonly way: 'direct' | 'windowed' | 'paged' | 'refused';
  /** Parts, which run one after the other; 0 for a launch that is refused or has nothing to do. */
  readonly parts: number;
  /**
   * 'none': all that a part uses is there when it begins. 'faults': pages come by page faults,
   * since the arguments are larger than the device. 'planned': numbers tell before a part runs
   * which pages it touches. 'rounds': a part runs again when the pages have come that it lacked.
   */
  readonly paging: 'none' | 'faults' | 'planned' | 'rounds';
  /**
   * Bytes that go to the device if it has none of the arrays yet, and a part finds what the part
   * before it had. With page faults no more than these. Null: what arrays hold decides.
   */
  readonly bytesIn: number | null;
  /** Bytes that come home when the results are touched. Null: what arrays hold decides. */
  readonly bytesOut: number | null;
  /** Why the launch is paged and not cut, or why it is refused; else null. */
  readonly reason: string | null;
  /** What the launch would reject with; null: it is not refused. */
  readonly error: (Error & { readonly code: OnememErrorCode }) | null;
}

/**
 * A processor with memory of its own that runs kernels.
 * @example
 * import { f32, kernel, openSpace } from 'onemem';
 *
 * const double = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
 *   for (let i = begin; i < end; i++) x[i] *= 2;
 * });
 * const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
 * const x = space.array(Float32Array, 1000);
 * x.data.fill(4);
 * await space.devices[0].run(double, { x }, { size: x.length });
 * console.log(x.data[0]); // 8
 * await space.close();
 */
export interface Device {
  readonly space: AddressSpace;
  readonly name: string;
  /** 'process', 'simulated', 'webgpu', or the name that a custom driver gives. */
  readonly kind: string;
  /** Its memory, in bytes. */
  readonly memory: number;
  readonly units: number;
  /** Whether a launch may use more than its memory. */
  readonly pageFaults: boolean;
  /** The process of the device; null if it has none. */
  readonly pid: number | null;
  /**
   * The node of memory (NUMA) beside which the device is: of the CPUs on which its process may run,
   * or of the machine's GPUs. Null if there are several, or the machine does not tell.
   */
  readonly numaNode: number | null;
  /** What the device can do, by its driver's description. */
  readonly capabilities: DeviceCapabilities;
  /**
   * Its memory now. Memory that is not free comes back by eviction when it is needed.
   * @example
   * const { totalBytes, freeBytes } = device.memoryInfo();
   * console.log(totalBytes, freeBytes <= totalBytes); // 16777216 true
   */
  memoryInfo(): DeviceMemory;
  /**
   * A new stream of operations on this device.
   * @example
   * const x = space.array(Float32Array, 1024);
   * const own = device.stream({ timeoutMs: 1000 });
   * own.prefetch(x);
   * await own.synchronize();
   * console.log(x.residency().runs.length); // 1
   */
  stream(options?: StreamOptions): Stream;
  /**
   * Runs a kernel and waits for it. Rejects with the launch's own error: KERNEL_ERROR,
   * DEVICE_MEMORY, ACCESS_DENIED, ABORTED, TIMEOUT, DEVICE_LOST and others.
   * @example
   * const add = kernel({ x: f32.inout, by: f32 }, ({ x, by }, { begin, end }) => {
   *   for (let i = begin; i < end; i++) x[i] += by;
   * });
   * const x = space.array(Float32Array, 100);
   * await device.run(add, { x, by: 5 }, { size: x.length });
   * console.log(x.data[99]); // 5
   */
  run<P extends KernelParameters>(
    kernel: Kernel<P>,
    args: LaunchArguments<P>,
    options: LaunchOptions,
  ): Promise<void>;
  /**
   * Tells what would become of a launch, by the checks and the planning of the launch itself.
   * Nothing runs and no array changes; numbers that say what is touched are read. Wrong arguments
   * reject as they do in `run`.
   * @example
   * const add = kernel({ x: f32.inout, by: f32 }, ({ x, by }, { begin, end }) => {
   *   for (let i = begin; i < end; i++) x[i] += by;
   * });
   * const x = space.array(Float32Array, 100);
   * const { way, parts, paging } = await device.estimate(add, { x, by: 5 }, { size: x.length });
   * console.log(way, parts, paging); // direct 1 none
   */
  estimate<P extends KernelParameters>(
    kernel: Kernel<P>,
    args: LaunchArguments<P>,
    options: LaunchOptions,
  ): Promise<LaunchEstimate>;
  /**
   * Brings every page of the device home, then ends it. Waiting launches fail with DEVICE_DETACHED.
   * @example
   * const other = await space.addDevice({ kind: 'process', memory: '8MiB', name: 'other' });
   * await other.detach();
   * console.log(space.devices.includes(other)); // true
   */
  detach(): Promise<void>;
  /**
   * Starts the device again with its options, after its death or `detach()`; one that lives is
   * ended first. The object and its streams go on. Rejects with DEVICE_START if it does not come
   * up.
   * @example
   * const mortal = await space.addDevice({ kind: 'process', memory: '8MiB', name: 'mortal' });
   * mortal.kill();
   * await mortal.restart();
   * console.log(mortal.memoryInfo().totalBytes); // 8388608
   * await mortal.detach();
   */
  restart(): Promise<void>;
  /** Ends the device at once, as `kill -9` does. For tests. */
  kill(): void;
  /**
   * Faults, bytes moved, launches and memory of this device.
   * @example
   * console.log(device.stats().kind); // process
   */
  stats(): ProcessorStats;
  /**
   * A description, for `JSON.stringify`.
   * @example
   * console.log(JSON.parse(JSON.stringify(device)).kind); // process
   */
  toJSON(): DeviceDescription;
  /** The same in one line. */
  toString(): string;
}

/** Options of `array.flush`. */
export interface FlushOptions {
  /** Elements; all by default. Pages are written as a whole. */
  readonly begin?: number;
  readonly end?: number;
  /** Waits until the file would survive a crash of the machine (fdatasync). */
  readonly durable?: boolean;
}

/**
 * An array whose pages move to the processor that touches them. `space.array` and its relatives
 * make it.
 * @example
 * import { openSpace } from 'onemem';
 *
 * const space = await openSpace();
 * const x = space.array(Int32Array, 1_000_000, { name: 'x' });
 * x.data.fill(1);
 * console.log(x.data.reduce((a, b) => a + b)); // 1000000
 * await space.close();
 */
export interface ManagedArray<T extends NumericArray = NumericArray> {
  readonly space: AddressSpace;
  readonly type: ElementType;
  readonly name: string;
  /** True after a launch that wrote it ended early: some elements are new, some old. */
  indeterminate: boolean;
  /** Elements. */
  readonly length: number;
  readonly byteLength: number;
  /** The address of the first element, the same for every processor. */
  readonly address: bigint;
  /**
   * The address of an element.
   * @example
   * const x = space.array(Float64Array, 10);
   * console.log(x.addressOf(3) - x.address); // 24n
   */
  addressOf(index: number): bigint;
  /**
   * The index of the element at an address, or -1 outside of the array.
   * @example
   * const x = space.array(Float64Array, 10);
   * console.log(x.indexAt(x.address + 24n), x.indexAt(0n)); // 3 -1
   */
  indexAt(address: bigint): number;
  readonly isFreed: boolean;
  /**
   * The elements, as a typed array: the same object at every use. After `free` or the close of the
   * space a view reads zeros, and a store through it ends the process with a message. If the view's
   * buffer is transferred, `data` is another view of the same elements.
   */
  readonly data: T;
  /** For `postMessage`: another thread passes it to `attachArray`. */
  readonly handle: ArrayHandle<T>;
  /**
   * Elements [begin, end), as an argument of launches and copies.
   * @example
   * const x = space.array(Float32Array, 100);
   * const part = x.range(10, 20);
   * part.data.fill(1);
   * console.log(x.data[9], x.data[10], part.data.length); // 0 1 10
   */
  range(begin?: number, end?: number): ViewedRange<T>;
  /**
   * Where the pages of a part are, and who may use them. Faults nothing in.
   * @example
   * const x = space.array(Float32Array, 1024);
   * x.data[0] = 1;
   * console.log(x.residency().runs[0].state, x.residency().runs[0].nodes); // resident [ 'host' ]
   */
  residency(part?: ArrayPart): Residency;
  /**
   * Elements that may have been written since the array was made, emptied, flushed or read, in
   * whole pages. Faults nothing in.
   * @example
   * const x = space.array(Float32Array, 4096);
   * x.data[0] = 1;
   * console.log(x.dirty()[0].begin); // 0
   */
  dirty(part?: ArrayPart): { begin: number; end: number }[];
  /**
   * Which processors used which blocks of 2 MiB since the last call, by faults and launches.
   * `clear: false` leaves the marks for the next caller.
   * @example
   * const x = space.array(Float32Array, 1024);
   * x.data[0] = 1;
   * console.log(x.young()[0].processors); // [ 'host' ]
   */
  young(options?: ArrayPart & { readonly clear?: boolean }): YoungRun[];
  /**
   * Subscribes to the loss of rights and content of pages, by module, number or event. Resolves
   * when the subscription is in force. Rejects with NOTIFIER_MODULE if its module cannot be loaded.
   * @example
   * const x = space.array(Float32Array, 1024);
   * x.data.fill(1);
   * const notifier = await x.watch();
   * const begun = notifier.readBegin();
   * await x.discard();
   * console.log(notifier.readRetry(begun)); // true
   * notifier.close();
   */
  watch<D = unknown>(options?: WatchOptions<D>): Promise<Notifier>;
  /**
   * Gives back the array's memory, or the whole pages within a part. Returns the freed elements.
   * Throws NO_WHOLE_PAGE for a part without one, and USE_AFTER_FREE for a freed part.
   * @example
   * const x = space.array(Float32Array, 4096);
   * console.log(x.free({ begin: 100, end: 3000 })); // { begin: 1024, end: 2048 }
   * x.free();
   * console.log(x.isFreed); // true
   */
  free(part?: ArrayPart): { begin: number; end: number };
  /**
   * Fills the array, or a part, from an open file, pipe or socket, and resolves with the bytes
   * read. Safe without privilege. Rejects with ACCESS_DENIED, EBADF and other errors of the file.
   * @example
   * import { closeSync, openSync, writeFileSync } from 'node:fs';
   * import { openSpace } from 'onemem';
   *
   * writeFileSync('input.bin', Float32Array.of(1, 2, 3));
   * const space = await openSpace();
   * const x = space.array(Float32Array, 3);
   * const fd = openSync('input.bin', 'r');
   * console.log(await x.readFrom(fd), x.data[2]); // 12 3
   * closeSync(fd);
   * await space.close();
   */
  readFrom(fd: number, options?: TransferOptions): Promise<number>;
  /**
   * Writes the array, or a part, to an open file, pipe or socket, and resolves with the bytes
   * written. Safe without privilege. Rejects with DATA_LOST, ACCESS_DENIED and errors of the file.
   * @example
   * import { closeSync, openSync } from 'node:fs';
   * import { openSpace } from 'onemem';
   *
   * const space = await openSpace();
   * const x = space.array(Float32Array, 3);
   * const fd = openSync('output.bin', 'w');
   * console.log(await x.writeTo(fd)); // 12
   * closeSync(fd);
   * await space.close();
   */
  writeTo(fd: number, options?: TransferOptions): Promise<number>;
  /**
   * Writes the changed pages of a shared file array to its file, and resolves with the bytes
   * written. Data written meanwhile is in this flush or the next. Rejects with FLUSH_FAILED or
   * FILE_CHANGED; everything is then still in memory.
   * @example
   * import { readFileSync, writeFileSync } from 'node:fs';
   * import { openSpace } from 'onemem';
   *
   * writeFileSync('shared.bin', new Uint8Array(16));
   * const space = await openSpace();
   * const bytes = space.fileArray(Uint8Array, 'shared.bin', { shared: true });
   * bytes.data[15] = 9;
   * await bytes.flush();
   * console.log(readFileSync('shared.bin')[15]); // 9
   * await space.close();
   */
  flush(options?: FlushOptions): Promise<number>;
  /**
   * Shows what the file holds now; pages are read again on touch. Rejects with UNFLUSHED_CHANGES,
   * DATA_LOST or FILE_CHANGED, unless `discard` gives up this program's changes.
   * @example
   * import { writeFileSync } from 'node:fs';
   * import { openSpace } from 'onemem';
   *
   * writeFileSync('other.bin', Uint8Array.of(1));
   * const space = await openSpace();
   * const bytes = space.fileArray(Uint8Array, 'other.bin');
   * console.log(bytes.data[0]); // 1
   * writeFileSync('other.bin', Uint8Array.of(2));
   * await bytes.reload();
   * console.log(bytes.data[0]); // 2
   * await space.close();
   */
  reload(options?: { readonly discard?: boolean }): Promise<void>;
  /**
   * Limits what the CPU, devices and transfers may do, until 'readwrite' undoes it. A part begins
   * and ends at pages, or at the array's end; otherwise a RangeError names the nearest places.
   * Resolves with the elements when no processor has more. A launch that does more fails
   * (ACCESS_DENIED); a load or store ends the process.
   * @example
   * const x = space.array(Float32Array, 1024);
   * console.log(await x.protect('read')); // { begin: 0, end: 1024 }
   */
  protect(rights: Rights, part?: ArrayPart): Promise<{ begin: number; end: number }>;
  /**
   * Has a module asked before a processor gets a right: at the first touch of a page by a thread,
   * before a launch, a copy, a prefetch, a hold or a transfer. What it refuses is denied as by
   * `protect`. Resolves when nobody has a right from before. Rejects with GUARD_MODULE, GUARDED,
   * ARRAY_IN_USE and MAPPED_ARRAY.
   * @example
   * const x = space.array(Float32Array, 1024);
   * const module = 'data:text/javascript,export default ({ write }) => write && "note" || "allow"';
   * const guard = await x.guard({ module });
   * x.data[5] = 1;
   * console.log(guard.report().noted); // 1
   * await guard.close();
   */
  guard<D = unknown>(options: GuardOptions<D>): Promise<Guard>;
  /**
   * Forgets the content of the array, or of the whole pages within a part: they read 0. Nothing is
   * copied. Resolves with the elements. Throws NO_WHOLE_PAGE for a part without a whole page.
   * @example
   * const x = space.array(Float32Array, 1024);
   * x.data.fill(1);
   * await x.discard();
   * console.log(x.data[0]); // 0
   */
  discard(part?: ArrayPart): Promise<{ begin: number; end: number }>;
  /**
   * Makes the array longer or shorter; new elements are 0. Up to `maxLength` it stays at its
   * address, beyond that it moves. Take `data` anew. Rejects with PINNED, NOT_RESIZABLE (files,
   * providers), ARRAY_IN_USE or HOST_BUDGET; the array is then as it was. Handles from before a
   * move are stale (STALE_HANDLE).
   * @example
   * const x = space.array(Float32Array, 100, { maxLength: 1000 });
   * await x.resize(1000);
   * console.log(x.data.length); // 1000
   */
  resize(length: number): Promise<void>;
  /**
   * Brings pages home and keeps them in host memory until every pin has ended. Devices may read
   * them; a launch that writes them fails (PINNED). Rejects with HOST_BUDGET, MEMORY_LOCK, or the
   * code of a page that cannot be had.
   * @example
   * const x = space.array(Float32Array, 1024);
   * const pin = await x.pin();
   * console.log(pin.bytes); // 4096
   * pin.unpin();
   */
  pin(options?: PinOptions): Promise<Pin>;
  /**
   * Pins a part and gives its bytes, for sockets, `fs` and native addons. Rejects as `pin` does,
   * and with ACCESS_DENIED if `writable` elements may not be written.
   * @example
   * import { writeFileSync } from 'node:fs';
   * import { openSpace } from 'onemem';
   *
   * const space = await openSpace();
   * const x = space.array(Uint8Array, 4096);
   * x.data.fill(65);
   * const held = await x.hold({ begin: 0, end: 3 });
   * writeFileSync('held.txt', held.bytes);
   * console.log(held.bytes.toString()); // AAA
   * held.release();
   * await space.close();
   */
  hold(options?: HoldOptions): Promise<Hold>;
  /**
   * The elements as bytes, in order, for `pipe` and `pipeline`. The stream fails with the code of a
   * page that cannot be had, or when the array is freed.
   * @example
   * const x = space.array(Uint8Array, 5);
   * x.data.set([1, 2, 3, 4, 5]);
   * const chunks = await x.createReadStream({ begin: 1, end: 4 }).toArray();
   * console.log(Buffer.concat(chunks)); // <Buffer 02 03 04>
   */
  createReadStream(part?: ArrayPart): Readable;
  /**
   * Fills the elements with bytes, in order, for `pipe` and `pipeline`. Elements beyond the last
   * byte keep their values. The stream fails with ARRAY_RANGE if more come than the elements have,
   * or with the code of a page that cannot be written.
   * @example
   * import { Readable } from 'node:stream';
   * import { pipeline } from 'node:stream/promises';
   * import { openSpace } from 'onemem';
   *
   * const space = await openSpace();
   * const x = space.array(Uint8Array, 5);
   * await pipeline(Readable.from([Buffer.of(1, 2), Buffer.of(3)]), x.createWriteStream({ begin: 1 }));
   * console.log(x.data.join()); // 0,1,2,3,0
   * await space.close();
   */
  createWriteStream(part?: ArrayPart): Writable;
  /**
   * The same as a stream of the web, such as the body of a `Response`.
   * @example
   * const x = space.array(Uint8Array, 3);
   * x.data.set([79, 75, 33]);
   * console.log(await new Response(x.toReadableStream()).text()); // OK!
   */
  toReadableStream(part?: ArrayPart): ReadableStream<Uint8Array>;
  /**
   * The bytes as hyparquet and its like take a file: read when they are asked for.
   * @example
   * const x = space.array(Uint8Array, 4);
   * x.data.set([1, 2, 3, 4]);
   * console.log(new Uint8Array(await x.asyncBuffer().slice(1, 3))); // Uint8Array(2) [ 2, 3 ]
   */
  asyncBuffer(): AsyncBuffer;
  /**
   * A copy of the bytes in ordinary memory. Throws the code of a page that cannot be had:
   * ACCESS_DENIED, DATA_LOST, ACCESS_REFUSED, OUT_OF_STORAGE and the like.
   * @example
   * const x = space.array(Uint8Array, 3);
   * x.data.fill(7);
   * console.log(x.toBuffer({ begin: 1 })); // <Buffer 07 07>
   */
  toBuffer(part?: ArrayPart): Buffer;
  /**
   * A copy-on-write snapshot, always writable. Pages are copied when one of the two is written, or
   * the clone is touched. `keep` is as for `space.array`. Rejects with HOST_BUDGET, and DATA_LOST if
   * the source has lost pages.
   * @example
   * const x = space.array(Float32Array, 1000);
   * const before = await x.clone();
   * x.data[0] = 1;
   * console.log(before.data[0]); // 0
   */
  clone(options?: Pick<ArrayOptions, 'name' | 'keep'>): Promise<ManagedArray<WritableView<T>>>;
  /**
   * Advises how whole blocks of 2 MiB around a part will be used. Advice that is not named stays.
   * Returns the elements that it covers.
   * @example
   * const x = space.array(Float32Array, 1000);
   * console.log(x.advise({ pattern: 'random', readMostly: true })); // { begin: 0, end: 1000 }
   */
  advise(advice: Advice, part?: ArrayPart): { begin: number; end: number };
  /**
   * What was advised for a part, and where its pages are. Faults nothing in.
   * @example
   * const x = space.array(Float32Array, 1000);
   * x.advise({ preferredLocation: device });
   * console.log(x.attributes().runs[0].preferredLocation === device.name); // true
   */
  attributes(part?: ArrayPart): Attributes;
  [DISPOSE](): void;
  /**
   * A description without the elements.
   * @example
   * console.log(space.array(Int8Array, 5, { name: 'five' }).toJSON().length); // 5
   */
  toJSON(): ArrayDescription;
  /**
   * The same in one line.
   * @example
   * console.log(String(space.array(Int8Array, 5)).startsWith('ManagedArray(5)')); // true
   */
  toString(): string;
}

/** Options of `barrier`. */
export interface BarrierOptions {
  /**
   * Milliseconds to wait for the others and for a silent server; without it, as long as it takes.
   */
  readonly timeoutMs?: number;
}

/** An array that programs on several machines share. */
export interface SharedArray<T extends NumericArray = NumericArray> extends ManagedArray<T> {
  /**
   * Resolves when the server has everything written here, so that it survives this program. Others
   * see writes without it. Rejects with DATA_LOST if a lease ended and others went on, and
   * NODE_LOST if the server is silent; then the data stays here.
   */
  fence(): Promise<void>;
  /**
   * A fence; then waits until `count` programs are at the barrier of this name. Rejects as `fence`
   * does, with BARRIER if others wait for another count, and with BARRIER_TIMEOUT.
   */
  barrier(name: string, count: number, options?: BarrierOptions): Promise<void>;
}

/**
 * Operations of the host, in order; concurrent with those of other streams. A device's `Stream`
 * does the same and launches. Wrong arguments throw at once; other errors come out of
 * `synchronize`.
 * @example
 * import { openSpace } from 'onemem';
 *
 * const space = await openSpace();
 * const x = space.array(Float32Array, 1000);
 * const result = new Float32Array(1000);
 * const stream = space.stream();
 * stream.call(() => x.data.fill(3));
 * stream.copy(result, x);
 * stream.free(x);
 * await stream.synchronize();
 * console.log(result[999], x.isFreed); // 3 true
 * await space.close();
 */
export interface HostStream {
  readonly space: AddressSpace;
  /**
   * Brings whole pages around a part to the stream's place, or to `to`, before they are touched.
   * `event.elements` and `event.bytes` tell what came. Fails with DATA_LOST, ACCESS_DENIED and
   * other codes of pages.
   * @example
   * const x = space.array(Float32Array, 2048);
   * x.data.fill(1);
   * const event = stream.prefetch(x.range(0, 1024));
   * await event.synchronize();
   * console.log(event.elements, event.bytes); // { begin: 0, end: 1024 } 4096
   */
  prefetch(part: ManagedElements, to?: Device | 'host'): StreamEvent;
  /**
   * Calls a function of this thread in the stream's order; later operations wait for it and its
   * promise. If it throws, the stream fails with CALLBACK_ERROR. It must not wait for its own
   * stream (DEADLOCK).
   * @example
   * const order = [];
   * stream.call(() => order.push('first'));
   * stream.call(async () => order.push('second'));
   * await stream.synchronize();
   * console.log(order); // [ 'first', 'second' ]
   */
  call(callback: () => unknown): StreamEvent;
  /**
   * Copies elements between any two places, managed or not. Both have as many bytes, and one
   * element type unless one is raw bytes. Parts of one array may overlap. `at` places the result.
   * Until it ends, readers of the destination find old elements, new ones or zeros.
   * @example
   * const x = space.array(Float32Array, 4);
   * const event = stream.copy(x, Float32Array.of(1, 2, 3, 4));
   * await event.synchronize();
   * console.log(x.data[3], event.bytes); // 4 16
   */
  copy(to: CopyPlace, from: CopyPlace, options?: CopyOptions): StreamEvent;
  /**
   * Forgets whole pages inside a part: they read zero from then on. `event.elements` tells which.
   * Throws NO_WHOLE_PAGE for a part without one.
   * @example
   * const x = space.array(Float32Array, 2048);
   * x.data.fill(1);
   * const event = stream.discard(x.range(10, 2048));
   * await event.synchronize();
   * console.log(event.elements, x.data[1023], x.data[1024]); // { begin: 1024, end: 2048 } 1 0
   */
  discard(part: ManagedElements): StreamEvent;
  /**
   * Gives back the memory of an array, or of whole pages inside a part, when all earlier operations
   * have ended. If it fails (PINNED) or is cancelled, the array stays as it was.
   * @example
   * const x = space.array(Float32Array, 2048);
   * const copy = new Float32Array(2048);
   * stream.copy(copy, x);
   * await stream.free(x).synchronize();
   * console.log(x.isFreed); // true
   */
  free(part: ManagedElements): StreamEvent;
  /**
   * Waits for an event of another stream.
   * @example
   * const other = device.stream();
   * stream.wait(other.record());
   * await stream.synchronize();
   * console.log('after the other stream'); // after the other stream
   */
  wait(event: StreamEvent): StreamEvent;
  /**
   * An event that happens when all earlier operations have ended.
   * @example
   * const event = stream.record();
   * await event.synchronize();
   * console.log(event.done); // true
   */
  record(): StreamEvent;
  /**
   * Waits for all operations given so far. Rejects with the first error since the last time, whose
   * later operations were cancelled; then the stream can be used again.
   * @example
   * const fails = kernel({ x: f32.inout }, () => { throw new Error('no'); });
   * stream.launch(fails, { x: space.array(Float32Array, 1) }, { size: 1 });
   * console.log(await stream.synchronize().catch(({ code }) => code)); // KERNEL_ERROR
   */
  synchronize(): Promise<void>;
  /** Ends the stream. Operations given before still run. */
  [DISPOSE](): void;
  /**
   * A description, for `JSON.stringify`.
   * @example
   * console.log(JSON.stringify(stream)); // {"place":"process0","state":"open","pending":0}
   */
  toJSON(): StreamDescription;
  /** The same in one line. */
  toString(): string;
}

/**
 * Operations of a device, in order. Wrong arguments throw at once; other errors come out of
 * `synchronize`.
 * @example
 * import { f32, kernel, openSpace } from 'onemem';
 *
 * const add = kernel({ x: f32.inout }, ({ x }, { begin, end }) => { for (let i = begin; i < end; i++) x[i]++; });
 * const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
 * const x = space.array(Float32Array, 1000);
 * const stream = space.devices[0].stream();
 * for (let k = 0; k < 10; k++) stream.launch(add, { x }, { size: x.length });
 * await stream.synchronize();
 * console.log(x.data[0]); // 10
 * await space.close();
 */
export interface Stream extends HostStream {
  readonly device: Device;
  /**
   * Runs a kernel after all earlier operations of the stream. A launch that nobody awaits is no
   * unhandled rejection.
   * @example
   * const set = kernel({ x: f32.out }, ({ x }, { begin, end }) => { x.fill(3, begin, end); });
   * const x = space.array(Float32Array, 10);
   * const event = stream.launch(set, { x }, { size: x.length });
   * await event.synchronize();
   * console.log(event.result, x.data[9]); // done 3
   */
  launch<P extends KernelParameters>(
    kernel: Kernel<P>,
    args: LaunchArguments<P>,
    options: LaunchOptions,
  ): StreamEvent;
  /**
   * Makes whole pages the device's alone, until another processor touches them. It saves the faults
   * of atomics there.
   * @example
   * const counters = space.array(Int32Array, 1024);
   * await stream.exclusive(counters).synchronize();
   * console.log(counters.residency().runs[0].nodes.length); // 1
   */
  exclusive(part: ManagedElements): StreamEvent;
}

/**
 * A place in a stream: done when every operation up to it has ended.
 * @example
 * import { openSpace } from 'onemem';
 *
 * const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
 * const event = space.devices[0].stream().record();
 * await event.synchronize();
 * console.log(event.result, event.error); // done null
 * await space.close();
 */
export interface StreamEvent {
  readonly stream: HostStream;
  readonly done: boolean;
  /** Undefined while it waits or runs. */
  readonly result: 'done' | 'failed' | 'cancelled' | undefined;
  /** Why it failed or was cancelled; `cause` is what was thrown, or the signal's reason. */
  readonly error: Error | null;
  /** Milliseconds that the operation took once its turn had come. */
  readonly elapsedMs: number;
  /** Milliseconds of a launch's kernel by the GPU's own clock; undefined without one. */
  readonly gpuMs: number | undefined;
  /** Bytes that a prefetch made present, or a copy copied. */
  readonly bytes: number;
  /** Elements that a finished prefetch, discard or free was about; else null. */
  readonly elements: { readonly begin: number; readonly end: number } | null;
  /**
   * Milliseconds from the end of an earlier event to the end of this one; negative if this one
   * ended first.
   * @example
   * const first = stream.record();
   * const second = stream.record();
   * await second.synchronize();
   * console.log(second.since(first) >= 0); // true
   */
  since(earlier: StreamEvent): number;
  /**
   * Waits for this operation, and rejects with its own error. Rejects with DEADLOCK in a function
   * that the same stream calls before it.
   * @example
   * const event = stream.record();
   * await event.synchronize();
   * console.log(event.result); // done
   */
  synchronize(): Promise<void>;
  /**
   * A description, for `JSON.stringify`.
   * @example
   * console.log(stream.record().toJSON().result); // not ended
   */
  toJSON(): StreamEventDescription;
  /** The same in one line. */
  toString(): string;
}
