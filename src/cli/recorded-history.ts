/** The history of a recorded run, from its file. */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import { readMoves } from '../files/moves-file.js';
import { readRecording } from '../files/recording-file.js';
import { loadPolicies } from '../policy/choices.js';
import { type History, historyOf } from '../trace/history.js';
import { historyOfText, isMovesText } from '../trace/moves-text.js';
import { CommandError, codeOf, explain } from './failure.js';

export async function readHistory(path: string): Promise<History> {
  try {
    if (beginsAsMoves(path))
      return historyOfText(readMoves(path, readFileSync(path, 'utf8')), path);
    const { entries, timesMs, header } = readRecording(path);
    const policies = await loadPolicies(header.policies, (text) => process.stderr.write(text));
    return historyOf(entries, timesMs, policies, header.blocks);
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException;
    if (errno === undefined) throw new CommandError('NO_RECORDING', (error as Error).message);
    const what = explain(Object.assign(error as Error, { path }));
    throw new CommandError(codeOf(error), what, [], { cause: error });
  }
}

function beginsAsMoves(path: string): boolean {
  const fd = openSync(path, 'r');
  try {
    const start = Buffer.alloc(64);
    return isMovesText(start.toString('utf8', 0, readSync(fd, start)));
  } finally {
    closeSync(fd);
  }
}
