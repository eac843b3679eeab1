/**
 * One schedule: the memory manager with a host, a device process and a simulated device, programs
 * that use them, and a shadow of what memory must contain. Everything that happens is drawn from
 * one seed. What can happen stands here, in a list; what it does, in the part that it is about:
 * arrays.ts, holders.ts, processors.ts, programs.ts, sources.ts, stores.ts, others.ts.
 */

import { add, and, andNot, bitCount, isEmpty } from '../../src/core/basics/mask.js';
import {
  Access,
  type DenyReason,
  HOST,
  HOST_NODE,
  NO_NODE,
  PAGES_PER_BLOCK,
  PAGES_PER_TRANSFER,
  type PlacementPolicy,
  type PrefetchPolicy,
  PAGE_BYTES as REAL_PAGE_BYTES,
} from '../../src/core/basics/types.js';
import { checkInvariants } from '../../src/core/invariants.js';
import { type Entry, Recorder } from '../../src/core/recording/recording.js';
import { replay } from '../../src/core/recording/replay.js';
import type { Policies } from '../../src/core/table/processors.js';
import type { Range } from '../../src/core/table/range.js';
import { OpenManager } from '../../src/core/test-manager.js';
import { Router } from '../../src/drivers/router.js';
import { Clones } from '../../src/pager/arrays/clones/clones.js';
import { KeptPages } from '../../src/pager/arrays/clones/kept-pages.js';
import { CoreRequests } from '../../src/pager/core/core-requests.js';
import { fifo } from '../../src/policy/eviction/fifo.js';
import { lru } from '../../src/policy/eviction/lru.js';
import { tournament } from '../../src/policy/eviction/tournament.js';
import { next } from '../../src/policy/pattern/next.js';
import { none, pattern } from '../../src/policy/pattern/pattern.js';
import { advised } from '../../src/policy/placement/advised.js';
import { plan } from '../../src/policy/plan/plan.js';
import { ActivityWatcher } from '../../src/trace/activity/activity.js';
import { Announcements } from './announcements.js';
import { Arrays } from './arrays.js';
import { Audit } from './audit.js';
import { Guards } from './guards.js';
import { Holders, isMoving } from './holders.js';
import { covers, isPinned, isProvided, type Memory } from './memories.js';
import {
  BLOCKS,
  granulePagesOf,
  ModelDevice,
  NODE_BYTES,
  newThread,
  PAGE_BYTES,
  PAGES,
  type Surroundings,
  type Thread,
  type Weather,
  WORDS_PER_PAGE,
} from './model-device.js';
import { Others } from './others.js';
import { Plots } from './plots.js';
import { Processors } from './processors.js';
import { isOver, Programs } from './programs.js';
import { Random } from './random.js';
import { Reasons } from './reasons.js';
import { Sources } from './sources.js';
import { StagingModel } from './staging-model.js';
import { Stores } from './stores.js';
import { WatchedDevice } from './watched-device.js';

/** For what a schedule is about besides its plot. */
const TURNS = 0x3c6ef372;
const FILLING_TURNS = [1, 3, 6, 9, 10];
/** Of the schedules about stores that fail, one in so many has a store that forgets what it has. */
/** Seeds of this rest, by 16, make plans of launches. */
const PLANNING = 9;
const FORGETTING_SHARE = 5;
const OTHERS = 0x1b873593;
/** Of so many schedules two have devices with granules, of so many pages. */
const GRANULE_SHARE = 17;
const GRANULE_TURNS = [4, 10];
const GRANULES = [2, 16, 16, 64, 512];
/** Two schedules of so many have granules of two blocks. */
const LARGE_SHARE = 19;
const LARGE_TURNS = [5, 12];
const LARGE_GRANULE = 2 * PAGES_PER_BLOCK;
const GUARDS = 0x6c078965;
/** One schedule in so many has devices use in host memory what goes to and fro. */
const TURNING_SHARE = 8;
/** Sooner than a policy of use would, and not for long: schedules are short. */
const oftenInPlace: PlacementPolicy = ({ advised: isAdvised, turns, sinceTurn }) =>
  isAdvised || (turns > 0 && sinceTurn < 40) ? 'remote' : 'own';
/** Brings every second page, as for a walk that skips the others: these go by themselves. */
const stripes: PrefetchPolicy = (touch) => {
  const { page, result, allowed, occupied } = touch;
  for (let each = page & 1; each < PAGES_PER_BLOCK; each += 2) add(result, each);
  and(result, allowed);
  andNot(result, occupied);
  touch.reason = 'stride';
};
const DEVICE_GOES_ON = 'device goes on';
/** What keeps devices from walking through arrays. */
const DISTURBING: ReadonlySet<string> = new Set([
  'free',
  'zero',
  'prefetch',
  'advise',
  'advise more',
  'protect',
  'guard',
  'clone',
  'clone more',
  'pin',
  'grow',
  'hold',
  'write back',
  'drop',
  'detach',
  'kill',
  'bring for writing',
  'empty more',
  'move',
  'spoil',
]);
/** What goes on by itself, once it was begun. */
const GOING_ON: ReadonlySet<string> = new Set([
  DEVICE_GOES_ON,
  'acknowledge',
  'cover',
  'remap',
  'deliver a fault',
  'end a copy',
  'end late readers',
  'end launch',
  'go on writing back',
  'let go',
  'next piece',
  'provide',
  'take back',
]);
/**
 * How often copies fail while devices leave, in the plot that strands what they have, and how often
 * otherwise there.
 */
const STRANDING = 0.97;
const FAIR = 0.01;
/** Numbers below are those of requests that the manager's own parts make. */
const FIRST_REQUEST = 1_000_000_000;

/** What becomes of a request when it is through. */
type Ending = (pages: number, failure: DenyReason | null) => void;

/** One schedule of so many is played again from what was written down of it. */
const RECORDED_SHARE = 10;

export class World implements Surroundings {
  readonly random: Random;
  /** For what does not change how a schedule goes on. */
  readonly whims: Random;
  /**
   * Arrays are mostly of files that take changed pages back, and there are more than the host can
   * hold.
   */
  readonly overflows: boolean;
  /** Files take changed pages back. */
  readonly returns: boolean;
  /** The host's memory shrinks and grows. */
  private readonly resizes: boolean;
  /** The stores find no room now and then. */
  private readonly fills: boolean;
  /** The last of them forgets what it has now and then. */
  private readonly forgets: boolean;
  /** For what came later, so that other schedules stay as they were. */
  readonly choices: Random;
  readonly weather: Weather;
  readonly manager: OpenManager;
  private readonly policies: Policies;
  /** What the core was told and what it commanded, in one schedule of so many. */
  private readonly recorded: Entry[] = [];
  private held: { entries: number; pages: number[] } = { entries: 0, pages: [] };
  readonly router: Router;
  readonly host: ModelDevice;
  /** Drivers by processor. */
  readonly devices: (ModelDevice | WatchedDevice | undefined)[] = [];
  /** Drivers by node: those of devices, and a store behind the host that no processor runs on. */
  readonly stores: (ModelDevice | WatchedDevice | undefined)[] = [];
  /** The last event after which pages of the host were held or pinned. */
  private lastHeld = -1;
  /** When each request was made. */
  private readonly askedAt = new Map<number, number>();
  /** The event from which on what is being told may have come about. */
  private since = 0;
  private readonly staging = new StagingModel();
  readonly memories: Memory[] = [];
  /** The value that each page must have. */
  readonly shadow = new Uint32Array(PAGES);
  /**
   * Counts what makes a page's value uncertain for now: emptying, freeing, a launch that failed
   * half way.
   */
  readonly fuzzy = new Uint8Array(PAGES);
  readonly freed = new Uint8Array(PAGES);
  /** A launch that failed may have emptied the page or not; the first look at it tells. */
  readonly perhapsEmpty = new Uint8Array(PAGES);
  readonly audit: Audit;
  readonly announcements: Announcements;
  /** What processors may do with a page, and how many requests to change that are under way. */
  readonly rights = new Uint8Array(PAGES).fill(Access.Write);
  readonly changing = new Uint8Array(PAGES);
  readonly clones: Clones;
  /** Freed pages that clones still need. */
  readonly kept: KeptPages;
  private readonly cloneRequests = new CoreRequests();
  /** What the core told while it was at work. */
  private readonly later: (() => void)[] = [];
  /**
   * Invalidations that subscribers were told of and that go on, and those of the event under way.
   */
  readonly invalidations: { page: number; count: number; open: boolean }[] = [];
  /**
   * Pages whose only copy was on a device when it was lost, or could not be brought home: these may
   * be reported lost.
   */
  readonly mayBeLost = new Set<number>();
  /**
   * All that were ever reported so, and when pages were overwritten last without a look at them.
   */
  readonly everLost = new Set<number>();
  readonly healed = new Uint32Array(PAGES);
  readonly requests = new Map<number, Ending>();
  private readonly mayNotFit = new Set<number>();
  /** More is allocated than the host can hold. */
  tight: boolean;
  /** Large memories move as a whole. */
  readonly heavy: boolean;
  walks = false;
  /** Launches are told of that may never begin. */
  plans = false;
  /** Nothing new begins until all has ended, or waits: want of memory is noticed only then. */
  private hushed = false;
  /** Queued pieces that are carried out between two other events, at most. */
  private readonly pieces: number;
  readonly lossy: boolean;
  readonly sources: Sources;
  /** What programs do to arrays. */
  readonly arrays: Arrays;
  /** How devices come and go. */
  readonly processors: Processors;
  /** What runs. */
  readonly programs: Programs;
  /** What has pages stay where they are. */
  readonly holders: Holders;
  /** What happens to the stores behind the host. */
  readonly behind: Stores;
  readonly reasons: Reasons;
  readonly plots: Plots;
  /** Arrays that other machines have, too. */
  readonly others: Others;
  readonly guards: Guards;
  /** Some pages of files and providers are not given, for good or for a while. */
  readonly spoils: boolean;
  /** Clones of clones, which are emptied, moved and given back: many of them. */
  readonly breeds: boolean;
  /** Devices reach each other's pages in host memory, and die. */
  readonly perils: boolean;
  /** Something may make copies fail, or has until now. */
  readonly mayFailCopies: boolean;
  /** What each range was cloned from. */
  readonly parents = new Map<Range, Range>();
  /** First pages of arrays whose files take nothing back. */
  private readonly refusing = new Set<number>();
  version = 0;
  nextRequest = FIRST_REQUEST;
  closing = false;
  /** The simulated devices had nothing to do when they were last looked at. */
  private resting = false;
  drainedAny = false;
  readonly mayGiveUp: boolean;
  /**
   * What every copy of has failed may be lost: a device has just left, or is about to when its
   * frames are not read any more.
   */
  get mayHaveGivenUp(): boolean {
    return (
      this.gaveUp ||
      (this.mayGiveUp && (this.processors.leaving.size > 0 || this.behind.storeLeaves))
    );
  }

  /** A device has just left whose last pages may have failed to come home. */
  gaveUp = false;
  /** Events so far. */
  step = 0;
  /** The event under way, for messages. */
  current = 'start';

  /** How many pages the granule of the next device has. */
  readonly granulePages: () => number;
  /** How many blocks it has at least. */
  readonly granuleBlocks: number;

  constructor(
    seed: number,
    private readonly tracer: ((text: string) => void) | null,
  ) {
    const random = new Random(seed);
    this.random = random;
    const granules = new Random(seed ^ OTHERS);
    const large = LARGE_TURNS.includes(seed % LARGE_SHARE);
    const small = GRANULE_TURNS.includes(seed % GRANULE_SHARE);
    this.granuleBlocks = large ? LARGE_GRANULE / PAGES_PER_BLOCK : 1;
    this.granulePages = () => (large ? LARGE_GRANULE : small ? granules.pick(GRANULES) : 1);
    this.choices = new Random(seed ^ 0x51ed270b);
    this.whims = new Random(seed ^ 0x5bd1e995);
    const calm = random.chance(0.25);
    this.weather = {
      noMemory: calm ? 0 : random.pick([0, 0, 0.05, 0.05, 0.4]),
      copyFailure: calm ? 0 : random.pick([0, 0, 0.05, 0.05, 0.5]),
      later: random.pick([0, 0.2, 0.5, 0.9]),
    };
    this.behind = new Stores(this);
    this.holders = new Holders(this);
    this.programs = new Programs(this);
    this.processors = new Processors(this);
    this.arrays = new Arrays(this);
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
      this.plots.storeFails ||
      this.weather.copyFailure + this.weather.noMemory + failure + withheld > 0;
    this.breeds = this.whims.chance(0.25) || this.plots.clones;
    this.spoils = this.whims.chance(this.breeds ? 0.6 : 0.25);
    this.perils = this.whims.chance(0.1);
    this.lossy = random.chance(0.5) || this.perils || this.plots.orphans;
    this.tight = random.chance(0.25);
    this.heavy = random.chance(0.4) || this.plots.chains || this.plots.slowMemory;
    // Some schedules are about devices that walk through long ranges: what is brought ahead of them
    // is to be seen.
    this.walks = random.chance(0.1) || this.plots.streams;
    this.pieces = random.pick([1, 4, 12]);
    this.router = new Router(
      {
        deny: (processor, page, write, _thread, reason, stranded) =>
          this.programs.deny(processor, page, write, reason, stranded),
        requestDone: (request, pages, failure) => this.requestDone(request, pages, failure),
        drained: (processor) => this.processors.drained(processor),
        emptied: (node) => this.behind.storeEmptied(node),
        breakCopyOnWrite: (page, count, lastChance) => {
          this.trace(
            () => `  break copy-on-write ${page}+${count}${lastChance ? ', the last chance' : ''}`,
          );
          if (lastChance) this.reasons.ofLastChance(page, count);
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
    const byPattern = random.chance(0.8);
    const share = random.below(2) === 0 ? 1 : 2;
    // Memories are small here, so that none would ever be freed ahead by the usual share.
    const { choices } = this;
    const ahead = choices.below(3);
    this.plans = seed % 16 === PLANNING;
    const usual = this.plans ? plan : tournament;
    const recent = choices.chance(0.5) ? usual : lru;
    const turn = new Random(seed ^ TURNS).below(20);
    this.overflows = turn < 2;
    this.resizes = turn >= 2 && turn < 5;
    this.returns = turn < 8;
    // A quarter, with some of each of these kinds.
    this.forgets = this.plots.storeFails && seed % FORGETTING_SHARE === 3;
    this.fills = this.plots.storeFails || this.plots.starves || FILLING_TURNS.includes(turn);
    this.sources.returnFailure = calm ? 0 : choices.pick([0, 0.1, 0.5]);
    if (this.overflows || this.resizes || this.plots.starves) this.tight = true;
    const eviction = this.whims.chance(0.8) ? recent : fifo;
    this.policies = {
      eviction: () => ({ ...eviction(), keepFree: () => ahead }),
      prefetch: () => (byPattern ? pattern({}, next({ share })) : seed % 2 === 0 ? stripes : none),
      placement: () => (seed % TURNING_SHARE === 1 ? oftenInPlace : advised),
      looksAtTurns: seed % TURNING_SHARE === 1,
    };
    const recorder =
      seed % RECORDED_SHARE === 0
        ? new Recorder((entries) => this.recorded.push(...entries))
        : null;
    this.manager = new OpenManager(
      recorder?.commands(this.router) ?? this.router,
      this.policies,
      BLOCKS,
    );
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
    this.kept = new KeptPages(this.manager, this.cloneRequests, ({ first, end, reason }) => {
      this.trace(() => `  of ${first}+${end - first} something is kept: ${reason}`);
      this.reasons.ofRequest(reason);
    });
    this.guards = new Guards(this, new Random(seed ^ GUARDS));
    this.audit = new Audit(this);
    this.announcements = new Announcements(this);
    this.others = new Others(this, new Random(seed ^ OTHERS), this.cloneRequests);
    this.host = this.processors.addModel({
      name: 'host',
      budgetPages:
        PAGES_PER_BLOCK *
          (this.resizes || this.plots.streams
            ? 6
            : this.tight
              ? 3
              : random.between(3, this.plots.chains ? 3 : 6)) +
        random.below(PAGES_PER_BLOCK),
      units: 2,
      memorySurvives: true,
    });
    for (let id = 0; id < 2; id++) this.host.threads.push(newThread(id, this.host));
    const { storeFails, starves, slowMemory } = this.plots;
    if (this.whims.chance(0.35) || storeFails || starves || slowMemory)
      this.behind.store = this.behind.addStore(HOST_NODE);
    if (this.plots.chains || this.plots.relays)
      this.behind.far = this.behind.addStore(this.behind.store);
    if (this.whims.chance(0.25)) this.processors.addNeighbour();
    const process =
      this.plots.streams ||
      this.perils ||
      this.plots.orphans ||
      this.plots.returns ||
      this.plots.strands;
    this.processors.addDevice(random.chance(0.5) || process);
    if (random.chance(0.7) || process) this.processors.addDevice(random.chance(0.5) || process);
  }

  trace(text: () => string): void {
    if (this.tracer !== null) this.tracer(text());
  }

  /** Runs the whole schedule; throws at the first thing that is wrong. */
  run(): void {
    const steps =
      this.plots.chains ||
      this.overflows ||
      this.walks ||
      this.plots.returns ||
      this.plots.strands ||
      this.plots.starves
        ? this.plots.streams
          ? 800
          : 400
        : this.random.between(40, 120);
    while (this.step < steps) this.event();
    this.settle();
    this.audit.contents();
    this.memories.push(...this.others.memories);
    this.noteHeld();
    this.freeAll();
    this.replay();
  }

  /**
   * What was written down of this schedule must be played again as it was, in the words of a file.
   */
  private replay(): void {
    if (this.recorded.length === 0) return;
    const entries = this.recorded.map((entry) => JSON.parse(JSON.stringify(entry)) as Entry);
    const { entries: noted, pages } = this.held;
    const activity = new ActivityWatcher();
    const { reader } = activity;
    let done = 0;
    replay(entries, this.policies, BLOCKS, (entry, manager) => {
      reader.read(entry, 0, (range) => manager.range(range)?.first ?? -1);
      if (++done !== noted) return;
      for (const [at, { name, usedBytes }] of activity.take(0).memories.entries()) {
        // A recording tells what came: the rest of a granule has memory, and did not.
        if (Number.isNaN(pages[reader.memories[at].id])) continue;
        const read = usedBytes / REAL_PAGE_BYTES;
        const real = pages[reader.memories[at].id] ?? 0;
        if (read !== real)
          throw new Error(`by what is recorded ${name} has ${read} pages, and it has ${real}`);
      }
    });
  }

  /**
   * Where nothing moves: a reader of the recording must count as much in each memory. Pages behind
   * the end of an array are there because its last block is whole: no command tells of them.
   */
  private noteHeld(): void {
    const pages: number[] = [];
    const blocks = [...this.manager.state.va.blocks.values()];
    // What is on its way has memory, and has not arrived.
    if (blocks.some(({ operation }) => operation !== null)) return;
    for (const { residences, inside } of blocks)
      for (const [node, residence] of residences.entries())
        for (const [word, bits] of inside.entries())
          pages[node] = (pages[node] ?? 0) + bitCount((residence?.backed[word] ?? 0) & bits);
    for (const [node, store] of this.stores.entries())
      if (store !== undefined && granulePagesOf(store) > 1) pages[node] = Number.NaN;
    this.held = { entries: this.recorded.length, pages };
  }

  // --- what can happen
  // -------------------------------------------------------------------------------------------

  private readonly actions: {
    name: string;
    weight: number;
    can: () => boolean;
    act: () => void;
  }[] = [
    {
      name: 'allocate',
      weight: 3,
      can: () => !this.closing && this.memories.length < 5,
      act: () => this.arrays.allocate(),
    },
    {
      name: 'free',
      weight: 1,
      can: () => !this.closing && this.memories.length > 0,
      act: () => this.arrays.free(),
    },
    {
      name: 'recycle',
      weight: 2,
      can: () => this.arrays.mayRecycle(),
      act: () => this.arrays.recycle(),
    },
    {
      name: 'zero',
      weight: 1,
      can: () => !this.closing && this.memories.length > 0,
      act: () => this.arrays.zero(),
    },
    {
      name: 'prefetch',
      weight: 3,
      can: () => !this.closing && this.memories.length > 0,
      act: () => this.arrays.prefetch(),
    },
    {
      name: 'advise',
      weight: 1,
      can: () => !this.closing && this.memories.length > 0,
      act: () => this.arrays.advise(),
    },
    {
      name: 'cover',
      weight: 6,
      can: () => this.processors.modelWith('covers') !== null,
      act: () => this.processors.endCover(),
    },
    {
      name: 'remap',
      weight: 6,
      can: () => this.processors.modelWith('remaps') !== null,
      act: () => this.processors.endRemap(),
    },
    {
      name: 'protect',
      weight: 1,
      can: () => !this.closing && this.memories.length > 0,
      act: () => this.arrays.protect(),
    },
    {
      name: 'guard',
      weight: 3,
      can: () => this.plots.guards && !this.closing && this.memories.length > 0,
      act: () => this.guards.change(),
    },
    {
      name: 'clone',
      weight: 1,
      can: () => !this.closing && this.memories.length > 0 && this.memories.length < 5,
      act: () => this.arrays.clone(),
    },
    {
      name: 'pin',
      weight: 1,
      can: () => !this.closing && this.memories.length > 0,
      act: () => this.holders.pin(),
    },
    {
      name: 'unpin',
      weight: 1,
      can: () => this.memories.some(isPinned),
      act: () => this.holders.unpin(),
    },
    {
      name: 'grow',
      weight: 1,
      can: () => !this.closing && this.memories.length > 0,
      act: () => this.arrays.grow(),
    },
    {
      name: 'hold',
      weight: 2,
      can: () => !this.closing && this.memories.length > 0,
      act: () => this.holders.hold(),
    },
    {
      name: 'let go',
      weight: 2,
      can: () => this.holders.holds.length > 0,
      act: () => this.holders.letGo(),
    },
    {
      name: 'write back',
      weight: 2,
      can: () => !this.closing && this.memories.some(isProvided),
      act: () => this.holders.writeBack(),
    },
    {
      name: 'go on writing back',
      weight: 6,
      can: () => this.holders.writeBacks.some(isMoving),
      act: () => this.holders.goOnWritingBack(),
    },
    {
      name: 'drop',
      weight: 0.7,
      can: () => !this.closing && this.memories.some(isProvided),
      act: () => this.arrays.drop(),
    },
    {
      name: 'free what was kept',
      weight: 2,
      can: () => !this.closing && this.kept.any,
      act: () => this.kept.tryAgain(),
    },
    {
      name: 'launch',
      weight: 5,
      can: () => !this.closing && this.processors.idleDevice() !== -1,
      act: () => this.programs.launch(),
    },
    {
      name: 'end launch',
      weight: 6,
      can: () => this.programs.launches.some(isOver),
      act: () => this.programs.endLaunch(),
    },
    {
      name: 'detach',
      weight: 0.3,
      can: () => !this.closing && this.processors.idleDevice() !== -1,
      act: () => this.processors.detach(),
    },
    {
      name: 'kill',
      weight: 0.3,
      can: () => !this.closing && this.processors.anyDevice() !== -1,
      act: () => this.processors.kill(this.processors.anyDevice()),
    },
    {
      name: 'fulfil a sentence',
      weight: 20,
      can: () => this.processors.condemned.size > 0,
      act: () => this.processors.fulfil(),
    },
    {
      name: 'hear of an end',
      weight: 6,
      can: () => this.processors.unheard.length > 0,
      act: () => this.processors.hear(),
    },
    {
      name: 'add a device where one has ended',
      weight: 6,
      can: () =>
        !this.closing && this.processors.unheard.length === 1 && this.processors.deviceCount() < 8,
      act: () => this.processors.addDevice(true),
    },
    {
      name: 'add a device',
      weight: 0.6,
      can: () => !this.closing && this.processors.deviceCount() < 2,
      act: () => this.processors.addDevice(this.random.chance(0.5)),
    },
    {
      name: 'run a thread',
      weight: 12,
      can: () => this.programs.anyThread('running') !== null,
      act: () => this.programs.runThread(),
    },
    {
      name: 'walk',
      weight: 50,
      can: () => this.plots.streams && this.programs.walker() !== null,
      act: () => this.programs.runThread(this.programs.walker() as Thread),
    },
    {
      name: 'fall asleep',
      weight: 4,
      can: () => this.programs.anyThread('falling') !== null,
      act: () => this.programs.fallAsleep(),
    },
    {
      name: 'deliver a fault',
      weight: 8,
      can: () => this.programs.messages.length > 0,
      act: () => this.programs.deliver(),
    },
    {
      name: 'acknowledge',
      weight: 6,
      can: () => this.processors.modelWith('revokes') !== null,
      act: () => this.processors.acknowledge(),
    },
    {
      name: 'end late readers',
      weight: 5,
      can: () => this.processors.lateDevice() !== null,
      act: () => this.processors.endLate(),
    },
    {
      name: 'lose the store',
      weight: 0.2,
      can: () =>
        !this.closing &&
        this.behind.store !== NO_NODE &&
        !this.behind.storeLeaves &&
        !this.plots.chains &&
        !this.plots.slowMemory &&
        !this.plots.starves,
      act: () => this.behind.loseStore(),
    },
    {
      name: 'fill the store',
      weight: 0.6,
      can: () => this.fills && this.behind.hasStore(),
      act: () => this.behind.fillStore(),
    },
    {
      name: 'fill the store again',
      weight: 10,
      can: () => this.plots.starves && this.behind.hasStore() && this.behind.full.size === 0,
      act: () => this.behind.fillStore(),
    },
    {
      name: 'have no room still',
      weight: 25,
      can: () => this.manager.waitsForRoom,
      act: () => this.behind.haveNoRoom(),
    },
    {
      name: 'write a block',
      weight: 8,
      can: () => this.behind.far !== NO_NODE && !this.closing && this.memories.length > 0,
      act: () => this.holders.writeBlock(),
    },
    {
      name: 'go away, or come back',
      weight: 1,
      can: () => this.behind.far !== NO_NODE && !this.closing,
      act: () => this.behind.goAway(),
    },
    {
      name: 'forget',
      weight: 0.7,
      can: () => this.forgets && !this.closing && this.behind.mayForget(),
      act: () => this.behind.forget(),
    },
    {
      name: 'bring what is not as it was',
      weight: 12,
      can: () => this.plots.storeFails && this.behind.spoiledStore() !== null,
      act: () => this.behind.bringSpoiled(),
    },
    {
      name: 'end a copy',
      weight: 7,
      can: () => this.processors.modelWith('pendingCopies') !== null,
      act: () => this.processors.endCopy(),
    },
    {
      name: 'next piece',
      weight: 10,
      can: () => this.router.busy || this.manager.waitsToGoAhead,
      act: () => this.nextPieces(),
    },
    {
      name: DEVICE_GOES_ON,
      weight: 8,
      can: () => !this.resting && this.processors.simulated() !== null,
      act: () => this.progress(),
    },
    {
      name: 'take back',
      weight: 5,
      can: () => this.sources.returns.length > 0,
      act: () => this.sources.endReturn(),
    },
    {
      name: 'take back again',
      weight: 1,
      can: () => this.refusing.size > 0,
      act: () => this.endRefusal(),
    },
    {
      name: 'provide',
      weight: 5,
      can: () => this.sources.provisions.length > 0,
      act: () => this.sources.endOne(),
    },
    {
      name: 'spoil',
      weight: 4,
      can: () => this.spoils && !this.closing && this.memories.some(isProvided),
      act: () => this.spoil(),
    },
    {
      name: 'clone more',
      weight: 8,
      can: () =>
        this.breeds && !this.closing && this.memories.length > 0 && this.memories.length < 7,
      act: () => this.arrays.clone(),
    },
    {
      name: 'empty more',
      weight: 4,
      can: () => this.breeds && !this.closing && this.memories.length > 0,
      act: () => this.arrays.zero(),
    },
    {
      name: 'move',
      weight: 5,
      can: () =>
        this.breeds && !this.closing && this.memories.length > 0 && this.memories.length < 7,
      act: () => this.arrays.move(),
    },
    {
      name: 'advise more',
      weight: 3,
      can: () => this.perils && !this.closing && this.memories.length > 0,
      act: () => this.arrays.advise(),
    },
    {
      name: 'kill more',
      weight: 0.6,
      can: () =>
        (this.perils || this.plots.orphans) && !this.closing && this.processors.anyDevice() !== -1,
      act: () => this.processors.kill(this.processors.anyDevice()),
    },
    {
      name: 'weave',
      weight: 6,
      can: () => this.plots.weaves && !this.closing && this.plots.line() !== null,
      act: () =>
        this.plots.weave(
          (_memory, first, count) => this.arrays.bring(first, count, HOST, Access.Read),
          (memory, first, count) =>
            this.holders.holdPages({
              memory,
              first,
              count,
              access: Access.Write,
              device: this.host,
            }),
        ),
    },
    {
      name: 'write what was cloned',
      weight: 10,
      can: () => this.plots.withholds && !this.closing && this.plots.cloned().length > 0,
      act: () =>
        this.plots.writeCloned((memory, first, count) =>
          this.holders.holdPages({ memory, first, count, access: Access.Write, device: this.host }),
        ),
    },
    {
      name: 'fill the host',
      weight: 40,
      can: () =>
        this.plots.starves && !this.closing && this.memories.length > 0 && this.hostHasRoom,
      act: () => this.arrays.fillHost(),
    },
    {
      name: 'hush',
      weight: 8,
      can: () => this.plots.starves && !this.closing,
      act: () => {
        this.hushed = true;
      },
    },
    {
      name: 'forget what was cloned',
      weight: 20,
      can: () =>
        this.plots.starves && !this.closing && !this.hostHasRoom && this.plots.cloned().length > 0,
      act: () => this.arrays.forget(this.random.pick(this.plots.cloned())),
    },
    {
      name: 'resize the host',
      weight: 3,
      can: () => this.resizes && !this.closing,
      act: () => this.arrays.resizeHost(),
    },
    {
      name: 'bring for writing',
      weight: 8,
      can: () => this.overflows && !this.closing && this.memories.length > 0,
      act: () => this.arrays.fillHost(),
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
      can: () => this.plots.returns && !this.closing && this.processors.idleDevice() !== -1,
      act: () => this.programs.launch(),
    },
    {
      name: 'give back',
      weight: 3,
      can: () => this.plots.returns && !this.closing && this.plots.idle() !== null,
      act: () => this.arrays.giveBack(this.plots.idle() as Memory),
    },
    {
      name: 'take to a device',
      weight: 4,
      can: () =>
        (this.plots.orphans || (this.plots.strands && this.processors.leaving.size === 0)) &&
        !this.closing &&
        this.memories.length > 0 &&
        this.processors.anyDevice() !== -1,
      act: () => this.arrays.take(),
    },
    {
      name: 'add another device',
      weight: 2,
      can: () =>
        (this.plots.orphans || this.plots.strands) &&
        !this.closing &&
        this.processors.deviceCount() < 2,
      act: () => this.processors.addDevice(true),
    },
    {
      name: 'detach more',
      weight: 2,
      can: () =>
        this.plots.strands &&
        !this.closing &&
        this.processors.leaving.size === 0 &&
        this.processors.idleDevice() !== -1,
      act: () => this.processors.detach(),
    },
    {
      name: 'need what is stranded',
      weight: 12,
      can: () =>
        this.plots.strands &&
        !this.closing &&
        this.processors.leaving.size > 0 &&
        this.memories.length > 0,
      act: () => this.arrays.need(),
    },
  ];

  private event(): boolean {
    this.strand();
    let total = 0;
    for (const action of this.actions) if (this.can(action)) total += this.weightOf(action);
    if (total === 0 && this.hushed) {
      this.hushed = false;
      return this.event();
    }
    if (total === 0) return false;
    let at = (this.random.next() / 0x1_0000_0000) * total;
    for (const action of this.actions) {
      if (!this.can(action)) continue;
      at -= this.weightOf(action);
      if (at >= 0) continue;
      this.perform(action.name, action.act);
      return true;
    }
    return true;
  }

  private can({ name, can }: { readonly name: string; readonly can: () => boolean }): boolean {
    return (!this.hushed || GOING_ON.has(name)) && can();
  }

  /** Where devices walk, what disturbs them is seldom. */
  private weightOf({ name, weight }: { readonly name: string; readonly weight: number }): number {
    return this.plots.streams && DISTURBING.has(name) ? weight / 20 : weight;
  }

  /** In the plot that strands what devices have that leave, hardly a copy succeeds meanwhile. */
  strand(): void {
    if (this.plots.strands && !this.closing)
      this.weather.copyFailure = this.processors.leaving.size > 0 ? STRANDING : FAIR;
  }

  private perform(name: string, act: () => void): void {
    this.step++;
    this.since = this.step - 1;
    this.current = name;
    this.gaveUp = false;
    if (name !== DEVICE_GOES_ON) this.resting = false;
    this.trace(() => `${this.step} ${name}`);
    this.carryOut(act);
  }

  /** Does something, and looks at all that it may have spoiled. */
  private carryOut(act: () => void): void {
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
    this.audit.readingRoom();
    this.guards.check();
    this.audit.invalidations();
    this.endInvalidations();
    this.audit.lost();
    if (this.step % 16 === 0) {
      this.audit.contents();
      this.audit.inheritedLosses();
      this.audit.advice();
    }
    for (const [node, most] of this.behind.full)
      if ((this.manager.node(node)?.backedPages ?? 0) > most)
        throw new Error('pages are sent to a store that has no room for them');
    if (this.behind.store !== NO_NODE && this.holdsAny()) this.lastHeld = this.step;
    // What only a store had that has died is found lost as its blocks come to it, also after a
    // device has gone.
    const leaving = this.processors.leaving.size > 0 || this.behind.storeLeaves;
    if (this.drainedAny && !leaving && !this.behind.isForgetting) this.mayBeLost.clear();
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
    // No event of its own: schedules go on as they were drawn.
    this.carryOut(() => this.fairWeather());
    for (let guard = 0; this.busy(); guard++) {
      if (!this.event() && !this.freeForTheStore()) break;
      if (guard > 50_000)
        throw new Error(`it never comes to rest: ${this.waiting()}; ${this.stuckBlocks()}`);
    }
    const waiting = this.waiting();
    if (waiting !== '')
      throw new Error(
        `nothing happens any more, and yet there wait: ${waiting}; ${this.stuckBlocks()}`,
      );
  }

  /**
   * What was written while there was a store need not fit the host without it: then the store stays
   * until an array is freed.
   */
  private freeForTheStore(): boolean {
    if (!this.behind.storeLeaves || this.usedPages() <= this.hostPages) return false;
    const memory = this.memories.find(({ exclusive, frees }) => !exclusive && frees === 0);
    if (memory === undefined) return false;
    this.perform('free what the host has no room for', () => this.giveBack(memory));
    return true;
  }

  private giveBack(memory: Memory): void {
    if (memory.pinned !== null) this.holders.unpinMemory(memory);
    if (memory.frees === 0) this.arrays.giveBack(memory);
  }

  private fairWeather(): void {
    this.manager.setBudget(HOST_NODE, this.host.description.budgetPages);
    while (this.refusing.size > 0) this.endRefusal();
    for (const node of this.behind.full.keys())
      if (this.manager.state.nodes[node] !== undefined) this.manager.nodeFull(node, null);
    this.behind.full.clear();
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
      this.processors.unheard.length > 0 ||
      this.programs.messages.length > 0 ||
      this.router.busy ||
      this.manager.waitsToGoAhead ||
      this.sources.provisions.length + this.sources.returns.length > 0
    );
  }

  /** Threads, requests and launches that have not got what they asked for. */
  private waiting(): string {
    const list: string[] = [];
    for (const device of this.devices) {
      if (!(device instanceof ModelDevice)) continue;
      for (const thread of device.threads) {
        if (thread.page !== -1)
          list.push(`thread ${thread.id} of ${device.description.name} for page ${thread.page}`);
      }
      if (
        device.revokes.length +
          device.pendingCopies.length +
          device.remaps.length +
          device.covers.length >
        0
      )
        list.push(`${device.description.name} has work left`);
    }
    for (const device of this.stores)
      if (device instanceof WatchedDevice && device.late.length > 0)
        list.push(`${device.description.name} for ${device.late.length} late readers`);
    if (this.behind.spoiledStore() !== null)
      list.push('the store for pages that are not as they were');
    if (this.behind.storeLeaves) list.push('the store that is to go');
    if (this.manager.state.breaks > 0) list.push(`${this.manager.state.breaks} copies for clones`);
    if (this.others.isBusy) list.push('other machines');
    if (this.invalidations.length > 0) list.push(`${this.invalidations.length} invalidations`);
    if (this.arrays.tries > 0) list.push(`${this.arrays.tries} arrays that are being freed`);
    if (this.requests.size > 0) list.push(`${this.requests.size} requests`);
    for (const launch of this.programs.launches) list.push(`launch ${launch.id} (${launch.state})`);
    if (this.holders.holds.length > 0) list.push(`${this.holders.holds.length} holds`);
    if (this.holders.writeBacks.length > 0)
      list.push(`${this.holders.writeBacks.length} runs to be written back`);
    if (this.processors.condemned.size > 0) list.push('a device is condemned');
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
        list.push(
          `block ${block.index} has ${tasks.join(', ')}; holds ${holds.join(' ')}; ${block.operation?.kind}`,
        );
    }
    const { activeOperations, dependentOperations, holds, breaks, quarantines } =
      this.manager.state;
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
      if (memory.pinned === null && memory.frees > 0) continue;
      this.perform('free all', () => this.giveBack(memory));
    }
    this.settle();
    for (const memory of [...this.memories]) {
      if (memory.range.freedPages < memory.range.pages) {
        this.perform('free the rest', () => this.arrays.giveBack(memory));
      }
    }
    this.settle();
    for (let guard = 0; this.kept.any; guard++) {
      this.perform('free the last that was kept', () => this.kept.tryAgain());
      this.settle();
      if (guard > 1000) throw new Error(`what was freed never goes: ${this.stuckBlocks()}`);
    }
    while (this.memories.length > 0) {
      this.perform('recycle all', () => {
        const [{ range }] = this.memories;
        this.clones.remove(range);
        if (!this.manager.recycle(range)) throw new Error('a freed range cannot be used again');
        this.memories.shift();
      });
    }
    this.settle();
    if (this.processors.leaving.size > 0)
      throw new Error('a device that was to leave is still there');
    for (const [node, device] of this.stores.entries()) {
      if (device === undefined) continue;
      const left = device instanceof ModelDevice ? device.backedPages : this.audit.mapped(device);
      const counted = this.manager.state.nodes[node]?.backedPages;
      if (left !== 0 || counted !== 0)
        throw new Error(
          `everything is freed, and node ${node} has ${left} pages, by count ${counted}`,
        );
    }
    if (!this.staging.isIdle)
      throw new Error('memory that pages go over from store to store is left in use');
    if (this.manager.state.holds !== 0)
      throw new Error(`${this.manager.state.holds} holds are left`);
    if (this.manager.state.requests.size !== 0) throw new Error('requests are left');
  }

  usedPages(): number {
    const all = [...this.memories, ...this.others.memories];
    return all.reduce((sum, { range }) => sum + range.pages, 0);
  }

  private get hostHasRoom(): boolean {
    const host = this.manager.node(HOST_NODE);
    return host !== undefined && host.backedPages + PAGES_PER_TRANSFER < host.budgetPages;
  }

  /** Pages that the host can hold, and send on. */
  get hostPages(): number {
    return this.host.description.budgetPages + this.behind.storePages;
  }

  private nextPieces(): void {
    if (this.manager.waitsToGoAhead) this.manager.goAhead();
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
      if (this.weather.noMemory > 0 && this.random.chance(this.weather.noMemory))
        device.copies.mishaps.refusals = 1;
      if (device.progress()) this.resting = false;
    }
  }

  // --- what the parts share
  // --------------------------------------------------------------------------------------

  /** Forgets what was known of these addresses. */
  begin(range: Range, writable: boolean): void {
    const end = range.first + range.reserved;
    for (const marks of [this.fuzzy, this.freed, this.perhapsEmpty, this.changing])
      marks.fill(0, range.first, end);
    this.announcements.begin(range.first, end);
    this.sources.begin(range.first, end);
    this.rights.fill(writable ? Access.Write : Access.Read, range.first, end);
    for (let page = range.first; page < end; page++) this.mayBeLost.delete(page);
  }

  usable(): Memory | null {
    const memory = this.random.pick(this.memories);
    return memory.exclusive ? null : memory;
  }

  pages(memory: Memory): [first: number, count: number] {
    const { range } = memory;
    if (this.walks || this.random.chance(this.heavy ? 0.6 : 0.1)) return [range.first, range.pages];
    const first = this.random.chance(0.5) ? 0 : this.random.below(range.pages);
    return [range.first + first, this.random.between(1, range.pages - first)];
  }

  ask(ending: Ending, mayNotFit = false): number {
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
    // What kept memory from the request may have ended by now, as the event before this one may
    // have ended what kept it from a fault.
    this.since = this.askedAt.get(id) ?? this.step - 1;
    this.askedAt.delete(id);
    const wants =
      failure === 'OUT_OF_MEMORY' || (failure === 'OUT_OF_STORAGE' && this.behind.everFull);
    if (failure !== null && !(wants && this.mayNotFit.has(id))) this.reasons.ofRequest(failure);
    this.since = this.step - 1;
    ending(pages, failure);
  }

  /** The file of this page's array takes nothing more, for a while. */
  refuseReturns(page: number): void {
    const first = this.manager.state.va.rangeOfPage(page)?.first ?? page;
    this.trace(() => `  the file of ${first} takes nothing back`);
    this.refusing.add(first);
    this.tight = true;
    this.behind.everFull = true;
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
    for (let at = range; at !== undefined && within < at.pages; at = this.parents.get(at))
      yield at.first + within;
  }

  /** Whether a launch that failed may have emptied the page, which was not looked at since. */
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

  private invalidated(page: number, count: number): void {
    const open = this.invalidations.find(
      (each) => each.open && each.page === page && each.count === count,
    );
    if (open !== undefined) open.open = false;
    this.announcements.ended(page, count);
  }

  private endInvalidations(): void {
    for (let index = this.invalidations.length - 1; index >= 0; index--)
      if (!this.invalidations[index].open) this.invalidations.splice(index, 1);
  }

  /**
   * Whether there may be want of memory: the host can send pages on to its store, but not such that
   * are held or pinned, or were at any time since what is told began.
   */
  get mayWant(): boolean {
    if (this.tight || this.behind.store === NO_NODE) return this.tight;
    return this.lastHeld >= this.since || this.holdsAny();
  }

  /**
   * Pages of a clone that are being filled cannot go either: they wait for those of their source,
   * which need memory, too.
   */
  private holdsAny(): boolean {
    if (this.manager.state.dependentOperations > 0) return true;
    for (const { residences, pinned } of this.manager.state.va.blocks.values())
      if ((residences[HOST_NODE]?.holds.length ?? 0) > 0 || !isEmpty(pinned)) return true;
    return false;
  }

  /** This machine, or another one, writes the page: returns what. */
  write(page: number): number {
    this.version++;
    this.shadow[page] = this.version;
    this.perhapsEmpty[page] = 0;
    return this.version;
  }

  /** What was read must be what was written last. */
  check(page: number, value: number, reader: string): void {
    if (this.fuzzy[page] > 0) return;
    if (this.perhapsEmpty[page] === 1 && value === 0) this.shadow[page] = 0;
    this.perhapsEmpty[page] = 0;
    if (value === this.shadow[page]) return;
    throw new Error(
      `${reader} reads ${value} from page ${page}, which must be ${this.shadow[page]}`,
    );
  }

  // --- memory
  // ----------------------------------------------------------------------------------------------------

  *models(): Iterable<ModelDevice> {
    for (const device of this.devices) if (device instanceof ModelDevice) yield device;
  }

  readWords(address: number, target: Uint32Array): void {
    if (this.staging.read(address, target)) return;
    const node = Math.floor(address / NODE_BYTES) - 1;
    const device = this.stores[node] as ModelDevice | WatchedDevice;
    const { words } = device;
    const start = (address - device.memory) / 4;
    target.set(words.subarray(start, start + target.length));
  }

  /** What the simulated device copies out. */
  writeWords(address: number, source: Uint32Array): void {
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
        if (copy.address < address + bytes && address < copy.address + copy.count * PAGE_BYTES)
          return true;
      }
    }
    return false;
  }
}
