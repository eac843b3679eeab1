/**
 * How a process with open spaces ends. Its devices die with it in any case (the kernel sees to that); what needs care is a thread
 * that sits in a fault: nobody will serve it once the manager is told to stop, and Node would wait for the thread for ever.
 */
import { isMainThread } from 'node:worker_threads';
import { notifyEventfd } from '../linux/eventfd.js';
import { exitImmediately } from '../linux/process.js';
import { Control } from '../pager/protocol.js';

interface Open {
  readonly control: Int32Array;
  readonly wakeFd: number;
}

const open = new Set<Open>();
let installed = false;

/** From now on the end of the process tells the manager to stop. */
export function watchExit(space: Open): () => void {
  open.add(space);
  if (!installed && isMainThread) {
    installed = true;
    process.on('exit', onExit);
    // Ours must run after all others, since it may be the last thing that happens at all.
    process.on('newListener', (event, listener) => {
      if (event !== 'exit' || listener === onExit) return;
      queueMicrotask(() => {
        process.off('exit', onExit);
        process.on('exit', onExit);
      });
    });
  }
  return () => open.delete(space);
}

function onExit(code: number): void {
  let threads = 0;
  for (const { control } of open) threads += Atomics.load(control, Control.AttachedThreads);
  // Listeners that were added in the very tick in which the process exits still come after ours. They may touch managed memory,
  // so that the manager has to live on; Node ends it after them.
  const later = process.listeners('exit').slice(process.listeners('exit').indexOf(onExit) + 1);
  if (later.length === 0) stopManagers();
  if (threads === 0) return;
  for (const listener of later) listener.call(process, Number(process.exitCode ?? code));
  stopManagers();
  exitImmediately(Number(process.exitCode ?? code));
}

function stopManagers(): void {
  for (const { control, wakeFd } of open) {
    Atomics.store(control, Control.Stop, 1);
    notifyEventfd(wakeFd);
  }
}
