/**
 * A process that attaches to the space of another one, and does what that asks, one after the
 * other.
 */
import { closeSync, openSync, readdirSync, readSync, writeSync } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  type AddressSpace,
  type ArrayHandle,
  attachArray,
  attachSpace,
  type Device,
  type FileArrayOptions,
  type InvalidatedElements,
  i32,
  kernel,
  type ManagedArray,
  type Notifier,
  openSpace,
} from '../../../src/index.js';
import { createMemoryFile } from '../../../src/linux/memory/memory.js';
import { lookup } from '../../harness/gpu.js';
import { wasmMemory } from '../../harness/wasm.js';

let space: AddressSpace;

const addOne = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});

/** Writes what is there. */
const same = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i += 4096) x[i] = i;
});

/** A device may die; what it had is not lost. */
function deviceLost(error: Error & { code?: string }): void {
  if (error.code !== 'DEVICE_LOST') throw error;
}

function dataOf(name: string): Int32Array {
  const array = space.find<Int32Array>(name);
  if (array === null) throw new Error(`there is no array ${name}`);
  return array.data;
}

/** The code of what a call throws; `none`: it throws nothing. */
function failureOf(call: () => void): string {
  try {
    call();
    return 'none';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

/** Orders that change no data. */
const ways = {
  async prefetch(array: ManagedArray<Int32Array>, device: Device) {
    await device.stream().prefetch(array, device).synchronize();
    await device.stream().prefetch(array, 'host').synchronize();
  },
  async advice(array: ManagedArray<Int32Array>, device: Device) {
    array.advise({ preferredLocation: device });
    await device.stream().prefetch(array, device).synchronize();
    array.advise({ preferredLocation: null });
  },
  async stream(array: ManagedArray<Int32Array>, device: Device) {
    const stream = device.stream();
    stream.launch(same, { x: array }, { size: array.length });
    stream.prefetch(array, 'host');
    stream.call(() => undefined);
    await stream.synchronize();
  },
  async clone(array: ManagedArray<Int32Array>) {
    (await array.clone()).free();
  },
};
export type Way = keyof typeof ways;

/** What the process can be asked for. */
const deeds = {
  attach(handle: string): string {
    space = attachSpace(handle);
    return space.devices.map(({ name }) => name).join();
  },
  /** @param nodeOptions of a process that is started for it */
  async openAt(at: string, nodeOptions = ''): Promise<void> {
    process.env.NODE_OPTIONS = nodeOptions;
    space = await openSpace({ at });
  },
  async openFrom(from: string): Promise<void> {
    space = await openSpace({ hostMemory: '32MiB', storage: true, from });
  },
  save(path: string): Promise<number> {
    return space.save(path);
  },
  async readFrom(name: string, path: string, begin: number): Promise<number> {
    const fd = openSync(path, 'r');
    const bytes = await space.find(name)?.readFrom(fd, { begin });
    closeSync(fd);
    return bytes ?? -1;
  },
  async writeTo(name: string, path: string): Promise<number> {
    const fd = openSync(path, 'w');
    const bytes = await space.find(name)?.writeTo(fd);
    closeSync(fd);
    return bytes ?? -1;
  },
  has(name: string): boolean {
    return space.find(name) !== null;
  },
  attachArray(handle: ArrayHandle<Int32Array>): number {
    return attachArray(handle).data[0];
  },
  sum(name: string): number {
    return dataOf(name).reduce((sum, value) => sum + value, 0);
  },
  read(name: string, index: number): number {
    return dataOf(name)[index];
  },
  /** Has a system call read one element, or write 7 there; the code of its failure. */
  systemCall(what: 'reads' | 'writes', name: string, index: number): string {
    const element = dataOf(name).subarray(index, index + 1);
    const fd = createMemoryFile('calls', 4096);
    writeSync(fd, new Int32Array([7]));
    const failure = failureOf(() =>
      what === 'reads' ? writeSync(fd, element, 0, 4, 0) : readSync(fd, element, 0, 4, 0),
    );
    closeSync(fd);
    return failure;
  },
  async open(hostMemory: string): Promise<string> {
    space = await openSpace({ hostMemory, storage: true });
    return space.share();
  },
  /** Keeps a view, which asks nobody afterwards. */
  keep(name: string): number {
    keptArray = space.find<Int32Array>(name);
    kept = dataOf(name);
    return kept.length <= 2 ** 20 ? kept.reduce((sum, value) => sum + value, 0) : 0;
  },
  /** The codes by which orders to the first device fail. */
  async codesOfOrders(name: string): Promise<string[]> {
    const array = space.find<Int32Array>(name) as ManagedArray<Int32Array>;
    const [device] = space.devices;
    const orders = [
      () => device.run(same, { x: array }, { size: array.length }),
      () => device.stream().prefetch(array, device).synchronize(),
      () =>
        device.stream().copy(array.range(0, 1), array.range(1, 2), { at: device }).synchronize(),
      async () => void device.memoryInfo(),
    ];
    const codes: string[] = [];
    for (const order of orders)
      codes.push(
        await order().then(
          () => 'none',
          (error: { code: string }) => error.code,
        ),
      );
    return codes;
  },
  waitKept(index: number, value: number, timeoutMs: number): string {
    return space.wait(keptArray as ManagedArray<Int32Array>, index, value, timeoutMs);
  },
  /** Owns a space with a device, and an array of numbers that tell their places. */
  async openWithDevice(length: number): Promise<{ handle: string; device: number }> {
    const devices = [{ kind: 'process', memory: '8MiB' }] as const;
    space = await openSpace({ hostMemory: '32MiB', storage: true, devices });
    const array = space.array(Int32Array, length, { name: 'x' });
    const { data } = array;
    for (let i = 0; i < length; i++) data[i] = i;
    // With its first launch a device opens what it keeps.
    await space.devices[0].run(same, { x: array }, { size: 4096 });
    return { handle: space.share(), device: space.devices[0].pid ?? 0 };
  },
  /** Milliseconds that it takes to attach and to read one page in so many. */
  attachAndTouch(handle: string, name: string, step: number): number {
    const start = performance.now();
    space = attachSpace(handle);
    const data = dataOf(name);
    let sum = 0;
    for (let i = 0; i < data.length; i += step * 1024) sum += data[i];
    const elapsed = performance.now() - start;
    return sum === data.length / (step * 1024) ? elapsed : Number.NaN;
  },
  /** Microseconds a page of which one word is read. */
  touchTimed(name: string, pages: number): number {
    const data = dataOf(name);
    const start = performance.now();
    let sum = 0;
    for (let page = 0; page < pages; page++) sum += data[page * 1024];
    return sum === pages ? ((performance.now() - start) * 1000) / pages : Number.NaN;
  },
  /** Nanoseconds an element of a sum: of the array, or of a plain one of the same content. */
  sumTimed(name: string, plain: boolean): number {
    if (plain && copied.length === 0) copied = new Int32Array(dataOf(name));
    const data = plain ? copied : dataOf(name);
    const start = performance.now();
    let sum = 0;
    for (let i = 0; i < data.length; i++) sum += data[i];
    const elapsed = performance.now() - start;
    return sum === data.length ? (elapsed * 1e6) / data.length : Number.NaN;
  },
  /** Milliseconds until so many bytes have come through standard input. */
  async pipeTimed(bytes: number): Promise<number> {
    const start = performance.now();
    let left = bytes;
    for await (const piece of process.stdin) {
      left -= (piece as Buffer).length;
      if (left <= 0) break;
    }
    return performance.now() - start;
  },
  /**
   * Reads parts of it here and there, writes what is there, and has a device read it; says how much
   * was wrong.
   */
  async verify(rounds: number, seed: number, launches: boolean): Promise<number> {
    const x = space.find<Int32Array>('x');
    if (x === null) return -1;
    kept = x.data;
    let wrong = 0;
    for (let round = 0; round < rounds; round++) {
      const begin = (Math.imul(seed + round, 2654435761) >>> 0) % (kept.length - 5000);
      for (let i = begin; i < begin + 5000; i++) {
        if (kept[i] !== i) wrong++;
        if (i % 700 === 0) kept[i] = i;
      }
      if (launches && round % 100 === 0)
        await space.devices[0].run(same, { x }, { size: x.length }).catch(deviceLost);
      if (round % 10 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    return wrong;
  },
  sumKept(): number {
    return kept.reduce((sum, value) => sum + value, 0);
  },
  addForEver(name: string): void {
    const data = dataOf(name);
    for (;;) for (let i = data.length - 1; i >= 0; i--) data[i]++;
  },
  readKept(index: number): number {
    return kept[index];
  },
  fill(name: string, begin: number, end: number, value: number): void {
    dataOf(name).fill(value, begin, end);
  },
  add(name: string, begin: number, end: number): void {
    const data = dataOf(name);
    for (let i = begin; i < end; i++) data[i] += 1;
  },
  atomicAdd(name: string, index: number, times: number): void {
    const data = dataOf(name);
    for (let i = 0; i < times; i++) Atomics.add(data, index, 1);
  },
  make(name: string, length: number, value: number, keep = true): string {
    space.array(Int32Array, length, { name, keep }).data.fill(value);
    return space.share();
  },
  async launch(name: string): Promise<void> {
    const x = space.find<Int32Array>(name);
    if (x !== null) await space.devices[0].run(addOne, { x }, { size: x.length });
  },
  /** Rows of an array, by the ids in another one, by a launch on a GPU. */
  async lookUp(width: number): Promise<void> {
    const [table, ids, rows] = ['table', 'ids', 'rows'].map((name) =>
      space.find<Uint32Array>(name),
    );
    if (table === null || ids === null || rows === null) throw new Error('an array is missing');
    await space.devices[0].run(lookup, { table, ids, rows, width }, { size: rows.length });
  },
  /** Launches over memory of its own; what it was registered as, and what is there then. */
  async launchOwn(): Promise<[mode: string, plain: number, registered: number]> {
    const [device] = space.devices;
    const plain = new Int32Array(100_000);
    await device.run(addOne, { x: plain }, { size: plain.length });
    const memory = wasmMemory({ initial: 16 });
    const x = new Int32Array(memory.buffer);
    const registration = space.register(memory);
    await device.run(addOne, { x }, { size: x.length });
    registration.unregister();
    return [registration.mode, plain[99_999], x[x.length - 1]];
  },
  async copy(to: string, from: string): Promise<number> {
    using stream = space.stream();
    const [target, source] = [space.find(to), space.find(from)];
    if (target === null || source === null) throw new Error('there is no such array');
    let called = 0;
    stream.copy(target, source);
    stream.call(() => called++);
    await stream.synchronize();
    return called;
  },
  async clone(name: string, cloneName: string, keep = false): Promise<void> {
    await space.find(name)?.clone({ name: cloneName, keep });
  },
  /** Subscribes; what it is told is kept. */
  async watch(name: string, begin?: number, end?: number, byHost = false): Promise<void> {
    const owner = byHost ? ('host' as const) : undefined;
    notifier = await space.find<Int32Array>(name)?.watch({
      begin,
      end,
      owner,
      onInvalidate: ({ changes }) => void heard.push(...changes),
    });
    heard.length = 0;
  },
  readBegin(): number {
    return notifier?.readBegin() ?? -1;
  },
  readRetry(begun: number): boolean | undefined {
    return notifier?.readRetry(begun);
  },
  async heard(): Promise<InvalidatedElements[]> {
    while (heard.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    return heard.splice(0);
  },
  async unwatch(): Promise<boolean | undefined> {
    notifier?.close();
    return notifier?.isClosed;
  },
  watchEnded(): boolean | undefined {
    return notifier?.isClosed;
  },
  /** Subscribes so often, and says what stopped it. */
  async watchOften(name: string, times: number): Promise<string> {
    try {
      for (let time = 0; time < times; time++) await space.find(name)?.watch();
    } catch (error) {
      return (error as { code: string }).code;
    }
    return 'nothing';
  },
  /** Copies that a reader of the number believed and that were mixed, and those that it threw away. */
  readWhole(name: string, rounds: number): { mixed: number; again: number } {
    const data = dataOf(name);
    let mixed = 0;
    let again = 0;
    const end = performance.now() + 10_000;
    for (let round = 0; round < rounds || (again === 0 && performance.now() < end); round++) {
      let begun: number;
      let copy: Int32Array;
      do {
        begun = notifier?.readBegin() ?? -1;
        copy = data.slice();
      } while (notifier?.readRetry(begun) && ++again > 0);
      if (copy.some((value) => value !== copy[0])) mixed++;
    }
    return { mixed, again };
  },
  /** Makes an array over a file. */
  openFile(path: string, name: string, options: FileArrayOptions): number {
    return space.fileArray(Int32Array, path, { name, ...options }).length;
  },
  async flush(name: string): Promise<number> {
    return (await space.find(name)?.flush()) ?? -1;
  },
  descriptors(): number {
    return readdirSync('/proc/self/fd').length;
  },
  /** What only the owner can do. */
  async doForOwner(what: string, url: string): Promise<void> {
    const x = space.find<Int32Array>('x');
    if (what === 'mapped') space.fileArray(Uint8Array, new URL(url), { mapped: true });
    else if (what === 'provider') await space.providedArray(Int32Array, 10, { module: url });
    else if (what === 'module') await x?.watch({ module: url });
    else if (what === 'record') await space.record('/tmp/onemem-none');
    else if (what === 'guard') await x?.guard({ module: url });
    else if (what === 'device') await space.addDevice({ kind: 'simulated', memory: '8MiB' });
    else if (what === 'detach') await space.devices[0].detach();
    else if (what === 'hostMemory') await space.setHostMemory('64MiB');
    else if (what === 'bind') space.bindThread();
  },
  /** The error code of each call that changes something, or 'done'. */
  async changes(): Promise<Record<string, string>> {
    const [x, y] = ['x', 'y'].map((name) => space.find<Int32Array>(name));
    if (x === null || y === null) throw new Error('an array is missing');
    const [device] = space.devices;
    const fd = openSync('/dev/zero', 'r');
    const calls: Record<string, () => unknown> = {
      array: () => space.array(Int32Array, 1),
      fileArray: () => space.fileArray(Int32Array, process.execPath),
      clone: () => x.clone(),
      readFrom: () => x.readFrom(fd, { end: 10 }),
      createWriteStream: () => pipeline(Readable.from([Buffer.alloc(8)]), x.createWriteStream()),
      discard: () => x.discard(),
      protect: () => x.protect('none'),
      advise: () => x.advise({ readMostly: true }),
      resize: () => x.resize(5),
      free: () => x.free(),
      pin: () => x.pin(),
      hold: () => x.hold(),
      flush: () => x.flush(),
      reload: () => x.reload({ discard: true }),
      young: () => x.young(),
      guard: () => x.guard({ module: import.meta.url }),
      run: () => device.run(addOne, { x }, { size: x.length }),
      prefetch: () => device.stream().prefetch(x).synchronize(),
      exclusive: () => device.stream().exclusive(x).synchronize(),
      copy: () => space.stream().copy(x, y).synchronize(),
      'stream.discard': () => space.stream().discard(x).synchronize(),
      'stream.free': () => space.stream().free(x).synchronize(),
      addDevice: () => space.addDevice({ kind: 'simulated', memory: '8MiB' }),
      kill: () => device.kill(),
      restart: () => device.restart(),
      detach: () => device.detach(),
      setHostMemory: () => space.setHostMemory('128MiB'),
    };
    const outcomes: Record<string, string> = {};
    for (const [name, call] of Object.entries(calls)) {
      try {
        await call();
        outcomes[name] = 'done';
      } catch (error) {
        outcomes[name] = (error as { code?: string }).code ?? String(error);
      }
    }
    closeSync(fd);
    return outcomes;
  },
  /** One atomic operation that stores. */
  atomically(name: string, operation: 'add' | 'store' | 'exchange' | 'compareExchange'): void {
    const data = dataOf(name);
    if (operation === 'compareExchange') Atomics.compareExchange(data, 0, data[0], 9);
    else Atomics[operation](data, 0, 9);
  },
  /** Bytes by calls that only read. */
  async readAll(name: string): Promise<[file: number, buffer: number]> {
    const x = space.find<Int32Array>(name);
    const fd = openSync('/dev/null', 'w');
    const written = (await x?.writeTo(fd)) ?? -1;
    closeSync(fd);
    return [written, x?.toBuffer().length ?? -1];
  },
  notify(name: string, index: number): number {
    const array = space.find<Int32Array>(name);
    return array === null ? -1 : space.notify(array, index);
  },
  /** Opens a file of tensors or rows, and says what its first array holds. */
  openTensors(kind: 'npy' | 'safetensors' | 'gguf', path: string): number[] {
    if (kind === 'npy') return Array.from(space.openNpy(path, { type: Float32Array }).array.data);
    const { tensors, array } = kind === 'gguf' ? space.openGguf(path) : space.openSafetensors(path);
    return Array.from(array(tensors[0].name).data as Float32Array);
  },
  /** Processors that have used the array since the last call. */
  young(name: string): string[] {
    return (
      space
        .find(name)
        ?.young()
        .flatMap(({ processors }) => processors) ?? []
    );
  },
  /** Takes the array for a device alone; bytes there. */
  async exclusive(name: string): Promise<number> {
    const array = space.find(name);
    if (array === null) return -1;
    const [device] = space.devices;
    await device.stream().exclusive(array).synchronize();
    return array.residency().bytes[device.name] ?? 0;
  },
  /** Holds the array, and lets go; what was there meanwhile. */
  async holdAndRelease(name: string): Promise<number> {
    const array = space.find<Int32Array>(name);
    const held = await array?.hold();
    const value = array?.data[0] ?? -1;
    held?.release();
    return value;
  },
  async explain(name: string): Promise<string> {
    const array = space.find(name);
    return array === null ? 'none' : (await space.explain(array, 0)).text;
  },
  /** Launches of a device that are heard of. */
  async eventsOf(name: string): Promise<string[]> {
    const events = await space.events();
    const heard: string[] = [];
    events.on('launch', () => void heard.push('launch'));
    await deeds.launch(name);
    for (let wait = 0; heard.length === 0 && wait < 100; wait++)
      await new Promise((resolve) => setTimeout(resolve, 20));
    await events.close();
    return heard;
  },
  /** Serves the picture; the status of its page. */
  async servePage(): Promise<number> {
    const server = await space.serve();
    const { status } = await fetch(server.url);
    await server.close();
    return status;
  },
  /** Brings the array to a device and back for ever, by orders of all kinds. */
  async moveForEver(name: string, way: Way): Promise<void> {
    const array = space.find<Int32Array>(name);
    if (array === null) return;
    const [device] = space.devices;
    kept = array.data;
    for (;;) await ways[way](array, device);
  },
  /** The same once. */
  async move(name: string, way: Way): Promise<number> {
    const array = space.find<Int32Array>(name);
    if (array === null) return -1;
    await ways[way](array, space.devices[0]);
    return array.data.reduce((sum, value) => sum + value, 0);
  },
  async pin(name: string): Promise<void> {
    await space.find(name)?.pin();
  },
  free(name: string): void {
    space.find(name)?.free();
  },
  wait(name: string, index: number, value: number): string {
    const array = space.find<Int32Array>(name);
    return array === null ? 'none' : space.wait(array, index, value, 10_000);
  },
  names(): string {
    return space
      .stats()
      .processors.map(({ name }) => name)
      .join();
  },
  /** Asks without waiting, for ever: until it is ended. */
  flood(name: string): void {
    for (;;) void space.find(name)?.residency();
  },
  async close(): Promise<void> {
    await space.close();
  },
};

export type Deeds = typeof deeds;

let keptArray: ManagedArray<Int32Array> | null = null;
let kept: Int32Array = new Int32Array();
let copied = new Int32Array();
let notifier: Notifier | undefined;
const heard: InvalidatedElements[] = [];

process.on('message', async ({ deed, args }: { deed: keyof Deeds; args: never[] }) => {
  try {
    const value: unknown = await (deeds[deed] as (...given: never[]) => unknown)(...args);
    process.send?.({ value });
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    process.send?.({ error: { code, message } });
  }
});
