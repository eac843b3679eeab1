/** What happened in a recorded run, from its file. */
import { filesOfMoves } from '../../files/moves-file.js';
import { readRecording } from '../../files/recording-file.js';
import { firstLine, textChunks } from '../../files/text-chunks.js';
import { evictionName, loadPolicies } from '../../policy/choices.js';
import { PictureBuilder } from '../../trace/picture/picture.js';
import { Collector, type History, readPlayed } from '../../trace/recording/history.js';
import { isMovesText, MovesText } from '../../trace/recording/moves-text.js';
import type { Reader } from '../../trace/recording/reader.js';
import { CommandError, fileFailure } from '../terminal/failure.js';

export async function readHistory(path: string): Promise<History> {
  const collector = new Collector();
  await readInto(collector.reader, path);
  return collector.history;
}

/** Also of a run that is longer than memory. */
export async function readPicture(path: string): Promise<PictureBuilder> {
  const builder = new PictureBuilder();
  await readInto(builder.reader, path);
  return builder;
}

export async function readInto(reader: Reader, path: string): Promise<void> {
  try {
    if (isMovesText(firstLine(path))) {
      readMoves(reader, path);
      return;
    }
    const { entries, timesMs, header } = readRecording(path);
    const policies = await loadPolicies(header.policies, (text) => process.stderr.write(text));
    reader.rule = evictionName(header.policies);
    readPlayed(reader, entries, timesMs, policies, header.blocks);
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException;
    if (errno === undefined) throw new CommandError('NO_RECORDING', (error as Error).message);
    throw fileFailure(path, error);
  }
}

function readMoves(reader: Reader, path: string): void {
  const reading = new MovesText(reader, path);
  for (const file of filesOfMoves(path)) {
    for (const text of textChunks(file)) reading.read(text);
    reading.partEnds();
  }
  reading.end();
}
