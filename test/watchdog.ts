/** Ends a program that says nothing for too long, with whatever it has started. */
import type { ChildProcess } from 'node:child_process';

export class Watchdog {
  /** Why the program was ended; empty while it was not. */
  reason = '';
  private timer: NodeJS.Timeout | undefined;

  /**
   * @param child must lead a process group of its own (`detached`), so that its children end with
   * it
   */
  constructor(
    private readonly child: ChildProcess,
    private readonly seconds: number,
  ) {
    this.heard();
  }

  heard(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.reason = `nothing happened for ${this.seconds} s`;
      if (this.child.pid !== undefined) process.kill(-this.child.pid, 'SIGKILL');
    }, this.seconds * 1000);
  }

  stop(): void {
    clearTimeout(this.timer);
  }
}
