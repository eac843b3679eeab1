import { expect, test, vi } from 'vitest';
import { hostAddresses, learnHosts, lookupBy } from './host-addresses.js';

const FIRST = { address: '10.0.0.1', family: 4 };
const SECOND = { address: '10.0.0.2', family: 4 };

type Answer = (error: Error | null, found: (typeof FIRST)[]) => void;

test('a name is looked up each time, and the answer is known to other threads', () => {
  const heard = vi.fn();
  lookupBy((_, done) => done(null, [FIRST]))('db', { all: true }, heard);
  lookupBy((_, done) => done(null, [SECOND, FIRST]))('db', {}, heard);
  expect(heard.mock.calls).toEqual([
    [null, [FIRST]],
    [null, SECOND.address, 4],
  ]);
  expect(hostAddresses().get('db')).toEqual([SECOND, FIRST]);
});

test('where no answer comes, the last one counts; a late one is for the next time', () => {
  vi.useFakeTimers();
  const heard = vi.fn();
  learnHosts(new Map([['far', [FIRST]]]));
  let late: Answer | undefined;
  lookupBy((_, done) => void (late = done))('far', { all: true }, heard);
  vi.advanceTimersByTime(150);
  expect(heard).not.toHaveBeenCalled();
  vi.advanceTimersByTime(100);
  expect(heard.mock.calls).toEqual([[null, [FIRST]]]);
  late?.(null, [SECOND]);
  expect(heard).toHaveBeenCalledTimes(1);
  expect(hostAddresses().get('far')).toEqual([SECOND]);
  vi.useRealTimers();
});

test('a name that nobody knows is an error', () => {
  const heard = vi.fn();
  lookupBy((_, done) => done(new Error('ENOTFOUND'), []))('nowhere', { all: true }, heard);
  expect(heard.mock.calls[0][0]).toBeInstanceOf(Error);
});
