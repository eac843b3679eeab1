/** What a scenario is handed, and how it says what must hold. */
import { AssertionError } from 'node:assert';
import type { AddressSpace, Device, ManagedArray, ProcessorStats } from '../index.js';
import type { DeviceKind } from './device-kind.js';
import { type Resources, resources } from './resources.js';

export const PAGE_BYTES = 4096;
export const BLOCK_BYTES = 2 ** 21;
const WORD_BYTES = 4;
export const WORDS_PER_PAGE = PAGE_BYTES / WORD_BYTES;
export const WORDS_PER_BLOCK = BLOCK_BYTES / WORD_BYTES;
/** A buffer, unless a scenario says otherwise: 4 MiB. */
export const BUFFER_BYTES = 2 * BLOCK_BYTES;
export const BUFFER_WORDS = BUFFER_BYTES / WORD_BYTES;

type Words = ManagedArray<Uint32Array>;
type Figures = Omit<ProcessorStats, 'name' | 'kind' | 'alive'>;

export class Context {
  constructor(
    readonly kind: DeviceKind,
    readonly space: AddressSpace,
    /** What the process held before the space was opened. */
    readonly before: Resources,
    /** An empty folder of the scenario's own. */
    readonly folder: string,
    /** Says something that a reader of the results should know: what was measured. */
    readonly note: (text: string) => void,
  ) {}

  get device(): Device {
    return this.space.devices[0];
  }

  resources(): Resources {
    return resources();
  }

  words(length = BUFFER_WORDS, name?: string): Words {
    return this.space.array(Uint32Array, length, name === undefined ? {} : { name });
  }

  /** Brings a part of an array to a device, or home, by one call; returns the bytes there. */
  async prefetch(
    array: Words,
    to: Device | 'host',
    begin = 0,
    end = array.length,
  ): Promise<number> {
    const device = to === 'host' ? this.space.devices[0] : to;
    using stream = device.stream();
    const event = stream.prefetch(array.range(begin, end), to);
    await stream.synchronize();
    return event.bytes;
  }

  /** Returns a function that tells how the figures of a processor have changed since this call. */
  watch(): (processor: Device | 'host') => Figures {
    const before = this.space.stats();
    return (processor) => {
      const name = processor === 'host' ? 'host' : processor.name;
      const [then, now] = [before, this.space.stats()].map((stats) =>
        stats.processors.find((each) => each.name === name),
      );
      if (then === undefined || now === undefined)
        throw new AssertionError({ message: `no figures of ${name}` });
      const change: Record<string, number> = {};
      for (const [key, value] of Object.entries(now)) {
        if (typeof value === 'number')
          change[key] = value - Number(then[key as keyof ProcessorStats]);
      }
      return change as unknown as Figures;
    };
  }

  /** Waits until something holds that happens a little later, such as memory that is given back. */
  async until(what: string, holds: () => boolean): Promise<void> {
    const end = performance.now() + 5000;
    while (!holds()) {
      if (performance.now() > end)
        throw new AssertionError({ message: `after 5 s still not: ${what}` });
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}

/** Every byte is as expected; otherwise the first element that is not is named. */
export function same(what: string, actual: Uint32Array, expected: Uint32Array): void {
  equal(`${what}: length`, actual.length, expected.length);
  if (Buffer.compare(bytesOf(actual), bytesOf(expected)) === 0) return;
  let wrong = 0;
  let first = -1;
  for (let index = 0; index < expected.length; index++) {
    if (actual[index] === expected[index]) continue;
    if (first === -1) first = index;
    wrong++;
  }
  const message =
    first === -1
      ? `${what}: the bytes differed, and no longer do`
      : `${what}: ${wrong} of ${expected.length} elements are wrong, the first is ${first} ` +
        `(page ${Math.floor(first / WORDS_PER_PAGE)}): ${actual[first]} instead of ${expected[first]}`;
  throw new AssertionError({ message });
}

export function equal(what: string, actual: unknown, expected: unknown): void {
  if (Object.is(actual, expected)) return;
  throw new AssertionError({
    message: `${what}: ${String(actual)} instead of ${String(expected)}`,
  });
}

export function atMost(what: string, actual: number, limit: number): void {
  if (!(actual <= limit))
    throw new AssertionError({ message: `${what}: ${actual}, which is more than ${limit}` });
}

export function holds(what: string, condition: boolean): void {
  if (!condition) throw new AssertionError({ message: `not so: ${what}` });
}

/** The call fails with an error of this code. */
export async function refused(what: string, code: string, call: () => unknown): Promise<void> {
  let seen: unknown;
  try {
    await call();
  } catch (error) {
    seen = (error as { code?: string }).code ?? String(error);
  }
  equal(`the error of ${what}`, seen, code);
}

function bytesOf(words: Uint32Array): Buffer {
  return Buffer.from(words.buffer, words.byteOffset, words.byteLength);
}
