/**
 * What users hold: spaces, devices, arrays, streams and events, as interfaces, which name each other since an array tells its space and a space makes
 * arrays; and what their calls take and give. The classes behind them know this file, and of each other only those that they make.
 */
import type { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { ElementType, NumericArray, ReadonlyView, WritableView } from '../core/elements.js';
import type { NumpyType } from '../files/npy.js';
import type { ProcessorStats, SpaceHandle, SpaceStats } from '../pager/protocol/space.js';
import type { Attributes } from './advice.js';
import type { ArrayHandle } from './array-handle.js';
import type { ArrayPart } from './array-part.js';
import type { ArrayType } from './array-type.js';
import type { ArrayDescription } from './description.js';
import type { DeviceSpecification } from './device-specification.js';
import type { ASYNC_DISPOSE, DISPOSE } from './disposal.js';
import type { FileArrayOptions } from './file-array.js';
import type { FilePath } from './file-path.js';
import type { Hold, HoldOptions } from './hold.js';
import type { ArrayParameter, Kernel, KernelParameters, ScalarParameter, TypedArrays } from './kernel.js';
import type { LaunchOptions, StreamOptions } from './launch-options.js';
import type { InvalidationEvent, Notifier } from './notifier.js';
import type { OpenNpyOptions, SaveNpyOptions } from './npy.js';
import type { Pin, PinOptions } from './pin.js';
import type { ProvidedArrayOptions } from './provided-array.js';
import type { Residency, ResidencyRun } from './residency.js';
import type { Rights } from './rights.js';
import type { SharedArrayOptions } from './sharing.js';
import type { BindThreadOptions, ThreadBinding } from './thread-binding.js';
import type { TransferOptions } from './transfer.js';
import type { YoungRun } from './use-reports.js';
import type { WaitResult } from './wait.js';

/** A part of an array with the array, in elements. */
export interface ArrayRange<T extends NumericArray = NumericArray> {
  readonly array: ManagedArray<T>;
  readonly begin: number;
  readonly end: number;
}

/** What `range()` gives: a part of an array, with a view of it. */
export interface ViewedRange<T extends NumericArray = NumericArray> extends ArrayRange<T> {
  /** The elements of the part, as `array.data.subarray(begin, end)` gives them. */
  readonly data: T;
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
 *
 * The elements of a typed array of the program's own are taken when the launch is given, or when its turn comes if something before it in
 * the order of its stream writes the array or calls a function. Results are put back when the launch has ended well; one that
 * fails changes nothing. An operation in another stream that does not wait for it is refused meanwhile (ARRAY_IN_USE).
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

export interface CloseOptions {
  /** How many milliseconds launches that run may take to end; as long as they like unless said otherwise. */
  readonly timeoutMs?: number;
}

export interface ArrayOptions {
  readonly name?: string;
  /** Addresses are kept for so many elements, at no cost: up to there `resize` leaves the array at its address. */
  readonly maxLength?: number;
}

export interface AddressSpace {
  /** In the order in which they came; also those that have died or were detached, which `restart()` starts again. */
  readonly devices: readonly Device[];
  /** For postMessage to another thread, which attaches by `attachSpace`. */
  readonly handle: SpaceHandle;
  readonly isClosed: boolean;
  /**
   * Changes how much host memory arrays may take, `'256MiB'` or bytes, at least '32MiB', while the program runs. It grows at once; it
   * shrinks as pages go to storage or to their files, and the promise is fulfilled when it has. Rejects with HOST_BUDGET where arrays or
   * pins need more, or what is in use can go nowhere: then it is as large as before.
   */
  setHostMemory(bytes: number | string): Promise<void>;
  /**
   * Binds this thread and the manager to one CPU until `release()` or the close of the space. To wake a thread on another CPU is what takes longest of a fault, on virtual
   * machines above all: a thread that faults much gains, one whose computation and whose moves go on at the same time on two CPUs loses. Each thread asks for
   * itself, and all have the manager's CPU. Devices and threads of onemem's own keep all CPUs; threads that this one starts have them after a fifth
   * of a second, and processes that it starts keep its CPU, as under `taskset`. Throws CPU for one that it may not run on, and THREAD_BOUND where the manager
   * is bound elsewhere or the thread is bound already.
   */
  bindThread(options?: BindThreadOptions): ThreadBinding;
  /**
   * Allocates an array of `length` elements, all zero. Memory is taken when elements are written, addresses at once. Throws a
   * RangeError for a length that is not to be had, with what is left.
   */
  array<T extends NumericArray>(type: ArrayType<T>, length: number, options?: ArrayOptions): ManagedArray<T>;
  /** Allocates raw memory: a Uint8Array of `length` bytes for kernels that make views of their own. */
  bytes(length: number, options?: ArrayOptions): ManagedArray<Uint8Array>;
  /**
   * An array whose elements are in a file: nothing is read until it is touched, and then by pages. It is private: what is written
   * to it never reaches the file, unless it is `shared`: then `flush()` writes the pages that were written, and so do `free()` and the
   * close of the space. The file must not become shorter while the array lives; a touch of what was cut off ends in an error, never
   * in wrong data. Where the CPU only reads it, and much of it, `mapped: true` shows the kernel's own memory of the file, as mmap does.
   */
  fileArray<T extends NumericArray>(
    type: ArrayType<T>,
    file: FilePath,
    options: FileArrayOptions & ({ readonly writable: true } | { readonly shared: true }),
  ): ManagedArray<T>;
  fileArray<T extends NumericArray>(
    type: ArrayType<T>,
    file: FilePath,
    options?: FileArrayOptions,
  ): ManagedArray<ReadonlyView<T>>;
  /**
   * An array over a NumPy `.npy` file, with its shape and the name of its type. As `fileArray`: nothing but the header is read before
   * elements are touched, and the array is private unless it is `shared`. Elements follow each other by rows, the last index fastest:
   * element (i, j) of shape [rows, columns] is `array.data[i * columns + j]`. What cannot be used as it is in the file is refused by an
   * OnememError that says what NumPy converts it by: UNSUPPORTED_ARRAY_FILE (big endian, Fortran order, records, strings, ...),
   * NOT_AN_ARRAY_FILE, TRUNCATED_ARRAY_FILE, TRAILING_BYTES, and EMPTY_FILE for an array of no elements.
   */
  openNpy<T extends NumericArray = NumericArray>(
    file: FilePath,
    options: OpenNpyOptions<T> & ({ readonly writable: true } | { readonly shared: true }),
  ): NpyArray<T>;
  openNpy<T extends NumericArray = NumericArray>(
    file: FilePath,
    options?: OpenNpyOptions<T>,
  ): NpyArray<ReadonlyView<T>>;
  /**
   * Writes an array, or a range of one, to a `.npy` file. A file of that name is replaced when all has been written, or stays as it was:
   * whatever happens meanwhile, no program sees a part. The file's owner and mode are kept, or the call
   * is refused (FILE_OWNER, and HARD_LINKS for a file of several names). Safe without privilege. Resolves with the bytes of
   * the file when they are on the disk.
   */
  saveNpy(file: FilePath, source: ManagedArray | ArrayRange, options?: SaveNpyOptions): Promise<number>;
  /**
   * An array whose pages a function of yours makes when they are touched: it decompresses, generates, fetches, or refuses. The
   * function is an export of a module and runs in a thread of its own; it is asked again for pages that were dropped, in any order,
   * and must then give the same. Rejects when the module cannot be loaded. What the function throws later comes out of whatever
   * touched the pages: a launch fails, readFrom, writeTo and prefetch reject, and a CPU that touches them is denied the access.
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
   * An array that programs on any number of machines have: all programs that open its name on the server have the same elements. What is touched
   * comes here by blocks, and stays as long as no other machine wants to write it. Elements are zero until they are written; all
   * programs see the writes of each block, and of different blocks, in one order. Blocks of a machine that dies go on with what it had
   * flushed (`fence`). Rejects with SHARED_SERVER when the server cannot be used, and with SHARED_MISMATCH where the array is there with
   * another type, length or size of blocks. Launches, copies, transfers of files and prefetches keep others from its blocks while they run, for
   * `on.holdMs` at most (SHARED_TAKEN); clones, pins and protection are refused (SHARED_ARRAY).
   */
  sharedArray<T extends NumericArray>(
    type: ArrayType<T>,
    length: number,
    options: SharedArrayOptions,
  ): Promise<SharedArray<T>>;
  /** An array that another thread made, from its handle. */
  // biome-ignore lint/suspicious/noExplicitAny: what came as a message has no type, and then neither has the array.
  attachArray<T extends NumericArray = any>(handle: ArrayHandle<T>): ManagedArray<T>;
  /**
   * Stops this thread while an element has a value, until another thread of this process calls `notify`, or `timeoutMs` is over.
   * It may return 'ok' without a reason, as every futex may: look at the element again. What is notified must be a change: a
   * notification alone is missed by a thread that is not asleep at that moment, as with every futex. For Int32Array and Uint32Array, since the
   * kernel waits for words of 32 bits. Works without privilege, too. Throws ACCESS_DENIED where the element may not be read, and the code of
   * what went wrong where its content cannot be had. Code on a device cannot notify: what it changes is noticed
   * within a fifth of a second, or at once if a thread notifies when the launch has ended. The event loop of the thread stands
   * still meanwhile.
   */
  wait(
    array: ManagedArray<Int32Array> | ManagedArray<Uint32Array>,
    index: number,
    value: number,
    timeoutMs?: number,
  ): WaitResult;
  /** Wakes up to `count` threads that wait for an element; returns how many were asleep. Change the element before. */
  notify(array: ManagedArray<Int32Array> | ManagedArray<Uint32Array>, index: number, count?: number): number;
  /**
   * What an address is: the array and the element that it lies in, where its page is, which processors may use it, and the address that each
   * device has it at. Faults nothing in. Null for an address in no array: outside of the space, behind an array's last element,
   * or in an array that has been freed.
   */
  pointerAttributes(address: bigint): PointerAttributes | null;
  /**
   * Adds a device, at any time, with the options that `openSpace` takes; every thread of the space has it in `space.devices` then. Rejects
   * with DEVICE_START when it does not come up, and with a RangeError (DEVICES, DEVICE_NAME) when there are 15 already, or one of its name, or the name is that of a place: host, storage or valkey.
   */
  addDevice(specification: DeviceSpecification): Promise<Device>;
  /** Faults, bytes moved and memory of every processor. */
  stats(): SpaceStats;
  /** Throws if the manager's books do not agree with themselves; for tests and bug reports. */
  checkInvariants(): void;
  /**
   * Waits for launches that run, cancels the others, writes shared arrays to their files, and ends the space with its devices. Views
   * that are left read zeros, and a store through one ends the process with a message. With `timeoutMs`, launches that still run after so many milliseconds are ended (ABORTED), with their device
   * where it cannot end a kernel; it may be called again with one. Rejects with FLUSH_FAILED when a file cannot be written, and leaves the space open then: nothing is lost,
   * and it can be closed again when there is room. Rejects with FILE_CHANGED, once, when the file of a shared array has become shorter: closed again, it gives up what was not flushed.
   * Rejects with NODE_LOST or DATA_LOST when what was written to arrays that machines share could not be flushed: it is lost with the space, which is closed.
   */
  close(options?: CloseOptions): Promise<void>;
  [ASYNC_DISPOSE](): Promise<void>;
}

export interface DeviceCapabilities {
  /** Whether its page faults are served: a launch may then use more than its memory. */
  readonly pageFaults: boolean;
  /** Whether `Atomics` in a kernel count right beside those of the CPU and of other devices. */
  readonly atomics: boolean;
  /** Whether its kernels can use memory of the host in place, without moving the page. */
  readonly remoteAccess: boolean;
  /** Whether a launch that runs can be ended, by a signal or `timeoutMs`. */
  readonly cancellation: boolean;
  /** What it runs: functions, or modules in WGSL. */
  readonly kernels: 'functions' | 'wgsl';
  /** The unit in which content moves to and from its memory. */
  readonly pageBytes: number;
  /** Whether what is in its memory can still be had after it has died. */
  readonly memorySurvives: boolean;
  /** Threads that run kernels. */
  readonly units: number;
}

export interface DeviceMemory {
  readonly totalBytes: number;
  readonly freeBytes: number;
}

export interface Device {
  readonly space: AddressSpace;
  readonly name: string;
  /** 'process': a child process with memory of its own. 'simulated': in memory, without page faults. 'webgpu': a GPU. Others are what their drivers call themselves. */
  readonly kind: string;
  /** Its memory, in bytes. */
  readonly memory: number;
  readonly units: number;
  /** Whether a launch may use more than the device's memory. */
  readonly pageFaults: boolean;
  /** The device's process, for programs that want to watch or end it; null when it has none. */
  readonly pid: number | null;
  /** What the device can do, by its driver's description. */
  readonly capabilities: DeviceCapabilities;
  /** Its memory now. What is not free comes back by eviction when something else needs it. */
  memoryInfo(): DeviceMemory;
  stream(options?: StreamOptions): Stream;
  /** Runs a kernel and waits for it: the simple form. A signal or `timeoutMs` ends it. */
  run<P extends KernelParameters>(kernel: Kernel<P>, args: LaunchArguments<P>, options: LaunchOptions): Promise<void>;
  /** Brings every page of the device home, then ends the device. Launches that wait are lost, the one that runs may end. */
  detach(): Promise<void>;
  /**
   * Starts the device again, after its death or after `detach()`, with the options that it had; the same object goes on as the new one, in
   * every thread. One that lives is ended first, as by `kill()`. What its memory held comes home if that survives; advice that named the
   * device is gone. Rejects with DEVICE_START when it does not come up.
   */
  restart(): Promise<void>;
  /** Ends the device's process at once, as kill -9 does: for tests of what happens then. */
  kill(): void;
  stats(): ProcessorStats;
}

export interface FlushOptions {
  /** Elements; all unless said otherwise. Pages that they share with others are written as a whole. */
  readonly begin?: number;
  readonly end?: number;
  /** Whether to wait until the file would survive a crash of the machine (fdatasync). */
  readonly durable?: boolean;
}

export interface ManagedArray<T extends NumericArray = NumericArray> {
  readonly space: AddressSpace;
  readonly type: ElementType;
  readonly name: string;
  /** A device that was writing the array died: its content is undefined until it is overwritten. */
  indeterminate: boolean;
  /** Elements. */
  readonly length: number;
  readonly byteLength: number;
  /** The address of the first element; the same for every processor. */
  readonly address: bigint;
  /** The address of an element, to be stored as a link to it. */
  addressOf(index: number): bigint;
  /** The element that an address lies in, or -1 when it lies outside of the array. */
  indexAt(address: bigint): number;
  readonly isFreed: boolean;
  /**
   * The array itself, the same object at every use. A view keeps the array's addresses taken; once the array is freed, or the space is
   * closed, reading a view that is left gives zeros, and writing it ends the process with a message. Code that takes a view's buffer, by
   * `transfer()` or as a stream does that reads into it, leaves the view empty: `data` is another view of the same elements from then
   * on, and the addresses stay taken when the array is freed.
   */
  readonly data: T;
  /** For postMessage to another thread, which makes an array of it by `attachArray`. */
  readonly handle: ArrayHandle<T>;
  /** Elements [begin, end). */
  range(begin?: number, end?: number): ViewedRange<T>;
  /** Where the pages of a part are. Faults nothing in. */
  residency(part?: ArrayPart): Residency;
  /**
   * What the CPU or a device may have written since the array was made, emptied, flushed or read from its file, in whole pages: a
   * processor that was given the right to write a page counts as having done so. Faults nothing in.
   */
  dirty(part?: ArrayPart): { begin: number; end: number }[];
  /**
   * Which processors have used the part since that was last asked, in whole blocks of 2 MiB: those that faulted there, and devices
   * whose launches had it as an argument. Plain use of pages that are there already is not to be seen. With `clear: false` it stays
   * as it is for the next caller.
   */
  young(options?: ArrayPart & { readonly clear?: boolean }): YoungRun[];
  /**
   * Subscribes to invalidations: a subscriber that keeps tables of its own about the array's pages is told before a processor loses what it had of
   * them, by a module in the manager's thread or by a sequence number, and afterwards by an event. Resolves when the subscription
   * is in force; rejects with NOTIFIER_MODULE when its module cannot be loaded.
   */
  watch<D = unknown>(options?: WatchOptions<D>): Promise<Notifier>;
  /**
   * Gives the array's memory back, or that of a part: the whole pages inside it, since the others hold elements of what is kept.
   * Returns the elements that were freed, and refuses a part without a whole page (NO_WHOLE_PAGE), as well as one that has been
   * freed. What is freed must not be used any more: calls that would are refused (USE_AFTER_FREE), those of an array of which nothing is left as
   * those of one that was freed as a whole.
   */
  free(part?: ArrayPart): { begin: number; end: number };
  /** Fills the array, or a part, from an open file; safe without privilege, and nothing is faulted in. Returns the bytes read. */
  readFrom(fd: number, options?: TransferOptions): Promise<number>;
  /** Writes the array, or a part, to an open file; safe without privilege. Returns the bytes written. */
  writeTo(fd: number, options?: TransferOptions): Promise<number>;
  /**
   * Writes what the CPU and devices have written, whole pages of it, to the file that the array shares; after that every program reads
   * it there. What is written while it goes on may be among it, and is written by the next one. Returns the bytes written. When it
   * rejects with FLUSH_FAILED, everything is still in memory.
   */
  flush(options?: FlushOptions): Promise<number>;
  /**
   * Has the array show what its file holds now: pages are read again when they are touched. Rejects with UNFLUSHED_CHANGES when the
   * array has been written and not flushed, and with DATA_LOST when changes were lost with a device, unless `discard` says that this may be
   * forgotten. Rejects with FILE_CHANGED when the file has become shorter, unless `discard` says so: then the array shows what is left. Nothing should use it meanwhile.
   */
  reload(options?: { readonly discard?: boolean }): Promise<void>;
  /**
   * Changes what the CPU, devices, transfers and copies may do to the elements from now on; 'readwrite' undoes it. A part
   * begins and ends where pages do, or at the end of the array. A launch that does more fails and names array and page. A CPU that
   * does more is told so on stderr; then a load or store ends the process, and a system call fails with EFAULT, as does every use of
   * that page until rights are changed again. Returns the elements that this is about.
   */
  protect(rights: Rights, part?: ArrayPart): Promise<{ begin: number; end: number }>;
  /**
   * Forgets the content of the array, or of the whole pages within a part: they read as zero from now on, wherever they were. Nothing
   * is copied, now or when they leave a device. Their memory is kept for what is written next. Returns the elements that were
   * forgotten. Await it: what is written to them before it resolves may be forgotten as well.
   */
  discard(part?: ArrayPart): Promise<{ begin: number; end: number }>;
  /**
   * Makes the array longer or shorter. New elements are zero, also where there were some before; pages behind the end are given back.
   * Up to the `maxLength` that it was made with the array stays at its address; beyond that it moves, with rights and advice, and for
   * that the host's budget must have room for both. Take `data` anew: an older view shows what it covered while the array stays, and
   * counts as that of a freed array when it moves. A move makes handles stale, and so does any change for threads that attach later
   * (STALE_HANDLE). Refused for pinned arrays, for those of files and providers, and while a launch, a copy or another call that was
   * made before has not ended. If it fails, the array is as it was. Nothing else should use the array meanwhile.
   */
  resize(length: number): Promise<void>;
  /**
   * Brings the array, or a part, home to host memory, and keeps it there until every pin of it has ended: devices can read it, and a
   * launch that writes it fails with PINNED. Until then it cannot be freed, resized, discarded or reloaded. Pinned pages count in full
   * against the host's budget.
   */
  pin(options?: PinOptions): Promise<Pin>;
  /**
   * Brings the array, or a part, home and keeps it there, mapped, so that system calls find it, also where they must not fault: hand
   * `hold.bytes` to a socket, to fs.write, to a native addon, and end the hold when they are through. It is a pin, with what that
   * forbids meanwhile. Reading always works. Held `writable` the elements may be written as well, until their pages are shared
   * again: by a device that reads them, a clone, `flush` or `protect`. Rejects with ACCESS_DENIED where the elements may not be written.
   */
  hold(options?: HoldOptions): Promise<Hold>;
  /**
   * The elements as bytes, in order, for `pipe` and `pipeline`: read as the other end takes them, into ordinary memory, without a
   * fault of this thread. The stream fails where elements cannot be had (DATA_LOST, ACCESS_DENIED, FILE_CHANGED, ...), or when the
   * array is freed. What is written meanwhile may be in it.
   */
  createReadStream(part?: ArrayPart): Readable;
  /** The same as a stream of the web, such as the body of a Response: `new Response(array.toReadableStream())`. */
  toReadableStream(part?: ArrayPart): ReadableStream<Uint8Array>;
  /**
   * A copy of the elements' bytes in ordinary memory, which every system call takes. Brings pages as a loop over the elements does, and
   * ends the process as that does where one cannot be had: `hold`, `writeTo` and `createReadStream` reject instead.
   */
  toBuffer(part?: ArrayPart): Buffer;
  /**
   * Another array with the same elements, which may be written whatever this one allows. Nothing is copied before one is written
   * of the two, or touches the clone: then pages are, one by one. What each of them is written is its own, from the CPU and devices.
   * It takes its share of the host's budget at once. Elements that are written while `clone` runs may be in it or not; what a file or a
   * provider gives is asked for when it is needed.
   */
  clone(options?: { readonly name?: string }): Promise<ManagedArray<WritableView<T>>>;
  /**
   * Says how the array, or a part of it, will be used: whole blocks of 2 MiB around the part. Nothing moves at once and nothing is taken
   * from anybody; what is not named stays as it was said before. Returns the elements that it covers.
   */
  advise(advice: Advice, part?: ArrayPart): { begin: number; end: number };
  /** What was advised for the array, or a part of it, and where its pages really are. Faults nothing in. */
  attributes(part?: ArrayPart): Attributes;
  [DISPOSE](): void;
  /** What the array is, without its elements, which may be more than a text can hold: those are in `data`. */
  toJSON(): ArrayDescription;
}

export interface BarrierOptions {
  /** How many milliseconds to wait for the others, as long as it takes unless said otherwise; and at most for a server that does not answer. */
  readonly timeoutMs?: number;
}

/** An array that programs on any number of machines have, whose elements are read and written as those of any other. */
export interface SharedArray<T extends NumericArray = NumericArray> extends ManagedArray<T> {
  /**
   * Has the server have everything that was written here until now: from then on it is safe from the end of this program. Others need no
   * fence to see what was written. Rejects with DATA_LOST where this machine's lease had ended and others have had what it wrote, and with
   * NODE_LOST when the server does not answer: then what was written stays here, and goes there when it is back.
   */
  fence(): Promise<void>;
  /**
   * A fence, then waits until `count` programs, this one among them, are at the barrier of this name: each by a call of its own. It can be
   * used again when it has opened. Rejects as `fence` does, with BARRIER where others wait for another number of programs, and with
   * BARRIER_TIMEOUT.
   */
  barrier(name: string, count: number, options?: BarrierOptions): Promise<void>;
}

export interface Stream {
  readonly space: AddressSpace;
  readonly device: Device;
  /**
   * Runs a kernel after everything that the stream has before it. Wrong arguments throw here; what goes wrong later comes out of
   * `synchronize`, so that a launch that the program does not look at is no unhandled rejection.
   */
  launch<P extends KernelParameters>(kernel: Kernel<P>, args: LaunchArguments<P>, options: LaunchOptions): StreamEvent;
  /**
   * Brings an array or a part of it to the device (or to 'host') before it is touched there: whole pages, rounded outwards. When the prefetch has
   * ended, `event.elements` tells which elements it was about, and `event.bytes` how much of them is there.
   */
  prefetch(part: ManagedElements, to?: Device | 'host'): StreamEvent;
  /**
   * Makes an array or a part of it exclusive to the device, for atomic operations there: its pages come to the device, and no other processor has
   * them or may write them until the CPU or another device touches them, which ends it. Updates by Atomics are never lost either way: a page that is
   * written is in one place. It only saves the device's first faults, and tells subscribers why ('exclusive').
   */
  exclusive(part: ManagedElements): StreamEvent;
  /**
   * Calls a function of this thread when everything before it in the stream has ended well; what comes after it waits until the
   * function has returned and the promise that it may have given has settled. A function that throws or rejects fails the stream as
   * any operation does: CALLBACK_ERROR, with what was thrown as `cause`. It is called in a turn of the event loop of its own, in the
   * asynchronous context of the caller of `call`, and not at all once the stream has failed.
   *
   * The function may use the space as any code may. It must not wait for its own stream, which waits for it: `synchronize` of the
   * stream, or of an event that comes after the call, rejects with DEADLOCK there, even if its promise is not awaited. Waiting by a detour
   * (for another stream that waits for this one) is not noticed, and never ends.
   */
  call(callback: () => unknown): StreamEvent;
  /**
   * Copies elements between any two places, in the stream's order: managed arrays, parts and views of them, and other typed arrays, whose
   * elements are taken and put back as those of a launch (`LaunchArguments`). Both ends must have as many bytes, and the same element type unless one is raw
   * bytes. Parts of one array may overlap. Pages are read where they are and written where the destination is, or where `at` says;
   * `event.bytes` tells how many were copied. Until the copy has ended, and if it fails, a reader of its destination finds old
   * elements, new ones or zeros there.
   */
  copy(to: CopyPlace, from: CopyPlace, options?: CopyOptions): StreamEvent;
  /** Holds back what comes next until an event of another stream has happened. */
  wait(event: StreamEvent): StreamEvent;
  /** An event here and now. */
  record(): StreamEvent;
  /**
   * Waits for everything given so far. Rejects with the first error since the last time; what came after it in the stream was
   * cancelled, and what is given from now on runs again, unless the stream's own signal has been aborted.
   */
  synchronize(): Promise<void>;
  /** Ends the stream; what it was given still runs. */
  [DISPOSE](): void;
}

/** A place in a stream: done when everything up to it is. */
export interface StreamEvent {
  readonly stream: Stream;
  readonly done: boolean;
  /** Undefined while it runs or waits. */
  readonly result: 'done' | 'failed' | 'cancelled' | undefined;
  /** Why it failed or was cancelled; its `cause` is what a function threw, or the reason of the signal that was aborted. */
  readonly error: Error | null;
  /** How long the operation took once its turn had come, in milliseconds. */
  readonly elapsedMs: number;
  /**
   * Of a launch on a GPU: how long its kernel ran there, in milliseconds by the GPU's own clock, all parts and rounds together.
   * Undefined before it has ended, and where the GPU has no such clock (timestamp queries).
   */
  readonly gpuMs: number | undefined;
  /** Bytes that a prefetch made present, or that a copy has copied. */
  readonly bytes: number;
  /**
   * Of a prefetch that has ended: the elements that it was about, rounded outwards to whole pages, and no more than the processor's
   * memory has room for. Null for everything else.
   */
  readonly elements: { readonly begin: number; readonly end: number } | null;
  /**
   * Milliseconds from the end of an earlier event of the same space to the end of this one, on the manager's clock; negative when
   * this one ended first.
   */
  since(earlier: StreamEvent): number;
  /**
   * Waits for this operation; rejects with its own error. Rejects with DEADLOCK at once where a function that the same stream calls
   * (`stream.call`) asks for what comes after itself.
   */
  synchronize(): Promise<void>;
}
