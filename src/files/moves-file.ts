/**
 * A record of moves in a file, or in two, if it has a limit: when one has half of that, it gets the
 * name `PATH.before`, in place of an older one, and another one begins.
 */
import { existsSync, renameSync } from 'node:fs';
import { LineFile } from './line-file.js';
import { firstLine } from './text-chunks.js';

function pathBefore(path: string): string {
  return `${path}.before`;
}

export class MovesFile {
  private file: LineFile | null = null;
  private written = 0;
  /** Bytes of the file before, if there is one. */
  private before = 0;
  failure: Error | null = null;

  /** @param limitBytes of all lines; null: none @param failed told once why no more fits */
  constructor(
    readonly path: string,
    private readonly limitBytes: number | null,
    private readonly failed: (why: Error) => void,
  ) {}

  /** Where pages are does not count: a large space needs many lines for that. */
  get isFull(): boolean {
    return this.limitBytes !== null && this.failure === null && this.written >= this.limitBytes / 2;
  }

  get bytes(): number {
    return this.before + this.written;
  }

  /** Begins a file. Throws the system's error if it is the first and cannot be made. */
  begin(text: string): void {
    const isFirst = this.file === null;
    try {
      if (this.file !== null) {
        this.file.close();
        if (this.failure !== null) return;
        renameSync(this.path, pathBefore(this.path));
        this.before = this.written;
        this.written = 0;
      }
      this.file = new LineFile(this.path, text, (why) => this.end(why));
    } catch (error) {
      if (isFirst) throw error;
      this.end(error as Error);
    }
  }

  write(lines: string): void {
    if (this.failure !== null) return;
    this.written += lines.length;
    this.file?.write(lines);
  }

  flush(): void {
    this.file?.flush();
  }

  close(): void {
    this.file?.close();
  }

  private end(why: Error): void {
    if (this.failure !== null) return;
    this.failure = why;
    this.failed(why);
  }
}

/** The files of a record, oldest first. The one before is left out if it is of another record. */
export function filesOfMoves(path: string): string[] {
  const before = pathBefore(path);
  // The first line names the record.
  return existsSync(before) && firstLine(before) === firstLine(path) ? [before, path] : [path];
}
