/** A space: one range of addresses that the CPU and the devices share. */

import type { Worker } from 'node:worker_threads';
import { bytesOf, type ElementType, type NumericArray, type ReadonlyView } from '../core/elements.js';
import type { OptionNames } from '../core/option-names.js';
import type { FileSource } from '../pager/protocol/requests.js';
import type { DeviceInfo, SpaceHandle, SpaceStats } from '../pager/protocol/space.js';
import { checkFlag, checkName, checkOptions, isWhole, show } from './arguments.js';
import { type ArrayHandle, checkArrayHandle } from './array-handle.js';
import { checkLength } from './array-length.js';
import { type ArrayType, elementOf } from './array-type.js';
import { Client } from './client.js';
import { closeSpace, type OpenedSpace } from './closing.js';
import { Device } from './device.js';
import { type DeviceSpecification, deviceOptions } from './device-specification.js';
import { ASYNC_DISPOSE } from './disposal.js';
import { argumentError, typeError } from './errors.js';
import { checkUse, FILE_ARRAY_OPTIONS, type FileArrayOptions, partOfFile, withFile } from './file-array.js';
import { type FilePath, pathOf } from './file-path.js';
import { hostBytes } from './host-memory.js';
import { ManagedArray } from './managed-array.js';
import { type OpenNpyOptions, openNpy, type SaveNpyOptions, saveNpy } from './npy.js';
import { pointerAttributes } from './pointer.js';
import { PROVIDED_ARRAY_OPTIONS, type ProvidedArrayOptions, providerSource } from './provided-array.js';
import type { ArrayRange, NpyArray, PointerAttributes } from './public-types.js';
import type { PlaceNames } from './residency.js';
import { SharedArray } from './shared-array.js';
import { agree, SHARED_ARRAY_OPTIONS, type SharedArrayOptions, sharingSource } from './sharing.js';
import { Views } from './views.js';
import { notify, type WaitResult, wait } from './wait.js';

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

const ARRAY_OPTIONS: OptionNames<ArrayOptions> = { name: true, maxLength: true };

export class AddressSpace {
  /** In the order in which they came; also those that have died or were detached, which `restart()` starts again. */
  readonly devices: readonly Device[];
  /** @internal */
  readonly client: Client;
  /** @internal */
  readonly views: Views;
  /** @internal Whether launches are verified that do not say otherwise. */
  verifies = false;
  private readonly opened: OpenedSpace;
  private closing: Promise<void> | null = null;
  private names = 0;

  /** @internal */
  constructor(
    private readonly spaceHandle: SpaceHandle,
    private readonly sentinel: Worker | null,
    onClosed: () => void,
  ) {
    this.client = new Client(spaceHandle, sentinel === null);
    this.client.onDevice = (info, instead) => this.takeDevice(info, instead);
    // The handle knows those that were there when the space was opened.
    const infos = sentinel === null ? this.client.call('devices', null) : spaceHandle.devices;
    this.devices = infos.map((info) => new Device(this, info));
    this.views = new Views(spaceHandle, this.client, sentinel !== null);
    const { client, views } = this;
    this.opened = { client, views, handle: spaceHandle, sentinel, onClosed };
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
   * Changes how much host memory arrays may take, `'256MiB'` or bytes, at least '32MiB', while the program runs. It grows at once; it
   * shrinks as pages go to storage or to their files, and the promise is fulfilled when it has. Rejects with HOST_BUDGET where arrays or
   * pins need more, or what is in use can go nowhere: then it is as large as before.
   */
  async setHostMemory(bytes: number | string): Promise<void> {
    this.client.assertOpen('cannot change host memory');
    await this.client.request('setHostMemory', { bytes: hostBytes(bytes) });
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

  /**
   * An array that programs on any number of machines have: whoever opens its name on the server has the same elements. What is touched
   * comes here by blocks, and stays as long as no other machine wants to write it. Elements are zero until somebody writes them; all
   * programs see the writes of each block, and of different blocks, in one order. Blocks of a machine that dies go on with what it had
   * flushed (`fence`). Rejects with SHARED_SERVER when the server cannot be used, and with SHARED_MISMATCH where the array is there with
   * another type, length or size of blocks. Kernels, copies, clones, pins, files and protection are refused (SHARED_ARRAY).
   */
  async sharedArray<T extends NumericArray>(
    type: ArrayType<T>,
    length: number,
    options: SharedArrayOptions,
  ): Promise<SharedArray<T>> {
    const element = elementOf(type);
    checkOptions('sharedArray()', options, SHARED_ARRAY_OPTIONS);
    const elementBytes = bytesOf(element);
    checkLength('cannot open a shared array', length, elementBytes);
    const { name, source } = sharingSource(options, element, length);
    this.client.assertOpen('cannot open a shared array');
    await agree(name, source, element, length);
    const bytes = length * elementBytes;
    const wanted = { bytes, name, writable: true, file: null, provider: null, sharing: source, elementBytes };
    const { id, firstPage, pages } = await this.client.request('allocate', wanted);
    const placement = { space: this.spaceHandle, range: id, firstPage, pages, length, type: element, name };
    return new SharedArray<T>(this, placement);
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
   * kernel waits for words of 32 bits. Works without privilege, too. Throws ACCESS_DENIED where the element may not be read, and the code of
   * what went wrong where its content cannot be had. Code on a device cannot notify: what it changes is noticed
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
    this.closing ??= closeSpace(this.opened, timeoutMs ?? null);
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
    const nodes: (string | undefined)[] = ['host', ...this.handle.stores];
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
}
