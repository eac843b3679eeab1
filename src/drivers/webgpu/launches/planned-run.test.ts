import { expect, test } from 'vitest';
import { PAGE_BYTES } from '../../../core/basics/types.js';
import { PageRounds } from '../../../wgsl/dividing/page-rounds.js';
import { pageTables } from '../../../wgsl/dividing/page-tables.js';
import type { PagePlan, WgslCode } from '../../wgsl-launch.js';
import type { Part } from '../link/protocol.js';
import { type Next, PlannedRun } from './planned-run.js';

const TABLE = { name: 'table', bytes: 64 * PAGE_BYTES, stride: 4 };
const SIZES = { pageBytes: PAGE_BYTES, mostPages: 1024, alignment: PAGE_BYTES };

/** @param pages of each dispatch; null: there is no room for what is touched */
function made(pages: readonly (readonly number[])[] | null) {
  const tables = pageTables([TABLE], 16 * PAGE_BYTES, SIZES) ?? [];
  const rounds = new PageRounds(tables);
  const said: unknown[] = [];
  const plan: PagePlan = {
    numbers: [{ at: 100 * PAGE_BYTES, bytes: 8 }],
    *dispatches(numbers) {
      said.push(['numbers', ...numbers.map(([first]) => first)]);
      const module = { code: {} as WgslCode, group: 0, binding: 0, pages: 1 };
      return (
        pages?.map((each) => ({
          ...module,
          workgroups: [each.length, 1, 1],
          content: '',
          wanted: [each],
        })) ?? null
      );
    },
  };
  let slot = 0;
  const run = new PlannedRun(
    plan,
    { rounds, offsets: [1000 * PAGE_BYTES] },
    {
      want: (wanted, wantedFor) => said.push([wantedFor, ...wanted.map(({ first }) => first)]),
      look: (_at, content) => content.fill(1),
      takeSlot: () => slot++,
      giveSlot: (given) => said.push(['given', given]),
      copy: () => undefined,
      send: (sent) => said.push(['send', sent]),
    },
  );
  const given: Next[] = [];
  const give = (): void =>
    run.give(
      (): Part[] => [],
      (next) => given.push(next),
    );
  return { run, said, given, give, rounds };
}

const LOOK = [
  ['look', 100],
  ['numbers', 0x0101_0101],
];

test('the numbers are looked at, then the pages of a dispatch come, and it is given when they have been sent', () => {
  const { run, said, given, give, rounds } = made([[3, 5]]);
  run.start();
  give();
  run.supplied(true);
  expect(said).toEqual([...LOOK, ['plan', 1003, 1005]]);
  expect(given).toEqual([]);
  run.supplied(true);
  expect(said.slice(3)).toEqual([['send', 0]]);
  expect(given).toMatchObject([{ workgroups: [2, 1, 1] }]);
  expect(rounds.entries[3]).not.toBe(0);
  expect(run.goOn()).toBe(false);
  give();
  expect(given.at(-1)).toBe(null);
});

test('what the next dispatch touches comes while one runs, and is sent when that is over', () => {
  const { run, said, given, give } = made([[3], [7]]);
  run.start();
  run.supplied(true);
  run.supplied(true);
  expect(said.filter((each) => (each as unknown[])[0] === 'send')).toEqual([]);
  give();
  expect(given).toHaveLength(1);
  expect(run.goOn()).toBe(true);
  run.supplied(true);
  expect(said.slice(3)).toEqual([
    ['send', 0],
    ['plan', 1007],
  ]);
  give();
  expect(said.slice(5)).toEqual([['send', 1]]);
  expect(given).toHaveLength(2);
});

test('it says that there is no room, and that pages could not be had', () => {
  const full = made(null);
  full.run.start();
  full.run.supplied(true);
  full.give();
  expect(full.given).toEqual(['unplanned']);
  const lost = made([[3]]);
  lost.run.start();
  lost.run.supplied(true);
  lost.run.supplied(false);
  lost.give();
  expect(lost.given).toEqual(['lost']);
});

test('one that is not wanted any more gives back what it has', () => {
  const { run, said } = made([[3]]);
  run.start();
  run.supplied(true);
  run.supplied(true);
  run.close();
  expect(said.at(-1)).toEqual(['given', 0]);
});
