/**
 * What runs: threads of the host and of launches, their accesses and faults, and what they find
 * when an access is denied.
 */

import {
  Access,
  type DenyReason,
  HOST,
  NO_NODE,
  type ProcessorId,
} from '../../src/core/basics/types.js';
import type { LaunchArgument } from '../../src/core/service/launches.js';
import type { CallableKernel } from '../../src/drivers/driver.js';
import type { Memory } from './memories.js';
import { ModelDevice, newThread, PAGE_BYTES, type Thread, WORDS_PER_PAGE } from './model-device.js';
import { WatchedDevice } from './watched-device.js';
import type { World } from './world.js';

export interface Argument extends LaunchArgument {
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

interface Message {
  readonly device: ModelDevice;
  readonly thread: Thread;
  readonly launch: Launch | null;
  readonly page: number;
  readonly write: boolean;
}

const GARBAGE_OF_A_DENIED_WRITER = 0xbadbad;
const GARBAGE_OF_A_LATE_WRITER = 0xfeedbad;

export function isOver(launch: Launch): boolean {
  return launch.state === 'over';
}

export class Programs {
  readonly messages: Message[] = [];
  readonly launches: Launch[] = [];

  constructor(private readonly world: World) {}

  launch(): void {
    const processor = this.world.processors.idleDevice();
    const device = this.world.devices[processor];
    const args: Argument[] = [];
    const wanted = this.world.random.between(1, 3);
    for (let i = 0; i < wanted && this.world.memories.length > 0; i++) {
      const memory = this.world.usable();
      if (memory === null) continue;
      const [first, count] = this.world.pages(memory);
      let use = this.world.random.pick(['in', 'inout', 'out'] as const);
      if (!memory.range.writable && this.world.random.chance(0.9)) use = 'in';
      if (
        use === 'out' &&
        (memory.users > 0 || memory.frees > 0 || args.some((other) => other.memory === memory))
      )
        use = 'inout';
      if (use === 'out' && !this.world.arrays.mayWriteAll(first, count)) use = 'inout';
      if (args.some((other) => other.memory === memory && other.use === 'out')) continue;
      args.push({ memory, first, count, use });
    }
    if (device === undefined || args.length === 0) return;
    // A device without faults cannot begin what does not fit as a whole; the pager refuses that,
    // too.
    if (
      device instanceof WatchedDevice &&
      this.world.manager.launchPages(args, processor) > device.description.budgetPages
    )
      return;
    const id = this.world.nextRequest++;
    const launch: Launch = {
      id,
      device,
      processor,
      args,
      asked: this.world.step,
      state: 'preparing',
      accessesLeft: this.world.random.between(1, 25),
      walked: this.world.walks || this.world.random.chance(0.25) ? 0 : -1,
    };
    // Long enough to go through several blocks, so that the next ones are brought ahead.
    if (launch.walked === 0) launch.accessesLeft = 150;
    this.launches.push(launch);
    for (const argument of args) {
      argument.memory.users++;
      if (argument.use !== 'out') continue;
      argument.memory.exclusive = true;
      for (let page = argument.first; page < argument.first + argument.count; page++)
        this.world.fuzzy[page]++;
    }
    this.world.requests.set(id, (_, failure) => this.startLaunch(launch, failure));
    this.world.trace(
      () =>
        `  launch ${id} on ${processor}: ${args.map((a) => `${a.use} ${a.first}+${a.count}`).join(', ')}`,
    );
    const request = this.world.ask(() => {
      const there =
        this.world.devices[processor] === device && !this.world.processors.isDead(processor);
      if (there) this.world.manager.launchBegin(id, processor, args);
      else {
        this.world.requests.delete(id);
        this.startLaunch(launch, 'DEVICE_LOST');
      }
    });
    // Whether it was known before changes what leaves for it, and nothing else.
    if (id % 2 === 0) this.world.manager.launchWaits(processor, args, '');
    // One that was there before may come again, or not: what it uses comes ahead, also what was
    // freed.
    const before = this.world.plans ? this.launches[this.launches.length >> 1] : launch;
    if (before !== launch) this.world.manager.launchWaits(processor, before.args, '');
    this.world.manager.arrange(request, processor, args);
  }

  private startLaunch(launch: Launch, failure: DenyReason | null): void {
    for (const { use, memory, first, count } of launch.args) {
      if (use !== 'out') continue;
      memory.exclusive = false;
      if (failure === null) this.world.arrays.emptied(first, count, launch.asked);
      // Otherwise it is not known how far it got: each page has its old value or none.
      else {
        for (let page = first; page < first + count; page++) {
          this.world.fuzzy[page]--;
          this.world.perhapsEmpty[page] = 1;
          this.world.healed[page] = this.world.step;
        }
      }
    }
    const { device } = launch;
    const died =
      this.world.devices[launch.processor] !== device ||
      this.world.processors.isDead(launch.processor);
    launch.state = failure === null && !died ? 'running' : 'over';
    if (launch.state === 'over') return;
    if (device instanceof ModelDevice) {
      for (let unit = 0; unit < device.description.units; unit++)
        device.threads.push(newThread(unit, device));
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

  /**
   * The kernel of the simulated device: looks at all that it reads, and writes some of what it may.
   */
  kernel(id: number, args: Parameters<CallableKernel>[0]): void {
    const launch = this.launches.find((each) => each.id === id);
    if (launch === undefined) throw new Error(`launch ${id} runs after its end`);
    for (const [index, { first, count }] of launch.args.entries()) {
      const values = args[index] as Uint32Array;
      for (let at = 0; at < count; at++) {
        const value = values[at * WORDS_PER_PAGE];
        if (values[at * WORDS_PER_PAGE + 1] !== value)
          throw new Error(`page ${first + at} is half copied on the simulated device`);
        this.world.check(first + at, value, `argument ${index} of launch ${id}`);
      }
    }
    for (const [index, { first, count, use }] of launch.args.entries()) {
      if (use === 'in') continue;
      // Arrays that overlap would be put back over each other.
      if (
        launch.args.some(
          (other, at) =>
            at !== index && other.first < first + count && first < other.first + other.count,
        )
      )
        continue;
      for (let at = 0; at < count; at++) {
        if (this.world.random.chance(0.5)) continue;
        this.world.shadow[first + at] = ++this.world.version;
        this.world.perhapsEmpty[first + at] = 0;
        (args[index] as Uint32Array).fill(
          this.world.version,
          at * WORDS_PER_PAGE,
          (at + 1) * WORDS_PER_PAGE,
        );
      }
    }
  }

  endLaunch(): void {
    const index = this.launches.findIndex(isOver);
    const [launch] = this.launches.splice(index, 1);
    const { device } = launch;
    if (device instanceof ModelDevice) {
      device.scratch.clear();
      device.hidden.clear();
      device.threads = [];
    }
    for (const { memory } of launch.args) memory.users--;
    this.world.trace(() => `  end of launch ${launch.id}`);
    this.world.manager.launchEnd(launch.id);
  }

  anyThread(state: Thread['state']): Thread | null {
    const offset = this.world.step;
    for (let at = 0; at < this.world.devices.length; at++) {
      const device = this.world.devices[(at + offset) % this.world.devices.length];
      if (!(device instanceof ModelDevice)) continue;
      for (let each = 0; each < device.threads.length; each++) {
        const thread = device.threads[(each + offset) % device.threads.length];
        if (thread.state !== state) continue;
        if (
          state === 'running' &&
          thread.page === -1 &&
          device === this.world.host &&
          (this.world.closing ||
            this.world.memories.length + this.world.others.memories.length === 0)
        )
          continue;
        return thread;
      }
    }
    return null;
  }

  /** A thread of a device that has something to do. */
  walker(): Thread | null {
    for (const device of this.world.devices) {
      if (!(device instanceof ModelDevice) || device === this.world.host) continue;
      const thread = device.threads.find(({ state }) => state === 'running');
      if (thread !== undefined) return thread;
    }
    return null;
  }

  runThread(thread = this.anyThread('running') as Thread): void {
    const launch =
      this.launches.find((each) => each.device === thread.device && each.state === 'running') ??
      null;
    // A thread makes several accesses between two events, as real ones do.
    for (let count = this.world.random.between(1, 8); count > 0; count--) {
      if (thread.page === -1 && !this.chooseAccess(thread, launch)) return;
      if (!this.access(thread, launch)) return;
    }
  }

  private chooseAccess(thread: Thread, launch: Launch | null): boolean {
    if (thread.device === this.world.host) {
      const shared = this.world.plots.shares
        ? this.world.plots.chooseShared(this.world.others.memories)
        : null;
      if (shared === null && this.world.memories.length === 0) return false;
      const memory = shared ?? this.world.random.pick(this.world.memories);
      if (memory.exclusive) return false;
      const { range } = memory;
      thread.page = range.first + this.nearby(range.pages);
      thread.write =
        (range.writable || this.world.random.chance(0.02)) && this.world.random.chance(0.5);
      // Some programs look at what they have freed, or a little past the end, but then only while
      // nothing is freed for good.
      if (this.world.random.chance(0.01))
        thread.page = Math.min(thread.page + 20, (Math.floor(thread.page / 512) + 1) * 512 - 1);
      memory.users++;
      thread.memory = memory;
      return true;
    }
    if (launch === null || launch.accessesLeft-- <= 0) {
      thread.state = 'ended';
      if (launch !== null && thread.device.threads.every((each) => each.state === 'ended'))
        launch.state = 'over';
      return false;
    }
    if (this.chooseOfOthers(thread)) return true;
    let argument = this.world.random.pick(launch.args);
    if (launch.walked >= 0) {
      argument = launch.args[0];
      thread.page = argument.first + Math.min(launch.walked, argument.count - 1);
      launch.walked += 16;
      // It is fast: it comes to what it lacks while that is on its way.
      const { first, count } = argument;
      const fast = this.world.plots.streams;
      while (
        fast &&
        launch.walked < count &&
        thread.device.finds(first + launch.walked) !== Access.None
      )
        launch.walked += 16;
    } else thread.page = argument.first + this.nearby(argument.count);
    thread.write = argument.use !== 'in' && this.world.random.chance(0.6);
    return true;
  }

  /** Threads of another process use what other machines have, too: nobody asks before they do. */
  private chooseOfOthers(thread: Thread): boolean {
    if (thread.device.node !== NO_NODE || !this.world.plots.shares) return false;
    const range = this.world.plots.chooseShared(this.world.others.memories)?.range;
    if (range === undefined) return false;
    thread.page = range.first + this.nearby(range.pages);
    thread.write = this.world.random.chance(0.5);
    return true;
  }

  /** Programs mostly walk; some jump. */
  private nearby(pages: number): number {
    return this.world.random.chance(0.5)
      ? this.world.random.below(pages)
      : (this.world.step * 5 + this.world.random.below(8)) % pages;
  }

  /** Touches the page; false if the thread has to wait. */
  private access(thread: Thread, launch: Launch | null): boolean {
    const { device, page, write } = thread;
    // A denial may have been overtaken by new rights before anything could stand in for the page:
    // then this is the page itself.
    const right = device.finds(page);
    const standsIn =
      this.world.audit.isScratch(device.id, page) ||
      device.covers.some((cover) => cover.page === page);
    const isPage = right !== Access.None && device.scratch.has(page) && !standsIn;
    if (isPage) {
      device.scratch.delete(page);
      device.hidden.delete(page);
    }
    // What stands in for a page stands in for all of its granule.
    const isDenied = device.scratch.has(page) || (device.granulePages > 1 && standsIn);
    if (right < (write ? Access.Write : Access.Read)) {
      thread.state = 'falling';
      this.messages.push({ device, thread, launch, page, write });
      this.world.trace(
        () =>
          `  thread ${thread.id} of ${device.description.name} faults ${write ? 'writing' : 'reading'} ${page}`,
      );
      return false;
    }
    if (
      this.world.changing[page] + this.world.freed[page] + this.world.fuzzy[page] === 0 &&
      this.world.rights[page] < (write ? Access.Write : Access.Read) &&
      !isDenied
    )
      throw new Error(
        `thread ${thread.id} of ${device.description.name} uses page ${page}, which is protected`,
      );
    if (isDenied) {
      if (write) device.store(page, GARBAGE_OF_A_DENIED_WRITER);
      else if (
        device.hidden.has(page) &&
        ![0, GARBAGE_OF_A_DENIED_WRITER].includes(device.value(page))
      )
        throw new Error(
          `thread ${thread.id} of ${device.description.name} sees something of page ${page}, which it may not read`,
        );
    } else if (device.granulePages > 1 && this.world.freed[page] === 1) {
      // What is mapped with a granule and was given back has any content, which no other reader
      // sees.
      if (write) device.store(page, GARBAGE_OF_A_LATE_WRITER);
    } else if (write) this.writeOn(device, page);
    else
      this.world.check(
        page,
        device.value(page),
        `thread ${thread.id} of ${device.description.name}`,
      );
    this.endAccess(thread);
    return true;
  }

  private endAccess(thread: Thread): void {
    thread.page = -1;
    if (thread.memory !== undefined) thread.memory.users--;
    thread.memory = undefined;
  }

  writeOn(device: ModelDevice, page: number): void {
    device.store(page, this.world.write(page));
  }

  fallAsleep(): void {
    (this.anyThread('falling') as Thread).state = 'asleep';
  }

  deliver(): void {
    const index = this.world.random.chance(0.7) ? 0 : this.world.random.below(this.messages.length);
    const message = this.messages[index];
    const { device, thread, page, write, launch } = message;
    const again = this.world.random.chance(0.1) && !this.world.closing;
    if (!again) this.messages.splice(index, 1);
    const id = this.world.devices.indexOf(device);
    // Of a process that died, or of a launch that ended, nothing is read any more.
    if (id === -1 || (device !== this.world.host && launch?.state !== 'running')) {
      this.messages.splice(
        0,
        this.messages.length,
        ...this.messages.filter((each) => each !== message),
      );
      return;
    }
    if (thread.state === 'falling' && thread.page === page) thread.state = 'asleep';
    this.world.trace(
      () =>
        `  ${device.description.name} waits for ${page} (${write ? 'write' : 'read'}), thread ${thread.id}`,
    );
    this.world.guards.note(id, page, 1, write ? Access.Write : Access.Read);
    this.world.manager.fault(id, page, write, thread.id);
  }

  deny(id: ProcessorId, page: number, write: boolean, reason: DenyReason, stranded: boolean): void {
    this.world.trace(
      () => `  denied to ${id}: page ${page}, ${reason}${stranded ? ', for ever' : ''}`,
    );
    const device = this.world.devices[id] as ModelDevice;
    const late = id === HOST && reason === 'FREED' && !write;
    this.world.reasons.ofPage(reason, page, id);
    if (late) return;
    if (stranded) {
      this.world.reasons.ofEnd(reason, page);
      this.world.processors.condemned.add(id);
      return;
    }
    if (device.node !== NO_NODE && id !== HOST) {
      if (reason !== 'READ_ONLY' && reason !== 'PINNED' && !device.scratch.has(page))
        device.hidden.add(page);
      device.scratch.add(page);
      return;
    }
    for (const thread of device.threads) {
      if (
        thread.state !== 'asleep' ||
        thread.page !== page ||
        (reason === 'READ_ONLY' && !thread.write)
      )
        continue;
      thread.state = 'running';
      this.endAccess(thread);
    }
  }
}
