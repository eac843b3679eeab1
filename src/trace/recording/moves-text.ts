/** A record of moves as JSON lines. It may begin late, and be cut in front. */
import type { Entry } from '../../core/recording/recording.js';
import type { State } from './moves.js';
import type { Reader } from './reader.js';

/** Changes with what lines mean. */
const FORMAT = 1;

/** The first line of each part of a record. @param record a name that no other record has */
export function movesHeader(record: string): string {
  return JSON.stringify({ onememMoves: FORMAT, record });
}

type Line = Entry | readonly ['@', number] | readonly ['#', State];

export function isMovesText(text: string): boolean {
  return text.startsWith('{"onememMoves"');
}

/** Reads such a text piece by piece. */
export class MovesText {
  /** A line that has not ended yet. */
  private rest = '';
  private number = 0;
  /** When the first part began; null: it has not come. */
  private beganMs: number | null = null;
  private timeMs = 0;

  /** @param name for errors */
  constructor(
    private readonly reader: Reader,
    private readonly name: string,
  ) {}

  /** A time of the recorder as one of this reading. */
  sinceBegin(timeMs: number): number {
    return timeMs - (this.beganMs ?? timeMs);
  }

  read(text: string): void {
    let from = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', from)) {
      this.line(this.rest + text.slice(from, end));
      this.rest = '';
      from = end + 1;
    }
    this.rest += text.slice(from);
  }

  /** The next text is another part. The last line of this one may have been cut off. */
  partEnds(): void {
    this.rest = '';
    this.number = 0;
  }

  /** Throws if there was no beginning. */
  end(): void {
    if (this.beganMs !== null) return;
    const what = `${this.name} does not say where pages were when it began`;
    throw new Error(`${what}; its first part is missing`);
  }

  private line(line: string): void {
    this.number++;
    if (line.startsWith('{')) {
      checkHeader(line, this.name);
      return;
    }
    const entry = parsed(line, this.name, this.number);
    if (entry[0] === '@') this.timeMs = entry[1];
    else if (entry[0] !== '#') {
      if (this.beganMs !== null) this.reader.read(entry, this.timeMs - this.beganMs);
    } else if (this.beganMs === null) {
      this.beganMs = this.timeMs;
      this.reader.begin(entry[1], this.timeMs);
    }
  }
}

/** @param texts parts in order, each perhaps cut off at its end @param name for errors */
export function readTexts(reader: Reader, texts: Iterable<string>, name: string): void {
  const reading = new MovesText(reader, name);
  for (const text of texts) {
    reading.read(text);
    reading.partEnds();
  }
  reading.end();
}

function parsed(line: string, name: string, number: number): Line {
  try {
    return JSON.parse(line) as Line;
  } catch (cause) {
    throw new Error(`${name}, line ${number}, is no JSON`, { cause });
  }
}

function checkHeader(line: string, name: string): void {
  const { onememMoves: format } = JSON.parse(line) as { onememMoves?: number };
  if (format === FORMAT) return;
  const message = `${name} is a record of moves of format ${format}, and this version of onemem reads ${FORMAT}`;
  throw new Error(`${message}; read it with the version that made it`);
}
