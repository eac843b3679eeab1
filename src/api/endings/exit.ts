/**
 * How a process ends that has open spaces, or is attached to those of others. The kernel ends its
 * devices with it. Its threads need care: Node stops them where they are, which aborts the process
 * in the middle of some native calls, so that these are let end first. And one may sit in a fault,
 * which is not served once the manager is told to stop, so that Node would wait for the thread for
 * ever. So a process with other threads ends at once, after its exit listeners, and says itself
 * what Node would have said of an error by then.
 */
import { writeSync } from 'node:fs';
import { inspect } from 'node:util';
import { isMainThread } from 'node:worker_threads';
import { goOn, runDown } from '../../linux/base/rundown.js';
import { exitImmediately } from '../../linux/processes/process.js';
import { notifyEventfd } from '../../linux/threads/eventfd.js';
import { Control } from '../../pager/protocol/control.js';
import { awaitMessages } from '../../pager/protocol/output.js';
import { listedThreads } from '../line/views.js';

interface Open {
  readonly control: Int32Array;
  readonly wakeFd: number;
  /** Closes it at once, and waits for that, for so many milliseconds at most. */
  readonly closeWithThread: (limitMs: number) => void;
}

/** The parts of `process` that its types leave out, or describe by a list of overloads. */
interface Ending {
  emit(event: string, ...args: unknown[]): boolean;
  reallyExit(code?: number): void;
}

const open = new Set<Open>();
let installed = false;
/** An error that the program does not handle, and that therefore ends the process. */
let fatal: { readonly error: unknown } | null = null;
/** What Node gives a process whose handler of uncaught errors throws. */
const HANDLER_FAILED = 7;

/** How long the end of the process waits for messages of the manager to be written. */
const MESSAGES_MS = 2000;
/** How long it waits for native calls: microseconds, or milliseconds where they are loaded. */
const CALLS_MS = 2000;
/** How long the end of a worker thread waits for each of its spaces to be closed. */
const CLOSE_MS = 2000;

/** The end of the process stops the manager, that of a worker thread closes the space. */
export function watchExit(space: Open): () => void {
  guardThreads();
  open.add(space);
  return () => open.delete(space);
}

/** Before this thread starts others: its end lets them finish the native calls that they are in. */
export function guardThreads(): void {
  // The program may have told its exit listeners of an end that did not come.
  goOn();
  if (installed) return;
  installed = true;
  if (isMainThread) install(process as unknown as Ending);
  else installInWorker(process as unknown as Ending);
}

/**
 * An exit listener would not do: one that throws keeps those behind it from being called, one that
 * is added in the tick in which the process exits comes after ours, and `process.reallyExit()`, as
 * some packages call it, asks none. Another module that wraps the two functions, as the package
 * signal-exit does, calls ours, or is called by it.
 */
function install(target: Ending): void {
  const { emit, reallyExit } = target;
  target.emit = (event, ...args) => {
    const tell = (): boolean => Reflect.apply(emit, target, [event, ...args]);
    if (event === 'exit') return exiting(tell, Number(args[0]));
    return event === 'uncaughtException' ? uncaught(tell, args[0]) : tell();
  };
  target.reallyExit = (code) => {
    if (!stopThreads()) endNow(Number(code ?? process.exitCode ?? 0), fatal);
    Reflect.apply(reallyExit, target, [code]);
  };
}

/** A worker ends, the process goes on. Exit listeners do not hear of one that is terminated. */
function installInWorker(target: Ending): void {
  const { emit } = target;
  target.emit = (event, ...args) => {
    const heard: boolean = Reflect.apply(emit, target, [event, ...args]);
    if (event === 'exit') closeAll();
    return heard;
  };
}

/** Threads that are attached to a space cannot be served any more: a witness ends the process. */
function closeAll(): void {
  for (const space of open) {
    if (listedThreads(space.control) === 0) space.closeWithThread(CLOSE_MS);
  }
  runDown(CALLS_MS);
}

/** Listeners may touch managed memory: the manager has to live until the last one is through. */
function exiting(tell: () => boolean, code: number): boolean {
  let failure: { readonly error: unknown } | null = null;
  let heard = true;
  try {
    heard = tell();
  } catch (error) {
    failure = { error };
  }
  if (!stopThreads())
    endNow(Number(process.exitCode ?? (failure === null ? code : 1)), fatal ?? failure);
  if (failure !== null) throw failure.error;
  return heard;
}

function uncaught(tell: () => boolean, error: unknown): boolean {
  let handled: boolean;
  try {
    handled = tell();
  } catch (failure) {
    // Node ends the process without asking exit listeners.
    if (!stopThreads()) endNow(HANDLER_FAILED, { error: failure });
    throw failure;
  }
  if (!handled) fatal = { error };
  return handled;
}

/** Threads besides those that opened spaces; any of them may sit in a fault. */
function threads(): number {
  let count = 0;
  for (const { control } of open) count += Atomics.load(control, Control.AttachedThreads);
  return count;
}

function endNow(code: number, failure: { readonly error: unknown } | null): never {
  if (failure !== null) {
    const { error } = failure;
    const text = error instanceof Error ? inspect(error) : `Uncaught:\n${inspect(error)}`;
    try {
      writeSync(2, `${text}\n\nNode.js ${process.version}\n`);
    } catch {
      // Standard error may have no reader; the process ends all the same.
    }
  }
  exitImmediately(code);
}

/** Has the managers stop. False: Node must not be left to end the threads of the process. */
function stopThreads(): boolean {
  for (const { control, wakeFd } of open) {
    // What the manager has said is written by a thread, which ends with the process.
    awaitMessages(control, MESSAGES_MS);
    Atomics.store(control, Control.Stop, 1);
    notifyEventfd(wakeFd);
  }
  return threads() === 0 && runDown(CALLS_MS);
}
