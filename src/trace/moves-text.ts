/**
 * The text that a record of moves is: lines of JSON. It may begin while a space is open, and be cut
 * in front.
 */
import type { Entry } from '../core/recording.js';
import { type History, historyOfMoves, type State } from './history.js';

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

/**
 * @param texts parts in their order, of which each may be cut off at its end
 * @param name for errors
 */
export function historyOfText(texts: Iterable<string>, name: string): History {
  const entries: Entry[] = [];
  const timesMs: number[] = [];
  let state: State | null = null;
  let began = 0;
  let time = 0;
  for (const text of texts) {
    let number = 0;
    // After the last line break there is nothing, or a line that was cut off.
    for (const line of text.split('\n').slice(0, -1)) {
      number++;
      if (line.startsWith('{')) {
        checkHeader(line, name);
        continue;
      }
      const entry = parsed(line, name, number);
      if (entry[0] === '@') time = entry[1];
      else if (entry[0] !== '#') {
        entries.push(entry);
        timesMs.push(time - began);
      } else if (state === null) {
        state = entry[1];
        began = time;
      }
    }
  }
  if (state === null)
    throw new Error(
      `${name} does not say where pages were when it began; its first part is missing`,
    );
  return historyOfMoves(state, entries, timesMs, began);
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
