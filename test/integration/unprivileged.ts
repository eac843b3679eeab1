/**
 * A program that may do nothing special. It gets userfaultfd for faults of its own code only: a
 * system call that is handed an address whose page is not there fails with EFAULT, or moves less
 * than it was asked to, and the message says nothing of pages. readFrom and writeTo go through the
 * manager's own mapping and work; so do launches.
 */
import assert from 'node:assert/strict';
import { chownSync, cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { goneWithin, runProgram, type Traces } from '../harness/processes.js';
import { longTest, note, runTests, sameData } from '../harness/suite.js';

const NOBODY = 65534;
const build = fileURLToPath(new URL('../..', import.meta.url));
const modules = join(dirname(build.replace(/\/$/, '')), 'node_modules');

/** The compiled tree and the packages that it needs at run time, where every user can read them. */
function readableCopy(): string {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-unprivileged-'));
  chownSync(folder, NOBODY, NOBODY);
  for (const part of ['src', 'test/harness', 'test/integration', 'package.json']) {
    cpSync(join(build, part), join(folder, part), { recursive: true });
  }
  const { dependencies } = JSON.parse(
    readFileSync(join(modules, 'koffi/package.json'), 'utf8'),
  ) as {
    dependencies?: Record<string, string>;
  };
  assert.equal(dependencies, undefined, 'koffi stands alone');
  for (const name of [
    'koffi',
    '@koromix',
    'acorn',
    'eslint-scope',
    'esrecurse',
    'estraverse',
    '@types/esrecurse',
  ]) {
    cpSync(join(modules, name), join(folder, 'node_modules', name), {
      recursive: true,
      dereference: true,
    });
  }
  return folder;
}

interface Report {
  readonly faultsBy: string;
  readonly uid: number;
  readonly direct: string;
  readonly resident: string;
  readonly pinned: string;
  readonly lock: string;
  readonly viaManager: number;
  readonly back: number;
  readonly sum: number;
}

/** What the program found, which is the same whether the rights are missing or given up. */
function check(report: Report, written: Buffer): void {
  note(`faults by ${report.faultsBy}; fs.writeSync of pages that are not there: ${report.direct}`);
  assert.equal(report.faultsBy, 'user-mode');
  assert.match(report.direct, /^(EFAULT|short: \d+ of 1048576)$/);
  assert.equal(report.resident, '4096 of 4096');
  assert.equal(report.pinned, '1048576 of 1048576');
  note(`locking more than is allowed: ${report.lock}`);
  if (report.lock !== 'nothing to be refused') {
    assert.equal(
      report.lock,
      'locked false, MEMORY_LOCK {"array":"large","neededBytes":all,"allowedBytes":limit,"lockedBytes":0}, 0 of 0',
    );
  }
  assert.equal(report.viaManager, 4 * 2 ** 20);
  assert.equal(report.back, 4 * 2 ** 20);
  assert.equal(report.sum, 3 * 2 ** 20);
  sameData(
    new Int32Array(written.buffer.slice(written.byteOffset, written.byteOffset + written.length)),
    (i) => i + 2,
  );
}

longTest('a program that gives up the right to serve system calls', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-user-mode-'));
  try {
    const { code, stdout, stderr } = await runProgram('unprivileged', [
      join(folder, 'out'),
      'userModeOnly',
    ]);
    assert.equal(code, 0, stderr);
    check(
      JSON.parse(/^report (.*)$/m.exec(stdout)?.[1] ?? 'null') as Report,
      readFileSync(join(folder, 'out')),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

if (process.getuid?.() === 0) {
  longTest('another user without any rights', async () => {
    const folder = readableCopy();
    try {
      const out = join(folder, 'out');
      const options = {
        uid: NOBODY,
        gid: NOBODY,
        cwd: folder,
        folder: join(folder, 'test/integration'),
      };
      const { code, stdout, stderr } = await runProgram('unprivileged', [out], options);
      assert.equal(code, 0, stderr);
      const report = JSON.parse(/^report (.*)$/m.exec(stdout)?.[1] ?? 'null') as Report;
      assert.equal(report.uid, NOBODY);
      check(report, readFileSync(out));
      const traces = JSON.parse(/^traces (.*)$/m.exec(stdout)?.[1] ?? 'null') as Traces;
      assert.deepEqual(await goneWithin(10_000, traces), []);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
} else
  note(
    'not run as root: this user has what an unprivileged user has, and the test above says what that is',
  );

await runTests();
