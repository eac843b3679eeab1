/** Kernels that need imports to end their thread, or to keep it from ending. */
import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';

/** The thread has nothing left to wait for, and so it ends. */
export function closePorts(): void {
  parentPort?.close();
  (workerData as { port: MessagePort }).port.close();
}

/** Opens a pipe both for reading and for writing, so that to read it neither fails nor ends. */
export function openPipe({ x }: { x: Int32Array }): void {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-pipe-'));
  const path = join(folder, 'pipe');
  execFileSync('mkfifo', [path]);
  x[0] = openSync(path, 'r+');
  rmSync(folder, { recursive: true });
}

/** In a system call that nothing interrupts: `fd` is a pipe that is never written. */
export function readForEver({ fd }: { fd: number }): void {
  readSync(fd, Buffer.alloc(1));
}

/**
 * Nothing that the device opened is safe from a kernel, not even what it answers the manager by.
 */
export function closeDescriptors(): void {
  for (let fd = 3; fd < 64; fd++) {
    try {
      closeSync(fd);
    } catch {
      // It is not open.
    }
  }
}
