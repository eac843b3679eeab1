/** How a space is opened. */
import { resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';
import { PAGE_BYTES } from '../../core/basics/types.js';
import { closeDescriptor } from '../../linux/base/libc.js';
import { randomName } from '../../linux/base/random.js';
import { PAGE_SIZE } from '../../linux/memory/memory.js';
import { bundledMessage, managerFiles } from '../../linux/own-files.js';
import { reapOrphans } from '../../linux/processes/orphans.js';
import { closeEventfd, createEventfd } from '../../linux/threads/eventfd.js';
import type { OptionNames } from '../../messages/option-names.js';
import { CONTROL_WORDS, Control } from '../../pager/protocol/control.js';
import {
  type Injection,
  type ManagerOptions,
  type SlowMemoryOptions,
  type SpaceHandle,
  storeNames,
} from '../../pager/protocol/space.js';
import { startsEnded } from '../../pager/protocol/starting.js';
import type { PolicyChoices, PolicySet } from '../../policy/choices.js';
import { watchExit } from '../endings/exit.js';
import { collectViews } from '../endings/leftovers.js';
import { ManagerThreads } from '../line/manager-threads.js';
import {
  checkWorkingFolder,
  noAddressesError,
  openingError,
  refuseOtherRuntimes,
  shortageError,
} from '../line/opening-errors.js';
import { addressesFor, basesFor, beginningAt, freeBases, slotOf } from '../line/space-addresses.js';
import { AddressSpace as SpaceClass } from '../objects/address-space.js';
import { openSaved, savedArrays } from '../objects/saved-space.js';
import { deviceOptions, injectionOf } from '../options/described-devices.js';
import { withMemory } from '../options/device-memory.js';
import type { DeviceSpecification } from '../options/device-specification.js';
import { AUTO, hostBudget } from '../options/host-memory.js';
import { endLending, lend } from '../options/lending.js';
import { checkPolicies } from '../options/policies.js';
import { recordedBytes } from '../options/recording.js';
import { type BehindSpecification, serverMemoryOf } from '../options/server-memory.js';
import {
  type SlowMemory,
  type SlowMemorySpecification,
  slowMemoryOf,
  takeSlowMemory,
} from '../options/slow-memory.js';
import { type StorageSpecification, storageOf } from '../options/storage.js';
import type { AddressSpace } from '../public.js';
import { checkFlag, checkObject, checkOptions, checkSize, show } from '../values/arguments.js';
import { fromWire, OnememError, typeError, warn } from '../values/errors.js';
import { type FilePath, pathOf } from '../values/file-path.js';
import { moduleOptions } from '../values/node-options.js';
import { type NamedSpaceOptions, openNamed } from './named-space.js';
import { warnOfUserMode } from './user-mode.js';

/** Options of `openSpace`. */
export interface SpaceOptions {
  /**
   * The name of a space that outlives programs. This program attaches to it, and starts it
   * (`onemem serve`) if there is none; `hostMemory` and `storage` are for the start. No other
   * option goes with it. It rejects with SPACE_NAME, SPACE_START, or as `attachSpace` does.
   */
  readonly at?: string;
  /**
   * A file that `space.save` wrote. The space begins with its arrays, whose pages come when they are
   * touched. Changes stay in memory, so that several programs may open one file. Rejects with
   * SPACE_FILE if the file is no saved space, was cut, or is damaged.
   */
  readonly from?: FilePath;
  readonly devices?: readonly DeviceSpecification[];
  /**
   * The most host memory of arrays, at least '32MiB'. The default is what the machine or control
   * group has left, less what the space, its devices and others need, and at most 70 % of its
   * limit. 'auto' begins there and follows what others leave. More than there is gets the warning
   * ONEMEM_MEMORY; a control group that is too small gets the error MEMORY_LIMIT.
   */
  readonly hostMemory?: number | string;
  /** Memory between host memory and storage, such as persistent memory or memory behind CXL. */
  readonly slowMemory?: SlowMemorySpecification;
  /** The spill file behind host memory, made when it is needed. `false`: none. */
  readonly storage?: StorageSpecification | boolean;
  /** A server for pages that neither host memory nor storage has room for. */
  readonly behind?: BehindSpecification;
  /** Addresses to reserve, at no cost; '1TiB' by default, less under `ulimit -v`. */
  readonly addressSpace?: number | string;
  /** For debugging: `verify` for every launch of this thread. */
  readonly verify?: boolean;
  /**
   * Uses the page faults that need no privilege, even if more is allowed. They serve no system
   * calls, of which the first such space of a process warns (ONEMEM_USER_MODE).
   */
  readonly userModeOnly?: boolean;
  /**
   * Decisions of the manager, by name or module, or 'uvm' for those of NVIDIA's driver; see
   * `onemem/policy`.
   */
  readonly policies?: PolicyChoices | PolicySet;
  /**
   * Bytes of the last moves of pages that the space keeps in memory, for `report()` and
   * `explain()`; at least '64KiB'. None by default.
   */
  readonly history?: number | string;
  /**
   * Lets other programs of this user look at the space, by `onemem ls` and `onemem top`; so does
   * ONEMEM_OBSERVABLE=1. They see names of arrays and kernels, and no content.
   */
  readonly observable?: boolean;
  /** Checks the manager's books after every event; slow, for tests. */
  readonly checkInvariants?: boolean;
  /** Makes host memory refuse large pieces, for tests. */
  readonly inject?: Injection;
  /** @internal Ends the manager on purpose, at the first touch of an array by this process. */
  readonly crash?: ManagerOptions['crash'];
  /** @internal How long the manager may stand still. */
  readonly heartbeatLimitMs?: number;
  /** @internal Which of the places for spaces is tried first. */
  readonly firstPlace?: number;
  /** @internal A folder with the files by which `hostMemory: 'auto'` knows the machine. */
  readonly memoryRoot?: string;
}

/** For the project's own tests. */
type InternalOptions = Pick<
  SpaceOptions,
  'crash' | 'heartbeatLimitMs' | 'memoryRoot' | 'firstPlace'
>;

const NAMED_OPTIONS: OptionNames<Pick<SpaceOptions, 'at' | keyof NamedSpaceOptions>> = {
  at: true,
  hostMemory: true,
  storage: true,
};

const SPACE_OPTIONS: OptionNames<Omit<SpaceOptions, keyof InternalOptions>> = {
  devices: true,
  hostMemory: true,
  slowMemory: true,
  storage: true,
  behind: true,
  at: true,
  from: true,
  addressSpace: true,
  userModeOnly: true,
  policies: true,
  history: true,
  observable: true,
  verify: true,
  checkInvariants: true,
  inject: true,
};

/** Whether a space has been opened in this thread. */
let hasOpened = false;

/**
 * Opens a space. Rejects with UNSUPPORTED if the machine does not allow page faults in user space,
 * with DEVICE_START, STORAGE, SLOW_MEMORY, BEHIND, POLICY, ADDRESS_SPACE or DESCRIPTORS, and with a RangeError
 * or TypeError for wrong options.
 * @example
 * import { openSpace } from 'onemem';
 *
 * const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
 * console.log(space.devices[0].memory); // 8388608
 * await space.close();
 */
export async function openSpace(options: SpaceOptions = {}): Promise<AddressSpace> {
  try {
    return await (options?.at === undefined ? open(options) : openAt(options));
  } catch (error) {
    throw shortageError(error as Error);
  }
}

function openAt({ at, ...options }: SpaceOptions): Promise<AddressSpace> {
  refuseOtherRuntimes();
  const named: NamedSpaceOptions & { readonly at?: string } = { at, ...options };
  checkOptions('openSpace() with at', named, NAMED_OPTIONS);
  return openNamed(at as string, options);
}

async function open(options: SpaceOptions): Promise<SpaceClass> {
  refuseOtherRuntimes();
  if (PAGE_SIZE !== PAGE_BYTES) {
    throw new OnememError(
      'PAGE_SIZE',
      `this kernel has pages of ${PAGE_SIZE} bytes; onemem works with ${PAGE_BYTES}`,
    );
  }
  const { described, bytes, possible, slowMemory, from, settings } = settingsOf(options);
  const behind = await serverMemoryOf(options.behind);
  checkWorkingFolder();
  reapOrphans();
  const files = managerFiles();
  if (files === null) throw new OnememError('BUNDLED', bundledMessage());
  const devices = await withMemory(described, () => settings.hostBudgetBytes);
  await collectViews(slotOf(bytes));
  // The first space finds its place at the first try.
  const bases = hasOpened ? freeBases(possible, bytes) : possible;
  if (bases.length === 0) throw noAddressesError();
  const lent = await lend(options.devices ?? [], devices);
  const control = new SharedArrayBuffer(CONTROL_WORDS * 4);
  const wakeFd = createEventfd();
  const taken = slowMemory === null ? null : await takenOr(slowMemory, lent.lenders, wakeFd);
  const name = randomName();
  const manager: ManagerOptions = {
    ...settings,
    ...recordingOf(process.env.ONEMEM_RECORD),
    ...{ name, bases, control, wakeFd, behind },
    slowMemory: taken,
    devices: lent.options,
    nodeOptions: moduleOptions(process.execArgv),
  };
  let opened: SpaceClass | null = null;
  // From now on: the process may end while the threads start.
  const forget = watchExit({
    control: new Int32Array(control),
    wakeFd,
    closeWithThread: (limitMs) => opened?.threadEnds(limitMs),
  });
  const threads = new ManagerThreads(files, manager);
  const ready = await threads.ready;
  if (taken !== null) closeDescriptor(taken.fd);
  if (ready instanceof Error || 'error' in ready) {
    forget();
    await startsEnded(new Int32Array(control));
    await threads.terminate();
    await endLending(lent.lenders);
    closeEventfd(wakeFd);
    throw openingError(ready instanceof Error ? ready : fromWire(ready.error), hasOpened);
  }
  if (!isMainThread) Atomics.store(new Int32Array(control), Control.OpenedByWorker, 1);
  const { base, devices: infos } = ready;
  const { hostBudgetBytes } = settings;
  const handle: SpaceHandle = {
    stores: storeNames(manager),
    onemem: 1,
    owner: process.pid,
    devices: infos,
    ...{ name, base, bytes, wakeFd, control, hostBudgetBytes },
  };
  const unwatched = await threads.unwatched;
  const space = new SpaceClass(handle, threads, forget, lent.lenders);
  opened = space;
  if (unwatched !== null) {
    await space.close();
    throw openingError(unwatched, hasOpened);
  }
  threads.unref();
  hasOpened = true;
  warnOfUserMode(ready.faultsBy);
  space.verifies = options.verify ?? false;
  if (from !== null) await fillFrom(space, from);
  if (options.observable ?? isSet(process.env.ONEMEM_OBSERVABLE)) await space.show();
  await servePicture(space);
  return space;
}

/** What the program says, checked before anything is started. */
function settingsOf(options: SpaceOptions) {
  checkObject('openSpace()', options);
  const { crash, heartbeatLimitMs, memoryRoot, firstPlace = 0, ...said } = options;
  checkOptions('openSpace()', said, SPACE_OPTIONS);
  checkFlag('verify', options.verify);
  checkFlag('userModeOnly', options.userModeOnly);
  checkFlag('observable', options.observable);
  checkFlag('checkInvariants', options.checkInvariants);
  const injection = injectionOf(options.inject);
  const internal = internalOptions({ crash, heartbeatLimitMs, memoryRoot });
  const { policies, history } = options;
  const chosen = {
    ...(policies === undefined ? {} : { policies: checkPolicies(policies) }),
    ...(history === undefined ? {} : { history: recordedBytes('history', history) }),
  };
  const root = memoryRoot ?? '';
  const described = deviceOptions(options.devices ?? []);
  const bytes = addressesFor(options.addressSpace, described.length);
  const possible = beginningAt(basesFor(bytes), firstPlace);
  const slowMemory = slowMemoryOf(options.slowMemory);
  const settings = {
    bytes,
    hostBudgetBytes: hostBudget(options.hostMemory, described, root, slowMemory?.bytes ?? 0),
    storage: storageOf(options.storage),
    followMemory: options.hostMemory === AUTO ? { root } : null,
    userModeOnly: options.userModeOnly ?? false,
    checkInvariants: options.checkInvariants ?? false,
    ...chosen,
    ...injection,
    ...internal,
  };
  const from = options.from === undefined ? null : pathOf(options.from);
  // Before anything is started: the file may be none.
  if (from !== null) savedArrays(from);
  return { described, bytes, possible, slowMemory, from, settings };
}

/** Takes slow memory; where that fails what the space has by then is given back. */
async function takenOr(
  wanted: SlowMemory,
  lenders: Parameters<typeof endLending>[0],
  wakeFd: number,
): Promise<SlowMemoryOptions> {
  try {
    return takeSlowMemory(wanted);
  } catch (error) {
    await endLending(lenders);
    closeEventfd(wakeFd);
    throw error;
  }
}

async function fillFrom(space: SpaceClass, path: string): Promise<void> {
  try {
    openSaved(space, path);
  } catch (error) {
    await space.close();
    throw error;
  }
}

/** Undocumented options: an object may have these names for other reasons. */
function internalOptions({
  crash,
  heartbeatLimitMs,
  memoryRoot,
}: Omit<InternalOptions, 'firstPlace'>): Partial<ManagerOptions> {
  if (crash !== undefined && typeof crash !== 'string') {
    throw typeError('OPTIONS', `crash is the name of a way to end, not ${show(crash)}`);
  }
  if (memoryRoot !== undefined && typeof memoryRoot !== 'string') {
    throw typeError('OPTIONS', `memoryRoot is the path of a folder, not ${show(memoryRoot)}`);
  }
  if (heartbeatLimitMs !== undefined) checkSize('heartbeatLimitMs', heartbeatLimitMs, 1);
  return {
    ...(crash === undefined ? {} : { crash }),
    ...(heartbeatLimitMs === undefined ? {} : { heartbeatLimitMs }),
  };
}

/** ONEMEM_UI: 1 for any port that is free, or a port. */
async function servePicture(space: SpaceClass): Promise<void> {
  const said = process.env.ONEMEM_UI ?? '';
  if (!isSet(said)) return;
  try {
    const { url } = await space.serve(said === '1' ? {} : { port: Number(said) });
    process.stderr.write(`onemem: the live picture of this space is at ${url}\n`);
  } catch (error) {
    // The program did not ask for it.
    const { message } = error as Error;
    warn('ONEMEM_UI', `ONEMEM_UI=${said}: ${message}`);
  }
}

function isSet(variable = ''): boolean {
  return variable !== '' && variable !== '0';
}

let recordings = 0;

/** Where a space's run is written down: the first in the named file, others beside it. */
function recordingOf(path: string | undefined): Pick<ManagerOptions, 'record'> {
  if (path === undefined || path === '') return {};
  recordings++;
  return { record: resolve(recordings === 1 ? path : `${path}.${recordings}`) };
}
