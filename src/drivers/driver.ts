/**
 * The contract between the manager and a device. A driver creates mappings, moves bytes, runs kernels, and says when one of its
 * threads faulted; it decides nothing about where pages belong. Frame n of a node is its n-th 4 KiB; on an identity node the frame of
 * a page is the page's own number.
 */
import type { ElementType, NumericArray } from '../core/elements.js';
import type { Access, DeviceDescription, Status } from '../core/types.js';
import type { PageRounds } from '../wgsl/page-rounds.js';

export type { ElementType };

/** What a kernel gets for one parameter. */
export type LaunchParameter =
  | {
      readonly name: string;
      readonly kind: 'array';
      readonly type: ElementType;
      readonly use: 'in' | 'out' | 'inout';
      /** Byte offset in the space; a multiple of the element size. */
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
export type PlainValue = number | boolean | readonly PlainValue[] | { readonly [member: string]: PlainValue };

/** Where the code of a kernel is: a function's own text, or an export of a module. */
export type KernelCode =
  | { readonly kind: 'inline'; readonly source: string }
  | { readonly kind: 'module'; readonly url: string; readonly exportName: string };

/**
 * A place in a uniform variable: of a number, which is a parameter of the kernel or what the launch covers; or of a
 * parameter that comes as bytes. What comes later in a list stands above what comes before.
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
  | { readonly kind: 'array'; readonly parameter: string; readonly writable: boolean; readonly leastBytes: number }
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

/** A kernel as a driver calls it: its values, then the part to do. */
export type CallableKernel = (values: KernelCallValues, range: KernelCallRange) => unknown;

/** One launch: the kernel is called for sub-ranges that together cover [begin, end). */
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
  /** How many invocations there are in each dimension, where the size has dimensions; their product is `size`. */
  readonly dimensions?: readonly [number, number, number];
  /** Set where this is a part of a launch that was cut. */
  readonly part?: WgslPart;
  /** Arrays that are set to zero before it runs. */
  readonly zeroed?: readonly string[];
  /** How it is to run; the driver chooses where nothing is said. */
  readonly way?: LaunchWay;
}

/** As it is, in parts on windows of its arrays, or with pages of its arrays brought as they are touched. */
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
  /** Where the arrays begin whose pages these are, by byte, in the order of the tables. */
  readonly offsets: readonly number[];
  /** Bindings of the table of pages and of what is noted, in the group of the part's uniform variable. */
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

/** A part whose pages are told by numbers that arrays hold: it runs once, when they have come, by a module that does not ask for them. */
export interface PagePlan {
  /** Where the numbers lie, by byte. */
  readonly numbers: readonly { readonly at: number; readonly bytes: number }[];
  /** @returns null: there is no room for the pages that a workgroup touches */
  dispatches(numbers: readonly Uint32Array[]): readonly PlannedDispatch[] | null;
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

/** What pages are wanted on the host for: to be copied to the device, since a kernel lacked them or since a plan names them, or from there, or to be looked at. */
export type WantedFor = 'device' | 'plan' | 'home' | 'look';

/** The parts of a launch that is too large for its device. They run one after the other, in any order. */
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

/** An error that a kernel threw, or why it could not run. */
export interface LaunchFailure {
  readonly code: 'KERNEL_ERROR' | 'DEVICE_LOST' | 'DEVICE_MEMORY' | 'ACCESS_DENIED' | 'ABORTED' | 'DEADLOCK';
  readonly message: string;
  readonly stack?: string;
}

/** What goes wrong with a node's memory on purpose, so that tests can see what becomes of it. */
export interface Injection {
  /** Pieces of more pages than this find no memory, as on a node whose memory is fragmented. */
  readonly refuseLargerThanPages: number;
}

/** What a driver reports. Never called from within a command. */
export interface DriverEvents {
  fault(page: number, write: boolean, thread: number): void;
  transferred(token: number, status: Status): void;
  revoked(token: number): void;
  /** Frames that were released are used by nothing of the device any more. */
  released(token: number): void;
  launched(id: number, failure: LaunchFailure | null): void;
  /**
   * The device is gone. Every token that is pending has been answered before. Memory that the manager addresses stays readable
   * until the core says `drained`, even if it counts as lost: copies from it may be under way.
   */
  died(reason: string): void;
}

/** Reads and writes memory that the manager addresses; handed in, so that a driver in memory needs no system calls. */
export interface ByteAccess {
  read(address: number, target: Uint8Array): void;
  write(address: number, source: Uint8Array): void;
}

/** Memory: what a driver does for a node. It moves bytes, and says when it has done so. */
export interface NodeDriver {
  readonly kind: string;
  /** Address of frame 0 for the manager, or 0 if it cannot address this memory (`description.addressable` false). */
  readonly memory: number;
  /**
   * Gives frames back; every mapping of them goes. Done when nothing of the device can use them any more. A driver of pooled frames may
   * say Pending instead, because copies or kernels that are under way still use them: the manager gives the frames to no page before `released`.
   */
  release(token: number, page: number, count: number, frame: number): Status;
  /**
   * Fills frames from memory that the manager addresses (`address` 0: with zeros), then maps them in one visible step if
   * `access` is not None. On any result but Done and Pending the pages are as they were, and no memory is held for pages
   * that were not backed.
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
   * Gives frames memory, mapped nowhere yet, for a copy engine or a provider that is about to write them where the manager
   * addresses them. Done or NoMemory; on NoMemory no memory is held. Only for memory that takes its pages when it is used.
   */
  reserve?(page: number, count: number): Status;
  /**
   * All pages of the block that begins at `page` are about to get memory by transfers; none has any yet. A driver that gets memory cheaper in
   * one piece may take it now: the transfers of these pages still say that they are not backed.
   */
  reserveBlock?(page: number): void;
  /** Whether the page has memory that was taken so: what a provider has is read right there then, instead of going over memory between. */
  isReserved?(page: number): boolean;
  /**
   * Copies frames to memory that the manager addresses. Only for memory that it cannot address. For an `urgent` copy a thread waits: where
   * copies stand in line it may go before others.
   */
  transferOut?(token: number, frame: number, count: number, address: number, urgent: boolean): Status;
  /** Goes on with pending work that needs no waiting; false when there is none. */
  progress?(): boolean;
  close(): void;
}

/** What reads and writes pages: page tables, threads that fault, kernels. */
export interface ProcessorDriver {
  readonly kind: string;
  map(page: number, count: number, access: Access, previous: Access, frame: number): void;
  revoke(token: number, page: number, count: number, to: Access): Status;
  /**
   * Has the block of 2 MiB that begins at `page` reach host memory (`on`), or the device's own. No thread of the device runs, and
   * nothing of the block is in its own memory. Only where the description says `remoteAccess`; `revoked` tells when it is done.
   */
  remap?(token: number, page: number, on: boolean): Status;
  /**
   * Has one page of such a block be the device's own, zeros that no other processor sees, until the block is remapped: an access to it was
   * denied, and the thread that waits for it goes on there. Threads run meanwhile. `revoked` tells when it is done. Without this a device
   * is lost that is denied what it reaches in place.
   */
  cover?(token: number, page: number): Status;
  /**
   * Wakes threads that may still wait for pages which are mapped by now. Where page tables may lose a mapping without a command, the pages are
   * mapped again with the right `access`, unless that is None.
   */
  wake(page: number, count: number, access: Access): void;
  /** Runs the launch; `launched` follows. */
  launch?(launch: DriverLaunch): void;
  /**
   * Ends a launch that runs, as soon as may be: `launched` follows with 'ABORTED', or with how it ended by itself meanwhile. When it has
   * been said nothing of the launch runs any more. A driver without this cannot end a launch.
   */
  abort?(launch: number): void;
  /** Goes on with pending work that needs no waiting; false when there is none. */
  progress?(): boolean;
  /** Ends the device as if it had fallen off its bus; `died` follows. For tests of what happens then. */
  lose?(reason: string): void;
  close(): void;
}

/** A device: a processor, and the memory of its own. */
export interface Driver extends NodeDriver, ProcessorDriver {
  readonly description: DeviceDescription;
}

/** What a driver of the user's own is made with. */
export interface DriverContext {
  /** The device's name in messages and reports; `description.name` is the same. */
  readonly name: string;
  /** Pages of memory that the device was given; `description.budgetPages` may be less. */
  readonly budgetPages: number;
  /** Threads that were asked for to run kernels. */
  readonly units: number;
  /** Reads and writes what the manager addresses: the other end of each copy. */
  readonly bytes: ByteAccess;
  /**
   * What the driver reports. The manager looks at it when the command that runs has returned; a driver that reports from a timer, a
   * promise or a message is heard as long as anything of its is pending, and otherwise within a fifth of a second.
   */
  readonly events: DriverEvents;
  /** What goes wrong on purpose; a driver that cannot do this need not. */
  readonly inject?: Injection;
  /** What the device's specification says for its driver. */
  readonly options: unknown;
  /** The function of a kernel, whose module has been loaded. It runs in the manager's thread: nothing else happens meanwhile. */
  loadKernel(code: KernelCode): CallableKernel;
}

/** What a driver's module exports. It is called in the manager's thread, before the space opens. */
export type CreateDriver = (context: DriverContext) => Driver | Promise<Driver>;
