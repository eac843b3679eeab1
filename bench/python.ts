/** NumPy on the arrays of a space: sums of what is in memory, and of four times as much. */
import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openSpace } from '../src/index.js';
import { type Bench, compare, type Settings, verify } from './harness.js';

const MODULES = fileURLToPath(new URL('../../python', import.meta.url));
const MIB = 2 ** 20;
const RESIDENT = 16 * MIB;
const HOST_MIB = 64;
const SCANNED = (4 * HOST_MIB * MIB) / 4;

/** Answers a line with the seconds that an expression takes, and with what it gives. */
const PROGRAM = `
import os, sys, time, onemem, numpy as np
space = onemem.attach()
x = space['x']
folder = os.environ['FOLDER']
def drop(path):
    fd = os.open(path, os.O_RDONLY)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)
print('ready', flush=True)
for line in sys.stdin:
    prepare, what = line.rstrip('\\n').split('|')
    exec(prepare)
    began = time.perf_counter()
    value = eval(what)
    print(time.perf_counter() - began, float(value), flush=True)
`;

class Python {
  private readonly child: ChildProcessWithoutNullStreams;
  private readonly lines: AsyncIterator<string>;

  private constructor(handle: string, folder: string) {
    const env = { ...process.env, PYTHONPATH: MODULES, ONEMEM_SPACE: handle, FOLDER: folder };
    this.child = spawn('python3', ['-c', PROGRAM], { env });
    this.child.stderr.pipe(process.stderr);
    this.lines = createInterface(this.child.stdout)[Symbol.asyncIterator]();
  }

  static async start(handle: string, folder = ''): Promise<Python> {
    const python = new Python(handle, folder);
    verify((await python.lines.next()).value === 'ready', 'the start of Python');
    return python;
  }

  /** Milliseconds that it takes to evaluate; `prepare` is run before. */
  async timed(what: string, expected: number, prepare = 'pass'): Promise<number> {
    this.child.stdin.write(`${prepare}|${what}\n`);
    const [seconds, value] = ((await this.lines.next()).value as string).split(' ').map(Number);
    verify(value === expected, what);
    return seconds * 1000;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin.end();
    await once(this.child, 'exit');
  }
}

function hasNumpy(settings: Settings, name: string): boolean {
  if (!settings.wants(name)) return false;
  if (spawnSync('python3', ['-c', 'import numpy']).status === 0) return true;
  const nothing = { ours: Number.NaN, reference: null, ratio: null, runs: 0, spread: 0 };
  settings.report({ name, unit: 'ms', ...nothing, skipped: 'python3 has no NumPy' });
  return false;
}

async function runResident(settings: Settings): Promise<void> {
  if (!hasNumpy(settings, 'python-resident')) return;
  await using space = await openSpace({ hostMemory: '256MiB' });
  space.array(Int32Array, RESIDENT, { name: 'x' }).data.fill(1);
  await using python = await Python.start(space.share());
  await python.timed('0', 0, 'plain = x.copy()');
  await compare(settings, {
    name: 'python-resident',
    unit: 'ms',
    better: 'lower',
    ours: () => python.timed('x.sum()', RESIDENT),
    references: { 'a plain array': () => python.timed('plain.sum()', RESIDENT) },
    extra: { elements: RESIDENT },
  });
}

async function runScan(settings: Settings): Promise<void> {
  if (!hasNumpy(settings, 'python-scan')) return;
  const folder = mkdtempSync(join(tmpdir(), 'onemem-bench-'));
  try {
    await using space = await openSpace({
      hostMemory: `${HOST_MIB}MiB`,
      storage: { path: folder, bytes: '1GiB' },
    });
    const { data } = space.array(Float32Array, SCANNED, { name: 'x' });
    // No page may be made of zeros alone.
    data.fill(1);
    await using python = await Python.start(space.share(), folder);
    const path = "os.path.join(folder, 'x.raw')";
    const mapped = `np.memmap(${path}, dtype='float32', mode='r').sum(dtype='float64')`;
    await python.timed('0', 0, `np.ones(${SCANNED}, 'float32').tofile(${path})`);
    await compare(settings, {
      name: 'python-scan',
      unit: 'ms',
      better: 'lower',
      rotates: true,
      ours: () => python.timed("x.sum(dtype='float64')", SCANNED),
      references: { 'numpy.memmap': () => python.timed(mapped, SCANNED, `drop(${path})`) },
      extra: { bytes: SCANNED * 4, hostBytes: HOST_MIB * MIB },
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

export const pythonBenches: readonly Bench[] = [
  {
    name: 'python-resident',
    what: 'ms of a sum by NumPy over an array that is in memory; beside a plain array',
    run: runResident,
  },
  {
    name: 'python-scan',
    what: 'ms of a sum by NumPy over four times the host memory; beside numpy.memmap, not cached',
    run: runScan,
  },
];
