/**
 * The threads that carry out large copies which no thread waits for, where there are CPUs for them: one for what goes to devices, one for what
 * comes to the host.
 */
import { availableParallelism } from 'node:os';
import { type CopySurroundings, CopyThread } from './copy-thread.js';

/** Names the environment variable that has a space copy by threads, or not, whatever the machine has: `on` or `off`. */
export const COPY_THREADS = 'ONEMEM_COPY_THREADS';
/** With no more CPUs than this a program, its devices and the manager have enough to do. */
const CPUS_WITHOUT = 2;

export class CopyThreads {
  /** Null: the manager copies. */
  readonly in: CopyThread | null = null;
  readonly out: CopyThread | null = null;

  constructor(surroundings: CopySurroundings, now: () => number, setting: string | undefined) {
    if (setting !== undefined && setting !== 'on' && setting !== 'off' && setting !== '') {
      throw new RangeError(`${COPY_THREADS} is on or off, not ${setting}`);
    }
    const wanted = setting === 'on' || (setting !== 'off' && availableParallelism() > CPUS_WITHOUT);
    if (!wanted) return;
    this.in = new CopyThread('the thread that copies to devices', surroundings, now);
    this.out = new CopyThread('the thread that copies to the host', surroundings, now);
  }

  get isBusy(): boolean {
    return this.in?.isBusy === true || this.out?.isBusy === true;
  }

  /** Answers the copies that have ended; false when there is none. */
  poll(): boolean {
    if (this.in === null || this.out === null) return false;
    const some = this.in.poll();
    return this.out.poll() || some;
  }

  needsTurn(): boolean {
    return this.in?.needsTurn() === true || this.out?.needsTurn() === true;
  }

  /** Resolves when they have ended. */
  async ended(): Promise<void> {
    await Promise.all([this.in?.ended(), this.out?.ended()]);
  }

  close(): void {
    this.in?.close();
    this.out?.close();
  }
}
