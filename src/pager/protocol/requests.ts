/**
 * What threads of the application and the manager tell each other. Requests travel through a broadcast channel for each client,
 * which the manager reads without an event loop, and an eventfd wakes it; a thread that needs an answer at once waits on a
 * word of shared memory. Faults take none of this.
 */
import type { Advice } from '../../core/types.js';
import type { DriverLaunch, Injection, LaunchParameter } from '../../drivers/driver.js';
import type { PrefetchName } from '../../policy/named.js';
import type { ClosedSpace } from '../manager/late-uses.js';
import type { Notice, NotifierSource } from './notifiers.js';
import type { ProviderSource } from './providers.js';

export type { Injection };

/** Words of the control memory that all threads of a space share. */
export const Control = {
  /** Raised by the manager each time that it goes round its loop. */
  Heartbeat: 0,
  /** One of SpaceState. */
  State: 1,
  /** Threads that attached besides the one that opened the space. */
  AttachedThreads: 2,
  /** Set to make the manager end at once, since the process does. */
  Stop: 3,
  /** Numbers of streams that have been given. */
  Streams: 4,
  /** Views of the space's arrays in all threads. */
  Views: 5,
  /** Set by the thread that closes the descriptor that wakes the manager, once the space is closed and no other thread is attached. */
  WakeFdClosed: 6,
  /** Threads that attached and found no place in the list of threads. */
  UnlistedThreads: 7,
  /** What tells the space's handle from one that was changed, in so many words. */
  Digest: 8,
  /** Numbers of notifiers that have been given. */
  Notifiers: 12,
  /** The kernel's id of the manager's thread, which cannot ask itself for anything. */
  ManagerThread: 13,
  /** Numbers of pins that have been given. */
  Pins: 14,
  /** Of the views those whose memory has been taken, so that they count for good. */
  TakenViews: 15,
  /** Bit 0 has system calls fail that a test named, the rest counts those that did. */
  FailingCalls: 16,
  /** Messages for standard error, and of these the ones that have been written or dropped. */
  MessagesSaid: 17,
  MessagesWritten: 18,
  /** Set where a worker thread opened the space, whose end takes the manager along. */
  OpenedByWorker: 19,
  /** From here on, the kernel's ids of threads that attached; an id may be of a thread that has ended. */
  Threads: 24,
} as const;
/** A space can serve the faults of 64 threads at once; more than that may attach, and are not listed. */
export const LISTED_THREADS = 64;
export const DIGEST_WORDS = 4;
export const CONTROL_WORDS = Control.Threads + LISTED_THREADS;

export const SpaceState = { Starting: 0, Running: 1, Closed: 2 } as const;

/** What another thread needs to attach; it survives structured cloning. */
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
  readonly hostBudgetBytes: number;
}

export interface DeviceOptions {
  readonly kind: 'process' | 'simulated' | 'custom';
  /** Of a custom device: where its driver comes from, and what it is told. */
  readonly driver?: { readonly url: string; readonly exportName: string; readonly options: unknown };
  readonly name: string;
  readonly memoryBytes: number;
  readonly units: number;
  readonly lossy: boolean;
  readonly inject?: Injection;
}

export interface DeviceInfo {
  /** Number of the processor in the core, which another device may get when this one has gone. */
  readonly id: number;
  /** Number of its own memory in the core; the same holds for that. */
  readonly node: number;
  /** Another one for each device of the space that was ever started. Requests name a device by it; 0 is the host. */
  readonly number: number;
  readonly kind: string;
  readonly name: string;
  readonly memoryBytes: number;
  readonly units: number;
  readonly lossy: boolean;
  /** Whether its page faults are served, so that a launch may use more than its memory. */
  readonly pageFaults: boolean;
  readonly atomics: boolean;
  readonly remoteAccess: boolean;
  /** Whether a page lies in its memory where it lies in the space. */
  readonly sameAddresses: boolean;
  /** Whether a launch that runs can be ended. */
  readonly cancellation: boolean;
  readonly pid: number | null;
}

/** What the manager's worker is started with. */
export interface ManagerOptions {
  readonly name: string;
  readonly bytes: number;
  readonly bases: readonly number[];
  readonly control: SharedArrayBuffer;
  readonly wakeFd: number;
  readonly hostBudgetBytes: number;
  readonly userModeOnly: boolean;
  readonly devices: readonly DeviceOptions[];
  readonly prefetch?: PrefetchName;
  /** Where what the core is told, and what it commands, is written down; see `onemem replay`. */
  readonly record?: string;
  readonly checkInvariants: boolean;
  /** Options of the node command with which the threads that load modules of the program are started. */
  readonly nodeOptions: readonly string[];
  /** What goes wrong with the host's memory. */
  readonly inject?: Injection;
  /** Ends the manager on purpose at the first fault of the host, to test what happens then. */
  readonly crash?: 'throw' | 'exit' | 'heap' | 'sleep' | 'hang';
  /** How long the manager may stand still before it counts as stuck. */
  readonly heartbeatLimitMs?: number;
}

/** A file that fills a range. The descriptor becomes the manager's to close. */
export interface FileSource {
  readonly fd: number;
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
  /** Whether what is written to the array is meant for the file. */
  readonly shared: boolean;
}

/** How many bytes one request reads at most: a copy that takes no longer than a fault may wait. */
export const READ_BYTES = 256 * 1024;

/** Requests, by name: what is handed in and what comes back. */
export interface Requests {
  allocate: {
    in: {
      bytes: number;
      name: string;
      writable: boolean;
      file: FileSource | null;
      /** With one, the answer comes when its module has been loaded. */
      provider: ProviderSource | null;
      elementBytes: number;
      /** Addresses to keep for it; as many as it has bytes, unless more. */
      reserveBytes?: number;
    };
    out: { id: number; firstPage: number; pages: number };
  };
  /** Makes an array longer or shorter; it may be another range then. */
  resize: { in: { range: number; name: string; bytes: number }; out: { id: number; firstPage: number; pages: number } };
  /** Whether an array is still there. */
  usable: { in: { range: number; name: string; verb: string }; out: null };
  /** Makes an array with the elements of another one; the answer comes when no later change of that can be seen in it. */
  clone: {
    in: { range: number; name: string; cloneName: string };
    out: { id: number; firstPage: number; pages: number };
  };
  /** `whole`: all that the array has by now, which may be nothing. */
  free: { in: ArrayPages & { whole?: boolean }; out: null };
  /** Writes changed pages to the file that the array shares. */
  flush: { in: ArrayPages & { durable: boolean }; out: { bytes: number } };
  /** Lets everybody do no more than `access` (0: nothing, 1: read, 2: read and write) to whole pages of an array. */
  protect: { in: ArrayPages & { access: 0 | 1 | 2 }; out: null };
  /** Of whole blocks. */
  advise: { in: ArrayPages & { change: AdviceChange }; out: null };
  attributes: { in: ArrayPages; out: AdviceRun[] };
  /** Forgets the content of whole pages: they read as zero. */
  discard: { in: ArrayPages; out: null };
  /** Keeps pages in host memory until `unpin` with the same number; `writable`: the host may write them at once, whatever they are. */
  pin: { in: ArrayPages & { pin: number; lock: boolean | 'require'; writable: boolean }; out: PinReport };
  unpin: { in: { pin: number }; out: null };
  /** Has pages read from the file again. */
  reload: { in: ArrayPages & { discard: boolean }; out: null };
  /** Whether an array is what its handle says. */
  attachArray: {
    in: { range: number; firstPage: number; pages: number; bytes: number; elementBytes: number; name: string };
    out: null;
  };
  viewed: { in: { range: number; name: string }; out: null };
  unviewed: { in: { range: number }; out: null };
  /** The memory of a view has been taken, and is kept for as long as its new buffer lives. */
  taken: { in: { range: number }; out: null };
  /** Nothing more will come. `ended`: the thread ends, and its views with it. */
  leave: { in: { ended: boolean }; out: null };
  stats: { in: null; out: SpaceStats };
  residency: { in: ArrayPages; out: PageReport };
  /** What lies at a byte of the space; null where no element of an array does. */
  pointer: { in: { offset: number }; out: { report: PointerReport | null } };
  /** Pairs of first page and count. */
  dirty: { in: ArrayPages; out: { runs: readonly number[] } };
  /** Triples of first page, count and bits of processors. */
  young: { in: ArrayPages & { clear: boolean }; out: { runs: readonly number[] } };
  /** Subscribes to invalidations; the answer comes when the module, if there is one, has been loaded. */
  watch: {
    in: {
      /** A number that no other subscription of the space has. */
      id: number;
      range: number;
      name: string;
      firstPage: number;
      /** Null: all pages, also those that the array grows by. */
      count: number | null;
      elementBytes: number;
      length: number;
      source: NotifierSource | null;
      /** The processor whose own doings are no news. */
      owner: number | null;
      /** How many changes may wait for the subscriber; null: it wants no events. */
      queue: number | null;
    };
    out: { sequence: SharedArrayBuffer };
  };
  unwatch: { in: { subscription: number }; out: null };
  /** The subscriber is through with a notice. */
  heard: { in: { subscription: number }; out: null };
  enqueue: { in: StreamOperation; out: null };
  /** An operation, or all of a stream now and later (`sequence` null), is not to begin any more. */
  cancel: { in: Cancellation; out: null };
  /** The program's function of a `call` has returned, or its promise has settled. */
  called: { in: { stream: number; sequence: number; error: WireError | null }; out: null };
  forgive: { in: { stream: number }; out: null };
  endStream: { in: { stream: number }; out: null };
  /** A copy of bytes that no thread faults for, READ_BYTES of them at most. */
  readBytes: { in: BytePlace & { bytes: number }; out: { data: Uint8Array } };
  transferFile: { in: FileTransfer; out: { bytes: number } };
  /** Starts a device; the answer comes when it is up. */
  addDevice: { in: { options: DeviceOptions }; out: DeviceInfo };
  /** Starts a device again that has gone, and ends it first if it has not; another one of that name takes its place. */
  restart: { in: { device: number }; out: DeviceInfo };
  /** All devices that the space has, and those that have gone, in the order in which they came. */
  devices: { in: null; out: readonly DeviceInfo[] };
  detach: { in: { device: number }; out: null };
  kill: { in: { device: number }; out: null };
  check: { in: null; out: null };
  /** `timeoutMs`: how long launches that run may take; null: as long as they like. */
  /**
   * `closed`: spaces of which views are left. The answer is this space, if views of it are left, too: the manager's thread answers late
   * uses of all of them from then on.
   */
  close: { in: { timeoutMs: number | null; closed: readonly ClosedSpace[] }; out: ClosedSpace | null };
}

export interface PinReport {
  /** Whether the kernel may not swap the pages. */
  readonly locked: boolean;
}

export type AdviceChange = Partial<Advice>;

/** What was advised for pages of a range. */
export interface AdviceRun {
  readonly first: number;
  readonly end: number;
  readonly advice: Advice;
  /** By processor that is to reach host memory in place: how far it does. */
  readonly remote: readonly ('in place' | 'partly' | 'migrates' | undefined)[];
}

/** Pages of an array. It is named, since its addresses may be another one's by now. */
export interface ArrayPages {
  readonly range: number;
  readonly name: string;
  readonly firstPage: number;
  readonly count: number;
}

export interface Cancellation {
  readonly stream: number;
  readonly sequence: number | null;
  /** No more operations will come. */
  readonly ended: boolean;
  /** Why, as the program says it. */
  readonly reason: string;
}

export interface FileTransfer extends BytePlace {
  readonly direction: 'read' | 'write';
  readonly fd: number;
  readonly bytes: number;
  /** Where in the file; null: at the file's own position, as for a pipe. */
  readonly position: number | null;
}

export interface PointerReport {
  readonly name: string;
  readonly element: number;
  /** Bytes from the beginning of the array. */
  readonly byteOffset: number;
  /** Of the one page. */
  readonly page: PageReport;
}

export interface PageReport {
  /** Bits of nodes that hold the page's content, a word a page. */
  readonly nodes: Uint32Array;
  /** Two bits a processor: its right. */
  readonly access: Uint32Array;
  /** Bits of PageState. */
  readonly flags: Uint8Array;
  /** What `Provided` means here. */
  readonly providedBy: 'file' | 'provider' | 'clone';
}

/** Where bytes of an array begin. The array is named, since its addresses may be another one's by now. */
export interface BytePlace {
  readonly range: number;
  readonly name: string;
  /** Byte offset in the space. */
  readonly offset: number;
}

export interface CopyOrder {
  readonly to: BytePlace;
  readonly from: BytePlace;
  readonly bytes: number;
  /** Number of the device on whose memory the bytes are to be, 0 for the host; null: wherever the destination is. */
  readonly at: number | null;
}

/** Something that runs on a stream, in order. Events are numbered within their stream, from 1. */
export type StreamOperation = { readonly stream: number; readonly sequence: number } & (
  | ({ readonly kind: 'launch'; readonly device: number } & Omit<DriverLaunch, 'id' | 'parameters'> & {
        readonly parameters: readonly LaunchParameter[];
        /** The pages of its arguments. */
        readonly arrays: readonly ArrayPages[];
        /** How long it may run; null: as long as it likes. */
        readonly timeoutMs: number | null;
      })
  | (ArrayPages & {
      readonly kind: 'prefetch';
      /** Number of the device; 0: the host. */
      readonly device: number;
      /** For the processor alone, with the right to write. */
      readonly exclusive: boolean;
    })
  | ({ readonly kind: 'copy' } & CopyOrder)
  /** A function of the program's: the thread with this id runs it and says when it is through. */
  | { readonly kind: 'call'; readonly thread: number }
  /** What was cancelled before it was handed in. */
  | { readonly kind: 'cancelled'; readonly reason: string }
  | {
      readonly kind: 'wait';
      readonly other: number;
      readonly otherSequence: number;
      /** How the event failed, if the program knows that. */
      readonly failure: WireError | null;
    }
  | { readonly kind: 'marker' }
);

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
  readonly evictions: number;
  /** Pieces that the node found no memory for, though its budget allowed them; they were tried again in smaller ones. */
  readonly refusals: number;
  readonly revocations: number;
  readonly denied: number;
  readonly launches: number;
  readonly alive: boolean;
}

export interface SpaceStats {
  readonly processors: readonly ProcessorStats[];
  readonly ranges: number;
  readonly allocatedBytes: number;
  /** Subscriptions to invalidations that have not ended. */
  readonly notifiers: number;
  /** Pages that are pinned in host memory, and those of them that the kernel may not swap. */
  readonly pinnedBytes: number;
  readonly lockedBytes: number;
  /** How userfaultfd was opened; 'user-mode' serves no system calls. */
  readonly faultsBy: string;
}

/** An error on its way between threads. */
export interface WireError {
  readonly name: 'OnememError' | 'RangeError' | 'TypeError';
  readonly code: string;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly stack?: string;
}

export type ToManager = { readonly id: number; readonly name: keyof Requests; readonly value: unknown };
export type FromManager =
  | { readonly id: number; readonly value: unknown; readonly error: WireError | null }
  | { readonly event: StreamEvent }
  | { readonly notice: Notice }
  /** A device has been added, or has taken the place of one that has gone (its number). */
  | { readonly device: DeviceInfo; readonly instead: number | null }
  /** A range of which the thread has views has been freed; null: the space has been closed. */
  | { readonly freed: number | null }
  /** The turn of a `call` has come. */
  | { readonly call: { readonly stream: number; readonly sequence: number } }
  | { readonly warning: string };

export interface StreamEvent {
  readonly stream: number;
  readonly sequence: number;
  readonly result: 'done' | 'failed' | 'cancelled';
  readonly error: WireError | null;
  /** Milliseconds on the manager's clock: when the operation's turn came, and when it ended. */
  readonly startedMs: number;
  readonly endedMs: number;
  /** Of a prefetch: bytes that are there. Of a copy: bytes copied. */
  readonly bytes: number;
  /** Of a prefetch: the pages that it was about, no more than there was room for. */
  readonly pages: number;
}

/** A client introduces itself on the channel of this name, then talks on one of its own. */
export function helloChannel(space: string): string {
  return `onemem ${space}`;
}
export function clientChannel(space: string, client: string): string {
  return `onemem ${space} ${client}`;
}
export interface ClientHello {
  readonly client: string;
  /** The word that answers raise. */
  readonly answers: SharedArrayBuffer;
  /** The kernel's id of the thread, by which the manager sees that it has ended without a word. */
  readonly thread: number;
  /** Whether it attached to a space that another thread opened. */
  readonly attached: boolean;
}
