import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { QueuedTime } from './queued-time.js';

const SPIN = "console.log('up'); const end = Date.now() + 5000; while (Date.now() < end);";

it('counts what processes on one processor wait for each other', async () => {
  const command = ['-c', '0', process.execPath, '-e', SPIN];
  const children = [0, 1].map(() => spawn('taskset', command));
  try {
    await Promise.all(children.map(({ stdout }) => once(stdout, 'data')));
    const queued = children.map(({ pid }) => new QueuedTime(pid ?? 0));
    await new Promise((resolve) => setTimeout(resolve, 400));
    const [first, second] = queued.map((each) => each.takeMs());
    expect(first + second).toBeGreaterThan(200);
  } finally {
    for (const child of children) child.kill('SIGKILL');
  }
});

it('counts nothing for a process that has ended', () => {
  expect(new QueuedTime(2 ** 30).takeMs()).toBe(0);
});
