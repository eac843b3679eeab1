/**
 * The contract between the manager and a device. A driver creates mappings, moves bytes, runs
 * kernels, and says when one of its threads faulted; it decides nothing about where pages belong.
 * Frame n of a node is its n-th 4 KiB; on an identity node the frame of a page is the page's own
 * number.
 */
import type { ElementType, NumericArray } from '../core/basics/elements.js';
import type { Access, DeviceDescription, Status } from '../core/basics/types.js';

export type { ElementType };

/** A parameter of a launch, for its kernel. */
export type LaunchParameter =
  | {
      readonly name: string;
      readonly kind: 'array';
      readonly type: ElementType;
      readonly use: 'in' | 'out' | 'inout';
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

/**
 * A copy to or from a device. The manager fills it in again for the next one: a driver that answers
 * Pending keeps what it needs later, and not the order.
 */
export interface TransferOrder {
  /** By which the driver answers. */
  readonly token: number;
  /** The other end, in memory that the manager addresses. */
  readonly address: number;
  readonly page: number;
  readonly count: number;
  readonly frame: number;
  /** Of copies to the device: the right to the pages that its threads get with it. */
  readonly access: Access;
  /** Of copies to the device: whether the frames have memory already. */
  readonly backed: boolean;
  /** Whether a thread waits for it. */
  readonly urgent: boolean;
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
   * Fills frames from memory at the order's address (0: with zeros), then maps them in one step if
   * its `access` is not None. On any result but Done and Pending the pages are as they were.
   */
  transferIn(order: TransferOrder): Status;
  /**
   * Gives frames memory without a mapping, for someone who writes them by address. Done or
   * NoMemory.
   */
  reserve?(page: number, count: number): Status;
  /** All pages of this block get memory by the next transfers: it may be taken in one piece now. */
  reserveBlock?(page: number): void;
  /** Whether `reserveBlock` took memory for the page. */
  isReserved?(page: number): boolean;
  /** Copies frames to memory at the order's address, if the manager cannot address them. */
  transferOut?(order: TransferOrder): Status;
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
