/** The page of a program that runs: what the first screen has, and what keys and clicks do. */
import assert from 'node:assert/strict';
import { fileURLToPath } from 'node:url';
import { type AddressSpace, f32, kernel, openSpace } from '../../src/index.js';
import { type Look, type Shown, View } from '../harness/browser.js';
import { Folder } from '../harness/command.js';
import { runTests, test } from '../harness/suite.js';

const PARTICLES = fileURLToPath(new URL('../../examples/apps/particles.js', import.meta.url));
interface Points {
  readonly xs: readonly number[];
  readonly ys: readonly number[];
}
const POINTS = `(() => {
  const { shown } = globalThis.onememView.points;
  return shown && { xs: [...shown.xs], ys: [...shown.ys] };
})()`;

const OPTIONS = { devices: [{ kind: 'process', memory: '8MiB' }] } as const;

const look = kernel({ table: f32.in, data: f32.inout }, ({ table, data }, { begin, end }) => {
  for (let i = begin; i < end; i++) data[i] += table[i % table.length];
});

/** A table that all launches use, beside data that pass by: together more than the device has. */
async function thrash(space: AddressSpace, launches = 2): Promise<void> {
  const table = space.array(Float32Array, 1_048_576, { name: 'table' });
  const data = space.array(Float32Array, 2_097_152, { name: 'data' });
  table.data.fill(1);
  for (let each = 0; each < launches; each++)
    await space.devices[0].run(look, { table, data }, { size: data.length });
}

const LAUNCHES = 3;
/** A program that has thrashed, and goes on. */
let program: Promise<{ readonly space: AddressSpace; readonly url: string }> | null = null;

async function start(): Promise<{ readonly space: AddressSpace; readonly url: string }> {
  const space = await openSpace(OPTIONS);
  const { url } = await space.serve();
  await thrash(space, LAUNCHES);
  return { space, url };
}

async function openPage(look: Look = {}): Promise<View> {
  program ??= start();
  const view = await View.open((await program).url, look);
  await view.until(({ frame }) => frame.report.launches >= LAUNCHES);
  return view;
}

/** Of the map: the row of an array, and the last part of the run. */
async function clickOn(view: View, name: string): Promise<Shown> {
  const { frame } = await view.shown();
  const array = frame.arrays.find((each) => each.name === name);
  assert.ok(array !== undefined);
  // 18 pixels below are the time line.
  const { height } = await view.sizeOf('map');
  const row = array.firstRow + 0.5;
  await view.click('map', 0.9, ((row / frame.rows) * (height - 18)) / height);
  return await view.until(({ details }) => (details?.moves ?? null) !== null);
}

test('a program that thrashes is seen at the first sight', async () => {
  const view = await openPage();
  const { frame, cells } = await view.shown();
  assert.deepEqual(
    frame.arrays.map(({ name, rows }) => [name, rows]),
    [
      ['table', 2],
      ['data', 4],
    ],
  );
  assert.ok(cells.process0 > 10 && cells.host > 10 && cells.nowhere > 0, JSON.stringify(cells));
  assert.ok(frame.report.decisions.length > 0 && frame.report.advice.length > 0);
  const { page } = view;
  assert.match(
    (await page.textContent('#summary')) ?? '',
    /3 launches, .* again after an eviction/,
  );
  assert.match((await page.textContent('#advice')) ?? '', /Give process0 \d+ MiB instead of 8/);
  assert.match((await page.textContent('#legend')) ?? '', /in host.*in process0.*a row is 2/);
  assert.deepEqual(await page.locator('#patterns strong').allTextContents(), [
    'Streaming',
    'Thrashing',
    'A hot set',
    'A gather',
  ]);
  // All of it on the first screen.
  for (const id of ['map', 'launches', 'memory', 'rates', 'patterns']) {
    const { y, height } = await view.sizeOf(id);
    assert.ok(y >= 0 && y + height <= 800, `${id} ends at ${y + height}`);
  }
  await view.close();
});

test('a click explains a place, a launch, a memory, a moment, and an array', async () => {
  const view = await openPage();
  await view.page.keyboard.press(' ');
  const place = await clickOn(view, 'table');
  assert.deepEqual([place.details?.kind, place.details?.array], ['place', 'table']);
  const texts = (place.details?.moves ?? []).map(({ text }) => text);
  assert.ok(
    texts.some((text) => /^was evicted from process0 by plan \(.*\) to make room for/.test(text)),
    texts.join('\n'),
  );
  assert.equal(await view.page.locator('#details li').count(), texts.length);
  // Below the map, without a scroll.
  const { y, height } = await view.sizeOf('happened');
  assert.ok(y > 300 && y + height <= 800, `from ${y} to ${y + height}`);
  const explained = async (kind: string, text: RegExp): Promise<void> => {
    const shown = await view.until(({ details }) => details?.kind === kind && !!details.moves);
    assert.match(shown.details?.text ?? '', text);
    await view.page.keyboard.press('Escape');
  };
  await view.page.keyboard.press('Escape');
  const { frame, span } = await view.shown();
  const [launch] = frame.launches;
  const { width } = await view.sizeOf('launches');
  const part = ((launch.beganMs + launch.endedMs) / 2 - span.from) / (span.to - span.from);
  await view.click('launches', (118 + part * (width - 118)) / width, 0.2);
  await explained('launch', /^look on process0 took .*faults; for it moved .* MiB of (table|data)/);
  await view.click('memory', 0.95, 0.5);
  await explained('memory', /^process0 at .* has .* of (table|data)/);
  await view.click('rates', 0.95, 0.5);
  await explained('rates', /^In .* from .*: /);
  await view.page.locator('#costs button', { hasText: 'data' }).click();
  const array = await view.until(({ details }) => details?.kind === 'place' && !!details.moves);
  assert.equal(array.details?.array, 'data');
  await view.close();
});

test('the map is used by keys alone', async () => {
  const view = await openPage();
  const { page } = view;
  await page.keyboard.press(' ');
  await page.locator('#map').focus();
  for (const key of ['d', 's', 's', 'w', 'd']) await page.keyboard.press(key);
  const { cross, frame } = await view.shown();
  assert.equal(cross?.row, 1);
  assert.ok(cross.ms > 0 && cross.ms < frame.durationMs / 10);
  await page.keyboard.press('Enter');
  const { details } = await view.until((shown) => (shown.details?.moves ?? null) !== null);
  assert.deepEqual([details?.kind, details?.array], ['place', 'table']);
  await page.locator('#modes button', { hasText: 'what came again' }).press('Enter');
  assert.equal((await view.shown()).mode, 'returned');
  await view.close();
});

test('it is read at 800 pixels, in the dark and in the light', async () => {
  const papers: unknown[] = [];
  for (const dark of [false, true]) {
    const view = await openPage({ width: 800, dark });
    const { page } = view;
    assert.equal(await page.evaluate('document.documentElement.scrollWidth'), 800);
    for (const id of ['map', 'launches', 'memory', 'rates', 'patterns'])
      assert.ok((await view.sizeOf(id)).width > 700);
    papers.push(await page.evaluate('getComputedStyle(document.body).backgroundColor'));
    await view.close();
  }
  assert.deepEqual(papers, ['rgb(255, 255, 255)', 'rgb(22, 22, 24)']);
});

test('keys pause, follow, zoom and pan', async () => {
  const view = await openPage();
  const { keyboard } = view.page;
  await keyboard.press(' ');
  const paused = (await view.shown()).frame;
  await thrash((await program)?.space as AddressSpace, 1);
  assert.equal((await view.shown()).frame.report.launches, LAUNCHES);
  assert.equal(await view.page.getAttribute('#status', 'data-state'), 'paused');
  const length = async (): Promise<number> => {
    const { span } = await view.shown();
    return span.to - span.from;
  };
  assert.equal(await length(), paused.durationMs);
  await keyboard.press('+');
  assert.ok(Math.abs((await length()) - 0.8 * paused.durationMs) < 1);
  const before = (await view.shown()).span;
  await keyboard.press('ArrowLeft');
  assert.ok((await view.shown()).span.from < before.from);
  await keyboard.press('0');
  assert.equal(await length(), paused.durationMs);
  await keyboard.press('+');
  await keyboard.press('+');
  await keyboard.press('f');
  assert.deepEqual((await view.shown()).span.to, paused.durationMs);
  const followed = await length();
  await keyboard.press(' ');
  const { span, frame } = await view.until((shown) => shown.frame.report.launches > LAUNCHES);
  assert.equal(span.to, frame.durationMs);
  assert.ok(Math.abs(span.to - span.from - followed) < 1 && span.follows);
  await view.close();
});

test('a page of a run that ends keeps its picture, and says so', async () => {
  const view = await openPage();
  await (await program)?.space.close();
  await view.page.locator('#status', { hasText: 'the run has ended' }).waitFor();
  assert.equal((await view.shown()).frame.report.launches, LAUNCHES + 1);
  // The browser itself says that nobody answers.
  await view.page.close();
});

test('particles of two devices are drawn where they are, and move', async () => {
  using folder = new Folder();
  using running = folder.startFile(PARTICLES, '--serve');
  const url = await running.said(/the particles are at (http\S+)/);
  const view = await View.open(url);
  const points = () => view.page.evaluate<Points | null>(POINTS);
  let first = await points();
  for (; first === null; first = await points()) await view.page.waitForTimeout(30);
  assert.equal(await view.page.textContent('#point-sets'), 'particles');
  assert.match(
    (await view.page.textContent('#points-text')) ?? '',
    /^8,192 of 20,000 elements: up y, across x from -\S+ to \S+\.$/,
  );
  await view.until(({ frame }) => frame.launches.length > 8);
  // Of both devices: each has its half of them, in order.
  const start = first;
  const haveMoved = ({ xs, ys }: Points): boolean => {
    const half = xs.length / 2;
    const moved = xs.map((x, at) => Math.hypot(x - start.xs[at], ys[at] - start.ys[at]));
    return [moved.slice(0, half), moved.slice(half)].every(
      (part) => part.filter((each) => each > 0 && each < 4).length > 0.9 * half,
    );
  };
  for (let now = await points(); now === null || !haveMoved(now); now = await points())
    await view.page.waitForTimeout(30);
  const { frame } = await view.shown();
  assert.deepEqual([...new Set(frame.launches.map(({ processor }) => processor))].sort(), [1, 2]);
  await view.page.close();
});

test('the demonstration shows its columns while it runs', async () => {
  using folder = new Folder({ ONEMEM_UI: '1' });
  using running = folder.start('demo', '--device-memory', '8MiB');
  const url = await running.said(/the live picture of this space is at (http\S+)/);
  const view = await View.open(url);
  const { frame } = await view.until((shown) => shown.frame.launches.length > 2);
  const names = frame.arrays.map(({ name }) => name);
  assert.ok(names.includes('bearing') && names.includes('distance'), names.join());
  await view.page.close();
});

await runTests();
