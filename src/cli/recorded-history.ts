/** The history of a recorded run, from its file. */
import { readRecording } from '../files/recording-file.js';
import { loadPolicies } from '../policy/choices.js';
import { type History, historyOf } from '../trace/history.js';
import { CommandError, codeOf, explain } from './failure.js';

export async function readHistory(path: string): Promise<History> {
  let recording: ReturnType<typeof readRecording>;
  try {
    recording = readRecording(path);
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException;
    if (errno === undefined) throw new CommandError('NO_RECORDING', (error as Error).message);
    const what = explain(Object.assign(error as Error, { path }));
    throw new CommandError(codeOf(error), what, [], { cause: error });
  }
  const { entries, timesMs, header } = recording;
  const policies = await loadPolicies(header.policies, (text) => process.stderr.write(text));
  return historyOf(entries, timesMs, policies, header.blocks);
}
