/**
 * Recordings of the core in files. The first line says what the core was made with; each further
 * line is an entry, or a time (`["@", milliseconds since the recording began]`) for the entries
 * behind it; the last line says that this is all. A process that is killed, and a disk that gets
 * full, leave a file without the last line. What is before it can be played all the same.
 */
import { readFileSync } from 'node:fs';
import type { Entry } from '../core/recording/recording.js';
import type { PolicyChoices } from '../policy/choices.js';
import { LineFile } from './line-file.js';

/** Changes with what entries mean. */
const FORMAT = 7;
/** Entries closer together than this share a time, in milliseconds. */
const TIME_STEP_MS = 0.02;
/** The last line. */
const END = '["."]';

/** What a core was made with. */
export interface RecordingHeader {
  readonly onememRecording: typeof FORMAT;
  readonly blocks: number;
  readonly policies: PolicyChoices;
}

export class RecordingFile {
  private readonly file: LineFile;
  private readonly began = performance.now();
  /** The last time that was written. */
  private time = 0;

  /**
   * Throws the system's error where the file cannot be made, or takes nothing at all.
   * @param failed told once, why the file takes no more: the recording ends there, and the program
   * goes on
   */
  constructor(
    path: string,
    header: Omit<RecordingHeader, 'onememRecording'>,
    failed: (why: Error) => void,
  ) {
    const first = JSON.stringify({ onememRecording: FORMAT, ...header } satisfies RecordingHeader);
    this.file = new LineFile(path, `${first}\n`, failed);
  }

  write(entries: readonly Entry[]): void {
    let text = '';
    const time = performance.now() - this.began;
    if (time - this.time >= TIME_STEP_MS) {
      this.time = time;
      text += `["@",${time.toFixed(3)}]\n`;
    }
    for (const entry of entries) text += `${JSON.stringify(entry)}\n`;
    this.file.write(text);
  }

  /** Hands to the system what it does not have yet. */
  flush(): void {
    this.file.flush();
  }

  close(): void {
    this.file.write(`${END}\n`);
    this.file.close();
  }
}

export interface Recording {
  readonly header: RecordingHeader;
  /** Those of whole events. */
  readonly entries: readonly Entry[];
  /** When each entry was written, in milliseconds since the recording began. */
  readonly timesMs: readonly number[];
  /** Lines of the file that hold each of them, from 1. */
  readonly lines: readonly number[];
  /** Whether it goes to the end of what it recorded. */
  readonly complete: boolean;
}

/** Throws an Error that says what is wrong with the file, or the system's. */
export function readRecording(path: string): Recording {
  const [first, ...rest] = readFileSync(path, 'utf8').split('\n');
  const header = headerOf(first);
  if ('onememMoves' in header)
    throw new Error(
      `${path} is by space.record() and has moves only; to play a run again, record it by ONEMEM_RECORD`,
    );
  if (header.onememRecording === undefined) {
    throw new Error(
      `${path} is no recording; make one by ONEMEM_RECORD=FILE before a command that opens a space`,
    );
  }
  if (header.onememRecording !== FORMAT) {
    const message = `${path} is a recording of format ${header.onememRecording}, and this is a version of onemem that plays ${FORMAT}`;
    throw new Error(`${message}; play it with the version that made it`);
  }
  // After the last line break there is nothing, or a line that was cut off.
  const whole = rest.slice(0, -1);
  const complete = whole.at(-1) === END;
  if (complete) whole.pop();
  const entries: Entry[] = [];
  const timesMs: number[] = [];
  const lines: number[] = [];
  let time = 0;
  for (const [index, line] of whole.entries()) {
    const entry = parsed(path, index + 2, line);
    if (entry[0] === '@') time = entry[1];
    else {
      entries.push(entry);
      timesMs.push(time);
      lines.push(index + 2);
    }
  }
  // What was commanded for the last event may have been cut off.
  const end = complete
    ? entries.length
    : Math.max(
        0,
        entries.findLastIndex(([kind]) => kind === '!'),
      );
  const parts = [entries, timesMs, lines] as const;
  for (const part of parts) part.splice(end);
  return { header: header as RecordingHeader, entries, timesMs, lines, complete };
}

/** Without properties where the line is no object of JSON: it begins no recording. */
function headerOf(line: string): Partial<RecordingHeader> {
  try {
    return Object(JSON.parse(line)) as Partial<RecordingHeader>;
  } catch {
    return {};
  }
}

function parsed(path: string, number: number, line: string): Entry | readonly ['@', number] {
  try {
    return JSON.parse(line) as Entry | readonly ['@', number];
  } catch (cause) {
    throw new Error(`${path}, line ${number}, is no JSON`, { cause });
  }
}
