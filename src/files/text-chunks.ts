/** Texts that may be longer than a string. */
import { closeSync, openSync, readSync } from 'node:fs';
import { StringDecoder } from 'node:string_decoder';

const CHUNK_BYTES = 2 ** 20;

export function* textChunks(path: string): Generator<string> {
  const fd = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(CHUNK_BYTES);
    const decoder = new StringDecoder('utf8');
    for (let read = readSync(fd, bytes); read > 0; read = readSync(fd, bytes))
      yield decoder.write(bytes.subarray(0, read));
    yield decoder.end();
  } finally {
    closeSync(fd);
  }
}

export function firstLine(path: string): string {
  for (const text of textChunks(path)) return text.slice(0, text.indexOf('\n'));
  return '';
}
