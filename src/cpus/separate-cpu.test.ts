import { availableParallelism } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { threadId } from '../linux/processes/process.js';
import { currentCpu, getAffinity, setAffinity } from '../linux/threads/affinity.js';
import { SeparateCpu, type SeparatedThreads } from './separate-cpu.js';

const all = getAffinity();
const me = threadId();

afterEach(() => setAffinity(all));

// This thread is the manager and the thread that it keeps apart: it is moved, and so kept away from
// where it was.
describe.skipIf(availableParallelism() < 2)('threads of devices that walk', () => {
  function open(most = 1): { separate: SeparateCpu; kept: SeparatedThreads } {
    const kept: SeparatedThreads = { count: 0, most };
    return { separate: new SeparateCpu(kept, process.pid), kept };
  }

  /** A fault; returns the CPU on which it was answered. */
  function fault(separate: SeparateCpu, moving: boolean): number {
    const cpu = currentCpu();
    separate.before(me);
    separate.after(moving);
    return cpu;
  }

  it('are kept off the CPU of the manager once there is more to move, until the launch has ended', () => {
    const { separate, kept } = open();
    fault(separate, true);
    fault(separate, true);
    expect(getAffinity()).toEqual(all);
    const cpu = fault(separate, true);
    expect(getAffinity()).toEqual(all.filter((each) => each !== cpu));
    expect(kept.count).toBe(1);
    separate.end();
    expect(getAffinity()).toEqual(all);
    expect(kept.count).toBe(0);
  });

  it('are left alone where something is left to move now and then', () => {
    const { separate } = open();
    for (let faults = 0; faults < 10; faults++) fault(separate, faults % 2 === 0);
    expect(getAffinity()).toEqual(all);
  });

  it('are let go after some faults that leave nothing to move', () => {
    const { separate } = open();
    fault(separate, true);
    fault(separate, true);
    for (let faults = 0; faults < 7; faults++) fault(separate, false);
    expect(getAffinity()).not.toEqual(all);
    fault(separate, false);
    expect(getAffinity()).toEqual(all);
  });

  it('are no more than leave a CPU to the others', () => {
    const { separate } = open(0);
    for (let faults = 0; faults < 3; faults++) fault(separate, true);
    expect(getAffinity()).toEqual(all);
  });

  it('keep what they are told meanwhile', () => {
    const { separate } = open();
    fault(separate, true);
    fault(separate, true);
    const cpu = fault(separate, true);
    setAffinity([cpu]);
    separate.end();
    expect(getAffinity()).toEqual([cpu]);
  });

  it('are left alone where they may run on one CPU only', () => {
    const { separate } = open();
    const cpu = currentCpu();
    setAffinity([cpu]);
    for (let faults = 0; faults < 3; faults++) fault(separate, true);
    separate.end();
    expect(getAffinity()).toEqual([cpu]);
  });
});
