/**
 * Recordings of the core in files: a line of JSON for what the core was made with, then one for each entry. A process that is killed
 * leaves a file whose last line may be cut off; what is before it can be played all the same.
 */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import type { Entry } from '../core/recording.js';
import type { PolicyChoices } from '../policy/choices.js';

/** Changes with what entries mean. */
const FORMAT = 3;
const BUFFER_CHARACTERS = 256 * 1024;

/** What a core was made with. */
export interface RecordingHeader {
  readonly onememRecording: typeof FORMAT;
  readonly blocks: number;
  readonly policies: PolicyChoices;
}

export class RecordingFile {
  private readonly fd: number;
  private text = '';

  constructor(path: string, header: Omit<RecordingHeader, 'onememRecording'>) {
    this.fd = openSync(path, 'w');
    this.text = `${JSON.stringify({ onememRecording: FORMAT, ...header } satisfies RecordingHeader)}\n`;
    this.flush();
  }

  write(entries: readonly Entry[]): void {
    for (const entry of entries) this.text += `${JSON.stringify(entry)}\n`;
    if (this.text.length > BUFFER_CHARACTERS) this.flush();
  }

  /** Hands to the system what it does not have yet. */
  flush(): void {
    const { text } = this;
    if (text === '') return;
    this.text = '';
    const bytes = Buffer.from(text);
    for (let done = 0; done < bytes.length; ) done += writeSync(this.fd, bytes, done);
  }

  close(): void {
    this.flush();
    closeSync(this.fd);
  }
}

/** Throws an Error that says what is wrong with the file. */
export function readRecording(path: string): { readonly header: RecordingHeader; readonly entries: readonly Entry[] } {
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
  const entries = lines.slice(0, -1).map((line, index) => {
    try {
      return JSON.parse(line) as Entry;
    } catch (cause) {
      throw new Error(`${path}, line ${index + 2}, is no JSON`, { cause });
    }
  });
  return { header: header as RecordingHeader, entries };
}
