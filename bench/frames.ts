/** The example of a pool of frames: from the first byte decoded to the last one read. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Bench, compare, type Settings, verify } from './harness.js';

const PROGRAM = fileURLToPath(new URL('../examples/apps/frames.js', import.meta.url));

async function run(settings: Settings): Promise<void> {
  let p99 = Number.NaN;
  const p99s: number[] = [];
  await compare(settings, {
    name: 'frames',
    unit: 'ms',
    better: 'lower',
    warmUp: 0,
    ours: async () => {
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM]);
      const found = /p50 ([\d.]+) ms, p99 ([\d.]+) ms/.exec(stdout);
      verify(found !== null, 'the frames');
      p99 = Number(found?.[2]);
      p99s.push(p99);
      return Number(found?.[1]);
    },
    beside: { p99: () => p99 },
    extra: () => ({ p99Worst: Math.max(...p99s) }),
  });
}

export const frames: Bench = {
  name: 'frames',
  what: 'ms of a 4K frame from a decoder to a reader, two decoders, one killed; p50, p99 beside',
  run,
};
