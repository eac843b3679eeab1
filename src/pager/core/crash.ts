/** Ends the manager on purpose, in each way a mistake could: tests look what follows. */
import type { ManagerOptions } from '../protocol/space.js';

export function crash(how: NonNullable<ManagerOptions['crash']>): void {
  switch (how) {
    case 'throw':
      throw new Error('crashed on purpose');
    case 'exit':
      process.exit(9);
      break;
    case 'heap':
      for (const hoard: number[][] = []; ; ) hoard.push(new Array(10_000).fill(hoard.length));
    case 'sleep':
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
      break;
    case 'hang':
      for (;;);
    // A thread of copies ends, and with it the manager.
    case 'copies':
      break;
  }
}
