/**
 * One space that a program plays with, and what the model knows of it: a plain copy of each array,
 * which devices live, what is under way. Work overlaps: launches, copies and threads go on while
 * the next thing is done with other arrays. What a call must refuse is known before, by name; what
 * a device that dies may take along is known, too.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  type BuiltInDeviceSpecification,
  type Device,
  type Notifier,
  type NumericArray,
  type OnememError,
  openSpace,
  type Pin,
} from '../../src/index.js';
import type { Random } from '../simulation/random.js';
import { Disk } from './disks.js';
import type { Guest } from './guests.js';
import { bytesOf, CURABLE, PAGE_BYTES, type Part, plainArray, type Tracked } from './tracked.js';

export const MIB = 2 ** 20;
export const MAX_ARRAYS = 10;
export const MAX_BYTES = 3 * MIB;

export function codeOf(error: unknown): string {
  return (error as Partial<OnememError> | null)?.code ?? '';
}

export interface TrackedDevice {
  readonly device: Device;
  readonly specification: BuiltInDeviceSpecification;
  readonly name: string;
  readonly bit: number;
  /** It has one right to so many pages, or to fewer at the end of an array. */
  readonly granulePages: number;
  alive: boolean;
  /** How often it was started again. */
  life: number;
}

export function trackDevice(
  device: Device,
  specification: BuiltInDeviceSpecification,
  index: number,
): TrackedDevice {
  const granulePages = Math.min(device.capabilities.granularityBytes, 2 * MIB) / PAGE_BYTES;
  return {
    device,
    specification,
    name: device.name,
    bit: 1 << index,
    granulePages,
    alive: true,
    life: 0,
  };
}

export function someDevice(random: Random, name: string): BuiltInDeviceSpecification {
  const kind = random.pick(['process', 'process', 'process', 'simulated', 'simulated'] as const);
  const units = kind === 'process' ? random.between(1, 2) : 1;
  const granularity =
    kind === 'simulated' ? random.pick([undefined, 64 * 1024, 4 * MIB] as const) : undefined;
  const least = kind === 'process' ? units + 2 : 4;
  const memory = random.between(least, 8) * Math.max(2 * MIB, granularity ?? 0);
  const inject = random.chance(0.1)
    ? { inject: { refuseLargerThanPages: 1 << random.between(0, 6) } }
    : {};
  return {
    kind,
    units,
    memory,
    name,
    lossy: kind === 'simulated' || random.chance(0.5),
    ...(granularity === undefined ? {} : { granularity }),
    ...inject,
  };
}

export interface PlayOptions {
  /**
   * The devices of this space stay as they are: none is killed, detached, started again or added.
   */
  readonly lasting?: boolean;
  /** It may lie on a disk that fails for a while. */
  readonly onDisk?: boolean;
}

export class Player {
  /** Threads that visited a space, and those of providers. */
  static threads = 0;
  readonly arrays: Tracked[] = [];
  readonly devices: TrackedDevice[];
  /**
   * Devices that have died with their memory, by their bits, since it was last looked up what was
   * lost.
   */
  lossyDeaths = 0;
  /** Those of them that have been started again since, with what their streams still had to do. */
  restarted = 0;
  readonly visits = new Set<Promise<void>>();
  /** Threads that have done their work and stay, to be ended before or after the space. */
  readonly staying: Worker[] = [];
  /** Processes that attached, or are about to. */
  readonly guests: Guest[] = [];
  readonly pins: { pin: Pin; tracked: Tracked; first: number; end: number }[] = [];
  readonly notifiers: { notifier: Notifier; tracked: Tracked }[] = [];
  readonly folder = mkdtempSync(join(tmpdir(), 'onemem-model-'));
  files = 0;
  names = 0;
  death: Promise<void> | null = null;
  /** The other machine, when there is an array that it has, too. */
  other: AddressSpace | null = null;
  /** By which machines share arrays; null: there is none. */
  readonly server = process.env.ONEMEM_MODEL_SERVER ?? null;
  failure: unknown = null;

  private constructor(
    readonly name: string,
    readonly space: AddressSpace,
    specifications: readonly BuiltInDeviceSpecification[],
    public random: Random,
    readonly log: (text: string) => void,
    readonly options: PlayOptions,
    readonly disk: Disk | null,
  ) {
    this.devices = space.devices.map((device, index) =>
      trackDevice(device, specifications[index], index),
    );
  }

  static async open(
    name: string,
    random: Random,
    log: (text: string) => void,
    options: PlayOptions = {},
  ): Promise<Player> {
    const specifications: BuiltInDeviceSpecification[] = [];
    const count = options.lasting === true ? 2 : random.between(0, 3);
    for (let index = 0; index < count; index++)
      specifications.push(someDevice(random, `d${index}`));
    const spaceOptions = {
      devices: specifications,
      hostMemory: `${random.pick([132, 160, 256])}MiB`,
      storage: { bytes: '64MiB' },
      checkInvariants: random.chance(0.1),
    };
    if (options.onDisk === true && random.chance(0.4)) {
      const disk = await Disk.open(random, spaceOptions, log);
      return new Player(name, disk.space, specifications, random, log, options, disk);
    }
    log(`${name}: openSpace(${JSON.stringify(spaceOptions)})`);
    const space = await openSpace(spaceOptions);
    return new Player(name, space, specifications, random, log, options, null);
  }

  /** Waits until nothing is under way, and looks up what dead devices took along. */
  async rest(): Promise<void> {
    await Promise.all([...this.arrays.map(({ busy }) => busy), ...this.visits]);
    if (this.failure !== null) throw this.failure;
    await this.death;
    for (const tracked of this.arrays) tracked.checkLosses();
    if (this.lossyDeaths === 0) return;
    for (const tracked of this.arrays) this.noteLosses(tracked);
    const deaths = this.lossyDeaths & ~this.restarted;
    this.lossyDeaths = this.restarted = 0;
    for (const { onlyOn } of this.arrays)
      for (let page = 0; page < onlyOn.length; page++) onlyOn[page] &= ~deaths;
  }

  /** A value that every element type has, and sums of a few. */
  item(tracked: Tracked, value: number): number | bigint {
    return typeof tracked.plain[0] === 'bigint' ? BigInt(value) : value;
  }

  pickArray(wanted: (tracked: Tracked) => boolean): Tracked | null {
    const found = this.arrays.filter((each) => each.busy === null && wanted(each));
    return found.length === 0 ? null : this.random.pick(found);
  }

  /** One of which other machines have nothing. */
  pickOwn(wanted: (tracked: Tracked) => boolean): Tracked | null {
    return this.pickArray((each) => each.kind !== 'several' && wanted(each));
  }

  pickDevice(): TrackedDevice | null {
    const found = this.devices.filter(({ alive }) => alive);
    return found.length === 0 ? null : this.random.pick(found);
  }

  part(length: number): Part {
    const { random } = this;
    if (random.chance(0.3)) return { begin: 0, end: length };
    const begin = random.below(length);
    return { begin, end: random.chance(0.04) ? begin : random.between(begin + 1, length) };
  }

  occupy(tracked: readonly Tracked[], work: Promise<void>): void {
    const busy = work.finally(() => {
      for (const each of tracked) each.busy = null;
    });
    for (const each of tracked) each.busy = busy;
    // The next step tells of it: no step may be waiting for it.
    busy.catch((error: unknown) => {
      this.failure ??= error;
    });
  }

  /**
   * Waits for a call. It must fail with one of the codes `must`, if there are any, and may with one
   * of `may`. Returns whether it ended well.
   */
  async judge(
    call: Promise<unknown>,
    must: Iterable<string>,
    may: Iterable<string> | (() => Iterable<string>),
    what: string,
  ): Promise<boolean> {
    const needed = [...must];
    let error: unknown;
    try {
      await call;
    } catch (thrown) {
      error = thrown;
    }
    if (error === undefined) {
      assert.ok(
        needed.length === 0,
        `${what} ended well, and should have failed with ${needed.join(' or ')}`,
      );
      return true;
    }
    const code = codeOf(error);
    const allowed = [...needed, ...(typeof may === 'function' ? may() : may)];
    // It is not known how much of a file that became shorter is in memory.
    if (this.arrays.some(({ gone }) => gone.includes('cut'))) allowed.push('FILE_CHANGED');
    allowed.push(...(this.disk?.codes ?? []));
    if (!allowed.includes(code)) {
      throw new Error(`${what} failed: ${code}; allowed are ${allowed.join(', ') || 'none'}`, {
        cause: error,
      });
    }
    return false;
  }

  /**
   * The code of lost data, if a device that has just died may have had the only copy of something
   * of the part.
   */
  lossOf(tracked: Tracked, part: Part): string[] {
    return tracked.some(part, (page) => (tracked.onlyOn[page] & this.lossyDeaths) !== 0)
      ? ['DATA_LOST']
      : [];
  }

  /**
   * Something that was writing a part failed in the middle: each element is what it was or what it
   * was to be. What is there counts from now on.
   */
  async adopt(
    tracked: Tracked,
    part: Part,
    candidates: readonly NumericArray[],
    what: string,
  ): Promise<void> {
    await this.death;
    this.noteLosses(tracked);
    const { array, plain } = tracked;
    const [first, end] = tracked.pagesOf(part);
    for (let page = first; page < end; page++) {
      const gone = tracked.gone[page];
      if ((gone !== null && gone !== 'cut') || tracked.rights[page] === 'none') continue;
      const whole = tracked.elementsOf(page, page + 1);
      const begin = Math.max(whole.begin, part.begin);
      const last = Math.min(whole.end, part.end);
      const data =
        gone === null
          ? array.data.subarray(begin, last)
          : await this.ask(tracked, { begin, end: last });
      if (data === null) continue;
      for (let i = begin; i < last; i++) {
        const found: number | bigint = data[i - begin];
        if (found !== plain[i] && candidates.every((each) => each[i] !== found)) {
          const wanted = [plain[i], ...candidates.map((each) => each[i])].join(', ');
          assert.fail(
            `${what} left ${found} in ${tracked.name}[${i}] (page ${page}); possible are ${wanted}`,
          );
        }
        plain[i] = found as never;
      }
    }
  }

  /** Elements that may be in memory or not, by a call that may fail; null: they are not. */
  private async ask(tracked: Tracked, part: Part): Promise<NumericArray | null> {
    const found = plainArray(tracked.array.type, part.end - part.begin);
    await this.disk?.whole(this);
    const copy = async (): Promise<void> => bytesOf(found).set(tracked.array.toBuffer(part));
    // A device may die, and be the one that had them, after they were last looked at.
    const may = (): string[] => this.lossOf(tracked, part);
    return (await this.judge(copy(), [], may, `toBuffer() of ${tracked.name}`)) ? found : null;
  }

  /** Pages that the manager calls lost must have been where they could be lost. */
  noteLosses(tracked: Tracked, runs = tracked.isFreed ? [] : tracked.array.residency().runs): void {
    for (const { begin, end, state } of runs) {
      if (state !== 'lost') continue;
      const [first, last] = tracked.pagesOf({ begin, end });
      for (let page = first; page < last; page++)
        tracked.lose(page, (tracked.onlyOn[page] & this.lossyDeaths) !== 0);
    }
  }

  nextName(): string {
    return `a${++this.names}`;
  }

  track(tracked: Tracked): void {
    this.arrays.push(tracked);
  }

  /**
   * Codes of which one must come of writing all of a part: pages that are overwritten as a whole
   * need not be had.
   */
  refusalsOfOverwriting(tracked: Tracked, part: Part): Set<string> {
    const codes = tracked.refusals(part, 'write');
    codes.delete('PINNED');
    const [first, end] = tracked.pagesOf(part);
    const [firstWhole, endWhole] = tracked.wholePagesOf(part);
    const needed = new Set<string>();
    for (let page = first; page < end; page++) {
      if (page >= firstWhole && page < endWhole) continue;
      for (const code of tracked.refusals(tracked.elementsOf(page, page + 1), 'read'))
        needed.add(code);
    }
    for (const code of CURABLE) if (!needed.has(code)) codes.delete(code);
    return codes;
  }

  /**
   * Pages of a part that could not be had and can be now were emptied, on the way to being
   * overwritten.
   */
  refreshGone(tracked: Tracked, part: Part): void {
    const [first, end] = tracked.pagesOf(part);
    if (tracked.isFreed || tracked.gone.slice(first, end).every((each) => each === null)) return;
    for (const run of tracked.array.residency().runs) {
      if (run.state !== 'zero' && run.state !== 'resident') continue;
      const [from, to] = tracked.pagesOf(run);
      for (let page = Math.max(first, from); page < Math.min(end, to); page++) {
        if (tracked.gone[page] === null) continue;
        // It was in memory all the time, or was emptied and has been written since.
        if (tracked.gone[page] === 'cut' && run.state === 'resident') {
          tracked.perhapsEmptied.add(page);
          continue;
        }
        tracked.gone[page] = null;
        const { begin, end: last } = tracked.elementsOf(page, page + 1);
        tracked.plain.fill(this.item(tracked, 0) as never, begin, last);
      }
    }
  }

  randomize<T extends NumericArray>(plain: T): T {
    const first = this.random.below(100);
    const big = typeof plain[0] === 'bigint';
    for (let i = 0; i < plain.length; i++)
      plain[i] = (big ? BigInt((first + i) % 97) : (first + i) % 97) as never;
    return plain;
  }

  newFile(content: Uint8Array): string {
    const path = join(this.folder, `${++this.files}`);
    writeFileSync(path, content);
    return path;
  }
}
