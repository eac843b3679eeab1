/**
 * What drives a GPU, in the few words that its transport needs: `GPUDevice` of the standard
 * (standard-gpu.ts) and Dawn's C functions (dawn/native-gpu.ts) both say them.
 */
import type { Bound, Dispatch, Launched } from '../link/protocol.js';

export type Failure = NonNullable<Launched['failure']>;

/** At once, or later where only the event loop brings it. */
export type Soon<T> = T | Promise<T>;

/** A buffer as a variable of a kernel has it. */
export interface Binding<Buffer> {
  readonly binding: number;
  readonly buffer: Buffer;
  readonly offset: number;
  readonly size: number;
}

/** A kernel as the GPU runs it, with a layout for each of its groups of bindings. */
export interface GpuKernel {
  readonly layouts: readonly unknown[];
}

/**
 * Buffers, groups of bindings and kernels are whatever the GPU makes of them. Commands are noted
 * in their order, and begin with `submit`; what is written is there for all that is submitted
 * later.
 */
export interface Gpu<Buffer, Group, Kernel extends GpuKernel> {
  /** Resolves with the reason when the GPU is gone. What is under way may never end. */
  readonly lost: Promise<string>;
  /** Null: it does all by the event loop of the thread. */
  readonly waits: Waits | null;
  /** Null: the GPU writes to no memory but its own. */
  readonly hostBuffers: HostBuffers<Buffer> | null;

  /** A buffer for arrays; null: there is no memory for it. */
  allocate(bytes: number): Soon<Buffer | null>;
  uniform(bytes: number): Buffer;
  /** A buffer that is copied to, and mapped. */
  reader(bytes: number): Buffer;
  free(buffer: Buffer): void;
  write(buffer: Buffer, offset: number, content: Uint8Array): void;
  /** Resolves when the first bytes of a reader can be read, until it is unmapped. */
  map(reader: Buffer, bytes: number): Promise<unknown>;
  mapped(reader: Buffer, bytes: number): Uint8Array;
  unmap(reader: Buffer): void;

  compile(order: Dispatch, source: string): Soon<Kernel | { readonly failure: Failure }>;
  forget(kernel: Kernel): void;
  /** Bindings of a kernel's group. */
  bind(kernel: Kernel, group: number, bindings: readonly Binding<Buffer>[]): Group;
  unbind(group: Group): void;

  clear(buffer: Buffer, offset: number, bytes: number): void;
  copy(from: Buffer, fromOffset: number, to: Buffer, toOffset: number, bytes: number): void;
  /** @param stamped the place of this kernel among those that are measured; -1: it is not */
  run(
    kernel: Kernel,
    groups: readonly Group[],
    workgroups: readonly [number, number, number],
    stamped: number,
  ): void;
  submit(): void;
  /** Forgets commands that were noted and not submitted. */
  discard(): void;
  /** Makes what measured kernels need; null: it does not measure. */
  stamps(): Stamps<Buffer> | null;
  /** From here on mistakes are noted, */
  watch(): void;
  /** and here is the first of them. */
  mistake(): Soon<Failure | null>;
  /**
   * Resolves when all that was submitted has been done.
   * @param heard called as soon as it has, before anything else that the thread has to do
   */
  idle(heard?: () => void): Promise<unknown>;
  lose(): void;
}

/** Of a GPU without an event loop of its own: its thread waits by a call that blocks. */
export interface Waits {
  /** Whether something is under way. */
  readonly busy: boolean;
  /** Waits until something of that has ended, but no longer than so many nanoseconds. */
  wait(nanoseconds: number): void;
}

/** Of a GPU that writes to the program's memory itself. */
export interface HostBuffers<Buffer> {
  /** A buffer to copy to whose memory is that at an address; null: not there. */
  at(address: number, bytes: number): Buffer | null;
}

/** Of a GPU that notes when kernels begin and end, two numbers each. */
export interface Stamps<Buffer> {
  /** Notes, behind kernels, that so many of their stamps are to be copied to a buffer. */
  resolve(count: number, to: Buffer): void;
  free(): void;
}

/** Which of the GPU's types of buffers a variable has. */
export function typeOf(each: Bound): 'uniform' | 'storage' | 'read-only-storage' {
  if (each.kind === 'uniform') return 'uniform';
  return each.writable ? 'storage' : 'read-only-storage';
}
