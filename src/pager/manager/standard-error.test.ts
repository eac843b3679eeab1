import { EventEmitter } from 'node:events';
import type { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { CONTROL_WORDS, Control } from '../protocol/control.js';
import { awaitMessages, count, isWritten } from '../protocol/output.js';
import { StandardError } from './standard-error.js';

class World {
  readonly control = new Int32Array(new SharedArrayBuffer(4 * CONTROL_WORDS));
  readonly posted: string[] = [];
  readonly direct: string[] = [];
  readonly thread = Object.assign(new EventEmitter(), {
    unref: () => undefined,
    postMessage: (text: string) => void this.posted.push(text),
  });
  broken = false;
  readonly messages = new StandardError(
    this.control,
    () => {
      if (this.broken) throw new Error('no memory');
      return this.thread as unknown as Worker;
    },
    (text) => void this.direct.push(text),
  );

  say(text: string): number {
    const ticket = count(this.control);
    this.messages.write(text);
    return ticket;
  }

  written(): void {
    this.thread.emit('message', 'written');
  }
}

it('counts what was said and what was written', () => {
  const world = new World();
  const first = world.say('one\n');
  const second = world.say('two\n');
  expect(world.posted).toEqual(['one\n', 'two\n']);
  world.written();
  expect([isWritten(world.control, first), isWritten(world.control, second)]).toEqual([
    true,
    false,
  ]);
  const begun = performance.now();
  awaitMessages(world.control, 30);
  expect(performance.now() - begun).toBeGreaterThan(20);
  world.written();
  awaitMessages(world.control, 100_000);
});

it('drops what is too much, and says so when there is room again', () => {
  const world = new World();
  for (let i = 0; i < 100; i++) world.say('x'.repeat(1023) + '\n');
  expect(world.posted).toHaveLength(64);
  for (let i = 0; i < 64; i++) world.written();
  expect(world.posted[64]).toBe(
    'onemem: 36 messages were dropped, since standard error was full\n',
  );
  world.written();
  awaitMessages(world.control, 100_000);
});

it('says it without the thread if there is none', () => {
  const world = new World();
  world.say('one\n');
  world.thread.emit('error', new Error('ended'));
  world.say('two\n');
  expect(world.direct).toEqual(['one\n', 'two\n']);
  const other = new World();
  other.broken = true;
  expect(isWritten(other.control, other.say('three\n'))).toBe(true);
  expect(other.direct).toEqual(['three\n']);
});

it('has the thread counted until it is up, so that nobody stops it in the middle of its start', () => {
  const world = new World();
  const starting = (): number => Atomics.load(world.control, Control.StartingThreads);
  world.messages.prepare();
  expect(starting()).toBe(1);
  world.thread.emit('exit', 1);
  expect(starting()).toBe(0);
  const broken = new World();
  broken.broken = true;
  broken.messages.prepare();
  expect(Atomics.load(broken.control, Control.StartingThreads)).toBe(0);
});
