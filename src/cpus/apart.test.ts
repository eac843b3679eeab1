import { availableParallelism } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { threadId } from '../linux/processes/process.js';
import { currentCpu, getAffinity, setAffinity } from '../linux/threads/affinity.js';
import { Apart, type KeptApart } from './apart.js';

const all = getAffinity();
const me = threadId();

afterEach(() => setAffinity(all));

// This thread is the manager and the thread that it keeps apart: it is moved, and so kept away from
// where it was.
describe.skipIf(availableParallelism() < 2)('threads of devices that walk', () => {
  function open(most = 1): { apart: Apart; kept: KeptApart } {
    const kept: KeptApart = { count: 0, most };
    return { apart: new Apart(kept, process.pid), kept };
  }

  /** A fault; returns the CPU on which it was answered. */
  function fault(apart: Apart, moving: boolean): number {
    const cpu = currentCpu();
    apart.before(me);
    apart.after(moving);
    return cpu;
  }

  it('are kept off the CPU of the manager once there is more to move, until the launch has ended', () => {
    const { apart, kept } = open();
    fault(apart, true);
    fault(apart, true);
    expect(getAffinity()).toEqual(all);
    const cpu = fault(apart, true);
    expect(getAffinity()).toEqual(all.filter((each) => each !== cpu));
    expect(kept.count).toBe(1);
    apart.end();
    expect(getAffinity()).toEqual(all);
    expect(kept.count).toBe(0);
  });

  it('are left alone where something is left to move now and then', () => {
    const { apart } = open();
    for (let faults = 0; faults < 10; faults++) fault(apart, faults % 2 === 0);
    expect(getAffinity()).toEqual(all);
  });

  it('are let go after some faults that leave nothing to move', () => {
    const { apart } = open();
    fault(apart, true);
    fault(apart, true);
    for (let faults = 0; faults < 7; faults++) fault(apart, false);
    expect(getAffinity()).not.toEqual(all);
    fault(apart, false);
    expect(getAffinity()).toEqual(all);
  });

  it('are no more than leave a CPU to the others', () => {
    const { apart } = open(0);
    for (let faults = 0; faults < 3; faults++) fault(apart, true);
    expect(getAffinity()).toEqual(all);
  });

  it('keep what they are told meanwhile', () => {
    const { apart } = open();
    fault(apart, true);
    fault(apart, true);
    const cpu = fault(apart, true);
    setAffinity([cpu]);
    apart.end();
    expect(getAffinity()).toEqual([cpu]);
  });

  it('are left alone where they may run on one CPU only', () => {
    const { apart } = open();
    const cpu = currentCpu();
    setAffinity([cpu]);
    for (let faults = 0; faults < 3; faults++) fault(apart, true);
    apart.end();
    expect(getAffinity()).toEqual([cpu]);
  });
});
