/**
 * What the manager tells the sentinel: mostly what it has to say on standard error, which the
 * sentinel has written. Two words of the control memory count what was said, and what was written
 * or dropped.
 */
import { Control } from './control.js';

export type ToSentinel =
  /** To be written on standard error. */
  | { readonly say: string }
  /** The opener is about to get the space. */
  | { readonly isUp: true }
  /** The manager's thread ends; `problem` is the error that it ends by, or empty. */
  | { readonly exitCode: number; readonly problem: string };

/** An error and where it came from, on one line, so that a log shows it as one event. */
export function lineOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [place = ''] = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return (
    `${error.name}: ${error.message}`.replace(/\s*\n\s*/g, ' ') + place.replace(/^\s+at /, ' at ')
  );
}

/** Counts a message; returns the ticket for `isWritten`. */
export function count(control: Int32Array): number {
  return (Atomics.add(control, Control.MessagesSaid, 1) + 1) | 0;
}

/** Whether all said by then is written; `ticket` is the word of messages at that time. */
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
