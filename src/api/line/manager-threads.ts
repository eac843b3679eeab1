/**
 * The two threads of a space: its manager, and the sentinel that watches it. The opener starts
 * both, beside each other, since to start a thread takes as long as all that a manager does before
 * it serves. They have a channel of their own, so that the sentinel hears of the manager's end also
 * while the opener sits in a fault.
 */
import { EventEmitter } from 'node:events';
import { fileURLToPath } from 'node:url';
import { MessageChannel, type Worker, type WorkerOptions } from 'node:worker_threads';
import type { ManagerFiles } from '../../linux/own-files.js';
import { startUnbound } from '../../linux/threads/affinity.js';
import { startThread } from '../../linux/threads/threads.js';
import { lineOf } from '../../pager/protocol/output.js';
import {
  CRASH_HEAP_MIB,
  type ManagerData,
  type ManagerOptions,
  type ManagerReady,
  type SentinelData,
} from '../../pager/protocol/space.js';
import { beginStart, endStart, type Start } from '../../pager/protocol/starting.js';
import { OnememError } from '../values/errors.js';

/** Emits `exit` when both have ended. */
export class ManagerThreads extends EventEmitter<{ exit: [] }> {
  private readonly workers: Worker[] = [];
  private running = 0;
  /** What the manager says when it is up, or has failed to come up. */
  readonly ready: Promise<ManagerReady | Error>;
  /** Null when the sentinel watches, or why it does not. */
  readonly unwatched: Promise<Error | null>;

  constructor(files: ManagerFiles, options: ManagerOptions) {
    super();
    const { port1: sentinel, port2: manager } = new MessageChannel();
    const { control, nodeOptions, heartbeatLimitMs, crash } = options;
    const managerStart = beginStart(control);
    this.ready = this.start<ManagerReady>(files.manager, 'the memory manager', managerStart, {
      workerData: { options, sentinel, start: managerStart } satisfies ManagerData,
      transferList: [sentinel],
      name: 'onemem manager',
      execArgv:
        nodeOptions.length === 0 ? [] : ['--require', fileURLToPath(files.output), ...nodeOptions],
      ...(crash === 'heap' ? { resourceLimits: { maxOldGenerationSizeMb: CRASH_HEAP_MIB } } : {}),
    }).catch((error: Error) => error);
    const sentinelStart = beginStart(control);
    this.unwatched = this.start<null>(
      files.sentinel,
      'the thread that watches the memory manager',
      sentinelStart,
      {
        workerData: {
          control,
          heartbeatLimitMs,
          manager,
          start: sentinelStart,
        } satisfies SentinelData,
        transferList: [manager],
        name: 'onemem sentinel',
        // It runs nothing of the program's; the manager, which does, gets the options that matter.
        execArgv: [],
        // Nor does it print: this process need not load what pipes and terminals take.
        stdout: true,
        stderr: true,
      },
    ).catch((error: Error) => error);
  }

  ref(): void {
    for (const worker of this.workers) worker.ref();
  }

  unref(): void {
    for (const worker of this.workers) worker.unref();
  }

  async terminate(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.terminate()));
  }

  /** Resolves with the first thing that the thread says. */
  private async start<T>(
    file: URL,
    what: string,
    start: Start,
    options: WorkerOptions,
  ): Promise<T> {
    const worker = startCounted(what, start, () => startThread(file, options));
    this.workers.push(worker);
    this.running++;
    let cause: Error | null = null;
    let isUp = false;
    worker.on('error', (error) => {
      cause = error;
    });
    return await new Promise<T>((resolve, reject) => {
      worker.once('message', (message: T) => {
        isUp = true;
        resolve(message);
      });
      worker.once('exit', (code) => {
        endStart(start);
        // That the thread ends later, as all do, is no error.
        if (!isUp) reject(startError(what, code, cause));
        if (--this.running === 0) this.emit('exit');
      });
    });
  }
}

/** A thread that Node does not start tells of no end either. */
function startCounted(what: string, start: Start, worker: () => Worker): Worker {
  try {
    return startUnbound(worker);
  } catch (error) {
    endStart(start);
    const message = `cannot open a space: ${what} did not start: ${(error as Error).message}`;
    throw new OnememError('MANAGER_START', message, {}, { cause: error });
  }
}

function startError(what: string, code: number, cause: Error | null): OnememError {
  const why = cause === null ? ` with code ${code}` : `: ${lineOf(cause)}`;
  const message = `cannot open a space: ${what} ended before it was up${why}`;
  return new OnememError('MANAGER_START', message, {}, cause === null ? {} : { cause });
}
