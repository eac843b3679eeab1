/**
 * One space and everything that a program may do with it, at random, with a plain copy of each array beside it. Work overlaps:
 * launches, copies and threads go on while the next thing is done with other arrays. What a call must refuse is known before, by
 * name; what a device that dies may take along is known, too.
 */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readFileSync, readSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  type Advice,
  type BuiltInDeviceSpecification,
  type Device,
  type ManagedArray,
  type Notifier,
  type NumericArray,
  type OnememError,
  openSpace,
  type Pin,
  type Rights,
} from '../../src/index.js';
import type { Random } from '../simulation/random.js';
import { ELEMENT_TYPES, KERNELS, runHere } from './kernels.js';
import { KNOWN } from './known.js';
import { fillPlain, type ProviderData } from './provider.js';
import { playStreams } from './streams.js';
import {
  bytesOf,
  CONSTRUCTORS,
  isLost,
  PAGE_BYTES,
  type Part,
  type PlainType,
  plainArray,
  Tracked,
} from './tracked.js';
import type { Visit } from './visitor.js';

const MIB = 2 ** 20;
const MAX_ARRAYS = 10;
const MAX_BYTES = 3 * MIB;
/** How long a device that was killed may take to be known as dead. */
const DEATH_MS = 20_000;
/** What is told of pages that need not be had to be overwritten as a whole. */
export const CURABLE = ['DATA_LOST', 'ACCESS_REFUSED', 'PROVIDER_FAILED'];

function codeOf(error: unknown): string {
  return (error as Partial<OnememError> | null)?.code ?? '';
}

export interface TrackedDevice {
  readonly device: Device;
  readonly specification: BuiltInDeviceSpecification;
  readonly name: string;
  readonly bit: number;
  alive: boolean;
}

export interface PlayOptions {
  /** Devices of this space are neither killed nor detached. */
  readonly lasting?: boolean;
}

export class Player {
  /** Threads that visited a space, and those of providers. */
  static threads = 0;
  readonly arrays: Tracked[] = [];
  readonly devices: TrackedDevice[];
  /** Devices that have died with their memory, by their bits, since it was last looked up what was lost. */
  lossyDeaths = 0;
  private readonly visits = new Set<Promise<void>>();
  /** Threads that have done their work and stay, to be ended before or after the space. */
  private readonly staying: Worker[] = [];
  private readonly pins: { pin: Pin; tracked: Tracked; first: number; end: number }[] = [];
  private readonly notifiers: { notifier: Notifier; tracked: Tracked }[] = [];
  private readonly folder = mkdtempSync(join(tmpdir(), 'onemem-model-'));
  private files = 0;
  private names = 0;
  private death: Promise<void> | null = null;
  private failure: unknown = null;

  private constructor(
    readonly name: string,
    readonly space: AddressSpace,
    specifications: readonly BuiltInDeviceSpecification[],
    public random: Random,
    readonly log: (text: string) => void,
    private readonly options: PlayOptions,
  ) {
    this.devices = space.devices.map((device, index) => ({
      device,
      specification: specifications[index],
      name: device.name,
      bit: 1 << index,
      alive: true,
    }));
  }

  static async open(
    name: string,
    random: Random,
    log: (text: string) => void,
    options: PlayOptions = {},
  ): Promise<Player> {
    const specifications: BuiltInDeviceSpecification[] = [];
    const count = options.lasting === true ? 2 : random.between(0, 3);
    for (let index = 0; index < count; index++) {
      const kind = random.pick(['process', 'process', 'process', 'simulated'] as const);
      const units = kind === 'process' ? random.between(1, 2) : 1;
      const memory = kind === 'process' ? random.between(units + 2, 8) * 2 * MIB : random.between(4, 8) * 2 * MIB;
      const inject = random.chance(0.1) ? { inject: { refuseLargerThanPages: 1 << random.between(0, 6) } } : {};
      specifications.push({
        kind,
        units,
        memory,
        name: `d${index}`,
        lossy: kind === 'simulated' || random.chance(0.5),
        ...inject,
      });
    }
    const spaceOptions = {
      devices: specifications,
      hostMemory: `${random.pick([132, 160, 256])}MiB`,
      checkInvariants: random.chance(0.1),
    };
    log(`${name}: openSpace(${JSON.stringify(spaceOptions)})`);
    const space = await openSpace(spaceOptions);
    return new Player(name, space, specifications, random, log, options);
  }

  /** Does one thing. */
  async step(random: Random = this.random): Promise<void> {
    if (this.failure !== null) throw this.failure;
    this.random = random;
    const mortal = this.options.lasting !== true && this.devices.some(({ alive }) => alive);
    const many = this.arrays.length;
    const kinds: readonly [number, () => Promise<void>][] = [
      [many < MAX_ARRAYS ? 10 : 0, () => this.allocate()],
      [many < MAX_ARRAYS ? 3 : 0, () => this.allocateFromFile()],
      [many < MAX_ARRAYS ? 1.5 : 0, () => this.allocateProvided()],
      [many < MAX_ARRAYS ? 5 : 0, () => this.clone()],
      [12, () => this.write()],
      [12, () => this.read()],
      [26, () => playStreams(this)],
      [2, () => this.launchOnPlainArrays()],
      [2, () => this.failingLaunch()],
      [5, () => this.readFrom()],
      [5, () => this.writeTo()],
      [3, () => this.protect()],
      [3, () => this.discard()],
      [3, () => this.resize()],
      [2, () => this.pin()],
      [this.pins.length > 0 ? 3 : 0, () => this.unpin()],
      [3, () => this.advise()],
      [3, () => this.flush()],
      [2, () => this.reload()],
      [1, () => this.watch()],
      [many > 4 ? 6 : 1, () => this.free()],
      [1, () => this.freePart()],
      [1.5, () => this.visit()],
      [1, () => this.refused()],
      [3, () => this.report()],
      [mortal ? 0.7 : 0, () => this.detach()],
      [mortal ? 1.2 : 0, () => this.kill()],
    ];
    let weight = (random.next() / 2 ** 32) * kinds.reduce((sum, [each]) => sum + each, 0);
    for (const [each, run] of kinds) {
      weight -= each;
      if (weight < 0) {
        await run();
        return;
      }
    }
  }

  /** Frees every array and waits for whatever is under way: what is left then, nobody uses. */
  async clear(): Promise<void> {
    await this.rest();
    await this.unpinAll();
    for (const { notifier } of this.notifiers.splice(0)) notifier.close();
    for (const tracked of [...this.arrays]) {
      this.verifyAll(tracked);
      this.release(tracked);
    }
    for (const worker of this.staying.splice(0)) await worker.terminate();
    this.space.checkInvariants();
  }

  async close(): Promise<void> {
    await this.rest();
    for (const tracked of this.arrays) {
      this.verifyAll(tracked);
      this.checkReport(tracked);
    }
    this.space.checkInvariants();
    const { random } = this;
    // Some threads end before the space does, some after it, some of their own accord and some by force.
    const after: Worker[] = [];
    for (const worker of this.staying.splice(0)) {
      if (random.chance(0.5)) after.push(worker);
      else await worker.terminate();
    }
    this.log(`${this.name}: close(), with ${after.length} threads attached`);
    const shared = this.arrays.filter(({ kind, gone }) => kind === 'shared' && gone.every((each) => each === null));
    const lostShared = this.arrays.some(({ kind, gone }) => kind === 'shared' && gone.includes('lost'));
    const working = lostShared || random.chance(0.7) ? [] : this.workInVain();
    await this.judge(this.space.close(), [], lostShared ? ['FLUSH_FAILED'] : [], 'close()');
    for (const code of await Promise.all(working))
      assert.ok(['', 'CANCELLED', 'SPACE_CLOSED', 'DEVICE_MEMORY'].includes(code), code);
    if (!this.space.isClosed) {
      for (const tracked of this.arrays)
        if (tracked.gone.includes('lost')) await tracked.array.reload({ discard: true });
      await this.space.close();
    } else for (const tracked of shared) this.checkFile(tracked, tracked.whole);
    for (const worker of after) {
      if (random.chance(0.5)) await worker.terminate();
      else {
        const gone = new Promise((resolve) => worker.once('exit', resolve));
        worker.postMessage('end');
        await gone;
      }
    }
    rmSync(this.folder, { recursive: true });
  }

  /** Gives a device something to do that the close of the space will find; returns the codes by which it ends. */
  private workInVain(): Promise<string>[] {
    const device = this.pickDevice();
    const tracked = this.pickArray((each) => each.kind !== 'shared' && each.refusals(each.whole, 'write').size === 0);
    if (device === null || tracked === null) return [];
    const stream = device.device.stream();
    const { add } = KERNELS[tracked.array.type];
    const events = [1, 2, 3].map((by) =>
      stream.launch(add, { x: tracked.array, by: this.item(tracked, by) } as never, { size: tracked.length }),
    );
    return events.map((event) => event.synchronize().then(() => '', codeOf));
  }

  /** Waits until nothing is under way, and looks up what dead devices took along. */
  async rest(): Promise<void> {
    await Promise.all([...this.arrays.map(({ busy }) => busy), ...this.visits]);
    if (this.failure !== null) throw this.failure;
    await this.death;
    if (this.lossyDeaths === 0) return;
    for (const tracked of this.arrays) this.noteLosses(tracked);
    const deaths = this.lossyDeaths;
    this.lossyDeaths = 0;
    for (const { onlyOn } of this.arrays) for (let page = 0; page < onlyOn.length; page++) onlyOn[page] &= ~deaths;
  }

  /** A value that every element type has, and sums of a few. */
  item(tracked: Tracked, value: number): number | bigint {
    return typeof tracked.plain[0] === 'bigint' ? BigInt(value) : value;
  }

  pickArray(wanted: (tracked: Tracked) => boolean): Tracked | null {
    const found = this.arrays.filter((each) => each.busy === null && wanted(each));
    return found.length === 0 ? null : this.random.pick(found);
  }

  pickDevice(): TrackedDevice | null {
    const found = this.devices.filter(({ alive }) => alive);
    return found.length === 0 ? null : this.random.pick(found);
  }

  part(length: number): Part {
    const { random } = this;
    if (random.chance(0.3)) return { begin: 0, end: length };
    const begin = random.below(length);
    return { begin, end: random.between(begin + 1, length) };
  }

  /** A part whose ends are those of pages. */
  private pagesPart(tracked: Tracked): Part {
    const { random } = this;
    if (random.chance(0.3)) return tracked.whole;
    const first = random.below(tracked.pages);
    return tracked.elementsOf(first, random.between(first + 1, tracked.pages));
  }

  occupy(tracked: readonly Tracked[], work: Promise<void>): void {
    const busy = work.finally(() => {
      for (const each of tracked) each.busy = null;
    });
    for (const each of tracked) each.busy = busy;
    // The next step tells of it: nobody may be waiting.
    busy.catch((error: unknown) => {
      this.failure ??= error;
    });
  }

  /**
   * Waits for a call. It must fail with one of the codes `must`, if there are any, and may with one of `may`. Returns whether it
   * ended well.
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
      assert.ok(needed.length === 0, `${what} ended well, and should have failed with ${needed.join(' or ')}`);
      return true;
    }
    const code = codeOf(error);
    const allowed = [...needed, ...(typeof may === 'function' ? may() : may)];
    if (!allowed.includes(code)) {
      throw new Error(`${what} failed: ${code}; allowed are ${allowed.join(', ') || 'none'}`, { cause: error });
    }
    return false;
  }

  /** The code of lost data, if a device that has just died may have had the only copy of something of the part. */
  lossOf(tracked: Tracked, part: Part): string[] {
    return tracked.some(part, (page) => (tracked.onlyOn[page] & this.lossyDeaths) !== 0) ? ['DATA_LOST'] : [];
  }

  /**
   * Something that was writing a part failed in the middle: each element is what it was or what it was to be. What is there counts
   * from now on.
   */
  async adopt(tracked: Tracked, part: Part, candidates: readonly NumericArray[], what: string): Promise<void> {
    await this.death;
    this.noteLosses(tracked);
    const { array, plain } = tracked;
    const [first, end] = tracked.pagesOf(part);
    for (let page = first; page < end; page++) {
      if (tracked.gone[page] !== null || tracked.rights[page] === 'none') continue;
      const whole = tracked.elementsOf(page, page + 1);
      const begin = Math.max(whole.begin, part.begin);
      const last = Math.min(whole.end, part.end);
      const { data } = array;
      for (let i = begin; i < last; i++) {
        const found = data[i];
        if (found !== plain[i] && candidates.every((each) => each[i] !== found)) {
          const wanted = [plain[i], ...candidates.map((each) => each[i])].join(', ');
          assert.fail(`${what} left ${found} in ${tracked.name}[${i}] (page ${page}); possible are ${wanted}`);
        }
        plain[i] = found as never;
      }
    }
  }

  /** Pages that the manager calls lost must have been where they could be lost. */
  private noteLosses(tracked: Tracked): void {
    for (const { begin, end, state } of tracked.array.residency().runs) {
      if (state !== 'lost') continue;
      const [first, last] = tracked.pagesOf({ begin, end });
      for (let page = first; page < last; page++) tracked.lose(page, (tracked.onlyOn[page] & this.lossyDeaths) !== 0);
    }
  }

  private nextName(): string {
    return `a${++this.names}`;
  }

  private track(tracked: Tracked): void {
    this.arrays.push(tracked);
  }

  private async allocate(): Promise<void> {
    const { random } = this;
    const type = random.pick(ELEMENT_TYPES);
    const elementBytes = plainArray(type, 1).BYTES_PER_ELEMENT;
    const bytes = random.chance(0.4) ? random.between(1, 30_000) : random.between(1, MAX_BYTES);
    const length = Math.ceil(bytes / elementBytes);
    const name = this.nextName();
    const options = random.chance(0.3) ? { name, maxLength: random.between(length, 2 * length) } : { name };
    this.log(`${name} = space.array(${type}, ${length}, ${JSON.stringify(options)})`);
    const array: ManagedArray =
      type === 'bytes'
        ? this.space.bytes(length, options)
        : this.space.array(CONSTRUCTORS[type] as typeof Float32Array, length, options);
    this.track(new Tracked(name, array, plainArray(type, length), 'plain', true));
  }

  private async allocateFromFile(): Promise<void> {
    const { random } = this;
    const type = random.pick(ELEMENT_TYPES.filter((each) => each !== 'bytes')) as PlainType;
    const plain = this.randomize(plainArray(type, random.between(1, 1_000_000 / CONSTRUCTORS[type].BYTES_PER_ELEMENT)));
    const shared = random.chance(0.4);
    const writable = shared || random.chance(0.5);
    const before = random.pick([0, 0, PAGE_BYTES, 1 + random.below(9000)]);
    const after = random.pick([0, 0, 1 + random.below(9000)]);
    const content = new Uint8Array(before + plain.byteLength + after).fill(99);
    content.set(bytesOf(plain), before);
    const path = this.newFile(content);
    const name = this.nextName();
    const options = { name, byteOffset: before, length: plain.length, shared, ...(shared ? {} : { writable }) };
    this.log(`${name} = space.fileArray(${type}, a file of ${content.length} bytes, ${JSON.stringify(options)})`);
    const array = this.space.fileArray(CONSTRUCTORS[type] as typeof Float32Array, path, options);
    const file = { path, byteOffset: before, content };
    this.track(new Tracked(name, array, plain, shared ? 'shared' : 'file', writable, file));
  }

  private async allocateProvided(): Promise<void> {
    const { random } = this;
    const type = random.pick(ELEMENT_TYPES.filter((each) => each !== 'bytes')) as PlainType;
    const plain = plainArray(type, random.between(1, 400_000));
    const pageElements = PAGE_BYTES / plain.BYTES_PER_ELEMENT;
    const pages = Math.ceil(plain.length / pageElements);
    const failsFrom = random.chance(0.3) ? random.below(pages) * pageElements : -1;
    const data: ProviderData = {
      factor: random.between(1, 50),
      failsFrom,
      failure: random.pick(['refuses', 'throws'] as const),
    };
    const writable = random.chance(0.5);
    const name = this.nextName();
    this.log(
      `${name} = await space.providedArray(${type}, ${plain.length}, { data: ${JSON.stringify(data)}, writable: ${writable} })`,
    );
    Player.threads++;
    const array = await this.space.providedArray(CONSTRUCTORS[type] as typeof Float32Array, plain.length, {
      module: new URL('./provider.js', import.meta.url),
      export: 'fill',
      data,
      writable,
      name,
    });
    fillPlain(plain, 0, data.factor);
    const tracked = new Tracked(name, array, plain, 'provided', writable);
    if (failsFrom !== -1) tracked.gone.fill(data.failure, failsFrom / pageElements);
    this.track(tracked);
  }

  private async clone(): Promise<void> {
    const source = this.pickArray(() => true);
    if (source === null) return;
    this.noteLosses(source);
    const name = this.nextName();
    this.log(`${name} = await ${source.name}.clone()`);
    // What nobody may read, or has any more, cannot be had by the clone either. What a provider does not give is asked for later.
    const must = source.refusals(source.whole, 'read', (gone) => gone === 'freed' || isLost(gone));
    let array: ManagedArray | undefined;
    const call = source.array.clone({ name }).then((made) => {
      array = made;
    });
    await this.judge(call, must, [], `clone() of ${source.name}`);
    if (array === undefined) return;
    const clone = new Tracked(name, array, source.plain.slice() as NumericArray, 'clone', true);
    clone.source = source;
    clone.usedBy = source.usedBy;
    for (let page = 0; page < clone.pages; page++) {
      clone.gone[page] = source.gone[page];
      clone.onlyOn[page] = source.onlyOn[page];
    }
    source.clones.add(clone);
    this.track(clone);
  }

  private async write(): Promise<void> {
    const tracked = this.pickArray(({ writable }) => writable);
    if (tracked === null) return;
    const part = this.part(tracked.length);
    if (tracked.allows(part, 'write')) this.writePart(tracked, part);
  }

  /** The CPU writes; the same goes into the plain array. */
  private writePart(tracked: Tracked, part: Part): void {
    const { random } = this;
    const { begin, end } = part;
    const { plain, array } = tracked;
    const item = this.item(tracked, random.below(100)) as never;
    const how = random.pick(['fill', 'stores', 'set', 'copyWithin'] as const);
    this.log(`${tracked.name}.data: ${how} ${begin} to ${end}, ${item}`);
    tracked.wrote = true;
    const { data } = array;
    if (how === 'fill') {
      data.fill(item, begin, end);
      plain.fill(item, begin, end);
    } else if (how === 'stores') {
      const step = random.between(1, 5000);
      for (let i = begin; i < end; i += step) {
        data[i] = item;
        plain[i] = item;
        tracked.cameHome({ begin: i, end: i + 1 });
      }
      return;
    } else if (how === 'set') {
      const values = this.randomize(plain.slice(begin, end) as NumericArray);
      (data as Float64Array).set(values as Float64Array, begin);
      (plain as Float64Array).set(values as Float64Array, begin);
    } else {
      const length = Math.floor((end - begin) / 2);
      if (length === 0) return;
      (data as Float64Array).copyWithin(begin, end - length, end);
      (plain as Float64Array).copyWithin(begin, end - length, end);
      tracked.cameHome({ begin, end: begin + length });
      return;
    }
    tracked.cameHome(part);
  }

  private async read(): Promise<void> {
    const tracked = this.pickArray(() => true);
    if (tracked === null) return;
    const part = this.part(tracked.length);
    if (!tracked.allows(part, 'read')) return;
    this.log(`read ${tracked.name} ${part.begin} to ${part.end}`);
    tracked.verify(part);
  }

  /** Reads what can be read of an array, page by page. */
  private verifyAll(tracked: Tracked): void {
    this.log(`read what can be read of ${tracked.name}`);
    for (let first = 0; first < tracked.pages; ) {
      let end = first + 1;
      const readable = tracked.allows(tracked.elementsOf(first, end), 'read');
      while (end < tracked.pages && tracked.allows(tracked.elementsOf(end, end + 1), 'read') === readable) end++;
      if (readable) tracked.verify(tracked.elementsOf(first, end));
      first = end;
    }
  }

  private async launchOnPlainArrays(): Promise<void> {
    const device = this.pickDevice();
    if (device === null) return;
    const type = this.random.pick(ELEMENT_TYPES);
    const plain = this.randomize(plainArray(type, this.random.between(1, 50_000)));
    const expected = plain.slice();
    const by = typeof plain[0] === 'bigint' ? 3n : 3;
    const range = { begin: 0, end: plain.length, size: plain.length };
    runHere(KERNELS[type].add, { x: expected as NumericArray, by }, range);
    this.log(`${device.name}.run(add, { x: a plain ${type} array of ${plain.length} })`);
    await device.device.run(KERNELS[type].add, { x: plain, by } as never, range);
    assert.ok(Buffer.from(bytesOf(plain)).equals(bytesOf(expected as NumericArray)), 'a plain array came back wrong');
  }

  private async failingLaunch(): Promise<void> {
    const device = this.pickDevice();
    const tracked = this.pickArray((each) => each.refusals(each.whole, 'write').size === 0);
    if (device === null || tracked === null) return;
    this.log(`${device.name}: a launch for ${tracked.name} whose kernel throws, and one after it`);
    using stream = device.device.stream();
    const { fail, add } = KERNELS[tracked.array.type];
    const options = { size: tracked.length };
    tracked.holdOnly(tracked.whole, device.bit);
    tracked.usedBy |= device.bit;
    tracked.wrote = true;
    stream.launch(fail, { x: tracked.array } as never, options);
    const after = stream.launch(add, { x: tracked.array, by: this.item(tracked, 1) } as never, options);
    await this.judge(stream.synchronize(), ['KERNEL_ERROR'], ['DEVICE_MEMORY'], 'a launch whose kernel throws');
    assert.equal(after.result, 'cancelled');
  }

  private release(tracked: Tracked): void {
    this.arrays.splice(this.arrays.indexOf(tracked), 1);
    tracked.source?.clones.delete(tracked);
    // A clone takes over what it does not have yet.
    for (const clone of tracked.clones) clone.source = null;
    if (this.random.chance(0.5)) tracked.array[Symbol.dispose]();
    else tracked.array.free();
    assert.ok(tracked.array.isFreed);
  }

  private async free(): Promise<void> {
    const tracked = this.pickArray((each) => each.pins.every((pins) => pins === 0));
    if (tracked === null) return;
    if (this.random.chance(0.3)) this.verifyAll(tracked);
    // What was lost can be written to no file, of which a line would tell.
    if (tracked.kind === 'shared' && tracked.gone.includes('lost')) await tracked.array.reload({ discard: true });
    this.log(`${tracked.name}.free()`);
    this.release(tracked);
  }

  private async freePart(): Promise<void> {
    const tracked = this.pickArray((each) => each.pages > 4 && each.pins.every((pins) => pins === 0));
    if (tracked === null || tracked.clones.size > 0) return;
    const part = this.part(tracked.length);
    const [first, end] = tracked.wholePagesOf(part);
    const taken = tracked.gone.slice(first, end);
    const others = tracked.gone.some((gone, page) => gone !== 'freed' && (page < first || page >= end));
    if (KNOWN.freedByParts && !others) return;
    this.log(`${tracked.name}.free(${JSON.stringify(part)})`);
    const must = first >= end ? ['NO_WHOLE_PAGE'] : taken.every((each) => each === 'freed') ? ['USE_AFTER_FREE'] : [];
    const may = taken.includes('freed') ? ['USE_AFTER_FREE'] : [];
    const work = async (): Promise<void> => {
      assert.deepEqual(tracked.array.free(part), tracked.elementsOf(first, end));
    };
    if (await this.judge(work(), must, may, `free() of a part of ${tracked.name}`))
      tracked.gone.fill('freed', first, end);
  }

  private async readFrom(): Promise<void> {
    const tracked = this.pickArray(() => true);
    if (tracked === null) return;
    const { array, plain } = tracked;
    const part = this.part(tracked.length);
    const { begin, end } = part;
    const given = this.randomize(plain.slice(begin, end) as NumericArray);
    // A file that is too short ends the transfer earlier.
    const elements = this.random.chance(0.1) ? this.random.between(0, given.length - 1) : given.length;
    const bytes = bytesOf(given.subarray(0, elements) as NumericArray);
    this.log(`${tracked.name}.readFrom(a file of ${bytes.length} bytes, ${begin} to ${end})`);
    const fd = openSync(this.newFile(bytes), 'r');
    const [first, last] = tracked.wholePagesOf(part);
    tracked.wrote = true;
    tracked.holdOnly(part, tracked.usedBy);
    let moved = -1;
    const work = async (): Promise<void> => {
      const call = array.readFrom(fd, { begin, end, position: 0 }).then((count) => {
        moved = count;
      });
      // What a provider does not give is asked for all the same.
      const failures = [...tracked.refusals(part, 'read')].filter((code) => code !== 'DATA_LOST');
      const may = (): string[] => [...failures, ...this.lossOf(tracked, part)];
      const good = await this.judge(
        call,
        this.refusalsOfOverwriting(tracked, part),
        may,
        `readFrom() into ${tracked.name}`,
      );
      closeSync(fd);
      const full = elements === given.length;
      if (good && full) tracked.healed(first, last);
      else this.refreshGone(tracked, part);
      if (good) {
        assert.equal(moved, bytes.length);
        (plain as Float64Array).set(given.subarray(0, elements) as Float64Array, begin);
        return;
      }
      const wanted = plain.slice() as NumericArray;
      (wanted as Float64Array).set(given as Float64Array, begin);
      await this.adopt(tracked, part, [wanted, plainArray(array.type, plain.length)], 'a transfer that failed');
    };
    const done = work();
    this.occupy([tracked], done);
    if (this.random.chance(0.5)) await done;
  }

  /** Codes of which one must come of writing all of a part: pages that are overwritten as a whole need not be had. */
  refusalsOfOverwriting(tracked: Tracked, part: Part): Set<string> {
    const codes = tracked.refusals(part, 'write');
    codes.delete('PINNED');
    const [first, end] = tracked.pagesOf(part);
    const [firstWhole, endWhole] = tracked.wholePagesOf(part);
    const needed = new Set<string>();
    for (let page = first; page < end; page++) {
      if (page >= firstWhole && page < endWhole) continue;
      for (const code of tracked.refusals(tracked.elementsOf(page, page + 1), 'read')) needed.add(code);
    }
    for (const code of CURABLE) if (!needed.has(code)) codes.delete(code);
    return codes;
  }

  /** Pages of a part that could not be had and can be now were emptied, on the way to being overwritten. */
  refreshGone(tracked: Tracked, part: Part): void {
    const [first, end] = tracked.pagesOf(part);
    if (tracked.gone.slice(first, end).every((each) => each === null)) return;
    for (const run of tracked.array.residency().runs) {
      if (run.state !== 'zero' && run.state !== 'resident') continue;
      const [from, to] = tracked.pagesOf(run);
      for (let page = Math.max(first, from); page < Math.min(end, to); page++) {
        if (tracked.gone[page] === null) continue;
        tracked.gone[page] = null;
        const { begin, end: last } = tracked.elementsOf(page, page + 1);
        tracked.plain.fill(this.item(tracked, 0) as never, begin, last);
      }
    }
  }

  private async writeTo(): Promise<void> {
    const tracked = this.pickArray(() => true);
    if (tracked === null) return;
    const { array } = tracked;
    const part = this.part(tracked.length);
    this.log(`${tracked.name}.writeTo(a file, ${part.begin} to ${part.end})`);
    const path = this.newFile(new Uint8Array(0));
    const fd = openSync(path, 'w+');
    const must = tracked.refusals(part, 'read');
    let moved = -1;
    const work = async (): Promise<void> => {
      const call = array.writeTo(fd, part).then((count) => {
        moved = count;
      });
      const good = await this.judge(call, must, () => this.lossOf(tracked, part), `writeTo() of ${tracked.name}`);
      if (good) {
        assert.equal(moved, (part.end - part.begin) * tracked.plain.BYTES_PER_ELEMENT);
        const found = plainArray(array.type, part.end - part.begin);
        readSync(fd, bytesOf(found), 0, found.byteLength, 0);
        tracked.compare(found, part, 'the file that was written from');
      }
      closeSync(fd);
    };
    const done = work();
    this.occupy([tracked], done);
    if (this.random.chance(0.5)) await done;
  }

  private async protect(): Promise<void> {
    const tracked = this.pickArray((each) => !each.gone.includes('freed'));
    if (tracked === null) return;
    const part = this.pagesPart(tracked);
    const lowered = tracked.rights.some((each) => each !== 'readwrite');
    const rights: Rights = this.random.pick(
      lowered ? (['none', 'read', 'readwrite', 'readwrite', 'readwrite'] as const) : (['none', 'read'] as const),
    );
    this.log(`await ${tracked.name}.protect('${rights}', ${JSON.stringify(part)})`);
    const must =
      rights === 'readwrite' && !tracked.writable
        ? ['ACCESS_DENIED']
        : rights === 'none' && tracked.kind === 'shared'
          ? ['SHARED_NO_ACCESS']
          : [];
    const good = await this.judge(tracked.array.protect(rights, part), must, [], `protect('${rights}')`);
    const [first, end] = tracked.pagesOf(part);
    const most = tracked.writable ? rights : rights === 'readwrite' ? 'read' : rights;
    if (good) tracked.rights.fill(most, first, end);
  }

  private async discard(): Promise<void> {
    const tracked = this.pickArray((each) => !(KNOWN.freedByParts && each.gone.includes('freed')));
    if (tracked === null) return;
    const part = this.part(tracked.length);
    const [first, end] = tracked.wholePagesOf(part);
    const whole = tracked.elementsOf(first, end);
    const must = first >= end ? new Set(['NO_WHOLE_PAGE']) : tracked.refusals(whole, 'write');
    // What is lost, or cannot be had, may be forgotten.
    for (const code of CURABLE) must.delete(code);
    this.log(`await ${tracked.name}.discard(${JSON.stringify(part)})`);
    tracked.wrote = true;
    const good = await this.judge(tracked.array.discard(part), must, [], `discard() of ${tracked.name}`);
    if (!good) return;
    tracked.healed(first, end);
    tracked.cameHome(whole);
    tracked.plain.fill(this.item(tracked, 0) as never, whole.begin, whole.end);
  }

  private async resize(): Promise<void> {
    const tracked = this.pickArray(({ gone }) => !gone.includes('freed'));
    if (tracked === null) return;
    const { random } = this;
    const { plain, array } = tracked;
    const limit = Math.floor(MAX_BYTES / plain.BYTES_PER_ELEMENT);
    const length = random.chance(0.5)
      ? random.between(1, plain.length)
      : random.between(1, Math.min(limit, 2 * plain.length));
    this.log(`await ${tracked.name}.resize(${length}), from ${plain.length}`);
    const must: string[] = [];
    if (['file', 'shared', 'provided'].includes(tracked.kind)) must.push('NOT_RESIZABLE');
    else if (tracked.pins.some((pins) => pins > 0)) must.push('PINNED');
    // What lies behind the last element, in its page, is cleared, and the page has to be had for that.
    const last = Math.floor(Math.min(length, plain.length) / tracked.pageElements);
    const may = last < tracked.pages ? tracked.refusals(tracked.elementsOf(last, last + 1), 'read') : [];
    const good = await this.judge(array.resize(length), must, may, `resize() of ${tracked.name}`);
    if (!good) {
      assert.equal(array.length, plain.length);
      return;
    }
    assert.equal(array.length, length);
    const longer = plainArray(array.type, length);
    (longer as Float64Array).set(plain.subarray(0, Math.min(length, plain.length)) as Float64Array);
    tracked.plain = longer;
    tracked.fitPages();
    // What moved was taken over page by page, whether those who have it live or not.
  }

  private async pin(): Promise<void> {
    const tracked = this.pickArray(() => true);
    if (tracked === null || this.pins.length >= 4) return;
    const part = this.part(tracked.length);
    this.log(`await ${tracked.name}.pin(${JSON.stringify(part)})`);
    const must = tracked.refusals(part, 'read');
    let pin: Pin | undefined;
    const call = tracked.array.pin({ ...part, lock: this.random.chance(0.2) }).then((made) => {
      pin = made;
    });
    await this.judge(call, must, [], `pin() of ${tracked.name}`);
    if (pin === undefined) return;
    const [first, end] = tracked.pagesOf(part);
    for (let page = first; page < end; page++) tracked.pins[page]++;
    this.pins.push({ pin, tracked, first, end });
  }

  private async unpin(): Promise<void> {
    const index = this.random.below(this.pins.length);
    // Whoever uses the array now was told what was pinned when it began.
    if (this.pins[index].tracked.busy === null) this.unpinAt(index);
  }

  private unpinAt(index: number): void {
    const [{ pin, tracked, first, end }] = this.pins.splice(index, 1);
    this.log(`unpin ${tracked.name}, pages ${first} to ${end}`);
    pin.unpin();
    for (let page = first; page < end; page++) tracked.pins[page]--;
  }

  private async unpinAll(): Promise<void> {
    while (this.pins.length > 0) this.unpinAt(0);
  }

  private async advise(): Promise<void> {
    const tracked = this.pickArray(() => true);
    if (tracked === null) return;
    const { random } = this;
    const device = this.pickDevice();
    const part = this.part(tracked.length);
    const choices: Advice[] = [
      { readMostly: random.chance(0.6) },
      { pattern: random.pick(['normal', 'sequential', 'random'] as const) },
      { preferredLocation: random.pick([null, 'host', device?.device ?? null] as const) },
      {
        accessedBy: random.pick([
          null,
          device?.device ?? null,
          this.devices.filter(({ alive }) => alive).map(({ device }) => device),
        ]),
      },
    ];
    const advice = random.pick(choices);
    const inPlace = advice.accessedBy !== undefined && advice.accessedBy !== null;
    if (inPlace) tracked.advisedInPlace = true;
    const shown = JSON.stringify(advice, (_, value) =>
      value instanceof Object && 'pid' in value ? value.name : value,
    );
    this.log(`${tracked.name}.advise(${shown}, ${JSON.stringify(part)})`);
    tracked.array.advise(advice, part);
  }

  private async flush(): Promise<void> {
    const tracked = this.pickArray(({ kind }) => kind === 'shared');
    if (tracked === null) return;
    const part = this.part(tracked.length);
    this.log(`await ${tracked.name}.flush(${JSON.stringify(part)})`);
    const may =
      tracked.gone.includes('lost') || tracked.gone.includes('freed')
        ? ['FLUSH_FAILED', 'DATA_LOST', 'USE_AFTER_FREE']
        : [];
    const durable = this.random.chance(0.2);
    const good = await this.judge(tracked.array.flush({ ...part, durable }), [], may, `flush() of ${tracked.name}`);
    if (!good) return;
    this.checkFile(tracked, part);
    if (part.begin === 0 && part.end === tracked.length) tracked.wrote = false;
  }

  /** After a flush of the part the file has it, and what lies around the array is as it was. */
  private checkFile(tracked: Tracked, part: Part): void {
    const { file, plain } = tracked;
    if (file === null) return;
    const found = readFileSync(file.path);
    assert.equal(found.length, file.content.length, `the file of ${tracked.name} has another length`);
    const inFile = plainArray(tracked.array.type, plain.length);
    bytesOf(inFile).set(found.subarray(file.byteOffset, file.byteOffset + plain.byteLength));
    const [first, end] = tracked.pagesOf(part);
    for (let page = first; page < end; page++) {
      if (tracked.gone[page] !== null) continue;
      const { begin, end: last } = tracked.elementsOf(page, page + 1);
      tracked.compare(inFile.subarray(begin, last) as NumericArray, { begin, end: last }, 'the file of');
    }
    const behind = file.byteOffset + plain.byteLength;
    assert.ok(found.subarray(0, file.byteOffset).equals(file.content.subarray(0, file.byteOffset)), 'before the array');
    assert.ok(found.subarray(behind).equals(file.content.subarray(behind)), 'behind the array');
  }

  private async reload(): Promise<void> {
    const tracked = this.pickArray(
      ({ kind, pins, gone, clones }) =>
        (kind === 'file' || kind === 'shared') &&
        pins.every((each) => each === 0) &&
        !gone.includes('freed') &&
        clones.size === 0,
    );
    if (tracked?.file == null) return;
    const { random } = this;
    const { path, byteOffset } = tracked.file;
    const { plain } = tracked;
    const discard = random.chance(0.6);
    // Another program writes the file, if nothing of ours is to be lost by it.
    if (discard || !tracked.wrote) {
      const at = random.below(plain.length);
      const given = this.randomize(plain.slice(at, random.between(at + 1, plain.length)) as NumericArray);
      const fd = openSync(path, 'r+');
      writeSync(fd, bytesOf(given), 0, given.byteLength, byteOffset + at * plain.BYTES_PER_ELEMENT);
      closeSync(fd);
    }
    this.log(`await ${tracked.name}.reload({ discard: ${discard} })`);
    const may = discard || !tracked.wrote ? [] : ['UNFLUSHED_CHANGES'];
    const good = await this.judge(tracked.array.reload({ discard }), [], may, `reload() of ${tracked.name}`);
    if (!good) return;
    const found = readFileSync(path);
    bytesOf(plain).set(found.subarray(byteOffset, byteOffset + plain.byteLength));
    tracked.file.content.set(found);
    tracked.wrote = false;
    // What was lost was a change, too, and is forgotten with the others only if that was said.
    if (discard) tracked.healed(0, tracked.pages);
    tracked.cameHome(tracked.whole);
  }

  private async watch(): Promise<void> {
    if (this.notifiers.length >= 3) {
      const [{ notifier, tracked }] = this.notifiers.splice(this.random.below(this.notifiers.length), 1);
      this.log(`no longer watch ${tracked.name}`);
      notifier.close();
      return;
    }
    const tracked = this.pickArray((each) => !each.gone.includes('freed'));
    if (tracked === null) return;
    this.log(`await ${tracked.name}.watch()`);
    const onInvalidate = this.random.chance(0.5) ? { onInvalidate: () => undefined } : {};
    this.notifiers.push({ tracked, notifier: await tracked.array.watch(onInvalidate) });
  }

  /** A thread attaches, works on an array and leaves. */
  private async visit(): Promise<void> {
    const tracked = this.pickArray(
      (each) =>
        each.refusals(each.whole, 'write').size === 0 &&
        each.kind !== 'provided' &&
        each.gone.every((gone) => gone === null),
    );
    if (tracked === null || this.visits.size >= 2 || this.staying.length >= 2) return;
    const { array, plain } = tracked;
    const { begin, end } = this.part(tracked.length);
    const value = this.random.below(50);
    const leave = this.random.pick(['end', 'close', 'exit', 'wait'] as const);
    const device = this.random.chance(0.4) ? this.pickDevice() : null;
    // Its memory is too small for some arrays, and the thread would have to tell.
    const onDevice = device?.specification.kind === 'process' ? device : null;
    const name = onDevice?.name ?? null;
    this.log(`a thread for ${tracked.name} ${begin} to ${end}, device ${name}, leaves by ${leave}`);
    const visit: Visit = {
      handle: array.handle,
      expected: plain.slice() as NumericArray,
      begin,
      end,
      value,
      device: name,
      leave,
    };
    tracked.wrote = true;
    tracked.cameHome({ begin, end });
    if (onDevice !== null) {
      tracked.usedBy |= onDevice.bit;
      tracked.holdOnly(tracked.whole, onDevice.bit);
    }
    const worker = this.newThread(visit);
    const work = new Promise<void>((resolve, reject) => {
      worker.once('error', reject);
      const early = (code: number): void => reject(new Error(`the thread ended with ${code} before its work was done`));
      worker.once('exit', early);
      worker.once('message', () => {
        worker.off('exit', early);
        const item = this.item(tracked, value);
        plain.fill(item as never, begin, end);
        const range = { begin: 0, end: plain.length, size: plain.length };
        if (name !== null) runHere(KERNELS[array.type].add, { x: plain, by: item }, range);
        if (leave === 'wait') {
          this.staying.push(worker);
          resolve();
        } else worker.once('exit', () => resolve());
      });
    });
    const visiting = work.finally(() => this.visits.delete(visiting));
    this.visits.add(visiting);
    this.occupy([tracked], visiting);
    if (this.random.chance(0.3)) await visiting;
  }

  /** A thread comes and goes. */
  async meet(): Promise<void> {
    const array = this.space.array(Int8Array, 1);
    const visit: Visit = {
      handle: array.handle,
      expected: new Int8Array(1),
      begin: 0,
      end: 1,
      value: 1,
      device: null,
      leave: 'end',
    };
    const worker = this.newThread(visit);
    await new Promise((resolve, reject) => worker.once('error', reject).once('exit', resolve));
    assert.equal(array.data[0], 1);
    array.free();
  }

  private newThread(visit: Visit): Worker {
    Player.threads++;
    return new Worker(new URL('./visitor.js', import.meta.url), { workerData: visit });
  }

  /** What cannot be had is refused, and nothing is left of it. */
  private async refused(): Promise<void> {
    this.log('an array that is too large');
    assert.throws(
      () => this.space.array(Float64Array, 64 * MIB),
      (error) => codeOf(error) === 'HOST_BUDGET',
    );
    assert.throws(
      () => this.space.fileArray(Float64Array, '/proc/self/exe', { byteOffset: 2 ** 40 }),
      (error) => error instanceof RangeError,
    );
  }

  private async report(): Promise<void> {
    const tracked = this.pickArray(() => true);
    const { processors } = this.space.stats();
    for (const { name, backedBytes, budgetBytes } of processors) assert.ok(backedBytes <= budgetBytes, name);
    if (tracked !== null) this.checkReport(tracked);
  }

  /** What the manager says of an array's pages is what the model knows of them. */
  private checkReport(tracked: Tracked): void {
    this.log(`${tracked.name}.residency(), dirty(), young(), attributes()`);
    this.noteLosses(tracked);
    const { array } = tracked;
    const { runs } = array.residency();
    let at = 0;
    for (const { begin, end, state, rights, pinned } of runs) {
      assert.equal(begin, at, `residency() of ${tracked.name} leaves out elements`);
      at = end;
      const [first, last] = tracked.pagesOf({ begin, end });
      for (let page = first; page < last; page++) {
        const where = `page ${page} of ${tracked.name}`;
        const gone = tracked.gone[page];
        assert.equal(state === 'lost', isLost(gone), `${where} is ${state}, in the model ${gone}`);
        assert.equal(state === 'freed', gone === 'freed', `${where} is ${state}, in the model ${gone}`);
        assert.equal(rights, tracked.rights[page], `rights of ${where}`);
        if (gone !== 'freed') assert.equal(pinned, tracked.pins[page] > 0, `${where} is pinned`);
      }
    }
    assert.equal(at, tracked.length);
    for (const { begin, end } of array.dirty()) assert.ok(begin < end && end <= tracked.length);
    for (const { begin, end } of array.young()) assert.ok(begin < end && end <= tracked.length);
    array.attributes();
    const index = this.random.below(tracked.length);
    const attributes = this.space.pointerAttributes(array.addressOf(index));
    const [page] = tracked.pagesOf({ begin: index, end: index + 1 });
    if (tracked.gone[page] !== 'freed') assert.equal(attributes?.element, index);
  }

  private async detach(): Promise<void> {
    const device = this.pickDevice();
    if (device === null) return;
    await Promise.all(this.visits);
    this.log(`await ${device.name}.detach()`);
    device.alive = false;
    await device.device.detach();
    // Launches that waited are lost with it, and nothing else.
    await this.rest();
    for (const { onlyOn } of this.arrays) for (let page = 0; page < onlyOn.length; page++) onlyOn[page] &= ~device.bit;
  }

  private async kill(): Promise<void> {
    const device = this.pickDevice();
    if (device === null) return;
    const { lossy } = device.specification;
    // A thread that works on the device would have to tell of its loss, and one that reads an array would end the process.
    await Promise.all(this.visits);
    const signal = device.device.pid !== null && this.random.chance(0.5);
    this.log(`${signal ? 'SIGKILL' : 'kill()'} for ${device.name}, ${lossy ? 'lossy' : 'whose memory survives'}`);
    device.alive = false;
    if (lossy) this.lossyDeaths |= device.bit;
    this.death = this.dies(device);
    if (signal) process.kill(device.device.pid as number, 'SIGKILL');
    else device.device.kill();
    await this.death;
    // Launches and transfers that were under way have to end; only then is it known what was lost.
    await this.rest();
  }

  private async dies({ device, name }: TrackedDevice): Promise<void> {
    const end = Date.now() + DEATH_MS;
    do await new Promise((resolve) => setTimeout(resolve, 1));
    while (device.stats().alive && Date.now() < end);
    assert.ok(Date.now() < end, `${name} was killed ${DEATH_MS} ms ago and lives`);
  }

  randomize<T extends NumericArray>(plain: T): T {
    const first = this.random.below(100);
    const big = typeof plain[0] === 'bigint';
    for (let i = 0; i < plain.length; i++) plain[i] = (big ? BigInt((first + i) % 97) : (first + i) % 97) as never;
    return plain;
  }

  private newFile(content: Uint8Array): string {
    const path = join(this.folder, `${++this.files}`);
    writeFileSync(path, content);
    return path;
  }
}
