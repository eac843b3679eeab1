// Elements of arrays as points, read again and again while the program runs.
import { bytesOf } from './run.js';
import { LABELS, prepare } from './span.js';
import { $, colourOf, countOf, style } from './words.js';

const HEIGHT = 300;
const EDGE = 12;
const FRAME_MS = 50;
const PART = 0.05;

export class Points {
  sets = [];
  chosen = 0;
  /** What is drawn: `xs` and `ys` are the elements. Null: nothing yet, or `problem` says why. */
  shown = null;
  problem = '';
  /** Ends of what has been seen of the set, so that the drawing does not jump. */
  bounds = null;

  /** @param chooser makes buttons, of which one is chosen */
  constructor(live, chooser) {
    this.live = live;
    this.chooser = chooser;
  }

  async start() {
    try {
      this.sets = await (await fetch('points')).json();
    } catch {
      return;
    }
    if (this.sets.length === 0) return;
    $('points').hidden = false;
    const choices = this.sets.map(({ name }, at) => [at, name]);
    this.chooser('point-sets', choices, 0, (set) => {
      Object.assign(this, { chosen: set, shown: null, bounds: null });
    });
    while (this.live.ended === null) {
      const began = performance.now();
      if (!this.live.isPaused && !document.hidden) await this.next();
      const left = Math.max(0, FRAME_MS - (performance.now() - began));
      await new Promise((resolve) => setTimeout(resolve, left));
    }
  }

  async next() {
    const { chosen } = this;
    try {
      const answer = await fetch(`elements?set=${chosen}`);
      if (!answer.ok) throw new Error(await answer.text());
      const frame = await answer.json();
      if (this.live.isPaused || chosen !== this.chosen) return;
      this.take(frame);
    } catch (error) {
      this.problem = error.message;
      this.shown = null;
    }
    this.draw();
  }

  take(frame) {
    const { begins, pieceLength } = frame;
    const valuesOf = (text) => new Float32Array(bytesOf(text).buffer);
    const ys = valuesOf(frame.ys);
    const index = (at) => begins[Math.floor(at / pieceLength)] + (at % pieceLength);
    const xs = frame.xs === null ? Float32Array.from(ys, (_, at) => index(at)) : valuesOf(frame.xs);
    this.shown = { ...frame, xs, ys };
    this.problem = '';
    const before = this.bounds;
    this.bounds = { x: endsOf(xs, before?.x), y: endsOf(ys, before?.y) };
  }

  draw() {
    if (this.sets.length === 0) return;
    const { shown, bounds } = this;
    const { context, width } = prepare($('points-drawing'), HEIGHT);
    context.fillStyle = style('--panel');
    context.fillRect(LABELS, 0, width - LABELS, HEIGHT);
    if (shown === null) {
      $('points-text').textContent = this.problem;
      return;
    }
    const across = { from: LABELS + EDGE, to: width - EDGE, ...bounds.x };
    const up = { from: HEIGHT - EDGE, to: EDGE, ...bounds.y };
    context.fillStyle = colourOf(0);
    for (let at = 0; at < shown.ys.length; at++) {
      const [x, y] = [pixelOf(across, shown.xs[at]), pixelOf(up, shown.ys[at])];
      context.fillRect(x - 1, y - 1, 2, 2);
    }
    context.fillStyle = style('--soft');
    context.textAlign = 'right';
    for (const value of [bounds.y.least, bounds.y.most])
      context.fillText(shortOf(value), LABELS - 8, pixelOf(up, value));
    const drawn = shown.ys.length.toLocaleString('en-US');
    const all = countOf(shown.length, 'element');
    const part = shown.ys.length < shown.length ? `${drawn} of ${all}` : all;
    $('points-text').textContent =
      `${part}: up ${shown.y}, across ${shown.x ?? 'the index'} ` +
      `from ${shortOf(bounds.x.least)} to ${shortOf(bounds.x.most)}.`;
  }
}

function pixelOf({ from, to, least, most }, value) {
  return from + ((value - least) / (most - least || 1)) * (to - from);
}

/** What is no number is not drawn, and has no part in the ends. */
function endsOf(values, before) {
  let { least, most } = before ?? { least: Infinity, most: -Infinity };
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    if (value < least) least = value - PART * Math.max(0, most - value);
    if (value > most) most = value + PART * Math.max(0, value - least);
  }
  return least <= most ? { least, most } : { least: 0, most: 1 };
}

const shortOf = (value) => String(Number(value.toPrecision(3)));
