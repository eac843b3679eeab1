/**
 * A run of the core as a list of what came in and what went out. The core knows no clock and no
 * chance: the same events give the same commands, so that the list can be played again (replay.ts)
 * far from the machine on which it was made. It holds page numbers and names of arrays, and no
 * content.
 *
 * An entry is an array: ['!', event, ...arguments]; ['>', command, arguments, result]; ['=',
 * result] of an event that has one; and ['+', event, ...arguments] for an event that comes from
 * within a command.
 */

import type { Commands } from '../basics/types.js';
import type { MemoryManager } from '../memory-manager.js';
import type { Range } from '../table/range.js';
import { EVENTS, type EventName } from './events.js';

export const COMMANDS = [
  'breakCopyOnWrite',
  'cover',
  'deny',
  'drained',
  'emptied',
  'invalidate',
  'invalidated',
  'map',
  'release',
  'remap',
  'requestDone',
  'revoke',
  'transfer',
  'wake',
  'want',
] as const satisfies readonly (keyof Commands)[];
export type CommandName = (typeof COMMANDS)[number];

export type Entry =
  | readonly ['!', EventName, ...unknown[]]
  | readonly ['+', EventName, ...unknown[]]
  | readonly ['>', CommandName, readonly unknown[], unknown?]
  | readonly ['=', unknown];

type Call = (...args: unknown[]) => unknown;

export interface NamedRange {
  readonly range: number;
}

function isRange(value: unknown): value is Range {
  return (
    typeof value === 'object' && value !== null && 'reserved' in value && 'protection' in value
  );
}

/** What stands in a list for an argument or a result. */
export function written(value: unknown): unknown {
  return isRange(value) ? ({ range: value.id } satisfies NamedRange) : value;
}

/** An argument of a command: the core uses the record of a transfer again. */
function copied(value: unknown): unknown {
  return typeof value === 'object' && value !== null && !isRange(value)
    ? { ...value }
    : written(value);
}

/** Writes down what a manager is told and what it commands. One for each manager. */
export class Recorder {
  private readonly entries: Entry[] = [];
  private depth = 0;

  /** @param write gets the entries of one event after the other, each time those since the last */
  constructor(private readonly write: (entries: readonly Entry[]) => void) {}

  /** The same commands, written down. The manager is to be made with these. */
  commands(commands: Commands): Commands {
    const recorded: Partial<Record<CommandName, Call>> = {};
    for (const name of COMMANDS) {
      recorded[name] = (...args) => {
        const entry: ['>', CommandName, unknown[], unknown?] = ['>', name, args.map(copied)];
        this.entries.push(entry);
        const result = (commands[name] as Call).apply(commands, args);
        if (result !== undefined) entry.push(result);
        return result;
      };
    }
    return recorded as unknown as Commands;
  }

  /** From now on what this manager is told is written down. */
  events(manager: MemoryManager): void {
    const events = manager as unknown as Record<EventName, Call>;
    for (const name of EVENTS) {
      const call = events[name];
      events[name] = (...args) => {
        const told = args.map(written);
        const entry: Entry = this.depth === 0 ? ['!', name, ...told] : ['+', name, ...told];
        // Now, since the core may change what it was handed.
        this.entries.push(structuredClone(entry));
        this.depth++;
        try {
          const result = call.apply(manager, args);
          if (result !== undefined && this.depth === 1) this.entries.push(['=', written(result)]);
          return result;
        } finally {
          this.depth--;
          if (this.depth === 0) this.write(this.entries.splice(0));
        }
      };
    }
  }
}
