/**
 * A thread that only watches the manager. A thread of the application that sits in a fault hears of
 * nothing, so when the manager ends in any way but a close, or stops going round, the sentinel says
 * so and ends the process: no thread hangs, and none goes on with a page that was not filled.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { endProcess } from '../../linux/processes/kill.js';
import { threadState } from '../../linux/threads/thread-state.js';
import { Control, SpaceState } from '../protocol/control.js';
import { count, type ToSentinel } from '../protocol/output.js';
import type { SentinelData } from '../protocol/space.js';
import { endStart } from '../protocol/starting.js';
import { StallDetector } from './stall-detector.js';
import { StandardError } from './standard-error.js';

const TICK_MS = 500;
const HEARTBEAT_LIMIT_MS = 10_000;
/** After how many ticks a manager that has ended without a word is believed to have. */
const SILENT_TICKS = 2;
/** How long the end of the process, or of a space, waits for its message to be written. */
const LAST_WORDS_MS = 5000;
const LEFT_WORDS_MS = 500;

const {
  manager,
  heartbeatLimitMs: limitMs = HEARTBEAT_LIMIT_MS,
  start,
  ...shared
} = workerData as SentinelData;
const control = new Int32Array(shared.control);
const standardError = new StandardError(control);

/** Whether the space is up. Before, no thread waits in a fault, and the opener hears. */
let isUp = false;
/** What the manager has said of its end. */
let end: { readonly exitCode: number; readonly problem: string } | null = null;
manager.on('message', (message: ToSentinel) => {
  if ('say' in message) standardError.write(message.say);
  else if ('isUp' in message) isUp = true;
  else end = message;
});

const stalls = new StallDetector(TICK_MS);
let watch = setInterval(() => {
  const beat = Atomics.load(control, Control.Heartbeat);
  const still = stalls.look(beat, threadState(Atomics.load(control, Control.ManagerThread)));
  if (Atomics.load(control, Control.State) !== SpaceState.Running) stalls.forgive();
  else if (still >= limitMs) fail(`has not moved for ${limitMs / 1000} s`);
  else if (still > limitMs / 2) standardError.prepare();
}, TICK_MS);

manager.on('close', () => {
  clearInterval(watch);
  if (Atomics.load(control, Control.State) === SpaceState.Closed) {
    // The manager is not needed any more, but must not fail in silence.
    if (end !== null && end.problem !== '')
      tell(`failed while the space was being closed: ${end.problem}.`);
    standardError.end(LEFT_WORDS_MS);
  } else if (!isUp) standardError.end(LEFT_WORDS_MS);
  else if (end !== null)
    fail(end.problem === '' ? `ended with code ${end.exitCode}` : `ended: ${end.problem}`);
  else endInSilence();
});

/**
 * A thread says nothing of its end where its heap is full, and where it ends with the thread that
 * started it. With that one the sentinel ends, too, at once or a moment later.
 */
function endInSilence(): void {
  let ticks = 0;
  watch = setInterval(() => {
    if (++ticks === SILENT_TICKS) fail('ended: its heap was full (JavaScript heap out of memory)');
  }, TICK_MS);
}

endStart(start);
parentPort?.postMessage(null);

function tell(what: string, written?: () => void): void {
  count(control);
  standardError.write(`onemem: the memory manager ${what}\n`, written);
}

function fail(what: string): void {
  clearInterval(watch);
  setTimeout(endProcess, LAST_WORDS_MS);
  tell(`${what}. Managed memory cannot be served any more; the process ends.`, endProcess);
}
