/**
 * A process that attaches to the space of its argument, and does what the scenarios ask, one after
 * the other. It ends with the process that started it.
 */
import { type AddressSpace, attachSpace, type ManagedArray } from '../index.js';
import { increment, mix } from './kernels.js';
import { seenBy, type Words } from './scenarios/common.js';

const space: AddressSpace = attachSpace(process.argv[2]);

function find(name: string): Words {
  const array: ManagedArray<Uint32Array> | null = space.find(name);
  if (array === null) throw new Error(`there is no array ${name}`);
  return array;
}

const deeds = {
  /** What its threads see. */
  read: (name: string): Uint32Array => find(name).data.slice(),
  /** What a device sees by a launch of this process. */
  seen: (name: string, device = 0): Promise<Uint32Array> =>
    seenBy(space.devices[device], find(name)),
  /** Its thread changes elements. */
  invert(name: string, begin: number, end: number): void {
    const { data } = find(name);
    for (let i = begin; i < end; i++) data[i] = ~data[i];
  },
  add(name: string, value: number): void {
    const { data } = find(name);
    for (let i = 0; i < data.length; i++) Atomics.add(data, i, value);
  },
  /** A device changes all of it by a launch of this process. */
  mix(name: string, seed: number, device = 0): Promise<void> {
    const data = find(name);
    return space.devices[device].run(mix, { data, seed }, { size: data.length });
  },
  increment(name: string, times: number): Promise<void> {
    const data = find(name);
    return space.devices[0].run(increment, { data, times }, { size: data.length });
  },
  async clone(name: string, cloneName: string): Promise<void> {
    await find(name).clone({ name: cloneName });
  },
  /** Makes an array over a file. */
  openFile(path: string, name: string): void {
    space.fileArray(Uint32Array, path, { name });
  },
  /** Keeps it in host memory until it is unpinned. */
  async pin(name: string): Promise<void> {
    pinned = await find(name).pin();
  },
  unpin(): void {
    pinned?.unpin();
  },
};

let pinned: Awaited<ReturnType<Words['pin']>> | null = null;

export type Deeds = typeof deeds;

export interface Asked {
  readonly deed: keyof Deeds;
  readonly args: readonly unknown[];
}

export type Answered =
  | { readonly value: unknown }
  | { readonly code: string | undefined; readonly message: string };

process.on('message', async ({ deed, args }: Asked) => {
  let answer: Answered;
  try {
    const value: unknown = await (deeds[deed] as (...given: readonly unknown[]) => unknown)(
      ...args,
    );
    answer = { value };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    answer = { code, message };
  }
  process.send?.(answer);
});
process.on('disconnect', () => process.exit());
