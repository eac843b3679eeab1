/** What clients ask. Who needs an answer waits with its thread stopped; faults are apart. */
import type { ElementType } from '../../core/basics/elements.js';
import type { NumaPlace } from '../../linux/memory/numa.js';
import type { ArrayListing, Quota, ShareRights, SpaceOverview } from './attaching.js';
import type { ClosedSpace } from './closed-space.js';
import type { GuardReport, GuardSource } from './guards.js';
import type { NotifierSource } from './notifiers.js';
import type { Cancellation, LaunchForecast, LaunchRequest, StreamOperation } from './operations.js';
import type {
  AdviceChange,
  AdviceRun,
  ArrayPages,
  BytePlace,
  PageReport,
  PinReport,
  PointerReport,
} from './pages.js';
import type { ProviderSource } from './providers.js';
import type { SharingCall, SharingSource } from './sharing.js';
import type { DeviceInfo, DeviceOptions, SpaceStats } from './space.js';
import type { WireError } from './wire.js';

/** A file that fills a range. The descriptor becomes the manager's to close. */
export interface FileSource {
  readonly fd: number;
  readonly path: string;
  readonly offset: number;
  readonly bytes: number;
  /** Whether what is written to the array is meant for the file. */
  readonly shared: boolean;
  /** Whether threads look at the page cache of the file, not at pages of the space. */
  readonly mapped: boolean;
  /** The byte of the file with the checksum of the array's first page, where it has checksums. */
  readonly sums?: number;
}

/** A mapping of a file, and where its elements begin. The asking thread unmaps it. */
export interface FileMapping {
  readonly address: number;
  readonly bytes: number;
  readonly elements: number;
}

/** How many bytes one request reads at most: a copy that takes no longer than a fault may wait. */
export const READ_BYTES = 256 * 1024;
/** How long a thread waits for room in all, at most. */
export const ROOM_MS = 5000;

export interface FileTransfer extends BytePlace {
  readonly direction: 'read' | 'write';
  readonly fd: number;
  readonly bytes: number;
  /** Where in the file; null: at the file's own position, as for a pipe. */
  readonly position: number | null;
}

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
      /** Other machines are to have it, too, by `share`: until then nothing of it can be used. */
      sharing?: boolean;
      elementBytes: number;
      /** Of its elements, for processes that find it by its name. */
      type?: ElementType;
      /** It stays when the process that makes it ends, if that is another one than the owner. */
      keep?: boolean;
      /** It is memory that the thread which makes it copies over, and goes when that thread leaves. */
      staging?: boolean;
      /** Where its pages are to lie; null: wherever there is room. */
      numa?: NumaPlace | null;
      /** Addresses to keep for it; as many as it has bytes, unless more. */
      reserveBytes?: number;
    };
    out: { id: number; firstPage: number; pages: number };
  };
  /** Makes an array longer or shorter; it may be another range then. */
  resize: {
    in: { range: number; name: string; bytes: number };
    out: { id: number; firstPage: number; pages: number };
  };
  /** Whether an array is still there. */
  usable: { in: { range: number; name: string; verb: string }; out: null };
  /** Makes an array with another's elements; the answer comes when it is unaffected by changes. */
  clone: {
    in: { range: number; name: string; cloneName: string; keep?: boolean };
    out: { id: number; firstPage: number; pages: number };
  };
  /** `whole`: all that the array has by now, which may be nothing. */
  free: { in: ArrayPages & { whole?: boolean }; out: null };
  /**
   * The server and this program agree on what the array is. What could keep this program from
   * having it has been looked at before, by `allocate`.
   */
  share: { in: { range: number; name: string; source: SharingSource }; out: null };
  /** Of an array that machines share. */
  sharing: { in: { range: number; name: string; call: SharingCall }; out: null };
  /** Writes changed pages to the file that the array shares. */
  flush: { in: ArrayPages & { durable: boolean }; out: { bytes: number } };
  /** Lets nobody do more than `access` (0: nothing, 1: read, 2: and write) to whole pages. */
  protect: { in: ArrayPages & { access: 0 | 1 | 2 }; out: null };
  /** Of whole blocks. */
  advise: { in: ArrayPages & { change: AdviceChange }; out: null };
  attributes: { in: ArrayPages; out: AdviceRun[] };
  /** Whether no right keeps a thread from writing the pages. */
  mayWrite: { in: ArrayPages; out: boolean };
  /** Forgets the content of whole pages: they read as zero. */
  discard: { in: ArrayPages; out: null };
  /**
   * Keeps pages in host memory until `unpin` with the same number; `writable`: the host may write
   * them at once, whatever they are; `hold`: programs call it so.
   */
  pin: {
    in: ArrayPages & { pin: number; lock: boolean | 'require'; writable: boolean; hold: boolean };
    out: PinReport;
  };
  unpin: { in: { pin: number }; out: null };
  /**
   * Has pages of a staging array be on a device until `unpin` with the same number, for this thread
   * to write or read there. `memory`: where; null: only over the host.
   */
  stage: {
    in: ArrayPages & { pin: number; device: number; write: boolean };
    out: { memory: number | null };
  };
  /** Has pages read from the file again. */
  reload: { in: ArrayPages & { discard: boolean }; out: null };
  /** Whether an array is what its handle says. */
  attachArray: {
    in: {
      range: number;
      firstPage: number;
      pages: number;
      bytes: number;
      elementBytes: number;
      name: string;
    };
    out: null;
  };
  /** A thread makes a view. Of an array over a mapped file, it gets a mapping for it. */
  viewed: { in: { range: number; name: string }; out: FileMapping | null };
  unviewed: { in: { range: number }; out: null };
  /** The memory of a view has been taken, and is kept for as long as its new buffer lives. */
  taken: { in: { range: number }; out: null };
  /** Arrays that are there, in the order in which they were made. */
  arrays: { in: null; out: readonly ArrayListing[] };
  /** What the space consists of, for `onemem ls`. */
  overview: { in: null; out: SpaceOverview };
  /** A handle for other processes. `ranges`: the arrays that it allows; null: all. */
  shareSpace: {
    in: { rights: ShareRights; ranges: readonly number[] | null };
    out: { handle: string };
  };
  /** From now on programs of this user find the space by a name. */
  nameSpace: { in: { name: string; quotas: readonly Quota[] }; out: null };
  /** Nothing more will come. `ended`: the thread ends, and its views with it. */
  leave: { in: { ended: boolean }; out: null };
  /** Has the host's memory be so large from now on; the answer comes when it is. */
  setHostMemory: { in: { bytes: number }; out: null };
  /**
   * Binds the thread that asks, and the manager, to one CPU: this one, or as it suits. `current`:
   * where the thread runs; `cpus`: where it could.
   */
  bindThread: {
    in: { cpu: number | null; current: number };
    out: { cpu: number; cpus: readonly number[] };
  };
  releaseThread: { in: null; out: null };
  stats: { in: null; out: SpaceStats };
  residency: { in: ArrayPages; out: PageReport };
  /** What lies at a byte of the space; null where no element of an array does. */
  pointer: { in: { offset: number }; out: { report: PointerReport | null } };
  /** Pairs of first page and count. */
  dirty: { in: ArrayPages; out: { runs: readonly number[] } };
  /** Triples of first page, count and bits of processors; and the names of these. */
  young: {
    in: ArrayPages & { clear: boolean };
    out: { runs: readonly number[]; processors: readonly (string | undefined)[] };
  };
  /** Subscribes to invalidations; the answer comes when the module, if any, is loaded. */
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
      /** From another process, a file for its number; else null, and the answer has memory for it. */
      memory: number | null;
    };
    out: { memory: SharedArrayBuffer | null };
  };
  unwatch: { in: { subscription: number }; out: null };
  /** The subscriber is through with a notice. */
  heard: { in: { subscription: number }; out: null };
  /** Has a module asked before rights to an array are given; the answer comes when it is. */
  guard: { in: { range: number; name: string; source: GuardSource }; out: null };
  unguard: { in: { range: number }; out: null };
  /** Null: the array has no guard. */
  guardReport: { in: { range: number }; out: { report: GuardReport | null } };
  enqueue: { in: StreamOperation; out: null };
  /** What would become of a launch, if it were the next one of its device. */
  estimate: { in: LaunchRequest; out: LaunchForecast };
  /** An operation, or all of a stream now and later (`sequence` null), is not to begin any more. */
  cancel: { in: Cancellation; out: null };
  /** The program's function of a `call` has returned, or its promise has settled. */
  called: { in: { stream: number; sequence: number; error: WireError | null }; out: null };
  forgive: { in: { stream: number }; out: null };
  endStream: { in: { stream: number }; out: null };
  /** A copy of bytes that no thread faults for, READ_BYTES of them at most. */
  readBytes: { in: BytePlace & { bytes: number }; out: { data: Uint8Array } };
  /** The other way round. */
  writeBytes: { in: BytePlace & { bytes: number; data: Uint8Array }; out: null };
  transferFile: { in: FileTransfer; out: { bytes: number } };
  /** Starts a device; the answer comes when it is up. */
  addDevice: { in: { options: DeviceOptions }; out: DeviceInfo };
  /** Starts a device again, ending it first if need be; its successor has its name. */
  restart: { in: { device: number }; out: DeviceInfo };
  /** All devices that the space has, and those that have gone, in the order in which they came. */
  devices: { in: null; out: readonly DeviceInfo[] };
  detach: { in: { device: number }; out: null };
  kill: { in: { device: number }; out: null };
  check: { in: null; out: null };
  /** Writes moves down in a file, or in two with a limit, until `unrecord`. */
  record: { in: { path: string; limitBytes: number | null }; out: { id: number } };
  unrecord: { in: { id: number }; out: { bytes: number; failure: string | null } };
  /** The last moves, as texts that begin with where all pages were; null: none were kept. */
  history: { in: null; out: { texts: readonly string[] | null } };
  /** Lets processes of this user look at the space, as `onemem ls` does. */
  show: { in: null; out: null };
  /** Keeps moves from now on, for `tail`, until `unfollow` or the end of the client. */
  follow: { in: null; out: { id: number } };
  /** Moves since then; null: some are lost, the text begins anew. `nowMs`: by the text's clock. */
  tail: { in: { id: number }; out: { text: string | null; nowMs: number } };
  unfollow: { in: { id: number }; out: null };
  /** `timeoutMs`: how long launches that run may take; null: as long as they like. */
  /**
   * `closed`: spaces of which views are left. The answer is this space, if views of it are left,
   * too: the manager's thread answers late uses of all of them from then on. `lost`: what was
   * written to arrays of several machines and could not be flushed, though all is closed.
   */
  close: {
    in: { timeoutMs: number | null; closed: readonly ClosedSpace[] };
    out: { closed: ClosedSpace | null; lost: WireError | null };
  };
}
