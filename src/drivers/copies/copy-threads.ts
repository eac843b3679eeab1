/**
 * The threads that share large copies which no thread waits for with the manager, where there are
 * CPUs for them: one for what goes to devices, one for what comes to the host.
 */
import { availableParallelism } from 'node:os';
import { SpareCpu } from '../../cpus/spare-cpu.js';
import { isUsed } from '../../cpus/uses.js';
import { RunningThreads } from '../../linux/threads/running-threads.js';
import { type CopySurroundings, CopyThread } from './copy-thread.js';

/** The environment variable for copies by threads: `on`, `off`, or `auto`, the default. */
export const COPY_THREADS = 'ONEMEM_COPY_THREADS';
/**
 * With one CPU nothing is gained. With no more than two a program, its devices and the manager may
 * have enough to do: it is looked whether they have.
 */
const CPUS_WITHOUT = 1;
const CPUS_WHERE_LEFT = 2;

export class CopyThreads {
  /** Null: the manager copies. */
  readonly in: CopyThread | null = null;
  readonly out: CopyThread | null = null;
  private readonly running = new RunningThreads();

  constructor(surroundings: CopySurroundings, now: () => number, setting: string | undefined) {
    if (!['on', 'off', 'auto', '', undefined].includes(setting)) {
      throw new RangeError(`${COPY_THREADS} is on, off or auto, not ${setting}`);
    }
    const cpus = availableParallelism();
    if (setting === 'off' || (setting !== 'on' && cpus <= CPUS_WITHOUT)) return;
    const spare =
      setting === 'on' || cpus > CPUS_WHERE_LEFT || !isUsed('spare-cpu')
        ? null
        : new SpareCpu(cpus, () => this.running.count());
    const hasCpu = spare === null ? () => true : () => spare.isLeft(now(), this.working);
    this.in = new CopyThread('the thread that copies to devices', surroundings, now, hasCpu);
    this.out = new CopyThread('the thread that copies to the host', surroundings, now, hasCpu);
  }

  get isBusy(): boolean {
    return this.working > 0;
  }

  /** Whether copies have ended that have not been answered. */
  get haveEnds(): boolean {
    return this.in?.haveEnds === true || this.out?.haveEnds === true;
  }

  /** Answers the copies that have ended. */
  step(): number {
    if (this.in === null || this.out === null) return 0;
    const some = this.in.poll();
    return this.out.poll() || some ? 1 : 0;
  }

  /** Copies that no thread has begun. */
  get left(): number {
    return (this.in?.left ?? 0) + (this.out?.left ?? 0);
  }

  /** Makes one of the copies that no thread has begun; false when there is none. */
  help(): boolean {
    return this.in?.help() === true || this.out?.help() === true;
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
    this.running.close();
  }

  private get working(): number {
    return (this.in?.isBusy === true ? 1 : 0) + (this.out?.isBusy === true ? 1 : 0);
  }
}
