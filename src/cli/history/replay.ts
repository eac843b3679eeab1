/** `onemem replay`: plays a recorded run of the memory manager again, event by event. */

import { EVENTS } from '../../core/recording/events.js';
import type { Entry } from '../../core/recording/recording.js';
import { replay as play, ReplayError } from '../../core/recording/replay.js';
import { type Recording, readRecording } from '../../files/recording-file.js';
import { loadPolicies } from '../../policy/choices.js';
import { EVICTION_POLICIES } from '../../policy/eviction/named.js';
import { defineCommand } from '../terminal/command.js';
import { CommandError, fileFailure, UsageError } from '../terminal/failure.js';
import { print } from '../terminal/output.js';
import { compareOn } from './compare-policies.js';
import { chosenMachines } from './machine-files.js';
import { timesOn } from './machine-times.js';

const policyNames = Object.keys(EVICTION_POLICIES)
  .join(', ')
  .replace(/^(.{40,60}?,) /, (line) => `${line.trimEnd()}\n${' '.repeat(28)}`);

export const command = defineCommand({
  name: 'replay',
  usage: `onemem replay FILE [--events] [--json]
onemem replay TRACE --policy NAME,... [--device-memory SIZE,...] [--machine NAME,...] [--json]
onemem replay TRACE --machine NAME,... [--json]`,
  summary: 'play a recorded run again, or compare eviction policies on a trace',
  text: `A program with ONEMEM_RECORD=FILE records its first space: what the manager was told, and each
command that it gave. A second space goes to FILE.2, and so on. A recording holds page numbers and
names, no content of arrays.

Without --policy a fresh manager is told the same, without devices and page faults. It must command
the same. An incomplete recording is played as far as it goes.

  --events     print each entry: ! an event, > a command and its answer, = an answer to an event

With --policy, TRACE is a recording, a block number a line, JSON lines with hash_ids (Mooncake), CSV
(libCacheSim), or - for standard input. The command prints how many blocks each policy would bring,
beside the optimum (Belady's MIN).

  --policy NAME,...         ${policyNames}, default, or all;
                            or the path of a module, such as ./my-policy.mjs or ./mine.mjs#export
  --device-memory SIZE,...  sizes of memory; by default of a recording: half of what it
                            had, all, half of what holds everything, and that
  --oversubscription N,...  the same by how often the blocks fit; 1.25,2,4 for traces by default
  --block SIZE              size of a trace's block (2MiB)
  --csv                     a line for each memory, size and policy
  --html FILE               the same as a page for a browser

With --machine and a recording, the command prints what its transfers would take on other links.
With --policy besides, it prints the times of what each policy brings.

  --machine NAME,...        pcie4, pcie5, nvlink-c2c, nvme, cxl, net100 (nominal figures), or the
                            path of a JSON file such as those in the folder machines of the package

  --json       results as JSON
  -h, --help

It ends with 1 if a run differs from its recording. Please report that with the file.

Examples
  onemem replay flights.rec                          after: ONEMEM_RECORD=flights.rec onemem demo
  onemem replay flights.rec --events | grep '"fault"' | head
  onemem replay flights.rec --machine pcie5,nvlink-c2c,cxl
  onemem replay flights.rec --policy lru,lirs,tournament --device-memory 16MiB,32MiB,64MiB
  xz -dc trace.txt.xz | onemem replay - --policy all --oversubscription 1.25,2,4`,
  options: {
    events: { type: 'boolean' },
    json: { type: 'boolean' },
    csv: { type: 'boolean' },
    html: { type: 'string' },
    policy: { type: 'string' },
    'device-memory': { type: 'string' },
    oversubscription: { type: 'string' },
    block: { type: 'string' },
    machine: { type: 'string' },
  },
  one: 'file, which a program with ONEMEM_RECORD=FILE made',
  async main(values, [path]) {
    const { policy, events, json } = values;
    const machines = values.machine === undefined ? undefined : chosenMachines(values.machine);
    if (policy !== undefined) {
      if (events)
        throw new UsageError('--events prints a recording; --policy compares policies on it');
      return compareOn(path, { ...values, policy }, machines);
    }
    if (machines !== undefined && events)
      throw new UsageError('--events prints a recording; --machine computes times of it');
    for (const option of ['csv', 'html', 'device-memory', 'oversubscription', 'block'] as const) {
      if (values[option] !== undefined && !(option === 'csv' && machines !== undefined))
        throw new UsageError(`--${option} goes with --policy; see: onemem replay --help`);
    }
    if (machines !== undefined) return timesOn(path, machines, values);
    const { header, entries, lines, complete } = read(path);
    const show = events ? (entry: Entry) => print(JSON.stringify(entry)) : undefined;
    const policies = await loadPolicies(header.policies, (text) => process.stderr.write(text));
    const counts = new Map<string, number>();
    try {
      const {
        events: played,
        commands,
        manager,
      } = play(entries, policies, header.blocks, (entry) => {
        if (entry[0] === '!') counts.set(entry[1], (counts.get(entry[1]) ?? 0) + 1);
        show?.(entry);
      });
      manager.checkInvariants();
      const kinds = EVENTS.flatMap((name) =>
        counts.has(name) ? [[name, counts.get(name) as number] as const] : [],
      );
      if (json)
        print(
          JSON.stringify({ events: played, commands, complete, kinds: Object.fromEntries(kinds) }),
        );
      else {
        const most = kinds.sort((a, b) => b[1] - a[1]).slice(0, 5);
        const shown = most.map(([name, count]) => `${count} ${name}`).join(', ');
        const names = played === 0 ? '' : ` (most of them: ${shown})`;
        print(
          `${played} events${names} and ${commands} commands: the same as recorded${complete ? '' : ', as far as that goes'}`,
        );
        if (!complete) print(`The recording is incomplete: ${missing(lines.at(-1) ?? 1)}`);
      }
      return 0;
    } catch (error) {
      if (error instanceof ReplayError) {
        throw new CommandError(
          'REPLAY_DIFFERS',
          `${path}, line ${lines[error.entry] ?? lines.length + 2}: ${error.message}`,
          { cause: error },
        );
      }
      throw error;
    }
  },
});

function read(path: string): Recording {
  try {
    return readRecording(path);
  } catch (error) {
    const { errno } = error as NodeJS.ErrnoException;
    if (errno === undefined) throw error;
    const expected = 'a recording is a file that a program with ONEMEM_RECORD=FILE made';
    throw fileFailure(path, error, `; ${expected}`);
  }
}

function missing(line: number): string {
  const why = 'its program was killed, did not close its space, or could not write more';
  return `it was played up to line ${line}, and lacks what came after that; ${why}.`;
}
