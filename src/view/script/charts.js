// What memories hold, what moves, and launches, over the same time as the map.
import { clipped, LABELS, prepare, timeAxis } from './span.js';
import { $, CAUSES, colourOf, element, sizeOf, style, swatch } from './words.js';

const HEIGHT = 92;
const LANE = 20;

export class Charts {
  memory = 0;

  constructor(run, span) {
    this.run = run;
    this.span = span;
  }

  draw() {
    this.drawMemory();
    this.drawRates();
    this.drawLaunches();
  }

  /** Areas on top of each other. */
  stack(canvas, series, unit, line = null) {
    const { span } = this;
    const { columnMs, columns } = this.run.frame;
    const { firstColumn, lastColumn } = span;
    const { context, width } = prepare(canvas, HEIGHT);
    const inner = HEIGHT - 18;
    context.fillStyle = style('--panel');
    context.fillRect(LABELS, 0, width - LABELS, inner);
    let most = line ?? 0;
    for (let column = firstColumn; column <= lastColumn; column++) {
      let sum = 0;
      for (const { values } of series) sum += values[column];
      most = Math.max(most, sum);
    }
    most = most * 1.05 || 1;
    const y = (value) => inner - (value / most) * inner;
    const base = new Float64Array(columns);
    context.save();
    context.beginPath();
    context.rect(LABELS, 0, width - LABELS, inner);
    context.clip();
    for (const { values, colour } of series) {
      context.fillStyle = colour;
      context.beginPath();
      for (let column = firstColumn; column <= lastColumn; column++) {
        const left = span.xOf(column * columnMs, width);
        const right = span.xOf((column + 1) * columnMs, width);
        const top = y(base[column] + values[column]);
        if (values[column] > 0) context.rect(left, top, right - left + 0.5, y(base[column]) - top);
        base[column] += values[column];
      }
      context.fill();
    }
    if (line !== null) {
      context.strokeStyle = style('--ink');
      context.setLineDash([4, 3]);
      context.beginPath();
      context.moveTo(LABELS, y(line));
      context.lineTo(width, y(line));
      context.stroke();
    }
    context.restore();
    context.setLineDash([]);
    context.fillStyle = style('--soft');
    context.textAlign = 'right';
    // The budget, where the chart has one.
    const told = line ?? most / 1.05;
    context.fillText(unit(told), LABELS - 8, Math.max(8, y(told)));
    context.fillText('0', LABELS - 8, inner - 6);
    timeAxis(span, context, width, inner);
    return { context, width, inner };
  }

  drawMemory() {
    const { arrays, memories, occupancy } = this.run.frame;
    const memory = memories[this.memory];
    if (memory === undefined) return;
    const used = arrays
      .map(({ name }, at) => ({
        name,
        colour: colourOf(at),
        values: occupancy[this.memory][at],
      }))
      .filter(({ values }) => values.some((each) => each > 0));
    let peak = 0;
    for (const { values } of used) for (const each of values) peak = Math.max(peak, each);
    const budget = memory.budgetBytes < 20 * peak ? memory.budgetBytes : null;
    this.stack($('memory'), used, sizeOf, budget);
    const texts = used.map(({ name, colour }) => swatch(colour, name));
    if (budget !== null)
      texts.push(element('span', { textContent: `dashed: its ${sizeOf(budget)}` }));
    if (texts.length === 0) texts.push('Nothing has been in it.');
    $('memory-legend').replaceChildren(...texts);
  }

  drawRates() {
    const { span } = this;
    const { columnMs, transfers, faults, processors } = this.run.frame;
    const rate = (values) => values.map((each) => (each * 1000) / columnMs);
    const series = Object.entries(CAUSES).map(([cause, [colour, name]]) => ({
      name,
      colour,
      values: rate(transfers[cause]),
    }));
    const perSecond = (value) => `${sizeOf(value)}/s`;
    const { context, width, inner } = this.stack($('rates'), series, perSecond);
    const lines = processors
      .map((name, at) => ({ name, values: rate(faults[at]) }))
      .filter(({ values }) => values.some((each) => each > 0));
    let most = 1;
    for (const { values } of lines) for (const each of values) most = Math.max(most, each);
    context.save();
    context.beginPath();
    context.rect(LABELS, 0, width - LABELS, inner);
    context.clip();
    for (const [at, { values }] of lines.entries()) {
      context.strokeStyle = style('--ink');
      context.setLineDash(at === 0 ? [] : [2 + at, 2]);
      context.beginPath();
      for (let column = span.firstColumn; column <= span.lastColumn; column++) {
        const x = span.xOf((column + 0.5) * columnMs, width);
        context.lineTo(x, inner - 2 - (values[column] / most) * (inner - 12));
      }
      context.stroke();
    }
    context.restore();
    const texts = series
      .filter(({ values }) => values.some((each) => each > 0))
      .map(({ name, colour }) => swatch(colour, name));
    const named = lines.map(({ name }, at) => `${name} ${at === 0 ? '(line)' : '(dashed)'}`);
    const peak = Math.round(most).toLocaleString('en-US');
    if (lines.length > 0) {
      const textContent = `faults of ${named.join(', ')}: up to ${peak} a second`;
      texts.push(element('span', { textContent }));
    }
    $('rates-legend').replaceChildren(...texts);
  }

  /** Processors that have launches. */
  get lanes() {
    const { launches } = this.run.frame;
    return [...new Set(launches.map(({ processor }) => processor))].sort((a, b) => a - b);
  }

  drawLaunches() {
    const { lanes, span } = this;
    const { launches, processors } = this.run.frame;
    const { context, width, height } = prepare(
      $('launches'),
      Math.max(1, lanes.length) * LANE + 18,
    );
    if (lanes.length === 0) {
      context.fillStyle = style('--soft');
      context.fillText('No launches yet.', LABELS, LANE / 2);
    }
    for (const [lane, processor] of lanes.entries()) {
      const top = lane * LANE;
      context.fillStyle = style('--panel');
      context.fillRect(LABELS, top, width - LABELS, LANE - 2);
      context.fillStyle = style('--ink');
      context.textAlign = 'right';
      const name = clipped(context, processors[processor] ?? '', LABELS - 12);
      context.fillText(name, LABELS - 8, top + LANE / 2 - 1);
      const own = launches.filter((each) => each.processor === processor);
      for (const [at, { kernel, beganMs, endedMs }] of own.entries()) {
        const left = Math.max(LABELS, span.xOf(beganMs, width));
        const right = Math.min(width, Math.max(left + 1, span.xOf(endedMs, width)));
        if (right <= LABELS || left >= width) continue;
        context.fillStyle = at % 2 === 0 ? '#009e73' : '#56b4e9';
        context.fillRect(left, top + 2, right - left, LANE - 6);
        if (right - left < 40) continue;
        context.fillStyle = '#000000';
        context.textAlign = 'left';
        context.fillText(clipped(context, kernel, right - left - 6), left + 3, top + LANE / 2 - 1);
      }
    }
    timeAxis(span, context, width, height - 18);
  }

  /** The launch at a place of the drawing, or null. */
  launchAt({ y, ms }) {
    const processor = this.lanes[Math.floor(y / LANE)];
    const near = this.span.length / 200;
    const own = this.run.frame.launches.filter((each) => each.processor === processor);
    const at = own.findLast(({ beganMs, endedMs }) => ms >= beganMs - near && ms <= endedMs + near);
    return at ?? null;
  }
}
