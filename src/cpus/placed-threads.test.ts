import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { currentCpu, getAffinity } from '../linux/threads/affinity.js';
import { PlacedThread } from './placed-threads.js';

let child: ChildProcess;

beforeEach(() => {
  child = spawn('sleep', ['60']);
});

afterEach(async () => {
  const ended = child.exitCode ?? child.signalCode ?? once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
});

function threadOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('it was not started');
  return pid;
}

test.skipIf(getAffinity().length < 2)(
  'a thread is kept from one CPU, and lifted to all it had',
  () => {
    const thread = threadOf(child);
    const before = getAffinity(thread);
    const apart = new PlacedThread(thread);
    expect(apart.keepOff()).toBe(true);
    expect(getAffinity(thread).length).toBe(before.length - 1);
    expect(before).toContain(currentCpu());
    apart.lift();
    expect(getAffinity(thread)).toEqual(before);
  },
);

test('a thread that has ended is kept nowhere', async () => {
  const thread = threadOf(child);
  child.kill('SIGKILL');
  await once(child, 'exit');
  const apart = new PlacedThread(thread);
  expect([apart.keepOff(), apart.isPlaced]).toEqual([false, false]);
});
