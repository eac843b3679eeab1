/**
 * One space and everything that a program may do with it, at random, with a plain copy of each array beside it. Work overlaps:
 * launches and threads go on while the next thing is done with other arrays.
 */
import assert from 'node:assert/strict';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, unlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import {
  type AddressSpace,
  type BuiltInDeviceSpecification,
  type Device,
  type ElementType,
  type ManagedArray,
  type NumericArray,
  type OnememError,
  openSpace,
  type Stream,
  type StreamEvent,
} from '../../src/index.js';
import type { Random } from '../simulation/random.js';
import { ELEMENT_TYPES, KERNELS, runHere } from './kernels.js';
import type { Visit } from './visitor.js';

const MIB = 2 ** 20;
const PAGE_BYTES = 4096;
const MAX_ARRAYS = 10;
const MAX_BYTES = 3 * MIB;

const CONSTRUCTORS = {
  i8: Int8Array,
  u8: Uint8Array,
  u8c: Uint8ClampedArray,
  i16: Int16Array,
  u16: Uint16Array,
  i32: Int32Array,
  u32: Uint32Array,
  i64: BigInt64Array,
  u64: BigUint64Array,
  f32: Float32Array,
  f64: Float64Array,
} as const;

function plainArray(type: ElementType, length: number): NumericArray {
  return new CONSTRUCTORS[type === 'bytes' ? 'u8' : type](length);
}

function bytesOf(plain: NumericArray): Uint8Array {
  return new Uint8Array(plain.buffer, plain.byteOffset, plain.byteLength);
}

function codeOf(error: unknown): string {
  return (error as Partial<OnememError> | null)?.code ?? '';
}

/** An array and what must be in it. */
interface Tracked {
  readonly array: ManagedArray;
  readonly shadow: NumericArray;
  /** False after its content was lost or left undefined with a device, until all of it is overwritten. */
  known: boolean;
  readonly writable: boolean;
  /** Elements that have been freed. */
  hole: { begin: number; end: number } | null;
  /** What works on it now. */
  busy: Promise<void> | null;
}

interface TrackedDevice {
  readonly device: Device;
  readonly specification: BuiltInDeviceSpecification;
  alive: boolean;
}

export interface PlayOptions {
  /** Devices of this space are neither killed nor detached. */
  readonly lasting?: boolean;
}

export class Play {
  /** Threads that visited a space. */
  static threads = 0;
  private readonly arrays: Tracked[] = [];
  private readonly devices: TrackedDevice[];
  private readonly visits = new Set<Promise<void>>();
  /** Threads that have done their work and stay, to be ended before or after the space. */
  private readonly staying: Worker[] = [];
  private readonly folder = mkdtempSync(join(tmpdir(), 'onemem-soak-'));
  private files = 0;
  private lossyDeath = false;
  private failure: unknown = null;

  private constructor(
    readonly name: string,
    readonly space: AddressSpace,
    specifications: readonly BuiltInDeviceSpecification[],
    private readonly random: Random,
    private readonly log: (text: string) => void,
    private readonly options: PlayOptions,
  ) {
    this.devices = space.devices.map((device, index) => ({
      device,
      specification: specifications[index],
      alive: true,
    }));
  }

  static async open(
    name: string,
    random: Random,
    log: (text: string) => void,
    options: PlayOptions = {},
  ): Promise<Play> {
    const devices: BuiltInDeviceSpecification[] = [];
    const count = options.lasting === true ? 2 : random.below(3);
    for (let index = 0; index < count; index++) {
      const kind = random.pick(['process', 'process', 'simulated'] as const);
      const units = kind === 'process' ? random.between(1, 2) : 1;
      const memory = kind === 'process' ? random.between(units + 2, 8) * 2 * MIB : random.between(4, 8) * 2 * MIB;
      const inject = random.chance(0.1) ? { inject: { refuseLargerThanPages: 1 << random.between(0, 6) } } : {};
      devices.push({ kind, units, memory, lossy: kind === 'simulated' || random.chance(0.5), ...inject });
    }
    log(`${name}: open with ${JSON.stringify(devices)}`);
    const space = await openSpace({ devices, hostMemory: '256MiB', checkInvariants: random.chance(0.1) });
    log(`${name}: processes ${space.devices.map(({ pid }) => pid).join(', ')}`);
    return new Play(name, space, devices, random, log, options);
  }

  /** Does one thing. */
  async step(): Promise<void> {
    if (this.failure !== null) throw this.failure;
    const { random } = this;
    const kinds: readonly [number, () => Promise<void>][] = [
      [this.arrays.length < MAX_ARRAYS ? 10 : 0, () => this.allocate()],
      [3, () => this.allocateFromFile()],
      [12, () => this.write()],
      [12, () => this.read()],
      [20, () => this.launch()],
      [3, () => this.launchOnPlainArrays()],
      [2, () => this.failingLaunch()],
      [6, () => this.prefetch()],
      [this.arrays.length > 2 ? 8 : 0, () => this.free()],
      [2, () => this.freePart()],
      [6, () => this.readFrom()],
      [6, () => this.writeTo()],
      [2, () => this.visit()],
      [2, () => this.refused()],
      [2, () => this.look()],
      [this.options.lasting === true ? 0 : 0.7, () => this.detach()],
      [this.options.lasting === true ? 0 : 0.7, () => this.kill()],
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
    for (const tracked of this.arrays.splice(0)) {
      await this.verify(tracked);
      tracked.array.free();
    }
    for (const worker of this.staying.splice(0)) await worker.terminate();
    this.space.checkInvariants();
  }

  async close(): Promise<void> {
    await this.rest();
    for (const tracked of this.arrays) await this.verify(tracked);
    this.space.checkInvariants();
    const { random } = this;
    // Some threads end before the space does, some after it, some of their own accord and some by force.
    const after: Worker[] = [];
    for (const worker of this.staying.splice(0)) {
      if (random.chance(0.5)) after.push(worker);
      else await worker.terminate();
    }
    this.log(`${this.name}: close, with ${after.length} threads attached`);
    if (random.chance(0.3) && this.devices.some(({ alive }) => alive)) await this.closeWithWork();
    else await this.space.close();
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

  /** Closes the space while it has something to do. */
  private async closeWithWork(): Promise<void> {
    const tracked = this.pickArray((each) => each.known && each.writable && each.hole === null);
    const device = this.pickDevice();
    if (tracked === null || device === null) {
      await this.space.close();
      return;
    }
    const stream = device.device.stream();
    const { add } = KERNELS[tracked.array.type];
    const events = [1, 2, 3].map((by) =>
      stream.launch(add, { x: tracked.array, by: this.item(tracked, by) } as never, { size: tracked.array.length }),
    );
    const ends = events.map((event) => event.synchronize().catch((error: unknown) => codeOf(error)));
    await this.space.close();
    for (const code of await Promise.all(ends)) {
      if (code !== undefined) assert.ok(['CANCELLED', 'SPACE_CLOSED', 'DEVICE_MEMORY'].includes(code), code);
    }
  }

  private async rest(): Promise<void> {
    await Promise.all([...this.arrays.map(({ busy }) => busy), ...this.visits]);
    await this.lookForLosses();
  }

  /** A value that every element type has, and sums of a few. */
  private item(tracked: Tracked, value: number): number | bigint {
    return typeof tracked.shadow[0] === 'bigint' ? BigInt(value) : value;
  }

  private pickArray(wanted: (tracked: Tracked) => boolean): Tracked | null {
    const found = this.arrays.filter((each) => each.busy === null && wanted(each));
    return found.length === 0 ? null : this.random.pick(found);
  }

  private pickDevice(): TrackedDevice | null {
    const found = this.devices.filter(({ alive }) => alive);
    return found.length === 0 ? null : this.random.pick(found);
  }

  private part(length: number): { begin: number; end: number } {
    const { random } = this;
    if (random.chance(0.3)) return { begin: 0, end: length };
    const begin = random.below(length);
    return { begin, end: random.between(begin + 1, length) };
  }

  private occupy(tracked: readonly Tracked[], work: Promise<void>): void {
    const busy = work.finally(() => {
      for (const each of tracked) each.busy = null;
    });
    for (const each of tracked) each.busy = busy;
    // The next step tells of it: nobody may be waiting.
    busy.catch((error: unknown) => {
      this.failure ??= error;
    });
  }

  private async allocate(): Promise<void> {
    const { random } = this;
    const type = random.pick(ELEMENT_TYPES);
    const elementBytes = plainArray(type, 1).BYTES_PER_ELEMENT;
    const length = Math.ceil(
      (random.chance(0.3) ? random.between(1, 20_000) : random.between(1, MAX_BYTES)) / elementBytes,
    );
    this.log(`${this.name}: ${type}[${length}]`);
    const array =
      type === 'bytes' ? this.space.bytes(length) : this.space.array(CONSTRUCTORS[type] as typeof Float32Array, length);
    const shadow = plainArray(type, length);
    this.arrays.push({ array, shadow, known: true, writable: true, hole: null, busy: null });
  }

  private async allocateFromFile(): Promise<void> {
    if (this.arrays.length >= MAX_ARRAYS) return;
    const { random } = this;
    const type = random.pick(ELEMENT_TYPES.filter((each) => each !== 'bytes')) as keyof typeof CONSTRUCTORS;
    const shadow = plainArray(type, random.between(1, 200_000));
    const writable = random.chance(0.5);
    this.log(`${this.name}: ${type}[${shadow.length}] from a file, ${writable ? 'writable' : 'read only'}`);
    const path = this.newFile(this.randomize(shadow));
    const array = this.space.fileArray(CONSTRUCTORS[type] as typeof Float32Array, path, { writable });
    // The array has the file open; its name is not needed any more.
    unlinkSync(path);
    this.arrays.push({ array, shadow, known: true, writable, hole: null, busy: null });
  }

  private async write(): Promise<void> {
    const tracked = this.pickArray((each) => each.known && each.writable && each.hole === null);
    if (tracked === null) return;
    const { array, shadow } = tracked;
    const { begin, end } = this.part(array.length);
    this.log(`${this.name}: write ${array.name} ${begin} to ${end}`);
    const item = this.item(tracked, this.random.below(100)) as never;
    if (this.random.chance(0.5)) {
      array.data.fill(item, begin, end);
      shadow.fill(item, begin, end);
    } else {
      const step = this.random.between(1, 5000);
      for (let i = begin; i < end; i += step) {
        array.data[i] = item;
        shadow[i] = item;
      }
    }
  }

  private async read(): Promise<void> {
    const tracked = this.pickArray(({ known }) => known);
    if (tracked !== null) await this.verify(tracked, this.part(tracked.array.length));
  }

  private async verify(tracked: Tracked, part = { begin: 0, end: tracked.array.length }): Promise<void> {
    if (!tracked.known) return;
    const { array, shadow, hole } = tracked;
    const parts =
      hole === null
        ? [part]
        : [
            { begin: part.begin, end: Math.min(part.end, hole.begin) },
            { begin: Math.max(part.begin, hole.end), end: part.end },
          ];
    for (const { begin, end } of parts) {
      if (begin >= end) continue;
      this.log(`${this.name}: read ${array.name} ${begin} to ${end}`);
      const { data } = array;
      let wrong = 0;
      let first = -1;
      let last = -1;
      for (let i = begin; i < end; i++) {
        if (data[i] === shadow[i]) continue;
        if (wrong++ === 0) first = i;
        last = i;
      }
      if (wrong > 0) {
        assert.fail(
          `${wrong} elements of ${array.type} array ${array.name} are wrong, ${first} to ${last}: ` +
            `${data[first]} and ${data[last]}, not ${shadow[first]} and ${shadow[last]}`,
        );
      }
    }
  }

  /** A few launches on a stream, of which the last may wait for another stream. */
  private async launch(): Promise<void> {
    const device = this.pickDevice();
    if (device === null) return;
    const stream = device.device.stream();
    const count = this.random.between(1, 3);
    const used: Tracked[] = [];
    const ends: ((event: StreamEvent) => void)[] = [];
    const events: StreamEvent[] = [];
    for (let index = 0; index < count; index++) this.addLaunch(device, stream, used, events, ends);
    const other = this.pickDevice();
    if (other !== null && this.random.chance(0.2)) {
      const later = other.device.stream();
      if (events.length > 0) later.wait(events[0]);
      this.addLaunch(other, later, used, events, ends);
      later[Symbol.dispose]();
    }
    if (this.random.chance(0.8)) stream[Symbol.dispose]();
    if (events.length === 0) return;
    const work = Promise.all(events.map((event) => event.synchronize().catch(() => undefined))).then(() => {
      for (const [index, event] of events.entries()) ends[index](event);
      if (!this.random.chance(0.5)) stream[Symbol.dispose]();
    });
    this.occupy(used, work);
    if (this.random.chance(0.3)) await work;
  }

  private addLaunch(
    device: TrackedDevice,
    stream: Stream,
    used: Tracked[],
    events: StreamEvent[],
    ends: ((event: StreamEvent) => void)[],
  ): void {
    const { random } = this;
    const fresh = (each: Tracked): boolean => !used.includes(each) && each.hole === null;
    const y = this.pickArray((each) => fresh(each) && each.writable);
    if (y === null) return;
    const { type, length } = y.array;
    const kernels = KERNELS[type];
    // Only a launch over the whole makes an array known again.
    const { begin, end } = y.known ? this.part(length) : { begin: 0, end: length };
    const range = { size: length, begin, end };
    const by = this.item(y, random.below(20));
    const x = this.pickArray(
      (each) => fresh(each) && each !== y && each.known && each.array.type === type && each.array.length >= length,
    );
    const choice = !y.known
      ? 'fill'
      : x !== null && random.chance(0.6)
        ? 'accumulate'
        : random.pick(['add', 'addFromModule', 'fill'] as const);
    this.log(`${this.name}: launch ${choice} on ${device.device.name} for ${y.array.name} ${begin} to ${end}`);
    const kernel = kernels[choice];
    const withX = choice === 'accumulate' && x !== null;
    const args = withX ? { x: x.array, y: y.array } : { x: y.array, by };
    used.push(y, ...(withX ? [x] : []));
    events.push(stream.launch(kernel, args as never, range));
    ends.push((event) => {
      if (event.result === 'done') {
        if (choice === 'fill') {
          // What a launch over the whole does not write reads 0; one over a part leaves the rest.
          if (begin === 0 && end === length) y.shadow.fill(this.item(y, 0) as never);
          y.known = true;
        }
        runHere(kernel, withX ? { x: x.shadow, y: y.shadow } : { x: y.shadow, by }, range);
        return;
      }
      const code = codeOf(event.error);
      const cause = (event.error as OnememError).details.cause ?? '';
      if (code === 'DEVICE_MEMORY') assert.equal(device.specification.kind, 'simulated');
      else if (code === 'CANCELLED') {
        assert.ok(['DEVICE_LOST', 'DEVICE_MEMORY', 'DATA_LOST', 'CANCELLED'].includes(`${cause}`), `${event.error}`);
      } else if (code === 'DATA_LOST') {
        // What it needed was still on another device when that died. It may have written some elements by then.
        this.tolerateLoss(event.error);
        y.known = false;
      } else assert.equal(code, 'DEVICE_LOST', `${event.error}`);
      // A launch that had not begun has touched nothing.
      if (code !== 'DEVICE_LOST' || (event.error as OnememError).ranges.length === 0) return;
      assert.ok(y.array.indeterminate, `${event.error}`);
      y.known = false;
    });
  }

  private async launchOnPlainArrays(): Promise<void> {
    const device = this.pickDevice();
    if (device === null) return;
    const type = this.random.pick(ELEMENT_TYPES);
    const plain = this.randomize(plainArray(type, this.random.between(1, 50_000)));
    const expected = plain.slice();
    const by = typeof plain[0] === 'bigint' ? 3n : 3;
    const range = { begin: 0, end: plain.length, size: plain.length };
    runHere(KERNELS[type].add, { x: expected, by }, range);
    this.log(`${this.name}: launch on ${device.device.name} for ${type}[${plain.length}] of the program's own`);
    await device.device.run(KERNELS[type].add, { x: plain, by } as never, range);
    assert.ok(Buffer.from(bytesOf(plain)).equals(bytesOf(expected)), 'a plain array came back with wrong content');
  }

  private async failingLaunch(): Promise<void> {
    const device = this.pickDevice();
    const tracked = this.pickArray((each) => each.known && each.writable && each.hole === null);
    if (device === null || tracked === null) return;
    this.log(`${this.name}: launch that throws on ${device.device.name} for ${tracked.array.name}`);
    using stream = device.device.stream();
    const { fail, add } = KERNELS[tracked.array.type];
    const options = { size: tracked.array.length };
    stream.launch(fail, { x: tracked.array } as never, options);
    const after = stream.launch(add, { x: tracked.array, by: this.item(tracked, 1) } as never, options);
    await assert.rejects(stream.synchronize(), (error) => ['KERNEL_ERROR', 'DEVICE_MEMORY'].includes(codeOf(error)));
    assert.equal(after.result, 'cancelled');
  }

  private async prefetch(): Promise<void> {
    const device = this.pickDevice();
    const tracked = this.pickArray((each) => each.known && each.hole === null);
    if (device === null || tracked === null) return;
    const { begin, end } = this.part(tracked.array.length);
    const to = this.random.chance(0.4) ? 'host' : device.device;
    this.log(`${this.name}: prefetch ${tracked.array.name} ${begin} to ${end} to ${to === 'host' ? to : to.name}`);
    using stream = device.device.stream();
    const event = stream.prefetch(tracked.array.range(begin, end), to);
    // The arrays stay usable meanwhile, as they do for a program.
    if (this.random.chance(0.5)) await event.synchronize();
    else
      this.occupy(
        [tracked],
        event.synchronize().catch((error) => {
          if (codeOf(error) !== 'DEVICE_LOST') this.tolerateLoss(error);
        }),
      );
  }

  private async free(): Promise<void> {
    const tracked = this.pickArray(() => true);
    if (tracked === null) return;
    this.log(`${this.name}: free ${tracked.array.name}`);
    this.arrays.splice(this.arrays.indexOf(tracked), 1);
    if (this.random.chance(0.2)) await this.verify(tracked);
    if (this.random.chance(0.5)) tracked.array[Symbol.dispose]();
    else tracked.array.free();
    assert.ok(tracked.array.isFreed);
  }

  private async freePart(): Promise<void> {
    const tracked = this.pickArray((each) => each.hole === null && each.array.byteLength > 4 * PAGE_BYTES);
    if (tracked === null) return;
    const { begin, end } = this.part(tracked.array.length);
    this.log(`${this.name}: free ${tracked.array.name} ${begin} to ${end}`);
    let freed: { begin: number; end: number };
    try {
      freed = tracked.array.free({ begin, end });
    } catch (error) {
      // Within two pages there need not be a whole one.
      if ((error as { code?: string }).code !== 'NO_WHOLE_PAGE') throw error;
      assert.ok((end - begin) * tracked.array.data.BYTES_PER_ELEMENT < 2 * PAGE_BYTES);
      return;
    }
    assert.ok(freed.begin >= begin && freed.end <= end, `${begin} to ${end} freed ${freed.begin} to ${freed.end}`);
    tracked.hole = freed;
  }

  private async readFrom(): Promise<void> {
    const tracked = this.pickArray((each) => each.writable && each.hole === null);
    if (tracked === null) return;
    const { array, shadow } = tracked;
    const { begin, end } = tracked.known ? this.part(array.length) : { begin: 0, end: array.length };
    const part = this.randomize(shadow.slice(begin, end));
    this.log(`${this.name}: read a file into ${array.name} ${begin} to ${end}`);
    const path = this.newFile(part);
    const fd = openSync(path, 'r');
    const work = array.readFrom(fd, { begin, end, position: 0 }).then((bytes) => {
      assert.equal(bytes, part.byteLength);
      (shadow as Float64Array).set(part as Float64Array, begin);
      tracked.known = true;
      assert.ok(!(begin === 0 && end === array.length && array.indeterminate));
    });
    const tolerated = work.catch((error: unknown) => {
      this.tolerateLoss(error);
      tracked.known = false;
    });
    const done = tolerated.finally(() => {
      closeSync(fd);
      unlinkSync(path);
    });
    this.occupy([tracked], done);
    if (this.random.chance(0.5)) await done;
  }

  private async writeTo(): Promise<void> {
    const tracked = this.pickArray((each) => each.known && each.hole === null);
    if (tracked === null) return;
    const { array, shadow } = tracked;
    const { begin, end } = this.part(array.length);
    this.log(`${this.name}: write ${array.name} ${begin} to ${end} to a file`);
    const path = this.newFile(new Uint8Array(0));
    const fd = openSync(path, 'w');
    const work = array.writeTo(fd, { begin, end }).then((bytes) => {
      const expected = bytesOf(shadow.subarray(begin, end));
      assert.equal(bytes, expected.length);
      assert.ok(readFileSync(path).equals(expected), `array ${array.name} is not what its file holds`);
    });
    const tolerated = work.catch((error: unknown) => this.tolerateLoss(error));
    const done = tolerated.finally(() => {
      closeSync(fd);
      unlinkSync(path);
    });
    this.occupy([tracked], done);
    if (this.random.chance(0.5)) await done;
  }

  /** A thread attaches, works on an array and leaves. */
  private async visit(): Promise<void> {
    const tracked = this.pickArray((each) => each.known && each.writable && each.hole === null);
    if (tracked === null || this.visits.size >= 2 || this.staying.length >= 2) return;
    const { array, shadow } = tracked;
    const { begin, end } = this.part(array.length);
    const value = this.random.below(50);
    const leave = this.random.pick(['end', 'close', 'exit', 'wait'] as const);
    const device = this.random.chance(0.4) ? this.pickDevice() : null;
    // Its memory is too small for some arrays, and the thread would have to tell.
    const name = device?.specification.kind === 'process' ? device.device.name : null;
    this.log(`${this.name}: a thread for ${array.name} ${begin} to ${end}, device ${name}, leaves by ${leave}`);
    const visit: Visit = { handle: array.handle, expected: shadow.slice(), begin, end, value, device: name, leave };
    const worker = this.newThread(visit);
    const work = new Promise<void>((resolve, reject) => {
      worker.once('error', reject);
      const early = (code: number): void => reject(new Error(`the thread ended with ${code} before its work was done`));
      worker.once('exit', early);
      worker.once('message', () => {
        worker.off('exit', early);
        const item = this.item(tracked, value);
        shadow.fill(item as never, begin, end);
        const range = { begin: 0, end: shadow.length, size: shadow.length };
        if (name !== null) runHere(KERNELS[array.type].add, { x: shadow, by: item }, range);
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
    Play.threads++;
    return new Worker(new URL('./visitor.js', import.meta.url), { workerData: visit });
  }

  /** What cannot be had is refused, and nothing is left of it. */
  private async refused(): Promise<void> {
    this.log(`${this.name}: an array that is too large`);
    assert.throws(
      () => this.space.array(Float64Array, 64 * MIB),
      (error) => codeOf(error) === 'HOST_BUDGET',
    );
    assert.throws(
      () => this.space.fileArray(Float64Array, '/proc/self/exe', { byteOffset: 2 ** 40 }),
      (error) => error instanceof RangeError,
    );
  }

  private async look(): Promise<void> {
    const tracked = this.pickArray((each) => each.hole === null);
    this.log(`${this.name}: reports`);
    const { processors } = this.space.stats();
    for (const { name, backedBytes, budgetBytes } of processors) assert.ok(backedBytes <= budgetBytes, name);
    if (tracked === null) return;
    const { runs } = tracked.array.residency();
    assert.equal(runs[0].begin, 0);
    assert.equal(runs[runs.length - 1].end, tracked.array.length);
  }

  private async detach(): Promise<void> {
    const device = this.pickDevice();
    if (device === null) return;
    await Promise.all(this.visits);
    this.log(`${this.name}: detach ${device.device.name}`);
    device.alive = false;
    await device.device.detach();
  }

  private async kill(): Promise<void> {
    const device = this.pickDevice();
    if (device === null) return;
    // A thread that works on the device would have to tell of its loss, and one that reads an array would end the process.
    await Promise.all(this.visits);
    this.log(`${this.name}: kill ${device.device.name}, ${device.specification.lossy ? 'lossy' : 'surviving'}`);
    device.alive = false;
    if (device.specification.lossy) this.lossyDeath = true;
    if (device.device.pid !== null && this.random.chance(0.5)) process.kill(device.device.pid, 'SIGKILL');
    else device.device.kill();
    const end = Date.now() + 10_000;
    while (device.device.stats().alive) {
      assert.ok(Date.now() < end, `device ${device.device.name} was killed 10 s ago and lives`);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    // Launches and transfers that were under way have to end; only then is it known what was lost.
    await this.rest();
  }

  /** What is under way while a device dies may miss what only that device had; what that was is looked up afterwards. */
  private tolerateLoss(error: unknown): void {
    if (codeOf(error) !== 'DATA_LOST' || !this.lossyDeath) throw error;
  }

  private async lookForLosses(): Promise<void> {
    if (!this.lossyDeath) return;
    this.lossyDeath = false;
    for (const tracked of this.arrays) {
      const { runs } = tracked.array.residency();
      if (!runs.some(({ state }) => state === 'lost')) continue;
      this.log(`${this.name}: ${tracked.array.name} is lost`);
      tracked.known = false;
    }
  }

  private randomize<T extends NumericArray>(plain: T): T {
    const first = this.random.below(100);
    const big = typeof plain[0] === 'bigint';
    for (let i = 0; i < plain.length; i++) plain[i] = (big ? BigInt((first + i) % 97) : (first + i) % 97) as never;
    return plain;
  }

  private newFile(content: NumericArray): string {
    const path = join(this.folder, `${++this.files}`);
    writeFileSync(path, bytesOf(content));
    return path;
  }
}
