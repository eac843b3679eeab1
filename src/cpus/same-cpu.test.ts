import { availableParallelism } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { threadId } from '../linux/processes/process.js';
import { currentCpu, getAffinity, setAffinity } from '../linux/threads/affinity.js';
import type { ManagerCpu } from './placed-threads.js';
import { SameCpu } from './same-cpu.js';

const all = getAffinity();
const me = threadId();

afterEach(() => setAffinity(all));

/** Says where the manager is, and counts what holds it there. */
class StandingManager implements ManagerCpu {
  holds = 0;
  cpu: number | null = null;

  hold(): number {
    this.holds++;
    this.cpu ??= currentCpu();
    return this.cpu;
  }

  letGo(): void {
    this.holds--;
  }
}

// This thread is the one that is bound, while it answers faults of its own.
describe.skipIf(availableParallelism() < 2)(
  'threads of devices whose touches lie scattered',
  () => {
    function open(): { same: SameCpu; manager: StandingManager } {
      const manager = new StandingManager();
      return { same: new SameCpu(manager, process.pid), manager };
    }

    function faults(same: SameCpu, count: number, moving = false, thread = me): void {
      for (let fault = 0; fault < count; fault++) {
        same.before(thread);
        same.after(moving);
      }
    }

    it('are bound to the CPU of the manager, until the launch has ended', () => {
      const { same, manager } = open();
      faults(same, 16);
      expect(getAffinity()).toEqual(all);
      faults(same, 1);
      expect(getAffinity()).toEqual([manager.cpu]);
      expect(manager.holds).toBe(1);
      same.end();
      expect(getAffinity()).toEqual(all);
      expect(manager.holds).toBe(0);
    });

    it('are asked for less and less often where they may run on one CPU alone', () => {
      const { same, manager } = open();
      setAffinity([currentCpu()]);
      faults(same, 17);
      setAffinity(all);
      faults(same, 31);
      expect(manager.holds).toBe(0);
      faults(same, 1);
      expect(manager.holds).toBe(1);
      same.end();
    });

    it('are left alone where something is left to move now and then', () => {
      const { same, manager } = open();
      for (let round = 0; round < 5; round++) {
        faults(same, 10);
        faults(same, 1, true);
      }
      expect(getAffinity()).toEqual(all);
      expect(manager.holds).toBe(0);
    });

    it('are let go when they begin to walk', () => {
      const { same, manager } = open();
      faults(same, 17);
      faults(same, 1, true);
      expect(getAffinity()).toEqual([manager.cpu]);
      faults(same, 1, true);
      expect(getAffinity()).toEqual(all);
      expect(manager.holds).toBe(0);
    });

    it('are let go when another thread of the device faults as well', () => {
      const { same, manager } = open();
      faults(same, 17);
      faults(same, 1, false, me + 1);
      expect(getAffinity()).toEqual(all);
      expect(manager.holds).toBe(0);
    });

    it('are let go when the manager is on another CPU: the program said so', () => {
      const { same, manager } = open();
      faults(same, 17);
      manager.cpu = all.find((cpu) => cpu !== manager.cpu) ?? null;
      faults(same, 1);
      expect(getAffinity()).toEqual(all);
      expect(manager.holds).toBe(0);
    });

    it('are left alone where the manager is on a CPU that they may not use', () => {
      const { same, manager } = open();
      manager.cpu = Math.max(...all) + 1;
      faults(same, 17);
      expect(getAffinity()).toEqual(all);
      expect(manager.holds).toBe(0);
    });

    it('and have ended meanwhile are nothing to bind', () => {
      const { same, manager } = open();
      faults(same, 17, false, 2 ** 30);
      expect(manager.holds).toBe(0);
    });
  },
);
