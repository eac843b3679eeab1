import { cpSync, mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import {
  type DemoColumn,
  type DemoData,
  demoColumns,
  demoFile,
  firstDifference,
  openColumns,
  prepareDemoData,
  readColumnPlainly,
  summarizeFlights,
} from './demo-data.js';

let data: DemoData;
// Where the demonstration keeps them, too, so that they are unpacked once.
beforeAll(async () => {
  data = await prepareDemoData();
}, 60_000);

test('the columns are as the package describes them', () => {
  expect(data.rows).toBe(3_000_000);
  expect(data.byteLength).toBe(3_000_000 * (4 * 8 + 3 * 4));
  // The first flight of the file: LAS to PHL, one minute after midnight, 33 minutes late, 2176
  // miles.
  const first = Object.fromEntries(
    (Object.keys(demoColumns) as DemoColumn[]).map((column) => [
      column,
      readColumnPlainly(data, column)[0],
    ]),
  );
  expect(first).toEqual({
    originLatitude: 36.08036111,
    originLongitude: -115.1523333,
    destinationLatitude: 39.87195278,
    destinationLongitude: -75.24114083,
    minute: 1,
    distance: 2176,
    delay: 33,
  });
});

test('prepared columns are used again, and damaged ones are not', async () => {
  const cache = mkdtempSync(join(tmpdir(), 'onemem-demo-'));
  try {
    const folder = dirname(data.files.delay.path);
    cpSync(folder, join(cache, basename(folder)), { recursive: true });
    const kept = await prepareDemoData({ cache });
    expect(kept).toMatchObject({ prepared: false, rows: 3_000_000 });
    truncateSync(kept.files.delay.path, 1000);
    expect(openColumns(kept.folder)).toBeNull();
    // To write them once more takes ten seconds of a processor.
    if (process.env.ONEMEM_LONG !== '1') return;
    expect(await prepareDemoData({ cache })).toMatchObject({ prepared: true, rows: 3_000_000 });
    expect(readdirSync(cache)).toHaveLength(1);
  } finally {
    rmSync(cache, { recursive: true });
  }
}, 60_000);

test('the kernel computes what another formula gives', async () => {
  const { default: flights } = await import(demoFile('kernel.js').href);
  const rows = 50_000;
  const columns = new Map(
    (Object.keys(demoColumns) as DemoColumn[]).map((name) => [
      name,
      readColumnPlainly(data, name).subarray(0, rows),
    ]),
  );
  const column = (name: DemoColumn) => columns.get(name)!;
  const args = {
    ...Object.fromEntries(columns),
    difference: new Float32Array(rows),
    bearing: new Float32Array(rows),
    cell: new Uint16Array(rows),
  };
  flights.kernel(args, { begin: 0, end: rows });
  const distance = column('distance');
  const [lat1, lon1, lat2, lon2] = [
    column('originLatitude'),
    column('originLongitude'),
    column('destinationLatitude'),
    column('destinationLongitude'),
  ];
  const vector = (latitude: number, longitude: number) => {
    const [p, l] = [(latitude * Math.PI) / 180, (longitude * Math.PI) / 180];
    return [Math.cos(p) * Math.cos(l), Math.cos(p) * Math.sin(l), Math.sin(p)];
  };
  for (let i = 0; i < rows; i++) {
    // The chord between two points of the unit sphere gives the angle between them.
    const a = vector(lat1[i], lon1[i]);
    const b = vector(lat2[i], lon2[i]);
    const miles = 3958.7613 * 2 * Math.asin(Math.hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) / 2);
    if (Math.abs(args.difference[i] - (distance[i] - miles)) > 0.001)
      throw new Error(`flight ${i}`);
    if (!(args.bearing[i] >= 0 && args.bearing[i] <= 360))
      throw new Error(`flight ${i}: ${args.bearing[i]} degrees`);
    if (args.cell[i] >= 192) throw new Error(`flight ${i}: cell ${args.cell[i]}`);
    // A flight to a place further north within the same longitudes goes north.
    if (
      Math.abs(lon2[i] - lon1[i]) < 1 &&
      lat2[i] > lat1[i] + 4 &&
      ![7, 0, 1].includes(Math.floor(args.cell[i] / 24))
    ) {
      throw new Error(`flight ${i} goes north, not ${args.bearing[i]}`);
    }
  }
  // LAS to PHL sets out at 71 degrees; beyond 67.5, north-east has become east.
  expect(args.bearing[0]).toBeGreaterThan(70);
  expect(args.bearing[0]).toBeLessThan(72);
  expect(Math.floor(args.cell[0] / 24)).toBe(2);
});

test('the summary counts every flight once', () => {
  const cell = Uint16Array.of(0, 24 + 5, 24 + 5, 7 * 24 + 23);
  const summary = summarizeFlights(
    cell,
    Float32Array.of(1, -1, 2, 0),
    Int32Array.of(10, 20, 40, -4),
  );
  expect(summary.directions[0]).toEqual({ direction: 'north', flights: 1, meanDelayMinutes: 10 });
  expect(summary.directions[1]).toEqual({
    direction: 'north-east',
    flights: 2,
    meanDelayMinutes: 30,
  });
  expect(summary.directions[7].meanDelayMinutes).toBe(-4);
  expect(summary.meanDifferenceMiles).toBe(1);
  expect(summary.worstHour).toEqual({ hour: 5, flights: 2, meanDelayMinutes: 30 });
});

test('differences are found by their bits', () => {
  expect(
    firstDifference(Float32Array.of(1, Number.NaN), Float32Array.of(1, Number.NaN)),
  ).toBeNull();
  expect(firstDifference(Float32Array.of(1, 0, 3), Float32Array.of(1, -0, 4))).toMatchObject({
    index: 1,
    count: 2,
  });
  expect(firstDifference(Uint16Array.of(1, 2), Uint16Array.of(1, 3))).toEqual({
    index: 1,
    count: 1,
    a: 2,
    b: 3,
  });
});
