/** A space: one range of addresses that the CPU and the devices share. */

import { randomUUID } from 'node:crypto';
import { resolve } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread, Worker } from 'node:worker_threads';
import { bytesOf, type ElementType, isElementType, type NumericArray, type ReadonlyView } from '../core/elements.js';
import type { OptionNames } from '../core/option-names.js';
import { BLOCK_BYTES, PAGE_BYTES } from '../core/types.js';
import { bundledMessage, sentinelFile, witnessFile } from '../linux/bundle.js';
import { closeEventfd, createEventfd } from '../linux/eventfd.js';
import { explainMissing, probeFeatures } from '../linux/features.js';
import { PAGE_SIZE } from '../linux/memory.js';
import {
  cgroupMemory,
  descriptorLimit,
  freeAddresses,
  systemMemory,
  threadExists,
  threadId,
} from '../linux/process.js';
import type { ManagerReady } from '../pager/manager/manager.js';
import {
  CONTROL_WORDS,
  Control,
  type DeviceInfo,
  type DeviceOptions,
  type FileSource,
  type Injection,
  LISTED_THREADS,
  type ManagerOptions,
  type SpaceHandle,
  type SpaceStats,
} from '../pager/protocol/requests.js';
import {
  checkFlag,
  checkName,
  checkObject,
  checkOptions,
  checkSize,
  isObject,
  isWhole,
  show,
  textOf,
} from './arguments.js';
import type { ArrayRange } from './array-part.js';
import { type ArrayType, elementOf } from './array-type.js';
import { Client } from './client.js';
import { Device } from './device.js';
import { ASYNC_DISPOSE } from './disposal.js';
import { argumentError, fromWire, OnememError, typeError } from './errors.js';
import { watchExit } from './exit.js';
import { checkUse, FILE_ARRAY_OPTIONS, type FileArrayOptions, partOfFile, withFile } from './file-array.js';
import { type FilePath, pathOf } from './file-path.js';
import { exportOf, moduleUrl } from './kernel.js';
import { Takeover } from './late-uses.js';
import { type ArrayHandle, checkLength, ManagedArray } from './managed-array.js';
import { moduleOptions } from './node-options.js';
import { type NpyArray, type OpenNpyOptions, openNpy, type SaveNpyOptions, saveNpy } from './npy.js';
import { type PointerAttributes, pointerAttributes } from './pointer.js';
import { PROVIDED_ARRAY_OPTIONS, type ProvidedArrayOptions, providerSource } from './provided-array.js';
import type { PlaceNames } from './residency.js';
import { parseSize } from './sizes.js';
import { checkSpaceHandle, checkUnchanged, signHandle } from './space-handle.js';
import { listedThreads, Views } from './views.js';
import { notify, type WaitResult, wait } from './wait.js';

/** Where spaces lie: from 96 TiB on, where neither V8 nor the dynamic linker puts anything, one TiB or more each. */
const FIRST_BASE = 0x6000_0000_0000;
const LAST_ADDRESS = 0x7000_0000_0000;
const DEFAULT_SPACE_BYTES = 2 ** 40;
/** Of the memory of the machine or the control group, what a space may use unless it is told. */
const HOST_SHARE = 0.7;
/** A block for each of 15 threads that may fault at once without getting in each other's way, and one. */
const LEAST_HOST_BYTES = 16 * BLOCK_BYTES;
/** How many file descriptors a space takes at most while its modules are loaded, and for each of its devices. */
const SPACE_DESCRIPTORS = 60;
const DEVICE_DESCRIPTORS = 10;
const MAX_DEVICES = 15;
const MAX_UNITS = 64;

/** What is said of a device of any kind. */
interface AnyDeviceSpecification {
  /** Bytes, or a size such as '64MiB'. */
  readonly memory: number | string;
  /** Threads that run kernels; 1 unless said otherwise. */
  readonly units?: number;
  readonly name?: string;
  /** Makes the device's memory refuse large pieces: for tests of drivers and of the manager. */
  readonly inject?: Injection;
}

/** A device that comes with the package. */
export interface BuiltInDeviceSpecification extends AnyDeviceSpecification {
  /** 'process': a child process with its own memory and page faults. 'simulated': in memory, no page faults; for tests. */
  readonly kind: 'process' | 'simulated';
  /** Its memory dies with it, as a GPU's does. That of a simulated device always does. */
  readonly lossy?: boolean;
}

/** A device whose driver is a module of the user's own: `onemem/driver` says what it must do. */
export interface CustomDeviceSpecification extends AnyDeviceSpecification {
  readonly kind: 'custom';
  /** The module, and its export (`default` unless said otherwise) that makes the driver: a `CreateDriver`. */
  readonly driver: { readonly module: URL | string; readonly export?: string };
  /** For the driver; it must survive structured cloning. */
  readonly options?: unknown;
}

export type DeviceSpecification = BuiltInDeviceSpecification | CustomDeviceSpecification;

export interface SpaceOptions {
  readonly devices?: readonly DeviceSpecification[];
  /**
   * The most host memory that managed arrays take, at least '32MiB'; 70% of the machine's or the control group's unless said otherwise.
   * More than there is gets a warning (ONEMEM_MEMORY), as do devices whose memory together is more than there is.
   */
  readonly hostMemory?: number | string;
  /**
   * Addresses to reserve; they cost nothing. '1TiB' unless said otherwise, or a share of what a limit on addresses (`ulimit -v`) leaves;
   * `space.handle.bytes` tells how many there are.
   */
  readonly addressSpace?: number | string;
  /** For debugging: `verify` for every launch of this thread that does not say otherwise. */
  readonly verify?: boolean;
  /** Asks for the kind of page fault that needs no privilege, also where more is allowed. */
  readonly userModeOnly?: boolean;
  /** @internal What a fault brings along; for measurements of single faults. */
  readonly prefetch?: ManagerOptions['prefetch'];
  /** Checks the manager's invariants after every event: slow, for tests. */
  readonly checkInvariants?: boolean;
  /** Makes the host's memory refuse large pieces: for tests. */
  readonly inject?: Injection;
  /** @internal Ends the manager on purpose, at the first touch of an array by this process. */
  readonly crash?: ManagerOptions['crash'];
  /** @internal How long the manager may stand still. */
  readonly heartbeatLimitMs?: number;
}

export interface CloseOptions {
  /** How many milliseconds launches that run may take to end; as long as they like unless said otherwise. */
  readonly timeoutMs?: number;
}

const CLOSE_OPTIONS: OptionNames<CloseOptions> = { timeoutMs: true };

export interface ArrayOptions {
  readonly name?: string;
  /** Addresses are kept for so many elements, at no cost: up to there `resize` leaves the array at its address. */
  readonly maxLength?: number;
}

const SPACE_OPTIONS: OptionNames<SpaceOptions> = {
  devices: true,
  hostMemory: true,
  addressSpace: true,
  userModeOnly: true,
  prefetch: true,
  verify: true,
  checkInvariants: true,
  inject: true,
  crash: true,
  heartbeatLimitMs: true,
};
const ANY_DEVICE = { kind: true, memory: true, units: true, name: true, inject: true } as const;
const BUILT_IN_DEVICE: OptionNames<BuiltInDeviceSpecification> = { ...ANY_DEVICE, lossy: true };
const CUSTOM_DEVICE: OptionNames<CustomDeviceSpecification> = { ...ANY_DEVICE, driver: true, options: true };
const DRIVER_MODULE: OptionNames<CustomDeviceSpecification['driver']> = { module: true, export: true };
const INJECTION: OptionNames<Injection> = { refuseLargerThanPages: true };
const ARRAY_OPTIONS: OptionNames<ArrayOptions> = { name: true, maxLength: true };

/** A closed space of which something is left, because of views or threads. */
interface Leftover {
  readonly views: Views;
  readonly control: Int32Array;
  readonly wakeFd: number;
  readonly bytes: number;
  /** Whether its manager's thread still answers who uses views that are left. */
  answers: boolean;
}

const leftovers = new Set<Leftover>();

/** Gives back what closed spaces still hold, if it can be by now. */
function reclaim(): void {
  for (const leftover of leftovers) {
    const { views, control, wakeFd } = leftover;
    views.unmapAfterThreads();
    if (leftover.answers) continue;
    if (Atomics.load(control, Control.AttachedThreads) === 0 || listedThreads(control) === 0)
      closeWakeFd(control, wakeFd);
    if (views.isUnmapped && Atomics.load(control, Control.WakeFdClosed) === 1) leftovers.delete(leftover);
  }
}

/** A thread that is attached may be about to raise it; by then the number could be that of another file. */
function closeWakeFd(control: Int32Array, wakeFd: number): void {
  if (Atomics.compareExchange(control, Control.WakeFdClosed, 0, 1) === 0) closeEventfd(wakeFd);
}

function listThread(control: Int32Array): void {
  const own = threadId();
  for (let place = 0; place < LISTED_THREADS; place++) {
    const word = Control.Threads + place;
    const there = Atomics.load(control, word);
    if (there === own) return;
    if (there !== 0 && threadExists(there)) continue;
    if (Atomics.compareExchange(control, word, there, own) === there) return;
  }
  Atomics.add(control, Control.UnlistedThreads, 1);
}

/**
 * Has the garbage collector look for views that nobody uses, if closed spaces take half of the addresses: it does not know that a
 * small view keeps a terabyte of addresses from the next space.
 */
async function collectViews(slot: number): Promise<void> {
  reclaim();
  let taken = slot;
  for (const { views, bytes } of leftovers) if (!views.isUnmapped) taken += slotOf(bytes);
  if (taken <= (LAST_ADDRESS - FIRST_BASE) / 2) return;
  if (globalThis.gc !== undefined) globalThis.gc();
  else {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    setFlagsFromString('--no-expose-gc');
    collect();
  }
  // The registry of views is told in a later turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  reclaim();
}

export class AddressSpace {
  /** In the order in which they came; also those that have died or were detached, which `restart()` starts again. */
  readonly devices: readonly Device[];
  /** @internal */
  readonly client: Client;
  /** @internal */
  readonly views: Views;
  /** @internal Whether launches are verified that do not say otherwise. */
  verifies = false;
  private closing: Promise<void> | null = null;
  private names = 0;

  /** @internal */
  constructor(
    private readonly spaceHandle: SpaceHandle,
    private readonly sentinel: Worker | null,
    private readonly onClosed: () => void,
  ) {
    this.client = new Client(spaceHandle, sentinel === null);
    this.client.onDevice = (info, instead) => this.takeDevice(info, instead);
    // The handle knows those that were there when the space was opened.
    const infos = sentinel === null ? this.client.call('devices', null) : spaceHandle.devices;
    this.devices = infos.map((info) => new Device(this, info));
    this.views = new Views(spaceHandle, this.client, sentinel !== null);
  }

  /** For postMessage to another thread, which attaches by `attachSpace`. */
  get handle(): SpaceHandle {
    this.client.assertOpen('cannot share the space');
    return this.spaceHandle;
  }

  get isClosed(): boolean {
    return this.client.isClosed;
  }

  /**
   * Allocates an array of `length` elements, all zero. Memory is taken when elements are written, addresses at once. Throws a
   * RangeError for a length that is not to be had, with what is left.
   */
  array<T extends NumericArray>(type: ArrayType<T>, length: number, options: ArrayOptions = {}): ManagedArray<T> {
    const element = elementOf(type);
    checkOptions('array()', options, ARRAY_OPTIONS);
    return this.arrayOf(element, length, options.name, options.maxLength) as ManagedArray<T>;
  }

  /** Allocates raw memory: a Uint8Array of `length` bytes for kernels that make views of their own. */
  bytes(length: number, options: ArrayOptions = {}): ManagedArray<Uint8Array> {
    checkOptions('bytes()', options, ARRAY_OPTIONS);
    return this.arrayOf('bytes', length, options.name, options.maxLength) as ManagedArray<Uint8Array>;
  }

  /**
   * An array whose elements are in a file: nothing is read until it is touched, and then by pages. It is private: what is written
   * to it never reaches the file, unless it is `shared`: then `flush()` writes the pages that were written, and so do `free()` and the
   * close of the space. The file must not become shorter while the array lives; a touch of what was cut off ends in an error, never
   * in wrong data.
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
  fileArray(type: ArrayType<NumericArray>, file: FilePath, options: FileArrayOptions = {}): ManagedArray {
    const element = elementOf(type);
    const path = pathOf(file);
    const use = checkUse('fileArray()', path, options, FILE_ARRAY_OPTIONS);
    return withFile(path, use.shared, (fd, size) => {
      const { source, length } = partOfFile({ fd, path, size }, element, use, options);
      return this.allocate(element, length, use.name, use.writable, source);
    });
  }

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
  openNpy(file: FilePath, options: OpenNpyOptions = {}): unknown {
    return openNpy(this, file, options);
  }

  /**
   * Writes an array, or a range of one, to a `.npy` file. A file of that name is replaced when all has been written, or stays as it was:
   * whatever happens meanwhile, nobody sees a part. Its owner and mode are kept, or it
   * is refused (FILE_OWNER, and HARD_LINKS for a file of several names). Safe without privilege. Resolves with the bytes of
   * the file when they are on the disk.
   */
  async saveNpy(file: FilePath, source: ManagedArray | ArrayRange, options: SaveNpyOptions = {}): Promise<number> {
    return saveNpy(this, file, source, options);
  }

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
  async providedArray(
    type: ArrayType<NumericArray>,
    length: number,
    options: ProvidedArrayOptions,
  ): Promise<ManagedArray> {
    const element = elementOf(type);
    checkOptions('providedArray()', options, PROVIDED_ARRAY_OPTIONS);
    const { name = `#${++this.names}`, writable = false } = options;
    checkName('an array', name);
    checkFlag('writable', writable);
    const elementBytes = bytesOf(element);
    checkLength(`cannot allocate array ${name}`, length, elementBytes);
    const provider = providerSource(name, element, length, options);
    this.client.assertOpen('cannot allocate an array');
    const bytes = length * elementBytes;
    const wanted = { bytes, name, writable, file: null, provider, elementBytes };
    const { id, firstPage, pages } = await this.client.request('allocate', wanted);
    const placement = { space: this.spaceHandle, range: id, firstPage, pages, length, type: element, name };
    return new ManagedArray(this, placement);
  }

  /** An array that another thread made, from its handle. */
  // biome-ignore lint/suspicious/noExplicitAny: what came as a message has no type, and then neither has the array.
  attachArray<T extends NumericArray = any>(handle: ArrayHandle<T>): ManagedArray<T> {
    checkArrayHandle(handle);
    if (handle.space.name !== this.spaceHandle.name) {
      throw typeError(
        'FOREIGN_ARRAY',
        `array ${handle.name} belongs to another space; attach that one by attachSpace(handle.space)`,
      );
    }
    const { range, firstPage, pages, length, type, name } = handle;
    const elementBytes = bytesOf(type);
    this.client.call('attachArray', { range, firstPage, pages, bytes: length * elementBytes, elementBytes, name });
    return new ManagedArray<T>(this, { space: this.spaceHandle, range, firstPage, pages, length, type, name }, true);
  }

  /**
   * Stops this thread while an element has a value, until another thread of this process calls `notify`, or `timeoutMs` is over.
   * It may return 'ok' without a reason, as every futex may: look at the element again. What is notified must be a change: a
   * notification alone is missed by a thread that is not asleep at that moment, as with every futex. For Int32Array and Uint32Array, since the
   * kernel waits for words of 32 bits. Works without privilege, too. Code on a device cannot notify: what it changes is noticed
   * within a fifth of a second, or at once if a thread notifies when the launch has ended. The event loop of the thread stands
   * still meanwhile.
   */
  wait(
    array: ManagedArray<Int32Array> | ManagedArray<Uint32Array>,
    index: number,
    value: number,
    timeoutMs: number = Number.POSITIVE_INFINITY,
  ): WaitResult {
    return wait(array, index, value, timeoutMs);
  }

  /** Wakes up to `count` threads that wait for an element; returns how many were asleep. Change the element before. */
  notify(
    array: ManagedArray<Int32Array> | ManagedArray<Uint32Array>,
    index: number,
    count: number = Number.POSITIVE_INFINITY,
  ): number {
    return notify(array, index, count);
  }

  /**
   * What an address is: the array and the element that it lies in, where its page is, who may use it, and the address that each
   * device has it at. Faults nothing in. Null for an address in no array: outside of the space, behind an array's last element,
   * or in an array that has been freed.
   */
  pointerAttributes(address: bigint): PointerAttributes | null {
    return pointerAttributes(this, address);
  }

  /**
   * Adds a device, at any time, with the options that `openSpace` takes; every thread of the space has it in `space.devices` then. Rejects
   * with DEVICE_START when it does not come up, and with a RangeError (DEVICES, DEVICE_NAME) when there are 15 already, or one of its name.
   */
  async addDevice(specification: DeviceSpecification): Promise<Device> {
    this.client.assertOpen('cannot add a device');
    const [options] = deviceOptions([specification], this.devices.length);
    const info = await this.client.request('addDevice', { options });
    return this.takeDevice(info, null);
  }

  /** @internal A device that was added, or started again in the place of another one. */
  takeDevice(info: DeviceInfo, instead: number | null): Device {
    const devices = this.devices as Device[];
    const known = devices.find(({ number }) => number === info.number || number === instead);
    if (known === undefined) {
      const added = new Device(this, info);
      devices.push(added);
      return added;
    }
    if (known.number !== info.number) known.renew(info);
    return known;
  }

  /** Faults, bytes moved and memory of every processor. */
  stats(): SpaceStats {
    return this.client.call('stats', null);
  }

  /** Throws if the manager's books do not agree with themselves; for tests and bug reports. */
  checkInvariants(): void {
    this.client.call('check', null);
  }

  /**
   * Waits for launches that run, cancels the others, writes shared arrays to their files, and ends the space with its devices. Views
   * that are left read zeros, and a store through one ends the process with a message. With `timeoutMs`, launches that still run after so many milliseconds are ended (ABORTED), with their device
   * where it cannot end a kernel; it may be called again with one. Rejects with FLUSH_FAILED when a file cannot be written, and leaves the space open then: nothing is lost,
   * and it can be closed again when there is room.
   */
  async close(options: CloseOptions = {}): Promise<void> {
    checkOptions('close()', options, CLOSE_OPTIONS);
    const { timeoutMs } = options;
    if (timeoutMs !== undefined && (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))) {
      throw argumentError(
        'TIMEOUT_MS',
        `timeoutMs is ${show(timeoutMs)}; it must be a number of milliseconds, 0 or more`,
      );
    }
    if (this.closing !== null && this.sentinel !== null && timeoutMs !== undefined)
      this.client.tell('close', { timeoutMs, closed: [] });
    this.closing ??= this.end(timeoutMs ?? null);
    try {
      await this.closing;
    } catch (error) {
      this.closing = null;
      throw error;
    }
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.close();
  }

  /** @internal */
  placeNames(): PlaceNames {
    const processors: (string | undefined)[] = ['host'];
    const nodes: (string | undefined)[] = ['host'];
    // Of several that had the number, one after the other, the last one counts.
    for (const { id, node, name } of [...this.devices].sort((a, b) => a.number - b.number)) {
      processors[id] = name;
      nodes[node] = name;
    }
    return { processors, nodes };
  }

  /** @internal */
  arrayOf(type: ElementType, length: number, name?: string, maxLength?: number): ManagedArray {
    checkName('an array', name);
    const shown = name ?? `#${++this.names}`;
    checkLength(`cannot allocate array ${shown}`, length, bytesOf(type));
    if (maxLength !== undefined && !isWhole(maxLength, length)) {
      const message = `maxLength is ${show(maxLength)}; it must be a whole number, ${length} or more`;
      throw argumentError('MAX_LENGTH', `cannot allocate array ${shown}: ${message}`);
    }
    return this.allocate(type, length, shown, true, null, maxLength);
  }

  /** @internal */
  allocate(
    type: ElementType,
    length: number,
    name: string,
    writable: boolean,
    file: FileSource | null,
    maxLength = length,
  ): ManagedArray {
    this.client.assertOpen('cannot allocate an array');
    const elementBytes = bytesOf(type);
    const { id, firstPage, pages } = this.client.call('allocate', {
      bytes: length * elementBytes,
      name,
      writable,
      file,
      provider: null,
      elementBytes,
      reserveBytes: maxLength * elementBytes,
    });
    return new ManagedArray(this, { space: this.spaceHandle, range: id, firstPage, pages, length, type, name });
  }

  private async end(timeoutMs: number | null): Promise<void> {
    if (this.sentinel === null) {
      this.client.close();
      this.views.freed(null);
      this.onClosed();
      return;
    }
    const { wakeFd, bytes } = this.spaceHandle;
    const control = new Int32Array(this.spaceHandle.control);
    const leftover: Leftover = { views: this.views, control, wakeFd, bytes, answers: false };
    let answers = false;
    if (!this.client.isClosed) {
      const gone = new Promise<void>((resolve) => this.sentinel?.once('exit', () => resolve()));
      this.sentinel.ref();
      // A manager that fails on its way out does not answer.
      const takeover = new Takeover();
      const request = this.client.request('close', { timeoutMs, closed: takeover.spaces });
      const closed = await Promise.race([request, gone]).catch((error: unknown) => {
        takeover.cancel();
        this.sentinel?.unref();
        throw error;
      });
      // As long as views are left, the thread answers who uses them.
      if (closed) {
        answers = true;
        takeover.complete(this.sentinel, this.spaceHandle, closed);
        void gone.then(() => {
          this.onClosed();
          leftover.answers = false;
          reclaim();
        });
        this.sentinel.unref();
      } else {
        takeover.cancel();
        await gone;
      }
    }
    this.client.close();
    if (!answers) this.onClosed();
    this.views.freed(null);
    this.views.tryUnmap();
    leftover.answers = answers;
    leftovers.add(leftover);
    reclaim();
  }
}

function checkArrayHandle(handle: unknown): asserts handle is ArrayHandle {
  if (isObject(handle)) {
    const { space, range, firstPage, pages, length, type, name } = handle as Partial<ArrayHandle>;
    const numbers = isWhole(range, 1) && isWhole(firstPage, 0) && isWhole(pages, 1) && isWhole(length, 1);
    if (numbers && isObject(space) && isElementType(type) && typeof name === 'string') return;
  }
  throw typeError('ARRAY_HANDLE', 'this is no handle of an array; pass what array.handle gives, as it is');
}

function toBytes(what: string, value: number | string): number {
  const size = typeof value === 'string' ? parseSize(value) : value;
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size <= 0) {
    throw argumentError(
      'SIZE',
      `${what} is ${show(value)}; it must be a number of bytes above 0, or a size such as '64MiB'`,
    );
  }
  return size;
}

function injectionOf(inject: Injection | undefined): { inject?: Injection } {
  if (inject === undefined) return {};
  checkOptions('inject', inject, INJECTION);
  const { refuseLargerThanPages } = inject;
  checkSize('refuseLargerThanPages', refuseLargerThanPages, 1);
  return { inject: { refuseLargerThanPages } };
}

/** What users are not told of must not surprise them either: an object may have these names for other reasons. */
function internalOptions({ prefetch, crash, heartbeatLimitMs }: SpaceOptions): Partial<ManagerOptions> {
  const density = isObject(prefetch) && typeof prefetch.thresholdPercent === 'number';
  if (!(prefetch === undefined || prefetch === 'tree' || prefetch === 'none' || density)) {
    throw typeError('OPTIONS', `prefetch of a space is 'tree', 'none' or { thresholdPercent }, not ${show(prefetch)}`);
  }
  if (crash !== undefined && typeof crash !== 'string') {
    throw typeError('OPTIONS', `crash is the name of a way to end, not ${show(crash)}`);
  }
  if (heartbeatLimitMs !== undefined) checkSize('heartbeatLimitMs', heartbeatLimitMs, 1);
  return {
    ...(prefetch === undefined ? {} : { prefetch }),
    ...(crash === undefined ? {} : { crash }),
    ...(heartbeatLimitMs === undefined ? {} : { heartbeatLimitMs }),
  };
}

function deviceOptions(devices: readonly DeviceSpecification[], before = 0): DeviceOptions[] {
  if (!Array.isArray(devices)) {
    throw typeError(
      'DEVICES',
      `devices is an array such as [{ kind: 'process', memory: '64MiB' }], not ${show(devices)}`,
    );
  }
  if (devices.length > MAX_DEVICES)
    throw argumentError('DEVICES', `a space has at most ${MAX_DEVICES} devices, not ${devices.length}`);
  const names = new Set<string>(['host']);
  return devices.map((device, index) => {
    checkObject(`device ${index}`, device);
    const { kind, units = 1, name = `${kind}${before + index}`, inject } = device;
    if (kind !== 'process' && kind !== 'simulated' && kind !== 'custom') {
      throw typeError(
        'DEVICE_KIND',
        `device ${index} has kind ${show(kind)}; there are 'process', 'simulated' and 'custom'`,
      );
    }
    checkName(`device ${index}`, name);
    checkOptions<CustomDeviceSpecification | BuiltInDeviceSpecification>(
      `${kind} device ${name}`,
      device,
      kind === 'custom' ? CUSTOM_DEVICE : BUILT_IN_DEVICE,
    );
    if (kind !== 'custom') checkFlag(`lossy of device ${name}`, device.lossy);
    const injection = injectionOf(inject);
    if (names.has(name))
      throw argumentError('DEVICE_NAME', `two devices are named ${name}; give each a name of its own`);
    names.add(name);
    checkSize(`units of device ${name}`, units, 1);
    if (units > MAX_UNITS)
      throw argumentError('UNITS', `device ${name} has ${units} units; at most ${MAX_UNITS} are possible`);
    const memoryBytes = Math.floor(toBytes(`memory of device ${name}`, device.memory) / PAGE_BYTES) * PAGE_BYTES;
    const least = (units + 1) * BLOCK_BYTES;
    if (memoryBytes < least) {
      throw argumentError(
        'DEVICE_MEMORY',
        `device ${name} has ${memoryBytes} bytes of memory; with ${units} units it needs at least ${least}: 2 MiB for each unit that waits in a fault, and 2 MiB`,
      );
    }
    return {
      kind,
      name,
      memoryBytes,
      units,
      lossy: kind === 'simulated' || (kind === 'process' && device.lossy === true),
      ...(kind === 'custom' ? { driver: driverModule(name, device) } : {}),
      ...injection,
    };
  });
}

function driverModule(name: string, { driver, options }: CustomDeviceSpecification): DeviceOptions['driver'] {
  if (typeof driver !== 'object' || driver === null || !('module' in driver)) {
    throw typeError(
      'DRIVER_MODULE',
      `device ${name} is a custom one and names no driver; write driver: { module: new URL('./driver.js', import.meta.url), export: 'create' }`,
    );
  }
  try {
    structuredClone(options);
  } catch (error) {
    throw typeError(
      'DRIVER_OPTIONS',
      `the options of device ${name} cannot be handed to its driver, which is in another thread: ${textOf(error)}`,
    );
  }
  checkOptions(`the driver of device ${name}`, driver, DRIVER_MODULE);
  const url = moduleUrl('DRIVER_MODULE', driver.module);
  return { url, exportName: exportOf('DRIVER_MODULE', driver.export), options };
}

/** Addresses between the beginnings of two spaces that lie next to each other. */
function slotOf(bytes: number): number {
  return Math.ceil(bytes / DEFAULT_SPACE_BYTES) * DEFAULT_SPACE_BYTES;
}

/**
 * How many bytes of addresses a space gets. The host's memory is mapped twice, a device's once; where a limit leaves only so many
 * addresses, half of them stay for the program's own threads and heap.
 */
function addressesFor(wanted: number | string | undefined, devices: number): number {
  const free = freeAddresses();
  const most = Math.floor(free / (2 * (2 + devices)) / BLOCK_BYTES) * BLOCK_BYTES;
  if (wanted === undefined && most >= BLOCK_BYTES) return Math.min(DEFAULT_SPACE_BYTES, most);
  const bytes = Math.ceil(toBytes('addressSpace', wanted ?? DEFAULT_SPACE_BYTES) / BLOCK_BYTES) * BLOCK_BYTES;
  if (bytes <= free / (2 + devices)) return bytes;
  throw argumentError(
    'ADDRESS_SPACE',
    `addressSpace of ${bytes} bytes is mapped ${2 + devices} times, and a limit on addresses leaves ${free} bytes; raise it ` +
      '(ulimit -v unlimited), or leave addressSpace out for a share of what there is',
  );
}

/** Budgets that the machine cannot keep end in the kernel's choice of a process to kill: the program that asked for them should know. */
function warnOfMemory(hostBytes: number, chosen: boolean, devices: readonly DeviceOptions[]): void {
  const most = memoryLimit();
  const warn = (what: string): void =>
    process.emitWarning(
      `${what}, more than the ${most} bytes of this machine or container; when they are used, the kernel ends a process`,
      {
        type: 'OnememWarning',
        code: 'ONEMEM_MEMORY',
      },
    );
  if (chosen && hostBytes > most) warn(`hostMemory is ${hostBytes} bytes`);
  const together = devices.reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
  if (together > most) warn(`the memory of the devices is ${together} bytes, which are memory of the host`);
}

/** The memory of the machine, or of the control group where that is less. */
function memoryLimit(): number {
  return Math.min(systemMemory().total, cgroupMemory().limit);
}

/** Opens a space. Fails at once, with the remedy, where the machine does not allow page faults in user space. */
export async function openSpace(options: SpaceOptions = {}): Promise<AddressSpace> {
  try {
    return await open(options);
  } catch (error) {
    throw shortageError(error as Error);
  }
}

async function open(options: SpaceOptions): Promise<AddressSpace> {
  if (PAGE_SIZE !== PAGE_BYTES) {
    throw new OnememError('PAGE_SIZE', `this kernel has pages of ${PAGE_SIZE} bytes; onemem works with ${PAGE_BYTES}`);
  }
  checkOptions('openSpace()', options, SPACE_OPTIONS);
  checkFlag('verify', options.verify);
  checkFlag('userModeOnly', options.userModeOnly);
  checkFlag('checkInvariants', options.checkInvariants);
  const injection = injectionOf(options.inject);
  const internal = internalOptions(options);
  const devices = deviceOptions(options.devices ?? []);
  const bytes = addressesFor(options.addressSpace, devices.length);
  const slot = slotOf(bytes);
  const bases: number[] = [];
  for (let base = FIRST_BASE; base + bytes <= LAST_ADDRESS; base += slot) bases.push(base);
  if (bases.length === 0) {
    throw argumentError(
      'ADDRESS_SPACE',
      `addressSpace of ${bytes} bytes is more than the ${LAST_ADDRESS - FIRST_BASE} that are possible`,
    );
  }
  const hostBudgetBytes =
    options.hostMemory === undefined ? defaultHostMemory() : toBytes('hostMemory', options.hostMemory);
  if (hostBudgetBytes < LEAST_HOST_BYTES) {
    throw argumentError(
      'HOST_MEMORY',
      `hostMemory is ${hostBudgetBytes} bytes; it must be at least ${LEAST_HOST_BYTES} (32MiB), of which each thread that waits in a fault needs 2 MiB`,
    );
  }
  warnOfMemory(hostBudgetBytes, options.hostMemory !== undefined, devices);
  const entry = sentinelFile();
  if (entry === null) throw new OnememError('BUNDLED', bundledMessage());
  await collectViews(slot);
  const control = new SharedArrayBuffer(CONTROL_WORDS * 4);
  const wakeFd = createEventfd();
  const name = randomUUID();
  const manager: ManagerOptions = {
    name,
    bytes,
    bases,
    control,
    wakeFd,
    hostBudgetBytes,
    userModeOnly: options.userModeOnly ?? false,
    devices,
    checkInvariants: options.checkInvariants ?? false,
    ...recordingOf(process.env.ONEMEM_RECORD),
    nodeOptions: moduleOptions(process.execArgv),
    ...injection,
    ...internal,
  };
  const sentinel = new Worker(entry, {
    // It runs nothing of the program's; the manager, which does, gets the options that matter from it.
    execArgv: [],
    workerData: manager,
    name: 'onemem sentinel',
  });
  const ready = await new Promise<ManagerReady>((resolve, reject) => {
    sentinel.once('message', resolve);
    sentinel.once('error', reject);
    sentinel.once('exit', (code) => reject(new Error(`the thread that watches the manager ended with code ${code}`)));
  }).catch((error: Error) => error);
  if (ready instanceof Error || 'error' in ready) {
    await sentinel.terminate();
    closeEventfd(wakeFd);
    throw openingError(ready instanceof Error ? ready : fromWire(ready.error));
  }
  const words = new Int32Array(control);
  if (!isMainThread) Atomics.store(words, Control.OpenedByWorker, 1);
  const forget = watchExit({ control: words, wakeFd });
  sentinel.unref();
  const handle: SpaceHandle = Object.freeze({
    onemem: 1,
    name,
    base: ready.base,
    bytes,
    owner: process.pid,
    wakeFd,
    control,
    devices: ready.devices,
    hostBudgetBytes,
  });
  signHandle(handle);
  hasOpened = true;
  const space = new AddressSpace(handle, sentinel, forget);
  space.verifies = options.verify ?? false;
  return space;
}

let recordings = 0;

/** Where the run of a space is written down: the first one in the file that was named, others beside it. */
function recordingOf(path: string | undefined): Pick<ManagerOptions, 'record'> {
  if (path === undefined || path === '') return {};
  recordings++;
  return { record: resolve(recordings === 1 ? path : `${path}.${recordings}`) };
}

/** Whether a space has been opened in this thread. */
let hasOpened = false;

/** Descriptors can be missed wherever something is opened, be it a file that says how much memory there is. */
function shortageError(error: Error): Error {
  const { code, message: told } = error as { code?: string; message: string };
  const [shortage] = /\bE[MN]FILE\b/.exec(`${code} ${told}`) ?? [];
  if (shortage === undefined || code === 'DESCRIPTORS') return error;
  const limit = descriptorLimit();
  const whose =
    shortage === 'EMFILE' ? `this process may have ${limit} of them (ulimit -n)` : 'the machine has no more';
  const message =
    `cannot open a space: no file descriptors are left (${shortage}): ${whose}, and a space takes up to ${SPACE_DESCRIPTORS} ` +
    `while it opens, and ${DEVICE_DESCRIPTORS} for each device; close files, sockets or other spaces, or raise the limit`;
  return new OnememError('DESCRIPTORS', message, { limit }, { cause: error });
}

/** A failure to open usually has a reason that `onemem doctor` names, with its remedy. */
function openingError(error: Error): Error {
  // What doctor would try out would fail of the same.
  const shortage = shortageError(error);
  if (shortage !== error) return shortage;
  if (hasOpened) {
    // The machine has what a space needs; only the addresses of other spaces can be in the way.
    if (!error.message.includes('EEXIST')) return error;
    const message =
      'no addresses are left for another space: close spaces, and drop the views of those that are closed, or open spaces with a ' +
      'smaller addressSpace where it is more than 1TiB';
    return new OnememError('ADDRESS_SPACE', message, {}, { cause: error });
  }
  const features = probeFeatures();
  const reasons = explainMissing(features);
  if (reasons === null) return error;
  const missing = features.filter((feature) => feature.required && !feature.available);
  return new OnememError(
    'UNSUPPORTED',
    `this machine does not offer what onemem needs ('npx onemem doctor' tries everything out):\n  ${reasons.join('\n  ')}`,
    { missing },
    { cause: error },
  );
}

function defaultHostMemory(): number {
  return Math.max(Math.floor((memoryLimit() * HOST_SHARE) / BLOCK_BYTES) * BLOCK_BYTES, LEAST_HOST_BYTES);
}

const attached = new Map<string, AddressSpace>();

/** Sees a space that another thread of this process opened, from its handle. Attaching twice gives the same object. */
export function attachSpace(handle: SpaceHandle): AddressSpace {
  checkSpaceHandle(handle);
  if (handle.owner !== process.pid) {
    throw new OnememError(
      'OTHER_PROCESS',
      `the space belongs to process ${handle.owner}; other processes cannot attach yet`,
    );
  }
  checkUnchanged(handle);
  const known = attached.get(handle.name);
  if (known !== undefined && !known.isClosed) return known;
  const control = new Int32Array(handle.control);
  // Counted before the look at the state, so that an owner who closes the space meanwhile sees one of the two.
  Atomics.add(control, Control.AttachedThreads, 1);
  listThread(control);
  const witness = Atomics.load(control, Control.OpenedByWorker) === 1 ? startWitness(handle) : null;
  let counted = true;
  const leave = (): void => {
    if (counted) Atomics.sub(control, Control.AttachedThreads, 1);
    counted = false;
    void witness?.terminate();
    attached.delete(handle.name);
  };
  let space: AddressSpace;
  try {
    space = new AddressSpace(handle, null, leave);
  } catch (error) {
    leave();
    throw error;
  }
  attached.set(handle.name, space);
  if (!isMainThread) {
    process.once('exit', () => {
      space.views.threadEnds();
      space.client.close(true);
      leave();
      space.views.allGone();
    });
  }
  return space;
}

function startWitness({ control }: SpaceHandle): Worker {
  const witness = new Worker(witnessFile(), { execArgv: [], workerData: control, name: 'onemem witness' });
  witness.unref();
  return witness;
}

/** Sees an array that another thread of this process made, from its handle. */
// biome-ignore lint/suspicious/noExplicitAny: what came as a message has no type, and then neither has the array.
export function attachArray<T extends NumericArray = any>(handle: ArrayHandle<T>): ManagedArray<T> {
  checkArrayHandle(handle);
  return attachSpace(handle.space).attachArray(handle);
}
