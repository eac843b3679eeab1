/**
 * Launches of devices: in which order they run, and what is done before one runs and when it has.
 */

import { Access, type DenyReason, PAGE_BYTES } from '../../core/basics/types.js';
import type { Range } from '../../core/table/range.js';
import type {
  KernelCode,
  LaunchDivision,
  LaunchFailure,
  LaunchParameter,
  WantedFor,
  WgslCode,
  WgslLaunch,
} from '../../drivers/driver.js';
import { compileKernel, type KernelFunction, loadKernel } from '../../drivers/kernel-loader.js';
import { kernelError } from '../../messages/kernel-error.js';
import type { Arrays } from '../arrays/arrays.js';
import type { SpaceContext } from '../arrays/context.js';
import { type SharedUses, usedBytes } from '../arrays/shared-uses.js';
import type { StoppedThreads } from '../host/stopped-threads.js';
import type { OperationDone } from '../protocol/operations.js';
import { toWire, wireError } from '../protocol/wire.js';
import type { Device } from './device.js';
import type { GatherPlans, LaunchPart } from './gather-plans.js';
import type { JoinedLaunches } from './joined-launches.js';
import {
  argumentsOf,
  arrayPages,
  type EdgeClearing,
  type NamedArgument,
} from './launch-arguments.js';
import type { LaunchChecks } from './launch-checks.js';
import { LaunchEndings, type Launching } from './launch-endings.js';
import type { LaunchPlans } from './launch-plans.js';
import {
  failureOf,
  type LaunchOperation,
  type LaunchRecord,
  lostError,
  messageOf,
} from './launch-record.js';
import { type LaunchSizes, SIZE_BYTES } from './launch-sizes.js';
import type { MappedFiles } from './mapped-files.js';
import type { NextLaunch } from './next-launch.js';
import { bytesOf, type PageRun, type PageSupplies } from './page-supply.js';

/**
 * The launches of a device, in the order in which they came: one at a time, but for those that go
 * with the first.
 */
interface Queue extends Launching {
  readonly records: LaunchRecord[];
  /**
   * Streams are being told of ends, and hand in what comes next: it begins when all of that is
   * there.
   */
  isTelling: boolean;
  /** Called when no launch is left. */
  readonly onIdle: (() => void)[];
}

/** What does a part of what is done for a launch. */
export interface LaunchParts {
  readonly arrays: Arrays;
  readonly sharing: SharedUses;
  readonly stopped: StoppedThreads;
  readonly checks: LaunchChecks;
  readonly edges: EdgeClearing;
  readonly joining: JoinedLaunches;
  readonly next: NextLaunch;
  readonly plans: LaunchPlans;
  readonly sizes: LaunchSizes;
  readonly gathers: GatherPlans;
  readonly supplies: PageSupplies;
  readonly mapped: MappedFiles;
}

export class Launches {
  /** How they are ended before their time. */
  readonly endings: LaunchEndings;
  private readonly queues = new Map<Device, Queue>();
  private readonly modules = new Map<string, KernelFunction>();
  /** Modules that are being loaded; they need turns of the event loop. */
  private loading = 0;

  constructor(
    private readonly context: SpaceContext,
    private readonly parts: LaunchParts,
  ) {
    const { places, now } = context;
    this.endings = new LaunchEndings(this.queues, places, parts.stopped, now, (device, record) =>
      this.finish(this.queueOf(device), record),
    );
  }

  /** @param gone why the device is not there, if it is not */
  add(
    device: Device | undefined,
    operation: LaunchOperation,
    gone: string,
    done: OperationDone,
  ): void {
    if (device === undefined || !device.alive) {
      done(
        wireError('DEVICE_LOST', `cannot launch ${operation.kernelName}: ${gone}`, { ranges: [] }),
      );
      return;
    }
    const queue = this.queueOf(device);
    const id = this.context.requests.reserve();
    const never = Number.POSITIVE_INFINITY;
    queue.records.push({
      id,
      operation,
      done,
      failure: null,
      begun: false,
      plan: null,
      division: null,
      supply: null,
      sharing: null,
      part: 0,
      joined: null,
      askedAhead: false,
      inDriver: false,
      doomed: false,
      timeoutAt: never,
      ending: null,
      endBy: never,
      gpuMs: undefined,
      completed: false,
    });
    this.countUse(operation, 1);
    if (queue.records.length === 1 && !queue.isTelling) this.begin(queue, queue.records[0]);
    else this.bringNext(queue);
  }

  get busy(): boolean {
    return this.loading > 0;
  }

  needsTurn(): boolean {
    return this.loading > 0;
  }

  look(nowMs: number): void {
    this.endings.freeLenders(nowMs);
    this.endings.look(nowMs);
  }

  sleepMs(most: number, nowMs: number): number {
    return this.endings.sleepMs(most, nowMs);
  }

  /** How many launches of a stream may be with a device at once. */
  mostTogether(device: Device | undefined): number {
    return device?.process?.launchesAtOnce ?? 1;
  }

  /**
   * Takes a launch out of its device's queue: true if it had not begun and will not. One whose turn
   * has come is ended instead, if its device can do that, and then fails.
   */
  cancel({ device: number, stream, sequence }: LaunchOperation, reason: string): boolean {
    for (const queue of this.queues.values()) {
      const { device, records } = queue;
      if (device.info.number !== number) continue;
      const index = records.findIndex(
        ({ operation }) => operation.stream === stream && operation.sequence === sequence,
      );
      if (index === 0) this.endings.stop(device, records[0], { code: 'ABORTED', reason });
      if (index < 1) continue;
      if (records[0].joined?.records.includes(records[index])) return false;
      this.countUse(records.splice(index, 1)[0].operation, -1);
      this.parts.arrays.recycleAll();
      return true;
    }
    return false;
  }

  /** Calls `action` when the device has no launch any more: at once if it has none. */
  whenIdle(device: Device, action: () => void): void {
    const queue = this.queueOf(device);
    if (queue.records.length === 0) action();
    else queue.onIdle.push(action);
  }

  /** The driver says that a launch has ended. */
  driverEnded(device: Device, id: number, failure: LaunchFailure | null, gpuMs?: number): void {
    const queue = this.queueOf(device);
    const [first] = queue.records;
    const together = first === undefined ? [] : togetherWith(first);
    const record = together.find((each) => each.id === id);
    if (record === undefined) return;
    if (gpuMs !== undefined) {
      record.gpuMs = (record.gpuMs ?? 0) + gpuMs;
      device.gpuMs = (device.gpuMs ?? 0) + gpuMs;
    }
    if (failure !== null) {
      const { kernelName } = record.operation;
      record.failure ??=
        failure.code === 'DEVICE_LOST'
          ? lostError(device, record, failure.message)
          : wireError(
              failure.code,
              messageOf(failure, kernelName),
              { kernel: kernelName },
              failure.stack,
            );
    } else if (record.plan?.over === false && record.failure === null && record.ending === null) {
      record.inDriver = false;
      this.nextPart(queue, record);
      return;
    } else if (
      record.division !== null &&
      record.failure === null &&
      ++record.part < record.division.count
    ) {
      record.inDriver = false;
      this.context.manager.launchEnd(record.id);
      this.enterPart(queue, record, record.division);
      return;
    } else record.completed = record.plan?.over !== false;
    if (record === together[together.length - 1]) this.finish(queue, first);
  }

  /** A part that is paged wants pages on the host, from there or to there. */
  wanted(
    device: Device,
    id: number,
    wanted: readonly PageRun[],
    wantedFor: WantedFor,
    atOnce: boolean,
  ): void {
    const isHome = wantedFor === 'home';
    const record = this.queueOf(device).records[0];
    if (record === undefined || record.id !== id || record.supply === null) return;
    if (wantedFor === 'plan') device.plannedRounds++;
    const isDevice = wantedFor === 'device' || wantedFor === 'plan';
    if (isDevice) device.launchRounds++;
    // A device that is being detached runs what it has begun.
    if (record.failure !== null || record.ending !== null || device.lost) {
      device.process?.supply?.(id, false);
      return;
    }
    record.supply.bring(wanted, isHome ? Access.Write : Access.Read, atOnce, (failure, page) => {
      if (failure !== null) {
        const kernel = `kernel ${record.operation.kernelName}`;
        record.failure ??= this.context.places.denialError(failure, page, kernel, isHome);
      } else if (isHome) device.pagedHomeBytes += bytesOf(wanted);
      else if (isDevice) device.pagedBytes += bytesOf(wanted);
      device.process?.supply?.(id, failure === null);
    });
  }

  /** An access of the device was denied: the launch that runs has done it. */
  denied(device: Device, page: number, write: boolean, reason: DenyReason): void {
    const record = this.queueOf(device).records[0];
    if (record === undefined) return;
    record.failure ??= this.context.places.denialError(
      reason,
      page,
      `kernel ${record.operation.kernelName}`,
      write,
    );
    if (reason !== 'FREED') return;
    const { freedPages, pages } = this.context.manager.pages.rangeOf(page) as Range;
    // Each page of an array that is no more would be denied by itself, and what the kernel makes of
    // zeros is of no use.
    if (freedPages === pages) this.endings.stop(device, record, { code: 'USE_AFTER_FREE' });
  }

  /** The device died: a launch that had not reached its driver hears of it here. */
  lost(device: Device): void {
    const queue = this.queueOf(device);
    const record = queue.records[0];
    if (record === undefined || record.inDriver) return;
    record.failure ??= lostError(device, record, device.reason);
    if (record.doomed || record.sharing?.isWaiting === true) this.finish(queue, record);
  }

  /** Ends whatever the device still has to do. */
  endAll(device: Device, why: string): void {
    const queue = this.queueOf(device);
    while (queue.records.length > 0) {
      const [record] = queue.records;
      for (const each of togetherWith(record))
        each.failure ??= each.completed ? null : lostError(device, each, why);
      this.finish(queue, record);
    }
    this.queues.delete(device);
    this.parts.mapped.drop(device);
  }

  /** The function of a kernel that runs in this thread; its module has been loaded before. */
  readonly kernelOf = (code: KernelCode): KernelFunction => {
    if (code.kind === 'inline') return compileKernel(code.source);
    const loaded = this.modules.get(moduleKey(code));
    if (loaded === undefined) throw new Error(`module ${code.url} is not loaded`);
    return loaded;
  };

  /**
   * As long as a launch has an array as an argument, its addresses do not become another array's.
   */
  private countUse({ parameters, indirect }: LaunchOperation, by: 1 | -1): void {
    const count = ({ offset }: { offset: number }): void =>
      this.parts.arrays.countLaunch(Math.floor(offset / PAGE_BYTES), by);
    for (const each of parameters) if (each.kind === 'array') count(each);
    if (indirect !== undefined) count(indirect);
  }

  private queueOf(device: Device): Queue {
    let queue = this.queues.get(device);
    if (queue === undefined) {
      queue = { device, records: [], isTelling: false, onIdle: [] };
      this.queues.set(device, queue);
    }
    return queue;
  }

  /** Its parts, with memory for those that are paged. */
  private divide(record: LaunchRecord, division: LaunchDivision): void {
    record.division = division;
    const { poolBytes } = division;
    if (poolBytes === 0) return;
    try {
      record.supply = this.parts.supplies.open(poolBytes, record.operation.kernelName);
    } catch (error) {
      record.failure = toWire(error);
    }
  }

  private begin(queue: Queue, record: LaunchRecord): void {
    const { device } = queue;
    this.endings.limit(record);
    if (device.alive && device.ending) {
      // A program that hears that a device is lost finds its pages lost, too: the news waits until
      // the core has it.
      record.doomed = true;
      return;
    }
    const args = argumentsOf(record.operation.parameters, this.context.table);
    if (device.alive) {
      const { indirect } = record.operation;
      const used = args.map(({ first, count, use }) => ({ first, count, write: use !== 'in' }));
      if (indirect !== undefined)
        used.push(usedBytes(indirect.offset, indirect.numbers * SIZE_BYTES, false));
      record.sharing = this.parts.sharing.begin(
        `kernel ${record.operation.kernelName}`,
        used,
        (failure) => {
          if (queue.records[0] !== record) return;
          record.failure ??= failure;
          this.prepare(queue, record, args);
        },
      );
    }
    if (record.sharing === null) this.prepare(queue, record, args);
  }

  /** Others have nothing of what the launch uses, or it has failed for that. */
  private prepare(queue: Queue, record: LaunchRecord, args: readonly NamedArgument[]): void {
    const { device } = queue;
    record.failure ??= device.alive
      ? this.parts.checks.problemOf(device, record.operation, args)
      : lostError(device, record, device.reason);
    if (record.failure === null && record.operation.indirect !== undefined) {
      this.readSize(queue, record, args);
      return;
    }
    const slices =
      record.failure === null ? this.parts.checks.divide(device, record.operation) : null;
    if (slices === null) {
      this.prepared(queue, record, args);
      return;
    }
    const isOver = (): boolean =>
      queue.records[0] !== record || record.ending !== null || !device.alive;
    this.parts.plans.start(slices, isOver, (divided) => {
      if (queue.records[0] !== record) return;
      // Meanwhile its device, or an array, may have gone.
      record.failure ??= device.alive
        ? this.parts.checks.problemOf(device, record.operation, args)
        : lostError(device, record, device.reason);
      if (divided !== null && 'failure' in divided) record.failure ??= divided.failure;
      else if (divided !== null && record.failure === null) this.divide(record, divided.division);
      this.prepared(queue, record, args);
    });
  }

  /** It is known which parts it has. */
  private prepared(queue: Queue, record: LaunchRecord, args: readonly NamedArgument[]): void {
    const { device } = queue;
    if (record.failure !== null || record.ending !== null) {
      this.finish(queue, record);
      return;
    }
    if (record.division === null)
      record.joined = this.parts.joining.behind(device, record, queue.records.slice(1));
    this.place(queue, record, record.joined?.args ?? args);
  }

  /** The launch goes on when its size is known; where that is 0 it has nothing to do. */
  private readSize(queue: Queue, record: LaunchRecord, args: readonly NamedArgument[]): void {
    const { operation } = record;
    this.parts.sizes.read(operation, (sized, failure) => {
      if (queue.records[0] !== record) return;
      record.failure ??= failure;
      if (sized !== null) {
        this.countUse(operation, -1);
        record.operation = sized;
        this.countUse(sized, 1);
      }
      if (sized?.size === 0 && record.failure === null) {
        record.completed = true;
        countLaunch(queue.device, record);
      }
      if (record.completed || record.failure !== null) this.finish(queue, record);
      else this.prepare(queue, record, args);
    });
  }

  /**
   * Before anything of it runs, while the device stands still, memory is placed as it was advised.
   */
  private place(queue: Queue, record: LaunchRecord, args: readonly NamedArgument[]): void {
    const { device } = queue;
    this.context.requests.start(
      (request) => this.context.manager.arrange(request, device.info.id, args),
      () => {
        if (queue.records[0] !== record || !device.alive || record.ending !== null) {
          this.enter(queue, record, args);
          return;
        }
        // A part that is refused is not to leave behind what others have done.
        const denied = record.division === null ? null : this.parts.checks.denialOf(device, args);
        if (denied !== null) {
          this.fail(device, record, denied, args);
          this.enter(queue, record, args);
          return;
        }
        this.parts.edges.clear(device.info.id, parametersOf(record), (failure, page) => {
          if (failure !== null) {
            const kernel = `kernel ${record.operation.kernelName}`;
            record.failure ??= this.context.places.denialError(failure, page, kernel);
          }
          this.enter(queue, record, args);
        });
      },
    );
  }

  /** Everything is as the launch needs it, unless it has failed meanwhile. */
  private enter(queue: Queue, record: LaunchRecord, args: readonly NamedArgument[]): void {
    const { device } = queue;
    if (queue.records[0] !== record) return;
    if (!device.alive) record.failure ??= lostError(device, record, device.reason);
    if (record.failure !== null || record.ending !== null) {
      this.finish(queue, record);
      return;
    }
    record.begun = true;
    const { division } = record;
    if (division === null) this.bring(queue, record, parametersOf(record), args);
    else {
      const emptied = args.filter(({ use }) => use === 'out');
      this.empty(emptied, 0, () => this.enterPart(queue, record, division));
    }
  }

  /** Empties what the parts of a launch write from zeros, all of it before the first one. */
  private empty(args: readonly NamedArgument[], at: number, done: () => void): void {
    if (at === args.length) {
      done();
      return;
    }
    const { first, count } = args[at];
    this.context.requests.start(
      (request) => this.context.manager.zero(request, first, count),
      (_pages, failure) => {
        if (failure === null) this.context.restore(first, count);
        this.empty(args, at + 1, done);
      },
    );
  }

  /** Brings a part of a launch that was cut, for which it is a launch like any other. */
  private enterPart(queue: Queue, record: LaunchRecord, division: LaunchDivision): void {
    const { device } = queue;
    if (queue.records[0] !== record) return;
    if (isGone(device, record)) record.failure ??= lostError(device, record, device.reason);
    if (record.failure !== null || record.ending !== null) {
      this.finish(queue, record);
      return;
    }
    const { parameters } = division.partAt(record.part, record.supply?.offset ?? 0);
    this.bring(queue, record, parameters, argumentsOf(parameters, this.context.table));
  }

  /** Has the core bring what a launch uses, or a part of one, which then starts. */
  private bring(
    queue: Queue,
    record: LaunchRecord,
    parameters: readonly LaunchParameter[],
    args: readonly NamedArgument[],
  ): void {
    const { device } = queue;
    this.context.requests.expect(record.id, (_pages, failure) => {
      if (failure !== null && record.joined !== null) {
        // What some of them lack is no reason for the others: each has it by itself.
        this.goAlone(queue, record);
        return;
      }
      if (failure !== null) this.fail(device, record, failure, args);
      else
        for (const { first, count, use } of args)
          if (use === 'out') this.context.restore(first, count);
      if (isGone(device, record)) record.failure ??= lostError(device, record, device.reason);
      if (record.failure === null && record.ending === null) this.start(queue, record);
      else this.finish(queue, record);
    });
    device.process?.expect?.(arrayPages(parameters));
    this.context.manager.launchBegin(record.id, device.info.id, args, record.operation.kernelName);
  }

  /** Has a launch go by itself; those that were to go with it come after it. */
  private goAlone(queue: Queue, record: LaunchRecord): void {
    const { parameters } = record.operation;
    record.joined = null;
    this.context.manager.launchEnd(record.id);
    this.bring(queue, record, parameters, argumentsOf(parameters, this.context.table));
  }

  /** The core has said no. */
  private fail(
    device: Device,
    record: LaunchRecord,
    failure: DenyReason,
    args: readonly NamedArgument[],
  ): void {
    const kernel = `kernel ${record.operation.kernelName}`;
    record.failure ??=
      failure === 'DEVICE_LOST'
        ? lostError(device, record, device.reason)
        : this.context.places.denialError(failure, this.parts.checks.pageOf(args, failure), kernel);
  }

  private start(queue: Queue, record: LaunchRecord): void {
    const { device } = queue;
    const { code } = record.operation;
    const { faults, budgetPages } = device.driver.description;
    // A device without page faults has all pages of the launch by now.
    if (faults)
      record.plan = this.parts.gathers.open(device.info.id, budgetPages, record.operation, (page) =>
        this.parts.mapped.reach(device, page),
      );
    if (device.process !== null || code.kind !== 'module' || this.modules.has(moduleKey(code))) {
      this.nextPart(queue, record);
      return;
    }
    // A device without a process of its own runs its kernels in this thread, and their modules must
    // be loaded first.
    this.loading++;
    loadKernel(code).then(
      (kernel) => {
        this.loading--;
        this.modules.set(moduleKey(code), kernel);
        this.nextPart(queue, record);
      },
      (error: unknown) => {
        this.loading--;
        const { message } = kernelError(error);
        this.driverEnded(device, record.id, { code: 'KERNEL_ERROR', message });
      },
    );
  }

  /** Hands over what comes next of the launch: all of it, or the part whose pages are planned. */
  private nextPart(queue: Queue, record: LaunchRecord): void {
    if (record.plan === null) this.hand(queue, record, record.operation);
    else record.plan.next((part) => this.hand(queue, record, part));
  }

  private hand(queue: Queue, record: LaunchRecord, part: LaunchPart): void {
    const { device } = queue;
    if (queue.records[0] !== record) return;
    if (isGone(device, record)) record.failure ??= lostError(device, record, device.reason);
    if (record.failure !== null || record.ending !== null) {
      this.finish(queue, record);
      return;
    }
    const again = (): void => this.context.later(() => this.hand(queue, record, part));
    const parameters = this.parts.mapped.parametersOf(device, record.operation.parameters, again);
    if (parameters === null) return;
    record.inDriver = true;
    const { begin, end } = part;
    const { kernelName, code, size } = record.operation;
    if (begin === record.operation.begin && record.part === 0) countLaunch(device, record);
    if (code.kind !== 'wgsl')
      device.driver.launch?.({ id: record.id, kernelName, parameters, begin, end, size, code });
    else this.handWgsl(device, record, code, parameters);
    record.plan?.prepare();
    this.bringNext(queue);
  }

  private bringNext({ device, records }: Queue): void {
    const [running] = records;
    if (!running.inDriver) return;
    const next = records[togetherWith(running).length];
    if (next !== undefined) this.parts.next.bring(device, running, next);
  }

  private handWgsl(
    device: Device,
    record: LaunchRecord,
    code: WgslCode,
    parameters: readonly LaunchParameter[],
  ): void {
    const cut = record.division?.partAt(record.part, record.supply?.offset ?? 0);
    if (cut !== undefined) device.launchParts++;
    const first = { ...wgslLaunchOf(record, code), parameters, ...cut };
    const others = record.joined?.records ?? [];
    device.process?.launchWgsl?.([
      first,
      ...others.map((each) => this.joinedLaunch(device, record, each)),
    ]);
  }

  private joinedLaunch(device: Device, first: LaunchRecord, record: LaunchRecord): WgslLaunch {
    record.begun = true;
    record.inDriver = true;
    countLaunch(device, record);
    device.joinedLaunches++;
    const zeroed = first.joined?.zeroed.get(record) ?? [];
    return { ...wgslLaunchOf(record, record.operation.code as WgslCode), zeroed };
  }

  private finish(queue: Queue, record: LaunchRecord): void {
    if (queue.records[0] !== record) return;
    // Those that have not reached the driver with it begin by themselves.
    const together = record.inDriver ? togetherWith(record) : [record];
    queue.records.splice(0, together.length);
    record.plan?.close();
    this.context.manager.launchEnd(record.id);
    record.supply?.close();
    if (record.division !== null) queue.device.process?.over?.();
    for (const each of together) {
      this.countUse(each.operation, -1);
      this.context.requests.forget(each.id);
    }
    if (record.sharing !== null) record.failure = record.sharing.end(record.failure);
    queue.isTelling = true;
    for (const each of together) {
      const { gpuMs } = each;
      each.done(failureOf(queue.device, each), gpuMs === undefined ? {} : { gpuMs });
    }
    queue.isTelling = false;
    this.parts.arrays.recycleAll();
    // Streams may have handed in their next launches.
    const [next] = queue.records;
    if (next !== undefined) this.begin(queue, next);
    else for (const action of queue.onIdle.splice(0)) this.context.later(action);
  }
}

/** The launches that go to the device together. */
function togetherWith(record: LaunchRecord): LaunchRecord[] {
  return [record, ...(record.joined?.records ?? [])];
}

/** The arguments of all of them. */
function parametersOf({ joined, operation }: LaunchRecord): readonly LaunchParameter[] {
  return joined?.parameters ?? operation.parameters;
}

function wgslLaunchOf({ id, operation }: LaunchRecord, code: WgslCode): WgslLaunch {
  const { kernelName, parameters, begin, end, size, dimensions } = operation;
  return {
    id,
    kernelName,
    parameters,
    begin,
    end,
    size,
    code,
    ...(dimensions === undefined ? {} : { dimensions }),
  };
}

function countLaunch(device: Device, { division }: LaunchRecord): void {
  device.launched++;
  if (division?.way === 'windowed') device.windowedLaunches++;
  else if (division?.way === 'paged') device.pagedLaunches++;
}

/**
 * A launch of which a part has run goes on where others would not begin: on a device that is being
 * detached.
 */
function isGone(device: Device, { part }: LaunchRecord): boolean {
  return part > 0 ? device.lost : !device.alive;
}

function moduleKey(code: Extract<KernelCode, { kind: 'module' }>): string {
  return `${code.exportName} ${code.url}`;
}
