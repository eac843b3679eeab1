/** A machine without a GPU runs programs on one in software, by one command. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { longTest, note, runTests, test } from '../harness/suite.js';

const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const script = fileURLToPath(new URL('../../../scripts/software-gpu.mjs', import.meta.url));
const fetched = fileURLToPath(
  new URL('../../../node_modules/.cache/software-gpu/files', import.meta.url),
);

/** Runs the command with a cache of its own. */
function gpu(cache: string, ...args: string[]) {
  const env = { ...process.env, XDG_CACHE_HOME: cache };
  return spawnSync(process.execPath, [command, 'gpu', ...args], { encoding: 'utf8', env });
}

function withCache(use: (cache: string) => void): void {
  const cache = mkdtempSync(join(tmpdir(), 'onemem-cache-'));
  try {
    use(cache);
  } finally {
    rmSync(cache, { recursive: true });
  }
}

/** With a GPU in software in the cache, which tests of GPUs have fetched, or this one fetches. */
function withGpu(use: (cache: string) => void): void {
  const { status, stderr } = spawnSync(process.execPath, [script], {
    encoding: 'utf8',
    timeout: 240_000,
  });
  if (status !== 0) {
    note(`SKIPPED, for want of a GPU in software: ${stderr}`);
    return;
  }
  withCache((cache) => {
    mkdirSync(join(cache, 'onemem/software-gpu'), { recursive: true });
    symlinkSync(fetched, join(cache, 'onemem/software-gpu/files'));
    use(cache);
  });
}

longTest(
  'a program finds the GPU in software that was fetched',
  () =>
    withGpu((cache) => {
      const { stdout, stderr } = gpu(
        cache,
        '--software',
        '--',
        process.execPath,
        command,
        'doctor',
        '--json',
      );
      const { features } = JSON.parse(stdout) as {
        features: { name: string; available: boolean; detail: string }[];
      };
      const found = features.find(({ name }) => name === 'GPU by WebGPU');
      assert.match(`${found?.available} ${found?.detail}`, /^true SwiftShader/, stderr);
    }),
  300,
);

longTest(
  'the command ends as the program does',
  () =>
    withGpu((cache) => {
      assert.equal(
        gpu(cache, '--software', '--', process.execPath, '-e', 'process.exit(7)').status,
        7,
      );
      assert.equal(
        gpu(cache, '--software', '--', process.execPath, '-e', 'process.kill(process.pid)').status,
        143,
      );
    }),
  300,
);

test('where there is none, packages and variables are named', () =>
  withCache((cache) => {
    const { status, stderr } = gpu(cache, '--software', '--', 'true');
    if (status === 0) {
      note('not run: one is installed');
      return;
    }
    assert.equal(status, 1);
    assert.match(
      stderr,
      /--fetch gets one.*apt-get install chromium-common libvulkan1.*VK_DRIVER_FILES/,
    );
  }));

test('a command line without a program is told how to write it', () =>
  withCache((cache) => {
    const { status, stderr } = gpu(cache, '--software');
    assert.equal(status, 2);
    assert.match(stderr, /onemem gpu --software \[--fetch\] -- COMMAND/);
  }));

await runTests();
