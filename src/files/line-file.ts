/** A file that gets lines while a program runs. If it takes no more, the program goes on. */
import { closeSync, openSync, writeSync } from 'node:fs';

const BUFFER_CHARACTERS = 256 * 1024;

export class LineFile {
  private readonly fd: number;
  private text: string;
  private ended = false;

  /**
   * Throws the system's error where the file cannot be made, or takes nothing at all.
   * @param failed told once, why the file takes no more
   */
  constructor(
    path: string,
    first: string,
    private readonly failed: (why: Error) => void,
  ) {
    this.fd = openSync(path, 'w');
    this.text = first;
    try {
      this.put();
    } catch (error) {
      closeSync(this.fd);
      throw error;
    }
  }

  write(text: string): void {
    if (this.ended) return;
    this.text += text;
    if (this.text.length > BUFFER_CHARACTERS) this.flush();
  }

  /** Hands to the system what it does not have yet. */
  flush(): void {
    if (this.ended || this.text === '') return;
    try {
      this.put();
    } catch (error) {
      this.end(error as Error);
    }
  }

  close(): void {
    this.flush();
    if (!this.ended) this.end(null);
  }

  private put(): void {
    const bytes = Buffer.from(this.text);
    this.text = '';
    for (let done = 0; done < bytes.length; ) done += writeSync(this.fd, bytes, done);
  }

  private end(why: Error | null): void {
    this.ended = true;
    let problem = why;
    try {
      closeSync(this.fd);
    } catch (error) {
      // Some file systems say only now that what was written has no room.
      problem ??= error as Error;
    }
    if (problem !== null) this.failed(problem);
  }
}
