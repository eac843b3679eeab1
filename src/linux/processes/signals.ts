/** What the kernel does with a signal that Node.js has a listener for. */
import { constants } from 'node:os';
import { check } from '../base/errors.js';
import { libc } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';

// struct sigaction of the C library: the handler, a mask of 128 bytes, the flags.
const ACTION_BYTES = 256;
const FLAGS = 136;
const SA_RESETHAND = 0x8000_0000;

/** A handler that is there at once: Node.js's runs when the main thread comes round to it. */
export class SignalHandler {
  private readonly action = new NativeBuffer(ACTION_BYTES);
  private readonly signal: number;

  constructor(readonly name: NodeJS.Signals) {
    this.signal = constants.signals[name];
    check(libc.sigaction(this.signal, 0, this.action.address), 'sigaction', { signal: name });
  }

  /** Takes the next signal; the one after ends the process, whatever its threads do. */
  once(): void {
    this.setFlags(SA_RESETHAND);
  }

  /** It takes every signal again. */
  always(): void {
    this.setFlags(0);
  }

  private setFlags(flag: number): void {
    const { view, address } = this.action;
    const flags = (view.getUint32(FLAGS, true) & ~SA_RESETHAND) | flag;
    view.setUint32(FLAGS, flags >>> 0, true);
    check(libc.sigaction(this.signal, address, 0), 'sigaction', { signal: this.name });
  }
}
