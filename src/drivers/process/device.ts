/**
 * The process device, seen from the manager: a child process with its own memory of limited size,
 * its own page tables and replayable faults. Its faults are served here, through a descriptor that
 * the child hands over. It can die at any moment; its memory, a memory file, outlives it unless it
 * is `lossy`.
 */

import { existsSync, readFileSync } from 'node:fs';
import {
  type Access,
  type DeviceDescription,
  PAGE_BYTES,
  PAGES_PER_BLOCK,
  Access as Rights,
  Status,
} from '../../core/basics/types.js';
import { FAULT_FEATURES } from '../../linux/memory/managed-mapping.js';
import { Userfaultfd } from '../../linux/memory/userfaultfd.js';
import { descriptorsOf, type Message, type MessageSocket } from '../../linux/sockets/socket.js';
import { LIMITS } from '../../linux/threads/threads.js';
import type { CopyThread } from '../copies/copy-thread.js';
import type {
  DriverEvents,
  DriverLaunch,
  Injection,
  LaunchFailure,
  TransferOrder,
} from '../driver.js';
import { NodeError } from '../page-table.js';
import { PagedMemory } from '../paged-memory.js';
import type {
  CopiesInThreads,
  FilePart,
  ProcessDriver,
  SeesEnds,
  ShowsFiles,
} from '../process-driver.js';
import type { HostSharer, SharedHost } from '../shared-host.js';
import { DeviceProcess } from './device-process.js';
import { FileWindows } from './file-windows.js';
import {
  type Hello,
  type HiddenFile,
  jsonPacket,
  numberPacket,
  Packet,
  readJson,
  readNumber,
  type ShownFile,
  type UnitEnd,
  type UnitFailure,
} from './protocol.js';
import { Units } from './units.js';

/** What may be overdue, and after how many looks, a second apart: suspension takes none. */
const STARTING_LOOKS = 60;
const STARTING = {
  looks: STARTING_LOOKS,
  what: `did not start within ${STARTING_LOOKS} s`,
  remedy: `; ${LIMITS}`,
};
const STARTING_UNIT = {
  looks: STARTING_LOOKS,
  what: `did not start a unit within ${STARTING_LOOKS} s`,
  remedy: `; ${LIMITS}`,
};
/** A thread with something to do is missing, and not replaced by now. */
const MISSING = { looks: 3, what: 'lost a thread and did not say so', remedy: '' };
type Overdue = typeof MISSING;
/** The control thread's place among the threads; units follow it. */
const CONTROL = 0;

/** Addresses behind the space for files: below those where the kernel maps by itself. */
const WINDOW_BYTES = 2 ** 43;

/** A file that the process is to map, and has not answered yet. */
interface Showing {
  readonly page: number;
  readonly shown: (at: number | null) => void;
}

export interface ProcessDeviceOptions {
  readonly name: string;
  readonly budgetPages: number;
  /** Threads that run kernels. */
  readonly units: number;
  /** Its memory dies with it, as a GPU's does. */
  readonly lossy: boolean;
  /** The memory file of the host, which the device can reach in place. */
  readonly hostMemory: number;
  readonly host: SharedHost;
  /** The module that the device's process runs (child.ts). */
  readonly program: URL;
  readonly inject?: Injection;
  /** Makes large copies to the device that no thread waits for; null: the manager's thread does. */
  readonly copies: CopyThread | null;
}

interface RunningLaunch {
  readonly kernelName: string;
  /** Units that have a part of it: the first so many. */
  readonly parts: number;
  failure: LaunchFailure | null;
}

export class ProcessDevice
  implements ProcessDriver, SeesEnds, ShowsFiles, CopiesInThreads, HostSharer
{
  readonly ends: SeesEnds = this;
  readonly files: ShowsFiles = this;
  readonly engine = null;
  readonly wgsl = null;
  readonly lent = null;
  readonly kind = 'process';
  readonly kernels = 'functions';
  readonly description: DeviceDescription;
  readonly memory: number;
  private readonly node: PagedMemory;
  private readonly process: DeviceProcess;
  private readonly units: Units;
  private readonly zaps = new Set<number>();
  /** Blocks at whose addresses it has the host's memory. */
  private readonly remoteBlocks = new Set<number>();
  private readonly windows: FileWindows;
  private readonly showings = new Map<number, Showing>();
  private lastWindow = 0;
  private readonly launches = new Map<number, RunningLaunch>();
  /** The launch whose end is looked for on the board, or 0: a packet will tell. */
  private watched = 0;
  private readonly report: DriverEvents['fault'];
  private registered = false;
  private ready = false;
  /** The kernel's ids of its threads, by their places. */
  private readonly threads: number[] = [];
  /** What is overdue, and the looks in a row that have found it so. */
  private overdue: Overdue | null = null;
  private looks = 0;
  private dead = false;
  private closed = false;
  /** Called once: null when the device is up, otherwise why it is not. */
  onReady: (failure: string | null) => void = () => undefined;

  constructor(
    base: number,
    bytes: number,
    private readonly options: ProcessDeviceOptions,
    private readonly events: DriverEvents,
  ) {
    this.windows = new FileWindows(bytes / PAGE_BYTES, (bytes + WINDOW_BYTES) / PAGE_BYTES);
    this.report = (page, write, thread) => events.fault(page, write, thread);
    this.description = {
      name: options.name,
      budgetPages: options.budgetPages,
      frames: 'identity',
      faults: true,
      addressable: true,
      units: options.units,
      remoteAccess: true,
      memorySurvives: !options.lossy,
      // A page that is written is one processor's alone, and its threads load and store as all
      // threads do.
      atomics: true,
    };
    this.node = new PagedMemory(`onemem-${options.name}`, base, bytes);
    this.node.inject(options.inject);
    this.memory = this.node.alias;
    this.node.copyBy(options.copies, (token, _page, _count, finish) =>
      events.transferred(token, this.filled(finish)),
    );
    try {
      this.units = new Units(options.name, options.units);
    } catch (error) {
      this.node.close();
      throw error;
    }
    try {
      const { name, program } = options;
      // The manager's own options are those that say how the program's modules are loaded, which
      // kernels may be.
      this.process = new DeviceProcess({
        name,
        program,
        nodeOptions: process.execArgv,
        descriptors: [],
      });
    } catch (error) {
      this.units.close();
      this.node.close();
      throw error;
    }
    options.host.addSharer(this);
    const hello: Hello = { base, bytes, units: options.units, name: options.name };
    // One that has ended already, for example of an option in NODE_OPTIONS that this Node.js does
    // not know, says so by its pidfd.
    this.process.post(jsonPacket(Packet.Hello, hello), [
      this.node.fd,
      options.hostMemory,
      this.units.file,
    ]);
  }

  get socket(): MessageSocket {
    return this.process.socket;
  }

  get pidfd(): number {
    return this.process.pidfd;
  }

  get pid(): number {
    return this.process.pid;
  }

  get exited(): Promise<void> {
    return this.process.exited;
  }

  /** Whether the manager waits for its control thread. */
  get owesAnswers(): boolean {
    return this.zaps.size + this.showings.size > 0;
  }

  /** -1 until the device has registered its memory. */
  get faultFd(): number {
    return this.registered && !this.dead ? this.node.userfaultfd.fd : -1;
  }

  /** The memory file, whose blocks are the budget's proof. */
  get memoryFile(): number {
    return this.node.fd;
  }

  readFaults(): number {
    if (!this.registered || this.dead) return 0;
    let count = 0;
    try {
      count = this.node.userfaultfd.readMessages();
    } catch (error) {
      this.process.fail(error);
    }
    // Outside of that: what goes wrong while a fault is served is no failure to read it.
    if (count > 0) this.node.table.reportFaults(count, this.report);
    return count;
  }

  /**
   * Handles packets that have come: all, or up to the end of a launch, after which there seldom is
   * another one; the poller tells. True when `faultFd` has changed.
   */
  readPackets(all = false): boolean {
    let changed = false;
    let launched = false;
    // What was said of the launch before its end has been sent.
    const ended = this.hasEnd ? this.watched : 0;
    while (!this.dead && (all || ended !== 0 || !launched)) {
      const message = this.process.receive();
      if (message === null) break;
      const { bytes } = message;
      if (bytes[0] === Packet.Registered) {
        changed = this.served(message);
      } else if (bytes[0] === Packet.Ready) {
        this.ready = true;
        this.onReady(null);
      } else if (bytes[0] === Packet.Thread)
        this.noteThread(readNumber(bytes, 0), readNumber(bytes, 1), message.fds?.at(0));
      else if (bytes[0] === Packet.Failed) this.failed(readJson<string>(bytes));
      else if (bytes[0] === Packet.Shown)
        this.shown(readNumber(bytes, 0), readNumber(bytes, 1) === 1);
      else if (bytes[0] === Packet.Zapped) this.zapped(readNumber(bytes, 0));
      else if (bytes[0] === Packet.Launched) {
        launched = true;
        this.launched(readNumber(bytes, 0));
      } else if (bytes[0] === Packet.UnitFailed) this.unitFailed(readJson<UnitFailure>(bytes));
      else if (bytes[0] === Packet.UnitEnded) this.unitEnded(readJson<UnitEnd>(bytes));
    }
    if (ended !== 0) this.launched(ended);
    return changed;
  }

  get awaited(): number {
    return this.watched;
  }

  get hasEnd(): boolean {
    return this.watched !== 0 && this.units.allOver;
  }

  unwatch(): boolean {
    if (this.watched === 0) return false;
    if (this.units.unwatch()) return true;
    this.watched = 0;
    return false;
  }

  /** Its process has ended. Everything that is pending is answered, then the core is told. */
  processEnded(): void {
    if (this.dead) return;
    this.readPackets(true);
    this.dead = true;
    if (this.closed) return;
    const reason = this.endReason;
    this.onReady(`${reason} before it was up; ${LIMITS}`);
    this.node.settle();
    for (const token of this.zaps) this.events.revoked(token);
    this.zaps.clear();
    this.events.died(reason);
    for (const window of [...this.showings.keys()]) this.shown(window, false);
    for (const id of this.launches.keys())
      this.events.launched(id, { code: 'DEVICE_LOST', message: reason });
    this.launches.clear();
    this.watched = 0;
  }

  private get endReason(): string {
    const { endReason, endedByItself } = this.process;
    if (!endedByItself || !this.windows.any) return endReason;
    return `${endReason}; a kernel may have written to an array over a mapped file, or touched a part that has been cut off the file`;
  }

  /** Its process ends at once, also one that is stopped; `processEnded` follows. */
  kill(why: string | null = null): void {
    this.process.kill(why);
  }

  /**
   * Looks whether the process still does what it is there for; to be called about once a second. It
   * says by itself that a unit has ended, but it may be in no state to say anything.
   */
  look(): void {
    if (this.dead) return;
    const overdue = this.findOverdue();
    if (overdue !== null && this.isStopped()) return;
    this.looks = overdue === this.overdue ? this.looks + 1 : 1;
    this.overdue = overdue;
    if (overdue === null || this.looks < overdue.looks) return;
    this.kill(
      `the process of device ${this.options.name} (pid ${this.pid}) ${overdue.what}, and was ended${overdue.remedy}`,
    );
  }

  /** What a device that is well would have done before long. */
  private findOverdue(): Overdue | null {
    if (!this.ready) return STARTING;
    if (this.hasEnded(CONTROL)) return MISSING;
    let overdue: Overdue | null = null;
    for (const [launch, { parts }] of this.launches) {
      for (let unit = 0; unit < parts; unit++) {
        if (this.units.isOver(unit, launch)) continue;
        if (this.hasEnded(unit + 1)) return MISSING;
        if (!this.threads[unit + 1]) overdue = STARTING_UNIT;
      }
    }
    return overdue;
  }

  /** Its page faults are served from now on. False: no descriptor was left for them. */
  private served(message: Message): boolean {
    try {
      const faults = Userfaultfd.fromFd(descriptorsOf(message)[0], FAULT_FEATURES);
      this.node.serve(faults, (error) => this.process.fail(error));
      this.registered = true;
    } catch (error) {
      this.process.fail(error);
    }
    return this.registered;
  }

  /** @param bell wakes a unit; undefined: none was left, and the device's process does it */
  private noteThread(place: number, thread: number, bell: number | undefined): void {
    this.threads[place] = thread;
    if (place === CONTROL) return;
    if (thread === 0) this.units.down(place - 1);
    else if (bell !== undefined) this.units.up(place - 1, bell);
  }

  private hasEnded(place: number): boolean {
    const thread = this.threads[place] ?? 0;
    return thread !== 0 && !existsSync(`/proc/${this.pid}/task/${thread}`);
  }

  /** By a signal, or by a debugger: it does nothing then, and will go on where it was. */
  private isStopped(): boolean {
    try {
      const stat = readFileSync(`/proc/${this.pid}/stat`, 'latin1');
      return /^[Tt]/.test(stat.slice(stat.lastIndexOf(')') + 2));
    } catch {
      return false;
    }
  }

  map(page: number, count: number, access: Access, previous: Access): void {
    if (!this.dead) this.node.table.map(page, count, access, previous);
  }

  revoke(token: number, page: number, count: number, to: Access): Status {
    if (this.dead) return Status.Done;
    // Write access ends at once. The mapping itself only the process can take away, and its control
    // thread does.
    const status = this.node.table.writeProtect(page, count);
    if (status === Status.Failed) {
      // It may write until it has ended, which answers the token.
      this.zaps.add(token);
      return Status.Pending;
    }
    if (to === Rights.Read || status === Status.Lost) return Status.Done;
    return this.ask(token, numberPacket(Packet.Zap, token, page, count));
  }

  /** Has the control thread do something that it answers with the token. */
  private ask(token: number, packet: Uint8Array): Status {
    this.zaps.add(token);
    // If it takes no packet, its mappings are there as long as it is: its end answers the token.
    this.process.post(packet);
    return Status.Pending;
  }

  /** Whether packets wait for room in the socket. */
  get sending(): boolean {
    return !this.dead && this.process.waiting;
  }

  /** Sends what waits, as far as the process takes it. */
  sendRest(): void {
    if (!this.dead) this.process.sendRest();
  }

  /** The device's page tables cannot be made what they should be: it is ended. */
  private failIn(error: unknown): void {
    if (!(error instanceof NodeError)) throw error;
    this.process.fail(error);
  }

  remap(token: number, page: number, on: boolean): Status {
    const block = Math.floor(page / PAGES_PER_BLOCK);
    if (on) this.remoteBlocks.add(block);
    else this.remoteBlocks.delete(block);
    return this.dead
      ? Status.Done
      : this.ask(token, numberPacket(Packet.Remap, token, page, on ? 1 : 0));
  }

  stopWrites(page: number, count: number): void {
    if (!this.dead && this.remoteBlocks.has(Math.floor(page / PAGES_PER_BLOCK)))
      this.node.table.writeProtect(page, count);
  }

  cover(token: number, page: number): Status {
    return this.dead ? Status.Done : this.ask(token, numberPacket(Packet.Cover, token, page));
  }

  showFile({ fd, offset, bytes, writable }: FilePart, shown: (at: number | null) => void): void {
    const page = this.dead
      ? -1
      : this.windows.take(Math.ceil(bytes / PAGE_BYTES), offset / PAGE_BYTES);
    if (page === -1) {
      shown(null);
      return;
    }
    const window = ++this.lastWindow;
    this.showings.set(window, { page, shown });
    this.process.post(
      jsonPacket(Packet.Show, { window, page, offset, bytes, writable } satisfies ShownFile),
      [fd],
    );
  }

  hideFile(at: number): void {
    const page = at / PAGE_BYTES;
    const bytes = this.windows.giveBack(page) * PAGE_BYTES;
    if (!this.dead)
      this.process.post(jsonPacket(Packet.Hide, { page, bytes } satisfies HiddenFile));
  }

  private shown(window: number, done: boolean): void {
    const showing = this.showings.get(window);
    if (showing === undefined) return;
    this.showings.delete(window);
    if (!done) this.windows.giveBack(showing.page);
    showing.shown(done ? showing.page * PAGE_BYTES : null);
  }

  release(_token: number, page: number, count: number): Status {
    this.node.release(page, count);
    return Status.Done;
  }

  wake(page: number, count: number, access: Access): void {
    if (!this.dead) this.node.table.wake(page, count, access);
  }

  transferIn(order: TransferOrder): Status {
    if (this.dead) return Status.Lost;
    try {
      return this.node.fill(order);
    } catch (error) {
      this.failIn(error);
      return Status.Lost;
    }
  }

  transferInThread(order: TransferOrder): Status {
    return this.filled(() => this.node.fillBeside(order));
  }

  private filled(fill: () => Status): Status {
    if (this.dead) return Status.Lost;
    try {
      return fill();
    } catch (error) {
      this.failIn(error);
      return Status.Lost;
    }
  }

  reserve(page: number, count: number): Status {
    return this.dead ? Status.Lost : this.node.reserve(page, count);
  }

  reserveBlock(page: number): void {
    if (!this.dead) this.node.reserveBlock(page);
  }

  isReserved(page: number): boolean {
    return !this.dead && this.node.isReserved(page);
  }

  launch(launch: DriverLaunch): void {
    if (this.dead) {
      this.events.launched(launch.id, {
        code: 'DEVICE_LOST',
        message: `device ${this.options.name} is gone`,
      });
      return;
    }
    const { id, kernelName } = launch;
    try {
      const parts = this.units.give(launch, (packet) => this.process.post(packet));
      this.launches.set(id, { kernelName, parts, failure: null });
      this.watched = id;
    } catch (error) {
      this.launches.set(id, { kernelName, parts: 0, failure: null });
      this.process.fail(error);
    }
  }

  /** Ends the units of a launch; `launched` follows, also if it ended by itself. */
  abort(id: number): void {
    if (!this.dead && this.launches.has(id)) this.process.post(numberPacket(Packet.Abort, id));
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    if (!this.dead) this.kill();
    this.dead = true;
    this.watched = 0;
    this.options.host.removeSharer(this);
    this.process.close();
    this.units.close();
    this.node.close();
  }

  /** Something of it could not start. */
  private failed(why: string): void {
    if (this.ready) this.process.fail(why);
    else this.onReady(why);
  }

  private zapped(token: number): void {
    if (this.zaps.delete(token)) this.events.revoked(token);
  }

  private unitEnded({ launch, aborted, exitCode, error }: UnitEnd): void {
    const name = this.launches.get(launch)?.kernelName;
    let failure: LaunchFailure = { code: 'ABORTED', message: `kernel ${name} was ended` };
    if (!aborted) {
      const how =
        error === null
          ? `exit code ${exitCode}, as by process.exit()`
          : `${error.name}: ${error.message}`;
      const message = `kernel ${name} ended the thread that ran it (${how})`;
      failure = {
        code: 'KERNEL_ERROR',
        message,
        ...(error === null ? {} : { stack: error.stack }),
      };
    }
    this.unitFailed({ launch, failure });
    // The launch has failed: what the other units still compute is not waited for.
    if (!aborted) this.abort(launch);
  }

  /** What came first counts. */
  private unitFailed({ launch, failure }: UnitFailure): void {
    const running = this.launches.get(launch);
    if (running !== undefined) running.failure ??= failure;
  }

  /** All parts of a launch are over. */
  private launched(launch: number): void {
    const running = this.launches.get(launch);
    if (running === undefined) return;
    this.launches.delete(launch);
    this.watched = 0;
    this.events.launched(launch, running.failure);
  }
}
