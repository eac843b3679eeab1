/** Kernels that need imports to end their thread, or to keep it from ending. */
import { closeSync, readSync } from 'node:fs';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

/** The thread has nothing left to wait for, and so it ends. */
export function closePorts(): void {
  parentPort?.close();
  (workerData as { port: MessagePort }).port.close();
}

/** In a system call that nothing interrupts: `fd` is a pipe that nobody writes. */
export function readForEver({ fd }: { fd: number }): void {
  readSync(fd, Buffer.alloc(1));
}

/** Nothing that the device opened is safe from a kernel, not even what it answers the manager by. */
export function closeDescriptors(): void {
  for (let fd = 3; fd < 64; fd++) {
    try {
      closeSync(fd);
    } catch {
      // It is not open.
    }
  }
}
