import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from 'vitest';
import { threadId } from '../linux/processes/process.js';
import { getAffinity, setAffinity } from '../linux/threads/affinity.js';
import { KeptThread } from './kept-thread.js';

const all = getAffinity();
const [first] = all;
const last = all[all.length - 1];
const me = threadId();

/** A worker that says its thread. */
const SAYS_ID = `
const { parentPort } = require('worker_threads');
parentPort.on('message', () => {});
parentPort.postMessage(Number(require('fs').readlinkSync('/proc/thread-self').split('/').at(-1)));
`;

describe.skipIf(availableParallelism() < 2)('a thread of the program', () => {
  const threads: Worker[] = [];
  const processes: ChildProcess[] = [];

  async function startThread(): Promise<number> {
    const worker = new Worker(SAYS_ID, { eval: true });
    threads.push(worker);
    const [id] = await once(worker, 'message');
    return id;
  }

  /** A process, and one that it has started itself. */
  async function startProcesses(): Promise<number[]> {
    const child = spawn('sh', ['-c', 'sleep 60 & echo $!; wait'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    processes.push(child);
    const [text] = await once(child.stdout, 'data');
    return [child.pid as number, Number(String(text))];
  }

  afterEach(async () => {
    setAffinity(all);
    await Promise.all(threads.splice(0).map((worker) => worker.terminate()));
    for (const child of processes.splice(0)) child.kill();
  });

  it('stays on a CPU until it is let go', () => {
    const kept = new KeptThread();
    for (const cpu of [first, last]) {
      expect(kept.keep(me, cpu)).toBe(true);
      expect(getAffinity()).toEqual([cpu]);
      kept.letGo();
      expect(getAffinity()).toEqual(all);
    }
  });

  it('is let go together with what it has started', async () => {
    const kept = new KeptThread();
    const pinned = await startThread();
    setAffinity([last], pinned);
    kept.keep(me, last);
    const started = [await startThread(), ...(await startProcesses())];
    for (const each of started) expect(getAffinity(each)).toEqual([last]);
    kept.letGo();
    for (const each of started) expect(getAffinity(each)).toEqual(all);
    expect(getAffinity(pinned), 'a thread that the program has bound itself').toEqual([last]);
  });

  it('keeps the CPU that it was given meanwhile', () => {
    const kept = new KeptThread();
    kept.keep(me, first);
    setAffinity([last]);
    kept.letGo();
    expect(getAffinity()).toEqual([last]);
  });

  it('is left alone where it may not run there, or nowhere else, and when it has ended', async () => {
    const kept = new KeptThread();
    const thread = await startThread();
    setAffinity([first], thread);
    for (const cpu of [first, last]) expect(kept.keep(thread, cpu)).toBe(false);
    expect(getAffinity(thread)).toEqual([first]);
    setAffinity(all, thread);
    expect(kept.keep(thread, last)).toBe(true);
    await Promise.all(threads.splice(0).map((worker) => worker.terminate()));
    kept.letGo();
    expect(kept.keep(thread, last)).toBe(false);
  });
});
