/** A space: one range of addresses that the CPU and the devices share. */

import { bytesOf, type ElementType, type NumericArray } from '../../core/basics/elements.js';
import type { Lender } from '../../drivers/webgpu/lender.js';
import { readGguf } from '../../files/gguf.js';
import { readSafetensors } from '../../files/safetensors.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { type NumaNode, type NumaPlace, numaNodes } from '../../linux/memory/numa.js';
import type { OptionNames } from '../../messages/option-names.js';
import type { FileSource, Requests } from '../../pager/protocol/requests.js';
import type { DeviceInfo, SpaceHandle, SpaceStats } from '../../pager/protocol/space.js';
import { notify, type WaitResult, wait } from '../arrays/changes/wait.js';
import {
  checkCreated,
  checkUse,
  createdArray,
  FILE_ARRAY_OPTIONS,
  type FileArrayOptions,
  partOfFile,
  withFile,
} from '../arrays/files/file-array.js';
import { type OpenNpyOptions, openNpy, type SaveNpyOptions, saveNpy } from '../arrays/files/npy.js';
import { type ArrayHandle, checkArrayHandle } from '../arrays/parts/array-handle.js';
import { type ArrayType, elementOf } from '../arrays/parts/array-type.js';
import { printAs, type SpaceDescription, UNSENDABLE_SPACE } from '../arrays/parts/description.js';
import { pointerAttributes } from '../arrays/parts/pointer.js';
import {
  PROVIDED_ARRAY_OPTIONS,
  PROVIDED_EXAMPLE,
  type ProvidedArrayOptions,
  providerSource,
} from '../arrays/provided-array.js';
import {
  type BindThreadOptions,
  bindThread,
  releaseThread,
  type ThreadBinding,
} from '../arrays/thread-binding.js';
import { closeSpace, closeWithThread, type OpenedSpace } from '../endings/closing.js';
import { HOST_STREAM_OPTIONS, type HostStreamOptions } from '../launches/launch-options.js';
import {
  endRegistrations,
  type RegisterableMemory,
  type RegisterOptions,
  type Registration,
  register,
} from '../launches/registration.js';
import { checkSignal } from '../line/cancellation.js';
import { Client, type Connect } from '../line/client.js';
import type { ManagerThreads } from '../line/manager-threads.js';
import { descriptorError } from '../line/opening-errors.js';
import { handOut } from '../line/space-handle.js';
import { Views } from '../line/views.js';
import { deviceOptions } from '../options/described-devices.js';
import { withMemory } from '../options/device-memory.js';
import type { DeviceSpecification } from '../options/device-specification.js';
import { hostBytes, memoryLimit, warnOfMemory } from '../options/host-memory.js';
import { lend } from '../options/lending.js';
import { numaPlace } from '../options/numa.js';
import {
  type Explanation,
  explain,
  type Recording,
  type RecordOptions,
  record,
  report,
  type SpaceReport,
} from '../options/recording.js';
import {
  agree,
  SHARED_ARRAY_OPTIONS,
  type SharedArrayOptions,
  sharingPlace,
} from '../options/sharing.js';
import type * as api from '../public.js';
import type {
  ArrayOptions,
  ArrayRange,
  ArrowFile,
  ArrowTable,
  CloseOptions,
  PointerAttributes,
  ShareOptions,
  TensorFile,
} from '../public.js';
import { checkFlag, checkName, checkOptions, isWhole, show } from '../values/arguments.js';
import { checkLength } from '../values/array-length.js';
import { ASYNC_DISPOSE } from '../values/disposal.js';
import { argumentError, madeElsewhere, typeError } from '../values/errors.js';
import { type FilePath, pathOf } from '../values/file-path.js';
import type { PlaceNames } from '../values/residency.js';
import { fromArrow, openArrow } from './arrow.js';
import { Device } from './device.js';
import { HostStream } from './host-stream.js';
import { ManagedArray } from './managed-array.js';
import { metricsText } from './metrics.js';
import { collectMetrics, type MetricsOptions } from './prom-client.js';
import { saveSpace } from './saved-space.js';
import { type SpaceServer, serve } from './serve.js';
import { shareWish } from './share-options.js';
import { SharedArray } from './shared-array.js';
import { type EventsOptions, type SpaceEvents, spaceEvents } from './space-events.js';
import { openTensors } from './tensor-file.js';

/** What reports call them. */
const STAGING_NAME = 'a copy of a plain array';

const CLOSE_OPTIONS: OptionNames<CloseOptions> = { timeoutMs: true };

const ARRAY_OPTIONS: OptionNames<ArrayOptions> = {
  name: true,
  maxLength: true,
  keep: true,
  numa: true,
};

export class AddressSpace implements api.AddressSpace {
  /** Comes before what cannot be cloned either, so that postMessage(space) says what to do. */
  readonly unsendable = UNSENDABLE_SPACE;
  private readonly spaceHandle: SpaceHandle;
  private readonly threads: ManagerThreads | null;
  readonly devices: readonly Device[];
  readonly client: Client;
  readonly views: Views;
  /** Whether launches are verified that do not say otherwise. */
  verifies = false;
  private readonly opened: OpenedSpace;
  private closing: Promise<void> | null = null;
  private names = 0;
  private readonly followers = new Set<SpaceServer | SpaceEvents>();

  constructor(
    spaceHandle: SpaceHandle,
    threads: ManagerThreads | null,
    onClosed: () => void,
    lenders: Lender[] = [],
    connect?: Connect,
  ) {
    if (!(spaceHandle?.control instanceof SharedArrayBuffer))
      throw madeElsewhere('a space', 'openSpace(), and by attachSpace(handle) in another thread');
    this.spaceHandle = spaceHandle;
    this.threads = threads;
    // As text it goes to other processes.
    if (!Object.isFrozen(spaceHandle))
      Object.defineProperty(spaceHandle, 'toJSON', {
        value: () => ({ onemem: 1, attach: this.share() }),
      });
    Object.freeze(spaceHandle);
    this.client = new Client(spaceHandle, threads === null, connect);
    this.client.onDevice = (info, instead) => this.takeDevice(info, instead);
    // The handle knows those that were there when the space was opened.
    const infos = threads === null ? this.client.call('devices', null) : spaceHandle.devices;
    this.devices = infos.map((info) => new Device(this, info));
    this.views = new Views(spaceHandle, this.client, threads !== null);
    const { client, views } = this;
    this.opened = { client, views, handle: spaceHandle, threads, lenders, onClosed };
  }

  get handle(): SpaceHandle {
    this.client.assertOpen('cannot share the space');
    return handOut(this.spaceHandle);
  }

  share(options: ShareOptions = {}): string {
    const { rights, ranges } = shareWish(this, options);
    this.client.assertOpen('cannot share the space');
    const { attachedBy } = this.spaceHandle;
    if (attachedBy !== undefined && rights === 'write' && ranges === null) return attachedBy;
    return this.client.call('shareSpace', { rights, ranges }).handle;
  }

  // biome-ignore lint/suspicious/noExplicitAny: a name says nothing of the type of the elements.
  find<T extends NumericArray = any>(name: string): ManagedArray<T> | null {
    checkName('an array', name);
    const listing = this.client.call('arrays', null).findLast((each) => each.name === name);
    if (listing === undefined) return null;
    return new ManagedArray<T>(this, { space: this.spaceHandle, ...listing }, true);
  }

  /** All arrays, in the order in which they were made. */
  private arrays(): ManagedArray[] {
    const space = this.spaceHandle;
    const listings = this.client.call('arrays', null);
    return listings.map((each) => new ManagedArray(this, { space, ...each }, true));
  }

  get isClosed(): boolean {
    return this.client.isClosed;
  }

  get numa(): readonly NumaNode[] {
    return numaNodes();
  }

  get hostBytes(): number {
    return this.client.call('stats', null).processors[0].budgetBytes;
  }

  async setHostMemory(bytes: number | string): Promise<void> {
    this.client.assertOpen('cannot change host memory');
    const wanted = hostBytes(bytes);
    warnOfMemory(wanted, memoryLimit(), true, []);
    await this.client.request('setHostMemory', { bytes: wanted });
  }

  array<T extends NumericArray>(
    type: ArrayType<T>,
    length: number,
    options: ArrayOptions = {},
  ): ManagedArray<T> {
    const element = elementOf(type);
    checkOptions('array()', options, ARRAY_OPTIONS);
    return this.arrayOf(element, length, options) as ManagedArray<T>;
  }

  bytes(length: number, options: ArrayOptions = {}): ManagedArray<Uint8Array> {
    checkOptions('bytes()', options, ARRAY_OPTIONS);
    return this.arrayOf('bytes', length, options) as ManagedArray<Uint8Array>;
  }

  /** The interface has the return type for each of the options: `never` fits all of them. */
  fileArray(type: ArrayType<NumericArray>, file: FilePath, options: FileArrayOptions = {}): never {
    const element = elementOf(type);
    const path = pathOf(file);
    const use = checkUse('fileArray()', path, options, FILE_ARRAY_OPTIONS);
    const { byteOffset = 0, create: created } = options;
    if (created !== undefined) {
      checkCreated(options, use.name, bytesOf(element));
      const place = { head: byteOffset, length: created };
      return createdArray(this, path, element, use.name, place) as never;
    }
    return withFile(path, use.shared ? 'shared' : 'read', (fd, size) => {
      const { source, length } = partOfFile({ fd, path, size }, element, use, options);
      return this.allocate(element, length, use.name, use.writable, source) as never;
    });
  }

  openNpy(file: FilePath, options: OpenNpyOptions = {}): never {
    return openNpy(this, file, options) as never;
  }

  openSafetensors(file: FilePath): TensorFile {
    return openTensors(this, file, readSafetensors);
  }

  openGguf(file: FilePath): TensorFile {
    return openTensors(this, file, readGguf);
  }

  async openArrow(file: FilePath): Promise<ArrowFile> {
    return openArrow(this, file);
  }

  fromArrow(table: ArrowTable): Record<string, ManagedArray> {
    this.client.assertOpen('cannot allocate an array');
    return fromArrow(this, table) as Record<string, ManagedArray>;
  }

  async saveNpy(
    file: FilePath,
    source: ManagedArray | ArrayRange,
    options: SaveNpyOptions = {},
  ): Promise<number> {
    return saveNpy(this, file, source, options);
  }

  async save(file: FilePath): Promise<number> {
    this.client.assertOpen('cannot save the space');
    return saveSpace(this.arrays(), file);
  }

  async providedArray(
    type: ArrayType<NumericArray>,
    length: number,
    options: ProvidedArrayOptions,
  ): Promise<never> {
    const element = elementOf(type);
    checkOptions('providedArray()', options, PROVIDED_ARRAY_OPTIONS, PROVIDED_EXAMPLE);
    const { name = `#${++this.names}`, writable = false } = options;
    checkName('an array', name);
    checkFlag('writable', writable);
    const elementBytes = bytesOf(element);
    checkLength(`cannot allocate array ${name}`, length, elementBytes);
    const provider = providerSource(name, element, length, options);
    this.client.assertOpen('cannot allocate an array');
    const bytes = length * elementBytes;
    const wanted = { bytes, name, writable, file: null, provider, elementBytes, type: element };
    const made = await this.client.request('allocate', wanted).catch((error: unknown) => {
      throw descriptorError(`cannot start the provider of array ${name}`, error);
    });
    return new ManagedArray(this, this.placed(made, element, length, name)) as never;
  }

  async sharedArray<T extends NumericArray>(
    type: ArrayType<T>,
    length: number,
    options: SharedArrayOptions,
  ): Promise<SharedArray<T>> {
    const element = elementOf(type);
    checkOptions('sharedArray()', options, SHARED_ARRAY_OPTIONS);
    const elementBytes = bytesOf(element);
    checkLength('cannot open a shared array', length, elementBytes);
    const { name, place } = sharingPlace(options, element, length);
    this.client.assertOpen('cannot open a shared array');
    const bytes = length * elementBytes;
    const shared = { writable: true, file: null, provider: null, sharing: true };
    const wanted = { bytes, name, ...shared, elementBytes, type: element };
    // Before the server is asked, which makes the array where there is none: what this program
    // cannot have takes no name from others.
    const made = await this.client.request('allocate', wanted);
    const { id: range, firstPage, pages: count } = made;
    try {
      const source = await agree(name, place, element, length);
      await this.client.request('share', { range, name, source });
    } catch (error) {
      this.client.callUnlessClosed('free', { range, name, firstPage, count, whole: true });
      throw error;
    }
    return new SharedArray<T>(this, this.placed(made, element, length, name));
  }

  // biome-ignore lint/suspicious/noExplicitAny: what came as a message has no type, and then neither has the array.
  attachArray<T extends NumericArray = any>(handle: ArrayHandle<T>): ManagedArray<T> {
    checkArrayHandle(handle);
    if (handle.space.name !== this.spaceHandle.name) {
      throw typeError(
        'FOREIGN_ARRAY',
        `array ${handle.name} belongs to another space; attach that one by attachSpace(handle.space)`,
      );
    }
    const { range, firstPage, pages, length, type, name, mapped = false } = handle;
    const elementBytes = bytesOf(type);
    const bytes = length * elementBytes;
    this.client.call('attachArray', { range, firstPage, pages, bytes, elementBytes, name });
    const made = { id: range, firstPage, pages };
    return new ManagedArray<T>(this, this.placed(made, type, length, name, mapped), true);
  }

  wait(
    array: ManagedArray<Int32Array> | ManagedArray<Uint32Array>,
    index: number,
    value: number,
    timeoutMs: number = Number.POSITIVE_INFINITY,
  ): WaitResult {
    return wait(array, index, value, timeoutMs);
  }

  notify(
    array: ManagedArray<Int32Array> | ManagedArray<Uint32Array>,
    index: number,
    count: number = Number.POSITIVE_INFINITY,
  ): number {
    return notify(array, index, count);
  }

  pointerAttributes(address: bigint): PointerAttributes | null {
    return pointerAttributes(this, address);
  }

  async addDevice(specification: DeviceSpecification): Promise<Device> {
    this.client.assertOpen('cannot add a device');
    const described = deviceOptions([specification], this.devices.length);
    const known = await withMemory(described, () => this.stats().processors[0].budgetBytes);
    const { options, lenders } = await lend([specification], known);
    const info = await this.client
      .request('addDevice', { options: options[0] })
      .catch(async (error: unknown) => {
        await Promise.all(lenders.map((lender) => lender.withdraw()));
        throw descriptorError('cannot add a device', error);
      });
    this.opened.lenders.push(...lenders);
    return this.takeDevice(info, null);
  }

  /** A device that was added, or started again in the place of another one. */
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

  stream(options: HostStreamOptions = {}): HostStream {
    this.client.assertOpen('cannot make a stream');
    checkOptions('stream()', options, HOST_STREAM_OPTIONS);
    checkSignal(options.signal);
    return new HostStream(this, options.signal ?? null);
  }

  stats(): SpaceStats {
    // What is kept for later launches is no memory that the program uses.
    this.client.spare();
    return this.client.call('stats', null);
  }

  metrics(): string {
    return metricsText(this.stats(), this.spaceHandle.name);
  }

  async collectMetrics(options: MetricsOptions = {}): Promise<void> {
    this.client.assertOpen('cannot collect metrics');
    await collectMetrics(this, this.spaceHandle.name, options);
  }

  record(file: FilePath, options: RecordOptions = {}): Promise<Recording> {
    return record(this.client, file, options);
  }

  report(): Promise<SpaceReport> {
    return report(this.client);
  }

  explain(array: ManagedArray, element: number): Promise<Explanation> {
    return explain(this.client, array, element);
  }

  async serve(options: api.ServeOptions = {}): Promise<SpaceServer> {
    const server = await serve(
      this.client,
      this.forThreads(),
      options as Parameters<typeof serve>[2],
    );
    this.followers.add(server);
    if (this.spaceHandle.attachedBy === undefined) await this.show();
    return server;
  }

  async events(options: EventsOptions = {}): Promise<SpaceEvents> {
    const events = await spaceEvents(this.client, this.forThreads(), options);
    this.followers.add(events);
    return events;
  }

  /** Lets other programs of this user look at the space. */
  async show(): Promise<void> {
    await this.client.request('show', null);
  }

  private forThreads(): SpaceHandle | string {
    return this.spaceHandle.attachedBy ?? this.handle;
  }

  checkInvariants(): void {
    this.client.call('check', null);
  }

  bindThread(options: BindThreadOptions = {}): ThreadBinding {
    return bindThread(this.client, options);
  }

  async close(options: CloseOptions = {}): Promise<void> {
    checkOptions('close()', options, CLOSE_OPTIONS);
    const { timeoutMs } = options;
    if (timeoutMs !== undefined && (typeof timeoutMs !== 'number' || !(timeoutMs >= 0))) {
      throw argumentError(
        'TIMEOUT_MS',
        `timeoutMs is ${show(timeoutMs)}; it must be a number of milliseconds, 0 or more`,
      );
    }
    if (this.closing !== null && this.threads !== null && timeoutMs !== undefined)
      this.client.tell('close', { timeoutMs, closed: [] });
    // The thread that opened the space has its close release all.
    if (this.threads === null) releaseThread(this.client);
    this.closing ??= Promise.all([...this.followers].map((each) => each.close())).then(() =>
      closeSpace(this.opened, timeoutMs ?? null),
    );
    try {
      await this.closing;
      endRegistrations(this);
    } catch (error) {
      // What could not be flushed is lost with a space that has been closed nevertheless: there is
      // nothing to close again.
      this.closing = this.client.isClosed ? Promise.resolve() : null;
      if (this.client.isClosed) endRegistrations(this);
      throw error;
    }
  }

  threadEnds(limitMs: number): void {
    closeWithThread(this.opened, limitMs);
  }

  toJSON(): SpaceDescription {
    const state = this.isClosed ? 'closed' : 'open';
    const devices = this.devices.map((each) => each.toJSON());
    return { state, devices, note: 'more: space.stats()' };
  }

  static {
    printAs(AddressSpace, (space, inspect) => {
      if (space.isClosed) return 'AddressSpace (closed)';
      const names = space.devices.map(({ name }) => inspect(name)).join(', ');
      return `AddressSpace (${names === '' ? 'no devices' : `devices: ${names}`}; more: space.stats())`;
    });
  }

  async [ASYNC_DISPOSE](): Promise<void> {
    await this.close();
  }

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

  arrayOf(type: ElementType, length: number, options: ArrayOptions = {}): ManagedArray {
    const { name, maxLength, keep = false, numa } = options;
    checkName('an array', name);
    checkFlag('keep', keep);
    const shown = name ?? `#${++this.names}`;
    checkLength(`cannot allocate array ${shown}`, length, bytesOf(type));
    if (maxLength !== undefined && !isWhole(maxLength, length)) {
      const message = `maxLength is ${show(maxLength)}; it must be a whole number, ${length} or more`;
      throw argumentError('MAX_LENGTH', `cannot allocate array ${shown}: ${message}`);
    }
    const place = numa === undefined ? null : numaPlace(`array ${shown}`, numa);
    return this.allocate(type, length, shown, true, null, { maxLength, keep, place });
  }

  stagingArray(type: ElementType, length: number): ManagedArray {
    return this.allocate(type, length, STAGING_NAME, true, null, { staging: true });
  }

  registeredArray(fd: number, bytes: number): ManagedArray {
    const path = 'registered memory';
    const file = { fd, path, offset: 0, bytes, shared: true, mapped: true };
    try {
      return this.allocate('bytes', bytes, path, true, file, { unlisted: true });
    } catch (error) {
      closeDescriptor(fd);
      throw error;
    }
  }

  register(memory: RegisterableMemory, options: RegisterOptions = {}): Registration {
    return register(this, memory, options);
  }

  allocate(
    type: ElementType,
    length: number,
    name: string,
    writable: boolean,
    file: FileSource | null,
    {
      maxLength = length,
      keep = false,
      place = null,
      staging = false,
      unlisted = false,
    }: Pick<ArrayOptions, 'maxLength' | 'keep'> & {
      place?: NumaPlace | null;
      staging?: boolean;
      /** `find` does not give it by its name. */
      unlisted?: boolean;
    } = {},
  ): ManagedArray {
    this.client.assertOpen('cannot allocate an array');
    const elementBytes = bytesOf(type);
    const made = this.client.call('allocate', {
      bytes: length * elementBytes,
      name,
      writable,
      file,
      provider: null,
      elementBytes,
      ...(unlisted ? {} : { type }),
      reserveBytes: maxLength * elementBytes,
      keep,
      numa: place,
      staging,
    });
    // The process that opened the space has one of its own.
    if (file !== null && this.client.hasOwner) closeDescriptor(file.fd);
    return new ManagedArray(this, this.placed(made, type, length, name, file?.mapped === true));
  }

  /** The handle of an array that the manager has made. */
  private placed<T extends NumericArray>(
    { id: range, firstPage, pages }: Requests['allocate']['out'],
    type: ElementType,
    length: number,
    name: string,
    mapped = false,
  ): ArrayHandle<T> {
    const space = this.spaceHandle;
    return { space, range, firstPage, pages, length, type, name, mapped };
  }
}
