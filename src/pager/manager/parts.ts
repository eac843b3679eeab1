/**
 * The parts that the manager consists of, each made of those before it. What must be known the
 * other way is said: the core's words wait in `Deferred`, and a range is filled by what has put
 * itself down in `Sources`.
 */

import { availableParallelism } from 'node:os';
import type { Policies } from '../../core/state.js';
import { HOST, HOST_NODE, type NodeId, PAGE_BYTES } from '../../core/types.js';
import { COPY_THREADS, CopyThreads } from '../../drivers/copies/copy-threads.js';
import type { DescriptorReserve } from '../../linux/descriptor-reserve.js';
import { copyMemory, fillMemory } from '../../linux/memory.js';
import { Poller } from '../../linux/poll.js';
import { ArrayAdvice } from '../arrays/advice.js';
import { ArrayTable } from '../arrays/array-table.js';
import { Arrays } from '../arrays/arrays.js';
import { Clones } from '../arrays/clones.js';
import { Cloning } from '../arrays/cloning.js';
import { Commitment } from '../arrays/commitment.js';
import { HostBudget } from '../arrays/host-budget.js';
import { HostBudgetFollower } from '../arrays/host-budget-follower.js';
import { HostDenials } from '../arrays/host-denials.js';
import { KeptPages } from '../arrays/kept-pages.js';
import { Notifiers } from '../arrays/notifiers.js';
import { Overviews } from '../arrays/overviews.js';
import { PageReports } from '../arrays/page-reports.js';
import { Pins } from '../arrays/pins.js';
import { Places } from '../arrays/places.js';
import { Resizing } from '../arrays/resizing.js';
import { Rights } from '../arrays/rights.js';
import { SharedArrays } from '../arrays/shared-arrays.js';
import { SharedUses } from '../arrays/shared-uses.js';
import { Uses } from '../arrays/uses.js';
import { ATTACHED_SLOTS, Attachments } from '../attached/attachments.js';
import { openCore } from '../core/core.js';
import { CoreRequests } from '../core/core-requests.js';
import { type CoreListener, Deferred } from '../core/deferred.js';
import type { KeptApart } from '../devices/apart.js';
import { DevicePolls, pollerSlots } from '../devices/device-polls.js';
import { Devices } from '../devices/devices.js';
import { DriverMaker } from '../devices/drivers.js';
import { GatherPlans } from '../devices/gather-plans.js';
import { JoinedLaunches } from '../devices/joined-launches.js';
import { EdgeClearing } from '../devices/launch-arguments.js';
import { LaunchChecks } from '../devices/launch-checks.js';
import { LaunchSizes } from '../devices/launch-sizes.js';
import { Launches } from '../devices/launches.js';
import { MappedFiles } from '../devices/mapped-files.js';
import { NextLaunch } from '../devices/next-launch.js';
import { PageSupplies } from '../devices/page-supply.js';
import { openHost } from '../host/host.js';
import { Patience } from '../host/patience.js';
import { Poison } from '../host/poison.js';
import { StoppedThreads } from '../host/stopped-threads.js';
import { Stores } from '../host/stores.js';
import { Control } from '../protocol/control.js';
import { type ManagerOptions, storeNames } from '../protocol/space.js';
import { ThreadTransport } from '../protocol/threads.js';
import { codeOfDenial } from '../protocol/wire.js';
import { FileProvider } from '../sources/files.js';
import { IoEngine } from '../sources/io-ring.js';
import { Pipes } from '../sources/pipes.js';
import { Providers } from '../sources/providers.js';
import { Sources } from '../sources/sources.js';
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
import { KeptThread } from './kept-thread.js';
import { NearDisk } from './near-disk.js';
import { RunningClock } from './running-clock.js';
import { Share } from './share.js';
import { ThreadBindings } from './thread-bindings.js';

/**
 * Slots of the poller: what wakes the manager, the host's faults, pressure on the machine's memory,
 * and what devices have.
 */
export const WAKE_SLOT = 0;
export const HOST_SLOT = 1;
const PRESSURE_SLOT = 2;
const FIRST_DEVICE_SLOT = 3;

const wall = (): number => performance.now();

export type Parts = ReturnType<typeof makeParts>;

/** @param say has a message written on standard error; returns its ticket */
export function makeParts(
  options: ManagerOptions,
  policies: Policies,
  say: (text: string) => number,
  reserve: DescriptorReserve,
) {
  const control = new Int32Array(options.control);
  const warn = (message: string): void => void say(`onemem: ${message}\n`);
  const clock = new RunningClock(wall);
  /** For all limits of time. */
  const now = (): number => clock.now();
  const poller = new Poller(pollerSlots(FIRST_DEVICE_SLOT) + ATTACHED_SLOTS);

  // The core, and what it says and asks.
  const requests = new CoreRequests();
  const deferred = new Deferred(requests);
  const { later } = deferred;
  const sources = new Sources();
  const core = openCore(options, policies, deferred, sources, warn);
  const { manager, router, recording, recordings } = core;
  const { pages } = manager;
  const completed = router.completed.bind(router);

  // Threads that copy, where there are CPUs for them.
  const ends = options.crash === 'copies';
  const surroundings = {
    wakeFd: options.wakeFd,
    control: options.control,
    awake: Control.Awake,
    starting: Control.StartingThreads,
    failingCalls: Control.FailingCalls,
    ends,
  };
  const keptApart: KeptApart = { count: 0, most: availableParallelism() - 1 };
  const copyThreads = new CopyThreads(surroundings, now, process.env[COPY_THREADS]);

  // Sources of content.
  /**
   * It has a thread also where the process has no descriptors left, and then does the jobs of
   * others besides.
   */
  const engine = new IoEngine(
    options.wakeFd,
    options.control,
    now,
    undefined,
    options.storage?.path,
    { reserve },
  );
  const pipes = new Pipes(() => new IoEngine(options.wakeFd, options.control, now));
  const files = new FileProvider(engine, manager, completed, sources, now, later, warn);
  const providers = new Providers(
    options.wakeFd,
    control,
    completed,
    sources,
    pages,
    now,
    (thread) => clients.has(thread),
  );

  // The host, and what is behind it.
  const stopped = new StoppedThreads(pages, now);
  const bindings = new ThreadBindings(now);
  const nearDisk = new NearDisk(bindings, new KeptThread(), options.storage?.path ?? null);
  const faulted = (thread: number): void => nearDisk.faulted(thread);
  const host = openHost(options, core, providers, deferred, stopped, faulted, copyThreads.out);
  const stores = new Stores(options, core, now, warn, { reserve, other: engine });
  const { memory } = host;
  const { base } = host.node;
  const poison = new Poison(manager, host, deferred, control, say, now);
  const { restore } = poison;

  // Arrays.
  const table = new ArrayTable(pages);
  const places = new Places(table, pages, files, providers, stores, sources, base);

  // Who asks: threads of this process, and of others.
  const attachments = new Attachments(manager, router, poller, pollerSlots(FIRST_DEVICE_SLOT), {
    name: options.name,
    base,
    bytes: options.bytes,
    memory: host.node.fd,
    userModeOnly: options.userModeOnly || host.faults.via === 'user-mode',
    stores: storeNames(options),
    hostBudgetBytes: options.hostBudgetBytes,
    host,
    rangeAt: (page) => pages.rangeOf(page)?.id,
    placeOf: (page) => places.placeOf(page).text,
    explain: (reason, page) => places.explain(reason, page),
    warn,
    now,
    later,
  });
  const clients = new Clients([new ThreadTransport(options.name), attachments], control);
  const commitment = new Commitment(manager, stores.any);
  const kept = new KeptPages(manager, requests, ({ first, end, reason }) => {
    const { text } = places.placeOf(first);
    const why = places.explain(reason, first);
    warn(
      `warning: ${end - first} pages that were freed, from ${text} on, stay until their clones can be given copies: ${why}`,
    );
  });
  const tellFreed = (range: number): void => clients.tellFreed(range);
  const shared = new SharedArrays(
    manager,
    requests,
    sources,
    options.control,
    options.wakeFd,
    memory,
    restore,
    deferred,
    warn,
    now,
  );
  const arrays = new Arrays(
    manager,
    table,
    places,
    commitment,
    kept,
    sources,
    files,
    providers,
    shared,
    options.bytes,
    later,
    restore,
    tellFreed,
  );
  const advice = new ArrayAdvice(manager, arrays);
  const uses = new Uses(arrays);
  const sharing = new SharedUses(shared, places, later);
  const rights = new Rights(manager, requests, arrays, places, files, restore);
  const reports = new PageReports(pages, places, sources);
  const overviews = new Overviews(pages, table, attachments);
  const pins = new Pins(manager, requests, arrays, places, commitment, memory);
  const patience = new Patience(manager, now);
  const hostBudget = new HostBudget(manager, commitment, () => pins.pinnedBytes, now);
  const follower = new HostBudgetFollower(
    hostBudget,
    options.followMemory,
    poller,
    PRESSURE_SLOT,
    wall,
  );
  const clones = new Clones(
    manager,
    requests,
    {
      pageBytes: PAGE_BYTES,
      copy: (page, count, target) =>
        copyMemory(target, memory + page * PAGE_BYTES, count * PAGE_BYTES),
      zero: (count, target) => fillMemory(target, 0, count * PAGE_BYTES),
    },
    completed,
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
  const cloning = new Cloning(arrays, places, clones, sources);
  const notifiers = new Notifiers({
    range: (id) => manager.range(id),
    rangeOfPage: (page) => pages.rangeOf(page),
    watch: (range, by) => manager.watch(range, by),
    nameOf: (id) => manager.processor(id)?.description.name ?? `processor ${id}`,
    load: (url) => import(url) as Promise<Record<string, unknown>>,
    warn,
    now: wall,
  });
  deferred.announceTo(notifiers);
  const resizing = new Resizing(
    manager,
    requests,
    arrays,
    places,
    commitment,
    cloning,
    sources,
    pins,
    notifiers,
    memory,
  );
  const hostDenials = new HostDenials(places, poison, say);

  // Devices.
  const edges = new EdgeClearing(manager, requests, table, places, memory);
  const checks = new LaunchChecks(manager, places, table);
  const sizes = new LaunchSizes(manager, requests, places, memory);
  const gathers = new GatherPlans(manager, requests, memory);
  const supplies = new PageSupplies(manager, requests, arrays);
  const mappedFiles = new MappedFiles(files);
  const joining = new JoinedLaunches(manager, table, checks, sharing);
  const next = new NextLaunch(manager, requests, table, checks, sharing);
  const launches = new Launches(
    manager,
    requests,
    arrays,
    table,
    places,
    checks,
    edges,
    joining,
    next,
    sizes,
    gathers,
    supplies,
    mappedFiles,
    sharing,
    stopped,
    later,
    restore,
    now,
  );
  const polls = new DevicePolls(poller, FIRST_DEVICE_SLOT);
  const space = { base, bytes: options.bytes, hostMemory: host.node.fd, hostAddress: memory, host };
  const maker = new DriverMaker(space, launches.kernelOf, warn, copyThreads.in);
  const devices = new Devices(
    manager,
    router,
    launches,
    notifiers,
    maker,
    polls,
    later,
    keptApart,
    bindings,
  );

  // Content that moves because a program says so.
  const memoryOf = (node: NodeId): number => (node === HOST_NODE ? memory : devices.memoryOf(node));
  const prefetches = new Prefetches(manager, requests, places, devices);
  const copies = new Copies(
    manager,
    requests,
    arrays,
    table,
    places,
    memoryOf,
    prefetches,
    later,
    restore,
  );
  const mappedReads = new MappedReads(files, engine);
  const byteMoves = new ByteMoves(manager, requests, places, mappedReads, memory);
  const fileTransfers = new FileTransfers(
    manager,
    requests,
    table,
    places,
    engine,
    pipes,
    mappedReads,
    memory,
    later,
    restore,
  );
  const writeBack = new WriteBack(manager, requests, places, files, engine, memory, later);
  const freeing = new Freeing(arrays, pins, notifiers, writeBack, shared, say);

  // Streams.
  const streamShare = new Share(wall);
  const operations = new Operations(
    uses,
    devices,
    launches,
    prefetches,
    copies,
    sharing,
    rights,
    freeing,
  );
  const streams = new Streams({
    given: (operation) => uses.begin(operation),
    over: (operation) => uses.end(operation),
    execute: (operation, done) => operations.execute(operation, done),
    withdraw: (operation, reason) => operations.withdraw(operation, reason),
    mostTogether: (operation, next) => operations.mostTogether(operation, next),
    now: wall,
    mayBegin: () => streamShare.take(),
  });

  poller.set(WAKE_SLOT, options.wakeFd);
  poller.set(HOST_SLOT, host.faults.fd);

  /** Does what the core has said. */
  const listener: CoreListener = {
    denied: (access) => {
      const { processor, page, reason } = access;
      if (processor === HOST) hostDenials.denied(access);
      else if (!attachments.denied(processor, page, reason)) devices.denied(access);
    },
    drained: (processor) => {
      if (attachments.drained(processor)) notifiers.forgetProcessor(processor);
      else devices.drained(processor);
    },
    breakCopyOnWrite: (page, count, lastChance) => clones.breakCopyOnWrite(page, count, lastChance),
    wanted: (page, write) => shared.wanted(page, write),
    objected: (page, write, thread, why) => hostDenials.objected(page, write, thread, why),
  };

  /** Handles what the core and the drivers said, until they say no more. */
  const settle = (): void => {
    deferred.settle(listener);
    if (options.checkInvariants) manager.checkInvariants();
  };

  return {
    options,
    control,
    now,
    poller,
    reserve,
    manager,
    router,
    recording,
    recordings,
    deferred,
    engine,
    pipes,
    files,
    providers,
    host,
    hostBudget,
    follower,
    patience,
    stores,
    poison,
    attachments,
    clients,
    arrays,
    shared,
    sharing,
    advice,
    uses,
    rights,
    reports,
    overviews,
    pins,
    clones,
    kept,
    cloning,
    notifiers,
    resizing,
    hostDenials,
    gathers,
    launches,
    polls,
    devices,
    copies,
    copyThreads,
    byteMoves,
    fileTransfers,
    writeBack,
    freeing,
    bindings,
    nearDisk,
    streamShare,
    streams,
    settle,
  };
}
