/** The spaces that hostile calls are made on, with arrays that they must leave alone. */
import assert from 'node:assert/strict';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { npyHeader } from '../../src/files/npy.js';
import {
  AddressSpace,
  addressView,
  attachNotifier,
  Guard,
  Hold,
  HostStream,
  ManagedArray,
  Notifier,
  type NpyArray,
  openSpace,
  type Pin,
  Recording,
  Registration,
  SequenceReader,
  SharedArray,
  SpaceEvents,
  SpaceServer,
  Stream,
  StreamEvent,
  ThreadBinding,
} from '../../src/index.js';
import { ValkeyServer, valkeyPrograms } from '../harness/valkey-server.js';
import { Guest, startUser } from './guests.js';
import { KERNELS } from './kernels.js';
import { Victims } from './victims.js';

const GUARD = new URL('./watchers.js', import.meta.url);
const FILE_BYTES = 8192;
/** No call may take longer, however much else the machine has to do. */
const LIMIT_MS = 20_000;

/**
 * What a sequence has besides the spaces that last: none, or one of its own, with a device of this
 * kind, which it may close. Or another process takes part: it has the space, or attached to it; and
 * it may end meanwhile.
 */
export type Company =
  | 'none'
  | 'simulated'
  | 'process'
  | 'another owner'
  | 'an owner that ends'
  | 'a user that ends';

/** What a value is picked from. */
export type Pool =
  | 'space'
  | 'mortal space'
  | 'prey'
  | 'readable'
  | 'shared'
  | 'shared array'
  | 'f32'
  | 'u8'
  | 'f32 to read'
  | 'u8 to read'
  | 'device'
  | 'mortal device'
  | 'stream'
  | 'host stream'
  | 'event'
  | 'kernel'
  | 'address view'
  | 'counter'
  | 'notifier'
  | 'reader'
  | 'pin'
  | 'registration'
  | 'guard'
  | 'hold'
  | 'binding'
  | 'recording'
  | 'server'
  | 'events'
  | 'space handle'
  | 'array handle';

/** Waits for a promise that must settle, however it does. */
export async function settled<T>(promise: Promise<T>, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () =>
        reject(new assert.AssertionError({ message: `${what}: nothing came for ${LIMIT_MS} ms` })),
      LIMIT_MS,
    );
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Ends it when what uses it has ended. */
async function unregistered(registration: Registration): Promise<void> {
  for (const late = Date.now() + LIMIT_MS; ; await new Promise((next) => setTimeout(next, 1))) {
    try {
      registration[Symbol.dispose]();
      return;
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'ARRAY_IN_USE');
      assert.ok(Date.now() < late, 'an operation keeps registered memory');
    }
  }
}

function isPin(value: unknown): value is Pin {
  return typeof (value as Partial<Pin> | null | undefined)?.unpin === 'function';
}

/**
 * An object of an array that has moved since cannot free it; the one that moved it can, and is
 * among the others. What another process had has gone with that.
 */
function freeLast(array: ManagedArray): void {
  try {
    array.free();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== 'STALE_HANDLE' && code !== 'OWNER_LOST') throw error;
  }
}

/** A file of numbers. */
function npyFile(shape: readonly number[]): Uint8Array {
  const length = shape.reduce((all, extent) => all * extent, 1);
  return Buffer.concat([
    npyHeader('f32', shape),
    Buffer.from(new Float32Array(length).fill(3).buffer),
  ]);
}

function isNpy(result: unknown): result is NpyArray {
  return typeof result === 'object' && result !== null && 'dtype' in result && 'array' in result;
}

/** Spaces that last for many sequences. */
interface Homes {
  readonly both: AddressSpace;
  readonly simulated: AddressSpace;
  /** Its first device has been detached, its second has died. */
  readonly wreck: AddressSpace;
  readonly closed: AddressSpace;
  readonly closedArray: ManagedArray;
  readonly closedHandles: { space: unknown; array: unknown };
  readonly closedStream: Stream;
  readonly closedEvent: StreamEvent;
  readonly freed: ManagedArray;
  readonly freedHandle: unknown;
  readonly disposed: Stream;
  /**
   * Read and written by address; never freed, since a touch of what has been freed ends the
   * process.
   */
  readonly words: ManagedArray;
  /** Waited for, and not freed either. */
  readonly counters: ManagedArray;
  /** One, which has been closed. */
  readonly notifiers: readonly Notifier[];
  /** By the sequence number of a notifier that is never closed. */
  readonly reader: SequenceReader;
  /** An array that shares a file; never freed. */
  readonly shared: ManagedArray;
  /** One array that both spaces share by a server; never freed. None where there is no server. */
  readonly sharedArrays: readonly SharedArray[];
  readonly pins: readonly Pin[];
  readonly registration: Registration;
  readonly guard: Guard;
  readonly hold: Hold;
  readonly binding: ThreadBinding;
  readonly recording: Recording;
  readonly server: SpaceServer;
  readonly events: SpaceEvents;
  readonly victims: readonly Victims[];
  /** Bytes of the two spaces when only the victims are in them. */
  readonly allocated: readonly number[];
}

export class Field {
  private homes: Homes | null = null;
  private server: ValkeyServer | null = null;
  private attached: Guest | null = null;
  private readonly folder = mkdtempSync(join(tmpdir(), 'onemem-hostile-'));
  private readonly fds: Record<string, number>;

  constructor() {
    writeFileSync(this.path('numbers'), Buffer.alloc(FILE_BYTES, 7));
    writeFileSync(this.path('kept'), Buffer.alloc(FILE_BYTES, 1));
    writeFileSync(this.path('shared'), Buffer.alloc(FILE_BYTES, 5));
    writeFileSync(this.path('both'), Buffer.alloc(FILE_BYTES, 9));
    writeFileSync(this.path('empty'), '');
    writeFileSync(this.path('matrix.npy'), npyFile([16, 32]));
    writeFileSync(this.path('saved.npy'), npyFile([3]));
    mkdirSync(this.path('folder'));
    this.fds = {
      read: openSync(this.path('numbers'), 'r'),
      both: openSync(this.path('both'), 'r+'),
      folder: openSync(this.path('folder'), 'r'),
    };
  }

  path(file: string): string {
    return join(this.folder, file);
  }

  fd(which: 'read' | 'both' | 'folder'): number {
    return this.fds[which];
  }

  /** Of the server by which machines share arrays, or of none. */
  get serverUrl(): string {
    return this.server?.url ?? 'unix:///none';
  }

  get hasServer(): boolean {
    return this.server !== null;
  }

  async open(): Promise<Homes> {
    if (this.homes !== null) return this.homes;
    const programs = valkeyPrograms();
    if (typeof programs === 'string')
      console.log(`SKIPPED: arrays that machines share: ${programs}`);
    else this.server ??= await ValkeyServer.start();
    const both = await openSpace({
      devices: [
        { kind: 'process', memory: '8MiB', units: 2 },
        { kind: 'simulated', memory: '8MiB' },
      ],
      hostMemory: '256MiB',
    });
    const simulated = await openSpace({
      devices: [{ kind: 'simulated', memory: '4MiB' }],
      hostMemory: '256MiB',
    });
    const wreck = await openSpace({
      devices: [
        { kind: 'simulated', memory: '4MiB' },
        { kind: 'process', memory: '4MiB' },
      ],
      hostMemory: '256MiB',
    });
    await wreck.devices[0].detach();
    wreck.devices[1].kill();
    const closed = await openSpace({
      devices: [{ kind: 'simulated', memory: '4MiB' }],
      hostMemory: '256MiB',
    });
    const closedArray = closed.array(Float32Array, 100, { name: 'of a closed space' });
    const closedHandles = { space: closed.handle, array: closedArray.handle };
    const closedStream = closed.devices[0].stream();
    const closedEvent = closedStream.record();
    await closed.close();
    const freed = simulated.array(Float32Array, 10, { name: 'freed' });
    const freedHandle = freed.handle;
    freed.free();
    const disposed = simulated.devices[0].stream();
    disposed[Symbol.dispose]();
    const words = both.bytes(400, { name: 'words' });
    const counters = simulated.array(Int32Array, 10, { name: 'counters' });
    const ended = await counters.watch();
    ended.close();
    const notifiers = [ended];
    const reader = attachNotifier((await counters.watch()).handle);
    const shared = simulated.fileArray(Float32Array, this.path('kept'), { shared: true });
    const sharedArrays: SharedArray[] = [];
    for (const space of this.hasServer ? [both, simulated] : []) {
      const on = { url: this.serverUrl };
      const options = { name: 'shared', on, blockBytes: '4KiB' };
      sharedArrays.push((await space.sharedArray(Float32Array, 3000, options)) as SharedArray);
    }
    const pin = await counters.pin();
    pin.unpin();
    const pins = [pin];
    const registration = both.register(new Float32Array(8));
    registration.unregister();
    const guard = await counters.guard({ module: GUARD, export: 'allow' });
    await guard.close();
    const hold = await counters.hold();
    hold.release();
    const binding = both.bindThread();
    binding.release();
    const recording = await both.record('/dev/null');
    await recording.stop();
    const server = await both.serve();
    await server.close();
    const events = await both.events();
    await events.close();
    const victims = [new Victims(both, 1), new Victims(simulated, 2)];
    // The thread for files is started by the first of them.
    for (const { arrays } of victims) await arrays[0].writeTo(this.fd('both'), { position: 0 });
    const allocated = [both, simulated].map((space) => space.stats().allocatedBytes);
    this.homes = {
      both,
      simulated,
      wreck,
      closed,
      closedArray,
      closedHandles,
      closedStream,
      closedEvent,
      freed,
      freedHandle,
      disposed,
      words,
      counters,
      notifiers,
      reader,
      shared,
      sharedArrays,
      pins,
      registration,
      guard,
      hold,
      binding,
      recording,
      server,
      events,
      victims,
      allocated,
    };
    return this.homes;
  }

  /** A space of another process; null: the addresses for those are used up. */
  async guest(): Promise<Guest | null> {
    if (this.attached?.lost !== false)
      this.attached = Guest.isPossible ? await Guest.attach() : null;
    return this.attached;
  }

  /**
   * After something went wrong, what is left of the spaces proves nothing about the next sequence.
   */
  async renew(): Promise<void> {
    const { homes } = this;
    this.homes = null;
    this.attached?.end();
    if (homes === null) return;
    for (const space of [homes.both, homes.simulated, homes.wreck])
      await space.close().catch(() => undefined);
  }

  async closeSpaces(): Promise<void> {
    const { homes } = this;
    this.homes = null;
    await this.attached?.close();
    this.attached = null;
    if (homes === null) return;
    for (const space of [homes.both, homes.simulated, homes.wreck])
      await settled(space.close(), 'closing a space');
  }

  async close(): Promise<void> {
    await this.closeSpaces();
    await this.server?.[Symbol.asyncDispose]();
    for (const fd of Object.values(this.fds)) closeSync(fd);
    rmSync(this.folder, { recursive: true });
  }
}

/** The same with a space of another process in place of one. */
function hosted(homes: Homes, { space, words, counters, victims, allocated }: Guest): Homes {
  return {
    ...homes,
    both: space,
    words,
    counters,
    victims: [victims, homes.victims[1]],
    allocated: [allocated, homes.allocated[1]],
  };
}

/** What one sequence of calls works on. */
export class World {
  private readonly pools: Record<Pool, unknown[]>;
  private readonly opened: AddressSpace[] = [];
  private readonly doomed: ManagedArray[] = [];
  private readonly ownVictims: Victims | null;

  private constructor(
    private readonly field: Field,
    private readonly homes: Homes,
    readonly mortal: AddressSpace | null,
    /** Where `both` is a space of another process. */
    private readonly guest: Guest | null = null,
    private readonly user: { end(): Promise<void> } | null = null,
  ) {
    const {
      both,
      simulated,
      wreck,
      closed,
      victims,
      freed,
      freedHandle,
      disposed,
      words,
      counters,
    } = homes;
    const prey: ManagedArray[] = [
      both.array(Float32Array, 3000, { name: 'first prey' }),
      simulated.array(Float32Array, 1000, { name: 'second prey' }),
      both.bytes(5000, { name: 'third prey' }),
    ];
    const streams = [
      both.devices[0].stream(),
      simulated.devices[0].stream(),
      both.devices[1].stream(),
    ];
    const hostStreams = [both.stream(), simulated.stream(), both.stream()];
    // Most are of one space, so that they fit each other.
    const [first, second, third] = prey;
    const [ours, theirs] = victims.map(({ arrays }) => arrays);
    const { sharedArrays } = homes;
    this.pools = {
      space: [both, both, both, simulated, simulated, wreck, closed],
      'mortal space': [closed],
      prey: [first, third, first, third, first, third, second, freed, homes.closedArray],
      readable: [
        ...ours,
        first,
        third,
        ...ours,
        first,
        third,
        ...theirs,
        second,
        freed,
        homes.closedArray,
        ...sharedArrays,
      ],
      shared: [homes.shared],
      'shared array': [...sharedArrays, ...sharedArrays, ...sharedArrays, first, freed],
      f32: [first],
      u8: [third],
      'f32 to read': [first, ours[0]],
      'u8 to read': [third, ours[1]],
      device: [
        ...both.devices,
        ...both.devices,
        ...both.devices,
        ...simulated.devices,
        ...wreck.devices,
        ...closed.devices,
      ],
      'mortal device': [...wreck.devices, ...closed.devices],
      stream: [
        ...streams,
        streams[0],
        streams[2],
        streams[0],
        streams[2],
        disposed,
        homes.closedStream,
      ],
      'host stream': [...hostStreams, hostStreams[0], streams[0]],
      event: [streams[0].record(), streams[1].record(), hostStreams[0].record(), homes.closedEvent],
      kernel: [...KERNELS],
      // A touch of what has been freed ends the process, so that the others are refused before.
      counter: [counters, counters, counters, freed, homes.closedArray, ours[0]],
      notifier: [...homes.notifiers],
      reader: [homes.reader, ...homes.notifiers],
      pin: [...homes.pins],
      registration: [homes.registration],
      guard: [homes.guard],
      hold: [homes.hold],
      binding: [homes.binding],
      recording: [homes.recording],
      server: [homes.server],
      events: [homes.events],
      'address view': [addressView(words), addressView()],
      'space handle': [both.handle, simulated.handle, wreck.handle, homes.closedHandles.space],
      'array handle': [...prey.map(({ handle }) => handle), freedHandle, homes.closedHandles.array],
    };
    this.ownVictims = mortal === null ? null : new Victims(mortal, 3);
    if (mortal !== null) this.addMortal(mortal);
  }

  static async make(field: Field, company: Company): Promise<World> {
    const homes = await field.open();
    if (company === 'a user that ends')
      return new World(field, homes, null, null, await startUser(homes.both));
    if (company === 'another owner' || company === 'an owner that ends') {
      const guest = await field.guest();
      return new World(field, guest === null ? homes : hosted(homes, guest), null, guest);
    }
    if (company === 'none') return new World(field, homes, null);
    const own = await openSpace({
      devices: [
        { kind: company, memory: '4MiB' },
        { kind: 'simulated', memory: '4MiB' },
      ],
      hostMemory: '256MiB',
    });
    return new World(field, homes, own);
  }

  /** More often than any other, since it is there to be ended. */
  private addMortal(space: AddressSpace): void {
    for (let times = 0; times < 4; times++) {
      this.pools.space.push(space);
      this.pools['mortal space'].push(space);
      this.pools.device.push(...space.devices);
      this.pools['mortal device'].push(...space.devices);
    }
    const prey = [
      space.array(Float32Array, 2000, { name: 'mortal prey' }),
      space.bytes(3000, { name: 'mortal bytes' }),
    ];
    const streams = space.devices.map((device) => device.stream());
    for (let times = 0; times < 2; times++) {
      this.pools.prey.push(...prey);
      this.pools.readable.push(...prey);
      this.pools.stream.push(...streams);
      this.pools.event.push(streams[0].record());
    }
    this.pools['space handle'].push(space.handle);
    this.pools['array handle'].push(...prey.map(({ handle }) => handle));
  }

  /** The other process ends. */
  async endCompany(): Promise<void> {
    this.guest?.end();
    await this.user?.end();
  }

  /** The array whose words have addresses. */
  get words(): ManagedArray {
    return this.homes.words;
  }

  pick(pool: Pool, index: number): unknown {
    return this.pools[pool][index % this.pools[pool].length];
  }

  path(file: string): string {
    return this.field.path(file);
  }

  get serverUrl(): string {
    return this.field.serverUrl;
  }

  fd(which: 'read' | 'both' | 'folder'): number {
    return this.field.fd(which);
  }

  /** What a call gave is there for the calls after it. */
  add(result: unknown): void {
    if (result instanceof AddressSpace && !this.pools.space.includes(result)) {
      this.opened.push(result);
      this.pools.space.push(result);
      this.pools['mortal space'].push(result);
      this.pools.device.push(...result.devices);
    } else if (result instanceof ManagedArray) {
      this.pools.prey.push(result);
      this.pools.readable.push(result);
      if (result instanceof SharedArray) this.pools['shared array'].push(result);
    } else if (isNpy(result)) this.add(result.array);
    else if (result instanceof Stream) this.pools.stream.push(result);
    else if (result instanceof HostStream) this.pools['host stream'].push(result);
    else if (result instanceof Notifier) {
      this.pools.notifier.push(result);
      this.pools.reader.push(result);
    } else if (isPin(result)) this.pools.pin.push(result);
    else if (result instanceof Registration) this.pools.registration.push(result);
    else if (result instanceof Guard) this.pools.guard.push(result);
    else if (result instanceof Hold) this.pools.hold.push(result);
    else if (result instanceof ThreadBinding) this.pools.binding.push(result);
    else if (result instanceof Recording) this.pools.recording.push(result);
    else if (result instanceof SpaceServer) this.pools.server.push(result);
    else if (result instanceof SpaceEvents) this.pools.events.push(result);
    else if (result instanceof SequenceReader) this.pools.reader.push(result);
    else if (result instanceof StreamEvent) this.pools.event.push(result);
  }

  newArray(length: number): ManagedArray {
    const array = this.homes.both.bytes(length);
    this.doomed.push(array);
    return array;
  }

  get events(): StreamEvent[] {
    return this.pools.event as StreamEvent[];
  }

  /**
   * Nothing is under way any more: what must be as it was is looked at, and the rest given back.
   */
  async end(): Promise<void> {
    const { both, simulated, victims, allocated } = this.homes;
    const lasting = this.guest?.lost === true ? [simulated] : [both, simulated];
    for (const space of lasting) {
      assert.ok(!space.isClosed, 'a space was closed that nobody closed');
      space.checkInvariants();
    }
    for (const each of victims) each.check();
    if (this.mortal !== null && !this.mortal.isClosed) {
      this.mortal.checkInvariants();
      this.ownVictims?.check();
    }
    for (const pin of this.pools.pin as Pin[]) pin.unpin();
    for (const each of this.pools.registration as Registration[]) await unregistered(each);
    for (const guard of this.pools.guard as Guard[]) await guard.close();
    for (const hold of this.pools.hold as Hold[]) hold.release();
    for (const binding of this.pools.binding as ThreadBinding[]) binding.release();
    for (const recording of this.pools.recording as Recording[])
      await recording[Symbol.asyncDispose]();
    for (const server of this.pools.server as SpaceServer[]) await server.close();
    for (const events of this.pools.events as SpaceEvents[]) await events.close();
    for (const notifier of this.pools.notifier as Notifier[]) notifier.close();
    for (const pool of ['stream', 'host stream'] as const)
      for (const stream of this.pools[pool] as HostStream[]) stream[Symbol.dispose]();
    for (const array of [...(this.pools.prey as ManagedArray[]), ...this.doomed]) freeLast(array);
    for (const space of [...this.opened, this.mortal])
      if (space !== null) await settled(space.close(), 'closing a space');
    for (const space of lasting) {
      const before = allocated[space === both ? 0 : 1];
      for (const { name, alive } of space.stats().processors) assert.ok(alive, `${name} is gone`);
      // An array is freed when its clones have what they need of it.
      const late = Date.now() + LIMIT_MS;
      while (space.stats().allocatedBytes > before && Date.now() < late) {
        await new Promise((resolve) => setTimeout(resolve, 1));
      }
      const { allocatedBytes: left, notifiers, pinnedBytes } = space.stats();
      assert.equal(pinnedBytes, 0, 'bytes pinned when every pin has ended');
      assert.equal(
        notifiers,
        space === simulated ? 1 : 0,
        'notifiers when every one of the sequence has been closed',
      );
      assert.equal(left, before, 'bytes allocated when every array has been freed');
    }
  }
}
