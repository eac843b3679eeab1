/** Moves since they were last asked for, up to a limit; later it begins anew. */
import type { MoveSink } from './move-recorder.js';

export class MoveTail implements MoveSink {
  private text: string[] = [];
  private length = 0;
  private isLost = false;
  /** What was lost has been told. */
  private isAnew = false;

  constructor(private readonly limit: number) {}

  get isFull(): boolean {
    return this.isAnew;
  }

  begin(text: string): void {
    this.text = [text];
    // Where pages are does not count.
    this.length = 0;
    this.isLost = false;
    this.isAnew = false;
  }

  write(lines: string): void {
    if (this.isLost) return;
    this.text.push(lines);
    this.length += lines.length;
    if (this.length <= this.limit) return;
    this.text = [];
    this.isLost = true;
  }

  /** Null: some of it was lost, and what comes next begins anew. */
  take(): string | null {
    if (this.isLost) {
      this.isAnew = true;
      return null;
    }
    const text = this.text.join('');
    this.text = [];
    this.length = 0;
    return text;
  }
}
