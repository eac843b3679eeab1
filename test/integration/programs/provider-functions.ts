/** Functions that fill arrays, well and in every wrong way. */
import { BroadcastChannel, threadId } from 'node:worker_threads';
import { type ArrayHandle, attachArray, type FillRequest } from '../../../src/index.js';

/** Words that a test shares with a provider. */
export const Word = { Calls: 0, Elements: 1, Fails: 2, Thread: 3, Largest: 4 } as const;

interface Shared {
  /** Which of its reasons `refuseOddly` is to give. */
  readonly given?: string;
  /** Five words; see Word. */
  readonly words: Int32Array;
  /** Name of the channel on which handles come that were not there when the array was made. */
  readonly channel?: string;
  readonly table?: ArrayHandle;
}
type Request = FillRequest<Shared>;

/** Element i of every array that these functions fill well. */
export function elementAt(index: number): number {
  return (Math.imul(index, 7) + 3) | 0;
}

export function fill({ values, begin, end, data }: Request): void {
  Atomics.add(data.words, Word.Calls, 1);
  Atomics.add(data.words, Word.Elements, end - begin);
  Atomics.store(data.words, Word.Thread, threadId);
  if (end - begin > Atomics.load(data.words, Word.Largest))
    Atomics.store(data.words, Word.Largest, end - begin);
  for (let i = begin; i < end; i++) values[i - begin] = elementAt(i);
}

export default fill;

export async function fillLater(request: Request): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, (request.begin / 1024) % 5));
  fill(request);
}

/** Fills when the test lets it. */
export async function fillWhenTold(request: Request): Promise<void> {
  Atomics.add(request.data.words, Word.Calls, 1);
  while (Atomics.load(request.data.words, Word.Fails) === 0)
    await new Promise((resolve) => setTimeout(resolve, 2));
  fill(request);
}

export function giveBack({ begin, end }: Request): Int32Array {
  return Int32Array.from({ length: end - begin }, (_, i) => elementAt(begin + i));
}

export function giveBuffer(request: Request): ArrayBuffer {
  return giveBack(request).buffer as ArrayBuffer;
}

export function giveTooLittle({ byteLength }: Request): Uint8Array {
  return new Uint8Array(byteLength - 1);
}

export function giveTooMuch({ byteLength }: Request): Uint8Array {
  return new Uint8Array(byteLength + 4096);
}

export function giveNumber(): Uint8Array {
  return 5 as unknown as Uint8Array;
}

export function giveAway({ bytes }: Request): void {
  structuredClone(bytes.buffer, { transfer: [bytes.buffer as ArrayBuffer] });
}

export function throwError({ begin }: Request): void {
  throw new RangeError(`no such part:\n${begin}`);
}

export function throwText(): void {
  throw 'only words';
}

export async function reject(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
  throw new Error('the network is down');
}

/** Fails as often as the test says, and then no more. */
export function throwAtTimes(request: Request): void {
  if (Atomics.sub(request.data.words, Word.Fails, 1) > 0) throw new Error('not yet');
  fill(request);
}

/** Refuses the second MiB. */
export function throwObject(): void {
  throw { code: 'E_NO', part: 3 };
}

/** What a program in JavaScript may do. */
export function refuseOddly({ refuse, data }: Request): void {
  const given: Record<string, unknown> = {
    object: { part: 3 },
    error: new Error('not today'),
    nothing: undefined,
  };
  (refuse as (reason: unknown) => never)(given[data.given ?? '']);
}

export function refuseSome(request: Request): void {
  if (request.byteOffset + request.byteLength > 2 ** 20 && request.byteOffset < 2 ** 21) {
    request.refuse('the second MiB is not for you');
  }
  fill(request);
}

export function neverAnswer({ data }: Request): Promise<void> {
  Atomics.add(data.words, Word.Calls, 1);
  setInterval(() => undefined, 1000);
  return new Promise(() => undefined);
}

export function spin({ data }: Request): void {
  Atomics.add(data.words, Word.Calls, 1);
  for (;;);
}

export function exit(): void {
  process.exit(3);
}

export function crash(): Promise<void> {
  setImmediate(() => {
    throw new Error('thrown by nobody');
  });
  return new Promise(() => undefined);
}

/** Writes once more when it has answered, well for even parts and badly for odd ones. */
export function writeLate(request: Request): void {
  const { values, data } = request;
  setTimeout(() => values.fill(-1 as never), 0);
  setTimeout(() => values.fill(-1 as never), 20);
  if (Atomics.sub(data.words, Word.Fails, 1) > 0) {
    values.fill(-2 as never);
    throw new Error('half done');
  }
  fill(request);
}

/** Adds the elements of another array, which it attaches to. */
export function fillFromTable({ values, begin, end, data }: Request): void {
  const table = attachArray(data.table as ArrayHandle).data;
  for (let i = begin; i < end; i++) values[i - begin] = Number(table[i]) + 1;
}

/** Fills from the array whose handle comes on the channel: it was made later, or is its own. */
export async function fillFromChannel({ values, begin, end, data }: Request): Promise<void> {
  const channel = new BroadcastChannel(data.channel as string);
  const handle = await new Promise<ArrayHandle>((resolve) => {
    channel.onmessage = (event) => {
      const { data: message } = event as unknown as { data: ArrayHandle | string };
      // Other calls of this function ask on the same channel.
      if (typeof message !== 'string') resolve(message);
    };
    channel.postMessage('wanted');
  });
  channel.close();
  const other = attachArray(handle).data;
  for (let i = begin; i < end; i++) values[i - begin] = Number(other[i]) + 1;
}

export const notAFunction = 5;
