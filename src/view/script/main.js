// The page of a run: what it draws, and what keys and mouse do.
import { Charts } from './charts.js';
import { Details } from './details.js';
import { Live } from './live.js';
import { HeatMap, MODES } from './map.js';
import { drawPatterns } from './patterns.js';
import { Points } from './points.js';
import { showReport } from './report.js';
import { Run } from './run.js';
import { LABELS, Span, timeAt } from './span.js';
import { $, timeOf } from './words.js';

const CLICK_PIXELS = 5;
/** What is shown when a run is followed that was shown whole. */
const FOLLOWED_MS = 10_000;

const given = JSON.parse($('data').textContent);
const run = new Run();
const span = new Span(run);
const map = new HeatMap(run, span);
const charts = new Charts(run, span);
const live = given === null ? new Live(take) : null;
const details = new Details(run, async (place) =>
  live === null ? movesAt(place) : await live.moves(place),
);
const points = live === null ? null : new Points(live, chooser);
let chosen = false;
let drawing = false;

function movesAt({ row }) {
  return given.details.filter((each) => row === -1 || each.row === row);
}

function take(frame) {
  const before = run.frame;
  const isReported = frame.report !== null;
  run.take(frame);
  if (before === null) span.showAll();
  else span.grow(before.durationMs);
  if (!chosen) charts.memory = run.busiest;
  if (before === null || before.memories.length !== frame.memories.length) choosers();
  else checkChoice('memories', charts.memory);
  if (isReported) showReport(frame, explainArray);
  draw();
}

function draw() {
  if (run.frame === null || drawing) return;
  drawing = true;
  requestAnimationFrame(() => {
    drawing = false;
    map.draw();
    map.legend();
    charts.draw();
    points?.draw();
    if (live !== null) $('follow').setAttribute('aria-pressed', String(span.follows));
  });
}

function choosers() {
  chooser('modes', Object.entries(MODES), map.mode, (mode) => {
    map.mode = mode;
  });
  const memories = run.frame.memories.map(({ name }, at) => [at, name]);
  chooser('memories', memories, charts.memory, (memory) => {
    chosen = true;
    charts.memory = memory;
  });
}

function chooser(id, choices, first, choose) {
  const buttons = choices.map(([value, text]) => {
    const button = document.createElement('button');
    Object.assign(button, { type: 'button', textContent: text });
    button.setAttribute('role', 'radio');
    button.dataset.value = value;
    button.onclick = () => {
      choose(value);
      checkChoice(id, value);
      draw();
    };
    return button;
  });
  $(id).replaceChildren(...buttons);
  checkChoice(id, first);
}

function checkChoice(id, value) {
  for (const button of $(id).children)
    button.setAttribute('aria-checked', String(button.dataset.value === String(value)));
}

function explainArray(name) {
  const array = run.frame.arrays.find((each) => each.name === name);
  if (array === undefined) return;
  map.cross = { row: array.firstRow, ms: span.to };
  void details.place(map.cross);
  draw();
}

function follow() {
  span.follows = !span.follows;
  if (span.follows)
    span.show(run.frame.durationMs, span.isAll ? Math.min(FOLLOWED_MS, span.length) : span.length);
  draw();
}

function tip(event, place) {
  const box = $('tip');
  box.style.display = place === null ? 'none' : 'block';
  if (place === null) return;
  const head = `${run.arrayAt(place.row).name}, ${timeOf(place.ms)}`;
  box.textContent = [head, ...map.describe(place)].join('\n');
  box.style.left = `${Math.min(event.clientX + 14, innerWidth - 240)}px`;
  box.style.top = `${event.clientY + 14}px`;
}

function listenToMap() {
  const canvas = $('map');
  canvas.addEventListener('wheel', (event) => {
    event.preventDefault();
    if (run.frame === null) return;
    span.zoom(event.deltaY > 0 ? 1.25 : 0.8, map.placeAt(event)?.ms);
    draw();
  });
  canvas.addEventListener('pointerdown', (event) => {
    const place = run.frame === null ? null : map.placeAt(event);
    if (place === null) return;
    map.drag = { from: place.x, to: place.x, place };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener('pointermove', (event) => {
    if (run.frame === null) return;
    if (map.drag !== null) {
      const box = canvas.getBoundingClientRect();
      map.drag.to = Math.min(box.width, Math.max(LABELS, event.clientX - box.left));
      draw();
    }
    tip(event, map.placeAt(event));
  });
  canvas.addEventListener('pointerleave', (event) => tip(event, null));
  canvas.addEventListener('pointerup', () => {
    const { drag } = map;
    map.drag = null;
    if (drag === null) return;
    if (Math.abs(drag.to - drag.from) < CLICK_PIXELS) {
      map.cross = { row: drag.place.row, ms: drag.place.ms };
      void details.place(map.cross);
    } else {
      const ends = [drag.from, drag.to].sort((a, b) => a - b);
      const [from, to] = ends.map((x) => span.msOf(x, canvas.clientWidth));
      span.show(from, to - from);
    }
    draw();
  });
}

function listenToCharts() {
  const clicks = {
    memory: ({ ms }) => details.memory(charts.memory, ms),
    rates: ({ ms }) => details.rates(ms),
    launches: (at) => {
      const launch = charts.launchAt(at);
      return launch === null ? undefined : details.launch(launch);
    },
  };
  for (const [id, explain] of Object.entries(clicks))
    $(id).addEventListener('click', (event) => {
      const at = run.frame === null ? null : timeAt(span, id, event);
      if (at !== null) void explain(at);
    });
}

const KEYS = {
  '+': () => span.zoom(0.8),
  '=': () => span.zoom(0.8),
  '-': () => span.zoom(1.25),
  ArrowLeft: () => span.show(span.from - span.length / 5, span.length),
  ArrowRight: () => span.show(span.from + span.length / 5, span.length),
  0: () => span.showAll(),
  Escape: () => (details.isOpen ? details.open(false) : span.showAll()),
};
const MAP_KEYS = {
  w: () => map.moveCross(-1, 0),
  s: () => map.moveCross(1, 0),
  a: () => map.moveCross(0, -1),
  d: () => map.moveCross(0, 1),
  Enter: () => void (map.cross !== null && details.place(map.cross)),
};
const LIVE_KEYS = { ' ': () => live.pause(), f: follow };

function listenToKeys() {
  addEventListener('keydown', (event) => {
    if (run.frame === null || event.ctrlKey || event.metaKey || event.altKey) return;
    const onButton = event.target instanceof HTMLButtonElement;
    const act =
      (event.target === $('map') ? MAP_KEYS[event.key] : undefined) ??
      (live !== null && !onButton ? LIVE_KEYS[event.key] : undefined) ??
      KEYS[event.key];
    if (act === undefined) return;
    event.preventDefault();
    act();
    draw();
  });
}

drawPatterns();
listenToMap();
listenToCharts();
listenToKeys();
addEventListener('resize', () => {
  drawPatterns();
  draw();
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
$('pause').onclick = () => live.pause();
$('follow').onclick = follow;
$('close').onclick = () => details.open(false);
if (live === null) take(given);
else {
  void live.start();
  void points.start();
}
// For tests: what is shown, as data.
globalThis.onememView = { run, span, map, charts, details, live, points };
