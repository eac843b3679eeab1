import { expect, it } from 'vitest';
import { PoolWatch, poolRequests } from './pool-watch.js';

/**
 * A pool of two threads that wait for pages 0 and 1 of a provider, whose call has asked the pool
 * once.
 */
function open({ requests = 1, answers = false, own = 1, settled = false } = {}) {
  const clock = { ms: 1000 };
  const user = {
    calls: 1,
    youngestSince: 1000,
    requests: null as number | null,
    ask() {
      user.requests = requests;
    },
  };
  const ask = (answered: () => void): void => {
    if (answers) answered();
  };
  const known = { isAwaited: () => !settled };
  const isProgram = (thread: number): boolean => thread === own;
  const watch = new PoolWatch(
    known,
    () => user,
    isProgram,
    () => clock.ms,
    ask,
    2,
  );
  watch.fault(0, 100);
  watch.fault(1, 101);
  const look = (): number => {
    let found = 0;
    for (let step = 0; step < 10; step++) {
      clock.ms += 100;
      found = Math.max(found, watch.stuck().length);
    }
    return found;
  };
  return look;
}

it('a provider whose call waits for a pool that waits for it is found', () => {
  expect(open()()).toBe(1);
});

it.each([
  ['the pool answers', { answers: true }],
  ['the call has asked nothing of the pool', { requests: 0 }],
  ['a thread that waits is one of the program', { own: 101 }],
  ['nothing is waited for any more', { settled: true }],
])('none is found where %s', (_what, setting) => {
  expect(open(setting)()).toBe(0);
});

it('requests to the pool are told from others', () => {
  expect(poolRequests(['FSReqPromise', 'MessagePort', 'TCPSocketWrap', 'FSReqCallback'])).toBe(2);
});
