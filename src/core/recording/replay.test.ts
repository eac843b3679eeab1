import { describe, expect, it } from 'vitest';
import { namedPolicies } from '../../policy/choices.js';
import { Access, HOST, NO_NODE, Status } from '../basics/types.js';
import { MemoryManager } from '../memory-manager.js';
import { commandsThat, deviceOf, hostOf } from '../test-parts.js';
import { EVENTS } from './events.js';
import { type Entry, Recorder } from './recording.js';
import { replay } from './replay.js';

const BLOCKS = 8;

/** Carries everything out at once, but copies, of which it keeps the tokens. */
class Machine {
  readonly copies: number[] = [];
  readonly commands = commandsThat({
    transfer: ({ token }) => {
      this.copies.push(token);
      return Status.Pending;
    },
  });
}

/** A device takes a page that the host wrote, and the host takes it back; then the array goes. */
function recordRun(): Entry[] {
  const entries: Entry[] = [];
  const recorder = new Recorder((more) =>
    entries.push(...(JSON.parse(JSON.stringify(more)) as Entry[])),
  );
  const machine = new Machine();
  const manager = new MemoryManager(
    recorder.commands(machine.commands),
    namedPolicies({ prefetch: 'none', readAhead: 'none' }),
    BLOCKS,
  );
  recorder.events(manager);
  const settle = (): void => {
    for (let token = machine.copies.shift(); token !== undefined; token = machine.copies.shift())
      manager.transferred(token, Status.Done);
  };
  manager.addDevice(hostOf(2), NO_NODE);
  const { processor: device, node: own } = manager.addDevice(deviceOf(2));
  const range = manager.allocate(700, { name: 'x', writable: true, provided: false });
  if (range === null) throw new Error('there are no addresses');
  manager.watch(range, 1);
  for (const id of [HOST, device, HOST]) {
    manager.fault(id, range.first + 5, true, 1);
    settle();
  }
  manager.acquire(7, device, range.first, 700, Access.Read, { hold: true, overtakes: true });
  settle();
  manager.release(own, range.first, 700, Access.Read);
  manager.free(8, range.first, 700);
  settle();
  manager.recycle(range);
  return entries;
}

function play(entries: readonly Entry[]): { events: number; commands: number } {
  return replay(entries, namedPolicies({ prefetch: 'none', readAhead: 'none' }), BLOCKS);
}

describe('replay', () => {
  it('has a fresh core command the same', () => {
    const entries = recordRun();
    const { events, commands } = play(entries);
    expect(events).toBe(entries.filter(([kind]) => kind === '!').length);
    expect(commands).toBe(entries.filter(([kind]) => kind === '>').length);
    expect(commands).toBeGreaterThan(10);
  });

  it('stops at the first entry that differs, whichever that is', () => {
    const entries = recordRun();
    for (const [index, entry] of entries.entries()) {
      if (entry[0] === '!' || entry[0] === '+') continue;
      const changed: Entry =
        entry[0] === '='
          ? ['=', { other: true }]
          : ['>', entry[1], [...entry[2].slice(0, -1), 12345], entry[3]];
      expect(() => play(entries.with(index, changed))).toThrowError(
        new RegExp(`^entry ${index}, while \\[".*was handled`),
      );
    }
  });

  it('stops where a command is missing, or is too much', () => {
    const entries = recordRun();
    const command = entries.findIndex(([kind]) => kind === '>');
    expect(() => play(entries.toSpliced(command, 1))).toThrowError(
      new RegExp(`^entry ${command}, `),
    );
    expect(() => play(entries.toSpliced(command, 0, entries[command]))).toThrowError(
      /^entry \d+, /,
    );
  });

  it('plays what there is of a recording that ends early', () => {
    const entries = recordRun();
    const events = entries.flatMap(([kind], index) => (kind === '!' ? [index] : []));
    for (const end of events) expect(play(entries.slice(0, end)).events).toBe(events.indexOf(end));
  });
});

describe('a recording', () => {
  it('has everything that changes the core: each method is an event, or only asks', () => {
    const asks = [
      'checkInvariants',
      'figures',
      'launchPages',
      'node',
      'processor',
      'range',
      'capacityPages',
      'waitsForRoom',
      'waitsToGoAhead',
      'bringsAhead',
    ];
    const own = ['constructor', 'run'];
    const methods = Object.getOwnPropertyNames(MemoryManager.prototype);
    expect(methods.sort()).toEqual([...EVENTS, ...asks, ...own].sort());
  });
});
