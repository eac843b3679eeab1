/**
 * Recordings of the core in files: a line of JSON for what the core was made with, one for each entry, and one that says that this is all. A
 * process that is killed, and a disk that gets full, leave a file without the last one, whose last line may be cut off; what is before it
 * can be played all the same.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Entry } from '../core/recording.js';
import type { PolicyChoices } from '../policy/choices.js';

/** Changes with what entries mean. */
const FORMAT = 4;
const BUFFER_CHARACTERS = 256 * 1024;
/** The last line. */
const END = '["."]';

/** What a core was made with. */
export interface RecordingHeader {
  readonly onememRecording: typeof FORMAT;
  readonly blocks: number;
  readonly policies: PolicyChoices;
}

export class RecordingFile {
  private readonly fd: number;
  private text: string;
  /** Nothing is written any more: it was closed, or the file takes no more. */
  private ended = false;

  /**
   * Throws the system's error where the file cannot be made, or takes nothing at all.
   * @param failed told once, why the file takes no more: the recording ends there, and the program goes on
   */
  constructor(
    path: string,
    header: Omit<RecordingHeader, 'onememRecording'>,
    private readonly failed: (why: Error) => void,
  ) {
    this.fd = openSync(path, 'w');
    this.text = `${JSON.stringify({ onememRecording: FORMAT, ...header } satisfies RecordingHeader)}\n`;
    try {
      this.put();
    } catch (error) {
      closeSync(this.fd);
      throw error;
    }
  }

  write(entries: readonly Entry[]): void {
    if (this.ended) return;
    for (const entry of entries) this.text += `${JSON.stringify(entry)}\n`;
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
    if (this.ended) return;
    this.text += `${END}\n`;
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

export interface Recording {
  readonly header: RecordingHeader;
  /** Those of whole events. */
  readonly entries: readonly Entry[];
  /** Whether it goes to the end of what it recorded. */
  readonly complete: boolean;
}

/** Throws an Error that says what is wrong with the file, or the system's. */
export function readRecording(path: string): Recording {
  const [first, ...lines] = readFileSync(path, 'utf8').split('\n');
  let header: Partial<RecordingHeader> | null = null;
  try {
    header = JSON.parse(first) as Partial<RecordingHeader>;
  } catch {
    // It is no recording.
  }
  if (header?.onememRecording === undefined) {
    throw new Error(`${path} is no recording; make one by ONEMEM_RECORD=${path} before a command that opens a space`);
  }
  if (header.onememRecording !== FORMAT) {
    const message = `${path} is a recording of format ${header.onememRecording}, and this is a version of onemem that plays ${FORMAT}`;
    throw new Error(`${message}; play it with the version that made it`);
  }
  // After the last line break there is nothing, or a line that was cut off.
  const whole = lines.slice(0, -1);
  const complete = whole.at(-1) === END;
  if (complete) whole.pop();
  const entries = whole.map((line, index) => {
    try {
      return JSON.parse(line) as Entry;
    } catch (cause) {
      throw new Error(`${path}, line ${index + 2}, is no JSON`, { cause });
    }
  });
  // What was commanded for the last event may have been cut off.
  if (!complete)
    entries.splice(
      Math.max(
        0,
        entries.findLastIndex(([kind]) => kind === '!'),
      ),
    );
  return { header: header as RecordingHeader, entries, complete };
}
