/**
 * What Dawn does later, and how a thread without an event loop hears of it: it waits, and Dawn
 * calls back within the wait and nowhere else (WaitAnyOnly).
 */
import { NativeBuffer } from '../../../../linux/base/native-buffer.js';
import { callbackAddress, textAt } from '../../../../linux/base/shared-library.js';
import { CallbackMode, WaitStatus } from './layouts.js';
import type { CallbackInfo, Dawn } from './library.js';

/** What a callback has said. */
export interface Outcome {
  readonly status: number;
  /** A handle or an address, where the future gives one. */
  readonly given: number;
  readonly message: string;
}

interface StringView {
  readonly data: number;
  readonly length: number;
}

interface Pending {
  readonly future: number;
  readonly number: number;
}

/** How many futures one wait may be for: what an instance is made with. */
export const MOST_WAITED = 64;
const WAIT_INFO_BYTES = 16;
const COMPLETED = 8;
/** How a message is handed over. */
export const TEXT = 'WGPUStringView';

export function messageOf({ data, length }: StringView): string {
  return textAt(data, length);
}

export class Futures {
  /** Of an instance, which is made before it has futures. */
  instance = 0;
  /** How each kind of future is asked for. Its number tells callbacks apart. */
  readonly kinds: {
    readonly given: CallbackInfo;
    readonly said: CallbackInfo;
    readonly address: CallbackInfo;
    readonly lost: CallbackInfo;
  };
  private readonly listeners = new Map<number, (outcome: Outcome) => void>();
  private pending: Pending[] = [];
  private last = 0;
  /** How often a listener has heard something. */
  private heard = 0;
  private readonly area = new NativeBuffer(MOST_WAITED * WAIT_INFO_BYTES);

  constructor(private readonly dawn: Dawn) {
    this.kinds = {
      given: info(
        ['uint32_t', 'uint64_t', TEXT],
        (status: number, given: number, message: StringView, number: number) =>
          this.settle(number, { status, given, message: messageOf(message) }),
      ),
      said: info(['uint32_t', TEXT], (status: number, message: StringView, number: number) =>
        this.settle(number, { status, given: 0, message: messageOf(message) }),
      ),
      address: info(['uint32_t', 'uint64_t'], (status: number, given: number, number: number) =>
        this.settle(number, { status, given, message: '' }),
      ),
      lost: info(
        ['uint64_t', 'uint32_t', TEXT],
        (_device: number, status: number, message: StringView, number: number) =>
          this.settle(number, { status, given: 0, message: messageOf(message) }),
      ),
    };
  }

  /** Whether anything has yet to come. */
  get busy(): boolean {
    return this.pending.length > 0;
  }

  /** Asks for something that a later wait hears of. */
  later(
    kind: CallbackInfo,
    ask: (info: CallbackInfo) => number,
    listener: (outcome: Outcome) => void,
  ): void {
    const number = this.listen(kind, listener);
    this.pending.push({ future: ask(kind), number });
  }

  /** Asks for something and waits. What it is told of lies there only while `look` runs. */
  now(
    kind: CallbackInfo,
    ask: (info: CallbackInfo) => number,
    look?: (outcome: Outcome) => void,
  ): Outcome {
    let heard: Outcome | null = null;
    this.listen(kind, (outcome) => {
      heard = outcome;
      look?.(outcome);
    });
    const future = ask(kind);
    while (heard === null) this.waitFor([future], FOREVER);
    return heard;
  }

  /** The number of a callback for what is asked for in another way. */
  listen(kind: CallbackInfo, listener: (outcome: Outcome) => void): number {
    const number = ++this.last;
    this.listeners.set(number, listener);
    kind.userdata1 = number;
    return number;
  }

  /** Looks whether a future has come that is waited for in no other way. */
  look(future: number): void {
    this.waitFor([future], 0);
  }

  /** Waits until something that is pending has come, but no longer than so many nanoseconds. */
  wait(nanoseconds: number): void {
    const waited =
      this.pending.length <= MOST_WAITED ? this.pending : this.pending.slice(0, MOST_WAITED);
    if (waited.length === 0) return;
    this.waitFor(
      waited.map(({ future }) => future),
      nanoseconds,
    );
    this.pending = this.pending.filter(({ number }) => this.listeners.has(number));
  }

  private waitFor(futures: readonly number[], nanoseconds: number): void {
    const { area } = this;
    for (const [index, future] of futures.entries()) {
      area.setU64(index * WAIT_INFO_BYTES, future);
      area.setU64(index * WAIT_INFO_BYTES + COMPLETED, 0);
    }
    const heard = this.heard;
    const status = this.dawn.instanceWaitAny(
      this.instance,
      futures.length,
      area.address,
      nanoseconds,
    );
    if (status === WaitStatus.Success && heard === this.heard)
      throw new Error(
        'something that the GPU has done was called back under a number that was never given',
      );
    if (status !== WaitStatus.Success && status !== WaitStatus.TimedOut)
      throw new Error(
        `the GPU's library refused a wait for ${futures.length} futures (status ${status})`,
      );
  }

  private settle(number: number, outcome: Outcome): void {
    const listener = this.listeners.get(number);
    if (listener === undefined) return;
    this.listeners.delete(number);
    this.heard++;
    listener(outcome);
  }
}

/** As large as the number may be that is passed: 104 days. */
const FOREVER = Number.MAX_SAFE_INTEGER;

/** @param types of what it says, before the number that it is told apart by */
function info(types: readonly string[], listener: (...args: never[]) => void): CallbackInfo {
  return {
    nextInChain: 0,
    mode: CallbackMode.WaitAnyOnly,
    callback: callbackAddress([...types, 'uint64_t', 'uint64_t'], listener),
    userdata1: 0,
    userdata2: 0,
  };
}
