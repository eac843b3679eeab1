/** A process that attaches to a space: looks at arrays and works on them, as it is asked. */
import { type ArrayHandle, attachArray, type NumericArray } from '../../src/index.js';
import { KERNELS } from './kernels.js';

export interface GuestTask {
  readonly handle: ArrayHandle;
  readonly expected: NumericArray;
  /** It is not to write, and the rest says nothing. */
  readonly looks: boolean;
  readonly begin: number;
  readonly end: number;
  readonly value: number;
  /** Name of a device on which it adds the value as well, or null. */
  readonly device: string | null;
  /** Looks at a clone that it makes, too. */
  readonly clones: boolean;
}

function compare(found: NumericArray, expected: NumericArray, what: string): void {
  for (let i = 0; i < expected.length; i++) {
    if (found[i] !== expected[i])
      throw new Error(`${what}[${i}] is ${found[i]} in another process, not ${expected[i]}`);
  }
}

async function work(task: GuestTask): Promise<void> {
  const { handle, expected, looks, begin, end, value, device: deviceName, clones } = task;
  const array = attachArray(handle);
  const { data } = array;
  compare(data, expected, `array ${handle.name}`);
  if (looks) return;
  const clone = clones ? await array.clone() : null;
  const item = (typeof data[0] === 'bigint' ? BigInt(value) : value) as never;
  data.fill(item, begin, end);
  if (clone !== null) {
    compare(clone.data, expected, `a clone of array ${handle.name}`);
    clone.free();
  }
  const device = array.space.devices.find((each) => each.name === deviceName);
  if (device !== undefined) {
    await device.run(KERNELS[handle.type].add, { x: array, by: item } as never, {
      size: array.length,
    });
  }
}

process.on('message', async (task: GuestTask) => {
  try {
    await work(task);
    process.send?.('done');
  } catch (error) {
    process.send?.(error instanceof Error ? (error.stack ?? error.message) : String(error));
  }
});
process.once('disconnect', () => process.exit());
