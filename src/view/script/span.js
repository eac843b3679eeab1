// The span of time that all drawings show, and drawings of that width.
import { $, style, timeOf } from './words.js';

/** Pixels to the left of all drawings, for names. */
export const LABELS = 118;
const LEAST_COLUMNS = 4;

export class Span {
  from = 0;
  to = 1;
  /** Whether it moves on with a run that goes on. */
  follows = false;

  constructor(run) {
    this.run = run;
  }

  get length() {
    return this.to - this.from;
  }

  get isAll() {
    return this.from === 0 && this.to >= this.run.frame.durationMs;
  }

  showAll() {
    this.from = 0;
    this.to = Math.max(this.run.frame.durationMs, 1e-3);
  }

  show(from, length) {
    const { durationMs, columnMs } = this.run.frame;
    const span = Math.min(Math.max(length, columnMs * LEAST_COLUMNS), Math.max(durationMs, 1e-3));
    this.from = Math.min(Math.max(0, from), durationMs - span);
    this.to = this.from + span;
  }

  zoom(factor, around = (this.from + this.to) / 2) {
    const part = (around - this.from) / this.length;
    const length = this.length * factor;
    this.show(around - length * part, length);
  }

  /** The run has gone on. */
  grow(before) {
    const { durationMs } = this.run.frame;
    if (this.from === 0 && this.to >= before) this.showAll();
    else if (this.follows) this.show(durationMs - this.length, this.length);
  }

  xOf(ms, width) {
    return LABELS + ((ms - this.from) / this.length) * (width - LABELS);
  }

  msOf(x, width) {
    return this.from + ((x - LABELS) / (width - LABELS)) * this.length;
  }

  get firstColumn() {
    return this.run.columnOf(this.from);
  }

  get lastColumn() {
    return this.run.columnOf(this.to);
  }
}

/** A canvas as sharp as the screen. Returns its context in CSS pixels. */
export function prepare(canvas, height) {
  const width = canvas.clientWidth || canvas.parentElement.clientWidth;
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  context.font = '12px system-ui, sans-serif';
  context.textBaseline = 'middle';
  return { context, width, height };
}

export function clipped(context, text, room) {
  if (context.measureText(text).width <= room) return text;
  let short = text;
  while (short.length > 1 && context.measureText(`${short}…`).width > room)
    short = short.slice(0, -1);
  return `${short}…`;
}

/** 1, 2 or 5 times a power of ten, and not less. */
function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5].find((each) => each * power >= least) ?? 10);
}

export function timeAxis(span, context, width, top) {
  context.fillStyle = style('--soft');
  const step = roundStep((span.length * 110) / (width - LABELS));
  for (let ms = Math.ceil(span.from / step) * step; ms <= span.to; ms += step) {
    const x = span.xOf(ms, width);
    context.textAlign = x < LABELS + 20 ? 'left' : x > width - 24 ? 'right' : 'center';
    context.fillText(ms === 0 ? '0' : timeOf(ms), x, top + 10);
  }
}

/** Where in a drawing something happened: the pixel and the time; null: beside it. */
export function timeAt(span, id, event) {
  const box = $(id).getBoundingClientRect();
  const x = event.clientX - box.left;
  return x < LABELS ? null : { x, y: event.clientY - box.top, ms: span.msOf(x, box.width) };
}
