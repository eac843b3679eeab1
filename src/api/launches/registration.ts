/**
 * Memory that others made, known to a space: its arguments skip what plain ones cost each time. The
 * memory of WebAssembly is used in place by devices that can map it; all other is staged.
 */
import { types } from 'node:util';
import { addressOf, closeDescriptor } from '../../linux/base/libc.js';
import { backByFile, unbackFile } from '../../linux/files/backed-memory.js';
import { duplicateDescriptor } from '../../linux/files/file-io.js';
import { mlock, PAGE_SIZE, tryMsync, tryMunlock } from '../../linux/memory/memory.js';
import { lockedMemoryLimit } from '../../linux/processes/process.js';
import type { OptionNames } from '../../messages/option-names.js';
import { INSPECT, inspectHolding } from '../arrays/parts/description.js';
import { isTaken } from '../arrays/parts/place.js';
import type { ArrayInternals, DeviceInternals, SpaceInternals } from '../line/internals.js';
import { ownerOfView } from '../line/view-owners.js';
import { checkLock, checkOptions, isObject, isWhole, show } from '../values/arguments.js';
import { DISPOSE } from '../values/disposal.js';
import { argumentError, OnememError, typeError } from '../values/errors.js';
import { type Staged, StagingPool } from './staging-pool.js';

/** Options of `space.register`. */
export interface RegisterOptions {
  /**
   * Whether the kernel may not swap the memory: `true` (default) if the limit allows it, 'require'
   * fails with MEMORY_LOCK.
   */
  readonly lock?: boolean | 'require';
}

/** A WebAssembly.Memory, as far as is needed: its types are not those of Node.js. */
export interface WasmMemory {
  readonly buffer: ArrayBufferLike;
  grow(delta: number): number;
}

/** Memory that can be registered. By its address it is the program's to keep there. */
export type RegisterableMemory =
  | ArrayBufferView
  | ArrayBufferLike
  | WasmMemory
  | { readonly address: bigint; readonly bytes: number };

const OPTIONS: OptionNames<RegisterOptions> = { lock: true };
const EXAMPLE = "{ lock: 'require' }";

/** Memory as it was when it was registered. */
interface Found {
  readonly address: number;
  readonly bytes: number;
  readonly kind: string;
  /** Set for memory that can be backed by a file in place. */
  readonly wasm: WasmMemory | null;
  isThere(): boolean;
}

/** Memories that lie in a file of one registration; those of other spaces are staged. */
const backed = new WeakSet<WasmMemory>();

/** All of one thread, by their spaces. */
const registrations = new WeakMap<SpaceInternals, Set<Registration>>();

/**
 * Memory of the program's that a space knows; `space.register` makes it.
 * @example
 * const registration = space.register(new Float32Array(1000));
 * console.log(registration.mode, registration.bytes); // staged 4000
 * registration.unregister();
 */
export class Registration {
  /** Where the memory begins. */
  readonly address: bigint;
  readonly bytes: number;
  /**
   * 'in place': devices with `capabilities.registeredInPlace` use the memory itself, as `in` and
   * `inout` arguments. 'staged': its elements are copied, over memory of the space that is kept as
   * long as this registration.
   */
  readonly mode: 'in place' | 'staged';
  /** Whether the kernel may not swap it. */
  readonly locked: boolean;
  /** @internal Operations that use it and have not ended. */
  uses = 0;
  private ended = false;
  /** @internal For operations that cannot use it in place. */
  readonly staging: StagingPool;
  private readonly place: InPlace | null;

  /** @internal */
  constructor(
    private readonly space: SpaceInternals,
    private readonly found: Found,
    lock: boolean | 'require',
  ) {
    this.address = BigInt(found.address);
    this.bytes = found.bytes;
    this.place = placeOf(space, found);
    this.mode = this.place === null ? 'staged' : 'in place';
    const problem = lock === false ? 'not wanted' : lockPages(found);
    this.locked = problem === null;
    if (problem !== null && lock === 'require') {
      this.place?.end();
      throw lockError(found, problem);
    }
    this.staging = new StagingPool(space, found.bytes);
  }

  /** False: it has ended, the space has been closed, or the memory is not there any more. */
  get isRegistered(): boolean {
    return !this.ended && this.found.isThere();
  }

  /**
   * Ends the registration. The memory stays as it is. Throws NOT_REGISTERED the second time, and
   * ARRAY_IN_USE while operations use it.
   * @example
   * const registration = space.register(new SharedArrayBuffer(8192));
   * registration.unregister();
   * console.log(registration.isRegistered); // false
   */
  unregister(): void {
    if (this.ended) {
      const message = `the ${this.found.kind} is not registered: it was unregistered before, or its space has been closed`;
      throw new OnememError('NOT_REGISTERED', message);
    }
    if (this.uses > 0) {
      const message = `cannot unregister the ${this.found.kind}: ${this.uses} operations that use it have not ended; await them first`;
      throw new OnememError('ARRAY_IN_USE', message);
    }
    this.end();
  }

  /** Ends it if it has not ended. Throws only where operations use it. */
  [DISPOSE](): void {
    if (!this.ended) this.unregister();
  }

  /** @internal */
  [INSPECT](): string {
    return inspectHolding(
      `Registration of ${this.found.kind}`,
      `${this.bytes} bytes, ${this.mode}${this.locked ? ', locked' : ''}`,
      this.isRegistered ? 'registration.unregister()' : null,
    );
  }

  /** @internal Whatever uses it. */
  end(): void {
    if (this.ended) return;
    this.ended = true;
    registrations.get(this.space)?.delete(this);
    this.staging.end();
    if (this.locked) unlockPages(this.found);
    this.place?.end();
  }

  /** @internal Bytes from there on are some of it, or meet it. */
  covers(address: number, bytes: number): 'all' | 'some' | 'none' {
    const { address: first, bytes: count } = this.found;
    if (address + bytes <= first || address >= first + count) return 'none';
    return address >= first && address + bytes <= first + count ? 'all' : 'some';
  }

  /** @internal Throws where the memory is not there any more. */
  assertThere(): void {
    if (this.found.isThere()) return;
    const what = `the registered ${this.found.kind} of ${this.bytes} bytes is not there any more`;
    const message = `${what}: it was transferred, has grown, has become smaller, or was unmapped; unregister() it, and register what there is now`;
    throw new OnememError('REGISTERED_GONE', message, { bytes: this.bytes });
  }

  /** @internal The memory itself, where a device can use it; null: it is to be staged. */
  inPlaceFor(device: DeviceInternals | null): Staged | null {
    return device?.capabilities.registeredInPlace === true ? this.place : null;
  }
}

/** Memory of a program that lies in a memory file, which devices map. */
class InPlace implements Staged {
  readonly isInPlace = true;

  constructor(
    readonly array: ArrayInternals,
    private readonly file: number,
    private readonly found: Found,
  ) {}

  put(): void {
    // It is there.
  }

  take(): void {
    // It is there.
  }

  give(): void {
    // It stays as long as the registration.
  }

  end(): void {
    const { address, bytes, wasm } = this.found;
    // Memory that has moved is V8's to give back.
    if (this.found.isThere()) unbackFile(this.file, address, bytes);
    backed.delete(wasm as WasmMemory);
    closeDescriptor(this.file);
    this.array.free();
  }
}

/** Puts a file under memory where that can be, and makes an array of it; null: it cannot. */
function placeOf(space: SpaceInternals, found: Found): InPlace | null {
  const { address, bytes, wasm } = found;
  if (wasm === null || backed.has(wasm) || space.client.hasOwner || bytes % PAGE_SIZE !== 0)
    return null;
  let file = -1;
  try {
    file = backByFile('onemem-registered', address, bytes);
  } catch {
    // No descriptor, or no memory for it: it is staged then, and says so.
    return null;
  }
  try {
    // The manager closes its own.
    const array = space.registeredArray(duplicateDescriptor(file), bytes);
    backed.add(wasm);
    return new InPlace(array, file, found);
  } catch (error) {
    unbackFile(file, address, bytes);
    closeDescriptor(file);
    throw error;
  }
}

export function register(
  space: SpaceInternals,
  memory: unknown,
  options: RegisterOptions = {},
): Registration {
  space.client.assertOpen('cannot register memory');
  checkOptions('register()', options, OPTIONS, EXAMPLE);
  const { lock = true } = options;
  checkLock(lock);
  const found = find(memory);
  if (found.bytes === 0)
    throw argumentError(
      'REGISTER_SIZE',
      `cannot register a ${found.kind} of 0 bytes: there is nothing to register`,
    );
  refuseManaged(space, found);
  const known = knownOf(space);
  for (const each of [...known]) {
    if (each.covers(found.address, found.bytes) === 'none') continue;
    if (each.isRegistered) throw overlapError(found, each);
    // Its memory has gone, and another's lies there by now.
    each.end();
  }
  const made = new Registration(space, found, lock);
  known.add(made);
  return made;
}

/** All registrations of a space that has been closed end. */
export function endRegistrations(space: SpaceInternals): void {
  for (const each of [...(registrations.get(space) ?? [])]) each.end();
}

/** The registration around a typed array; null: none. Throws where the memory has gone. */
export function registrationOf(space: SpaceInternals, plain: ArrayBufferView): Registration | null {
  const known = registrations.get(space);
  if (known === undefined || known.size === 0 || plain.byteLength === 0) return null;
  const address = addressOf(bytesOf(plain));
  for (const each of known) {
    const covers = each.covers(address, plain.byteLength);
    if (covers === 'none') continue;
    each.assertThere();
    if (covers === 'all') return each;
  }
  return null;
}

function knownOf(space: SpaceInternals): Set<Registration> {
  const known = registrations.get(space) ?? new Set<Registration>();
  registrations.set(space, known);
  return known;
}

function bytesOf({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}

function find(memory: unknown): Found {
  if (isWasm(memory)) return foundWasm(memory);
  if (types.isAnyArrayBuffer(memory)) return foundBuffer(memory, 0, memory.byteLength);
  if (ArrayBuffer.isView(memory))
    return foundBuffer(memory.buffer, memory.byteOffset, memory.byteLength, memory);
  if (isObject(memory) && 'address' in memory && 'bytes' in memory)
    return foundAddress(memory.address, memory.bytes);
  throw typeError(
    'REGISTER',
    `cannot register ${show(memory)}: memory is a typed array, an ArrayBuffer, a SharedArrayBuffer, a WebAssembly.Memory, or { address, bytes }`,
  );
}

function isWasm(memory: unknown): memory is WasmMemory {
  const { WebAssembly } = globalThis as { WebAssembly?: { Memory: new () => WasmMemory } };
  return WebAssembly !== undefined && memory instanceof WebAssembly.Memory;
}

function foundWasm(memory: WasmMemory): Found {
  const { buffer } = memory;
  const address = addressOf(new Uint8Array(buffer));
  const bytes = buffer.byteLength;
  return {
    address,
    bytes,
    kind: 'WebAssembly.Memory',
    // What other threads write meanwhile would be lost.
    wasm: types.isSharedArrayBuffer(buffer) ? null : memory,
    // It grows where it is, and stays registered as it was.
    isThere: () => memory.buffer.byteLength >= bytes && isAt(memory.buffer, address),
  };
}

function foundBuffer(
  buffer: ArrayBufferLike,
  offset: number,
  bytes: number,
  view: ArrayBufferView | null = null,
): Found {
  const kind = types.isSharedArrayBuffer(buffer) ? 'SharedArrayBuffer' : 'ArrayBuffer';
  if (isTaken(buffer))
    throw typeError('PLAIN_ARRAY_GONE', `cannot register a ${kind} whose memory was transferred`);
  if (view !== null && ownerOfView(view) !== null) throw managedError();
  const address = bytes === 0 ? 0 : addressOf(new Uint8Array(buffer, offset, bytes));
  return {
    address,
    bytes,
    kind,
    wasm: null,
    isThere: () => buffer.byteLength >= offset + bytes,
  };
}

function foundAddress(address: unknown, bytes: unknown): Found {
  if (typeof address !== 'bigint' || address <= 0n || address >= 2n ** 47n)
    throw typeError('ADDRESS', `an address is a bigint of this process's, not ${show(address)}`);
  if (!isWhole(bytes, 0))
    throw argumentError(
      'REGISTER_SIZE',
      `bytes is ${show(bytes)}; it must be a whole number of 1 or more`,
    );
  const at = Number(address);
  const isThere = (): boolean => isMapped(at, bytes);
  if (bytes > 0 && !isThere()) {
    const message = `cannot register ${bytes} bytes at 0x${address.toString(16)}: not all of them are mapped in this process`;
    throw argumentError('ADDRESS', message);
  }
  return { address: at, bytes, kind: 'memory by its address', wasm: null, isThere };
}

function isAt(buffer: ArrayBufferLike, address: number): boolean {
  return addressOf(new Uint8Array(buffer)) === address;
}

/** Whole pages around them are mapped. */
function isMapped(address: number, bytes: number): boolean {
  const first = address - (address % PAGE_SIZE);
  return tryMsync(first, address + bytes - first) === 0;
}

/** Managed memory is known already, and its pages move. */
function refuseManaged({ client: { handle } }: SpaceInternals, { address, bytes }: Found): void {
  if (address < handle.base + handle.bytes && address + bytes > handle.base) throw managedError();
}

function managedError(): TypeError {
  return typeError(
    'REGISTER',
    'cannot register managed memory: it belongs to a space already; pass the array itself',
  );
}

function overlapError(found: Found, known: Registration): OnememError {
  const place = (address: bigint, bytes: number): string =>
    `0x${address.toString(16)} to 0x${(address + BigInt(bytes)).toString(16)}`;
  const wanted = place(BigInt(found.address), found.bytes);
  const message =
    `cannot register ${found.bytes} bytes from ${wanted}: the space knows ${place(known.address, known.bytes)} already, and both overlap; ` +
    'unregister() that first';
  return new OnememError('REGISTERED', message, { bytes: found.bytes });
}

/** Whole pages of it; those that it shares with other memory are left alone. */
function pagesWithin({ address, bytes }: Found): { first: number; length: number } {
  const first = Math.ceil(address / PAGE_SIZE) * PAGE_SIZE;
  const end = Math.floor((address + bytes) / PAGE_SIZE) * PAGE_SIZE;
  return { first, length: Math.max(0, end - first) };
}

/** Why they cannot be locked; null: they are. */
function lockPages(found: Found): string | null {
  const { first, length } = pagesWithin(found);
  if (length === 0) return 'it has no whole page of its own';
  if (mlock(first, length) === 0) return null;
  return `RLIMIT_MEMLOCK allows ${lockedMemoryLimit().soft} bytes`;
}

function unlockPages(found: Found): void {
  const { first, length } = pagesWithin(found);
  // Memory that has gone may be unmapped by now.
  tryMunlock(first, length);
}

function lockError({ bytes, kind }: Found, problem: string): OnememError {
  const message = `cannot lock ${bytes} bytes of the ${kind} in memory: ${problem}; raise the limit (ulimit -l, LimitMEMLOCK), register less, or do without lock: 'require'`;
  return new OnememError('MEMORY_LOCK', message, { neededBytes: bytes });
}
