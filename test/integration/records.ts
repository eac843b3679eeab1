/** Records of moves that a program starts and stops, and what a space tells of itself. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type AddressSpace, attachSpace, f32, kernel, openSpace } from '../../src/index.js';
import { sharedSpace } from '../harness/spaces.js';
import { longTest, runTests, test } from '../harness/suite.js';

const folder = mkdtempSync(join(tmpdir(), 'onemem-records-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const fileIn = (name: string): string => join(folder, name);
const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));

interface Costs {
  readonly launches: number;
  readonly faults: number;
  readonly decisions: readonly object[];
  readonly arrays: readonly { readonly name: string }[];
}

function command(...args: string[]): string {
  return execFileSync(process.execPath, [main, ...args], {
    cwd: folder,
    encoding: 'utf8',
    stdio: 'pipe',
  });
}

function explained(name: string): Costs {
  return JSON.parse(command('explain', name, '--json')) as Costs;
}

const look = kernel({ table: f32.in, data: f32.inout }, ({ table, data }, { begin, end }) => {
  for (let i = begin; i < end; i++) data[i] += table[i % table.length];
});

/** A table that all launches use, beside data that pass by: together more than the device has. */
async function thrash(space: AddressSpace, rounds = 4): Promise<void> {
  const table = space.array(Float32Array, 1_048_576, { name: 'table' });
  const data = space.array(Float32Array, 2_097_152, { name: 'data' });
  table.data.fill(1);
  for (let round = 0; round < rounds; round++)
    await space.devices[0].run(look, { table, data }, { size: data.length });
  assert.equal(data.data[7], rounds);
  data.free();
  table.free();
}

const OPTIONS = { devices: [{ kind: 'process', memory: '8MiB' }] } as const;

longTest(
  'a record of a part of a run is explained and drawn, and says nothing of what came later',
  async () => {
    await using space = await openSpace(OPTIONS);
    await thrash(space, 1);
    const recording = await space.record(fileIn('part.rec'));
    await thrash(space);
    const { path, bytes, failure } = await recording.stop();
    assert.deepEqual([path, failure], [fileIn('part.rec'), null]);
    const { size } = statSync(path);
    assert.ok(bytes > 1000 && bytes <= size, `${bytes} of ${size}`);
    await thrash(space, 1);
    assert.equal(statSync(path).size, size);
    const { launches, decisions, arrays } = explained('part.rec');
    assert.equal(launches, 4);
    assert.ok(
      decisions.length > 0 && arrays.some(({ name }) => name === 'table'),
      JSON.stringify(arrays),
    );
    assert.match(command('view', 'part.rec'), /^part\.rec\.html: \d+ KiB/);
    assert.throws(
      () => command('replay', 'part.rec'),
      /part\.rec is by space\.record\(\) and has moves only/,
    );
  },
);

longTest(
  'a space that keeps its history reports what was regretted, as the command does',
  async () => {
    await using space = await openSpace({ ...OPTIONS, history: '16MiB' });
    await thrash(space);
    const { launches, memories, decisions, advice, text } = await space.report();
    assert.equal(launches, 4);
    const device = memories.find(({ name }) => name === 'process0');
    assert.ok(device !== undefined && device.regretted > 0 && device.bytesReturned > 0, text);
    assert.ok(decisions.length > 0 && advice.length > 0, text);
    assert.match(
      text,
      /process0 evicted (table|data) for (table|data): \d+ times?, needed again after/,
    );
    // The command, which shares the code, has not run.
    assert.equal(process.exitCode, undefined);
  },
);

test('a space explains where a page is, also to another thread', async () => {
  await using space = await openSpace({ ...OPTIONS, history: '1MiB' });
  const x = space.array(Float64Array, 10_000, { name: 'x' });
  x.data[5000] = 1;
  const { memories, now, element, array, lines } = await space.explain(x, 5000);
  assert.deepEqual([memories, element, array], [['host'], 5000, 'x']);
  assert.match(
    now,
    /^It is in host since .*: it began as zeros in host \(\d+ KiB\), for a write of x\[4608\] by host \(near: .*\)\.$/,
  );
  assert.equal(lines.length, 1);
  const same = attachSpace(space.handle);
  assert.match(
    (await same.explain(x, 9999)).text,
    /^x\[9999\], page 19 of the array\nIt is in no memory/,
  );
});

test('a space that began its record later knows that a page was there before', async () => {
  await using space = await sharedSpace();
  const x = space.array(Float64Array, 10_000, { name: 'x' });
  x.data[0] = 1;
  await using recording = await space.record(fileIn('later.rec'));
  assert.equal((await space.explain(x, 0)).now, 'It is in host since before the record began.');
  await recording.stop();
  assert.equal((await space.explain(x, 0)).now, 'It is in host since before the record began.');
  x.free();
});

longTest('a limit keeps the last moves, in two files', async () => {
  await using space = await openSpace(OPTIONS);
  const recording = await space.record(fileIn('ring.rec'), { limit: '64KiB' });
  const x = space.array(Uint8Array, 4096 * 512, { name: 'x' });
  x.advise({ pattern: 'random' });
  for (let page = 0; page < 512; page++) x.data[page * 4096] = 1;
  await thrash(space, 1);
  const { bytes } = await recording.stop();
  const sizes = ['ring.rec', 'ring.rec.before'].map((name) => statSync(fileIn(name)).size);
  assert.ok(bytes <= 80 * 1024, `${bytes}`);
  assert.ok(
    sizes.every((size) => size < 64 * 1024),
    `${sizes}`,
  );
  copyFileSync(fileIn('ring.rec'), fileIn('one.rec'));
  const [both, one] = [explained('ring.rec'), explained('one.rec')];
  assert.ok(
    both.faults > one.faults && both.launches > 0,
    `${both.faults} faults, and ${one.faults} of them`,
  );
});

longTest(
  'a file that takes no more ends the record with a warning, and not the program',
  async () => {
    await using space = await openSpace(OPTIONS);
    const pipe = fileIn('pipe');
    execFileSync('mkfifo', [pipe]);
    const reader = spawn('head', ['-c', '10', pipe], { stdio: 'ignore' });
    // It may have read enough before the record has begun.
    const ended = new Promise((resolve) => reader.once('close', resolve));
    const recording = await space.record(pipe);
    await ended;
    await thrash(space);
    const { failure } = await recording.stop();
    assert.match(failure ?? '', /EPIPE/);
  },
);

test('what cannot be recorded or told is refused', async () => {
  await using space = await sharedSpace({ hostMemory: '64MiB' });
  const x = space.array(Float64Array, 10);
  const code = (name: string) => (error: unknown) => (error as { code: string }).code === name;
  await assert.rejects(() => space.record(fileIn('none/x')), code('RECORDING'));
  await assert.rejects(() => space.record('/dev/full'), code('RECORDING'));
  await assert.rejects(() => space.record(fileIn('x'), { limit: 10 }), code('SIZE'));
  await assert.rejects(() => space.record(fileIn('x'), { limits: 10 } as object), code('OPTIONS'));
  await assert.rejects(() => space.record(7 as never), code('FILE_PATH'));
  await assert.rejects(() => space.report(), code('NO_HISTORY'));
  await assert.rejects(() => space.explain(x, 0), code('NO_HISTORY'));
  await assert.rejects(() => space.explain(x, 10), code('ARRAY_INDEX'));
  await assert.rejects(() => space.explain([] as never, 0), code('ARRAY'));
  await assert.rejects(() => openSpace({ history: 10 }), code('SIZE'));
  x.free();
  await assert.rejects(() => space.explain(x, 0), code('USE_AFTER_FREE'));
});

await runTests();
