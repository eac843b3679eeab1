/** Threads that ask to be on the manager's CPU, and those that must not be there by accident. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, i32, kernel, openSpace } from '../../src/index.js';
import { getAffinity } from '../../src/linux/threads/affinity.js';
import { failsWith, longTest, note, runTests, sameData, sleep, test } from '../harness/suite.js';

const all = getAffinity();
const [cpu] = all;
const last = all[all.length - 1];

/** What a thread says of itself. */
interface Said {
  readonly thread: number;
  readonly cpus: readonly number[];
  readonly failure?: string;
}

const doubled = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] *= 2;
});

/** Touches pages far apart, each of them once: 769 has no divisor in common with a power of two. */
const scattered = kernel({ x: i32.inout }, ({ x }, { begin, end }) => {
  const pages = x.length / 1024;
  for (let i = begin; i < end; i++) x[((i * 769) % pages) * 1024] *= 2;
});

/** The threads of a process that may run on one CPU alone, by the kernel. */
function boundThreads(pid: number | 'self' = 'self'): number[] {
  const cpusOf = (thread: string): string => {
    try {
      return (
        /^Cpus_allowed_list:\s+(.*)$/m.exec(
          readFileSync(`/proc/${pid}/task/${thread}/status`, 'latin1'),
        )?.[1] ?? ''
      );
    } catch {
      // It has ended.
      return '';
    }
  };
  return readdirSync(`/proc/${pid}/task`)
    .filter((thread) => /^\d+$/.test(cpusOf(thread)))
    .map(Number);
}

/** Waits until so many threads are bound. */
async function untilBound(count: number): Promise<number[]> {
  const late = Date.now() + 10_000;
  while (boundThreads().length !== count && Date.now() < late) await sleep(20);
  const bound = boundThreads();
  assert.equal(bound.length, count, `bound are ${bound.join(', ')}`);
  return bound;
}

async function startThread(space: AddressSpace | null): Promise<{ worker: Worker; said: Said }> {
  const url = new URL('./programs/binding-thread.js', import.meta.url);
  const worker = new Worker(url, { workerData: space?.handle ?? null });
  const [said] = await once(worker, 'message');
  return { worker, said };
}

async function tell(worker: Worker, order: string | number | null): Promise<Said> {
  worker.postMessage(order);
  const [said] = await once(worker, 'message');
  return said;
}

/** Where there is one CPU, all is on it: nothing can be told from threads that are bound. */
function testOfBonds(name: string, run: () => Promise<void>, kind = test): void {
  if (all.length > 1) kind(name, run);
  else kind(name, () => note('this process has one CPU: not run'));
}

testOfBonds('a thread and the manager have one CPU until it is released', async () => {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  assert.deepEqual(boundThreads(), []);
  for (const wanted of all) {
    const binding = space.bindThread({ cpu: wanted });
    assert.equal(binding.cpu, wanted);
    assert.deepEqual(getAffinity(), [wanted]);
    const bound = boundThreads();
    assert.equal(bound.length, 2);
    assert.ok(bound.includes(process.pid));
    const x = space.array(Int32Array, 2 ** 20);
    for (let i = 0; i < x.length; i++) x.data[i] = i;
    await space.devices[0].run(doubled, { x }, { size: x.length });
    sameData(x.data, (i) => 2 * i);
    x.free();
    binding.release();
    assert.deepEqual(boundThreads(), []);
    assert.deepEqual(getAffinity(), all);
    binding.release();
  }
  {
    using binding = space.bindThread();
    assert.ok(all.includes(binding.cpu));
    assert.deepEqual(getAffinity(), [binding.cpu]);
  }
  assert.deepEqual(getAffinity(), all);
});

testOfBonds(
  'no thread stays bound when single pages of storage have been touched one after the other',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'onemem-binding-'));
    try {
      await using space = await openSpace({
        hostMemory: '32MiB',
        storage: { path: folder, bytes: '256MiB' },
      });
      const x = space.array(Int32Array, 24 * 2 ** 20);
      x.advise({ pattern: 'random' });
      for (let i = 0; i < x.length; i++) x.data[i] = i;
      const pages = x.length / 1024;
      const kept = new Set<number>();
      for (let touch = 0; touch < 4000; touch++) {
        const at = ((touch * 7919) % pages) * 1024 + (touch % 1024);
        assert.equal(x.data[at], at);
        const cpus = getAffinity();
        if (cpus.length === 1) kept.add(cpus[0]);
        else assert.deepEqual(cpus, all);
      }
      assert.ok(kept.size <= 1, `the thread was kept on CPUs ${[...kept].join(', ')}`);
      // What it starts now has all CPUs in a moment.
      const child = spawn('sleep', ['60']);
      const { worker } = await startThread(null);
      await untilBound(0);
      assert.deepEqual(getAffinity(child.pid), all);
      child.kill();
      await worker.terminate();
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  longTest,
);

testOfBonds('the close of a space releases all its threads', async () => {
  const space = await openSpace();
  const binding = space.bindThread({ cpu: last });
  const { worker, said } = await startThread(space);
  const { cpus } = await tell(worker, null);
  assert.deepEqual(cpus, [last]);
  assert.ok(boundThreads().includes(said.thread));
  await space.close();
  assert.deepEqual(boundThreads(), []);
  assert.deepEqual(getAffinity(), all);
  binding.release();
  await worker.terminate();
  // Another space has nothing to do with what this one left.
  await using next = await openSpace();
  using bound = next.bindThread({ cpu });
  assert.deepEqual(getAffinity(), [bound.cpu]);
});

testOfBonds('threads ask for themselves, and the last one lets the manager go', async () => {
  await using space = await openSpace();
  const { worker, said } = await startThread(space);
  assert.deepEqual(said.cpus, all);
  assert.deepEqual((await tell(worker, last)).cpus, [last]);
  assert.equal(boundThreads().length, 2);
  assert.deepEqual(getAffinity(), all);
  const binding = space.bindThread();
  assert.equal(binding.cpu, last, 'a thread that comes later has the CPU of the manager');
  assert.equal(boundThreads().length, 3);
  binding.release();
  assert.equal(boundThreads().length, 2);
  assert.deepEqual((await tell(worker, 'release')).cpus, all);
  assert.deepEqual(boundThreads(), []);
  // One that leaves the space is as one that releases, and one that is ended cannot say it.
  assert.deepEqual((await tell(worker, null)).cpus.length, 1);
  assert.deepEqual((await tell(worker, 'leave')).cpus, all);
  assert.deepEqual(boundThreads(), []);
  await worker.terminate();
  const second = await startThread(space);
  await tell(second.worker, null);
  await second.worker.terminate();
  await untilBound(0);
});

testOfBonds('what a bound thread starts has all CPUs', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-binding-'));
  try {
    await using space = await openSpace({ storage: { path: folder, bytes: '64MiB' } });
    using _binding = space.bindThread({ cpu });
    const device = await space.addDevice({ kind: 'process', memory: '8MiB' });
    const { pid } = device;
    assert.notEqual(pid, null);
    assert.deepEqual(boundThreads(pid as number), [], 'threads of a device');
    await using other = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
    assert.deepEqual(
      boundThreads(other.devices[0].pid as number),
      [],
      'threads of a device of another space',
    );
    assert.equal(boundThreads().length, 2, 'the manager of another space is bound');
    // The pool of Node.js, a worker, and threads of the manager's own begin bound, as Linux has it,
    // and do not stay so.
    await stat(folder);
    const { worker } = await startThread(null);
    const x = space.array(Int32Array, 2 ** 20);
    x.data.fill(1);
    await x.writeTo(openSync(join(folder, 'x'), 'w'), { position: 0 });
    const bound = await untilBound(2);
    assert.ok(bound.includes(process.pid));
    assert.deepEqual((await tell(worker, 'release')).cpus, all);
    await worker.terminate();
    // A process that the program starts is the program's own business, as under taskset.
    const { stdout } = spawnSync('grep', ['Cpus_allowed_list', '/proc/self/status'], {
      encoding: 'latin1',
    });
    assert.match(stdout, new RegExp(`:\\s+${cpu}$`, 'm'));
  } finally {
    rmSync(folder, { recursive: true });
  }
});

testOfBonds(
  'a device whose touches lie scattered has the CPU of the manager, as long as they do',
  async () => {
    await using space = await openSpace({ devices: [{ kind: 'process', memory: '4MiB' }] });
    const [device] = space.devices;
    const x = space.array(Int32Array, 2 ** 22);
    for (let i = 0; i < x.length; i++) x.data[i] = i;
    let runs = true;
    const launch = device.run(scattered, { x }, { size: x.length / 1024 }).finally(() => {
      runs = false;
    });
    const bound = () => [boundThreads(device.pid as number).length, boundThreads().length];
    let together = false;
    while (runs && !together) {
      await sleep(1);
      together = bound().every((count) => count === 1);
    }
    assert.ok(together, 'a thread of the device and the manager were never bound at a time');
    // Where the program wants the manager elsewhere, that counts, and nothing waits for it.
    for (const wanted of all) {
      using binding = space.bindThread({ cpu: wanted });
      assert.equal(binding.cpu, wanted);
    }
    await launch;
    assert.deepEqual(bound(), [0, 0]);
    sameData(x.data, (i) => (i % 1024 === 0 ? 2 * i : i));
  },
);

longTest('a bond that cannot be is refused, and nothing is bound', async () => {
  await using space = await openSpace();
  for (const wrong of [-1, 1.5, 8191, 1e9, '0', null, Number.NaN]) {
    const error = await failsWith('CPU', () => space.bindThread({ cpu: wrong as number }));
    assert.ok(error instanceof RangeError);
    assert.match(
      error.message,
      /^cpu is .*; (it must be the number of a CPU|this thread may run on CPUs? \d)/,
    );
  }
  await failsWith('OPTIONS', () => space.bindThread({ cpus: [0] } as never));
  await failsWith('OPTIONS', () => space.bindThread(0 as never));
  assert.deepEqual(getAffinity(), all);
  const binding = space.bindThread({ cpu });
  const again = await failsWith('THREAD_BOUND', () => space.bindThread());
  assert.match(again.message, new RegExp(`bound to CPU ${cpu} already; release\\(\\) that first`));
  await using other = await openSpace();
  await failsWith('THREAD_BOUND', () => other.bindThread());
  if (all.length > 1) {
    const { worker } = await startThread(space);
    const { failure, thread } = await tell(worker, last);
    assert.match(
      failure ?? '',
      new RegExp(
        `^THREAD_BOUND: .* to CPU ${last}: the manager is on CPU ${cpu}, to which thread ${process.pid} is bound; leave cpu out`,
      ),
    );
    assert.ok(!boundThreads().includes(thread));
    await worker.terminate();
  }
  binding.release();
  const closed = await openSpace();
  await closed.close();
  await failsWith('SPACE_CLOSED', () => closed.bindThread());
  assert.deepEqual(getAffinity(), all);
});

await runTests();
