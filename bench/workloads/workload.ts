/**
 * A workload: arrays, and kernels over them. It runs on a device, and again in plain typed arrays;
 * both must give the same bytes.
 */
import { type AddressSpace, type Device, kernel } from '../../src/index.js';

export type Elements = Float32Array<ArrayBuffer> | Int32Array<ArrayBuffer>;
interface Part {
  readonly begin: number;
  readonly end: number;
  readonly size: number;
}

/** A kernel, and the function that it was made of. */
export interface Task {
  readonly kernel: unknown;
  readonly plain: (args: never, part: Part) => void;
}

/** As `kernel()` takes them. */
export function task<P extends object, A>(
  parameters: P,
  plain: (args: A, part: Part) => void,
): Task {
  const made: unknown = (kernel as (parameters: P, code: unknown) => unknown)(parameters, plain);
  return { kernel: made, plain: plain as Task['plain'] };
}

export interface Launch {
  readonly task: Task;
  /** Names of arrays by parameters, and numbers. */
  readonly args: Readonly<Record<string, string | number>>;
  readonly size: number;
}

/** What a workload is for so many bytes. */
export interface Work {
  readonly arrays: Readonly<Record<string, Elements>>;
  readonly launches: readonly Launch[];
  /** Throws where the arrays of a finished run are not what theory says. */
  readonly known?: (arrays: Readonly<Record<string, Elements>>) => void;
}

export interface Workload {
  readonly name: string;
  make(bytes: number): Work;
}

/** The same numbers on every machine, from 0 to below 1. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

export function expect(condition: boolean, what: string): void {
  if (!condition) throw new Error(`wrong result: ${what}`);
}

/** Runs the work in plain arrays; returns what they hold then. */
export function runPlain({ arrays, launches }: Work): Record<string, Elements> {
  const own = Object.fromEntries(
    Object.entries(arrays).map(([name, array]) => [name, array.slice() as Elements]),
  );
  for (const { task: each, args, size } of launches) {
    const given = Object.fromEntries(
      Object.entries(args).map(([name, value]) => [
        name,
        typeof value === 'string' ? own[value] : value,
      ]),
    );
    each.plain(given as never, { begin: 0, end: size, size });
  }
  return own;
}

export interface Ran {
  readonly ms: number;
  readonly bytesIn: number;
}

/** Runs the work on a device, and compares every byte with what is expected, if that is given. */
export async function runOn(
  space: AddressSpace,
  device: Device,
  { arrays, launches }: Work,
  expected?: Readonly<Record<string, Elements>>,
): Promise<Ran> {
  const managed = Object.fromEntries(
    Object.entries(arrays).map(([name, array]) => {
      const type = array.constructor as Float32ArrayConstructor;
      const made = space.array(type, array.length, { name });
      made.data.set(array);
      return [name, made];
    }),
  );
  const before = device.stats().bytesIn;
  const began = performance.now();
  const stream = device.stream();
  for (const { task: each, args, size } of launches) {
    const given = Object.fromEntries(
      Object.entries(args).map(([name, value]) => [
        name,
        typeof value === 'string' ? managed[value] : value,
      ]),
    );
    stream.launch(each.kernel as never, given as never, { size });
  }
  await stream.synchronize();
  const ran = { ms: performance.now() - began, bytesIn: device.stats().bytesIn - before };
  stream[Symbol.dispose]();
  for (const [name, array] of Object.entries(managed)) {
    const right = expected?.[name];
    if (right !== undefined) {
      const bytes = Buffer.from(right.buffer, right.byteOffset, right.byteLength);
      const { data } = array;
      const got = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
      expect(bytes.equals(got), `${name} differs from the same work in plain arrays`);
    }
    array.free();
  }
  return ran;
}

export function bytesOf({ arrays }: Work): number {
  return Object.values(arrays).reduce((sum, { byteLength }) => sum + byteLength, 0);
}
