/**
 * The parts that the manager consists of, room by room, each made of those before it. What must be
 * known the other way is said: the core's words wait in `Deferred`, and a range is filled by what
 * has put itself down in `Sources`.
 */

import { availableParallelism } from 'node:os';
import { HOST, HOST_NODE, isOwner, type NodeId, PAGE_BYTES } from '../../core/basics/types.js';
import type { Policies } from '../../core/table/processors.js';
import { usesHostMemory } from '../../core/table/state.js';
import { KeptThread } from '../../cpus/kept-thread.js';
import { NearDisk } from '../../cpus/near-disk.js';
import type { SeparatedThreads } from '../../cpus/separate-cpu.js';
import { COPY_THREADS, CopyThreads } from '../../drivers/copies/copy-threads.js';
import type { DescriptorReserve } from '../../linux/files/descriptor-reserve.js';
import { copyMemory, fillMemory } from '../../linux/memory/memory.js';
import { ArrayAdvice } from '../arrays/advice.js';
import { Arrays } from '../arrays/arrays.js';
import { ClonedArrays } from '../arrays/cloned-arrays.js';
import { Clones } from '../arrays/clones/clones.js';
import { KeptPages } from '../arrays/clones/kept-pages.js';
import { HostDenials } from '../arrays/host-denials.js';
import { Guards } from '../arrays/modules/guards.js';
import { Notifiers } from '../arrays/modules/notifiers.js';
import { Pins } from '../arrays/pins.js';
import { Resizing } from '../arrays/resizing.js';
import { Rights } from '../arrays/rights.js';
import { Commitment } from '../arrays/room/commitment.js';
import { HostBudget } from '../arrays/room/host-budget.js';
import { HostBudgetFollower } from '../arrays/room/host-budget-follower.js';
import { Quotas } from '../arrays/room/quotas.js';
import { SharedArrays } from '../arrays/shared/shared-arrays.js';
import { SharedUses } from '../arrays/shared/shared-uses.js';
import { StagedMemory } from '../arrays/staged-memory.js';
import { ArrayTable } from '../arrays/table/array-table.js';
import type { SpaceContext } from '../arrays/table/context.js';
import { readHostBytes } from '../arrays/table/host-bytes.js';
import { Overviews } from '../arrays/table/overviews.js';
import { PageReports } from '../arrays/table/page-reports.js';
import { Places } from '../arrays/table/places.js';
import { Uses } from '../arrays/uses.js';
import { ATTACHED_SLOTS, Attachments } from '../attached/attachments.js';
import { type ManagerContext, openContext } from '../core/context.js';
import type { CoreListener } from '../core/deferred.js';
import type { Part } from '../core/part.js';
import { DevicePolls, pollerSlots } from '../devices/device-polls.js';
import { Devices } from '../devices/devices.js';
import { DriverMaker } from '../devices/drivers.js';
import { GatherPlans } from '../devices/gather-plans.js';
import { LaunchEstimates } from '../devices/launch-estimates.js';
import { LaunchPlans } from '../devices/launch-plans.js';
import { Launches } from '../devices/launches.js';
import { MappedFiles } from '../devices/mapped-files.js';
import { openHost } from '../host/host.js';
import { Poison } from '../host/poison.js';
import { RoomWait } from '../host/room-wait.js';
import { StoppedThreads } from '../host/stopped-threads.js';
import { Stores } from '../host/stores.js';
import { Control } from '../protocol/control.js';
import type { ManagerOptions } from '../protocol/space.js';
import { ThreadTransport } from '../protocol/threads.js';
import { codeOfDenial } from '../protocol/wire.js';
import { FileProvider } from '../sources/files.js';
import { IoEngine } from '../sources/io-ring.js';
import { Pipes } from '../sources/pipes.js';
import { Providers } from '../sources/providers.js';
import { Operations } from '../streams/operations.js';
import { Streams } from '../streams/streams.js';
import { ByteMoves } from '../transfers/byte-moves.js';
import { Copies } from '../transfers/copies.js';
import { FileTransfers } from '../transfers/file-transfers.js';
import { Freeing } from '../transfers/freeing.js';
import { MappedReads } from '../transfers/mapped-reads.js';
import { Prefetches } from '../transfers/prefetches.js';
import { WriteBack } from '../transfers/write-back.js';
import { Clients } from './clients.js';
import { FaultReads } from './fault-reads.js';
import { Movement } from './movement.js';
import { ThreadBindings } from './thread-bindings.js';
import { TimeSlice } from './time-slice.js';

/**
 * Slots of the poller: what wakes the manager, the host's faults, pressure on the machine's memory,
 * and what devices and other processes have.
 */
export const WAKE_SLOT = 0;
export const HOST_SLOT = 1;
const PRESSURE_SLOT = 2;
const FIRST_DEVICE_SLOT = 3;
const FIRST_ATTACHED_SLOT = pollerSlots(FIRST_DEVICE_SLOT);

export type Parts = ReturnType<typeof makeParts>;

/** @param say has a message written on standard error; returns its ticket */
export function makeParts(
  options: ManagerOptions,
  policies: Policies,
  say: (text: string) => number,
  reserve: DescriptorReserve,
) {
  const core = openContext(options, policies, FIRST_ATTACHED_SLOT + ATTACHED_SLOTS, say);
  const sources = makeSources(core, reserve);
  const host = makeHost(core, sources, reserve);
  const context: SpaceContext = { ...core, ...host.space };
  const clients = makeClients(context, sources, host);
  const arrays = makeArrays(context, { ...sources, ...host, ...clients });
  const devices = makeDevices(context, { ...sources, ...host, ...arrays });
  const made = { ...context, ...sources, ...host, ...clients, ...arrays, ...devices };
  const transfers = makeTransfers(context, made);
  const parts = { reserve, ...made, ...transfers };
  return { ...parts, ...listOf(parts), handleDeferred: deferredHandling(parts) };
}

/** Loads a module of the program's. */
function load(url: string): Promise<Record<string, unknown>> {
  return import(url) as Promise<Record<string, unknown>>;
}

/** Threads that copy, and those that bring content which was never written. */
function makeSources(context: ManagerContext, reserve: DescriptorReserve) {
  const { options, control, now } = context;
  const surroundings = {
    wakeFd: options.wakeFd,
    control: options.control,
    awake: Control.Awake,
    starting: Control.StartingThreads,
    failingCalls: Control.FailingCalls,
    ends: options.crash === 'copies',
  };
  const newEngine = (folder?: string, kept?: DescriptorReserve): IoEngine =>
    new IoEngine(options.wakeFd, options.control, now, undefined, folder, { reserve: kept });
  /** It has a thread even without descriptors, and then does others' jobs as well. */
  const engine = newEngine(options.storage?.path, reserve);
  const clients = new Clients(control);
  return {
    copyThreads: new CopyThreads(surroundings, now, process.env[COPY_THREADS]),
    engine,
    pipes: new Pipes(newEngine),
    files: new FileProvider(context, engine),
    clients,
    providers: new Providers(context, clients),
  };
}

/** The host, and what is behind it. */
function makeHost(
  context: ManagerContext,
  { engine, files, providers, copyThreads }: ReturnType<typeof makeSources>,
  reserve: DescriptorReserve,
) {
  const { options, manager, poller, now } = context;
  const { pages } = manager;
  const stopped = new StoppedThreads(pages, now);
  const bindings = new ThreadBindings(now);
  const nearDisk = new NearDisk(bindings, new KeptThread(), options.storage?.path ?? null);
  const faulted = (thread: number): void => nearDisk.faulted(thread);
  const table = new ArrayTable(pages);
  const guards = new Guards(manager, context.requests, table, load, context.loading);
  const objection = (page: number, write: boolean) => guards.objection(HOST, page, write);
  const host = openHost(context, providers, objection, stopped, faulted, copyThreads.out);
  poller.set(WAKE_SLOT, options.wakeFd);
  poller.set(HOST_SLOT, host.faults.fd);
  const stores = new Stores(context, { reserve, other: engine });
  const poison = new Poison(context, host);
  const places = new Places(context, table, files, providers, stores, host.node.base);
  const { restore } = poison;
  const space = { memory: host.memory, table, places, restore };
  return { stopped, bindings, nearDisk, guards, host, stores, poison, space };
}

/** Who asks: threads of this process, and of others. */
function makeClients(
  context: SpaceContext,
  { clients }: ReturnType<typeof makeSources>,
  { host, guards }: ReturnType<typeof makeHost>,
) {
  const attachments = new Attachments(context, host, guards, FIRST_ATTACHED_SLOT);
  clients.acceptFrom(new ThreadTransport(context.options.name));
  clients.acceptFrom(attachments);
  const overviews = new Overviews(context.manager.pages, context.table, attachments);
  return { attachments, overviews };
}

type BeforeArrays = ReturnType<typeof makeSources> & ReturnType<typeof makeHost>;

function makeArrays(
  context: SpaceContext,
  { files, providers, clients, guards, stores, poison }: BeforeArrays,
) {
  const { options, manager, requests, sources, deferred, poller, places } = context;
  const { now, wall, later, warn, say } = context;
  const { pages } = manager;
  const commitment = new Commitment(manager, stores.any);
  const kept = new KeptPages(manager, requests, ({ first, end, reason }) => {
    const { text } = places.placeOf(first);
    const why = places.explain(reason, first);
    warn(
      `warning: ${end - first} pages that were freed, from ${text} on, stay until their clones can be given copies: ${why}`,
    );
  });
  const staged = new StagedMemory(context);
  const tellFreed = (range: number): void => {
    staged.freed(range);
    clients.tellFreed(range);
  };
  const sharedArrays = new SharedArrays(context);
  const quotas = new Quotas(context.table);
  const room = { commitment, quotas, kept };
  const arrays = new Arrays(context, room, files, providers, sharedArrays, tellFreed);
  const pins = new Pins(context, arrays, commitment);
  const hostBudget = new HostBudget(manager, commitment, () => pins.pinnedBytes, now);
  const follow = options.followMemory;
  const follower = new HostBudgetFollower(hostBudget, follow, poller, PRESSURE_SLOT, wall);
  const clones = makeClones(context);
  const clonedArrays = new ClonedArrays(arrays, guards, places, clones, sources);
  const notifiers = new Notifiers({
    range: (id) => manager.range(id),
    rangeOfPage: (page) => pages.rangeOf(page),
    watch: (range, by) => manager.watch(range, by),
    nameOf: (id) => manager.processor(id)?.description.name ?? `processor ${id}`,
    isOfHost: (id) => {
      const processor = manager.processor(id);
      return processor !== undefined && usesHostMemory(processor);
    },
    load,
    loading: context.loading,
    threadExists: clients.threadExists,
    warn,
    now: wall,
  });
  deferred.announceTo(notifiers);
  return {
    kept,
    staged,
    /** Pins, and holds of staging arrays, share their numbers. */
    endPin: (pin: number): void => {
      pins.unpin(pin);
      staged.end(pin);
    },
    quotas,
    sharedArrays,
    arrays,
    pins,
    hostBudget,
    follower,
    clones,
    clonedArrays,
    notifiers,
    advice: new ArrayAdvice(manager, arrays),
    uses: new Uses(arrays, guards),
    sharedUses: new SharedUses(sharedArrays, places, later),
    rights: new Rights(context, arrays, files),
    reports: new PageReports(pages, places, sources),
    roomWait: new RoomWait(manager, now),
    resizing: new Resizing(context, arrays, room, clonedArrays, pins, notifiers, guards),
    hostDenials: new HostDenials(places, poison, say),
  };
}

function makeClones({ manager, requests, router, memory, places, later, warn }: SpaceContext) {
  return new Clones(
    manager,
    requests,
    {
      pageBytes: PAGE_BYTES,
      copy: (page, count, target) =>
        copyMemory(target, memory + page * PAGE_BYTES, count * PAGE_BYTES),
      zero: (count, target) => fillMemory(target, 0, count * PAGE_BYTES),
    },
    (token, status) => router.completed(token, status),
    later,
    (page, reason, first) => {
      // Of thousands of pages one line says enough.
      if (!first) return;
      const place = places.placeOf(page).text;
      warn(
        `warning: pages of a clone could not be copied (${codeOfDenial(reason)}) and are lost, the first in ${place}`,
      );
    },
  );
}

type BeforeDevices = BeforeArrays & ReturnType<typeof makeArrays>;

function makeDevices(context: SpaceContext, before: BeforeDevices) {
  const { options, poller, memory, warn } = context;
  const { files, host, copyThreads, arrays, sharedUses, notifiers, bindings } = before;
  const gathers = new GatherPlans(context);
  const plans = new LaunchPlans(context.now, (wanted, done) =>
    readHostBytes(context, wanted, (content) => done(content)),
  );
  const launches = new Launches(context, {
    arrays,
    sharedUses,
    stopped: before.stopped,
    plans,
    gathers,
    mapped: new MappedFiles(files),
  });
  const polls = new DevicePolls(poller, FIRST_DEVICE_SLOT);
  const { base, fd: hostMemory } = host.node;
  const space = { base, bytes: options.bytes, hostMemory, hostAddress: memory, host };
  const maker = new DriverMaker(space, launches.modules.kernelOf, warn, copyThreads.in);
  const separated: SeparatedThreads = { count: 0, most: availableParallelism() - 1 };
  const devices = new Devices(context, launches, notifiers, maker, polls, separated, bindings);
  const estimates = new LaunchEstimates(context, {
    devices,
    plans,
    sharedUses,
    uses: before.uses,
  });
  return { gathers, plans, launches, polls, devices, estimates };
}

type BeforeTransfers = BeforeDevices & ReturnType<typeof makeDevices>;

/** Content that moves because a program says so, and streams, which say when. */
function makeTransfers(context: SpaceContext, before: BeforeTransfers) {
  const { memory, say, wall } = context;
  const { arrays, files, engine, pipes, devices, uses } = before;
  const memoryOf = (node: NodeId): number => (node === HOST_NODE ? memory : devices.memoryOf(node));
  const prefetches = new Prefetches(context, devices);
  const copies = new Copies(context, arrays, memoryOf, prefetches);
  const mappedReads = new MappedReads(files, engine);
  const writeBack = new WriteBack(context, files, engine);
  const { pins, notifiers, guards, sharedArrays } = before;
  const freeing = new Freeing(arrays, pins, notifiers, guards, writeBack, sharedArrays, say);
  const operations = new Operations({ ...before, prefetches, copies, freeing });
  const streamSlice = new TimeSlice(wall);
  const streams = new Streams({
    given: (operation, waits) => {
      uses.begin(operation);
      if (waits && operation.kind === 'launch') operations.wait(operation);
    },
    over: (operation) => uses.end(operation),
    execute: (operation, done) => operations.execute(operation, done),
    withdraw: (operation, reason) => operations.withdraw(operation, reason),
    mostTogether: (operation, next) => operations.mostTogether(operation, next),
    threadExists: before.clients.threadExists,
    now: wall,
    mayBegin: () => streamSlice.take(),
  });
  return {
    copies,
    byteMoves: new ByteMoves(context, mappedReads),
    fileTransfers: new FileTransfers(context, engine, pipes, mappedReads),
    writeBack,
    freeing,
    streamSlice,
    streams,
  };
}

type AllParts = { reserve: DescriptorReserve } & SpaceContext &
  BeforeTransfers &
  ReturnType<typeof makeClients> &
  ReturnType<typeof makeTransfers>;

/**
 * What the loop looks after, in this order: before a fault is read, what has room again is told;
 * after it, what threads wait for comes first.
 */
function listOf(parts: AllParts) {
  const { manager, router, recording, moveRecords, clients, attachments } = parts;
  const { copyThreads, polls, host } = parts;
  const faultReads = new FaultReads({ host, polls, attachments });
  const processes: Part = {
    hear: () => {
      if (attachments.any) attachments.poll();
    },
    look: (nowMs) => {
      if (attachments.any) attachments.lookForIdle(nowMs);
    },
    flush: () => {
      if (attachments.any && attachments.prepare()) clients.lookForEnded();
    },
  };
  const all: readonly Part[] = [
    parts.reserve,
    parts.stores,
    parts.files,
    faultReads,
    copyThreads,
    new Movement({ manager, router }, copyThreads, polls),
    parts.copies,
    parts.gathers,
    parts.plans,
    parts.pins,
    parts.staged,
    parts.providers,
    parts.engine,
    parts.pipes,
    parts.sharedArrays,
    parts.bindings,
    parts.nearDisk,
    parts.follower,
    parts.hostBudget,
    parts.roomWait,
    parts.kept,
    parts.poison,
    parts.launches,
    parts.loading,
    parts.devices,
    polls,
    parts.streams,
    parts.notifiers,
    processes,
    { idle: () => recording?.flush() },
    moveRecords,
  ];
  return { all, faultReads };
}

/** Handles what the core and the drivers said, until they say no more. */
function deferredHandling(parts: AllParts): () => void {
  const { options, manager, deferred } = parts;
  const { devices, arrays, attachments, notifiers, clones, sharedArrays, hostDenials, freeing } =
    parts;
  const listener: CoreListener = {
    denied: (access) => {
      const { processor, page, reason } = access;
      if (isOwner(processor)) hostDenials.denied(access);
      else if (!attachments.denied(processor, page, reason)) devices.denied(access);
    },
    drained: (processor) => {
      const pid = attachments.drained(processor);
      if (pid === null) devices.drained(processor);
      else {
        notifiers.forgetProcessor(processor);
        arrays.processEnded(pid);
      }
      manager.endHeard(processor);
    },
    breakCopyOnWrite: (page, count, lastChance) => clones.breakCopyOnWrite(page, count, lastChance),
    wanted: (page, write) => sharedArrays.wanted(page, write),
    objected: (page, write, thread, why) => hostDenials.objected(page, write, thread, why),
  };
  return () => {
    do deferred.handleAll(listener);
    while (freeing.freeAbandoned());
    if (options.checkInvariants) manager.checkInvariants();
  };
}
