/**
 * `onemem run` over files that the kernel has in memory, as a whole process, beside what users
 * would write instead.
 */
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npyHeader } from '../src/files/npy.js';
import { type Bench, compare, type Settings, verify } from './harness.js';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** As users have it: bundled. */
const COMMAND = join(ROOT, 'dist/cli/main.js');
const SIZES = { '200MB': 5e7, '2GB': 5e8 } as const;
const PIECE = 2 ** 20;

const KERNEL = `export default {
  params: { x: 'f32.in', y: 'f32.inout', alpha: 'f32' },
  kernel({ x, y, alpha }, { begin, end }) {
    for (let i = begin; i < end; i++) y[i] += alpha * x[i];
  },
};
`;

/** Pieces of 4 MiB by readSync, a temporary file, fsync and rename. */
const BY_HAND = `import fs from 'node:fs';
const n = Number(process.argv[2]), B = ${PIECE}, x = new Float32Array(B), y = new Float32Array(B);
const fx = fs.openSync('x.npy'), fy = fs.openSync('y.npy'), out = fs.openSync('out.tmp', 'w');
const header = Buffer.alloc(128);
fs.readSync(fy, header, 0, 128, 0);
fs.writeSync(out, header, 0, 128, 0);
for (let at = 0; at < n; at += B) {
  const m = Math.min(B, n - at);
  fs.readSync(fx, x, 0, m * 4, 128 + at * 4);
  fs.readSync(fy, y, 0, m * 4, 128 + at * 4);
  for (let i = 0; i < m; i++) y[i] += 3 * x[i];
  fs.writeSync(out, y, 0, m * 4, 128 + at * 4);
}
fs.fsyncSync(out);
fs.renameSync('out.tmp', 'y.npy');
`;

const NUMPY = `import numpy as np, os
y = np.load('y.npy')
y += np.float32(3) * np.load('x.npy')
with open('out.tmp', 'wb') as out:
    np.save(out, y)
    out.flush()
    os.fsync(out.fileno())
os.rename('out.tmp', 'y.npy')
`;

/** A file of one number. */
function makeFile(path: string, length: number, value: number): void {
  const fd = openSync(path, 'w');
  writeSync(fd, npyHeader('f32', [length]));
  const piece = new Float32Array(PIECE).fill(value);
  for (let at = 0; at < length; at += PIECE)
    writeSync(fd, piece.subarray(0, Math.min(PIECE, length - at)));
  closeSync(fd);
}

/** Every element of y has grown by so much as often as it was computed. */
function check(path: string, length: number, expected: number): void {
  const fd = openSync(path, 'r');
  const piece = new Float32Array(PIECE);
  for (let at = 0; at < length; at += PIECE) {
    const count = Math.min(PIECE, length - at);
    readSync(fd, piece, 0, count * 4, 128 + at * 4);
    verify(
      piece.subarray(0, count).findIndex((value) => value !== expected) === -1,
      `elements from ${at} on`,
    );
  }
  closeSync(fd);
}

async function runFiles(settings: Settings): Promise<void> {
  const built = spawnSync(process.execPath, ['scripts/build.mjs', 'dist'], {
    cwd: ROOT,
    stdio: 'inherit',
  });
  verify(built.status === 0, 'the build of dist');
  const hasNumpy = spawnSync('python3', ['-c', 'import numpy']).status === 0;
  for (const [name, length] of Object.entries(SIZES)) {
    if (!settings.wants(`run/${name}`)) continue;
    const cwd = mkdtempSync(join(tmpdir(), 'onemem-bench-'));
    let computed = 0;
    const timed = (command: string, ...args: string[]): number => {
      const start = performance.now();
      const { status, stderr } = spawnSync(command, args, { cwd });
      const elapsed = performance.now() - start;
      verify(status === 0, `${command} ${args.join(' ')}: ${stderr}`);
      computed++;
      return elapsed;
    };
    const files = ['--in', 'x=x.npy', '--inout', 'y=y.npy', '--set', 'alpha=3', '--json'];
    const run = (units: number) =>
      timed(process.execPath, COMMAND, 'run', 'kernel.mjs', ...files, '--units', String(units));
    try {
      writeFileSync(join(cwd, 'kernel.mjs'), KERNEL);
      writeFileSync(join(cwd, 'by-hand.mjs'), BY_HAND);
      writeFileSync(join(cwd, 'with-numpy.py'), NUMPY);
      makeFile(join(cwd, 'x.npy'), length, 2);
      makeFile(join(cwd, 'y.npy'), length, 1);
      await compare(settings, {
        name: `run/${name}`,
        unit: 'ms',
        better: 'lower',
        ours: () => run(2),
        references: { 'by hand': () => timed(process.execPath, 'by-hand.mjs', String(length)) },
        beside: {
          'one unit': () => run(1),
          ...(hasNumpy ? { NumPy: () => timed('python3', 'with-numpy.py') } : {}),
        },
        extra: { elements: length, units: 2 },
        rotates: true,
      });
      check(join(cwd, 'y.npy'), length, 1 + 6 * computed);
    } finally {
      rmSync(cwd, { recursive: true });
    }
  }
}

export const run: Bench = {
  name: 'run',
  what: 'onemem run over cached files of 200 MB and 2 GB, the whole process, beside readSync by hand, and NumPy',
  run: runFiles,
};
