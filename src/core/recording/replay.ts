/** Plays a recorded run again: a fresh core is told the same, and must command the same. */

import type { Commands } from '../basics/types.js';
import { MemoryManager } from '../memory-manager.js';
import type { Policies } from '../table/processors.js';
import { type CoreEvent, dispatch } from './events.js';
import { COMMANDS, type CommandName, type Entry, type NamedRange, written } from './recording.js';

export interface Replayed {
  readonly events: number;
  readonly commands: number;
  /** The core as it was when the recording ended. */
  readonly manager: MemoryManager;
}

/** Where a run went another way than its recording. */
export class ReplayError extends Error {
  constructor(
    /** Number of the entry, from 0. */
    readonly entry: number,
    /** The event that was handled there, as it was recorded. */
    readonly event: string,
    what: string,
  ) {
    super(`entry ${entry}, while ${event} was handled: ${what}`);
  }
}

function isNamedRange(value: unknown): value is NamedRange {
  return (
    typeof value === 'object' &&
    value !== null &&
    'range' in value &&
    Object.keys(value).length === 1
  );
}

/**
 * @param entries of one manager, from its beginning
 * @param policies those that the recorded manager had
 * @param blockCount the size of its space
 * @param seen told each entry before it is played, with the core as it is then
 */
export function replay(
  entries: readonly Entry[],
  policies: Policies,
  blockCount: number,
  seen: (entry: Entry, manager: MemoryManager) => void = () => undefined,
): Replayed {
  let at = 0;
  let current = 'nothing';
  let commandCount = 0;
  const fail = (what: string): never => {
    throw new ReplayError(at, current, what);
  };
  const next = (): Entry | undefined => {
    const entry = entries[at];
    if (entry !== undefined) seen(entry, manager);
    at++;
    return entry;
  };
  const carryOut = (name: CommandName, args: readonly unknown[]): unknown => {
    const mine = JSON.stringify([name, args.map(written)]);
    const entry = entries[at];
    if (entry?.[0] !== '>')
      return fail(`the core commands ${mine}, and the recording has no more commands there`);
    const [, recorded, theirs, result] = entry;
    if (mine !== JSON.stringify([recorded, theirs])) {
      return fail(
        `the core commands ${mine}, where the recording has ${JSON.stringify([recorded, theirs])}`,
      );
    }
    next();
    commandCount++;
    while (entries[at]?.[0] === '+') tell(next() as Entry);
    return result;
  };
  const commands = Object.fromEntries(
    COMMANDS.map((name) => [name, (...args: unknown[]) => carryOut(name, args)]),
  ) as unknown as Commands;
  const manager = new MemoryManager(commands, policies, blockCount);
  const read = (value: unknown): unknown => {
    if (!isNamedRange(value)) return value;
    return manager.range(value.range) ?? fail(`there is no range ${value.range}`);
  };
  const tell = ([, ...event]: Entry): unknown =>
    dispatch(manager, event.map(read) as unknown as CoreEvent);

  let events = 0;
  for (let entry = next(); entry !== undefined; entry = next()) {
    if (entry[0] !== '!')
      fail(`the recording has ${JSON.stringify(entry)}, and the core has nothing more to do there`);
    current = JSON.stringify(entry.slice(1));
    events++;
    const result = JSON.stringify(written(tell(entry)));
    if (entries[at]?.[0] === '=') {
      const recorded = JSON.stringify(entries[at][1]);
      if (result !== recorded) fail(`the core answers ${result}, and answered ${recorded}`);
      next();
    } else if (result !== undefined) fail(`the core answers ${result}, and answered nothing`);
  }
  return { events, commands: commandCount, manager };
}
