import { expect, test } from 'vitest';
import { BlockHolds, Hold, type Refusal } from './block-holds.js';

const HOLD_MS = 100;

/** An array whose port writes down what it is asked. */
function array(name = 'a') {
  const said: string[] = [];
  const clock = { ms: 0 };
  const runs = { count: 0 };
  const holds: BlockHolds<string> = new BlockHolds(
    name,
    HOLD_MS,
    {
      touch: (block, right) => said.push(`touch ${block} ${right}`),
      restrict: (block, right) => said.push(`restrict ${block} ${right}`),
      running: (count) => {
        runs.count = count;
      },
    },
    () => clock.ms,
  );
  const give = (block: number, right: 'read' | 'write'): void => {
    holds.installing(block, right);
    holds.installed(block);
  };
  /** What has been said since the last question. */
  const heard = (): string[] => said.splice(0);
  return { holds, give, heard, clock, runs };
}

/** An operation that needs these blocks, and how it went on. */
function operation(...needs: [BlockHolds<string>, number, 'read' | 'write'][]) {
  const told: (Refusal<string> | null)[] = [];
  const hold = new Hold(
    needs.map(([each, block, right]) => ({ array: each, block, right })),
    (refusal) => told.push(refusal),
  );
  hold.begin();
  return { hold, told };
}

test('blocks are asked for together, and the operation begins when all are there', () => {
  const { holds, give, heard } = array();
  const { told } = operation([holds, 1, 'read'], [holds, 0, 'write']);
  expect(heard().slice(0, 2)).toEqual(['touch 0 write', 'touch 1 read']);
  give(1, 'read');
  expect(told).toEqual([]);
  give(0, 'write');
  expect(told).toEqual([null]);
});

test('what others want of a block waits for the end of the operation that holds it', () => {
  const { holds, give, heard } = array();
  give(0, 'read');
  const { hold } = operation([holds, 0, 'read']);
  holds.restrict(0, 'none', false);
  expect(heard()).toEqual([]);
  hold.end();
  expect(heard()).toEqual(['restrict 0 none']);
});

test('readers elsewhere do not wait for readers here, and wait for writers', () => {
  const { holds, give, heard } = array();
  give(0, 'write');
  give(1, 'write');
  operation([holds, 0, 'read'], [holds, 1, 'write']);
  holds.restrict(0, 'read', false);
  holds.restrict(1, 'read', false);
  expect(heard()).toEqual(['restrict 0 read']);
});

test('a block behind one that is waited for is given to others, and asked for again', () => {
  const { holds, give, heard } = array();
  give(1, 'read');
  const { told } = operation([holds, 0, 'read'], [holds, 1, 'read']);
  heard();
  holds.restrict(1, 'none', false);
  expect(heard()).toEqual(['restrict 1 none']);
  give(0, 'read');
  expect(heard()).toEqual(['touch 1 read']);
  give(1, 'read');
  expect(told).toEqual([null]);
});

test('arrays are held in the order of their names', () => {
  const [a, b] = [array('a'), array('b')];
  b.give(0, 'write');
  operation([b.holds, 0, 'write'], [a.holds, 7, 'write']);
  b.holds.restrict(0, 'none', false);
  expect(b.heard()).toEqual(['restrict 0 none']);
});

test('an operation that comes when others want the block waits until they have had it', () => {
  const { holds, give, heard } = array();
  give(0, 'read');
  const first = operation([holds, 0, 'read']);
  holds.restrict(0, 'none', false);
  const second = operation([holds, 0, 'read']);
  first.hold.end();
  expect(heard()).toEqual(['touch 0 read', 'restrict 0 none', 'touch 0 read']);
  expect(second.told).toEqual([]);
});

test('a right that is over is taken at once, and the operation hears of it', () => {
  const { holds, give, heard } = array();
  give(0, 'read');
  const { hold } = operation([holds, 0, 'read']);
  holds.restrict(0, 'none', true);
  expect(heard()).toEqual(['restrict 0 none']);
  expect(hold.breach?.why).toBe('ended');
});

test('an operation that had not begun when its right was over waits anew', () => {
  const { holds, give, heard } = array();
  give(0, 'read');
  const { hold, told } = operation([holds, 0, 'read'], [holds, 1, 'read']);
  heard();
  holds.restrict(0, 'none', true);
  expect(heard()).toEqual(['restrict 0 none', 'touch 0 read']);
  give(0, 'read');
  give(1, 'read');
  expect([hold.breach, told]).toEqual([null, [null]]);
});

test('what others wanted already is taken when all rights are over, and what had not begun waits anew', () => {
  const { holds, give, heard } = array();
  for (const block of [0, 1, 2]) give(block, 'read');
  const running = operation([holds, 2, 'read']);
  const waiting = operation([holds, 0, 'read'], [holds, 1, 'read'], [holds, 3, 'read']);
  for (const block of [0, 1, 2]) holds.restrict(block, 'none', false);
  heard();
  holds.ended();
  expect(heard().filter((each) => each.startsWith('restrict'))).toEqual([
    'restrict 0 none',
    'restrict 1 none',
    'restrict 2 none',
  ]);
  expect([running.hold.breach?.why, waiting.hold.breach]).toEqual(['ended', null]);
  for (const block of [0, 1, 3]) give(block, 'read');
  expect(waiting.told).toEqual([null]);
});

test('others wait for so long and no longer', () => {
  const { holds, give, heard, clock } = array();
  give(0, 'write');
  const { hold } = operation([holds, 0, 'write']);
  holds.restrict(0, 'none', false);
  clock.ms = HOLD_MS - 1;
  holds.look();
  expect(heard()).toEqual([]);
  clock.ms = HOLD_MS;
  holds.look();
  expect(heard()).toEqual(['restrict 0 none']);
  expect(hold.breach?.why).toBe('taken');
});

test('a block that cannot be had ends the wait, and what was held is let go', () => {
  const { holds, give, heard } = array();
  give(0, 'read');
  const { told } = operation([holds, 0, 'read'], [holds, 1, 'read']);
  holds.restrict(0, 'none', false);
  heard();
  holds.refuse(1, 'NODE_LOST');
  expect(told).toEqual([{ array: holds, block: 1, reason: 'NODE_LOST' }]);
  expect(heard()).toEqual(['restrict 0 none']);
});

test('nothing is to be had of an array that has ended', () => {
  const { holds } = array();
  const waiting = operation([holds, 0, 'read']);
  holds.end('FREED', 'freed');
  const late = operation([holds, 1, 'read']);
  expect([...waiting.told, ...late.told].map((each) => each?.reason)).toEqual(['FREED', 'FREED']);
});

test('operations count for their arrays from when they hold all blocks until they have ended, or are broken', () => {
  const { holds, give, runs } = array();
  const { hold: first } = operation([holds, 1, 'read'], [holds, 2, 'write']);
  give(1, 'read');
  expect(runs.count).toBe(0);
  give(2, 'write');
  expect(runs.count).toBe(1);
  const { hold: second } = operation([holds, 1, 'read']);
  expect(runs.count).toBe(2);
  first.end();
  first.end();
  expect(runs.count).toBe(1);
  holds.restrict(1, 'none', true);
  expect(runs.count).toBe(0);
  second.end();
  expect(runs.count).toBe(0);
});
