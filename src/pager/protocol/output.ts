/**
 * What the manager has to say on standard error. It posts the text to the sentinel, which has it written; two words of the control memory
 * count what was said, and what was written or dropped.
 */
import { Control } from './control.js';

/** A message of the manager for standard error. */
export interface Said {
  readonly say: string;
}

export function isSaid(message: unknown): message is Said {
  return typeof (message as Partial<Said> | null)?.say === 'string';
}

/** Counts a message; returns the ticket for `isWritten`. */
export function count(control: Int32Array): number {
  return (Atomics.add(control, Control.MessagesSaid, 1) + 1) | 0;
}

/** Whether everything that was said by then has been written; `ticket` is the word of messages said at that time. */
export function isWritten(control: Int32Array, ticket: number): boolean {
  return ((Atomics.load(control, Control.MessagesWritten) - ticket) | 0) >= 0;
}

/** Stops this thread until all has been written, or the time is over. */
export function awaitMessages(control: Int32Array, limitMs: number): void {
  const end = performance.now() + limitMs;
  for (;;) {
    const written = Atomics.load(control, Control.MessagesWritten);
    const left = end - performance.now();
    if (isWritten(control, Atomics.load(control, Control.MessagesSaid)) || left <= 0) return;
    Atomics.wait(control, Control.MessagesWritten, written, left);
  }
}
