/**
 * How clients and the manager reach each other. The manager reads without an event loop, since it
 * sleeps where faults wake it; a client waits for some answers with its thread stopped. Each end is
 * an interface, so that a client elsewhere than in a thread of the process needs an implementation
 * of the two, and nothing of the manager changes.
 */
import type { FromManager, ToManager } from './messages.js';

/** The manager's end: where clients come from. */
export interface Transport {
  /** The next client that has introduced itself, or undefined. Never waits. */
  accept(): Connection | undefined;
  close(): void;
}

/** The manager's end of the connection to one client. */
export interface Connection {
  /** The kernel's id of the client's thread; of another process, minus the client's number. */
  readonly thread: number;
  /** Whether the client has ended, with or without a word. */
  readonly hasEnded: boolean;
  /** Whether the client attached to a space that another one opened. */
  readonly attached: boolean;
  /** The other process that it is of; null: none. */
  readonly process: number | null;
  /** The arrays that it may know of; null: all. */
  readonly ranges: ReadonlySet<number> | null;
  /** The next message that has come, or undefined. Never waits. */
  take(): ToManager | undefined;
  post(message: FromManager): void;
  /** Wakes the client if it waits with its thread stopped. */
  raise(): void;
  close(): void;
}

/** A client's end of its connection to the manager. */
export interface Line {
  /** Hands a message over, and wakes the manager. */
  post(message: ToManager): void;
  /** The next message, without the event loop, or undefined. Others go to the listener. */
  take(): FromManager | undefined;
  /** The thread as requests name it. */
  readonly thread: number;
  /** Counts how often the manager has raised the client. */
  readonly raised: number;
  /** Stops the thread until the manager has raised it since then; false when the time is over. */
  wait(raised: number, limitMs: number): boolean;
  /** Whether the event loop goes on for the sake of what may come. */
  keepLoop(on: boolean): void;
  close(): void;
}
