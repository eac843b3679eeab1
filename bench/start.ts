/** What it takes to begin: opening a space, and a launch that does nothing. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { kernel, openSpace, u32 } from '../src/index.js';
import { HandDevice } from './hand-device.js';
import { type Bench, compare, type Settings, verify } from './harness.js';

const LAUNCHES = 1000;

const nothing = kernel({ x: u32.in }, () => undefined);

async function runEmpty(settings: Settings): Promise<void> {
  const hand = HandDevice.start(1);
  try {
    await using space = await openSpace({
      devices: [{ kind: 'process', memory: '64MiB', units: 1 }],
    });
    const [device] = space.devices;
    const x = space.array(Uint32Array, 1);
    await compare(settings, {
      name: 'launch-empty',
      unit: 'us',
      better: 'lower',
      ours: async () => {
        const { launches } = device.stats();
        const start = performance.now();
        for (let launch = 0; launch < LAUNCHES; launch++)
          await device.run(nothing, { x }, { size: 1 });
        const elapsed = performance.now() - start;
        verify(device.stats().launches === launches + LAUNCHES, 'the number of launches');
        return (elapsed * 1000) / LAUNCHES;
      },
      references: {
        'by hand': () => {
          const start = performance.now();
          for (let launch = 0; launch < LAUNCHES; launch++) hand.run();
          return ((performance.now() - start) * 1000) / LAUNCHES;
        },
      },
      extra: { launches: LAUNCHES },
    });
  } finally {
    hand.close();
  }
}

/** Two threads, beside each other, that do nothing: a space has a manager and a sentinel. */
async function bareThreads(): Promise<void> {
  const workers = [0, 1].map(() => new Worker('', { eval: true }));
  await Promise.all(workers.map((worker) => once(worker, 'exit')));
}

async function bareProcess(): Promise<void> {
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
}

async function timed(action: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await action();
  return performance.now() - start;
}

async function opened(devices: number): Promise<number> {
  const start = performance.now();
  const space = await openSpace({
    devices: Array.from({ length: devices }, () => ({ kind: 'process' as const, memory: '64MiB' })),
  });
  const elapsed = performance.now() - start;
  await space.close();
  return elapsed;
}

async function runOpen(settings: Settings): Promise<void> {
  for (const devices of [0, 1]) {
    await compare(settings, {
      name: `open/${devices === 0 ? 'host' : 'device'}`,
      unit: 'ms',
      better: 'lower',
      ours: () => opened(devices),
      beside: {
        'two threads that do nothing': () => timed(bareThreads),
        ...(devices > 0 ? { 'a process that does nothing': () => timed(bareProcess) } : {}),
      },
    });
  }
}

export const launchEmpty: Bench = {
  name: 'launch-empty',
  what: 'us of a launch of a kernel that does nothing; beside a message there and back by hand',
  run: runEmpty,
};

export const open: Bench = {
  name: 'open',
  what: 'ms of opening a space without and with a device; beside bare threads and a bare process',
  run: runOpen,
};
