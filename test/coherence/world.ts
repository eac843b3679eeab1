/**
 * A server and some machines that share blocks, as plain data: every step that could come next is
 * named, and taken on a copy.
 *
 * The content of a block is the list of writes that made it, in their order. So the server's list
 * is the order of all writes that a sequentially consistent history must have, and a read fits into
 * it if what it saw is a part of the list from its beginning: that, and that no machine sees less
 * than before, is what `read` and `flushed` look at. Beyond that a machine whose lease holds must
 * see the latest write, which makes the blocks consistent with each other.
 *
 * A server that forgets the array has another one from then on, with lists that begin anew. A
 * machine that opened the earlier one may see what that had, as long as it has not heard of its
 * end; then it opens the array again.
 *
 * A server that is restored has the array as it was when that was saved, and the connections are
 * gone. Until a machine has a session of the restored server it may see what it had, since there is
 * no one to take it. From then on it must see what all do, and must have been told what was lost of
 * the blocks that it owned: of those that it had given up it is told nothing, nor when others have
 * flushed to a block before it came back.
 */
import { Cache, type CacheCommands, type CacheState } from '../../src/coherence/cache.js';
import {
  type Notice,
  type Reply,
  type Request,
  type Right,
  type Rights,
  SPOILED,
} from '../../src/coherence/messages.js';
import { Directory, type DirectoryState } from './directory.js';

export type Content = readonly number[];
type Operation = {
  readonly op: 'read' | 'write' | 'flush' | 'launch';
  /** The first one of a launch. */
  readonly block: number;
  /** Those that a launch writes, in their order. */
  readonly blocks: readonly number[];
};

export interface Setting {
  readonly name: string;
  readonly blocks: number;
  /**
   * What each machine does, in order: `w0` writes block 0, `r1` reads block 1, `f0` flushes, `l01`
   * is a launch that writes blocks 0 and 1.
   */
  readonly programs: readonly string[];
  /** How many may happen, of each kind. */
  readonly crashes?: number;
  readonly breaks?: number;
  readonly leaseEnds?: number;
  /** Machines that stand still while their leases end at the server, and do not know it. */
  readonly stops?: number;
  /** How often the server loses all that it has. */
  readonly forgets?: number;
  /** How often the server comes back with what it had at an earlier time. */
  readonly restores?: number;
  /** It is restored once more only when all machines have come back to it. */
  readonly awaitsReturns?: boolean;
  /**
   * Contents that cannot be put in their places, so that the thread that waits is refused, and asks
   * again.
   */
  readonly shortages?: number;
  /**
   * How often the server has a content no more as it was written. A thread that waits for it is
   * refused, and goes on without.
   */
  readonly spoils?: number;
  /**
   * How often a machine takes back what a thread of it waits for, which goes on without, as one
   * does that leaves.
   */
  readonly withdrawals?: number;
  /**
   * Another thread of a machine may want what comes next in its program while the first one waits.
   */
  readonly ahead?: boolean;
}

interface Sent {
  readonly session: number;
  readonly request: Request<Content>;
}
type Received =
  | { readonly notice: Notice<Content> }
  | { readonly session: number; readonly reply: Reply<Content> };

interface Memory {
  content: Content;
  right: Rights;
  changed: boolean;
  install: { content: Content | null; right: Right } | null;
  /** The content is here, and not in its place. */
  aside: boolean;
  restrict: Rights | null;
  /** What is to be restricted when the launch does not hold the block any more. */
  wish: Rights | null;
}

/** A launch takes its blocks in their order, and holds what it has taken until it has ended. */
interface Launch {
  /** So many of its blocks are taken. */
  taken: number;
  /** It has taken all, and has begun. */
  runs: boolean;
  /** It is to look again at the block that it waits for. */
  awake: boolean;
  /** Its blocks have been taken from it: it fails. */
  broken: boolean;
}

interface Machine {
  cache: CacheState;
  dead: boolean;
  at: number;
  /** The operation waits to be let. */
  asked: boolean;
  /** Another thread waits for the one after it. */
  askedAhead: boolean;
  launch: Launch | null;
  memory: Memory[];
  up: Sent[];
  down: Received[];
  /** What an old connection has taken, and the server may still hear. */
  late: Sent[];
  /**
   * By block: what was seen last, what was written here and is not lost, and whether a flush is
   * awaited.
   */
  seen: Content[];
  written: number[][];
  flushing: boolean;
}

interface State {
  directory: DirectoryState<Content>;
  machines: Machine[];
  /** The machine of each session. */
  sessions: Record<number, number>;
  /**
   * What the server had of each block when it lost that, by the name of the array: machines may
   * have different lost ones open.
   */
  before: Record<string, Content[]>;
  /** What the server has kept for the time when it is restored. */
  saved: DirectoryState<Content> | null;
  /**
   * The last number that was given when it was restored, and by block the flushed writes that it
   * lacks since.
   */
  restoredAt: number;
  missing: Content[];
  /** By block: what was written of a content that the server has spoiled. */
  spoilt: Content[];
  writes: number;
  crashes: number;
  breaks: number;
  leaseEnds: number;
  stops: number;
  forgets: number;
  restores: number;
  shortages: number;
  spoils: number;
  withdrawals: number;
}

export type Action = readonly [name: string, index: number, block?: number];

export class Violation extends Error {}

function begins(whole: Content, part: Content): boolean {
  return part.length <= whole.length && part.every((write, at) => whole[at] === write);
}

function emptyMemory(): Memory {
  return {
    content: [],
    right: 'none',
    changed: false,
    install: null,
    aside: false,
    restrict: null,
    wish: null,
  };
}

function parse(program: string): Operation[] {
  const ops = { r: 'read', w: 'write', f: 'flush', l: 'launch' } as const;
  return program.split(' ').map((word) => {
    const blocks = [...word.slice(1)].map(Number);
    return { op: ops[word[0] as keyof typeof ops], block: blocks[0], blocks };
  });
}

/** Names the array that all have opened at the beginning. */
const FIRST = 'once';

export class World {
  private readonly programs: Operation[][];

  constructor(
    private readonly setting: Setting,
    readonly state: State = World.begin(setting),
  ) {
    this.programs = setting.programs.map(parse);
  }

  /** All machines have their sessions. */
  start(): void {
    for (const index of this.state.machines.keys())
      for (const name of ['connect', 'up', 'down', 'up', 'down']) this.take([name, index]);
  }

  static begin(setting: Setting): State {
    const { blocks, programs, crashes = 0, breaks = 0, leaseEnds = 0, stops = 0 } = setting;
    const { forgets = 0, restores = 0, shortages = 0, spoils = 0, withdrawals = 0 } = setting;
    const each = <T>(make: () => T): T[] => Array.from({ length: blocks }, make);
    const machines = programs.map(
      (): Machine => ({
        cache: Cache.empty(blocks, FIRST),
        dead: false,
        at: 0,
        asked: false,
        askedAhead: false,
        launch: null,
        memory: each(emptyMemory),
        up: [],
        down: [],
        late: [],
        seen: each(() => []),
        written: each(() => []),
        flushing: false,
      }),
    );
    const directory = Directory.empty<Content>(
      each(() => []),
      FIRST,
    );
    return {
      directory,
      machines,
      sessions: {},
      before: {},
      saved: null,
      restoredAt: 0,
      missing: each(() => []),
      spoilt: each(() => []),
      writes: 0,
      crashes,
      breaks,
      leaseEnds,
      stops,
      forgets,
      restores,
      shortages,
      spoils,
      withdrawals,
    };
  }

  /**
   * What may come next. Those that are not `failures` are all that is needed for the programs to
   * end.
   */
  actions(): { steps: Action[]; failures: Action[] } {
    const steps: Action[] = [];
    const failures: Action[] = [];
    const {
      machines,
      directory,
      crashes,
      breaks,
      leaseEnds,
      stops,
      forgets,
      restores,
      saved,
      spoils,
    } = this.state;
    // What concerns one machine alone comes first: when it is done makes no difference to others.
    for (const [index, machine] of machines.entries()) {
      if (machine.dead) continue;
      const block = machine.memory.findIndex(({ install }) => install !== null);
      if (block !== -1) {
        const { install, aside } = machine.memory[block];
        const mayFail = this.state.shortages > 0 && (aside || install?.content != null);
        return {
          steps: [['install', index, block]],
          failures: mayFail ? [['shortage', index, block]] : [],
        };
      }
      const { launch } = machine;
      if (launch?.awake === true && !launch.runs) return { steps: [['take', index]], failures: [] };
      if (this.mustAsk(machine)) return { steps: [['go', index]], failures: [] };
    }
    for (const [index, machine] of machines.entries()) {
      if (machine.late.length > 0) steps.push(['late', index], ['forget', index]);
      // What a machine has sent may be heard after its death.
      if (machine.up.length > 0) steps.push(['up', index]);
      if (machine.dead) continue;
      if (machine.down.length > 0) steps.push(['down', index]);
      if (this.mayGoOn(machine)) steps.push(['go', index]);
      for (const [block, { restrict }] of machine.memory.entries()) {
        if (restrict !== null) steps.push(['restrict', index, block]);
      }
      const { connected, session, forgotten } = machine.cache;
      if (forgotten) {
        steps.push(['reopen', index]);
        continue;
      }
      // Its lease cannot be renewed.
      if (session !== 0 && !directory.alive.includes(session)) steps.push(['told', index]);
      if (!connected) steps.push(['connect', index]);
      else if (breaks > 0) failures.push(['break', index]);
      if (this.mayAskAhead(machine)) failures.push(['ahead', index]);
      if (this.state.withdrawals > 0 && machine.asked && !this.mayGoOn(machine))
        failures.push(['withdraw', index]);
      if (crashes > 0 && machine.cache.session !== 0) failures.push(['crash', index]);
      if (leaseEnds > 0 && machine.cache.session !== 0) failures.push(['lease', index]);
    }
    if (forgets > 0) failures.push(['lose', 0]);
    if (restores > 0 && this.mayRestore()) failures.push([saved === null ? 'save' : 'restore', 0]);
    for (const [block, { content }] of directory.blocks.entries())
      if (spoils > 0 && content !== SPOILED) failures.push(['spoil', 0, block]);
    for (const session of directory.alive) {
      if (this.isOver(session)) steps.push(['expire', session]);
      else if (stops > 0) failures.push(['stop', session]);
    }
    // A reminder comes after a long time, in which everything else has happened.
    if (steps.every(([name]) => name === 'expire')) {
      for (const [index, { dead, cache }] of machines.entries()) {
        if (!dead && cache.blocks.some(({ waiting }) => waiting)) steps.push(['remind', index]);
      }
    }
    return { steps, failures };
  }

  private mayRestore(): boolean {
    const { restores, machines } = this.state;
    if (this.setting.awaitsReturns !== true || restores === this.setting.restores) return true;
    return machines.every((machine) => machine.dead || this.isBack(machine));
  }

  take([name, index, block = 0]: Action): void {
    const machine = this.state.machines[index];
    switch (name) {
      case 'go':
        this.go(index, machine);
        return;
      case 'take':
        this.takeBlocks(index, machine);
        return;
      case 'ahead': {
        const { op, block: next } = this.programs[index][machine.at + 1];
        machine.askedAhead = true;
        this.cacheOf(index).touch(next, op as Right);
        return;
      }
      case 'withdraw': {
        const { block: wanted } = this.programs[index][machine.at];
        this.state.withdrawals--;
        machine.asked = false;
        machine.at++;
        this.cacheOf(index).withdraw(wanted);
        return;
      }
      case 'up':
        this.hear(machine, machine.up.shift()!, true);
        return;
      case 'late':
        this.hear(machine, machine.late.shift()!, false);
        return;
      case 'forget':
        machine.late = [];
        return;
      case 'down':
        this.listen(index, machine);
        return;
      case 'install':
        this.install(index, machine, block);
        return;
      case 'shortage':
        this.state.shortages--;
        this.setAside(index, machine, block);
        return;
      case 'restrict': {
        const memory = machine.memory[block];
        const right = memory.restrict!;
        memory.restrict = null;
        if (right === 'none' || memory.right !== 'none') memory.right = right;
        this.cacheOf(index).restricted(block, memory.changed);
        return;
      }
      case 'connect':
        this.cacheOf(index).connected();
        return;
      case 'remind':
        if (!this.mayFail)
          throw new Violation(
            `machine ${index} has to remind the server, though nothing has failed`,
          );
        this.cacheOf(index).remind();
        return;
      case 'break':
        this.state.breaks--;
        machine.late.push(...machine.up);
        machine.up = [];
        machine.down = [];
        this.cacheOf(index).disconnected();
        return;
      case 'crash':
        this.state.crashes--;
        machine.dead = true;
        machine.down = [];
        return;
      case 'lease':
        this.state.leaseEnds--;
        this.cacheOf(index).leaseEnded();
        return;
      case 'told':
        this.cacheOf(index).leaseEnded();
        return;
      case 'spoil':
        this.state.spoils--;
        this.state.spoilt[block] = this.contentOf(block);
        this.state.directory.blocks[block].content = SPOILED;
        return;
      case 'lose':
        this.lose();
        return;
      case 'save':
        this.state.saved = structuredClone(this.state.directory);
        return;
      case 'restore':
        this.restore();
        return;
      case 'reopen':
        this.reopen(machine);
        return;
      case 'stop':
        this.state.stops--;
        this.directory().expire(index);
        return;
      case 'expire':
        this.directory().expire(index);
        return;
    }
  }

  /**
   * When nothing more happens: all programs have ended, and what they wrote is there, unless they
   * were told that it is not.
   */
  end(): void {
    for (const [index, machine] of this.state.machines.entries()) {
      if (machine.dead) continue;
      if (machine.at < this.programs[index].length)
        throw new Violation(`machine ${index} waits for ever`);
      for (const [block, written] of machine.written.entries()) {
        const latest = this.latest(block);
        for (const write of written) {
          if (!latest.includes(write))
            throw new Violation(`write ${write} of machine ${index} is lost, and nobody said so`);
        }
      }
    }
  }

  private mayGoOn(machine: Machine): boolean {
    const index = this.state.machines.indexOf(machine);
    const operation = this.programs[index][machine.at];
    if (operation === undefined || machine.flushing) return false;
    if (!machine.asked || operation.op === 'flush') return true;
    if (operation.op === 'launch') return machine.launch?.runs === true;
    const { right } = machine.memory[operation.block];
    return right === 'write' || right === operation.op;
  }

  private get mayFail(): boolean {
    const { crashes, breaks, leaseEnds, stops, forgets, restores } = this.setting;
    return (crashes ?? breaks ?? leaseEnds ?? stops ?? forgets ?? restores) !== undefined;
  }

  /** Whether a thread is about to fault. */
  private mustAsk(machine: Machine): boolean {
    const operation = this.programs[this.state.machines.indexOf(machine)][machine.at];
    if (operation === undefined || machine.asked) return false;
    if (operation.op === 'flush' || operation.op === 'launch') return false;
    const { right } = machine.memory[operation.block];
    return right !== 'write' && right !== operation.op;
  }

  private mayAskAhead(machine: Machine): boolean {
    const next = this.programs[this.state.machines.indexOf(machine)][machine.at + 1];
    return (
      this.setting.ahead === true &&
      machine.asked &&
      !machine.askedAhead &&
      next !== undefined &&
      next.op !== 'flush'
    );
  }

  /** Whether nothing comes, though all machines remind the server of what they wait for. */
  private get waitsForEver(): boolean {
    if (!this.isStuck) return false;
    const copy = new World(this.setting, structuredClone(this.state));
    for (const { dead, cache } of this.state.machines)
      for (const [block, { waiting }] of cache.blocks.entries())
        if (!dead && waiting)
          copy.directory().step({ kind: 'remind', session: cache.session, block });
    return copy.isStuck;
  }

  /**
   * Whether nothing comes but reminders, and recalls that change nothing: of an earlier session, of
   * what is being restricted, of what is not here.
   */
  private get isStuck(): boolean {
    if (this.actions().steps.some(([name]) => name !== 'remind' && name !== 'down')) return false;
    return this.state.machines.every(({ cache, down }) =>
      down.every((each) => {
        if (!('notice' in each) || each.notice.kind !== 'recall') return false;
        if (each.notice.to !== cache.session) return true;
        const { right, epoch, doing } = cache.blocks[each.notice.block];
        return doing !== 'nothing' || (right === 'none' && epoch === 0);
      }),
    );
  }

  /** Whether no thread uses what the session gave, so that its lease may end at the server. */
  private isOver(session: number): boolean {
    const { dead, cache, memory } = this.state.machines[this.state.sessions[session]];
    if (dead || cache.session > session) return true;
    // A restored server has leases as they were when it was saved.
    if (session <= this.state.restoredAt) return true;
    // The machine does not know yet that it has the session.
    if (cache.greeting && session > cache.previous) return false;
    // One that was begun by what an old connection had taken is nobody's.
    if (session > cache.previous) return true;
    return (
      cache.session === 0 &&
      memory.every(({ right, install }) => right === 'none' && install === null)
    );
  }

  private go(index: number, machine: Machine): void {
    const { op, block } = this.programs[index][machine.at];
    const memory = machine.memory[block];
    if (op === 'flush') {
      machine.flushing = true;
      this.cacheOf(index).flush(block);
      return;
    }
    if (op === 'launch') {
      this.goOnLaunching(index, machine);
      return;
    }
    if (memory.right !== 'write' && memory.right !== op) {
      machine.asked = true;
      this.cacheOf(index).touch(block, op);
      return;
    }
    machine.asked = false;
    machine.askedAhead = false;
    machine.at++;
    this.look(index, machine, block);
    if (op === 'write') this.write(machine, block);
  }

  private write(machine: Machine, block: number): void {
    const memory = machine.memory[block];
    const write = ++this.state.writes;
    memory.content = [...memory.content, write];
    memory.changed = true;
    machine.written[block].push(write);
    machine.seen[block] = memory.content;
  }

  /** A launch asks for all its blocks when it is called, and writes them when it ends. */
  private goOnLaunching(index: number, machine: Machine): void {
    const { blocks } = this.programs[index][machine.at];
    const { launch } = machine;
    if (launch === null) {
      machine.asked = true;
      machine.launch = { taken: 0, runs: false, awake: false, broken: false };
      for (const block of blocks)
        if (machine.memory[block].right !== 'write') this.cacheOf(index).touch(block, 'write');
      this.takeBlocks(index, machine);
      return;
    }
    machine.asked = false;
    machine.launch = null;
    machine.at++;
    if (!launch.broken)
      for (const block of blocks) {
        this.look(index, machine, block);
        this.write(machine, block);
      }
    for (const block of blocks) this.settle(index, machine, block);
  }

  private takeBlocks(index: number, { launch, memory, at }: Machine): void {
    if (launch === null || launch.runs) return;
    launch.awake = false;
    const { blocks } = this.programs[index][at];
    for (; launch.taken < blocks.length; launch.taken++) {
      const block = blocks[launch.taken];
      const { right, restrict, wish } = memory[block];
      if (right === 'write' && restrict === null && wish === null) continue;
      this.cacheOf(index).touch(block, 'write');
      return;
    }
    launch.runs = true;
  }

  private isHeld({ launch, at }: Machine, index: number, block: number): boolean {
    return (
      launch !== null && this.programs[index][at].blocks.slice(0, launch.taken).includes(block)
    );
  }

  /** Restricts a block as was wished unless a launch holds it. */
  private settle(index: number, machine: Machine, block: number): void {
    const memory = machine.memory[block];
    if (memory.wish === null || this.isHeld(machine, index, block)) return;
    memory.restrict = memory.wish;
    memory.wish = null;
    this.wake(machine);
  }

  /** A launch has no right to a block any more: it fails, or waits anew if it has not begun. */
  private breakLaunch(index: number, machine: Machine, block: number): void {
    const { launch } = machine;
    if (launch === null || !this.isHeld(machine, index, block)) return;
    if (launch.runs) launch.broken = true;
    launch.taken = 0;
    for (const each of this.programs[index][machine.at].blocks) this.settle(index, machine, each);
    this.wake(machine);
  }

  private wake({ launch }: Machine): void {
    if (launch !== null) launch.awake = true;
  }

  /** What a thread sees of a block. */
  private look(index: number, machine: Machine, block: number): void {
    const { content } = machine.memory[block];
    const { cache } = machine;
    if (!this.isPresent(machine)) {
      const had = this.state.before[cache.made][block];
      if (!begins(content, had))
        throw new Violation(`machine ${index} sees [${content}] where [${had}] is lost`);
      return;
    }
    const session = cache.session === 0 ? cache.previous : cache.session;
    if (!this.isBack(machine)) {
      // It has not heard of the server again.
    } else if (this.state.directory.alive.includes(session)) {
      const latest = this.latest(block);
      if (String(content) !== String(latest))
        throw new Violation(`machine ${index} sees [${content}] where [${latest}] was written`);
    } else if (this.setting.stops === undefined) {
      throw new Violation(`machine ${index} sees block ${block} after its lease has ended`);
    }
    if (!begins(content, machine.seen[block])) {
      throw new Violation(
        `machine ${index} sees [${content}] after it has seen [${machine.seen[block]}]`,
      );
    }
    machine.seen[block] = content;
  }

  /** Whether the array that the machine has opened is the one that the server has. */
  private isPresent({ cache }: Machine): boolean {
    return cache.made === this.state.directory.made;
  }

  /** The server loses all that it has. Its numbers follow the clock. */
  private lose(): void {
    this.state.forgets--;
    const { blocks, numbers, made } = this.state.directory;
    const contents = blocks.map((_, block) => this.contentOf(block));
    this.state.before[made] = contents;
    this.state.directory = {
      ...Directory.empty<Content>(
        contents.map(() => []),
        `${made} again`,
      ),
      numbers,
    };
  }

  /** The server comes back with what it has kept. Its numbers follow the clock. */
  private restore(): void {
    const { state } = this;
    const { blocks, numbers } = state.directory;
    const saved = state.saved as DirectoryState<Content>;
    const missing = blocks.map((_, block) => {
      const { content } = saved.blocks[block];
      return this.contentOf(block).filter(
        (write) => content === SPOILED || !content.includes(write),
      );
    });
    state.restores--;
    state.saved = null;
    state.directory = { ...saved, numbers };
    state.restoredAt = numbers;
    state.missing = missing;
    for (const [index, machine] of state.machines.entries()) {
      machine.up = [];
      machine.down = [];
      machine.late = [];
      for (const [block, { epoch }] of machine.cache.blocks.entries())
        if (epoch === 0) this.giveUpMissing(machine, block);
      if (!machine.dead && machine.cache.connected) this.cacheOf(index).disconnected();
    }
  }

  /**
   * What the restored server lacks of what the machine had flushed to a block is lost without a
   * word.
   */
  private giveUpMissing(machine: Machine, block: number): void {
    machine.written[block] = machine.written[block].filter(
      (write) => !this.state.missing[block].includes(write),
    );
  }

  /** Whether the machine has, or had last, a session of the server as it is. */
  private isBack({ cache }: Machine): boolean {
    return cache.previous > this.state.restoredAt;
  }

  /** The program has heard that the array is lost, and opens it again, as new. */
  private reopen(machine: Machine): void {
    const { blocks } = this.setting;
    machine.cache = Cache.empty(blocks, this.state.directory.made);
    machine.late.push(...machine.up);
    machine.up = [];
    machine.down = [];
    machine.asked = false;
    machine.askedAhead = false;
    machine.launch = null;
    machine.flushing = false;
    for (let block = 0; block < blocks; block++) {
      machine.memory[block] = emptyMemory();
      machine.seen[block] = [];
    }
  }

  /** What the server has of a block, or had before that was spoiled. */
  private contentOf(block: number): Content {
    const { content } = this.state.directory.blocks[block];
    return content === SPOILED ? this.state.spoilt[block] : content;
  }

  /** What the block has for all whose lease holds: the owner's content, or the server's. */
  private latest(block: number): Content {
    const { owner, epoch } = this.state.directory.blocks[block];
    const content = this.contentOf(block);
    if (owner === 0) return content;
    const { dead, cache, memory } = this.state.machines[this.state.sessions[owner]];
    if (dead || cache.blocks[block].epoch !== epoch || memory[block].install?.content != null)
      return content;
    return memory[block].content;
  }

  private setAside(index: number, machine: Machine, block: number): void {
    const memory = machine.memory[block];
    if (memory.install?.content != null) memory.content = memory.install.content;
    memory.install = null;
    memory.changed = false;
    memory.aside = true;
    machine.asked = false;
    this.cacheOf(index).notInstalled(block);
  }

  private install(index: number, machine: Machine, block: number): void {
    const memory = machine.memory[block];
    const { content, right } = memory.install!;
    memory.install = null;
    if (content !== null) {
      memory.content = content;
      memory.changed = false;
    }
    memory.right = right;
    memory.aside = false;
    this.takeBlocks(index, machine);
    this.cacheOf(index).installed(block);
    // A machine lets a thread go on that it has woken, before it gives the block to others: without
    // that two could take it from each other for ever.
    if (machine.asked && this.programs[index][machine.at].block === block && this.mayGoOn(machine))
      this.go(index, machine);
  }

  private hear(machine: Machine, { session, request }: Sent, answered: boolean): void {
    const index = this.state.machines.indexOf(machine);
    const before = this.state.directory.blocks.map(({ epoch, owner }, block) => ({
      epoch,
      owner,
      content: this.contentOf(block),
    }));
    const reply = this.directory().step(request);
    for (const block of before.keys()) {
      const content = this.contentOf(block);
      if (!begins(content, before[block].content)) {
        throw new Violation(`the server has [${content}] where it had [${before[block].content}]`);
      }
      if (content.length === before[block].content.length) continue;
      for (const other of this.state.machines)
        if (!this.isBack(other)) this.giveUpMissing(other, block);
    }
    if (reply?.kind === 'welcome') this.state.sessions[reply.session] = index;
    if (reply?.kind === 'claimed' && request.kind === 'claim' && answered) {
      for (const { block, epoch } of request.claims) {
        const had = before[block];
        const isOwn = had.epoch === epoch && had.owner !== 0;
        if (isOwn && machine.memory[block].changed && !reply.kept.includes(block))
          throw new Violation(
            `machine ${index} loses what it has not flushed, and no other machine has had block ${block} since`,
          );
      }
    }
    if (reply !== undefined && answered && !machine.dead) machine.down.push({ session, reply });
    // What a dead machine or an ended connection has sent is not waited for: the session after it
    // reminds for itself.
    if (request.kind === 'remind' && answered && !machine.dead && this.waitsForEver)
      throw new Violation(`machine ${index} has reminded the server in vain`);
  }

  private listen(index: number, machine: Machine): void {
    const received = machine.down.shift()!;
    const cache = this.cacheOf(index);
    if ('reply' in received) {
      const wasBack = this.isBack(machine);
      cache.reply(received.session, received.reply);
      if (!wasBack && this.isBack(machine)) machine.seen = machine.seen.map(() => []);
    } else if (received.notice.kind !== 'lost') cache.notice(received.notice);
  }

  private directory(): Directory<Content> {
    return new Directory(this.state.directory, (notice) => {
      if (notice.kind === 'lost') return;
      const machine = this.state.machines[this.state.sessions[notice.to]];
      // A connection hears what is for its session.
      if (machine !== undefined && !machine.dead && machine.cache.connected)
        machine.down.push({ notice });
    });
  }

  private cacheOf(index: number): Cache<Content> {
    const machine = this.state.machines[index];
    const commands: CacheCommands<Content> = {
      // What is said without a connection reaches no one.
      send: (request) => {
        if (machine.cache.connected) machine.up.push({ session: machine.cache.session, request });
      },
      install: (block, content, right) => {
        machine.memory[block].install = { content, right };
      },
      restrict: (block, right) => {
        machine.memory[block].wish = right;
        if (machine.cache.session === 0) this.breakLaunch(index, machine, block);
        this.settle(index, machine, block);
      },
      ended: () => {
        for (const [block, { wish }] of machine.memory.entries())
          if (wish !== null) this.breakLaunch(index, machine, block);
      },
      spoiled: (block) => this.refused(index, machine, block),
      contentOf: (block) => machine.memory[block].content,
      clean: (block) => {
        machine.memory[block].changed = false;
      },
      flushed: (block) => this.flushed(machine, block),
      lost: (block) => {
        const has = this.contentOf(block);
        const { content } = machine.memory[block];
        // A restored server may have the same content by an older name, where it had been sent
        // twice.
        if (this.state.restoredAt === 0 && begins(has, content))
          throw new Violation(
            `machine ${index} is told that [${content}] is lost, and the server has [${has}]`,
          );
        machine.written[block] = machine.written[block].filter((write) => has.includes(write));
        machine.seen[block] = [];
        machine.flushing = this.endFlush(machine, block);
      },
      forgotten: () => {
        if (machine.memory.some(({ right }) => right !== 'none'))
          throw new Violation(`machine ${index} may use what is lost`);
        machine.written = machine.written.map(() => []);
      },
    };
    return new Cache(machine.cache, commands);
  }

  /** A thread that waits for a content that the server has no more goes on without. */
  private refused(index: number, machine: Machine, block: number): void {
    if (this.state.spoils === this.setting.spoils)
      throw new Violation(`machine ${index} is refused what is there`);
    if (!machine.asked || this.programs[index][machine.at].block !== block) return;
    machine.asked = false;
    machine.at++;
  }

  private flushed(machine: Machine, block: number): void {
    // An answer of the server from before it lost what it had is no promise for longer.
    const has = this.contentOf(block);
    for (const write of machine.written[block]) {
      if (this.isPresent(machine) && !has.includes(write))
        throw new Violation(`write ${write} was said to be flushed, and the server has [${has}]`);
    }
    machine.flushing = this.endFlush(machine, block);
  }

  /** Whether a flush is still awaited, now that one of this block has ended. */
  private endFlush(machine: Machine, block: number): boolean {
    const index = this.state.machines.indexOf(machine);
    const operation = this.programs[index][machine.at];
    if (!machine.flushing || operation.block !== block) return machine.flushing;
    machine.at++;
    return false;
  }
}
