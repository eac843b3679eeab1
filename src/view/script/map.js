// The heat map: addresses down the side, time across.
import { clipped, LABELS, prepare, timeAt, timeAxis } from './span.js';
import { $, channels, colourOf, element, scale, sizeOf, style, swatch } from './words.js';

export const MODES = {
  places: 'where pages are',
  arrived: 'how often they move',
  returned: 'what came again',
};

const HEIGHT = 268;
const INNER = HEIGHT - 18;
/** No memory has most of the row. */
const NOWHERE = 255;

export class HeatMap {
  mode = 'places';
  /** Selected by dragging: pixels. */
  drag = null;
  /** What the keys have chosen: a row and a time. */
  cross = null;

  constructor(run, span) {
    this.run = run;
    this.span = span;
    this.cells = document.createElement('canvas');
  }

  draw() {
    const { run, span } = this;
    const { columns, columnMs } = run.frame;
    const { context, width } = prepare($('map'), HEIGHT);
    context.fillStyle = style('--panel');
    context.fillRect(LABELS, 0, width - LABELS, INNER);
    this.paint();
    context.save();
    context.beginPath();
    context.rect(LABELS, 0, width - LABELS, INNER);
    context.clip();
    context.imageSmoothingEnabled = false;
    const left = span.xOf(0, width);
    const right = span.xOf(columns * columnMs, width);
    if (run.frame.rows > 0) context.drawImage(this.cells, left, 0, right - left, INNER);
    context.restore();
    this.labels(context, width);
    timeAxis(span, context, width, INNER);
    this.marks(context, width);
  }

  /** A pixel a cell; the browser enlarges them. */
  paint() {
    const { places, arrived, returned, frame } = this.run;
    const { rows, columns } = frame;
    Object.assign(this.cells, { width: columns, height: Math.max(1, rows) });
    const context = this.cells.getContext('2d');
    const image = context.createImageData(columns, Math.max(1, rows));
    const pixels = new Uint32Array(image.data.buffer);
    const packed = ([red, green, blue]) => ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
    if (this.mode === 'places') {
      const palette = frame.memories.map((_, at) => packed(channels(colourOf(at))));
      for (const [at, place] of places.entries())
        if (place !== NOWHERE) pixels[at] = palette[place];
    } else {
      const counts = this.mode === 'arrived' ? arrived : returned;
      let most = 1;
      for (const each of counts) if (each > most) most = each;
      const palette = Array.from({ length: 64 }, (_, at) => packed(scale(0.15 + (0.85 * at) / 63)));
      const factor = 63 / Math.log1p(most);
      for (const [at, count] of counts.entries())
        if (count > 0) pixels[at] = palette[Math.round(Math.log1p(count) * factor)];
    }
    context.putImageData(image, 0, 0);
  }

  /** Names of arrays, where there is room, and lines between arrays. */
  labels(context, width) {
    const { arrays, rows } = this.run.frame;
    let free = 0;
    context.textAlign = 'right';
    context.strokeStyle = style('--paper');
    for (const { name, firstRow, rows: own } of arrays) {
      const top = (firstRow / rows) * INNER;
      const middle = top + ((own / rows) * INNER) / 2;
      context.beginPath();
      context.moveTo(LABELS, Math.round(top) + 0.5);
      context.lineTo(width, Math.round(top) + 0.5);
      context.stroke();
      if (middle - 6 < free) continue;
      context.fillStyle = style('--ink');
      context.fillText(clipped(context, name, LABELS - 12), LABELS - 8, middle);
      free = middle + 7;
    }
  }

  marks(context, width) {
    const { drag, cross, span } = this;
    if (drag !== null) {
      context.fillStyle = 'rgba(127, 127, 127, 0.35)';
      const [from, to] = [drag.from, drag.to].sort((a, b) => a - b);
      context.fillRect(from, 0, to - from, INNER);
    }
    if (cross === null || cross.ms < span.from || cross.ms > span.to) return;
    const x = span.xOf(cross.ms, width);
    const y = ((cross.row + 0.5) / this.run.frame.rows) * INNER;
    for (const [colour, thick] of [
      [style('--paper'), 3],
      [style('--ink'), 1],
    ]) {
      Object.assign(context, { strokeStyle: colour, lineWidth: thick });
      context.beginPath();
      context.moveTo(LABELS, y);
      context.lineTo(width, y);
      context.moveTo(x, 0);
      context.lineTo(x, INNER);
      context.stroke();
    }
  }

  legend() {
    const { run } = this;
    const { memories, bytesPerRow } = run.frame;
    const legend = [];
    if (this.mode === 'places') {
      const seen = new Set(run.places);
      for (const [at, { name }] of memories.entries())
        if (seen.has(at)) legend.push(swatch(colourOf(at), `in ${name}`));
      legend.push(swatch(style('--panel'), 'nowhere: never touched, or still in its file'));
    } else {
      const bar = element('b');
      const stops = [0.15, 0.4, 0.7, 1].map((part) => `rgb(${scale(part)})`);
      bar.style.background = `linear-gradient(90deg, ${stops})`;
      const what =
        this.mode === 'arrived'
          ? 'pages that arrived'
          : 'pages that came back after they were evicted';
      legend.push(element('span', {}, 'few', bar, `many ${what}`));
    }
    legend.push(element('span', { textContent: `a row is ${sizeOf(bytesPerRow)}` }));
    $('legend').replaceChildren(...legend);
  }

  /** The place of an event of the mouse, or null beside the map. */
  placeAt(event) {
    const at = timeAt(this.span, 'map', event);
    const { rows } = this.run.frame;
    const row = at === null ? -1 : Math.floor((at.y / INNER) * rows);
    if (row < 0 || row >= rows) return null;
    return { x: at.x, row, ms: at.ms };
  }

  /** What is there, in lines. */
  describe({ row, ms }) {
    const { run } = this;
    const at = row * run.frame.columns + run.columnOf(ms);
    const place = run.places[at];
    const lines = [
      `in ${place === NOWHERE ? 'nowhere' : run.frame.memories[place].name}`,
      `pages that arrived: ${run.arrived[at]}`,
    ];
    if (run.returned[at] > 0) lines.push(`of them again: ${run.returned[at]}`);
    return lines;
  }

  /** The cross goes some rows down and some columns on. */
  moveCross(down, on) {
    const { rows, columnMs } = this.run.frame;
    const { from, to, length } = this.span;
    const step = Math.max(columnMs, length / 100);
    const { row, ms } = this.cross ?? { row: 0, ms: from };
    this.cross = {
      row: Math.min(rows - 1, Math.max(0, row + down)),
      ms: Math.min(to, Math.max(from, ms + on * step)),
    };
  }
}
