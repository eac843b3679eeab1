/** Launches that wait in a stream, or come again, played in the core and counted. */
import { PAGES_PER_BLOCK } from '../../src/core/basics/types.js';
import { ENOUGH, Machine, type Use } from './machine.js';

const B = PAGES_PER_BLOCK;

/** Pages of each of three arrays, and those that a thread goes on before the other has its turn. */
const [THIRD, TURN] = [11 * B, 80];

interface Planned {
  readonly kernel: string;
  readonly args: readonly (readonly [first: number, count: number, use: Use])[];
  /** Pages in their order; otherwise it goes through its arguments side by side. */
  readonly touches?: readonly number[];
}

/** Launches that are known while those before them run. */
const WAITING = 3;

function inStream(machine: Machine, device: number, launches: readonly Planned[]): void {
  const wait = (each: Planned | undefined) => {
    if (each !== undefined) machine.waits(device, each.args, each.kernel);
  };
  for (const each of launches.slice(0, WAITING)) wait(each);
  for (const [at, { kernel, args, touches }] of launches.entries()) {
    wait(launches[at + WAITING]);
    const body = () => {
      for (const page of touches ?? []) machine.touch(device, page);
      const most = touches === undefined ? Math.max(...args.map(([, count]) => count)) : 0;
      for (let page = 0; page < most; page++)
        for (const [first, count, use] of args)
          if (page < count) machine.touch(device, first + page, use !== 'in');
    };
    machine.launch(device, args, body, kernel);
  }
}

/** On a device with room for sixteen blocks. */
function onPlannedDevice(play: (machine: Machine, device: number) => void): () => Machine {
  return () => {
    const machine = new Machine(ENOUGH);
    play(machine, machine.device(16));
    return machine;
  };
}

/** Two threads, each of which goes through its half of all arrays. */
function inHalves(arrays: readonly number[]): number[] {
  const touches: number[] = [];
  const half = THIRD / 2;
  for (let at = 0; at < half; at += TURN)
    for (const begin of [0, half])
      for (let page = at; page < Math.min(at + TURN, half); page++)
        for (const first of arrays) touches.push(first + begin + page);
  return touches;
}

export const PLANNED: Readonly<Record<string, () => Machine>> = {
  'plan-chunks': onPlannedDevice((machine, device) => {
    const all = Array.from({ length: 36 }, () => machine.array(B));
    machine.begin();
    const round = all.map((first): Planned => ({ kernel: 'step', args: [[first, B, 'in']] }));
    inStream(machine, device, [...round, ...round]);
  }),
  'plan-swapped': onPlannedDevice((machine, device) => {
    const [a, b] = [machine.array(10 * B), machine.array(10 * B)];
    machine.begin();
    const there: Planned = {
      kernel: 'step',
      args: [
        [a, 10 * B, 'in'],
        [b, 10 * B, 'inout'],
      ],
    };
    const back: Planned = {
      kernel: 'step',
      args: [
        [b, 10 * B, 'in'],
        [a, 10 * B, 'inout'],
      ],
    };
    inStream(machine, device, Array.from({ length: 6 }, () => [there, back]).flat());
  }),
  'plan-halves': () => {
    const machine = new Machine(ENOUGH);
    const device = machine.device(16, { units: 2 });
    const arrays = [0, 1, 2].map(() => machine.array(THIRD));
    machine.begin();
    const args = arrays.map((first, at) => [first, THIRD, at === 0 ? 'out' : 'in'] as const);
    inStream(
      machine,
      device,
      new Array(4).fill({ kernel: 'triad', args, touches: inHalves(arrays) }),
    );
    return machine;
  },
  'plan-fresh': onPlannedDevice((machine, device) => {
    const all = Array.from({ length: 4 }, () => [machine.array(2 * B), machine.array(2 * B)]);
    machine.begin();
    const fill = ([from, to]: number[]): Planned => ({
      kernel: 'fill',
      args: [
        [from, 2 * B, 'in'],
        [to, 2 * B, 'out'],
      ],
    });
    inStream(machine, device, all.map(fill));
  }),
  'plan-first-time': onPlannedDevice((machine, device) => {
    const [table, data] = [machine.array(14 * B), machine.array(8 * B)];
    machine.begin();
    const at = Array.from({ length: 600 }, () => table + machine.random(14 * B));
    inStream(machine, device, [
      { kernel: 'build', args: [[table, 14 * B, 'inout']], touches: at },
      {
        kernel: 'probe',
        args: [
          [table, 14 * B, 'in'],
          [data, 8 * B, 'in'],
        ],
        touches: at,
      },
    ]);
  }),
};
