/** Events of a space that a program may act on, and what its tools hear of it. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, f32, kernel, openSpace } from '../../src/index.js';
import { longTest, runTests, test } from '../harness/suite.js';

const look = kernel({ table: f32.in, data: f32.inout }, ({ table, data }, { begin, end }) => {
  for (let i = begin; i < end; i++) data[i] += table[i % table.length];
});

const OPTIONS = { devices: [{ kind: 'process', memory: '8MiB' }] } as const;

function arrays(space: AddressSpace) {
  const table = space.array(Float32Array, 1_048_576, { name: 'table' });
  const data = space.array(Float32Array, 2_097_152, { name: 'data' });
  return { table, data };
}

longTest(
  'a program hears of its launches, that its device thrashes, and that it is full',
  async () => {
    await using space = await openSpace(OPTIONS);
    await using events = await space.events();
    const heard: Record<string, object> = {};
    for (const name of ['launch', 'evict', 'thrash', 'headroom'] as const)
      events.on(name, (event: object) => {
        heard[name] ??= event;
      });
    const { table, data } = arrays(space);
    const end = performance.now() + 15_000;
    while (Object.keys(heard).length < 4 && performance.now() < end)
      await space.devices[0].run(look, { table, data }, { size: data.length });
    const { launch, evict, thrash, headroom } = heard as Record<string, Record<string, unknown>>;
    assert.deepEqual([launch.kernel, launch.processor], ['look', 'process0']);
    assert.deepEqual(launch.arrays, ['table', 'data']);
    assert.ok(Number(launch.bytesIn) > 0 && Number(launch.durationMs) > 0);
    assert.ok(evict.memory === 'process0' && Number(evict.bytes) > 0);
    assert.ok(['table', 'data'].includes(thrash.array as string));
    assert.ok(thrash.memory === 'process0' && Number(thrash.bytesReturned) >= 2 ** 21);
    assert.deepEqual(
      [headroom.memory, headroom.isLow, headroom.budgetBytes],
      ['process0', true, 2 ** 23],
    );
  },
);

test('tools hear it by a channel, and as measures of launches', async () => {
  await using space = await openSpace(OPTIONS);
  const published: object[] = [];
  const hear = (event: unknown): void => {
    published.push(event as object);
  };
  diagnostics.subscribe('onemem:launch', hear);
  const measures: PerformanceEntry[] = [];
  const observer = new PerformanceObserver((list) => measures.push(...list.getEntries()));
  observer.observe({ entryTypes: ['measure'] });
  await using events = await space.events({ performance: true });
  const { table, data } = arrays(space);
  const before = performance.now();
  const launched = once(events, 'launch');
  // Events alone do not keep a program alive.
  const alive = setInterval(() => undefined, 1000);
  await space.devices[0].run(look, { table, data }, { size: data.length });
  const after = performance.now();
  await launched;
  clearInterval(alive);
  const [{ space: name, kernel: called }] = published as { space: string; kernel: string }[];
  assert.deepEqual([name, called], [space.handle.name, 'look']);
  while (measures.length === 0) await sleep(5);
  const [entry] = measures;
  observer.disconnect();
  diagnostics.unsubscribe('onemem:launch', hear);
  assert.equal(entry.name, 'onemem look');
  // The clocks of two threads differ by less than this.
  assert.ok(entry.startTime > before - 50 && entry.startTime + entry.duration < after + 50);
});

test('their end tells what has happened until then', async () => {
  await using space = await openSpace(OPTIONS);
  const table = space.array(Float32Array, 1024);
  const data = space.array(Float32Array, 1024);
  const events = await space.events();
  const heard: string[] = [];
  events.on('launch', ({ kernel: called }) => heard.push(called));
  const [device] = space.devices;
  for (let k = 0; k < 3; k++) await device.run(look, { table, data }, { size: 1024 });
  await events.close();
  assert.deepEqual(heard, ['look', 'look', 'look']);
});

longTest('without events nothing is published, and their end ends them', async () => {
  await using space = await openSpace(OPTIONS);
  const { table, data } = arrays(space);
  const run = () => space.devices[0].run(look, { table, data }, { size: data.length });
  let published = 0;
  const hear = (): void => {
    published++;
  };
  diagnostics.subscribe('onemem:launch', hear);
  await run();
  const events = await space.events();
  await events.close();
  await events.close();
  await run();
  await sleep(300);
  diagnostics.unsubscribe('onemem:launch', hear);
  assert.equal(published, 0);
  await assert.rejects(() => space.events({ performance: 1 } as object), { name: 'TypeError' });
  await assert.rejects(() => space.events({ marks: true } as object), { code: 'OPTIONS' });
});

longTest('they do not keep the program alive, and end with the space', async () => {
  const library = fileURLToPath(new URL('../../src/index.js', import.meta.url));
  const source = `
    import { openSpace } from ${JSON.stringify(library)};
    const space = await openSpace();
    const events = await space.events();
    events.on('thrash', () => undefined);
    console.log('heard');`;
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', source], {
    encoding: 'utf8',
    timeout: 50_000,
  });
  assert.equal(said, 'heard\n');
  const space = await openSpace();
  const events = await space.events();
  await space.close();
  await events.close();
  await assert.rejects(() => space.events(), { code: 'SPACE_CLOSED' });
});

test('they can be closed when their space has ended by another thread', async () => {
  const library = new URL('../../src/index.js', import.meta.url).href;
  const source = `
    import { once } from 'node:events';
    import { parentPort, workerData } from 'node:worker_threads';
    import { attachSpace } from ${JSON.stringify(library)};
    const space = attachSpace(workerData);
    const events = await space.events();
    const ended = once(events.thread, 'exit');
    // Events alone do not keep a thread alive.
    const alive = setInterval(() => undefined, 1000);
    parentPort.postMessage('hears');
    await ended;
    clearInterval(alive);
    await events.close();
    await space.close();
    process.exit(7);`;
  const space = await openSpace();
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), {
    workerData: space.handle,
  });
  const exit = once(worker, 'exit');
  await once(worker, 'message');
  await space.close();
  assert.deepEqual(await exit, [7]);
});

await runTests();
