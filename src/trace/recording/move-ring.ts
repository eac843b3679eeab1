/** The last moves, in memory: as many bytes of lines as it may keep. */
import type { MoveSink } from './move-recorder.js';

export class MoveRing implements MoveSink {
  private before: string[] = [];
  private current: string[] = [];
  private bytes = 0;

  constructor(private readonly limitBytes: number) {}

  /** One half is dropped when the other is full. Where all pages were does not count. */
  get isFull(): boolean {
    return this.bytes >= this.limitBytes / 2;
  }

  /** Parts, oldest first. */
  get texts(): string[] {
    return [this.before.join(''), this.current.join('')].filter((text) => text !== '');
  }

  begin(text: string): void {
    this.before = this.current;
    this.current = [text];
    this.bytes = 0;
  }

  write(lines: string): void {
    this.current.push(lines);
    this.bytes += lines.length;
  }
}
