/**
 * Node.js waits for the engine's compiler before a process ends, and hears nothing of it meanwhile: where the compiler needs memory just then, and asks the thread that waits for
 * a collection of garbage, the process stands still for ever (nodejs/node#54918). Views of managed memory count as memory that the
 * engine should collect, so that this came about in up to two of five programs. While the event loop runs the thread hears of it.
 */
import { isMainThread } from 'node:worker_threads';

/** The compiler is through with what a program has used last. */
const COMPILED_MS = 30;

/** Keeps the event loop of the process running for a moment. Nothing waits for that. */
export function keepLoopForCompiler(): void {
  if (isMainThread) setTimeout(() => undefined, COMPILED_MS);
}
