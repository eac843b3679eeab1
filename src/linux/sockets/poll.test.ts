import { spawn } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { POLLIN, POLLNVAL, POLLOUT } from '../base/constants.js';
import { closeEventfd, createEventfd, drainEventfd, notifyEventfd } from '../threads/eventfd.js';
import { Poller } from './poll.js';

const fds: number[] = [];
afterEach(() => {
  for (const fd of fds.splice(0)) closeEventfd(fd);
});

function eventfd(): number {
  const fd = createEventfd();
  fds.push(fd);
  return fd;
}

describe('Poller', () => {
  it('tells which of its slots are ready', () => {
    const poller = new Poller(8);
    const [first, second] = [eventfd(), eventfd()];
    poller.set(0, first);
    poller.set(5, second);
    expect(poller.wait(0)).toBe(0);
    notifyEventfd(second);
    expect(poller.wait(-1)).toBe(1);
    expect([poller.readyAt(0), poller.readyAt(4), poller.readyAt(5)]).toEqual([0, 0, POLLIN]);
    drainEventfd(second);
    expect(poller.wait(0)).toBe(0);
    expect(poller.readyAt(5)).toBe(0);
  });

  it('asks for other events, and stops asking when a slot is cleared', () => {
    const poller = new Poller(2);
    poller.set(1, eventfd(), POLLIN | POLLOUT);
    expect(poller.wait(-1)).toBe(1);
    expect(poller.readyAt(1)).toBe(POLLOUT);
    poller.clear(1);
    expect(poller.wait(0)).toBe(0);
    expect(poller.readyAt(1)).toBe(0);
  });

  it('waits as long as told, in fractions of a millisecond too', () => {
    const poller = new Poller(1);
    poller.set(0, eventfd());
    for (const timeout of [20, 1.5, 0.2]) {
      const start = performance.now();
      expect(poller.wait(timeout)).toBe(0);
      const elapsed = performance.now() - start;
      expect(elapsed).toBeGreaterThanOrEqual(timeout * 0.9);
      expect(elapsed).toBeLessThan(timeout + 500);
    }
  });

  it('returns 0 after a signal, without news from before', async () => {
    const poller = new Poller(1);
    const fd = eventfd();
    poller.set(0, fd);
    notifyEventfd(fd);
    poller.wait(-1);
    drainEventfd(fd);
    const listener = (): void => {};
    process.on('SIGUSR2', listener);
    // More than once: the first may come before this thread waits.
    const child = spawn('sh', ['-c', `while sleep 0.1; do kill -USR2 ${process.pid}; done`]);
    const exited = new Promise((resolve) => child.once('exit', resolve));
    const start = performance.now();
    expect(poller.wait(10_000)).toBe(0);
    expect(performance.now() - start).toBeLessThan(9000);
    expect(poller.readyAt(0)).toBe(0);
    child.kill('SIGKILL');
    await exited;
    process.off('SIGUSR2', listener);
  });

  it('reports a descriptor that is not open, and refuses a slot that it does not have', () => {
    const poller = new Poller(1);
    poller.set(0, 1_000_000);
    expect(poller.wait(0)).toBe(1);
    expect(poller.readyAt(0)).toBe(POLLNVAL);
    expect(() => poller.set(1, 0)).toThrowError(
      expect.objectContaining({ name: 'RangeError', code: 'POLL_SLOT' }),
    );
  });
});
