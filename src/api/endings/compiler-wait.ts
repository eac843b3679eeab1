/**
 * Node.js waits for the engine's compiler before a process ends, and hears nothing of it meanwhile:
 * where the compiler needs memory just then, and asks the thread that waits for a collection of
 * garbage, the process stands still for ever (nodejs/node#54918). Views of managed memory count as
 * memory that the engine should collect, so that this came about in up to two of five programs.
 * While the event loop runs the thread hears of it.
 */
import { isMainThread } from 'node:worker_threads';
import { threadId, threadsOf } from '../../linux/processes/process.js';
import { threadState } from '../../linux/threads/thread-state.js';

/** The compiler is through when no other thread worked at so many looks in a row. */
const QUIET_LOOKS = 3;
const LOOK_MS = 10;
/** Threads of the program may compute for long; they keep it from ending by themselves. */
const MOST_LOOKS = 200;

/** Keeps the event loop running until the compiler has nothing to do. Nothing waits for that. */
export function keepLoopForCompiler(): void {
  if (isMainThread) setTimeout(look, LOOK_MS, 0, MOST_LOOKS);
}

function look(quiet: number, left: number): void {
  const now = isAnotherBusy() ? 0 : quiet + 1;
  if (now < QUIET_LOOKS && left > 0) setTimeout(look, LOOK_MS, now, left - 1);
}

/** Whether another thread runs, or waits for a CPU or memory, or that cannot be told. */
function isAnotherBusy(): boolean {
  const own = threadId();
  try {
    for (const thread of threadsOf('self')) {
      if (thread === own) continue;
      const doing = threadState(thread)?.doing;
      if (doing === 'running' || doing === 'waiting') return true;
    }
    return false;
  } catch {
    return true;
  }
}
