/**
 * One schedule: the memory manager with a host, a device process and a simulated device, programs that use them, and a shadow
 * of what memory must contain. Everything that happens is drawn from one seed.
 */

import { PATIENCE } from '../../src/core/faults.js';
import { checkInvariants } from '../../src/core/invariants.js';
import type { LaunchArgument } from '../../src/core/launches.js';
import { isEmpty } from '../../src/core/mask.js';
import { OpenManager } from '../../src/core/open-manager.js';
import type { Range } from '../../src/core/range.js';
import { type Entry, Recorder } from '../../src/core/recording.js';
import { replay } from '../../src/core/replay.js';
import { type Policies, REFUSED } from '../../src/core/state.js';
import {
  Access,
  type Advice,
  type DenyReason,
  HOST,
  HOST_NODE,
  NO_NODE,
  type NodeId,
  PAGES_PER_BLOCK,
  type ProcessorId,
  Status,
} from '../../src/core/types.js';
import type { ByteAccess, CallableKernel, DriverEvents, KernelCode } from '../../src/drivers/driver.js';
import { Router } from '../../src/drivers/router.js';
import { Clones } from '../../src/pager/arrays/clones.js';
import { CoreRequests } from '../../src/pager/core/core-requests.js';
import { adaptive } from '../../src/policy/eviction/adaptive.js';
import { fifo } from '../../src/policy/eviction/fifo.js';
import { lru } from '../../src/policy/eviction/lru.js';
import { advised } from '../../src/policy/placement/advised.js';
import { none, tree } from '../../src/policy/prefetch/tree.js';
import { next } from '../../src/policy/read-ahead/next.js';
import { Announcements } from './announcements.js';
import { Audit } from './audit.js';
import {
  BLOCKS,
  ModelDevice,
  NODE_BYTES,
  PAGE_BYTES,
  PAGES,
  providedValue,
  type Surroundings,
  type Thread,
  type Weather,
} from './model-device.js';
import { Others } from './others.js';
import { Plots } from './plots.js';
import { Random } from './random.js';
import { Reasons } from './reasons.js';
import { Sources } from './sources.js';
import { StagingModel } from './staging-model.js';
import { WatchedDevice } from './watched-device.js';

/** For what a schedule is about besides its plot. */
const TURNS = 0x3c6ef372;
const FILLING_TURNS = [1, 3, 6, 9, 10];
const OTHERS = 0x1b873593;
const DEVICE_GOES_ON = 'device goes on';
const WORDS_PER_PAGE = PAGE_BYTES / 4;
/** How often copies fail while devices leave, in the plot that strands what they have, and how often otherwise there. */
const STRANDING = 0.97;
const FAIR = 0.01;
/** Numbers below are those of requests that the manager's own parts make. */
const FIRST_REQUEST = 1_000_000_000;

/** What a program allocated. */
export interface Memory {
  readonly range: Range;
  /** Programs that are in the middle of using it. */
  users: number;
  /** It is being emptied, so that programs keep off. */
  exclusive: boolean;
  /** Free requests that are under way or through. */
  frees: number;
  freesLeft: number;
  /** What it was cloned from. */
  readonly source: Memory | null;
  /** First page and number of pages that are pinned. */
  pinned: [number, number] | null;
}

interface Argument extends LaunchArgument {
  readonly memory: Memory;
}

interface Launch {
  readonly id: number;
  readonly device: ModelDevice | WatchedDevice;
  readonly processor: ProcessorId;
  readonly args: readonly Argument[];
  /** The event in which it was asked for. */
  readonly asked: number;
  state: 'preparing' | 'running' | 'over';
  accessesLeft: number;
  /** Pages that the walk has gone; -1: this launch jumps. */
  walked: number;
}

interface Hold {
  readonly memory: Memory;
  readonly first: number;
  readonly count: number;
  readonly access: Access;
  /** Where the pages are held: the host, or a device whose memory the manager can address. */
  readonly device: ModelDevice;
}

/** Changed pages on their way to their file. */
interface WriteBack {
  readonly memory: Memory;
  readonly first: number;
  readonly count: number;
  /** They are held; a write is about to be noticed, and is; the file has them. */
  stage: 'held' | 'settling' | 'standing' | 'written';
}

interface Message {
  readonly device: ModelDevice;
  readonly thread: Thread;
  readonly launch: Launch | null;
  readonly page: number;
  readonly write: boolean;
}

/** What becomes of a request when it is through. */
type Ending = (pages: number, failure: DenyReason | null) => void;

/** One schedule of so many is played again from what was written down of it. */
const RECORDED_SHARE = 10;

export class World implements Surroundings {
  readonly random: Random;
  /** For what does not change how a schedule goes on. */
  private readonly whims: Random;
  /** Arrays are mostly of files that take changed pages back, and there are more than the host can hold. */
  private readonly overflows: boolean;
  /** Files take changed pages back. */
  private readonly returns: boolean;
  /** The host's memory shrinks and grows. */
  private readonly resizes: boolean;
  /** The stores find no room now and then. */
  private readonly fills: boolean;
  /** For what came later, so that other schedules stay as they were. */
  private readonly choices: Random;
  readonly weather: Weather;
  readonly manager: OpenManager;
  private readonly policies: Policies;
  /** What the core was told and what it commanded, in one schedule of so many. */
  private readonly recorded: Entry[] = [];
  readonly router: Router;
  readonly host: ModelDevice;
  /** Drivers by processor. */
  readonly devices: (ModelDevice | WatchedDevice | undefined)[] = [];
  /** Drivers by node: those of devices, and a store behind the host that nobody runs on. */
  readonly stores: (ModelDevice | WatchedDevice | undefined)[] = [];
  /** The store behind the host; NO_NODE: there is none, or not any more. */
  private store: NodeId = NO_NODE;
  /** The last event after which pages of the host were held or pinned. */
  private lastHeld = -1;
  /** When each request was made. */
  private readonly askedAt = new Map<number, number>();
  /** The event from which on what is being told may have come about. */
  private since = 0;
  /** The store is to go. */
  private storeLeaves = false;
  /** The store behind that one; NO_NODE: there is none. */
  private far: NodeId = NO_NODE;
  /** Whether it has ever been away. */
  everAway = false;
  /** What stores had when they found no room for what their budgets allow; and whether any ever did. */
  private readonly full = new Map<NodeId, number>();
  everFull = false;
  /** How often those who wait for such room were told that there is none still. */
  timesWithoutRoom = 0;
  private readonly staging = new StagingModel();
  readonly memories: Memory[] = [];
  /** The value that each page must have. */
  readonly shadow = new Uint32Array(PAGES);
  /** Counts what makes a page's value uncertain for now: emptying, freeing, a launch that failed half way. */
  readonly fuzzy = new Uint8Array(PAGES);
  readonly freed = new Uint8Array(PAGES);
  /** A launch that failed may have emptied the page or not; the first look at it tells. */
  private readonly perhapsEmpty = new Uint8Array(PAGES);
  readonly audit: Audit;
  private readonly announcements: Announcements;
  /** What everybody may do with a page, and how many requests to change that are under way. */
  readonly rights = new Uint8Array(PAGES).fill(Access.Write);
  readonly changing = new Uint8Array(PAGES);
  readonly clones: Clones;
  private readonly cloneRequests = new CoreRequests();
  /** What the core told while it was at work. */
  private readonly later: (() => void)[] = [];
  /** Invalidations that subscribers were told of and that go on, and those of the event under way. */
  readonly invalidations: { page: number; count: number; open: boolean }[] = [];
  /** Pages whose only copy was on a device when it was lost, or could not be brought home: these may be reported lost. */
  readonly mayBeLost = new Set<number>();
  /** All that were ever reported so, and when pages were overwritten last without a look at them. */
  readonly everLost = new Set<number>();
  private readonly healed = new Uint32Array(PAGES);
  private readonly messages: Message[] = [];
  private readonly requests = new Map<number, Ending>();
  private readonly mayNotFit = new Set<number>();
  private readonly launches: Launch[] = [];
  private readonly holds: Hold[] = [];
  private readonly writeBacks: WriteBack[] = [];
  private readonly condemned = new Set<ProcessorId>();
  private readonly leaving = new Set<ProcessorId>();
  /** More is allocated than the host can hold. */
  tight: boolean;
  /** Large memories move as a whole. */
  private readonly heavy: boolean;
  private walks = false;
  /** Queued pieces that are carried out between two other events, at most. */
  private readonly pieces: number;
  private readonly lossy: boolean;
  readonly sources: Sources;
  private readonly reasons: Reasons;
  private readonly plots: Plots;
  /** Arrays that other machines have, too. */
  readonly others: Others;
  /** Some pages of files and providers are not given, for good or for a while. */
  private readonly spoils: boolean;
  /** Clones of clones, which are emptied, moved and given back: many of them. */
  private readonly breeds: boolean;
  /** Devices reach each other's pages in host memory, and die. */
  private readonly perils: boolean;
  /** Something may make copies fail, or has until now. */
  readonly mayFailCopies: boolean;
  /** What each range was cloned from. */
  private readonly parents = new Map<Range, Range>();
  /** Requests under way that have pages come from their provider again. */
  drops = 0;
  /** First pages of arrays whose files take nothing back. */
  private readonly refusing = new Set<number>();
  private version = 0;
  private nextRequest = FIRST_REQUEST;
  closing = false;
  /** The simulated devices had nothing to do when they were last looked at. */
  private resting = false;
  private drainedAny = false;
  private readonly mayGiveUp: boolean;
  /** What every copy of has failed may be lost: a device has just left, or is about to when its frames are not read any more. */
  get mayHaveGivenUp(): boolean {
    return this.gaveUp || (this.mayGiveUp && (this.leaving.size > 0 || this.storeLeaves));
  }

  /** A device has just left whose last pages may have failed to come home. */
  private gaveUp = false;
  /** Events so far. */
  step = 0;
  /** The event under way, for messages. */
  current = 'start';

  constructor(
    seed: number,
    private readonly tracer: ((text: string) => void) | null,
  ) {
    const random = new Random(seed);
    this.random = random;
    this.choices = new Random(seed ^ 0x51ed270b);
    this.whims = new Random(seed ^ 0x5bd1e995);
    const calm = random.chance(0.25);
    this.weather = {
      noMemory: calm ? 0 : random.pick([0, 0, 0.05, 0.05, 0.4]),
      copyFailure: calm ? 0 : random.pick([0, 0, 0.05, 0.05, 0.5]),
      later: random.pick([0, 0.2, 0.5, 0.9]),
    };
    this.sources = new Sources(this, random, () => this.clones);
    this.reasons = new Reasons(this, this.sources);
    this.sources.failure = calm ? 0 : random.pick([0, 0.05]);
    this.sources.changes = calm ? 0 : random.pick([0, 0, 0.01]);
    // Drawn elsewhere, so that all other schedules stay as they were.
    this.plots = new Plots(this, seed);
    this.sources.withheld = this.plots.withholds ? 0.5 : 0;
    if (this.plots.strands) this.weather.copyFailure = FAIR;
    this.mayGiveUp = this.weather.copyFailure > 0;
    const { failure, withheld } = this.sources;
    this.mayFailCopies =
      this.plots.storeFails || this.weather.copyFailure + this.weather.noMemory + failure + withheld > 0;
    this.breeds = this.whims.chance(0.25) || this.plots.clones;
    this.spoils = this.whims.chance(this.breeds ? 0.6 : 0.25);
    this.perils = this.whims.chance(0.1);
    this.lossy = random.chance(0.5) || this.perils || this.plots.orphans;
    this.tight = random.chance(0.25);
    this.heavy = random.chance(0.4) || this.plots.chains;
    // Some schedules are about devices that walk through long ranges: what is brought ahead of them is to be seen.
    this.walks = random.chance(0.1);
    this.pieces = random.pick([1, 4, 12]);
    this.router = new Router(
      {
        deny: (processor, page, write, _thread, reason, stranded) =>
          this.deny(processor, page, write, reason, stranded),
        requestDone: (request, pages, failure) => this.requestDone(request, pages, failure),
        drained: (processor) => this.drained(processor),
        emptied: (node) => this.storeEmptied(node),
        breakCopyOnWrite: (page, count, lastChance) => {
          this.trace(() => `  break copy-on-write ${page}+${count}${lastChance ? ', the last chance' : ''}`);
          this.clones.breakCopyOnWrite(page, count, lastChance);
        },
        want: (page, write) => {
          this.trace(() => `  want ${page} to ${write ? 'write' : 'read'}`);
          this.later.push(() => this.others.wanted(page, write));
        },
        invalidate: (page, count, reason) => {
          this.trace(() => `  invalidate ${page}+${count}: ${reason}`);
          this.announcements.begun(page, count, reason);
          this.invalidations.push({ page, count, open: true });
        },
        invalidated: (page, count) => this.invalidated(page, count),
      },
      {
        provide: (token, page, count, target) => this.sources.provide(token, page, count, target),
        takeBack: (token, page, count) => this.sources.takeBack(token, page, count),
      },
      (token, status) => this.manager.transferred(token, status),
      PAGE_BYTES,
      this.staging,
    );
    const prefetch = random.chance(0.8) ? tree : () => none;
    const share = random.below(2) === 0 ? 1 : 2;
    // Memories are small here, so that none would ever be freed ahead by the usual share.
    const { choices } = this;
    const ahead = choices.below(3);
    const recent = choices.chance(0.5) ? adaptive : lru;
    const turn = new Random(seed ^ TURNS).below(20);
    this.overflows = turn < 2;
    this.resizes = turn >= 2 && turn < 5;
    this.returns = turn < 8;
    // A quarter, with some of each of these kinds.
    this.fills = this.plots.storeFails || FILLING_TURNS.includes(turn);
    this.sources.returnFailure = calm ? 0 : choices.pick([0, 0.1, 0.5]);
    if (this.overflows || this.resizes) this.tight = true;
    const eviction = this.whims.chance(0.8) ? recent : fifo;
    this.policies = {
      eviction: () => ({ ...eviction(), ahead: () => ahead }),
      prefetch: () => prefetch(),
      readAhead: () => next({ share }),
      placement: () => advised,
    };
    const recorder = seed % RECORDED_SHARE === 0 ? new Recorder((entries) => this.recorded.push(...entries)) : null;
    this.manager = new OpenManager(recorder?.commands(this.router) ?? this.router, this.policies, BLOCKS);
    recorder?.events(this.manager);
    this.clones = new Clones(
      this.manager,
      this.cloneRequests,
      {
        pageBytes: PAGE_BYTES,
        copy: (page, count, target) => this.sources.copyHost(page, count, target),
        zero: (count, target) => this.sources.zero(count, target),
      },
      (token, status) => this.router.completed(token, status),
      (action) => this.later.push(action),
      (page, reason) => {
        this.reasons.ofLoss(reason, page);
        this.sources.remember(reason, page);
        this.mayBeLost.add(page);
      },
    );
    this.audit = new Audit(this);
    this.announcements = new Announcements(this);
    this.others = new Others(this, new Random(seed ^ OTHERS), this.cloneRequests);
    this.host = this.addModel({
      name: 'host',
      budgetPages:
        PAGES_PER_BLOCK * (this.resizes ? 6 : this.tight ? 3 : random.between(3, this.plots.chains ? 3 : 6)) +
        random.below(PAGES_PER_BLOCK),
      units: 2,
      memorySurvives: true,
    });
    for (let id = 0; id < 2; id++) this.host.threads.push(newThread(id, this.host));
    if (this.whims.chance(0.35) || this.plots.storeFails) this.store = this.addStore(HOST_NODE);
    if (this.plots.chains) this.far = this.addStore(this.store);
    if (this.whims.chance(0.25)) this.addNeighbour();
    const process = this.perils || this.plots.orphans || this.plots.returns || this.plots.strands;
    this.addDevice(random.chance(0.5) || process);
    if (random.chance(0.7) || process) this.addDevice(random.chance(0.5) || process);
  }

  trace(text: () => string): void {
    if (this.tracer !== null) this.tracer(text());
  }

  /** Runs the whole schedule; throws at the first thing that is wrong. */
  run(): void {
    const steps =
      this.plots.chains || this.overflows || this.walks || this.plots.returns || this.plots.strands
        ? 400
        : this.random.between(40, 120);
    while (this.step < steps) this.event();
    this.settle();
    this.audit.contents();
    this.memories.push(...this.others.memories);
    this.freeAll();
    this.replay();
  }

  /** What was written down of this schedule must be played again as it was, in the words of a file. */
  private replay(): void {
    if (this.recorded.length === 0) return;
    const entries = this.recorded.map((entry) => JSON.parse(JSON.stringify(entry)) as Entry);
    replay(entries, this.policies, BLOCKS);
  }

  // --- what can happen -------------------------------------------------------------------------------------------

  private readonly actions: { name: string; weight: number; can: () => boolean; act: () => void }[] = [
    { name: 'allocate', weight: 3, can: () => !this.closing && this.memories.length < 5, act: () => this.allocate() },
    { name: 'free', weight: 1, can: () => !this.closing && this.memories.length > 0, act: () => this.free() },
    { name: 'recycle', weight: 2, can: () => this.memories.some(isRecyclable), act: () => this.recycle() },
    { name: 'zero', weight: 1, can: () => !this.closing && this.memories.length > 0, act: () => this.zero() },
    { name: 'prefetch', weight: 3, can: () => !this.closing && this.memories.length > 0, act: () => this.prefetch() },
    { name: 'advise', weight: 1, can: () => !this.closing && this.memories.length > 0, act: () => this.advise() },
    { name: 'cover', weight: 6, can: () => this.modelWith('covers') !== null, act: () => this.endCover() },
    { name: 'remap', weight: 6, can: () => this.modelWith('remaps') !== null, act: () => this.endRemap() },
    { name: 'protect', weight: 1, can: () => !this.closing && this.memories.length > 0, act: () => this.protect() },
    {
      name: 'clone',
      weight: 1,
      can: () => !this.closing && this.memories.length > 0 && this.memories.length < 5,
      act: () => this.clone(),
    },
    { name: 'pin', weight: 1, can: () => !this.closing && this.memories.length > 0, act: () => this.pin() },
    { name: 'unpin', weight: 1, can: () => this.memories.some(isPinned), act: () => this.unpin() },
    { name: 'grow', weight: 1, can: () => !this.closing && this.memories.length > 0, act: () => this.grow() },
    { name: 'hold', weight: 2, can: () => !this.closing && this.memories.length > 0, act: () => this.hold() },
    { name: 'let go', weight: 2, can: () => this.holds.length > 0, act: () => this.letGo() },
    {
      name: 'write back',
      weight: 2,
      can: () => !this.closing && this.memories.some(isProvided),
      act: () => this.writeBack(),
    },
    {
      name: 'go on writing back',
      weight: 6,
      can: () => this.writeBacks.some(isMoving),
      act: () => this.goOnWritingBack(),
    },
    { name: 'drop', weight: 0.7, can: () => !this.closing && this.memories.some(isProvided), act: () => this.drop() },
    { name: 'launch', weight: 5, can: () => !this.closing && this.idleDevice() !== -1, act: () => this.launch() },
    { name: 'end launch', weight: 6, can: () => this.launches.some(isOver), act: () => this.endLaunch() },
    { name: 'detach', weight: 0.3, can: () => !this.closing && this.idleDevice() !== -1, act: () => this.detach() },
    {
      name: 'kill',
      weight: 0.3,
      can: () => !this.closing && this.anyDevice() !== -1,
      act: () => this.kill(this.anyDevice()),
    },
    { name: 'fulfil a sentence', weight: 20, can: () => this.condemned.size > 0, act: () => this.fulfil() },
    {
      name: 'add a device',
      weight: 0.6,
      can: () => !this.closing && this.deviceCount() < 2,
      act: () => this.addDevice(this.random.chance(0.5)),
    },
    { name: 'run a thread', weight: 12, can: () => this.anyThread('running') !== null, act: () => this.runThread() },
    { name: 'fall asleep', weight: 4, can: () => this.anyThread('falling') !== null, act: () => this.fallAsleep() },
    { name: 'deliver a fault', weight: 8, can: () => this.messages.length > 0, act: () => this.deliver() },
    { name: 'acknowledge', weight: 6, can: () => this.modelWith('revokes') !== null, act: () => this.acknowledge() },
    { name: 'end late readers', weight: 5, can: () => this.lateDevice() !== null, act: () => this.endLate() },
    {
      name: 'lose the store',
      weight: 0.2,
      can: () => !this.closing && this.store !== NO_NODE && !this.storeLeaves && !this.plots.chains,
      act: () => this.loseStore(),
    },
    {
      name: 'fill the store',
      weight: 0.6,
      can: () => this.fills && this.hasStore(),
      act: () => this.fillStore(),
    },
    {
      name: 'have no room still',
      weight: 25,
      can: () => this.manager.waitsForRoom,
      act: () => this.haveNoRoom(),
    },
    {
      name: 'write a block',
      weight: 8,
      can: () => this.far !== NO_NODE && !this.closing && this.memories.length > 0,
      act: () => this.writeBlock(),
    },
    {
      name: 'go away, or come back',
      weight: 1,
      can: () => this.far !== NO_NODE && !this.closing,
      act: () => this.goAway(),
    },
    {
      name: 'bring what is not as it was',
      weight: 12,
      can: () => this.plots.storeFails && this.spoiledStore() !== null,
      act: () => this.bringSpoiled(),
    },
    { name: 'end a copy', weight: 7, can: () => this.modelWith('pendingCopies') !== null, act: () => this.endCopy() },
    { name: 'next piece', weight: 10, can: () => this.router.busy, act: () => this.nextPieces() },
    {
      name: DEVICE_GOES_ON,
      weight: 8,
      can: () => !this.resting && this.simulated() !== null,
      act: () => this.progress(),
    },
    { name: 'take back', weight: 5, can: () => this.sources.returns.length > 0, act: () => this.sources.endReturn() },
    {
      name: 'take back again',
      weight: 1,
      can: () => this.refusing.size > 0,
      act: () => this.endRefusal(),
    },
    { name: 'provide', weight: 5, can: () => this.sources.provisions.length > 0, act: () => this.sources.endOne() },
    {
      name: 'spoil',
      weight: 4,
      can: () => this.spoils && !this.closing && this.memories.some(isProvided),
      act: () => this.spoil(),
    },
    {
      name: 'clone more',
      weight: 8,
      can: () => this.breeds && !this.closing && this.memories.length > 0 && this.memories.length < 7,
      act: () => this.clone(),
    },
    {
      name: 'empty more',
      weight: 4,
      can: () => this.breeds && !this.closing && this.memories.length > 0,
      act: () => this.zero(),
    },
    {
      name: 'move',
      weight: 5,
      can: () => this.breeds && !this.closing && this.memories.length > 0 && this.memories.length < 7,
      act: () => this.move(),
    },
    {
      name: 'advise more',
      weight: 3,
      can: () => this.perils && !this.closing && this.memories.length > 0,
      act: () => this.advise(),
    },
    {
      name: 'kill more',
      weight: 0.6,
      can: () => (this.perils || this.plots.orphans) && !this.closing && this.anyDevice() !== -1,
      act: () => this.kill(this.anyDevice()),
    },
    {
      name: 'weave',
      weight: 6,
      can: () => this.plots.weaves && !this.closing && this.plots.line() !== null,
      act: () =>
        this.plots.weave(
          (_memory, first, count) => this.bring(first, count, HOST, Access.Read),
          (memory, first, count) => this.holdPages({ memory, first, count, access: Access.Write, device: this.host }),
        ),
    },
    {
      name: 'write what was cloned',
      weight: 10,
      can: () => this.plots.withholds && !this.closing && this.plots.cloned().length > 0,
      act: () =>
        this.plots.writeCloned((memory, first, count) =>
          this.holdPages({ memory, first, count, access: Access.Write, device: this.host }),
        ),
    },
    {
      name: 'resize the host',
      weight: 3,
      can: () => this.resizes && !this.closing,
      act: () => this.resizeHost(),
    },
    {
      name: 'bring for writing',
      weight: 8,
      can: () => this.overflows && !this.closing && this.memories.length > 0,
      act: () => this.fillHost(),
    },
    {
      name: 'share an array',
      weight: 4,
      can: () => this.plots.shares && !this.closing && this.others.memories.length < 2,
      act: () => this.others.share(),
    },
    {
      name: 'act for other machines',
      weight: 14,
      can: () => this.others.any && (this.others.isBusy || !this.closing),
      act: () => this.others.act(),
    },
    {
      name: 'launch more',
      weight: 8,
      can: () => this.plots.returns && !this.closing && this.idleDevice() !== -1,
      act: () => this.launch(),
    },
    {
      name: 'give back',
      weight: 3,
      can: () => this.plots.returns && !this.closing && this.plots.idle() !== null,
      act: () => this.giveBack(this.plots.idle() as Memory),
    },
    {
      name: 'take to a device',
      weight: 4,
      can: () =>
        (this.plots.orphans || (this.plots.strands && this.leaving.size === 0)) &&
        !this.closing &&
        this.memories.length > 0 &&
        this.anyDevice() !== -1,
      act: () => this.take(),
    },
    {
      name: 'add another device',
      weight: 2,
      can: () => (this.plots.orphans || this.plots.strands) && !this.closing && this.deviceCount() < 2,
      act: () => this.addDevice(true),
    },
    {
      name: 'detach more',
      weight: 2,
      can: () => this.plots.strands && !this.closing && this.leaving.size === 0 && this.idleDevice() !== -1,
      act: () => this.detach(),
    },
    {
      name: 'need what is stranded',
      weight: 12,
      can: () => this.plots.strands && !this.closing && this.leaving.size > 0 && this.memories.length > 0,
      act: () => this.need(),
    },
  ];

  private event(): boolean {
    this.strand();
    let total = 0;
    for (const action of this.actions) if (action.can()) total += action.weight;
    if (total === 0) return false;
    let at = (this.random.next() / 0x1_0000_0000) * total;
    for (const action of this.actions) {
      if (!action.can()) continue;
      at -= action.weight;
      if (at >= 0) continue;
      this.perform(action.name, action.act);
      return true;
    }
    return true;
  }

  /** In the plot that strands what devices have that leave, hardly a copy succeeds meanwhile. */
  private strand(): void {
    if (this.plots.strands && !this.closing) this.weather.copyFailure = this.leaving.size > 0 ? STRANDING : FAIR;
  }

  private perform(name: string, act: () => void): void {
    this.step++;
    this.since = this.step - 1;
    this.current = name;
    this.gaveUp = false;
    if (name !== DEVICE_GOES_ON) this.resting = false;
    this.trace(() => `${this.step} ${name}`);
    act();
    for (let action = this.later.shift(); action !== undefined; action = this.later.shift()) {
      this.resting = false;
      action();
    }
    try {
      checkInvariants(this.manager.state);
    } catch (error) {
      this.trace(() => `  ${this.stuckBlocks()}`);
      throw error;
    }
    this.audit.drivers();
    this.audit.invalidations();
    this.endInvalidations();
    this.audit.lost();
    if (this.step % 16 === 0) {
      this.audit.contents();
      this.audit.inheritedLosses();
      this.audit.advice();
    }
    for (const [node, most] of this.full)
      if ((this.manager.node(node)?.backedPages ?? 0) > most)
        throw new Error('pages are sent to a store that has no room for them');
    if (this.store !== NO_NODE && this.holdsAny()) this.lastHeld = this.step;
    if (this.drainedAny && this.leaving.size === 0) this.mayBeLost.clear();
    this.drainedAny = false;
  }

  /** Lets everything that was begun end, in fair weather. */
  private settle(): void {
    this.closing = true;
    this.weather.noMemory = 0;
    this.weather.copyFailure = 0;
    this.sources.failure = 0;
    this.sources.returnFailure = 0;
    this.sources.withheld = 0;
    this.fairWeather();
    for (let guard = 0; this.busy(); guard++) {
      if (!this.event()) break;
      if (guard > 50_000) throw new Error(`it never comes to rest: ${this.waiting()}; ${this.stuckBlocks()}`);
    }
    const waiting = this.waiting();
    if (waiting !== '')
      throw new Error(`nothing happens any more, and yet there wait: ${waiting}; ${this.stuckBlocks()}`);
  }

  private fairWeather(): void {
    this.manager.setBudget(HOST_NODE, this.host.description.budgetPages);
    while (this.refusing.size > 0) this.endRefusal();
    for (const node of this.full.keys())
      if (this.manager.state.nodes[node] !== undefined) this.manager.nodeFull(node, null);
    this.full.clear();
    for (const device of this.stores) {
      if (!(device instanceof WatchedDevice)) continue;
      device.away = false;
      device.copies.mishaps.refuseLargerThanPages = Number.POSITIVE_INFINITY;
      device.copies.mishaps.refusals = 0;
      device.copies.mishaps.failures = 0;
    }
  }

  private busy(): boolean {
    return (
      this.waiting() !== '' ||
      this.messages.length > 0 ||
      this.router.busy ||
      this.sources.provisions.length + this.sources.returns.length > 0
    );
  }

  /** Threads, requests and launches that have not got what they asked for. */
  private waiting(): string {
    const list: string[] = [];
    for (const device of this.devices) {
      if (!(device instanceof ModelDevice)) continue;
      for (const thread of device.threads) {
        if (thread.page !== -1) list.push(`thread ${thread.id} of ${device.description.name} for page ${thread.page}`);
      }
      if (device.revokes.length + device.pendingCopies.length + device.remaps.length + device.covers.length > 0)
        list.push(`${device.description.name} has work left`);
    }
    for (const device of this.stores)
      if (device instanceof WatchedDevice && device.late.length > 0)
        list.push(`${device.description.name} for ${device.late.length} late readers`);
    if (this.spoiledStore() !== null) list.push('the store for pages that are not as they were');
    if (this.storeLeaves) list.push('the store that is to go');
    if (this.manager.state.breaks > 0) list.push(`${this.manager.state.breaks} copies for clones`);
    if (this.others.isBusy) list.push('other machines');
    if (this.invalidations.length > 0) list.push(`${this.invalidations.length} invalidations`);
    if (this.requests.size > 0) list.push(`${this.requests.size} requests`);
    for (const launch of this.launches) list.push(`launch ${launch.id} (${launch.state})`);
    if (this.holds.length > 0) list.push(`${this.holds.length} holds`);
    if (this.writeBacks.length > 0) list.push(`${this.writeBacks.length} runs to be written back`);
    if (this.condemned.size > 0) list.push('a device is condemned');
    return list.join(', ');
  }

  private stuckBlocks(): string {
    const list: string[] = [];
    for (const block of this.manager.state.va.blocks.values()) {
      const tasks = block.tasks.map(
        ({ kind, node, processor, access, hold, request }) =>
          `${kind} to ${node === NO_NODE ? `processor ${processor}` : `node ${node}`} with ${access}${hold ? ' held' : ''} for ${request}`,
      );
      const holds = block.residences.map((residence) => residence?.holds.length ?? 0);
      if (tasks.length > 0)
        list.push(`block ${block.index} has ${tasks.join(', ')}; holds ${holds.join(' ')}; ${block.operation?.kind}`);
    }
    const { activeOperations, dependentOperations, holds, breaks, quarantines } = this.manager.state;
    list.push(
      `${activeOperations} operations, ${dependentOperations} of them dependent, ${holds} holds, ${breaks} copies for clones, ${quarantines} in quarantine`,
    );
    for (const node of this.manager.state.nodes)
      if (node !== undefined)
        list.push(
          `node ${node.id} has ${node.backedPages} of ${node.budgetPages} pages, ${node.leavingPages} leave, ${node.waiters.size} wait`,
        );
    return list.join('; ');
  }

  private freeAll(): void {
    for (const memory of this.memories) {
      if (memory.pinned !== null) this.unpinMemory(memory);
      if (memory.frees > 0) continue;
      this.perform('free all', () => this.giveBack(memory));
    }
    this.settle();
    for (const memory of [...this.memories]) {
      if (memory.range.freedPages < memory.range.pages) {
        this.perform('free the rest', () => this.giveBack(memory));
      }
    }
    this.settle();
    while (this.memories.length > 0) {
      this.perform('recycle all', () => {
        const [{ range }] = this.memories;
        this.clones.remove(range);
        if (!this.manager.recycle(range)) throw new Error('a freed range cannot be used again');
        this.memories.shift();
      });
    }
    this.settle();
    if (this.leaving.size > 0) throw new Error('a device that was to leave is still there');
    for (const [node, device] of this.stores.entries()) {
      if (device === undefined) continue;
      const left = device instanceof ModelDevice ? device.backedPages : this.audit.mapped(device);
      const counted = this.manager.state.nodes[node]?.backedPages;
      if (left !== 0 || counted !== 0)
        throw new Error(`everything is freed, and node ${node} has ${left} pages, by count ${counted}`);
    }
    if (!this.staging.isIdle) throw new Error('memory that pages go over from store to store is left in use');
    if (this.manager.state.holds !== 0) throw new Error(`${this.manager.state.holds} holds are left`);
    if (this.manager.state.requests.size !== 0) throw new Error('requests are left');
  }

  // --- devices ---------------------------------------------------------------------------------------------------

  private addModel(about: { name: string; budgetPages: number; units: number; memorySurvives: boolean }): ModelDevice {
    const description = { ...about, frames: 'identity', faults: true, addressable: true, remoteAccess: true } as const;
    const home = this.devices[HOST] === undefined ? NO_NODE : HOST_NODE;
    const { processor: id, node } = this.manager.addDevice(description, home);
    const device = new ModelDevice(id, node, description, PAGES, this);
    this.devices[id] = device;
    this.stores[node] = device;
    this.router.attach(id, node, device);
    return device;
  }

  /** A processor without memory of its own: it reaches the host's in place. */
  private addNeighbour(): void {
    const units = this.whims.between(1, 2);
    const { description: host } = this.host;
    // Each of its threads needs a block of the host's memory, as the host's own do.
    if (host.budgetPages < (host.units + units + 1) * PAGES_PER_BLOCK) return;
    const about = { name: 'neighbour', budgetPages: 0, units, memorySurvives: true };
    const description = { ...about, frames: 'identity', faults: true, addressable: true } as const;
    const id = this.manager.addProcessor(description);
    const device = new ModelDevice(id, NO_NODE, description, PAGES, this);
    this.devices[id] = device;
    this.router.attachProcessor(id, device);
  }

  /** A memory that nobody runs on, where the pages of another one go when it makes room. */
  private addStore(before: NodeId): NodeId {
    // One that has another behind it is to send on much of what it gets.
    const sends = this.plots.chains && before === HOST_NODE;
    const device = this.simulatedDevice('store', this.whims.between(sends ? 40 : 600, sends ? 800 : 4000), {
      fault: () => {},
      revoked: () => {},
      released: () => {},
      transferred: (token, status) => this.router.completed(token, status),
      launched: () => {},
      died: () => {},
    });
    const node = this.manager.addNode({ ...device.description, memorySurvives: this.whims.chance(0.5) });
    this.manager.setHome(before, node);
    this.stores[node] = device;
    this.router.attachNode(node, device);
    if (this.plots.storeFails) device.spoils = () => this.whims.chance(0.1);
    if (this.weather.noMemory > 0) device.copies.mishaps.refuseLargerThanPages = this.whims.pick([1, 5, 16, 64]);
    return node;
  }

  usedPages(): number {
    const all = [...this.memories, ...this.others.memories];
    return all.reduce((sum, { range }) => sum + range.pages, 0);
  }

  /** Pages that the host can hold, and send on. */
  get hostPages(): number {
    return this.host.description.budgetPages + this.storePages;
  }

  private get storePages(): number {
    if (this.store === NO_NODE || this.storeLeaves) return 0;
    const { nodes } = this.manager.state;
    return (nodes[this.store]?.budgetPages ?? 0) + (nodes[this.far]?.budgetPages ?? 0);
  }

  private hasStore(): boolean {
    return !this.closing && this.store !== NO_NODE && !this.storeLeaves;
  }

  private haveNoRoom(): void {
    this.timesWithoutRoom++;
    this.manager.stillNoRoom();
    for (const processor of this.manager.state.processors)
      if (processor !== undefined && processor.waited > PATIENCE && processor.waited !== REFUSED)
        throw new Error(`processor ${processor.id} waits for room for ever`);
  }

  /** A store finds no room for what its budget allows, or has room again. */
  private fillStore(): void {
    const node = this.far !== NO_NODE && this.whims.chance(0.5) ? this.far : this.store;
    if (!this.isAway(node)) this.setFull(node, !this.full.has(node));
  }

  /** The far store does not answer, so that nothing can be read or written there, or does again. */
  private goAway(): void {
    const device = this.stores[this.far] as WatchedDevice;
    device.away = !device.away;
    this.everAway = true;
    this.trace(() => `  node ${this.far} is ${device.away ? 'away' : 'back'}`);
    this.setFull(this.far, device.away);
  }

  private isAway(node: NodeId): boolean {
    const device = this.stores[node];
    return device instanceof WatchedDevice && device.away;
  }

  private setFull(node: NodeId, full: boolean): void {
    const backedPages = this.manager.node(node)?.backedPages ?? 0;
    if (full) this.full.set(node, backedPages);
    else this.full.delete(node);
    // What was allocated need not fit any more.
    this.tight = true;
    this.everFull = true;
    const pages = full ? this.whims.below(backedPages + 1) : null;
    this.trace(() => `  node ${node} can take ${pages ?? 'all'} pages`);
    this.manager.nodeFull(node, pages);
  }

  /** A store that is about to give pages that are not what was sent there. */
  private spoiledStore(): WatchedDevice | null {
    for (const node of [this.store, this.far]) {
      const device = this.stores[node];
      if (device instanceof WatchedDevice && device.spoiled.length > 0) return device;
    }
    return null;
  }

  /** A page comes back from the store other than it was sent there, which the driver notices. */
  private bringSpoiled(): void {
    const [{ token, count }] = this.spoiledStore()?.spoiled.splice(0, 1) ?? [];
    const { source, first } = this.router.orderOf(token);
    const page = first + this.whims.below(count);
    this.trace(() => `  page ${page} comes back from node ${source} as another one`);
    this.audit.noteSoleCopies(source, page);
    this.manager.spoiled(source, page, 1);
    this.router.completed(token, Status.Failed);
  }

  /** The store behind the host is taken away, or dies. */
  private loseStore(): void {
    const node = this.store;
    this.storeLeaves = true;
    // What was allocated while it was there need not fit any more.
    this.tight = true;
    if (this.whims.chance(0.5)) {
      this.trace(() => `  node ${node} is to leave`);
      this.manager.removeNode(node);
      return;
    }
    const survives = this.manager.state.nodes[node]?.description.memorySurvives === true;
    this.trace(() => `  node ${node} dies${survives ? ', and can be read' : ''}`);
    if (!survives) {
      const device = this.stores[node] as WatchedDevice;
      device.lose('killed');
      this.endAllLate(device);
      for (const { token } of device.spoiled.splice(0)) this.router.completed(token, Status.Lost);
      this.audit.noteSoleCopies(node);
    }
    this.manager.nodeLost(node);
  }

  private storeEmptied(node: NodeId): void {
    this.trace(() => `  node ${node} is empty`);
    if (node !== this.store || !this.storeLeaves) throw new Error(`node ${node} is emptied, which nobody asked for`);
    this.store = NO_NODE;
    // The next node may have its number.
    this.full.delete(node);
    this.storeLeaves = false;
    // Its number may be that of another node next.
    this.full.delete(node);
    this.drainedAny = true;
    // What every copy of has failed cannot come home.
    if (this.mayGiveUp) this.gaveUp = true;
    this.expectNoReaders(this.stores[node]);
    this.router.detachNode(node);
    this.stores[node] = undefined;
  }

  private addDevice(process: boolean): void {
    const { random } = this;
    if (process) {
      const units = random.between(1, 2);
      const budgetPages = PAGES_PER_BLOCK * (units + 1 + random.pick([0, 0, 3])) + random.below(PAGES_PER_BLOCK);
      this.addModel({ name: 'process', budgetPages, units, memorySurvives: !this.lossy });
      return;
    }
    const device = this.simulatedDevice('simulated', random.between(300, 1500), {
      fault: () => {},
      revoked: () => {},
      released: () => {},
      transferred: (token, status) => this.router.completed(token, status),
      launched: (id, failure) => {
        const launch = this.launches.find((each) => each.id === id);
        if (launch === undefined) return;
        launch.state = 'over';
        if (failure?.code === 'KERNEL_ERROR') throw new Error(failure.message);
        if (failure?.code === 'ACCESS_DENIED' && !launch.args.some((argument) => this.mayBeDenied(argument))) {
          throw new Error(`launch ${id} was denied what it should have: ${failure.message}`);
        }
      },
      died: () => {},
    });
    const { processor: id, node } = this.manager.addDevice(device.description);
    this.devices[id] = device;
    this.stores[node] = device;
    this.router.attach(id, node, device);
    if (this.weather.noMemory > 0) device.copies.mishaps.refuseLargerThanPages = random.pick([1, 5, 16, 64]);
  }

  private simulatedDevice(name: string, pages: number, events: DriverEvents): WatchedDevice {
    const bytes: ByteAccess = {
      read: (address, target) =>
        this.readWords(address, new Uint32Array(target.buffer, target.byteOffset, target.length / 4)),
      write: (address, source) =>
        this.writeWords(address, new Uint32Array(source.buffer, source.byteOffset, source.length / 4)),
    };
    const loadKernel =
      (code: KernelCode): CallableKernel =>
      (args) =>
        this.kernel(Number(code.kind === 'inline' ? code.source : -1), args);
    const device = new WatchedDevice({ name, budgetPages: pages, bytes, loadKernel, events }, PAGE_BYTES);
    device.isLate = () => this.whims.chance(this.weather.later / 2);
    return device;
  }

  /** Nothing of the device reads its memory any more, which is gone. */
  private endAllLate(device: WatchedDevice): void {
    for (const { token } of device.late.splice(0)) this.manager.released(token);
  }

  /** Frames that something may still read do not go. */
  private expectNoReaders(device: ModelDevice | WatchedDevice | undefined): void {
    if (device instanceof WatchedDevice && device.late.length > 0)
      throw new Error(`${device.description.name} goes while ${device.late.length} of its releases have late readers`);
  }

  private endLate(): void {
    const device = this.lateDevice() as WatchedDevice;
    const token = device.endLate(this.whims.below(device.late.length));
    this.trace(() => `  release ${token} is through`);
    this.manager.released(token);
  }

  private lateDevice(): WatchedDevice | null {
    for (const device of this.stores) if (device instanceof WatchedDevice && device.late.length > 0) return device;
    return null;
  }

  private mayBeDenied(argument: Argument): boolean {
    if (argument.use !== 'in' && !argument.memory.range.writable) return true;
    for (let page = argument.first; page < argument.first + argument.count; page++) {
      if (this.rights[page] < Access.Write || this.changing[page] > 0 || argument.memory.pinned !== null) return true;
      if (this.freed[page] !== 0 || this.fuzzy[page] !== 0 || this.audit.isLost(page)) return true;
    }
    return false;
  }

  private deviceCount(): number {
    let count = 0;
    for (const device of this.devices) if (device !== undefined) count++;
    return count - 1;
  }

  private anyDevice(): ProcessorId {
    for (let at = 0; at < this.devices.length; at++) {
      const id = (this.step + at) % this.devices.length;
      if (id !== HOST && this.devices[id] !== undefined && !this.isDead(id)) return id;
    }
    return -1;
  }

  /** A device that no launch runs on. */
  private idleDevice(): ProcessorId {
    for (let at = 0; at < this.devices.length; at++) {
      const id = (this.step + at) % this.devices.length;
      if (id === HOST || this.devices[id] === undefined || this.leaving.has(id) || this.isDead(id)) continue;
      if (!this.launches.some((launch) => launch.device === this.devices[id])) return id;
    }
    return -1;
  }

  private isDead(id: ProcessorId): boolean {
    return this.manager.state.processors[id]?.state === 'dead' || this.condemned.has(id);
  }

  private simulated(): WatchedDevice | null {
    for (const device of this.stores) if (device instanceof WatchedDevice) return device;
    return null;
  }

  private detach(): void {
    const id = this.idleDevice();
    this.trace(() => `  detach ${id}`);
    this.leaving.add(id);
    this.strand();
    this.manager.detach(id);
  }

  private kill(id: ProcessorId): void {
    const device = this.devices[id];
    if (device === undefined) return;
    this.trace(() => `  device ${id} dies`);
    this.condemned.delete(id);
    this.leaving.add(id);
    if (device instanceof WatchedDevice) {
      device.lose('killed');
      this.endAllLate(device);
    } else {
      device.die();
      for (const { token } of device.revokes.splice(0)) this.manager.revoked(token);
      for (const { token } of device.remaps.splice(0)) this.manager.revoked(token);
      for (const { token } of device.covers.splice(0)) this.manager.revoked(token);
      for (const copy of device.pendingCopies.splice(0)) {
        device.abandon(copy);
        this.router.completed(copy.token, Status.Lost);
      }
    }
    for (const launch of this.launches)
      if (launch.device === device && launch.state === 'running') launch.state = 'over';
    // It was leaving, and the last frames that were still read were all that was left of it.
    if (this.devices[id] !== device) {
      this.manager.processorLost(id);
      return;
    }
    if (!device.description.memorySurvives) this.audit.noteSoleCopies(this.nodeOf(id));
    this.manager.processorLost(id);
    if (device instanceof ModelDevice && !device.description.memorySurvives) device.lose();
  }

  private fulfil(): void {
    const [id] = this.condemned;
    this.kill(id);
  }

  private drained(id: ProcessorId): void {
    this.trace(() => `  drained ${id}`);
    if (!this.leaving.delete(id)) throw new Error(`processor ${id} is drained, which nobody asked for`);
    this.condemned.delete(id);
    this.drainedAny = true;
    // What every copy of has failed cannot come home.
    if (this.mayGiveUp) this.gaveUp = true;
    const device = this.devices[id];
    if (device instanceof ModelDevice && !device.gone && device.backedPages > 0) {
      throw new Error(`processor ${id} is drained and has ${device.backedPages} pages left`);
    }
    this.expectNoReaders(device);
    const node = this.stores.indexOf(device);
    this.devices[id] = undefined;
    if (node === -1) this.router.detachProcessor(id);
    else {
      this.stores[node] = undefined;
      this.router.detach(id, node);
    }
  }

  /** The device's own memory. */
  private nodeOf(id: ProcessorId): NodeId {
    return this.stores.indexOf(this.devices[id]);
  }

  private nextPieces(): void {
    for (let count = this.random.between(1, this.pieces); count > 0; count--) this.router.step();
  }

  private progress(): void {
    for (let count = this.random.between(1, this.pieces); count > 0; count--) this.progressOnce();
  }

  private progressOnce(): void {
    this.resting = true;
    for (const device of this.stores) {
      if (!(device instanceof WatchedDevice)) continue;
      if (this.weather.copyFailure > 0 && this.random.chance(this.weather.copyFailure))
        device.copies.mishaps.failures = 1;
      if (this.weather.noMemory > 0 && this.random.chance(this.weather.noMemory)) device.copies.mishaps.refusals = 1;
      if (device.progress()) this.resting = false;
    }
  }

  // --- programs --------------------------------------------------------------------------------------------------

  private allocate(): void {
    const { random } = this;
    const sizes = this.overflows || this.plots.returns ? [300, 512, 700] : this.breeds ? [1, 7, 40, 100] : null;
    let pages = this.walks
      ? 2048
      : random.pick(sizes ?? (this.heavy ? [300, 512, 700, 1024, 1024, 1536, 1536] : [1, 7, 40, 300, 512, 700]));
    const used = this.usedPages();
    // Unless the schedule is about want of memory, the host can hold everything, so that want must not be heard of.
    if (!this.tight) pages = Math.min(pages, this.hostPages - used);
    if (pages <= 0) return;
    const provided = random.chance(this.spoils ? 0.7 : 0.3) || this.overflows;
    const writable = !provided || random.chance(0.8);
    // Some are to grow later; with little memory they are promised nothing.
    const reserved = random.chance(0.3) ? pages + random.between(1, 600) : pages;
    const takesBack = provided && writable && (this.overflows || (this.returns && this.choices.chance(0.5)));
    const range = this.manager.allocate(pages, { name: 'a', provided, writable, takesBack }, reserved);
    if (range === null) return;
    if (random.chance(0.4)) this.manager.watch(range, 1);
    this.trace(() => `  range ${range.first}+${pages}${provided ? ' provided' : ''}${writable ? '' : ' read-only'}`);
    for (let page = range.first; page < range.first + pages; page++) {
      this.sources.file[page] = providedValue(page);
      this.shadow[page] = provided ? this.sources.file[page] : 0;
    }
    this.begin(range, writable);
    this.memories.push(newMemory(range, null));
    if (this.plots.returns) this.manager.advise(range, 0, pages, { accessedBy: this.living() });
  }

  /** Forgets what was known of these addresses. */
  begin(range: Range, writable: boolean): void {
    const end = range.first + range.reserved;
    for (const marks of [this.fuzzy, this.freed, this.perhapsEmpty, this.changing]) marks.fill(0, range.first, end);
    this.announcements.begin(range.first, end);
    this.sources.begin(range.first, end);
    this.rights.fill(writable ? Access.Write : Access.Read, range.first, end);
    for (let page = range.first; page < end; page++) this.mayBeLost.delete(page);
  }

  private usable(): Memory | null {
    const memory = this.random.pick(this.memories);
    return memory.exclusive ? null : memory;
  }

  private pages(memory: Memory): [first: number, count: number] {
    const { range } = memory;
    if (this.walks || this.random.chance(this.heavy ? 0.6 : 0.1)) return [range.first, range.pages];
    const first = this.random.chance(0.5) ? 0 : this.random.below(range.pages);
    return [range.first + first, this.random.between(1, range.pages - first)];
  }

  private ask(ending: Ending, mayNotFit = false): number {
    const id = this.nextRequest++;
    this.requests.set(id, ending);
    this.askedAt.set(id, this.step);
    if (mayNotFit) this.mayNotFit.add(id);
    return id;
  }

  private requestDone(id: number, pages: number, failure: DenyReason | null): void {
    this.trace(() => `  request ${id} is done: ${pages} pages, ${failure}`);
    if (id > 0 && id < FIRST_REQUEST) {
      this.later.push(() => this.cloneRequests.finished(id, pages, failure));
      return;
    }
    const ending = this.requests.get(id);
    if (ending === undefined) throw new Error(`request ${id} is done twice, or was never made`);
    this.requests.delete(id);
    // What kept memory from the request may have ended by now, as the event before this one may have ended what kept it from a fault.
    this.since = this.askedAt.get(id) ?? this.step - 1;
    this.askedAt.delete(id);
    const wants = failure === 'OUT_OF_MEMORY' || (failure === 'OUT_OF_STORAGE' && this.everFull);
    if (failure !== null && !(wants && this.mayNotFit.has(id))) this.reasons.ofRequest(failure);
    this.since = this.step - 1;
    ending(pages, failure);
  }

  private free(): void {
    const memory = this.random.pick(this.memories);
    if (memory.exclusive || memory.pinned !== null) return;
    if (this.random.chance(0.4)) this.giveBack(memory);
    else this.freePages(memory, ...this.pages(memory));
  }

  private giveBack(memory: Memory): void {
    this.freePages(memory, memory.range.first, memory.range.pages);
  }

  private freePages(memory: Memory, first: number, count: number): void {
    memory.frees++;
    memory.freesLeft++;
    for (let page = first; page < first + count; page++) this.fuzzy[page]++;
    const request = this.ask((_, failure) => {
      if (failure !== null) throw new Error(`freeing failed: ${failure}`);
      for (let page = first; page < first + count; page++) {
        this.fuzzy[page]--;
        this.freed[page] = 1;
        this.shadow[page] = 0;
        this.announcements.checkFreed(page);
      }
      memory.freesLeft--;
    });
    this.trace(() => `  request ${request}: free ${first}+${count}`);
    this.manager.free(request, first, count);
  }

  private recycle(): void {
    const index = this.memories.findIndex(isRecyclable);
    const { range } = this.memories[index];
    this.trace(() => `  recycle ${range.first}+${range.pages}`);
    if (this.memories.some((memory) => memory.source === this.memories[index])) return;
    this.clones.remove(range);
    if (this.manager.recycle(range)) this.memories.splice(index, 1);
  }

  private zero(): void {
    const memory = this.random.pick(this.memories);
    if (memory.exclusive || memory.users > 0 || memory.frees > 0) return;
    const [first, count] = this.pages(memory);
    if (!this.mayWriteAll(first, count)) return;
    memory.exclusive = true;
    for (let page = first; page < first + count; page++) this.fuzzy[page]++;
    const asked = this.step;
    const request = this.ask((_, failure) => {
      memory.exclusive = false;
      if (failure !== null) throw new Error(`emptying failed: ${failure}`);
      this.emptied(first, count, asked);
    });
    this.trace(() => `  request ${request}: zero ${first}+${count}`);
    this.manager.zero(request, first, count);
  }

  private emptied(first: number, count: number, asked: number): void {
    for (let page = first; page < first + count; page++) this.forgotten(page, 0, asked);
  }

  /** Since the event `asked` the page has lost its content, and gives `value`. */
  private forgotten(page: number, value: number, asked: number): void {
    // A launch that failed may have emptied it before.
    if (this.perhapsEmpty[page] === 0) this.announcements.checkForgotten(page, this.shadow[page], value, asked);
    this.fuzzy[page]--;
    this.perhapsEmpty[page] = 0;
    this.shadow[page] = value;
    this.healed[page] = this.step;
  }

  private advise(): void {
    const { range } = this.random.pick(this.memories);
    const { random } = this;
    const first = PAGES_PER_BLOCK * random.below(Math.ceil(range.pages / PAGES_PER_BLOCK));
    const end = Math.max(first + 1, Math.min(range.pages, first + PAGES_PER_BLOCK * random.between(1, 3)));
    const change = this.perils
      ? { accessedBy: this.living() }
      : random.pick<Partial<Advice>>([
          { readMostly: random.chance(0.5) },
          { preferred: random.between(-1, 2) },
          { accessedBy: random.pick([0, 2, 6, 6]) },
          { accessedBy: random.pick([0, 2, 6, 6]) },
          { pattern: random.pick(['normal', 'sequential', 'random'] as const) },
        ]);
    this.trace(() => `  advise ${range.first + first} to ${range.first + end}: ${JSON.stringify(change)}`);
    this.manager.advise(range, first, end, change);
  }

  /** A bit for each device that is there. */
  private living(): number {
    let bits = 0;
    for (let id = 1; id < this.devices.length; id++)
      if (this.manager.state.processors[id]?.state === 'alive') bits |= 1 << id;
    return bits;
  }

  private endRemap(): void {
    const device = this.modelWith('remaps') as ModelDevice;
    const [{ token, block, on }] = device.remaps.splice(this.random.below(device.remaps.length), 1);
    device.switchBlock(block, on);
    this.trace(() => `  switch ${token} is through`);
    this.manager.revoked(token);
  }

  private endCover(): void {
    const device = this.modelWith('covers') as ModelDevice;
    const [{ token, page }] = device.covers.splice(this.random.below(device.covers.length), 1);
    device.coverPage(page);
    this.trace(() => `  page ${page} of ${device.description.name} is covered`);
    this.manager.revoked(token);
  }

  *models(): Iterable<ModelDevice> {
    for (const device of this.devices) if (device instanceof ModelDevice) yield device;
  }

  private mayWriteAll(first: number, count: number): boolean {
    for (let page = first; page < first + count; page++)
      if (this.rights[page] < Access.Write || this.changing[page] > 0) return false;
    return true;
  }

  private protect(): void {
    const memory = this.random.pick(this.memories);
    if (memory.exclusive) return;
    const [first, count] = this.pages(memory);
    const most = memory.range.writable ? Access.Write : Access.Read;
    const access = Math.min(most, this.random.pick([Access.None, Access.Read, Access.Write, Access.Write])) as Access;
    for (let page = first; page < first + count; page++) {
      // Requests of a block are carried out in their order, but those of several may overlap in part.
      if (this.changing[page] > 0) return;
    }
    for (let page = first; page < first + count; page++) this.changing[page]++;
    const request = this.ask((_, failure) => {
      if (failure !== null) throw new Error(`protection failed: ${failure}`);
      for (let page = first; page < first + count; page++) {
        this.changing[page]--;
        this.rights[page] = access;
      }
    });
    this.trace(() => `  request ${request}: protect ${first}+${count} to ${access}`);
    this.manager.protect(request, first, count, access);
  }

  private clone(): void {
    const memory = this.usable();
    if (memory === null || memory.users > 0 || memory.frees > 0) return;
    const { range } = memory;
    const used = this.usedPages();
    if (!this.tight && range.pages + used > this.hostPages) return;
    for (let page = range.first; page < range.first + range.pages; page++) {
      if (this.rights[page] === Access.None || this.changing[page] > 0 || this.fuzzy[page] > 0) return;
    }
    const made = this.manager.allocate(range.pages, { name: 'clone', provided: true, writable: true, derived: true });
    if (made === null) return;
    this.trace(() => `  range ${made.first}+${made.pages} is a clone of ${range.first}+${range.pages}`);
    this.begin(made, true);
    memory.exclusive = true;
    this.parents.set(made, range);
    this.clones.add(range, made, (failure) => {
      if (failure !== null) throw new Error(`cloning failed: ${failure}`);
      memory.exclusive = false;
      this.inherit(memory, made);
    });
  }

  private inherit(memory: Memory, made: Range): void {
    const { first } = memory.range;
    for (let at = 0; at < memory.range.pages; at++) {
      this.shadow[made.first + at] = this.shadow[first + at];
      this.perhapsEmpty[made.first + at] = this.perhapsEmpty[first + at];
    }
    this.shadow.fill(0, made.first + memory.range.pages, made.first + made.pages);
    this.memories.push(newMemory(made, memory));
  }

  /** What a resize does that has no addresses left: the new place is a clone of the old one, which is given back. */
  private move(): void {
    const memory = this.usable();
    if (memory === null || memory.users > 0 || memory.frees > 0 || memory.pinned !== null) return;
    const { range } = memory;
    const pages = range.pages + this.random.between(0, 20);
    const used = this.usedPages();
    if (!this.tight && pages + used > this.hostPages) return;
    for (let page = range.first; page < range.first + range.pages; page++)
      if (this.rights[page] === Access.None || this.changing[page] + this.fuzzy[page] > 0) return;
    const made = this.manager.allocate(pages, { name: 'moved', provided: true, writable: true, derived: true });
    if (made === null) return;
    this.trace(() => `  ${range.first}+${range.pages} moves to ${made.first}+${pages}`);
    this.begin(made, true);
    this.manager.blank(made.first + range.pages, pages - range.pages);
    memory.exclusive = true;
    this.parents.set(made, range);
    this.clones.add(range, made, () => {
      memory.exclusive = false;
      this.inherit(memory, made);
      this.freePages(memory, range.first, range.pages);
    });
  }

  /** The file of this page's array takes nothing more, for a while. */
  refuseReturns(page: number): void {
    const first = this.manager.state.va.rangeOfPage(page)?.first ?? page;
    this.trace(() => `  the file of ${first} takes nothing back`);
    this.refusing.add(first);
    this.tight = true;
    this.everFull = true;
    this.manager.providerRefuses(page, true);
  }

  private endRefusal(): void {
    for (const first of this.refusing) {
      this.trace(() => `  the file of ${first} takes pages back again`);
      this.refusing.delete(first);
      this.manager.providerRefuses(first, false);
      return;
    }
  }

  private spoil(): void {
    const memory = this.random.pick(this.memories.filter(isProvided));
    this.sources.spoil(...this.pages(memory));
  }

  /** The page, then those that it was cloned from at any time, the nearest first. */
  *lineage(page: number): Iterable<number> {
    const range = this.manager.state.va.rangeOfPage(page);
    if (range === undefined) yield page;
    const within = page - (range?.first ?? 0);
    for (let at = range; at !== undefined && within < at.pages; at = this.parents.get(at)) yield at.first + within;
  }

  /** Whether a launch that failed may have emptied the page, and nobody has looked since. */
  mayBeEmpty(page: number): boolean {
    return this.perhapsEmpty[page] === 1;
  }

  isPinned(page: number): boolean {
    return this.memories.some(({ pinned }) => pinned !== null && covers(pinned, page));
  }

  /** Where the content of a page of a clone comes from, or -1. */
  sourceOf(page: number): number {
    const range = this.manager.state.va.rangeOfPage(page);
    const source = range?.sources.at(page - range.first) ?? null;
    return range === undefined || source === null ? -1 : source.first + page - range.first;
  }

  private pin(): void {
    const memory = this.usable();
    if (memory === null || memory.frees > 0 || memory.pinned !== null) return;
    const [first, count] = this.pages(memory);
    memory.users++;
    const request = this.ask((_, failure) => {
      memory.users--;
      if (failure !== null) return;
      if (memory.frees === 0 && memory.pinned === null) {
        memory.pinned = [first, count];
        this.manager.pin(first, count, true);
      }
      this.manager.release(HOST_NODE, first, count, Access.Read);
    }, this.store !== NO_NODE);
    this.trace(() => `  request ${request}: pin ${first}+${count}`);
    this.manager.bring(request, HOST_NODE, first, count, Access.Read, { hold: true });
  }

  private unpin(): void {
    this.unpinMemory(this.memories.find(isPinned) as Memory);
  }

  private unpinMemory(memory: Memory): void {
    const [first, count] = memory.pinned as [number, number];
    memory.pinned = null;
    this.trace(() => `  unpin ${first}+${count}`);
    this.manager.pin(first, count, false);
  }

  /** Makes an array longer: by addresses that it has reserved, or by what it has given back at its end. */
  private grow(): void {
    const memory = this.random.pick(this.memories);
    const { range } = memory;
    if (memory.exclusive || memory.users > 0 || memory.freesLeft > 0 || memory.source !== null || range.provided)
      return;
    if (this.memories.some((each) => each.source === memory)) return;
    let from = range.pages;
    while (from > 0 && this.freed[range.first + from - 1] === 1) from--;
    for (let page = range.first + from; page < range.first + range.pages; page++) if (this.changing[page] > 0) return;
    let pages = this.random.between(from, range.reserved);
    const used = this.usedPages();
    if (!this.tight) pages = Math.min(pages, range.pages + this.hostPages - used);
    if (pages <= from) return;
    this.trace(() => `  ${range.first}+${range.pages} grows from ${from} to ${pages} pages`);
    this.manager.grow(range, from, pages);
    const [first, end] = [range.first + from, range.first + pages];
    this.shadow.fill(0, first, end);
    this.freed.fill(0, first, end);
    this.announcements.begin(first, end);
    this.perhapsEmpty.fill(0, first, end);
    this.rights.fill(range.writable ? Access.Write : Access.Read, first, end);
    if (this.freed.indexOf(1, range.first) >= range.first + range.pages || this.freed.indexOf(1, range.first) === -1)
      memory.frees = 0;
  }

  private invalidated(page: number, count: number): void {
    const open = this.invalidations.find((each) => each.open && each.page === page && each.count === count);
    if (open !== undefined) open.open = false;
    this.announcements.ended(page, count);
  }

  private endInvalidations(): void {
    for (let index = this.invalidations.length - 1; index >= 0; index--)
      if (!this.invalidations[index].open) this.invalidations.splice(index, 1);
  }

  private prefetch(): void {
    const memory = this.usable();
    if (memory === null) return;
    const ids = [...this.devices.keys()].filter((id) => this.devices[id] !== undefined);
    const processor = this.random.pick(ids);
    const [first, count] = this.pages(memory);
    const access = this.random.chance(this.heavy ? 0.7 : 0.3) ? Access.Write : Access.Read;
    this.bring(first, count, processor, access);
  }

  /** Pages that a device has alone, and that were written there. */
  private take(): void {
    const memory = this.usable();
    if (memory?.range.writable !== true) return;
    const [first, count] = this.pages(memory);
    this.bring(first, count, this.anyDevice(), Access.Write);
  }

  /** As much as its threads, and those of a neighbour, need at once at least. */
  private resizeHost(): void {
    const { budgetPages } = this.host.description;
    const pages = this.choices.between(Math.min(5 * PAGES_PER_BLOCK, budgetPages), budgetPages);
    const left = this.manager.setBudget(HOST_NODE, pages);
    this.trace(() => `  the host is to have ${pages} pages, and has ${left} more`);
  }

  /** A part of an array comes to the host to be written. */
  private fillHost(): void {
    const memory = this.usable();
    if (memory?.range.writable !== true) return;
    const [first, count] = this.pages(memory);
    this.bring(first, count, HOST, Access.Write);
  }

  /** A page of what a device has that leaves, asked for on the host. */
  private need(): void {
    const memory = this.usable();
    if (memory === null) return;
    const [first] = this.pages(memory);
    this.bring(first, 1, HOST, Access.Read);
  }

  private bring(first: number, count: number, processor: ProcessorId, access: Access): void {
    const end = first + count;
    const lost = this.manager.pages.firstLost(first, end);
    const known = lost !== -1 && this.audit.isLost(lost);
    const asked = this.step;
    // A block may be larger than what a device without faults has at all.
    const request = this.ask(
      (_, failure) => {
        if (failure === 'LOST') this.reasons.ofLostRequest(first, end);
        // Lost before and after, and not overwritten in between.
        if (failure === null && known && this.audit.isLost(lost) && this.healed[lost] < asked)
          throw new Error(`page ${lost} is lost, and whoever asked for it was told that it has come`);
      },
      this.devices[processor] instanceof WatchedDevice,
    );
    this.trace(() => `  request ${request}: prefetch ${first}+${count} to ${processor} with ${access}`);
    const exclusive = access === Access.Write && this.whims.chance(0.3);
    this.manager.acquire(request, processor, first, count, access, { exclusive });
  }

  /** What reading and writing files does: pages come home and stay there for a while. */
  private hold(): void {
    const memory = this.usable();
    if (memory === null) return;
    let [first, count] = this.pages(memory);
    const access = memory.range.writable && this.random.chance(0.5) ? Access.Write : Access.Read;
    const device = this.random.chance(0.3) ? this.nodeToCopyOn() : this.host;
    if (device !== this.host) {
      // A copy works on a part of at most 256 KiB, within a block, on whatever node has it; it never has two of a device.
      if (this.holds.some((other) => other.device === device)) return;
      count = Math.min(count, 64, PAGES_PER_BLOCK - (first % PAGES_PER_BLOCK));
      first = Math.max(first, memory.range.first);
    }
    this.holdPages({ memory, first, count, access, device });
  }

  /** What fills the host, so that it must send pages on. */
  private writeBlock(): void {
    const memory = this.usable();
    if (memory === null || !memory.range.writable) return;
    const { first: begin, pages } = memory.range;
    const first = begin + this.whims.below(Math.ceil(pages / PAGES_PER_BLOCK)) * PAGES_PER_BLOCK;
    const count = Math.min(PAGES_PER_BLOCK, begin + pages - first);
    this.holdPages({ memory, first, count, access: Access.Write, device: this.host });
  }

  private holdPages(hold: Hold): void {
    const { memory, first, count, access, device } = hold;
    memory.users++;
    const request = this.ask(
      (_, failure) => {
        if (failure !== null) {
          memory.users--;
          return;
        }
        this.holds.push(hold);
        this.useHold(hold);
      },
      device !== this.host || this.store !== NO_NODE,
    );
    this.trace(() => `  request ${request}: hold ${first}+${count} on ${device.node} with ${access}`);
    this.manager.bring(request, device.node, first, count, access, { hold: true });
  }

  /**
   * Whether there may be want of memory: the host can send pages on to its store, but not such that are held or pinned, or were at any
   * time since what is told began.
   */
  get mayWant(): boolean {
    if (this.tight || this.store === NO_NODE) return this.tight;
    return this.lastHeld >= this.since || this.holdsAny();
  }

  /** Pages of a clone that are being filled cannot go either: they wait for those of their source, which need memory, too. */
  private holdsAny(): boolean {
    if (this.manager.state.dependentOperations > 0) return true;
    for (const { residences, pinned } of this.manager.state.va.blocks.values())
      if ((residences[HOST_NODE]?.holds.length ?? 0) > 0 || !isEmpty(pinned)) return true;
    return false;
  }

  private nodeToCopyOn(): ModelDevice {
    for (const device of this.models()) {
      if (device !== this.host && device.node !== NO_NODE && !device.dead && !this.leaving.has(device.id))
        return device;
    }
    return this.host;
  }

  private useHold({ first, count, access, device }: Hold): void {
    // A device that has died keeps nobody's hold.
    if (this.devices[device.id] !== device || device.dead) return;
    for (let page = first; page < first + count; page++) {
      if (this.audit.isFreed(page) || this.audit.isLost(page)) continue;
      this.check(page, device.value(page), 'a file transfer or a copy');
      if (access === Access.Write) this.writeOn(device, page);
    }
  }

  /** What the flush of a shared file does with one run of changed pages. */
  private writeBack(): void {
    const memory = this.usable();
    if (memory === null || !isProvided(memory)) return;
    const [from, pages] = this.pages(memory);
    const run = this.manager.pages.changedRun(from, from + pages, this.random.pick([1, 16, 700]));
    if (run === null) return;
    const { first, count } = run;
    memory.users++;
    const request = this.ask((_, failure) => {
      if (failure === null) this.writeBacks.push({ memory, first, count, stage: 'held' });
      else memory.users--;
    }, this.store !== NO_NODE);
    this.trace(() => `  request ${request}: hold ${first}+${count} to write it back`);
    this.manager.bring(request, HOST_NODE, first, count, Access.Read, { hold: true });
  }

  private goOnWritingBack(): void {
    const run = this.random.pick(this.writeBacks.filter(isMoving));
    const { memory, first, count } = run;
    if (run.stage === 'held') {
      run.stage = 'settling';
      const request = this.ask(() => {
        run.stage = 'standing';
      });
      this.trace(() => `  request ${request}: clean ${first}+${count}`);
      this.manager.clean(request, first, count);
    } else if (run.stage === 'standing') {
      run.stage = 'written';
      for (let page = first; page < first + count; page++) this.sources.file[page] = this.host.value(page);
    } else {
      const written = !this.random.chance(0.2);
      this.trace(() => `  ${first}+${count} ${written ? 'has been' : 'could not be'} written back`);
      this.writeBacks.splice(this.writeBacks.indexOf(run), 1);
      memory.users--;
      this.manager.cleaned(first, count, written);
      this.manager.release(HOST_NODE, first, count, Access.Read);
    }
  }

  /** Pages come from their file again: those that nobody changed at any time, all of them while nobody uses them. */
  private drop(): void {
    const memory = this.usable();
    if (memory === null || !isProvided(memory)) return;
    const [first, count] = this.pages(memory);
    const all = memory.users === 0 && memory.frees === 0 && this.random.chance(0.4);
    if (all) {
      memory.exclusive = true;
      for (let page = first; page < first + count; page++) this.fuzzy[page]++;
    }
    this.drops++;
    const asked = this.step;
    const request = this.ask((_, failure) => {
      this.drops--;
      if (failure !== null) throw new Error(`dropping failed: ${failure}`);
      if (!all) return;
      memory.exclusive = false;
      for (let page = first; page < first + count; page++) this.forgotten(page, this.sources.file[page], asked);
    });
    this.trace(() => `  request ${request}: drop ${first}+${count}${all ? ' with what was changed' : ''}`);
    this.manager.drop(request, first, count, all);
  }

  private letGo(): void {
    const [hold] = this.holds.splice(this.random.below(this.holds.length), 1);
    this.useHold(hold);
    hold.memory.users--;
    this.trace(() => `  release ${hold.first}+${hold.count}`);
    if (this.devices[hold.device.id] === hold.device) {
      this.manager.release(hold.device.node, hold.first, hold.count, hold.access);
    }
  }

  // --- launches --------------------------------------------------------------------------------------------------

  private launch(): void {
    const processor = this.idleDevice();
    const device = this.devices[processor];
    const args: Argument[] = [];
    const wanted = this.random.between(1, 3);
    for (let i = 0; i < wanted && this.memories.length > 0; i++) {
      const memory = this.usable();
      if (memory === null) continue;
      const [first, count] = this.pages(memory);
      let use = this.random.pick(['in', 'inout', 'out'] as const);
      if (!memory.range.writable && this.random.chance(0.9)) use = 'in';
      if (use === 'out' && (memory.users > 0 || memory.frees > 0 || args.some((other) => other.memory === memory)))
        use = 'inout';
      if (use === 'out' && !this.mayWriteAll(first, count)) use = 'inout';
      if (args.some((other) => other.memory === memory && other.use === 'out')) continue;
      args.push({ memory, first, count, use });
    }
    if (device === undefined || args.length === 0) return;
    // A device without faults cannot begin what does not fit as a whole; the pager refuses that, too.
    if (device instanceof WatchedDevice && this.manager.launchPages(args) > device.description.budgetPages) return;
    const id = this.nextRequest++;
    const launch: Launch = {
      id,
      device,
      processor,
      args,
      asked: this.step,
      state: 'preparing',
      accessesLeft: this.random.between(1, 25),
      walked: this.walks || this.random.chance(0.25) ? 0 : -1,
    };
    // Long enough to go through several blocks, so that the next ones are brought ahead.
    if (launch.walked === 0) launch.accessesLeft = 150;
    this.launches.push(launch);
    for (const argument of args) {
      argument.memory.users++;
      if (argument.use !== 'out') continue;
      argument.memory.exclusive = true;
      for (let page = argument.first; page < argument.first + argument.count; page++) this.fuzzy[page]++;
    }
    this.requests.set(id, (_, failure) => this.startLaunch(launch, failure));
    this.trace(() => `  launch ${id} on ${processor}: ${args.map((a) => `${a.use} ${a.first}+${a.count}`).join(', ')}`);
    const request = this.ask(() => {
      const there = this.devices[processor] === device && !this.isDead(processor);
      if (there) this.manager.launchBegin(id, processor, args);
      else {
        this.requests.delete(id);
        this.startLaunch(launch, 'DEVICE_LOST');
      }
    });
    this.manager.arrange(request, processor, args);
  }

  private startLaunch(launch: Launch, failure: DenyReason | null): void {
    for (const { use, memory, first, count } of launch.args) {
      if (use !== 'out') continue;
      memory.exclusive = false;
      if (failure === null) this.emptied(first, count, launch.asked);
      // Otherwise nobody knows how far it got: each page has its old value or none.
      else {
        for (let page = first; page < first + count; page++) {
          this.fuzzy[page]--;
          this.perhapsEmpty[page] = 1;
          this.healed[page] = this.step;
        }
      }
    }
    const { device } = launch;
    const died = this.devices[launch.processor] !== device || this.isDead(launch.processor);
    launch.state = failure === null && !died ? 'running' : 'over';
    if (launch.state === 'over') return;
    if (device instanceof ModelDevice) {
      for (let unit = 0; unit < device.description.units; unit++) device.threads.push(newThread(unit, device));
      return;
    }
    const parameters = launch.args.map(({ use, first, count }, index) => ({
      name: `${index}`,
      kind: 'array' as const,
      type: 'u32' as const,
      use,
      offset: first * PAGE_BYTES,
      length: count * WORDS_PER_PAGE,
    }));
    device.launch({
      id: launch.id,
      kernelName: 'k',
      code: { kind: 'inline', source: `${launch.id}` },
      parameters,
      begin: 0,
      end: 1,
      size: 1,
    });
  }

  /** The kernel of the simulated device: looks at all that it reads, and writes some of what it may. */
  private kernel(id: number, args: Parameters<CallableKernel>[0]): void {
    const launch = this.launches.find((each) => each.id === id);
    if (launch === undefined) throw new Error(`launch ${id} runs after its end`);
    for (const [index, { first, count }] of launch.args.entries()) {
      const values = args[index] as Uint32Array;
      for (let at = 0; at < count; at++) {
        const value = values[at * WORDS_PER_PAGE];
        if (values[at * WORDS_PER_PAGE + 1] !== value)
          throw new Error(`page ${first + at} is half copied on the simulated device`);
        this.check(first + at, value, `argument ${index} of launch ${id}`);
      }
    }
    for (const [index, { first, count, use }] of launch.args.entries()) {
      if (use === 'in') continue;
      // Arrays that overlap would be put back over each other.
      if (
        launch.args.some(
          (other, at) => at !== index && other.first < first + count && first < other.first + other.count,
        )
      )
        continue;
      for (let at = 0; at < count; at++) {
        if (this.random.chance(0.5)) continue;
        this.shadow[first + at] = ++this.version;
        this.perhapsEmpty[first + at] = 0;
        (args[index] as Uint32Array).fill(this.version, at * WORDS_PER_PAGE, (at + 1) * WORDS_PER_PAGE);
      }
    }
  }

  private endLaunch(): void {
    const index = this.launches.findIndex(isOver);
    const [launch] = this.launches.splice(index, 1);
    const { device } = launch;
    if (device instanceof ModelDevice) {
      device.scratch.clear();
      device.hidden.clear();
      device.threads = [];
    }
    for (const { memory } of launch.args) memory.users--;
    this.trace(() => `  end of launch ${launch.id}`);
    this.manager.launchEnd(launch.id);
  }

  // --- threads ---------------------------------------------------------------------------------------------------

  private anyThread(state: Thread['state']): Thread | null {
    const offset = this.step;
    for (let at = 0; at < this.devices.length; at++) {
      const device = this.devices[(at + offset) % this.devices.length];
      if (!(device instanceof ModelDevice)) continue;
      for (let each = 0; each < device.threads.length; each++) {
        const thread = device.threads[(each + offset) % device.threads.length];
        if (thread.state !== state) continue;
        if (
          state === 'running' &&
          thread.page === -1 &&
          device === this.host &&
          (this.closing || this.memories.length + this.others.memories.length === 0)
        )
          continue;
        return thread;
      }
    }
    return null;
  }

  private runThread(): void {
    const thread = this.anyThread('running') as Thread;
    const launch = this.launches.find((each) => each.device === thread.device && each.state === 'running') ?? null;
    // A thread makes several accesses between two events, as real ones do.
    for (let count = this.random.between(1, 8); count > 0; count--) {
      if (thread.page === -1 && !this.chooseAccess(thread, launch)) return;
      if (!this.access(thread, launch)) return;
    }
  }

  private chooseAccess(thread: Thread, launch: Launch | null): boolean {
    if (thread.device === this.host) {
      const shared = this.plots.shares ? this.plots.chooseShared(this.others.memories) : null;
      if (shared === null && this.memories.length === 0) return false;
      const memory = shared ?? this.random.pick(this.memories);
      if (memory.exclusive) return false;
      const { range } = memory;
      thread.page = range.first + this.nearby(range.pages);
      thread.write = (range.writable || this.random.chance(0.02)) && this.random.chance(0.5);
      // Some programs look at what they have freed, or a little past the end, but then only while nothing is freed for good.
      if (this.random.chance(0.01))
        thread.page = Math.min(thread.page + 20, (Math.floor(thread.page / 512) + 1) * 512 - 1);
      memory.users++;
      thread.memory = memory;
      return true;
    }
    if (launch === null || launch.accessesLeft-- <= 0) {
      thread.state = 'ended';
      if (launch !== null && thread.device.threads.every((each) => each.state === 'ended')) launch.state = 'over';
      return false;
    }
    let argument = this.random.pick(launch.args);
    if (launch.walked >= 0) {
      argument = launch.args[0];
      thread.page = argument.first + Math.min(launch.walked, argument.count - 1);
      launch.walked += 16;
    } else thread.page = argument.first + this.nearby(argument.count);
    thread.write = argument.use !== 'in' && this.random.chance(0.6);
    return true;
  }

  /** Programs mostly walk; some jump. */
  private nearby(pages: number): number {
    return this.random.chance(0.5) ? this.random.below(pages) : (this.step * 5 + this.random.below(8)) % pages;
  }

  /** Touches the page; false if the thread has to wait. */
  private access(thread: Thread, launch: Launch | null): boolean {
    const { device, page, write } = thread;
    // A denial may have been overtaken by new rights before anything could stand in for the page: then this is the page itself.
    const right = device.finds(page);
    const standsIn = this.audit.isScratch(device.id, page) || device.covers.some((cover) => cover.page === page);
    const isPage = right !== Access.None && device.scratch.has(page) && !standsIn;
    if (isPage) {
      device.scratch.delete(page);
      device.hidden.delete(page);
    }
    if (right < (write ? Access.Write : Access.Read)) {
      thread.state = 'falling';
      this.messages.push({ device, thread, launch, page, write });
      this.trace(
        () => `  thread ${thread.id} of ${device.description.name} faults ${write ? 'writing' : 'reading'} ${page}`,
      );
      return false;
    }
    if (
      this.changing[page] + this.freed[page] + this.fuzzy[page] === 0 &&
      this.rights[page] < (write ? Access.Write : Access.Read) &&
      !device.scratch.has(page)
    )
      throw new Error(`thread ${thread.id} of ${device.description.name} uses page ${page}, which is protected`);
    if (device.scratch.has(page)) {
      if (write) device.store(page, GARBAGE_OF_A_DENIED_WRITER);
      else if (device.hidden.has(page) && ![0, GARBAGE_OF_A_DENIED_WRITER].includes(device.value(page)))
        throw new Error(
          `thread ${thread.id} of ${device.description.name} sees something of page ${page}, which it may not read`,
        );
    } else if (write) this.writeOn(device, page);
    else this.check(page, device.value(page), `thread ${thread.id} of ${device.description.name}`);
    this.endAccess(thread);
    return true;
  }

  private endAccess(thread: Thread): void {
    thread.page = -1;
    if (thread.memory !== undefined) thread.memory.users--;
    thread.memory = undefined;
  }

  private writeOn(device: ModelDevice, page: number): void {
    device.store(page, this.write(page));
  }

  /** This machine, or another one, writes the page: returns what. */
  write(page: number): number {
    this.version++;
    this.shadow[page] = this.version;
    this.perhapsEmpty[page] = 0;
    return this.version;
  }

  /** What was read must be what was written last. */
  check(page: number, value: number, who: string): void {
    if (this.fuzzy[page] > 0) return;
    if (this.perhapsEmpty[page] === 1 && value === 0) this.shadow[page] = 0;
    this.perhapsEmpty[page] = 0;
    if (value === this.shadow[page]) return;
    throw new Error(`${who} reads ${value} from page ${page}, which must be ${this.shadow[page]}`);
  }

  private fallAsleep(): void {
    (this.anyThread('falling') as Thread).state = 'asleep';
  }

  private deliver(): void {
    const index = this.random.chance(0.7) ? 0 : this.random.below(this.messages.length);
    const message = this.messages[index];
    const { device, thread, page, write, launch } = message;
    const again = this.random.chance(0.1) && !this.closing;
    if (!again) this.messages.splice(index, 1);
    const id = this.devices.indexOf(device);
    // Of a process that died, or of a launch that ended, nothing is read any more.
    if (id === -1 || (device !== this.host && launch?.state !== 'running')) {
      this.messages.splice(0, this.messages.length, ...this.messages.filter((each) => each !== message));
      return;
    }
    if (thread.state === 'falling' && thread.page === page) thread.state = 'asleep';
    this.trace(
      () => `  ${device.description.name} waits for ${page} (${write ? 'write' : 'read'}), thread ${thread.id}`,
    );
    this.manager.fault(id, page, write, thread.id);
  }

  private deny(id: ProcessorId, page: number, write: boolean, reason: DenyReason, stranded: boolean): void {
    this.trace(() => `  denied to ${id}: page ${page}, ${reason}${stranded ? ', for ever' : ''}`);
    const device = this.devices[id] as ModelDevice;
    const late = id === HOST && reason === 'FREED' && !write;
    this.reasons.ofPage(reason, page, id);
    if (late) return;
    if (stranded) {
      this.reasons.ofEnd(reason, page);
      this.condemned.add(id);
      return;
    }
    if (id !== HOST) {
      if (reason !== 'READ_ONLY' && reason !== 'PINNED' && !device.scratch.has(page)) device.hidden.add(page);
      device.scratch.add(page);
      return;
    }
    for (const thread of device.threads) {
      if (thread.state !== 'asleep' || thread.page !== page || (reason === 'READ_ONLY' && !thread.write)) continue;
      thread.state = 'running';
      this.endAccess(thread);
    }
  }

  // --- what takes time -------------------------------------------------------------------------------------------

  private modelWith(list: 'revokes' | 'pendingCopies' | 'remaps' | 'covers'): ModelDevice | null {
    for (const device of this.devices) if (device instanceof ModelDevice && device[list].length > 0) return device;
    return null;
  }

  private acknowledge(): void {
    const device = this.modelWith('revokes') as ModelDevice;
    const [revoke] = device.revokes.splice(this.random.below(device.revokes.length), 1);
    device.restrict(revoke.page, revoke.count, revoke.to);
    this.trace(() => `  revocation ${revoke.token} is through`);
    this.manager.revoked(revoke.token);
  }

  private endCopy(): void {
    const device = this.modelWith('pendingCopies') as ModelDevice;
    const [copy] = device.pendingCopies.splice(this.random.below(device.pendingCopies.length), 1);
    const status = device.copy(copy);
    this.trace(() => `  copy ${copy.token} ended with ${status}`);
    this.router.completed(copy.token, status);
  }

  // --- memory ----------------------------------------------------------------------------------------------------

  readWords(address: number, target: Uint32Array): void {
    if (this.staging.read(address, target)) return;
    const node = Math.floor(address / NODE_BYTES) - 1;
    const device = this.stores[node] as ModelDevice;
    const start = (address - device.memory) / 4;
    target.set(device.words.subarray(start, start + target.length));
  }

  /** What the simulated device copies out. */
  private writeWords(address: number, source: Uint32Array): void {
    if (this.staging.write(address, source)) return;
    const device = this.stores[Math.floor(address / NODE_BYTES) - 1] as ModelDevice;
    if (device.gone) return;
    const start = (address - device.memory) / 4;
    device.fill(start / WORDS_PER_PAGE, source.length / WORDS_PER_PAGE);
    device.words.set(source, start);
  }

  isBeingRead(address: number, bytes: number): boolean {
    for (const device of this.devices) {
      if (!(device instanceof ModelDevice)) continue;
      for (const copy of device.pendingCopies) {
        if (copy.address < address + bytes && address < copy.address + copy.count * PAGE_BYTES) return true;
      }
    }
    return false;
  }
}

const GARBAGE_OF_A_DENIED_WRITER = 0xbadbad;

function newThread(id: number, device: ModelDevice): Thread {
  return { id, device, state: 'running', page: -1, write: false, memory: undefined };
}

export function newMemory(range: Range, source: Memory | null): Memory {
  return { range, users: 0, exclusive: false, frees: 0, freesLeft: 0, source, pinned: null };
}

function isPinned(memory: Memory): boolean {
  return memory.pinned !== null;
}

function covers([first, count]: [number, number], page: number): boolean {
  return page >= first && page < first + count;
}

function isProvided({ range }: Memory): boolean {
  return range.provided && range.derived !== true;
}

/** Whether the next step is the file's, not the memory manager's. */
function isMoving({ stage }: WriteBack): boolean {
  return stage !== 'settling';
}

function isRecyclable(memory: Memory): boolean {
  return memory.users === 0 && memory.freesLeft === 0 && memory.range.freedPages === memory.range.pages;
}

function isOver(launch: Launch): boolean {
  return launch.state === 'over';
}
