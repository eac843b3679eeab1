import { spawnSync } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { failCalls } from '../base/failing-calls.js';
import {
  currentCpu,
  getAffinity,
  noteBound,
  restoreAffinity,
  setAffinity,
  startUnbound,
} from './affinity.js';

const before = getAffinity();
afterEach(() => {
  setAffinity(before);
  noteBound(null);
});

function cpusOfChild(): string {
  return spawnSync('grep', ['Cpus_allowed_list', '/proc/self/status'], {
    encoding: 'latin1',
  }).stdout.trim();
}

describe('the CPUs of a thread', () => {
  it('can be changed and put back', () => {
    expect(before.length).toBeGreaterThan(0);
    for (const cpu of before) {
      setAffinity([cpu]);
      expect(getAffinity()).toEqual([cpu]);
      expect(currentCpu()).toBe(cpu);
    }
    setAffinity(before);
    expect(getAffinity()).toEqual(before);
    expect(() => setAffinity([])).toThrowError(/^sched_setaffinity\(.*EINVAL/);
  });

  it('stay as they are where they are for another user to say', () => {
    setAffinity([before[0]]);
    failCalls('schedSetaffinity:EPERM:1,schedSetaffinity:EIO:2', 'manager', new Int32Array(1), 0);
    restoreAffinity(0, [before[0]], before);
    expect(getAffinity()).toEqual([before[0]]);
    expect(() => restoreAffinity(0, [before[0]], before)).toThrowError(/EIO/);
  });

  it('are not those of what a bound thread starts unbound', () => {
    const free = cpusOfChild();
    setAffinity([before[0]]);
    expect(cpusOfChild()).toMatch(new RegExp(`:\\s+${before[0]}$`));
    noteBound(before);
    expect(startUnbound(cpusOfChild)).toBe(free);
    expect(getAffinity()).toEqual([before[0]]);
    expect(() =>
      startUnbound(() => {
        throw new Error('not started');
      }),
    ).toThrowError('not started');
    expect(getAffinity()).toEqual([before[0]]);
  });
});
