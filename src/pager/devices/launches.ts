/** Launches of devices: their order, the stages of each, and what follows the end. */

import { getOrMake } from '../../core/basics/get-or-make.js';
import { Access, type DenyReason } from '../../core/basics/types.js';
import type { Range } from '../../core/table/range.js';
import type { LaunchFailure } from '../../drivers/driver.js';
import type { WantedFor } from '../../drivers/wgsl-launch.js';
import type { Arrays } from '../arrays/arrays.js';
import type { SharedUses } from '../arrays/shared/shared-uses.js';
import type { SpaceContext } from '../arrays/table/context.js';
import type { Part } from '../core/part.js';
import type { StoppedThreads } from '../host/stopped-threads.js';
import type { OperationDone } from '../protocol/operations.js';
import { wireError } from '../protocol/wire.js';
import type { Device } from './device.js';
import type { GatherPlans } from './gather-plans.js';
import {
  countUse,
  failureOf,
  isWhole,
  Launch,
  type LaunchOperation,
  LaunchQueue,
  lostError,
  messageOf,
} from './launch.js';
import { argumentsOf } from './launch-arguments.js';
import { LaunchChecks } from './launch-checks.js';
import { LaunchEndings } from './launch-endings.js';
import type { LaunchPlans } from './launch-plans.js';
import type { MappedFiles } from './mapped-files.js';
import { NextLaunch } from './next-launch.js';
import { bytesOf, type PageRun } from './page-supply.js';
import { Arranging, Edges } from './stages/arranging.js';
import { Bringing } from './stages/bringing.js';
import { Division } from './stages/division.js';
import { Emptying } from './stages/emptying.js';
import { Gathering, Mapping, Planning } from './stages/gathering.js';
import { JoinedLaunches } from './stages/joined-launches.js';
import { KernelModules } from './stages/kernel-modules.js';
import { OtherMachines } from './stages/other-machines.js';
import { Running } from './stages/running.js';
import { Size } from './stages/size.js';
import { Course } from './stages/stage.js';

export interface LaunchParts {
  readonly arrays: Arrays;
  readonly sharedUses: SharedUses;
  readonly stopped: StoppedThreads;
  readonly plans: LaunchPlans;
  readonly gathers: GatherPlans;
  readonly mapped: MappedFiles;
}

export class Launches implements Part {
  /** How they are ended before their time. */
  readonly endings: LaunchEndings;
  /** Of kernels that run in this thread. */
  readonly modules: KernelModules;
  private readonly queues = new Map<Device, LaunchQueue>();
  private readonly course: Course;
  private readonly bringing: Bringing;
  private readonly gathering = new Gathering();
  private readonly running: Running;

  constructor(
    private readonly context: SpaceContext,
    private readonly parts: LaunchParts,
  ) {
    const { arrays, sharedUses, stopped, plans, gathers, mapped } = parts;
    const { places, now } = context;
    const finish = (launch: Launch): void => this.finish(launch);
    const checks = new LaunchChecks(context);
    this.modules = new KernelModules(context.loading);
    this.endings = new LaunchEndings(this.queues, places, stopped, now, finish);
    this.bringing = new Bringing(context, checks);
    this.running = new Running(new NextLaunch(context, checks, sharedUses));
    this.course = new Course(
      [
        new OtherMachines(context, sharedUses),
        new Size(context, checks, arrays),
        new Division(context, checks, plans, arrays),
        new JoinedLaunches(context, checks, sharedUses),
        new Arranging(context),
        new Edges(context, checks),
        new Emptying(context),
        this.bringing,
        this.modules,
        new Planning(gathers, mapped),
        this.gathering,
        new Mapping(context, mapped),
        this.running,
      ],
      finish,
    );
  }

  add(device: Device, operation: LaunchOperation, done: OperationDone): void {
    const queue = this.queueOf(device);
    const launch = new Launch(queue, this.context.requests.reserve(), operation, done);
    queue.launches.push(launch);
    countUse(this.parts.arrays, operation, 1);
    if (queue.launches.length === 1 && !queue.isTelling) this.begin(launch);
    else this.running.bringNext(queue);
  }

  /** A launch will be given when those of its stream before it have ended: its device hears early. */
  wait(device: Device, operation: LaunchOperation): void {
    // A part of a kernel's work items does not tell which pages it uses of its arguments.
    if (!isWhole(operation)) return;
    const { parameters, kernelName } = operation;
    const args = argumentsOf(parameters, this.context.table);
    this.context.manager.launchWaits(device.info.id, args, kernelName);
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
    return device?.process?.wgsl?.launchesAtOnce ?? 1;
  }

  /**
   * Takes a launch out of its device's queue: true if it had not begun and will not. One whose turn
   * has come is ended instead, if its device can do that, and then fails.
   */
  cancel({ device: number, stream, sequence }: LaunchOperation, reason: string): boolean {
    for (const { device, launches } of this.queues.values()) {
      if (device.info.number !== number) continue;
      const index = launches.findIndex(
        ({ operation }) => operation.stream === stream && operation.sequence === sequence,
      );
      if (index === 0) this.endings.stop(launches[0], { code: 'ABORTED', reason });
      if (index < 1) continue;
      if (launches[0].together.includes(launches[index])) return false;
      countUse(this.parts.arrays, launches.splice(index, 1)[0].operation, -1);
      this.parts.arrays.recycleAll();
      return true;
    }
    return false;
  }

  /** Calls `action` when the device has no launch any more: at once if it has none. */
  whenIdle(device: Device, action: () => void): void {
    const queue = this.queueOf(device);
    if (queue.launches.length === 0) action();
    else queue.onIdle.push(action);
  }

  driverEnded(device: Device, id: number, failure: LaunchFailure | null, gpuMs?: number): void {
    const [first] = this.queueOf(device).launches;
    const together = first?.together ?? [];
    const launch = together.find((each) => each.id === id);
    if (launch === undefined) return;
    if (gpuMs !== undefined) {
      launch.gpuMs = (launch.gpuMs ?? 0) + gpuMs;
      device.figures.gpuMs = (device.figures.gpuMs ?? 0) + gpuMs;
    }
    if (failure !== null) launch.fail(failedBy(launch, failure));
    else if (this.goesOn(launch)) return;
    if (launch === together[together.length - 1]) this.finish(first);
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
    const [launch] = this.queueOf(device).launches;
    if (launch?.id !== id || launch.work.kind === 'whole' || launch.work.supply === null) return;
    if (wantedFor === 'plan') device.figures.plannedRounds++;
    const isDevice = wantedFor === 'device' || wantedFor === 'plan';
    if (isDevice) device.figures.launchRounds++;
    // A device that is being detached runs what it has begun.
    if (launch.failure !== null || launch.ending !== null || device.lost) {
      device.process?.wgsl?.supply(id, false);
      return;
    }
    const access = isHome ? Access.Write : Access.Read;
    launch.work.supply.bring(wanted, access, atOnce, (failure, page) => {
      if (failure !== null)
        launch.fail(this.context.places.denialError(failure, page, launch.kernel, isHome));
      else if (isHome) device.figures.pagedHomeBytes += bytesOf(wanted);
      else if (isDevice) device.figures.pagedBytes += bytesOf(wanted);
      device.process?.wgsl?.supply(id, failure === null);
    });
  }

  /** An access of the device was denied: the launch that runs has done it. */
  denied(device: Device, page: number, write: boolean, reason: DenyReason): void {
    const [launch] = this.queueOf(device).launches;
    if (launch === undefined) return;
    launch.fail(this.context.places.denialError(reason, page, launch.kernel, write));
    if (reason !== 'FREED') return;
    const { freedPages, pages } = this.context.manager.pages.rangeOf(page) as Range;
    // Each page of an array that is no more would be denied by itself, and what the kernel makes of
    // zeros is of no use.
    if (freedPages === pages) this.endings.stop(launch, { code: 'USE_AFTER_FREE' });
  }

  /** The device died: a launch that had not reached its driver hears of it here. */
  lost(device: Device): void {
    const [launch] = this.queueOf(device).launches;
    if (launch === undefined || launch.isHandedOver) return;
    launch.fail(lostError(device, launch, device.reason));
    if (launch.state === 'doomed' || launch.sharedUse?.isWaiting === true) this.finish(launch);
  }

  /** Ends whatever the device still has to do. */
  endAll(device: Device, why: string): void {
    const { launches } = this.queueOf(device);
    while (launches.length > 0) {
      const [first] = launches;
      for (const each of first.together)
        if (each.state !== 'completed') each.fail(lostError(device, each, why));
      this.finish(first);
    }
    this.queues.delete(device);
    this.parts.mapped.drop(device);
  }

  private queueOf(device: Device): LaunchQueue {
    return getOrMake(this.queues, device, () => new LaunchQueue(device));
  }

  private begin(launch: Launch): void {
    const { device } = launch;
    this.endings.limit(launch);
    // A program that hears that a device is lost finds its pages lost, too: the news waits until
    // the core has it.
    if (device.alive && device.ending) launch.state = 'doomed';
    else this.course.go(launch);
  }

  /** Takes a launch of which a part has run to the next one. False: there is none, or it has failed. */
  private goesOn(launch: Launch): boolean {
    const { work, failure, ending } = launch;
    if (work.kind === 'parts' && failure === null && ++work.part < work.division.count) {
      launch.state = 'begun';
      this.context.manager.launchEnd(launch.id);
      this.course.go(launch, this.bringing);
      return true;
    }
    if (work.kind === 'parts' || work.plan === null || work.plan.over) {
      launch.state = 'completed';
      return false;
    }
    if (failure !== null || ending !== null) return false;
    launch.state = 'begun';
    this.course.go(launch, this.gathering);
    return true;
  }

  private finish(launch: Launch): void {
    if (!launch.isFirst) return;
    const { queue, device, work } = launch;
    // Those that have not reached the driver with it begin by themselves.
    const together = launch.isHandedOver ? launch.together : [launch];
    queue.launches.splice(0, together.length);
    if (work.kind === 'whole') work.plan?.close();
    this.context.manager.launchEnd(launch.id);
    if (work.kind === 'parts') {
      work.supply?.close();
      device.process?.wgsl?.over();
    }
    for (const each of together) {
      countUse(this.parts.arrays, each.operation, -1);
      this.context.requests.forget(each.id);
    }
    if (launch.sharedUse !== null) launch.failure = launch.sharedUse.end(launch.failure);
    queue.isTelling = true;
    for (const each of together) {
      const { gpuMs } = each;
      each.done(failureOf(device, each), gpuMs === undefined ? {} : { gpuMs });
    }
    queue.isTelling = false;
    this.parts.arrays.recycleAll();
    // Streams may have handed in their next launches.
    const [next] = queue.launches;
    if (next !== undefined) this.begin(next);
    else for (const action of queue.onIdle.splice(0)) this.context.later(action);
  }
}

function failedBy(launch: Launch, failure: LaunchFailure) {
  const { kernelName } = launch.operation;
  return failure.code === 'DEVICE_LOST'
    ? lostError(launch.device, launch, failure.message, failure.code)
    : wireError(
        failure.code,
        messageOf(failure, kernelName),
        { kernel: kernelName },
        failure.stack,
      );
}
