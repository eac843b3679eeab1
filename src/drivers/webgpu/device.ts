/**
 * A GPU as a device, seen from the manager. Its pages lie in buffers that an engine, mostly a
 * process of its own, has on the GPU; it has no page faults, so that what a launch uses is there
 * before it begins. What it holds is gone with it.
 */

import { RecentMap } from '../../core/basics/recent-map.js';
import { type DeviceDescription, PAGE_BYTES, Status } from '../../core/basics/types.js';
import { PlacedThread } from '../../cpus/placed-threads.js';
import { isUsed } from '../../cpus/uses.js';
import { copyMemory, readMemory } from '../../linux/memory/memory.js';
import type { Injection, LaunchFailure, LaunchParameter, TransferOrder } from '../driver.js';
import { plannedDispatches } from '../planned-dispatches.js';
import type {
  HasEngine,
  IsLent,
  LaunchRefusal,
  ProcessDriver,
  ProcessEvents,
  RunsWgsl,
} from '../process-driver.js';
import type {
  LaunchDivision,
  PagedPart,
  Planning,
  WgslCode,
  WgslLaunch,
  WgslPart,
} from '../wgsl-launch.js';
import { Divider, type Room } from './launches/divider.js';
import {
  arrayOf,
  byVariables,
  featureProblem,
  noUniformLeft,
  type Pages,
  pagesAround,
  pagesOf,
  planOf,
  problemOf,
  tooLarge,
  tooManyGroups,
} from './launches/launch-plan.js';
import { noRoom, PagedLaunch, type PagedOutlet } from './launches/paged-launch.js';
import { PlannedRun } from './launches/planned-run.js';
import type { EngineLink } from './link/engine-link.js';
import { jsonPacket, readJson } from './link/packets.js';
import {
  type AdapterFacts,
  type Dispatch,
  File,
  type Fill,
  type Hello,
  type Launched,
  type Limits,
  MOST_DISPATCHES,
  MOST_MODULES,
  type Move,
  Packet,
  type Part,
  SOURCE_PIECE,
  type TransportChoice,
} from './link/protocol.js';
import { SLOTS, STAGING_BYTES, type Staging } from './link/staging.js';
import { JoinedMoves } from './memory/joined-moves.js';
import { type BufferCommands, RunTable } from './memory/run-table.js';
import { SpareBuffers } from './memory/spare-buffers.js';

/** Of each uniform variable of a launch that goes with others, whose numbers are in one packet. */
const MOST_UNIFORM_BYTES = 512;

/**
 * Tokens of pages that are put together in staging memory go down from here, by the piece. Those of
 * other copies that launches have are not among them.
 */
const FIRST_FILL = -2;
/**
 * Looks, about a second apart, that a GPU may take to be opened. They are counted, since a
 * suspended machine takes none.
 */
const STARTING_LOOKS = 60;

export interface WebgpuDeviceOptions {
  readonly name: string;
  readonly budgetPages: number;
  /** The memory file of the host, its bytes, and where the manager has it mapped. */
  readonly host: { readonly fd: number; readonly bytes: number; readonly address: number };
  /** The address of the module that reads WGSL, if it is installed. */
  readonly parser?: string;
  readonly transport?: TransportChoice;
  readonly inject?: Injection;
}

/** A copy that the engine has not answered. */
interface Pending {
  /** Of the staging memory that it goes through; -1: none. */
  readonly slot: number;
  /** Where the bytes go when they have come. */
  readonly out: { readonly address: number; readonly bytes: number } | null;
  /** The pages that were to get content, and the buffers in which they lay then. */
  readonly filled: (Pages & { readonly buffers: readonly number[] }) | null;
}

export class WebgpuDevice implements ProcessDriver, HasEngine, RunsWgsl, BufferCommands {
  readonly ends = null;
  readonly files = null;
  readonly engine: HasEngine = this;
  readonly wgsl: RunsWgsl = this;
  readonly lent: IsLent | null = null;
  readonly memoryFile = -1;
  readonly kind = 'webgpu';
  readonly kernels = 'wgsl';
  readonly memory = 0;
  readonly description: DeviceDescription;
  readonly faultFd = -1;
  readonly owesAnswers = false;
  onReady: (failure: string | null) => void = () => undefined;
  onWants: RunsWgsl['onWants'] = () => undefined;
  onWarning: RunsWgsl['onWarning'] = () => undefined;
  /** Kernels of which it has been said that they take many rounds. */
  private readonly slow = new RecentMap<string, true>(MOST_MODULES);
  protected readonly runs: RunTable;
  private readonly divider: Divider;
  protected readonly moves: JoinedMoves;
  private readonly spares: SpareBuffers;
  /**
   * The engine's thread, to be kept off the manager's CPU for a while: what wakes it mostly gives it
   * its own CPU where the others have been busy just now, as after a kernel of a GPU in software.
   * Null: it is a thread of the program, or left alone.
   */
  private readonly engineCpu: PlacedThread | null;
  private readonly pending = new Map<number, Pending>();
  /** Modules that the engine has, by their texts. */
  private readonly modules = new RecentMap<string, number>(MOST_MODULES, (module) =>
    this.post(Packet.Forget, [module]),
  );
  private lastModule = 0;
  transfersIn = 0;
  protected launched: number | null = null;
  /** Launches that follow it. */
  private following: number[] = [];
  /** Pipelines of running launches, in order: one that has run without a mistake is proven. */
  private unproven: string[] = [];
  /** Pipelines that have run without a mistake, by what they are made of. */
  private readonly proven = new RecentMap<string, true>(4 * MOST_MODULES);
  /** How long its kernel has run, as far as that was told. */
  private gpuMs: number | undefined;
  /** The same, if it is paged. */
  protected paged: PagedLaunch | null = null;
  /** What the next part of it needs, while this one runs. */
  private nextRun: PlannedRun | null = null;
  /** The buffer for tables of pages of launches that are paged; null: there is none. */
  private table: Part | null = null;
  protected facts: AdapterFacts | null = null;
  private overdue = 0;
  protected dead = false;
  private closed = false;

  constructor(
    protected readonly options: WebgpuDeviceOptions,
    protected readonly events: ProcessEvents,
    /** The engine. */
    private readonly link: EngineLink,
    protected staging: Staging | null,
    /** What is said of its memory. */
    survives: { readonly memorySurvives: boolean } = { memorySurvives: false },
  ) {
    this.divider = new Divider(options.parser);
    const { name, budgetPages, host } = options;
    this.description = {
      name,
      budgetPages,
      frames: 'identity',
      faults: false,
      addressable: false,
      longCopies: true,
      writeCombining: true,
      units: 0,
      ...survives,
      // A page that is written is the GPU's alone while a kernel runs.
      atomics: true,
    };
    this.moves = new JoinedMoves((kind, moves) => {
      if (kind === Packet.Write && moves.some(({ file }) => file !== File.None)) this.transfersIn++;
      this.send(kind, moves);
    });
    this.spares = new SpareBuffers(budgetPages * PAGE_BYTES, (kind, what) => this.post(kind, what));
    this.runs = new RunTable(this, budgetPages);
    this.engineCpu =
      link.pid === null || !isUsed('engine-apart') ? null : new PlacedThread(link.pid);
    const hello: Hello = {
      hostBytes: host.bytes,
      stagingBytes: STAGING_BYTES,
      transport: options.transport,
    };
    this.post(Packet.Hello, hello);
  }

  get socket(): { readonly fd: number } {
    return this.link.socket;
  }

  get pidfd(): number {
    return this.link.pidfd;
  }

  get pid(): number | null {
    return this.link.pid;
  }

  private get whose(): string {
    return this.pid === null ? 'a thread of the program' : `pid ${this.pid}`;
  }

  get exited(): Promise<void> {
    return this.link.exited;
  }

  /** There are none. */
  readFaults(): number {
    return 0;
  }

  sendReads(): void {
    this.moves.flush(Packet.Read);
  }

  readPackets(): boolean {
    while (!this.dead) {
      const packet = this.link.receive()?.bytes;
      if (packet === undefined) break;
      if (packet[0] === Packet.Moved) {
        const [tokens, status] = readJson<[number[], Status]>(packet);
        for (const token of tokens) this.moved(token, status);
      } else if (packet[0] === Packet.Launched)
        for (const each of readJson<Launched[]>(packet)) this.ended(each);
      else if (packet[0] === Packet.Ready) this.start(readJson<AdapterFacts>(packet));
      else if (packet[0] === Packet.Failed) this.onReady(readJson<string>(packet));
      else if (packet[0] === Packet.Lost)
        this.kill(`its GPU was lost: ${readJson<string>(packet)}`);
    }
    return false;
  }

  processEnded(): void {
    if (this.dead) return;
    this.readPackets();
    this.dead = true;
    if (this.closed) return;
    const reason = this.link.endReason;
    this.onReady(reason);
    for (const token of this.pending.keys()) this.events.transferred(token, Status.Lost);
    this.pending.clear();
    this.events.died(reason);
    for (; this.launched !== null; this.launched = this.following.shift() ?? null)
      this.events.launched(this.launched, { code: 'DEVICE_LOST', message: reason });
    this.paged?.close();
    this.paged = null;
    this.over();
  }

  kill(why: string | null = null): void {
    this.link.kill(why);
  }

  look(): void {
    if (this.dead || this.facts !== null || ++this.overdue < STARTING_LOOKS) return;
    const { name } = this.options;
    this.kill(
      `the engine of device ${name} (${this.whose}) did not start within ${STARTING_LOOKS} s, and was ended`,
    );
  }

  get sending(): boolean {
    const isLeft = this.moves.isWaiting || this.engineCpu?.isPlaced === true || this.link.waiting;
    return !this.dead && (isLeft || this.spares.areTooMany(this.runs.bytes));
  }

  sendRest(): void {
    if (this.dead) return;
    this.moves.flush();
    this.engineCpu?.lift();
    this.spares.trim(this.runs.bytes);
    this.link.sendRest();
  }

  /** Nothing of the GPU looks at pages but kernels, which are told where they lie. */
  map(): void {}

  /** Kernels have their pages held; between them no page is used. */
  revoke(): Status {
    return Status.Done;
  }

  /** No thread of the GPU waits: its accesses do not fault. */
  wake(): void {}

  release(_token: number, page: number, count: number): Status {
    if (!this.dead) this.runs.release(page, count);
    return Status.Done;
  }

  expect(runs: readonly { readonly first: number; readonly end: number }[]): void {
    if (this.dead) return;
    const { budgetPages } = this.options;
    this.runs.expect(runs.filter(({ first, end }) => first < end && end - first <= budgetPages));
  }

  transferIn({ token, address, page, count, backed }: TransferOrder): Status {
    if (this.dead) return Status.Lost;
    if (!backed && this.isTooLarge(count)) return Status.NoMemory;
    const bytes = count * PAGE_BYTES;
    const at = this.inHost(address, bytes);
    const parts = this.runs.fill(page, count);
    const filled = { first: page, count, buffers: parts.map(([buffer]) => buffer) };
    if (address === 0 && parts.every(([buffer]) => this.spares.isThere(buffer))) {
      // Whatever uses the pages is said to the engine after it; nothing is left that may fail.
      this.moves.add(Packet.Write, null, File.None, 0, parts);
      return Status.Done;
    }
    if (address === 0 || at !== -1) {
      const file = address === 0 ? File.None : File.Host;
      this.pending.set(token, { slot: -1, out: null, filled });
      this.moves.add(Packet.Write, token, file, address === 0 ? 0 : at, parts);
      return Status.Pending;
    }
    this.pending.set(token, { slot: -1, out: null, filled });
    const { slots } = this;
    slots.take((slot) => {
      this.pending.set(token, { slot, out: null, filled });
      copyMemory(slots.addressOf(slot), address, bytes);
      // Where they lie by now.
      const parts = this.runs.parts(page, count);
      this.moves.add(Packet.Write, token, File.Staging, slots.offsetOf(slot), parts);
    });
    return Status.Pending;
  }

  /** Whether a test has the device find no memory for so many pages. */
  protected isTooLarge(count: number): boolean {
    return count > (this.options.inject?.refuseLargerThanPages ?? Number.POSITIVE_INFINITY);
  }

  transferOut({ token, frame: page, count, address, urgent }: TransferOrder): Status {
    if (this.dead) return Status.Lost;
    const bytes = count * PAGE_BYTES;
    const at = this.inHost(address, bytes);
    this.pending.set(token, { slot: -1, out: null, filled: null });
    // What a thread waits for is a copy of its own, the first: it is there before what is asked for
    // along with it.
    if (at !== -1) {
      this.moves.add(Packet.Read, token, File.Host, at, this.runs.parts(page, count), urgent);
      // The engine begins with it at once, where that does not take the manager's CPU before the
      // rest has been asked for.
      if (urgent && this.engineCpu?.keepOff() === true) this.moves.flush(Packet.Read);
      return Status.Pending;
    }
    const { slots } = this;
    slots.take((slot) => {
      this.pending.set(token, { slot, out: { address, bytes }, filled: null });
      this.moves.add(
        Packet.Read,
        token,
        File.Staging,
        slots.offsetOf(slot),
        this.runs.parts(page, count),
      );
    });
    return Status.Pending;
  }

  refuse(launch: Omit<WgslLaunch, 'id'>): LaunchRefusal | null {
    return this.facts === null
      ? null
      : (featureProblem(launch, this.facts) ?? problemOf(launch, this.facts.limits));
  }

  divide(
    launch: Omit<WgslLaunch, 'id'>,
    needs: (parameters: readonly LaunchParameter[]) => number,
  ): Planning<LaunchDivision | LaunchRefusal> | null {
    if (this.facts === null) return null;
    const { limits } = this.facts;
    const fits =
      needs(launch.parameters) <= this.options.budgetPages &&
      tooLarge(launch, limits) === undefined;
    const isWhole =
      fits && tooManyGroups(launch, limits) === undefined && (launch.way ?? 'direct') === 'direct';
    return isWhole ? null : this.dividing(launch, limits, needs);
  }

  private *dividing(
    given: Omit<WgslLaunch, 'id'>,
    limits: Limits,
    needs: (parameters: readonly LaunchParameter[]) => number,
  ): Planning<LaunchDivision | LaunchRefusal> {
    const { name, budgetPages } = this.options;
    const pages = needs(given.parameters);
    const large = tooLarge(given, limits);
    const { way, kernelName } = given;
    const own = byVariables(given);
    const launch = { ...own, known: yield* this.divider.known(own, limits) };
    const fits = pages <= budgetPages && large === undefined;
    const many = tooManyGroups(given, limits);
    const room = { limits, budgetPages, pagesOf: needs };
    const known = way === undefined ? this.divider.again(launch, room) : null;
    if (known !== null)
      return (
        (yield* unplanned(kernelName, known)) ?? (yield* this.withoutRounds(launch, room, known))
      );
    const reasons: string[] = [];
    const uniform = way === 'direct' ? null : noUniformLeft(launch.code, limits);
    if (uniform !== null) reasons.push(`nothing can tell its parts which they are: ${uniform}`);
    if (uniform === null && (way === undefined || way === 'windowed')) {
      const division = yield* this.divider.divide(launch, room);
      if (typeof division !== 'string') return division;
      reasons.push(`it cannot be cut into parts: ${division}`);
    }
    if (uniform === null && (way === undefined || way === 'paged')) {
      const division = yield* this.divider.page(launch, room, way === 'paged', reasons[0]);
      if (typeof division !== 'string') {
        const refusal = yield* unplanned(kernelName, division);
        if (refusal !== null || way === 'paged') return refusal ?? division;
        return yield* this.withoutRounds(launch, room, division);
      }
      reasons.push(`its arrays cannot be paged: ${division}`);
    }
    if (way === 'direct') reasons.push('it is not to be cut');
    const because = reasons.join('; ');
    if (fits && many !== undefined) {
      const remedy = 'give it a size in two or three dimensions, or a larger @workgroup_size';
      return {
        code: 'DEVICE_LIMIT',
        message: `kernel ${kernelName}: ${many}, and ${because}; ${remedy}`,
      };
    }
    const excess = fits
      ? `it is to run ${way}`
      : (large ??
        `it needs ${pages * PAGE_BYTES} bytes at once on ${name}, which has no page faults and ${budgetPages * PAGE_BYTES} bytes`);
    const remedies = [
      ...(way === undefined ? [] : ['leave out way']),
      ...(fits || large !== undefined ? [] : ['give the device more memory']),
      ...(fits ? [] : ['launch it over smaller arrays']),
    ].join(', or ');
    return {
      code: 'DEVICE_MEMORY',
      message: `kernel ${kernelName}: ${excess}, and ${because}; ${remedies}`,
    };
  }

  /** A launch that would run in rounds, in parts by what its arrays hold where that does. */
  private *withoutRounds(
    launch: Omit<WgslLaunch, 'id'>,
    room: Room,
    division: LaunchDivision,
  ): Planning<LaunchDivision> {
    if (division.count > 0 && division.partAt(0, 0).part?.paged?.tells() === true) return division;
    return (yield* this.divider.byContents(launch, room)) ?? division;
  }

  get launchesAtOnce(): number {
    return MOST_DISPATCHES;
  }

  /** After a failing launch nothing runs: those that go together are not expected to fail. */
  joins({ code }: Omit<WgslLaunch, 'id'>): boolean {
    const isSmall = code.bindings.every(
      (each) => each.kind !== 'uniform' || each.bytes <= MOST_UNIFORM_BYTES,
    );
    return isSmall && this.proven.get(pipelineKey(this.moduleOf(code), code)) === true;
  }

  launchWgsl(launches: readonly WgslLaunch[]): void {
    const { facts } = this;
    const refuse = (failure: LaunchFailure): void => {
      for (const { id } of launches) this.events.launched(id, failure);
    };
    if (this.dead || facts === null) {
      refuse({ code: 'DEVICE_LOST', message: `device ${this.options.name} is gone` });
      return;
    }
    const arrays = launches.flatMap(pagesOf);
    for (const { first, count } of arrays) this.runs.join(first, count);
    if (arrays.some(({ first, count }) => this.runs.use(first, count) === undefined)) {
      this.runs.unuse();
      const message =
        'its arrays share a page, and lie in pieces that are together larger than a buffer of this GPU; have them begin at pages of their own';
      refuse({ code: 'DEVICE_MEMORY', message });
      return;
    }
    [this.launched, ...this.following] = launches.map(({ id }) => id);
    const isWhole = launches[0].part === undefined;
    this.unproven = isWhole
      ? launches.map(({ code }) => pipelineKey(this.moduleOf(code), code))
      : [];
    const alignment = facts.limits.minStorageBufferOffsetAlignment;
    const moduleOf = (code: WgslCode): number => this.moduleOf(code);
    const plans = launches.map((each) =>
      planOf(each, moduleOf, alignment, (pages) => this.use(pages)),
    );
    const paged = launches[0].part?.paged;
    if (paged === undefined) this.post(Packet.Dispatch, plans);
    else this.page(launches[0], plans[0], paged);
  }

  step(): boolean {
    return (this.nextRun ?? this.paged)?.step() === true;
  }

  supply(launch: number, there: boolean): void {
    const asker = this.nextRun ?? (this.launched === launch ? this.paged : null);
    asker?.supplied(there);
  }

  over(): void {
    this.nextRun?.close();
    this.nextRun = null;
  }

  /** Has the GPU be lost, as a driver that resets it does; the engine goes on. For tests. */
  lose(): void {
    this.post(Packet.Lose, null);
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    if (!this.dead) this.kill();
    this.dead = true;
    this.link.close();
    this.staging?.close();
  }

  create(buffer: number, bytes: number): void {
    this.spares.create(buffer, bytes);
  }

  destroy(buffer: number, bytes: number): void {
    this.spares.giveUp(buffer, bytes);
  }

  copy(from: number, fromOffset: number, to: number, toOffset: number, bytes: number): void {
    this.post(Packet.Copy, [from, fromOffset, to, toOffset, bytes]);
  }

  /** There is staging when there is a device. */
  protected get slots(): Staging {
    return this.staging as Staging;
  }

  private use({ first, count }: Pages): Part {
    const run = this.runs.use(first, count);
    if (run === undefined)
      throw new Error(`pages ${first} to ${first + count - 1} lie in no piece`);
    return [run.buffer, (first - run.first) * PAGE_BYTES, count * PAGE_BYTES];
  }

  private page(launch: WgslLaunch, order: Dispatch, paged: PagedPart): void {
    const { id, kernelName, parameters, part } = launch;
    const pools = paged.rounds.tables.map((table) => {
      return this.use(pagesAround(arrayOf({ parameters }, table.name)));
    });
    const outlet = this.pagedOutlet(id);
    const { nextRun } = this;
    this.nextRun = null;
    const plan = nextRun === null ? paged.plan() : null;
    const planned = nextRun ?? (plan && new PlannedRun(plan, paged, outlet));
    const running = { kernelName, order, part: part as WgslPart, paged, pools };
    this.paged = new PagedLaunch(running, this.slots, outlet, planned);
    if (nextRun === null) planned?.start();
  }

  private pagedOutlet(id: number): PagedOutlet {
    const { host } = this.options;
    return {
      post: (kind, what) => this.post(kind, what),
      slow: (kernel, what) => {
        if (this.slow.get(kernel) === undefined)
          this.onWarning(`warning: kernel ${kernel} on ${this.options.name} ${what}`);
        this.slow.set(kernel, true);
      },
      moduleOf: (code) => this.moduleOf(code),
      needTable: (table) => this.needTable(table),
      giveUpTable: () => this.giveUpTable(),
      want: (pages, wantedFor, atOnce) => this.onWants(id, pages, wantedFor, atOnce),
      look: (at, content) => readMemory(content, host.address + at),
      takeSlot: () => this.slots.takeSpare(),
      giveSlot: (slot) => this.slots.give(slot),
      copy: (at, bytes, slot, to) =>
        copyMemory(this.slots.addressOf(slot) + to, host.address + at, bytes),
      send: (slot, parts) => {
        const at = this.slots.offsetOf(slot);
        this.post(Packet.Fill, {
          token: FIRST_FILL - slot,
          launch: id,
          file: File.Staging,
          at,
          parts,
        } satisfies Fill);
      },
      nextRun: (run) => {
        this.nextRun = run;
        run.start();
      },
      ended: (failure) => {
        this.paged = null;
        this.launchEnded(id, failure);
      },
    };
  }

  /** Whether the token is of pages that the engine has read. */
  protected filled(token: number): boolean {
    const slot = FIRST_FILL - token;
    if (slot < 0 || slot >= SLOTS) return false;
    this.slots.give(slot);
    return true;
  }

  private needTable(table: Part): void {
    if (this.table?.[2] === table[2]) return;
    this.giveUpTable();
    this.table = table;
    this.post(Packet.Create, [table[0], table[2]]);
  }

  private giveUpTable(): void {
    if (this.table !== null) this.post(Packet.Destroy, [this.table[0]]);
    this.table = null;
  }

  private moduleOf({ source }: WgslCode): number {
    const known = this.modules.get(source);
    if (known !== undefined) return known;
    const module = ++this.lastModule;
    this.modules.set(source, module);
    for (let at = 0; at < source.length; at += SOURCE_PIECE)
      this.post(Packet.Source, [module, source.slice(at, at + SOURCE_PIECE)]);
    return module;
  }

  protected start(facts: AdapterFacts): void {
    this.facts = facts;
    this.runs.largestPages = Math.floor(facts.limits.maxBufferSize / PAGE_BYTES);
    this.onReady(null);
  }

  protected moved(token: number, status: Status): void {
    if (token < 0) {
      if (!this.filled(token)) this.paged?.moved(status);
      return;
    }
    const pending = this.pending.get(token);
    if (pending === undefined) return;
    this.pending.delete(token);
    const { slot, out, filled } = pending;
    if (out !== null) copyMemory(out.address, this.slots.addressOf(slot), out.bytes);
    if (slot !== -1) this.slots.give(slot);
    if (filled !== null) {
      if (status !== Status.Done) this.runs.release(filled.first, filled.count);
      else for (const buffer of filled.buffers) this.spares.noteThere(buffer);
    }
    // What is kept beside is the first to go where the GPU has no memory.
    if (status === Status.NoMemory) this.spares.trim(Number.POSITIVE_INFINITY);
    this.events.transferred(token, status);
  }

  protected ended({ launch, failure, gpuMs }: Launched): void {
    if (this.launched !== launch) return;
    const key = this.unproven.shift();
    if (failure === null && key !== undefined) this.proven.set(key, true);
    if (gpuMs !== undefined) this.gpuMs = (this.gpuMs ?? 0) + gpuMs;
    if (this.paged === null) this.launchEnded(launch, failure);
    else this.paged.launched(failure);
  }

  protected launchEnded(launch: number, failure: LaunchFailure | null): void {
    const { gpuMs } = this;
    this.launched = this.following.shift() ?? null;
    this.gpuMs = undefined;
    if (this.launched === null) this.runs.unuse();
    this.events.launched(launch, failure, gpuMs);
  }

  /** Where the bytes at an address lie in the host's memory file; -1: they do not. */
  private inHost(address: number, bytes: number): number {
    const at = address - this.options.host.address;
    return at >= 0 && at + bytes <= this.options.host.bytes ? at : -1;
  }

  protected post(kind: number, what: unknown): void {
    this.moves.flush();
    this.send(kind, what);
  }

  private send(kind: number, what: unknown): void {
    if (!this.dead) this.link.post(jsonPacket(kind, what));
  }
}

/**
 * Why a launch that runs by plans or not at all is not begun; null: there is room for the pages of
 * all its workgroups, as far as can be told.
 */
function* unplanned(kernelName: string, division: LaunchDivision): Planning<LaunchRefusal | null> {
  for (let index = 0; index < division.count; index++) {
    const paged = division.partAt(index, 0).part?.paged;
    if (paged === undefined || paged.once === null) return null;
    if ((yield* plannedDispatches(paged)) === null) return noRoom(kernelName, paged.once);
  }
  return null;
}

function pipelineKey(module: number, { entryPoint, constants }: WgslCode): string {
  return `${module} ${entryPoint} ${JSON.stringify(constants)}`;
}

export function move(token: number | null, file: File, at: number, parts: readonly Part[]): Move {
  return { tokens: token === null ? null : [token], file, at, parts };
}
