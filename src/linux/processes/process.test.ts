import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, fstatSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { POLLIN } from '../base/constants.js';
import { createMemoryFile } from '../memory/memory.js';
import { Poller } from '../sockets/poll.js';
import {
  hasCapability,
  lockedMemoryLimit,
  pidfdGetfd,
  pidfdOpen,
  pidfdSendSignal,
  setParentDeathSignal,
  threadId,
} from './process.js';

const cleanups: (() => void)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

function sleeper(stdio: Parameters<typeof spawn>[2]['stdio'] = 'ignore'): {
  child: ChildProcess;
  pid: number;
  pidfd: number;
} {
  const child = spawn('sleep', ['60'], { stdio });
  cleanups.push(() => child.kill('SIGKILL'));
  const pid = child.pid ?? -1;
  const pidfd = pidfdOpen(pid);
  cleanups.push(() => closeSync(pidfd));
  return { child, pid, pidfd };
}

describe('pidfd', () => {
  it('becomes readable when the process is killed, and then takes no more signals', async () => {
    const { child, pidfd } = sleeper();
    const poller = new Poller(1);
    poller.set(0, pidfd);
    expect(poller.wait(0)).toBe(0);
    const exit = new Promise((resolve) => child.once('exit', (_code, signal) => resolve(signal)));
    expect(pidfdSendSignal(pidfd, 0)).toBe(true);
    expect(pidfdSendSignal(pidfd, 9)).toBe(true);
    expect(poller.wait(5000)).toBe(1);
    expect(poller.readyAt(0) & POLLIN).toBe(POLLIN);
    expect(await exit).toBe('SIGKILL');
    expect(pidfdSendSignal(pidfd, 0)).toBe(false);
  });

  it("takes a child's descriptor", () => {
    const file = createMemoryFile('test', 4096);
    cleanups.push(() => closeSync(file));
    const { pidfd } = sleeper(['ignore', 'ignore', 'ignore', file]);
    const copy = pidfdGetfd(pidfd, 3);
    cleanups.push(() => closeSync(copy));
    expect(copy).not.toBe(file);
    expect(fstatSync(copy).ino).toBe(fstatSync(file).ino);
    expect(() => pidfdGetfd(pidfd, 999)).toThrowError(
      /^pidfd_getfd\(pidfd=\d+, targetFd=999\) failed: EBADF/,
    );
  });

  it('names a process that is not there', () => {
    expect(() => pidfdOpen(2 ** 22 + 1)).toThrowError(
      /^pidfd_open\(pid=4194305\) failed: (ESRCH|EINVAL)/,
    );
  });
});

describe('processes and threads', () => {
  it('learn whether their parent was still there when they asked for a signal at its death', () => {
    cleanups.push(() => setParentDeathSignal(0, 0));
    expect(setParentDeathSignal(10, process.ppid)).toBe(true);
    expect(setParentDeathSignal(10, 1_000_000_000)).toBe(false);
    expect(() => setParentDeathSignal(1000, process.ppid)).toThrowError(
      /^prctl\(.*signal=1000\) failed: EINVAL/,
    );
  });

  it('have an id', () => {
    expect(threadId()).toBeGreaterThan(0);
  });
});

describe('limits', () => {
  it('of locked memory are those of the shell', () => {
    const text = spawnSync('sh', ['-c', 'ulimit -S -l; ulimit -H -l'], { encoding: 'utf8' })
      .stdout.trim()
      .split('\n');
    const [soft, hard] = text.map((value) =>
      value === 'unlimited' ? Number.POSITIVE_INFINITY : Number(value) * 1024,
    );
    expect(lockedMemoryLimit()).toEqual({ soft, hard });
  });

  it('include capabilities', () => {
    // CAP_CHECKPOINT_RESTORE is 40 and the last so far; a number beyond every kernel's is never
    // held.
    expect(hasCapability(63)).toBe(false);
  });
});
