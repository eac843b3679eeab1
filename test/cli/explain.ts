/** Recorded runs explained: why pages moved, and what to do about it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import type { TopFrame } from '../../src/cli/spaces/top-space.js';
import { Folder } from '../harness/command.js';
import { longTest, runTests, test } from '../harness/suite.js';

const LIBRARY = new URL('../../src/index.js', import.meta.url).href;

/** A table that all launches use, beside data that pass by: together more than the device has. */
const THRASHING = `
import { f32, kernel, openSpace } from '${LIBRARY}';
const look = kernel({ table: f32.in, data: f32.inout }, ({ table, data }, { begin, end }) => {
  for (let i = begin; i < end; i++) data[i] += table[i % table.length];
});
const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
const table = space.array(Float32Array, 1_048_576, { name: 'table' }); // 4 MiB
const data = space.array(Float32Array, 2_097_152, { name: 'data' }); // 8 MiB
table.data.fill(1);
for (let round = 0; round < 4; round++)
  await space.devices[0].run(look, { table, data }, { size: data.length });
for (const value of data.data.subarray(0, 10)) if (value !== 4) throw new Error('wrong');
await space.close();
`;

/** Both processors touch the same pages in turn; the array `unused` is prefetched for nothing. */
const IN_TURN = `
import { f32, kernel, openSpace } from '${LIBRARY}';
const add = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[300_000 + i]++;
});
const space = await openSpace({ devices: [{ kind: 'process', memory: '16MiB' }] });
const [device] = space.devices;
const x = space.array(Float32Array, 1_048_576, { name: 'x' });
const unused = space.array(Float32Array, 1_048_576, { name: 'unused' }); // 4 MiB
x.data.fill(0);
unused.data.fill(1);
const stream = device.stream();
stream.prefetch(unused);
await stream.synchronize();
for (let round = 0; round < 5; round++) {
  await device.run(add, { x }, { size: 100 });
  x.data[300_050]++;
}
if (x.data[300_050] !== 10) throw new Error('wrong');
await space.close();
`;

interface Costs {
  memories: { name: string; regretted: number; bytesReturned: number; usedBytes: number }[];
  arrays: { name: string; faults: number; bytesReturned: number }[];
  decisions: { evicted: string; memory: string; regretted: number }[];
  advice: { what: string; text: string; array: string; bytes: number; memory: string }[];
  conflicts: {
    array: string;
    begin: number;
    end: number;
    moves: number;
    processors: { name: string; writes: boolean }[];
  }[];
  unasked: { array: string; reason: string; bytes: number; unusedBytes: number }[];
  launches: number;
}

const folder = new Folder();
process.on('exit', () => folder[Symbol.dispose]());
folder.write('thrash.mjs', THRASHING);
record('thrash.mjs', 'run.rec');

function record(program: string, to: string): void {
  const env = { ...process.env, ONEMEM_RECORD: to };
  const options = { cwd: folder.path, env, encoding: 'utf8' } as const;
  const { status, stderr } = spawnSync(process.execPath, [program], options);
  assert.equal(status, 0, stderr);
}

longTest('a recording says what its transfers would take on other links', async () => {
  const args = ['replay', 'run.rec', '--machine', 'pcie4,pcie5'];
  const { stdout } = await folder.succeed(...args, '--json');
  const [{ memory, launches, bytesIn, neededBytes, restMs, machines }] = JSON.parse(stdout);
  // The data begin as zeros in the device.
  assert.deepEqual([memory, launches, neededBytes], ['process0', 4, 4 * 2 ** 20]);
  assert.ok(bytesIn > neededBytes, stdout);
  const [older, newer] = machines as { transferMs: number; launchMs: number; leastMs: number }[];
  assert.ok(older.transferMs > newer.transferMs && newer.transferMs > 0, stdout);
  assert.equal(older.launchMs.toFixed(6), (older.transferMs + restMs).toFixed(6));
  assert.ok(older.leastMs >= restMs && older.leastMs <= older.launchMs, stdout);
  const { stdout: table } = await folder.succeed(...args);
  assert.match(table, /^process0: \d+ MiB in by \d+ transfers, .* 4 MiB had to come\n/);
  assert.match(table, /^ {2}pcie5 +\d.*s +\d.*s +\d.*s$/m);
});

test('a comparison of policies warns where another one was recorded', async () => {
  const args = ['replay', 'run.rec', '--device-memory', '8MiB', '--json', '--policy'];
  const { stderr } = await folder.succeed(...args, 'plan,lru');
  assert.match(stderr, /recorded with eviction 'plan', .*: lru would miss more than is shown/);
  assert.equal((await folder.succeed(...args, 'plan')).stderr, '');
});

test('a report names the memory, the arrays and the evictions that were regretted, with a remedy', async () => {
  const { stdout } = await folder.succeed('explain', 'run.rec', '--json');
  const { memories, arrays, decisions, advice, launches } = JSON.parse(stdout) as Costs;
  const device = memories.find(({ name }) => name === 'process0');
  assert.ok(device !== undefined && device.regretted > 0 && device.bytesReturned > 0, stdout);
  assert.equal(device.usedBytes, 12 * 2 ** 20);
  assert.deepEqual(new Set(arrays.map(({ name }) => name)), new Set(['table', 'data']));
  assert.ok(decisions.every(({ memory, regretted }) => memory === 'process0' && regretted > 0));
  assert.equal(launches, 4);
  assert.equal(advice[0]?.what, 'memory');
  const text = (await folder.succeed('explain', 'run.rec')).stdout;
  assert.match(
    text,
    /process0 evicted (table|data) for (table|data): \d+ times?, needed again after/,
  );
  assert.match(text, /Give process0 12 MiB instead of 8 MiB/);
});

test('a report says which array to keep in the device, and how much of it', async () => {
  const { stdout } = await folder.succeed('explain', 'run.rec', '--json');
  const { advice } = JSON.parse(stdout) as Costs;
  const pins = advice.filter(({ what }) => what === 'pin');
  assert.ok(pins.length > 0 && pins.every(({ memory }) => memory === 'process0'), stdout);
  // Half of the device stays for what passes by.
  const bytes = pins.reduce((sum, each) => sum + each.bytes, 0);
  assert.ok(bytes >= 2 * 2 ** 20 && bytes <= 4 * 2 ** 20, stdout);
  const [{ text, array }] = pins;
  assert.match(text, new RegExp(`${array}\\.advise\\({ preferredLocation: device }`));
});

test('a report says what two processors take from each other, and what came for nothing', async () => {
  folder.write('turn.mjs', IN_TURN);
  record('turn.mjs', 'turn.rec');
  const { stdout } = await folder.succeed('explain', 'turn.rec', '--json');
  const { conflicts, unasked } = JSON.parse(stdout) as Costs;
  const [{ array, begin, end, moves, processors }] = conflicts;
  assert.equal(array, 'x');
  assert.ok(begin <= 300_000 && end > 300_000 && end - begin <= 16 * 1024, stdout);
  assert.ok(moves >= 8, stdout);
  assert.deepEqual(new Set(processors.map(({ name }) => name)), new Set(['host', 'process0']));
  assert.ok(
    processors.some(({ name, writes }) => name === 'process0' && writes),
    stdout,
  );
  const prefetched = unasked.filter(({ reason }) => reason === 'prefetch');
  const bytes = 4 * 2 ** 20;
  assert.deepEqual(prefetched, [
    { array: 'unused', reason: 'prefetch', bytes, unusedBytes: bytes },
  ]);
  const text = (await folder.succeed('explain', 'turn.rec')).stdout;
  assert.match(text, /process0 writes x\[\d+ to \d+\].* touches took pages from another\./);
  assert.match(text, /^unused +prefetch +4 MiB +4 MiB$/m);
});

test('top shows a recording interval by interval, with all that moved', async () => {
  const report = JSON.parse((await folder.succeed('explain', 'run.rec', '--json')).stdout) as Costs;
  const { stdout } = await folder.succeed('top', 'run.rec', '--interval', '0.1', '--json');
  const frames = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as TopFrame);
  assert.ok(frames.length > 1);
  for (const [at, { fromMs, toMs, pid }] of frames.entries())
    assert.ok(pid === null && toMs > fromMs && fromMs === (frames[at - 1]?.toMs ?? 0), stdout);
  const sum = (of: (frame: TopFrame) => number): number =>
    frames.reduce((all, frame) => all + of(frame), 0);
  const returned = sum(({ memories }) =>
    memories.reduce((all, each) => all + each.bytesReturned, 0),
  );
  assert.equal(
    returned,
    report.memories.reduce((all, each) => all + each.bytesReturned, 0),
  );
  const launches = sum(({ processors }) =>
    processors.reduce((all, each) => all + each.launches, 0),
  );
  assert.equal(launches, 4);
  await folder.fail(1, /thrash\.mjs is no recording/, 'top', 'thrash.mjs');
});

test('the story of an element names each move with its cause', async () => {
  const { stdout } = await folder.succeed(
    'explain',
    'run.rec',
    '--array',
    'data',
    '--element',
    '0',
    '--json',
  );
  const { lines, now, remedy } = JSON.parse(stdout) as {
    lines: { text: string }[];
    now: string;
    remedy: string | null;
  };
  assert.match(
    lines[0].text,
    /^began as zeros in process0 \(.*\), for a (read|write) of data\[\d+\] by process0 in launch \d+/,
  );
  assert.ok(
    lines.some(({ text }) => /evicted from process0 by plan \(.*\) to make room for/.test(text)),
  );
  const told = lines.flatMap(({ text }) => text.match(/launch (\d+) of look/)?.[1] ?? []);
  assert.deepEqual([...new Set(told)], ['1', '2', '3', '4']);
  assert.match(now, /^It is in .* since .*\. It moved \d+ times\.$/);
  assert.match(remedy ?? '', /^It was evicted and needed again/);
});

test('a page is named by its number as well', async () => {
  const story = ['explain', 'run.rec', '--json', '--array', 'data'] as const;
  const { stdout } = await folder.succeed(...story, '--page', '17');
  const { page, lines } = JSON.parse(stdout);
  const element = JSON.parse((await folder.succeed(...story, '--element', '17408')).stdout);
  assert.deepEqual([page, lines], [element.page, element.lines]);
  await folder.refuse(2, /data has pages 0 to 2047/, ...story, '--page', '2048');
  await folder.refuse(2, /--page goes with --array NAME/, 'explain', 'run.rec', '--page', '1');
});

test('a launch is told by what came for it, and the report has the slowest', async () => {
  const { stdout } = await folder.succeed('explain', 'run.rec', '--launch', '2');
  assert.match(stdout, /^launch 2 of look: .*s, with \d+ faults?\n/);
  assert.match(stdout, /MiB of (table|data) came, .* of it again: evicted for (table|data)$/m);
  const text = (await folder.succeed('explain', 'run.rec')).stdout;
  assert.match(text, /^look: 4 launches, .*s \(median\); launch \d took longest, .*faults?$/m);
  await folder.refuse(2, /has launches 1 to 4/, 'explain', 'run.rec', '--launch', '5');
});

test('policies are compared at what holds everything, and half of it, where nothing is said', async () => {
  const { stdout } = await folder.succeed('replay', 'run.rec', '--policy', 'default');
  const sizes = [...stdout.matchAll(/^ {2}(\d+) MiB /gm)].map(([, size]) => Number(size));
  assert.deepEqual(sizes, [4, 6, 8, 12]);
  assert.match(stdout, /^ {2}With 12 MiB it has room for all of them, and nothing is evicted\.$/m);
});

interface Shown {
  readonly arrays: { name: string; firstRow: number; rows: number }[];
  readonly columns: number;
  readonly rows: number;
  readonly places: string;
  readonly returned: string;
  readonly details: { text: string }[];
  readonly memories: { name: string }[];
}

test('a page shows the run, says what it may load, and loads nothing', async () => {
  const { stdout } = await folder.succeed('view', 'run.rec', '--html', 'run.html');
  assert.match(stdout, /^run\.html: \d+ KiB; open it in a browser\n$/);
  const page = folder.read('run.html').toString();
  assert.doesNotMatch(page, /https?:|src=|url\(/);
  const [, policy] = /Content-Security-Policy" content="([^"]+)"/.exec(page) ?? [];
  for (const [tag, directive] of [
    ['style', 'style-src'],
    ['script', 'script-src'],
  ]) {
    const [, text] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page) ?? [];
    const hash = createHash('sha256').update(text).digest('base64');
    assert.ok(policy.includes(`${directive} 'sha256-${hash}'`), policy);
  }
  const [, json] = /id="data">([\s\S]*?)<\/script>/.exec(page) ?? [];
  const { arrays, columns, rows, places, returned, details, memories } = JSON.parse(json) as Shown;
  assert.deepEqual(arrays, [
    { name: 'table', bytes: 4 * 2 ** 20, firstRow: 0, rows: 2 },
    { name: 'data', bytes: 8 * 2 ** 20, firstRow: 2, rows: 4 },
  ]);
  const map = Buffer.from(places, 'base64');
  assert.equal(map.length, columns * rows);
  const device = memories.findIndex(({ name }) => name === 'process0');
  assert.ok(map.includes(device) && map.includes(0) && map.includes(255));
  assert.ok(Buffer.from(returned, 'base64').some((byte) => byte > 0));
  assert.ok(details.some(({ text }) => text.includes('was evicted from process0')));
});

interface Traced {
  readonly traceEvents: readonly {
    name: string;
    ph: string;
    pid: number;
    tid: number;
    ts: number;
    dur?: number;
    args: Record<string, unknown>;
  }[];
}

test('a trace for Perfetto has launches, faults, moves and bytes on the tracks of their places', async () => {
  const { stdout } = await folder.succeed('view', 'run.rec', '--chrome', 'run.json');
  assert.match(stdout, /^run\.json: .*; open it at ui\.perfetto\.dev\n$/);
  const { traceEvents } = JSON.parse(folder.read('run.json').toString()) as Traced;
  const trackOf = (pid: number, name: string): number | undefined =>
    traceEvents.find(
      (each) => each.name === 'thread_name' && each.pid === pid && each.args.name === name,
    )?.tid;
  const device = trackOf(1, 'process0');
  const launches = traceEvents.filter(({ ph }) => ph === 'X');
  assert.equal(launches.length, 4);
  assert.ok(
    launches.every(
      ({ tid, dur = 0, args }) => tid === device && dur > 0 && String(args.arrays) === 'table,data',
    ),
  );
  const report = JSON.parse(
    (await folder.succeed('explain', 'run.rec', '--json')).stdout,
  ) as Costs & {
    faults: number;
  };
  assert.equal(traceEvents.filter(({ name }) => name.endsWith(' fault')).length, report.faults);
  const evicted = traceEvents.filter(
    ({ name, tid }) => name === 'evicted' && tid === trackOf(2, 'process0'),
  );
  assert.ok(
    evicted.length > 0 &&
      evicted.every(({ args }) => /^was evicted from process0/.test(String(args.why))),
  );
  const bytes = traceEvents
    .filter(({ name }) => name === 'process0 bytes')
    .map(({ args }) => Number(args.bytes));
  assert.equal(Math.max(...bytes), 8 * 2 ** 20);
  await folder.refuse(
    2,
    /--html and --chrome are two forms/,
    'view',
    'run.rec',
    '--html',
    'a',
    '--chrome',
    'b',
  );
});

test('what cannot be explained is refused with what there is', async () => {
  await folder.refuse(
    2,
    /there is no array 'x'; the recording has table, data/,
    'explain',
    'run.rec',
    '--array',
    'x',
  );
  await folder.refuse(
    2,
    /table has elements 0 to 1048575/,
    'explain',
    'run.rec',
    '--array',
    'table',
    '--element',
    '1048576',
  );
  await folder.refuse(
    2,
    /--element is '-1'/,
    'explain',
    'run.rec',
    '--array',
    'table',
    '--element',
    '-1',
  );
  await folder.refuse(2, /takes one recording/, 'explain');
  await folder.refuse(1, /thrash\.mjs is no recording/, 'explain', 'thrash.mjs');
});

await runTests();
