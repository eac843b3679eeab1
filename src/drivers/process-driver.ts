/** A driver whose device is a process: descriptors to wait at, and what is then done. */
import type { Status } from '../core/basics/types.js';
import type {
  Driver,
  DriverEvents,
  LaunchFailure,
  LaunchParameter,
  TransferOrder,
} from './driver.js';
import type { LaunchDivision, Planning, WantedFor, WgslLaunch } from './wgsl-launch.js';

/** A node that has copies made beside the manager, which other drivers need not know of. */
export interface CopiesInThreads {
  /** As `transferIn` for a copy without a waiter: Pending where another thread makes it. */
  transferInThread(order: TransferOrder): Status;
}

/** A part of a file; `offset` is a multiple of the size of a page. */
export interface FilePart {
  readonly fd: number;
  readonly offset: number;
  readonly bytes: number;
  /** Whether stores go to the file. Without it they end the process. */
  readonly writable: boolean;
}

/** Why a launch does not begin. `DEVICE_LIMIT`: there is room, and it cannot run as it is. */
export interface LaunchRefusal extends Omit<LaunchFailure, 'code'> {
  readonly code: LaunchFailure['code'] | 'DEVICE_LIMIT';
}

/** What it reports besides. */
export interface ProcessEvents extends DriverEvents {
  /** @param gpuMs how many milliseconds the kernel ran, where the device measures that */
  launched(id: number, failure: LaunchFailure | null, gpuMs?: number): void;
}

/** A driver whose device is a process. Capabilities that only some have are null elsewhere. */
export interface ProcessDriver extends Driver {
  readonly ends: SeesEnds | null;
  readonly files: ShowsFiles | null;
  readonly engine: HasEngine | null;
  readonly wgsl: RunsWgsl | null;
  readonly lent: IsLent | null;
  /** The file that is its memory, page by page as the space; -1: there is none. */
  readonly memoryFile: number;
  /** Null: it is a thread of the program. */
  readonly pid: number | null;
  /** Ready for a poller when the process has ended. */
  readonly pidfd: number;
  /** Where packets from the process come in. */
  readonly socket: { readonly fd: number };
  /** Where its page faults come in; -1: it has none, or not yet. */
  readonly faultFd: number;
  /** Resolves when the event loop has reaped the process. */
  readonly exited: Promise<void>;
  /** Whether the manager waits for an answer that is to come at once. */
  readonly owesAnswers: boolean;
  /** Whether packets wait for room in the socket. */
  readonly sending: boolean;
  /** Called once: null when the device is up, otherwise why it is not. */
  onReady: (failure: string | null) => void;
  /** Reports the faults that wait; returns how many there were. */
  readFaults(): number;
  /** Handles the packets that have come. True when `faultFd` has changed. */
  readPackets(): boolean;
  /** The process has ended: everything that is pending is answered, then `died` is reported. */
  processEnded(): void;
  sendRest(): void;
  /** Looks whether the process still works; to be called about once a second. */
  look(): void;
  /** Ends the process at once; `processEnded` follows. */
  kill(why?: string | null): void;
}

/** The end of a launch is seen without a packet, as long as the manager looks. */
export interface SeesEnds {
  /** The launch whose end is seen so; 0: none. */
  readonly awaited: number;
  /** Whether that launch has ended, which `readPackets` then says. */
  readonly hasEnd: boolean;
  /** The manager will not look: a packet must tell. True: the launch has ended untold. */
  unwatch(): boolean;
}

/** Files are mapped there beside the space. Without this kernels get the pages of arrays over them. */
export interface ShowsFiles {
  /** Maps a part of a file. `shown` is told where, as arguments' offsets are; null: it cannot. */
  showFile(part: FilePart, shown: (at: number | null) => void): void;
  /** What was mapped there is used no more. */
  hideFile(at: number): void;
}

/** The process has memory of its own, to and from which an engine copies. */
export interface HasEngine {
  /** Packets by which content has come to its memory; one may bring many pieces. */
  readonly transfersIn: number;
  /** Sends what is to be read, since nothing that the core has asked for waits any more. */
  sendReads(): void;
  /**
   * Hears of pages that are about to be brought, of which each of these runs is used as one piece:
   * the arguments of a launch, or what a prefetch names. What it was told before is not expected
   * any more.
   */
  expect(runs: readonly { readonly first: number; readonly end: number }[]): void;
  /** Does as much as may stand between two looks for faults. False: there is nothing. */
  step(): boolean;
}

/** Kernels are modules in WGSL, and not functions. */
export interface RunsWgsl {
  /** Why the device cannot run a launch, before anything is brought for it; null: it can. */
  refuse(launch: Omit<WgslLaunch, 'id'>): LaunchRefusal | null;
  /**
   * Finds out, in slices, into which parts a launch is to be cut that the device has no room for,
   * or why it cannot be. Null: there is room for all of it.
   * @param pagesOf the pages that the device needs at once for arguments
   */
  divide(
    launch: Omit<WgslLaunch, 'id'>,
    pagesOf: (parameters: readonly LaunchParameter[]) => number,
  ): Planning<LaunchDivision | LaunchRefusal> | null;
  /** Whether a launch may be handed over with others: the device knows that it can run it. */
  joins(launch: Omit<WgslLaunch, 'id'>): boolean;
  /** How many launches it takes at once. */
  readonly launchesAtOnce: number;
  /** As `launch`, for launches one after the other. After a failure the rest fail, too. */
  launchWgsl(launches: readonly WgslLaunch[]): void;
  /**
   * Called when a part that is paged lacks pages, or has written some, which are copied to the host
   * then: they are to be on the host, and stay there, until more are wanted or the part has ended.
   * `supply` answers.
   * @param atOnce the driver has read them when `supply` returns: they need not stay
   */
  onWants: (
    launch: number,
    wanted: readonly { readonly first: number; readonly count: number }[],
    wantedFor: WantedFor,
    atOnce: boolean,
  ) => void;
  /** Called with a sentence for the program's standard error. */
  onWarning: (message: string) => void;
  /** The pages are there; if not, the part ends. */
  supply(launch: number, there: boolean): void;
  /** Nothing more of a launch that was cut follows. */
  over(): void;
}

/** A thread of the program drives the device. */
export interface IsLent {
  /** The kernel's id of that thread. */
  readonly lender: number;
  /** Ends a launch at once that waits for its waiting lender. `launched` follows. */
  abandon(launch: number, why: string): void;
}
