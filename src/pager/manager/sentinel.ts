/**
 * A thread that starts the manager and then only watches it. A thread of the application that sits in a fault hears of nothing, so
 * when the manager ends in any way but a close, or stops going round, the sentinel says so and ends the process: nobody hangs, and
 * nobody goes on with a page that was not filled.
 */
import { parentPort, Worker, workerData } from 'node:worker_threads';
import { threadState } from '../../linux/thread-state.js';
import { CRASH_HEAP_MIB } from '../core/crash.js';
import { Control, SpaceState } from '../protocol/control.js';
import { count, isSaid, type Said } from '../protocol/output.js';
import type { ManagerOptions, ManagerReady } from '../protocol/space.js';
import type { WireError } from '../protocol/wire.js';
import { Messages } from './messages.js';
import { Stillness } from './stillness.js';

const TICK_MS = 500;
const HEARTBEAT_LIMIT_MS = 10_000;
/** How long the end of the process waits for its message to be written, and how long the end of a space does. */
const LAST_WORDS_MS = 5000;
const LEFT_WORDS_MS = 500;

const options = workerData as ManagerOptions;
const control = new Int32Array(options.control);
const messages = new Messages(control);
const limitMs = options.heartbeatLimitMs ?? HEARTBEAT_LIMIT_MS;

const manager = new Worker(new URL('./manager.cjs', import.meta.url), {
  workerData: options,
  name: 'onemem manager',
  stdout: true,
  execArgv: [...options.nodeOptions],
  ...(options.crash === 'heap' ? { resourceLimits: { maxOldGenerationSizeMb: CRASH_HEAP_MIB } } : {}),
});
/** Whether the space is up. Before that no thread knows of it, so that none can wait in a fault, and the opener is told of a failure. */
let isUp = false;
manager.on('message', (message: ManagerReady | Said) => {
  if (isSaid(message)) {
    messages.write(message.say);
    return;
  }
  isUp = true;
  parentPort?.postMessage(message);
});
// Drivers, notifiers and the kernels of simulated devices run there. Standard output is the program's alone.
manager.stdout.on('data', (text: Buffer) => process.stderr.write(text));

const stillness = new Stillness(TICK_MS);
const watch = setInterval(() => {
  const beat = Atomics.load(control, Control.Heartbeat);
  const still = stillness.look(beat, threadState(Atomics.load(control, Control.ManagerThread)));
  if (Atomics.load(control, Control.State) !== SpaceState.Running) stillness.forgive();
  else if (still >= limitMs) endProcess(`has not moved for ${limitMs / 1000} s`);
  else if (still > limitMs / 2) messages.prepare();
}, TICK_MS);

let problem = '';
manager.on('error', (error) => {
  // The message and where it came from, on one line, so that a log shows it as one event.
  const [place = ''] = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  problem = `${error.name}: ${error.message}`.replace(/\s*\n\s*/g, ' ') + place.replace(/^\s+at /, ' at ');
});
manager.on('exit', (code) => {
  clearInterval(watch);
  if (Atomics.load(control, Control.State) === SpaceState.Closed) {
    // Nobody needs it any more, but it must not fail in silence.
    if (problem !== '') tell(`failed while the space was being closed: ${problem}.`);
    messages.end(LEFT_WORDS_MS);
    return;
  }
  const why = problem === '' ? ` with code ${code}` : `: ${problem}`;
  if (isUp) {
    endProcess(`ended${why}`);
    return;
  }
  messages.end(LEFT_WORDS_MS);
  const message = `cannot open a space: the memory manager ended before it was up${why}`;
  const error: WireError = { name: 'OnememError', code: 'MANAGER_START', message, details: {} };
  parentPort?.postMessage({ error } satisfies ManagerReady);
});

function tell(what: string, written?: () => void): void {
  count(control);
  messages.write(`onemem: the memory manager ${what}\n`, written);
}

function endProcess(what: string): void {
  clearInterval(watch);
  // Not by a system call of ours: this thread comes and goes with each space, and the foreign function interface leaves memory
  // behind in each thread that used it.
  const end = (): void => void process.kill(process.pid, 'SIGKILL');
  setTimeout(end, LAST_WORDS_MS);
  tell(`${what}. Managed memory cannot be served any more; the process ends.`, end);
}
