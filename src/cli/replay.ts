/** `onemem replay`: plays a recorded run of the memory manager again, event by event. */
import { EVENTS } from '../core/events.js';
import type { Entry } from '../core/recording.js';
import { replay as play, ReplayError } from '../core/replay.js';
import { type Recording, readRecording } from '../files/recording-file.js';
import { loadPolicies } from '../policy/choices.js';
import { CommandError, codeOf, explain, UsageError } from './failure.js';
import { parseOptions } from './options.js';
import { print } from './output.js';

export const REPLAY_SUMMARY = 'play a recorded run of the memory manager again, for a bug report';

export const REPLAY_HELP = `onemem replay FILE [--events] [--json]: ${REPLAY_SUMMARY}

A program that runs with ONEMEM_RECORD=FILE writes down all that its first space's manager was told (faults, requests, answers)
and every command that it gave; a second space goes to FILE.2, and so on. No content of arrays is in it, only page numbers and
names of arrays and devices. The replay tells a fresh manager the same, without a device and without page faults: it must
command the same. A recording that is incomplete, since its program was killed or its disk was full, is played as far as it goes.

  --events     print each entry: ! an event, > a command and its answer, = an answer to an event
  --json       what was played as JSON, for programs
  -h, --help

Ends with 1 where the run goes another way than it was recorded: a mistake of onemem's, please report it with the file.

Examples
  onemem replay flights.rec          after: ONEMEM_RECORD=flights.rec onemem demo
  onemem replay flights.rec --events | grep '"fault"' | head`;

export async function replay(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseOptions('replay', args, {
    events: { type: 'boolean' },
    json: { type: 'boolean' },
  });
  const [path, ...more] = positionals;
  if (path === undefined || more.length > 0) {
    throw new UsageError(
      'onemem replay takes one file, which a program with ONEMEM_RECORD=FILE made; see: onemem replay --help',
    );
  }
  const { header, entries, complete } = read(path);
  const show = values.events ? (entry: Entry) => print(JSON.stringify(entry)) : undefined;
  const policies = await loadPolicies(header.policies, (text) => process.stderr.write(text));
  const counts = new Map<string, number>();
  try {
    const { events, commands, manager } = play(entries, policies, header.blocks, (entry) => {
      if (entry[0] === '!') counts.set(entry[1], (counts.get(entry[1]) ?? 0) + 1);
      show?.(entry);
    });
    manager.checkInvariants();
    const kinds = EVENTS.flatMap((name) => (counts.has(name) ? [[name, counts.get(name) as number] as const] : []));
    if (values.json) print(JSON.stringify({ events, commands, complete, kinds: Object.fromEntries(kinds) }));
    else {
      const most = kinds.sort((a, b) => b[1] - a[1]).slice(0, 5);
      const shown = most.map(([name, count]) => `${count} ${name}`).join(', ');
      const names = events === 0 ? '' : ` (most of them: ${shown})`;
      print(
        `${events} events${names} and ${commands} commands: the same as recorded${complete ? '' : ', as far as that goes'}`,
      );
      if (!complete) print(`The recording is incomplete: ${missing(entries.length)}`);
    }
    return 0;
  } catch (error) {
    if (error instanceof ReplayError) {
      throw new CommandError('REPLAY_DIFFERS', `${path}, line ${error.entry + 2}: ${error.message}`, [], {
        cause: error,
      });
    }
    throw error;
  }
}

function read(path: string): Recording {
  try {
    return readRecording(path);
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException;
    if (errno === undefined) throw error;
    // The error of a folder has no path.
    const what = explain(Object.assign(error as Error, { path }));
    const expected = 'a recording is a file that a program with ONEMEM_RECORD=FILE made';
    throw new CommandError(codeOf(error), `${what}; ${expected}`, [], { cause: error });
  }
}

function missing(entries: number): string {
  const why = 'its program was killed, did not close its space, or could not write more';
  return `it was played up to line ${entries + 1}, and lacks what came after that; ${why}.`;
}
