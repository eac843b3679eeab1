/**
 * Checks that a program makes one after the other, each printed with its time, and the processor
 * time of a process.
 */
import { readFileSync } from 'node:fs';

/**
 * Milliseconds of processor time that a process has used so far, with those of its children that
 * have ended.
 */
export function processorTime(pid: number | 'self' | undefined): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) * 10;
  } catch {
    return 0;
  }
}

/** How scripts/stages.mjs reads what a test took. */
export function timesOf(ms: number, processor: number): string {
  return `(${Math.round(ms)} ms, ${processor} of a processor)`;
}

/** Counts checks, and prints each with its time. */
export class Checks {
  private passed = 0;
  private failed = 0;

  async check(name: string, run: () => unknown): Promise<void> {
    const started = performance.now();
    const used = processorTime('self');
    const times = () => timesOf(performance.now() - started, processorTime('self') - used);
    try {
      await run();
      this.passed++;
      console.log(`ok   ${name} ${times()}`);
    } catch (error) {
      this.failed++;
      const text = error instanceof Error ? error.message : String(error);
      console.log(`FAIL ${name} ${times()}\n${text.trimEnd().replace(/^/gm, '     ')}`);
    }
  }

  get good(): boolean {
    return this.failed === 0;
  }

  /** Prints the counts, and sets the exit code; no check at all is a failure. */
  finish(): void {
    console.log(`${this.passed} passed, ${this.failed} failed`);
    process.exitCode = this.failed > 0 || this.passed === 0 ? 1 : 0;
  }
}
