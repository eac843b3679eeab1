import { describe, expect, it } from 'vitest';
import { PAGES_PER_BLOCK, Status } from '../../core/basics/types.js';
import type { Entry } from '../../core/recording/recording.js';
import type { State } from '../recording/moves.js';
import { type Picture, PictureBuilder } from './picture.js';

const DEVICE = 1;

/** Arrays of some blocks each, one after the other, in a space with a host and a device. */
function stateOf(blocks: readonly number[]): State {
  let first = 0;
  const arrays = blocks.map((each, at) => {
    const array = { id: at + 1, name: `array${at}`, first, pages: each * PAGES_PER_BLOCK };
    first += array.pages;
    return { ...array, reserved: array.pages, elementBytes: 8 };
  });
  return {
    memories: [
      { id: 0, name: 'host', budgetPages: 2 ** 20 },
      { id: DEVICE, name: 'gpu', budgetPages: 4 * PAGES_PER_BLOCK },
    ],
    processors: [
      { id: 0, name: 'host', memory: 0 },
      { id: DEVICE, name: 'gpu', memory: DEVICE },
    ],
    arrays,
    held: [],
    coming: [],
    launches: [],
  };
}

class Run {
  readonly builder = new PictureBuilder();
  now = 0;

  constructor(blocks: readonly number[]) {
    this.builder.reader.begin(stateOf(blocks), 0);
  }

  read(...entry: unknown[]): void {
    this.builder.reader.read(entry as unknown as Entry, this.now);
  }

  /** A processor's touch brings a block to its memory. */
  touch(block: number, node = DEVICE): void {
    const page = block * PAGES_PER_BLOCK;
    this.read('!', 'fault', node, page, false);
    const transfer = { token: 1, node, source: 1 - node, page, count: PAGES_PER_BLOCK };
    this.read('>', 'transfer', [transfer], Status.Done);
  }

  /** A touch of another block pushes one out. */
  evict(block: number, sake: number): void {
    this.read('!', 'fault', DEVICE, sake * PAGES_PER_BLOCK, false);
    const release = [2, DEVICE, block * PAGES_PER_BLOCK, PAGES_PER_BLOCK];
    this.read('>', 'release', release, Status.Done);
  }
}

const sum = (values: Iterable<number>): number => [...values].reduce((all, each) => all + each, 0);

/** What a page has that got both, one after the other. */
function joined(before: Picture, after: Picture): Pick<Picture, 'places' | 'arrived'> {
  const { rows, columns, fromColumn } = after;
  const places = new Uint8Array(rows * columns);
  const arrived = new Uint16Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const [from, at] =
        column < fromColumn
          ? [before, row * before.columns + column]
          : [after, row * (columns - fromColumn) + column - fromColumn];
      places[row * columns + column] = from.places[at];
      arrived[row * columns + column] = from.arrived[at];
    }
  }
  return { places, arrived };
}

describe('a picture', () => {
  it('loses no page when columns become one', () => {
    const run = new Run([8]);
    for (let step = 0; step < 500; step++) {
      run.now = step * 1.7;
      run.touch(step % 8);
    }
    const { arrived, columns, columnMs, durationMs, transfers, faults } = run.builder.picture();
    expect(sum(arrived)).toBe(500 * PAGES_PER_BLOCK);
    expect(sum(transfers.touch)).toBe(500 * PAGES_PER_BLOCK * 4096);
    expect(sum(faults[DEVICE])).toBe(500);
    expect(columns).toBe(Math.floor(durationMs / columnMs) + 1);
    expect(columns).toBeGreaterThan(300);
  });

  it('loses no page when rows become one', () => {
    const run = new Run([700, 40, 3]);
    for (let block = 0; block < 743; block++) run.touch(block);
    const { arrived, rows, arrays, bytesPerRow, occupancy } = run.builder.picture();
    expect(sum(arrived)).toBe(743 * PAGES_PER_BLOCK);
    expect(bytesPerRow).toBe(4 * 2 ** 21);
    expect(arrays.map(({ firstRow, rows: own }) => [firstRow, own])).toEqual([
      [0, 175],
      [175, 10],
      [185, 1],
    ]);
    expect(rows).toBe(186);
    expect(occupancy[DEVICE].map((series) => series[0])).toEqual(
      [700, 40, 3].map((blocks) => blocks * 2 ** 21),
    );
  });

  it('goes on from another one', () => {
    const run = new Run([4, 4]);
    for (run.now = 0; run.now < 40; run.now++) run.touch(run.now % 8);
    const before = run.builder.picture();
    for (; run.now < 90; run.now++) run.touch((run.now * 3) % 8);
    const after = run.builder.picture(before.version);
    const whole = run.builder.picture();
    expect(after.fromColumn).toBe(before.columns - 1);
    expect(whole.fromColumn).toBe(0);
    expect(joined(before, after)).toEqual({ places: whole.places, arrived: whole.arrived });
  });

  it('has a report once a second, and where nothing is there yet', () => {
    const run = new Run([4]);
    const { builder } = run;
    run.touch(0);
    let { version, report } = builder.picture();
    const faults = [report?.faults];
    for (run.now = 50; run.now <= 2000; run.now += 50) {
      run.touch(1);
      ({ version, report } = builder.picture(version));
      if (report !== null) faults.push(report.faults);
    }
    expect(faults).toEqual([1, 21, 41]);
    expect(builder.picture().report?.faults).toBe(41);
    expect(builder.picture(version).report?.faults).toBe(41);
  });

  it('begins anew where columns have become one since, and for what is no version', () => {
    const run = new Run([4]);
    run.touch(0);
    const { version } = run.builder.picture();
    run.now = 1000;
    run.touch(1);
    for (const since of [version, 'x', '0.2.2 -1', '0.2.2 9999', `${version} `])
      expect(run.builder.picture(since).fromColumn).toBe(0);
  });

  it('shows where pages are at the end of each column, and what came again', () => {
    const run = new Run([2]);
    run.touch(0);
    run.now = 10;
    run.evict(0, 1);
    run.now = 20;
    run.touch(0);
    const { places, returned, columnMs, columns } = run.builder.picture();
    const at = (ms: number): number => places[Math.floor(ms / columnMs)];
    expect([at(5), at(15), at(20)]).toEqual([DEVICE, 255, DEVICE]);
    expect(sum(returned)).toBe(PAGES_PER_BLOCK);
    expect(returned[columns - 1]).toBe(PAGES_PER_BLOCK);
  });

  it('counts a page once that two devices write in turn, and shows it where it came last', () => {
    const run = new Run([1]);
    for (run.now = 0; run.now < 20; run.now++) run.touch(0, run.now % 2);
    const { occupancy, places, columns, report } = run.builder.picture();
    const peaks = report?.memories.map(({ peakBytes }) => peakBytes);
    const last = occupancy.map(([series]) => series.at(-1));
    expect(last).toEqual([2 ** 21, 2 ** 21]);
    expect(peaks).toEqual([2 ** 21, 2 ** 21]);
    expect(places[columns - 1]).toBe(DEVICE);
  });

  it('counts pages that come before an array has rows for them', () => {
    const run = new Run([1]);
    run.read('!', 'allocate', PAGES_PER_BLOCK, { name: 'log' }, 4 * PAGES_PER_BLOCK);
    run.read('=', { range: 10, first: PAGES_PER_BLOCK });
    run.touch(1);
    run.read('!', 'grow', { range: 10 }, 0, 4 * PAGES_PER_BLOCK);
    run.touch(4);
    const { rows, occupancy } = run.builder.picture();
    expect([rows, occupancy[DEVICE][1][0]]).toEqual([5, 2 * 2 ** 21]);
  });

  it('says what moved for a launch', () => {
    const run = new Run([2, 2]);
    run.read('!', 'launchBegin', 7, DEVICE, [{ name: 'array0' }], 'saxpy');
    run.now = 1;
    run.touch(0);
    run.touch(2);
    run.touch(3);
    run.now = 4;
    run.read('!', 'launchEnd', 7);
    run.touch(1);
    const [{ kernel, beganMs, endedMs, costs }] = run.builder.picture().launches;
    expect([kernel, beganMs, endedMs, costs.faults]).toEqual(['saxpy', 0, 4, 3]);
    expect(costs.arrays).toEqual([
      { name: 'array1', bytes: 2 * 2 ** 21, returned: 0 },
      { name: 'array0', bytes: 2 ** 21, returned: 0 },
    ]);
  });

  it('keeps a bounded number of moves, the last ones among them', () => {
    const run = new Run([4]);
    for (run.now = 0; run.now < 40_000; run.now++) run.touch(run.now % 4);
    const details = run.builder.details();
    expect(details.length).toBeLessThan(20_000);
    expect(details.slice(-3).map(({ atMs }) => atMs)).toEqual([39_997, 39_998, 39_999]);
    expect(details[0].atMs).toBeLessThan(100);
    expect(run.builder.details(2).every(({ row }) => row === 2)).toBe(true);
  });

  it('gives the rows of an array to the one that takes its place', () => {
    const run = new Run([1]);
    for (let each = 0; each < 500; each++) {
      run.now++;
      run.read('!', 'allocate', PAGES_PER_BLOCK, { name: `t${each}` });
      run.read('=', { range: 10 + each, first: PAGES_PER_BLOCK });
      run.touch(1);
      run.evict(1, 0);
    }
    const { arrays, rows } = run.builder.picture();
    expect(arrays.map(({ name }) => name)).toEqual(['array0', 't499']);
    expect(rows).toBe(2);
  });
});
