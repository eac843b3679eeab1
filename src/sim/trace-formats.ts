/**
 * Text formats of published traces: one block number a line (the LIRS traces), Mooncake's JSON
 * lines (the blocks of a request are `hash_ids`), and libCacheSim's CSV (`time,object[,size...]`).
 */
import { type BlockTrace, blockTrace } from './block-trace.js';

export type TraceFormat = 'lines' | 'mooncake' | 'csv';

/** A line of the text cannot be read. */
export class TraceError extends Error {
  constructor(line: number, what: string) {
    super(`line ${line} ${what}`);
  }
}

/** What the first line of data says, or null where it is of none of the formats, or not there. */
export function formatOf(text: string): TraceFormat | null {
  const { value } = dataLines(text).next();
  if (value === undefined) return null;
  const { line: first } = value;
  if (/^\s*\{.*"hash_ids"/.test(first)) return 'mooncake';
  if (/^\s*\d+\s*$/.test(first)) return 'lines';
  if (/^[^,{]+,[^,]+/.test(first)) return 'csv';
  return null;
}

/** Throws a TraceError. Empty lines and lines that begin with `#` or `*` are skipped. */
export function parseTrace(text: string, format: TraceFormat): BlockTrace {
  return blockTrace(keysOf(text, format));
}

function* keysOf(text: string, format: TraceFormat): Iterable<string | number> {
  let isFirst = true;
  for (const { line, number } of dataLines(text)) {
    const mayNameColumns = isFirst;
    isFirst = false;
    if (format === 'lines') {
      const block = Number(line);
      if (!Number.isSafeInteger(block)) throw new TraceError(number, `is no block number: ${line}`);
      yield block;
    } else if (format === 'mooncake') yield* hashIds(line, number);
    else {
      const [time, object] = line.split(',', 2);
      if (object === undefined) throw new TraceError(number, 'has no second column');
      if (mayNameColumns && !Number.isFinite(Number(time))) continue;
      yield object.trim();
    }
  }
}

function hashIds(line: string, number: number): readonly (string | number)[] {
  let request: { hash_ids?: unknown };
  try {
    request = JSON.parse(line) as typeof request;
  } catch {
    throw new TraceError(number, 'is no JSON');
  }
  if (!Array.isArray(request.hash_ids)) throw new TraceError(number, 'has no list hash_ids');
  return request.hash_ids as (string | number)[];
}

interface DataLine {
  readonly line: string;
  /** From 1. */
  readonly number: number;
}

/** Those with data, one by one: a list of all lines of a large trace takes too much memory. */
function* dataLines(text: string): Generator<DataLine, undefined> {
  let number = 0;
  for (let begin = 0; begin < text.length; ) {
    const end = text.indexOf('\n', begin);
    const line = text.slice(begin, end === -1 ? undefined : end);
    begin = end === -1 ? text.length : end + 1;
    number++;
    if (line.trim() !== '' && !/^\s*[#*]/.test(line)) yield { line, number };
  }
}
