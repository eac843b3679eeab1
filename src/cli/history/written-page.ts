/** A page or another result of a recording, written to a file. */
import { writeFileSync } from 'node:fs';
import { CommandError, codeOf, explain } from '../terminal/failure.js';
import { formatBytes } from '../terminal/format.js';
import { print } from '../terminal/output.js';

/** @param use what the user can do with it */
export function writePage(file: string, text: string, use: string): void {
  try {
    writeFileSync(file, text);
  } catch (error) {
    throw new CommandError(codeOf(error), explain(error), { cause: error });
  }
  print(`${file}: ${formatBytes(text.length)}; ${use}`);
}
