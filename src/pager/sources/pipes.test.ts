import { expect, it } from 'vitest';
import { type IoEngine, type IoJob, Job } from './io-ring.js';
import { Pipes } from './pipes.js';

class Engine {
  load = 0;
  closed = false;
  readonly jobs: string[] = [];

  begin({ kind, fd }: IoJob): void {
    this.jobs.push(`${kind === Job.Read ? 'read' : 'write'} ${fd}`);
    this.load++;
  }

  poll(): void {
    // What has ended is told by the test.
  }

  close(): void {
    this.closed = true;
  }
}

function world(): {
  pipes: Pipes;
  engines: Engine[];
  read: (fd: number) => void;
  write: (fd: number) => void;
} {
  const engines: Engine[] = [];
  const pipes = new Pipes(() => {
    engines.push(new Engine());
    return engines[engines.length - 1] as unknown as IoEngine;
  });
  const begin = (kind: number, fd: number): void =>
    pipes.begin({ kind, fd, address: 0, length: 1, offset: -1, done: () => undefined });
  return {
    pipes,
    engines,
    read: (fd) => begin(Job.Read, fd),
    write: (fd) => begin(Job.Write, fd),
  };
}

it('has what waits for one descriptor stand in the way of no other, and keeps the order of each', () => {
  const { engines, read, write } = world();
  read(5);
  write(5);
  write(6);
  read(5);
  expect(engines.map(({ jobs }) => jobs)).toEqual([['read 5', 'read 5'], ['write 5'], ['write 6']]);
});

it('takes threads again that have nothing to do, and ends those that are too many', () => {
  const { pipes, engines, read } = world();
  for (let fd = 0; fd < 5; fd++) read(fd);
  for (const engine of engines) engine.load = 0;
  engines[1].load = 1;
  pipes.poll();
  expect(engines.map(({ closed }) => closed)).toEqual([true, false, true, false, false]);
  read(9);
  read(10);
  expect(engines.map(({ jobs }) => jobs.at(-1))).toEqual([
    'read 0',
    'read 1',
    'read 2',
    'read 9',
    'read 10',
  ]);
});

it('has some wait for others where too many wait at once', () => {
  const { engines, read } = world();
  for (let fd = 0; fd < 40; fd++) read(fd);
  expect(engines.length).toBe(32);
  expect(Math.max(...engines.map(({ load }) => load))).toBe(2);
  // A thread stays with the descriptor that it was made for.
  read(3);
  expect(engines[3].jobs).toEqual(['read 3', 'read 35', 'read 3']);
});
