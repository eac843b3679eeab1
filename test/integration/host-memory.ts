/**
 * `hostMemory: 'auto'`: the host's budget follows what the machine, and the control groups around
 * the process, have left.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type AddressSpace, openSpace } from '../../src/index.js';
import { makeGroup } from '../harness/control-group.js';
import { Program, until } from '../harness/processes.js';
import { longTest, note, runTests, sameData, test } from '../harness/suite.js';

const MIB = 2 ** 20;
const N = 16 * MIB;

const folder = mkdtempSync(join(tmpdir(), 'onemem-host-memory-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

/** A machine made of files, with a group of 256 MiB; other programs use what is said. */
function machine(name: string): {
  root: string;
  others(mebibytes: number): void;
  stalled(ms: number): void;
} {
  const root = join(folder, name);
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(root + path), { recursive: true });
    writeFileSync(root + path, text);
  };
  write('/proc/meminfo', 'MemTotal: 8388608 kB\nMemAvailable: 8388608 kB\n');
  write('/proc/self/cgroup', '0::/g\n');
  write('/proc/self/mountinfo', '30 20 0:26 / /cg rw - cgroup2 cgroup2 rw\n');
  write('/cg/g/memory.max', `${256 * MIB}\n`);
  const others = (mebibytes: number): void => write('/cg/g/memory.current', `${mebibytes * MIB}\n`);
  const stalled = (ms: number): void =>
    write('/cg/g/memory.pressure', `some avg10=0 avg60=0 avg300=0 total=${ms * 1000}\n`);
  others(0);
  stalled(0);
  return { root, others, stalled };
}

function open(root: string): Promise<AddressSpace> {
  const storage = { path: folder, bytes: '256MiB' };
  return openSpace({ hostMemory: 'auto', memoryRoot: root, storage });
}

const budgetOf = (space: AddressSpace): number => space.stats().processors[0].budgetBytes / MIB;

longTest(
  'the budget is what a control group has left, shrinks when others take of it, and grows again when they have gone',
  async () => {
    const { root, others } = machine('taken');
    await using space = await open(root);
    // Of 256 MiB the space itself needs 64, and 32 are to spare.
    assert.equal(budgetOf(space), 160);
    const x = space.array(Int32Array, N);
    for (let i = 0; i < N; i++) x.data[i] = i;
    // The files do not count what this space has: it has 64 MiB, and others leave it 8 of what is not
    // to spare.
    others(216);
    await until('the budget shrinks', () => budgetOf(space) <= 72);
    others(232);
    await until('pages go to storage', () => budgetOf(space) < 64);
    assert.ok(space.stats().processors[0].backedBytes < 64 * MIB);
    sameData(x.data, (i) => i);
    const shrunken = budgetOf(space);
    others(0);
    await until('the budget grows', () => budgetOf(space) > shrunken);
    sameData(x.data, (i) => i);
    space.checkInvariants();
  },
);

longTest(
  'the budget shrinks while threads stand still for want of memory, down to what arrays need at least',
  async () => {
    const { root, stalled } = machine('pressed');
    const storage = { path: folder, bytes: '32MiB' };
    await using space = await openSpace({ hostMemory: 'auto', memoryRoot: root, storage });
    using _x = space.array(Int32Array, 20 * MIB);
    let ms = 0;
    await until('the budget shrinks', () => {
      stalled((ms += 1000));
      return budgetOf(space) === 48;
    });
  },
);

test('a program that says how much host memory it wants ends that', async () => {
  const { root, others } = machine('said');
  await using space = await open(root);
  await space.setHostMemory('64MiB');
  others(250);
  const started = Date.now();
  await until('two looks have passed', () => Date.now() - started > 1200);
  assert.equal(budgetOf(space), 64);
});

longTest(
  'a program in a control group gives memory to its neighbour, and takes it back',
  async () => {
    const group = makeGroup('test', 384 * MIB);
    if (group === null) {
      note('NOT TESTED: this machine lets us make no control group');
      return;
    }
    const program = new Program('following', [group.folder, folder], { seconds: 60 });
    const programs = [program];
    try {
      const alone = Number(await program.line('budget '));
      const budget = (): number => Number(program.last('budget '));
      const neighbour = new Program('neighbour', [group.folder, '160'], { seconds: 60 });
      programs.push(neighbour);
      await neighbour.line('taken ');
      await until('the budget shrinks', () => budget() < alone - 64 * MIB);
      const beside = budget();
      neighbour.kill();
      await until('the budget grows', () => budget() > beside + 32 * MIB);
      program.signal('SIGTERM');
      const { stdout, code } = await program.outcome;
      assert.match(stdout, /as written/);
      assert.equal(code, 0);
    } finally {
      for (const each of programs) each.kill();
      await Promise.allSettled(programs.map(({ outcome }) => outcome));
      group.remove();
    }
  },
  60,
);

await runTests();
