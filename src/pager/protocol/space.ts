/** What a space and its devices are made with, and what is said of them. */
import type { MessagePort } from 'node:worker_threads';
import type { MemorySpeed } from '../../core/basics/types.js';
import type { Injection } from '../../drivers/driver.js';
import type { LentPlace } from '../../drivers/webgpu/link/lent.js';
import type { TransportChoice } from '../../drivers/webgpu/link/protocol.js';
import type { PolicyChoices } from '../../policy/choices.js';
import type { TlsOptions } from '../../valkey/connection.js';
import type { HostAddresses } from '../../valkey/host-addresses.js';
import type { Start } from './starting.js';
import type { WireError } from './wire.js';

export type { Injection };

/** For `postMessage`: another thread passes it to `attachSpace`. */
export interface SpaceHandle {
  readonly onemem: 1;
  readonly name: string;
  readonly base: number;
  readonly bytes: number;
  /** Pid of the process that owns the space. */
  readonly owner: number;
  readonly wakeFd: number;
  readonly control: SharedArrayBuffer;
  readonly devices: readonly DeviceInfo[];
  /** Names of the nodes behind the host, from the second one on. */
  readonly stores: readonly string[];
  readonly hostBudgetBytes: number;
  /** The text by which this process attached to a space of another one. */
  readonly attachedBy?: string;
}

export interface DeviceOptions {
  readonly kind: 'process' | 'simulated' | 'webgpu' | 'custom';
  /** Of a custom device: where its driver comes from, and what it is told. */
  readonly driver?: {
    readonly url: string;
    readonly exportName: string;
    readonly options: unknown;
  };
  /** Of a GPU that a thread of the program has lent: where that is found. */
  readonly lent?: LentPlace;
  /** Of a GPU: the address of the module that reads WGSL, if it is installed. */
  readonly parser?: string;
  /** Of a GPU: what drives it, if the program says it. */
  readonly transport?: TransportChoice;
  readonly name: string;
  readonly memoryBytes: number;
  readonly units: number;
  readonly lossy: boolean;
  /** Of a simulated device: by how many bytes it gets memory; a page unless said otherwise. */
  readonly granularityBytes?: number;
  readonly inject?: Injection;
}

export interface DeviceInfo {
  /** Number of the processor in the core, which another device may get when this one has gone. */
  readonly id: number;
  /** Number of its own memory in the core; the same holds for that. */
  readonly node: number;
  /** Another for each device ever started. Requests name devices by it; 0 is the host. */
  readonly number: number;
  /** What became of it, of one that is not there any more. */
  readonly loss?: 'DEVICE_LOST' | 'DEVICE_DETACHED';
  readonly kind: string;
  readonly name: string;
  readonly memoryBytes: number;
  readonly units: number;
  readonly lossy: boolean;
  /** Whether its page faults are served, so that a launch may use more than its memory. */
  readonly pageFaults: boolean;
  readonly atomics: boolean;
  readonly remoteAccess: boolean;
  readonly writeCombining: boolean;
  readonly granularityBytes: number;
  /** Threads of the program can map its memory, and copy there. */
  readonly directCopies: boolean;
  /** Its process can map registered memory. */
  readonly registeredInPlace: boolean;
  /** Whether a page lies in its memory where it lies in the space. */
  readonly sameAddresses: boolean;
  /** Whether a launch that runs can be ended. */
  readonly cancellation: boolean;
  readonly kernels: 'functions' | 'wgsl';
  readonly pid: number | null;
}

/** Where pages of the host go when it has no room for them. */
export interface StorageOptions {
  /** A folder. */
  readonly path: string;
  readonly bytes: number;
}

/** Memory where pages of the host go before they go to storage. */
export interface SlowMemoryOptions {
  /** Its file; null: it has none. */
  readonly path: string | null;
  /** The node of memory where it was asked for; null: none. */
  readonly node: number | null;
  readonly bytes: number;
  /** Null: it was not described. */
  readonly speed: MemorySpeed | null;
  /** A descriptor of the opener's, until the space is open. */
  readonly fd: number;
}

/** A Valkey or Redis server for pages without room in host or storage. */
export interface ServerOptions {
  readonly kind: 'valkey';
  /** Of one server, or of several of one cluster, the one that answered first. */
  readonly urls: readonly string[];
  /** Addresses of the names in them. */
  readonly hosts: HostAddresses;
  readonly bytes: number;
  /** How long pages that only the server has are waited for when it does not answer. */
  readonly timeoutMs: number;
  /** How long what is there outlives a program that does not say that it needs it. */
  readonly leaseMs: number;
  readonly tls: TlsOptions;
}

/** What the manager's worker is started with. */
export interface ManagerData {
  readonly options: ManagerOptions;
  /** Takes ToSentinel; that it closes is how the sentinel knows of the manager's end. */
  readonly sentinel: MessagePort;
  readonly start: Start;
}

/** What the sentinel's worker is started with. */
export interface SentinelData {
  readonly control: SharedArrayBuffer;
  readonly heartbeatLimitMs: number | undefined;
  /** The other end of the manager's port. */
  readonly manager: MessagePort;
  readonly start: Start;
}

/** Of a manager whose heap is to get full soon, for a test. Others have no such limit. */
export const CRASH_HEAP_MIB = 16;

export interface ManagerOptions {
  readonly name: string;
  readonly bytes: number;
  readonly bases: readonly number[];
  readonly control: SharedArrayBuffer;
  readonly wakeFd: number;
  readonly hostBudgetBytes: number;
  /** The host's budget follows this machine, with files under `root`; null: it stays. */
  readonly followMemory: { readonly root: string } | null;
  /** Null: none. */
  readonly slowMemory: SlowMemoryOptions | null;
  /** Null: nothing that is written may exceed the host's budget and slow memory. */
  readonly storage: StorageOptions | null;
  /** Null: no other machine has anything of the space. */
  readonly behind: ServerOptions | null;
  readonly userModeOnly: boolean;
  readonly devices: readonly DeviceOptions[];
  readonly policies?: PolicyChoices;
  /** Where what the core is told, and what it commands, is written down; see `onemem replay`. */
  readonly record?: string;
  /** Bytes of the last moves that are kept in memory; missing: none, until a record begins. */
  readonly history?: number;
  readonly checkInvariants: boolean;
  /** Options of node for threads that load the program's modules. */
  readonly nodeOptions: readonly string[];
  /** What goes wrong with the host's memory. */
  readonly inject?: Injection;
  /** Ends the manager on purpose at the first fault of the host, to test what happens then. */
  readonly crash?: 'throw' | 'exit' | 'heap' | 'sleep' | 'hang' | 'copies';
  /** How long the manager may stand still before it counts as stuck. */
  readonly heartbeatLimitMs?: number;
}

/** Names of the nodes behind the host, from the second one on. */
export function storeNames({
  slowMemory,
  storage,
  behind,
}: Pick<ManagerOptions, 'slowMemory' | 'storage' | 'behind'>): readonly string[] {
  return [
    ...(slowMemory === null ? [] : ['memory']),
    ...(storage === null ? [] : ['storage']),
    ...(behind === null ? [] : ['valkey']),
  ];
}

/** What the opener of a space gets: where it lies, or why it could not be opened. */
export type ManagerReady =
  | { readonly base: number; readonly devices: readonly DeviceInfo[]; readonly faultsBy: string }
  | { readonly error: WireError };

/** Counters of a processor since it was started. Sizes are in bytes, faults in pages. */
export interface ProcessorStats {
  readonly name: string;
  readonly kind: string;
  readonly budgetBytes: number;
  readonly backedBytes: number;
  readonly peakBytes: number;
  readonly readFaults: number;
  readonly writeFaults: number;
  readonly repeatedFaults: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly bytesZeroed: number;
  readonly bytesFromFiles: number;
  /** Filled from the arrays that clones were made of. */
  readonly bytesCloned: number;
  /** Pieces that its free memory lies in: many small ones mean fragmentation. */
  readonly freePieces: number;
  readonly largestFreeBytes: number;
  /** Copies from and to other memories, by size: more bytes than in the entry before. */
  readonly copies: readonly { readonly upToBytes: number; readonly count: number }[];
  /** Milliseconds of these copies; several at once count each. */
  readonly copyMs: number;
  /** Transfers that brought copies here. By `writeCombining` one brings many small ones. */
  readonly transfersIn: number;
  readonly evictions: number;
  /** Large pieces without memory, tried again as smaller ones. */
  readonly refusals: number;
  readonly revocations: number;
  readonly denied: number;
  readonly launches: number;
  /** Launches that went to a GPU together with an earlier one. */
  readonly joinedLaunches: number;
  /** Parts of launches that were cut. */
  readonly launchParts: number;
  /** Launches in parts, and launches that were paged. */
  readonly windowedLaunches: number;
  readonly pagedLaunches: number;
  /** Times that pages came to paged launches. */
  readonly launchRounds: number;
  /** Those that came before the kernel ran. */
  readonly plannedRounds: number;
  /** Bytes of these pages in, and home; `bytesIn` does not count them. */
  readonly pagedBytes: number;
  readonly pagedHomeBytes: number;
  /** Milliseconds of kernels by the GPU's own clock, if it has one. */
  readonly gpuMs?: number;
  readonly alive: boolean;
}

/** Memory between host memory and storage. */
export interface SlowMemoryStats {
  /** Its file; null: it has none. */
  readonly path: string | null;
  /** The node of memory that was asked for; null: none. */
  readonly node: number | null;
  /** As they were described; null: they were not. */
  readonly latencyUs: number | null;
  readonly bandwidth: number | null;
  readonly budgetBytes: number;
  /** Bytes of pages there, elsewhere as well or not. */
  readonly heldBytes: number;
  readonly bytesWritten: number;
  readonly bytesRead: number;
  /** The last write failed, and has not been tried again. */
  readonly full: boolean;
}

/** The spill file behind host memory. */
export interface StorageStats {
  /** Its folder. */
  readonly path: string;
  readonly budgetBytes: number;
  /** Bytes of pages in the file, in memory as well or not. */
  readonly heldBytes: number;
  readonly bytesWritten: number;
  readonly bytesRead: number;
  /** The last write failed, and has not been tried again. */
  readonly full: boolean;
}

/** The server behind storage. */
export interface ServerStats {
  readonly kind: 'valkey';
  /** The server that answered at first, without the password. */
  readonly url: string;
  readonly budgetBytes: number;
  /** Bytes of pages on the server, elsewhere as well or not. */
  readonly heldBytes: number;
  readonly bytesWritten: number;
  readonly bytesRead: number;
  /** The last write failed, and has not been tried again. */
  readonly full: boolean;
}

/** Counters of a space. */
export interface SpaceStats {
  readonly processors: readonly ProcessorStats[];
  /** Null without slow memory. */
  readonly slowMemory: SlowMemoryStats | null;
  /** Null without storage. */
  readonly storage: StorageStats | null;
  /** Null without a server. */
  readonly behind: ServerStats | null;
  readonly ranges: number;
  readonly allocatedBytes: number;
  /** Subscriptions that have not ended. */
  readonly notifiers: number;
  /** Pinned bytes, and those that the kernel may not swap. */
  readonly pinnedBytes: number;
  readonly lockedBytes: number;
  /** Milliseconds that the manager's thread has run: faults, its own copies, requests. */
  readonly managerMs: number;
  /** How userfaultfd was opened; 'user-mode' serves no system calls. */
  readonly faultsBy: string;
}
