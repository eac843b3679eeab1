// What the page says when something is clicked: sentences, and the moves behind them.
import { $, CAUSES, countOf, element, sizeOf, timeOf } from './words.js';

const LISTED = 30;

export class Details {
  /** What is shown, as data. */
  shown = null;
  turn = 0;

  /** @param ask gets moves: `{ row, ms }`, where a row of -1 stands for all */
  constructor(run, ask) {
    this.run = run;
    this.ask = ask;
  }

  async place({ row, ms }) {
    const { bytesPerRow } = this.run.frame;
    const array = this.run.arrayAt(row);
    const offset = ((row - array.firstRow) * bytesPerRow).toLocaleString('en-US');
    const where = `${array.name}, bytes ${offset} and on, around ${timeOf(ms)}`;
    await this.list({ kind: 'place', array: array.name, row, ms }, where, row, ms);
  }

  async launch({ kernel, processor, beganMs, endedMs, costs }) {
    const took = `${kernel} on ${this.run.frame.processors[processor]} took ${timeOf(endedMs - beganMs)}`;
    const moved = costs.arrays.map(
      ({ name, bytes, returned }) =>
        `${sizeOf(bytes)} of ${name}${returned > 0 ? ` (${sizeOf(returned)} again after an eviction)` : ''}`,
    );
    const what = moved.length === 0 ? 'nothing moved for it' : `for it moved ${moved.join(', ')}`;
    const where = `${took}, with ${countOf(costs.faults, 'fault')}; ${what}`;
    await this.list({ kind: 'launch', kernel, beganMs }, where, -1, (beganMs + endedMs) / 2);
  }

  async memory(memory, ms) {
    const { arrays, memories, occupancy } = this.run.frame;
    const column = this.run.columnOf(ms);
    const held = arrays
      .map(({ name }, at) => ({ name, bytes: occupancy[memory][at][column] }))
      .filter(({ bytes }) => bytes > 0)
      .sort((a, b) => b.bytes - a.bytes)
      .map(({ name, bytes }) => `${sizeOf(bytes)} of ${name}`);
    const where = `${memories[memory].name} at ${timeOf(ms)} has ${held.join(', ') || 'nothing'}`;
    await this.list({ kind: 'memory', memory: memories[memory].name, ms }, where, -1, ms);
  }

  async rates(ms) {
    const { transfers, faults, processors, columnMs } = this.run.frame;
    const column = this.run.columnOf(ms);
    const moved = Object.entries(CAUSES)
      .filter(([cause]) => transfers[cause][column] > 0)
      .map(([cause, [, name]]) => `${sizeOf(transfers[cause][column])} for ${name}`);
    const faulted = processors
      .map((name, at) => [faults[at][column], name])
      .filter(([count]) => count > 0)
      .map(([count, name]) => `${countOf(count, 'fault')} of ${name}`);
    const what = [...moved, ...faulted].join(', ') || 'nothing';
    const where = `In ${timeOf(columnMs)} from ${timeOf(column * columnMs)}: ${what}`;
    await this.list({ kind: 'rates', ms }, where, -1, ms);
  }

  /** It stays in view until it is closed. */
  open(isOpen) {
    $('happened').classList.toggle('open', isOpen);
    $('close').hidden = !isOpen;
  }

  get isOpen() {
    return !$('close').hidden;
  }

  /** @param said what is known before the answer comes */
  async list(said, where, row, ms) {
    const turn = ++this.turn;
    this.shown = { ...said, text: where, moves: null };
    this.open(true);
    $('details-place').textContent = `${where}.`;
    $('details').replaceChildren();
    const found = await this.ask({ row, ms });
    // Another click came meanwhile.
    if (turn !== this.turn) return;
    const moves = found
      .sort((a, b) => Math.abs(a.atMs - ms) - Math.abs(b.atMs - ms))
      .slice(0, LISTED)
      .sort((a, b) => a.atMs - b.atMs);
    this.shown.moves = moves;
    const what =
      moves.length === 0
        ? 'No move is known there.'
        : `The ${countOf(moves.length, 'move')} nearest to that time:`;
    $('details-place').textContent = `${where}. ${what}`;
    $('details').replaceChildren(
      ...moves.map(({ atMs, array, element: first, pages, text }) =>
        element(
          'li',
          {},
          element('time', { textContent: timeOf(atMs) }),
          `${array}[${first}] and on, ${countOf(pages, 'page')}: ${text}`,
        ),
      ),
    );
  }
}
