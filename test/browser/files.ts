/** The page that `onemem view` writes: what it shows of a run that has ended. */
import assert from 'node:assert/strict';
import { closeSync, openSync, writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { f32, kernel, openSpace } from '../../src/index.js';
import { View } from '../harness/browser.js';
import { Folder } from '../harness/command.js';
import { longTest, runTests, test } from '../harness/suite.js';

const gather = kernel({ embedding: f32.in, out: f32.inout }, ({ embedding, out }, part) => {
  for (let i = part.begin; i < part.end; i++)
    out[i] += embedding[(Math.imul(i + 1, 2654435761) >>> 0) % embedding.length];
});

/** Touches of single pages, all over an array, as a page. */
async function pageOfGather(folder: Folder): Promise<string> {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
  const embedding = space.array(Float32Array, 8 * 2 ** 20, { name: 'embedding' });
  const out = space.array(Float32Array, 1024, { name: 'out' });
  embedding.data.fill(1);
  embedding.advise({ pattern: 'random' });
  const recording = await space.record(folder.file('gather.rec'));
  await space.devices[0].run(gather, { embedding, out }, { size: 1000 });
  await recording.stop();
  await folder.succeed('view', 'gather.rec');
  return pathToFileURL(folder.file('gather.rec.html')).href;
}

const gathered = new Folder();
process.on('exit', () => gathered[Symbol.dispose]());
let gatherPage: Promise<string> | null = null;

async function openPage(): Promise<View> {
  gatherPage ??= pageOfGather(gathered);
  return await View.open(await gatherPage);
}

test('a gather is dots all over the array', async () => {
  const view = await openPage();
  const { page } = view;
  await page.locator('#modes button', { hasText: 'how often they move' }).click();
  const { mode, frame } = await view.shown();
  const [{ firstRow, rows }] = frame.arrays;
  assert.deepEqual([mode, frame.arrays[0].name, rows], ['arrived', 'embedding', 16]);
  // Each row has some, all over the time of the launch, and none has many.
  const lit: number[] = await page.evaluate(`(() => {
    const { run } = globalThis.onememView;
    return Array.from({ length: ${rows} }, (_, row) => {
      const from = (${firstRow} + row) * run.frame.columns;
      return run.arrived.slice(from, from + run.frame.columns).filter((each) => each > 0).length;
    });
  })()`);
  assert.ok(
    lit.every((each) => each > 5),
    lit.join(),
  );
  assert.match((await page.textContent('#legend')) ?? '', /^few.*many pages that arrived/);
  assert.equal(await page.locator('#live').isVisible(), false);
  await view.close();
});

test('dragging selects a span of time, and the wheel zooms', async () => {
  const view = await openPage();
  const { mouse } = view.page;
  const { x, y, width } = await view.sizeOf('map');
  const { frame } = await view.shown();
  const at = (part: number): number => x + 118 + part * (width - 118);
  await mouse.move(at(0.25), y + 50);
  await mouse.down();
  await mouse.move(at(0.5), y + 60);
  await mouse.up();
  const { span, details } = await view.shown();
  assert.ok(Math.abs(span.from / frame.durationMs - 0.25) < 0.01, `${span.from}`);
  assert.ok(Math.abs(span.to / frame.durationMs - 0.5) < 0.01, `${span.to}`);
  assert.equal(details, null);
  await mouse.wheel(0, -100);
  const { span: closer } = await view.until((shown) => shown.span.from > span.from);
  assert.ok(closer.to - closer.from < span.to - span.from);
  await view.close();
});

const LONG_BYTES = 1e9;
const ARRAY_PAGES = 512 * 4096;
const DEVICE_PAGES = 512 * 1024;

/** A record of moves as a program writes it, of one that thrashes for an hour. */
function writeLongRecord(path: string): void {
  const fd = openSync(path, 'w');
  const state = {
    memories: [
      { id: 0, name: 'host', budgetPages: 2 * ARRAY_PAGES },
      { id: 1, name: 'gpu', budgetPages: DEVICE_PAGES },
    ],
    processors: [
      { id: 0, name: 'host', memory: 0 },
      { id: 1, name: 'gpu', memory: 1 },
    ],
    arrays: ['weights', 'cache', 'input', 'output'].map((name, at) => ({
      id: at + 1,
      name,
      first: at * ARRAY_PAGES,
      pages: ARRAY_PAGES,
      reserved: ARRAY_PAGES,
      elementBytes: 4,
    })),
    held: [[0, 0, 4 * ARRAY_PAGES]],
    coming: [],
    launches: [],
  };
  writeSync(fd, `{"onememMoves":1,"record":"long"}\n["@",0]\n["#",${JSON.stringify(state)}]\n`);
  let written = 0;
  let step = 0;
  while (written < LONG_BYTES) {
    const lines: string[] = [];
    for (let each = 0; each < 10_000; each++, step++) {
      const page = ((Math.imul(step >> 4, 2654435761) >>> 0) % (4 * ARRAY_PAGES - 16)) & ~15;
      if (step % 1000 === 0) {
        if (step > 0) lines.push(`["!","launchEnd",${step - 1000}]`);
        lines.push(`["!","launchBegin",${step},1,[{"name":"weights"}],"step"]`);
      }
      const move = `{"token":1,"node":1,"source":0,"page":${page + (step & 15)},"count":1}`;
      lines.push(`["@",${(step * 0.4).toFixed(3)}]`, `["!","fault",1,${page + (step & 15)},false]`);
      lines.push(`[">","transfer",[${move}],0]`);
      if (step >= 4096) lines.push(`[">","release",[2,1,${page},1],0]`);
    }
    written += writeSync(fd, `${lines.join('\n')}\n`);
  }
  closeSync(fd);
}

longTest(
  'a recording of 1 GB opens in 3 seconds, with 500 MB',
  async () => {
    // The command reads all of it, in some 40 s of a processor.
    using folder = new Folder({}, 240);
    writeLongRecord(folder.file('long.rec'));
    const { stdout } = await folder.succeed('view', 'long.rec');
    assert.match(stdout, /^long\.rec\.html: /);
    const began = performance.now();
    const view = await View.open(pathToFileURL(folder.file('long.rec.html')).href);
    const openedMs = performance.now() - began;
    const { frame } = await view.shown();
    assert.ok(frame.report.launches > 5000);
    const usedJSHeapSize = await view.page.evaluate<number>('performance.memory.usedJSHeapSize');
    console.log(`opened in ${Math.round(openedMs)} ms, ${Math.round(usedJSHeapSize / 1e6)} MB`);
    assert.ok(openedMs < 3000, `${openedMs} ms`);
    assert.ok(usedJSHeapSize < 500e6, `${usedJSHeapSize}`);
    await view.close();
  },
  420,
);

await runTests();
