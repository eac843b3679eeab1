/**
 * The contract between the manager and a device. A driver creates mappings, moves bytes, runs
 * kernels, and says when one of its threads faulted; it decides nothing about where pages belong.
 * Frame n of a node is its n-th 4 KiB; on an identity node the frame of a page is the page's own
 * number.
 */
import type { ElementType, NumericArray } from '../core/basics/elements.js';
import type { Access, DeviceDescription, Status } from '../core/basics/types.js';
import type { PageRounds } from '../wgsl/page-rounds.js';
import type { UniformValue } from '../wgsl/values.js';

export type { ElementType };

/** A parameter of a launch, for its kernel. */
export type LaunchParameter =
  | {
      readonly name: string;
      readonly kind: 'array';
      readonly type: ElementType;
      readonly use: 'in' | 'out' | 'inout';
      /** Byte offset in the space. */
      readonly offset: number;
      /** Elements. */
      readonly length: number;
    }
  | { readonly name: string; readonly kind: 'scalar'; readonly value: number | bigint }
  /** What a function gets for a value of several numbers. */
  | { readonly name: string; readonly kind: 'value'; readonly value: PlainValue }
  /** What a module in WGSL gets for it, by the layout of its uniform variable. */
  | { readonly name: string; readonly kind: 'bytes'; readonly content: Uint8Array };

/** Numbers, and lists and objects of them. */
export type PlainValue =
  | number
  | boolean
  | readonly PlainValue[]
  | { readonly [member: string]: PlainValue };

/** The code of a kernel: the text of a function, or an export of a module. */
export type KernelCode =
  | { readonly kind: 'inline'; readonly source: string }
  | { readonly kind: 'module'; readonly url: string; readonly exportName: string };

/**
 * A place in a uniform variable: of a number, which is a parameter of the kernel or what the launch
 * covers; or of a parameter that comes as bytes. What comes later in a list stands above what comes
 * before.
 */
export interface UniformMember {
  /** A parameter's name; for `launch`: begin, end or size. */
  readonly name: string;
  readonly from: 'parameter' | 'launch';
  readonly type: 'i32' | 'u32' | 'f32' | 'bytes';
  readonly offset: number;
}

/** What a variable of a WGSL module is bound to. */
export type WgslBinding = { readonly group: number; readonly binding: number } & (
  | {
      readonly kind: 'array';
      readonly parameter: string;
      readonly writable: boolean;
      readonly leastBytes: number;
    }
  | { readonly kind: 'uniform'; readonly bytes: number; readonly members: readonly UniformMember[] }
);

/** A value that a kernel gives to an `override` declaration of its module. */
export interface WgslConstant {
  readonly name: string;
  /** What the pipeline calls it: the number of its `@id`, or its name. */
  readonly key: string;
  readonly value: number | boolean;
}

/** A module in WGSL, and how the parameters of the kernel reach it. */
export interface WgslCode {
  readonly kind: 'wgsl';
  readonly source: string;
  readonly entryPoint: string;
  readonly workgroupSize: readonly [number, number, number];
  readonly bindings: readonly WgslBinding[];
  readonly constants: readonly WgslConstant[];
}

/** What a launch runs: a function where the device has threads, a WGSL module where it is a GPU. */
export type AnyKernelCode = KernelCode | WgslCode;

/** The part of a launch that one call covers. */
export interface KernelCallRange {
  readonly begin: number;
  readonly end: number;
  /** Size of the whole launch. */
  readonly size: number;
  readonly unit: number;
  readonly units: number;
}

/** Whole arrays, numbers and plain values by the names of parameters. */
export type KernelCallValues = Record<string, NumericArray | number | bigint | PlainValue>;

/** A kernel as a driver calls it: arrays and numbers by name, then the part. */
export type CallableKernel = (values: KernelCallValues, range: KernelCallRange) => unknown;

/** A launch: call the kernel for parts that together cover [begin, end). */
export interface DriverLaunch {
  readonly id: number;
  readonly kernelName: string;
  readonly code: KernelCode;
  readonly parameters: readonly LaunchParameter[];
  readonly begin: number;
  readonly end: number;
  readonly size: number;
}

/** One launch of a WGSL module. */
export interface WgslLaunch extends Omit<DriverLaunch, 'code'> {
  readonly code: WgslCode;
  /**
   * How many invocations there are in each dimension, where the size has dimensions; their product
   * is `size`.
   */
  readonly dimensions?: readonly [number, number, number];
  /** Set where this is a part of a launch that was cut. */
  readonly part?: WgslPart;
  /** Arrays that are set to zero before it runs. */
  readonly zeroed?: readonly string[];
  /** How it is to run; the driver chooses where nothing is said. */
  readonly way?: LaunchWay;
  /** What small arrays hold that it only reads, by the name of the variable, as far as it is known. */
  readonly known?: Readonly<Record<string, UniformValue>>;
}

/** Bytes of the space that are to be read before a launch is planned. */
export interface BytesWanted {
  readonly at: number;
  readonly bytes: number;
}

/** Plans in slices: what it yields is to be answered with these bytes; null: they cannot be had. */
export type Planning<T> = Generator<BytesWanted | undefined, T, Uint8Array | null>;

/**
 * As it is, in parts on windows of its arrays, or with pages of its arrays brought as they are
 * touched.
 */
export type LaunchWay = 'direct' | 'windowed' | 'paged';

/** Which workgroups a part of a launch has, and where its module is told that. */
export interface WgslPart {
  /** The kernel's own, of which the part's was made: mistakes are told by its lines and columns. */
  readonly original: WgslCode;
  readonly workgroups: readonly [number, number, number];
  readonly group: number;
  readonly binding: number;
  /** Of the uniform variable there, in base64. */
  readonly content: string;
  /** Set where arrays of it are paged. */
  readonly paged?: PagedPart;
}

/** A part that runs again and again, each time with the pages that it lacked the time before. */
export interface PagedPart {
  readonly rounds: PageRounds;
  /** Why it runs by a plan or not at all; null: it may run in rounds. */
  readonly once: string | null;
  /** Where the arrays begin whose pages these are, by byte, in the order of the tables. */
  readonly offsets: readonly number[];
  /**
   * Bindings of the table of pages and of what is noted, in the group of the part's uniform
   * variable.
   */
  readonly pages: number;
  readonly notes: number;
  /** How many invocations, or workgroups, are run by themselves. */
  readonly units: number;
  /** Words that have a bit for each of them. */
  readonly maskWords: number;
  /** Words behind those for pages: whether a log was full, and the logs; 0: there are none. */
  readonly logWords: number;
  /** Contents of the uniform variable, for each dispatch of a round. */
  contents(): readonly string[];
  /** How it may run without rounds: null where it cannot be told before which pages it touches. */
  plan(): PagePlan | null;
  /** The same of the part after it; null also where there is none. */
  next(): PagePlan | null;
}

/**
 * A part whose pages are told by numbers that arrays hold: it runs once, when they have come, by a
 * module that does not ask for them.
 */
export interface PagePlan {
  /** Where the numbers lie, by byte. */
  readonly numbers: readonly { readonly at: number; readonly bytes: number }[];
  /**
   * Finds them in slices.
   * @returns null: there is no room for the pages that a workgroup touches
   */
  dispatches(
    numbers: readonly Uint32Array[],
  ): Generator<undefined, readonly PlannedDispatch[] | null>;
}

export interface PlannedDispatch {
  readonly code: WgslCode;
  /** Of the uniform variable, and of the table of pages. */
  readonly group: number;
  readonly binding: number;
  readonly pages: number;
  readonly workgroups: readonly [number, number, number];
  /** Of the uniform variable, in base64. */
  readonly content: string;
  /** What is to be there, by table. */
  readonly wanted: readonly (readonly number[])[];
}

/**
 * What pages are wanted on the host for: to be copied to the device, since a kernel lacked them or
 * since a plan names them, or from there, or to be looked at.
 */
export type WantedFor = 'device' | 'plan' | 'home' | 'look';

/**
 * The parts of a launch that is too large for its device. They run one after the other, in any
 * order.
 */
export interface LaunchDivision {
  readonly way: Exclude<LaunchWay, 'direct'>;
  readonly count: number;
  /** Bytes of memory that parts want besides, for pages of arrays that are not there as a whole. */
  readonly poolBytes: number;
  /**
   * What is not as in the launch: the arguments are windows of its arrays, none is `out`.
   * @param pool where that memory begins
   */
  partAt(index: number, pool: number): Pick<WgslLaunch, 'code' | 'parameters' | 'part'>;
}

/** Why a launch failed. */
export interface LaunchFailure {
  readonly code:
    | 'KERNEL_ERROR'
    | 'DEVICE_LOST'
    | 'DEVICE_MEMORY'
    | 'ACCESS_DENIED'
    | 'ABORTED'
    | 'DEADLOCK';
  readonly message: string;
  readonly stack?: string;
}

/** Refuses memory on purpose, for tests. */
export interface Injection {
  /** Larger pieces find no memory. */
  readonly refuseLargerThanPages: number;
}

/** Reports of a driver. Never report from within a command. */
export interface DriverEvents {
  /** A thread waits for a page. */
  fault(page: number, write: boolean, thread: number): void;
  /** A pending copy has ended. */
  transferred(token: number, status: Status): void;
  /** A pending revocation has ended. */
  revoked(token: number): void;
  /** Nothing of the device uses the released frames any more. */
  released(token: number): void;
  /** A launch has ended. */
  launched(id: number, failure: LaunchFailure | null): void;
  /**
   * The device is gone; every pending token was answered before. Addressable memory must stay
   * readable until the driver is closed.
   */
  died(reason: string): void;
}

/** Reads and writes memory that the manager addresses. */
export interface ByteAccess {
  read(address: number, target: Uint8Array): void;
  write(address: number, source: Uint8Array): void;
}

/** Memory: the part of a driver that moves bytes. */
export interface NodeDriver {
  readonly kind: string;
  /** Address of frame 0 for the manager, or 0 if it cannot address this memory. */
  readonly memory: number;
  /**
   * Gives frames back; their mappings go. Done if nothing of the device can use them any more; a
   * pooled driver may return Pending, and report `released`.
   */
  release(token: number, page: number, count: number, frame: number): Status;
  /**
   * Fills frames from memory at `address` (0: with zeros), then maps them in one step if `access`
   * is not None. On any result but Done and Pending the pages are as they were.
   */
  transferIn(
    token: number,
    address: number,
    page: number,
    count: number,
    frame: number,
    access: Access,
    backed: boolean,
  ): Status;
  /**
   * Gives frames memory without a mapping, for someone who writes them by address. Done or
   * NoMemory.
   */
  reserve?(page: number, count: number): Status;
  /** All pages of this block get memory by the next transfers: it may be taken in one piece now. */
  reserveBlock?(page: number): void;
  /** Whether `reserveBlock` took memory for the page. */
  isReserved?(page: number): boolean;
  /**
   * Copies frames to memory at `address`, if the manager cannot address them. A thread waits for an
   * `urgent` copy.
   */
  transferOut?(
    token: number,
    frame: number,
    count: number,
    address: number,
    urgent: boolean,
  ): Status;
  /** Goes on with pending work. False when there is none. */
  progress?(): boolean;
  close(): void;
}

/** A processor: the part of a driver with page tables, threads and kernels. */
export interface ProcessorDriver {
  readonly kind: string;
  /** Maps pages to frames from `frame` on. It always ends at once. */
  map(page: number, count: number, access: Access, previous: Access, frame: number): void;
  /** Lowers the access to pages. Done when no thread can use more than `to`. */
  revoke(token: number, page: number, count: number, to: Access): Status;
  /**
   * For `remoteAccess`: has a block reach host memory (`on`), or the device's own; then `revoked`.
   */
  remap?(token: number, page: number, on: boolean): Status;
  /**
   * For `remoteAccess`: puts a page of zeros in place of a denied one, until the block is remapped.
   */
  cover?(token: number, page: number): Status;
  /**
   * Wakes threads that wait for pages which are mapped by now; maps them again if page tables lose
   * mappings.
   */
  wake(page: number, count: number, access: Access): void;
  /** Runs the launch, then reports `launched`. */
  launch?(launch: DriverLaunch): void;
  /**
   * Ends a running launch soon; `launched` follows, with 'ABORTED'. Without it launches cannot be
   * ended.
   */
  abort?(launch: number): void;
  /** Goes on with pending work. False when there is none. */
  progress?(): boolean;
  /** Ends the device as if it had failed; `died` follows. For tests. */
  lose?(reason: string): void;
  close(): void;
}

/** A device: a processor with memory of its own. */
export interface Driver extends NodeDriver, ProcessorDriver {
  readonly description: DeviceDescription;
}

/** What `CreateDriver` gets. */
export interface DriverContext {
  /** The name of the device in messages and reports. */
  readonly name: string;
  /** Pages of memory that the device may have. */
  readonly budgetPages: number;
  /** Threads for kernels. */
  readonly units: number;
  /** Host memory by address: the other end of each copy. */
  readonly bytes: ByteAccess;
  /** For reports, from anywhere in the manager's thread. */
  readonly events: DriverEvents;
  /** Failures to inject; a driver may ignore it. */
  readonly inject?: Injection;
  /** The option `options` of the device. */
  readonly options: unknown;
  /** The function of a kernel. It runs in the manager's thread. */
  loadKernel(code: KernelCode): CallableKernel;
}

/** The export of a driver's module, called before the space opens. */
export type CreateDriver = (context: DriverContext) => Driver | Promise<Driver>;
