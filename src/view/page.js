// Draws a recorded run. It runs in a browser, from one file, and loads nothing.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const bytesOf = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const places = bytesOf(data.places);
  const arrived = new Uint16Array(bytesOf(data.arrived).buffer);
  const returned = new Uint16Array(bytesOf(data.returned).buffer);
  const { columns, rows, durationMs } = data;

  // Okabe and Ito's colours, which people with any kind of colour vision tell apart.
  const COLOURS = [
    '#0072b2',
    '#cc79a7',
    '#e69f00',
    '#009e73',
    '#d55e00',
    '#56b4e9',
    '#f0e442',
    '#999999',
  ];
  const CAUSES = {
    touch: ['#d55e00', 'faults'],
    launch: ['#0072b2', 'launch arguments'],
    ahead: ['#56b4e9', 'read-ahead'],
    request: ['#009e73', 'requests'],
  };
  const MODES = {
    places: 'where pages are',
    arrived: 'how often they move',
    returned: 'what came again',
  };
  const LABELS = 118;
  const MAP_HEIGHT = 340;

  const state = { from: 0, to: durationMs, mode: 'places', memory: busiest(), drag: null };

  const $ = (id) => document.getElementById(id);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  function busiest() {
    const own = data.report.memories.map(({ evictions, bytesIn }) => evictions * 1e15 + bytesIn);
    return Math.max(0, own.indexOf(Math.max(...own)));
  }

  function sizeOf(bytes) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    let unit = 0;
    for (; bytes >= 1024 && unit < units.length - 1; unit++) bytes /= 1024;
    return `${bytes >= 10 || unit === 0 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`;
  }

  function timeOf(ms) {
    if (ms < 1) return `${Math.round(ms * 1000)} us`;
    return ms < 10000
      ? `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`
      : `${(ms / 1000).toFixed(1)} s`;
  }

  function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  function swatch(colour, text) {
    const box = element('i');
    box.style.background = colour;
    return element('span', {}, box, text);
  }

  // From dark blue over grey to yellow: by lightness alone, so that it is read in grey, too.
  function scale(part) {
    const stops = [
      [0, 32, 81],
      [87, 92, 109],
      [161, 153, 117],
      [253, 231, 55],
    ];
    const at = Math.min(1, Math.max(0, part)) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    const mixed = stops[low].map((each, i) =>
      Math.round(each + (stops[low + 1][i] - each) * (at - low)),
    );
    return `rgb(${mixed})`;
  }

  /** A canvas as sharp as the screen. Returns its context in CSS pixels. */
  function prepare(canvas, height) {
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

  const xOf = (ms, width) =>
    LABELS + ((ms - state.from) / (state.to - state.from)) * (width - LABELS);
  const msOf = (x, width) =>
    state.from + ((x - LABELS) / (width - LABELS)) * (state.to - state.from);
  const columnOf = (ms) =>
    Math.min(columns - 1, Math.max(0, Math.floor((ms / durationMs) * columns)));

  function drawMap() {
    const { context, width, height } = prepare($('map'), MAP_HEIGHT);
    const inner = height - 18;
    context.fillStyle = style('--panel');
    context.fillRect(LABELS, 0, width - LABELS, inner);
    const counts = state.mode === 'arrived' ? arrived : returned;
    let most = 1;
    if (state.mode !== 'places') for (const each of counts) most = Math.max(most, each);
    const first = columnOf(state.from);
    const last = columnOf(state.to);
    const cell = (durationMs / columns / (state.to - state.from)) * (width - LABELS);
    for (let row = 0; row < rows; row++) {
      const top = Math.floor((row / rows) * inner);
      const tall = Math.max(1, Math.ceil(((row + 1) / rows) * inner) - top);
      for (let column = first; column <= last; column++) {
        const at = row * columns + column;
        if (state.mode === 'places') {
          if (places[at] === 255) continue;
          context.fillStyle = COLOURS[places[at] % COLOURS.length];
        } else {
          if (counts[at] === 0) continue;
          context.fillStyle = scale(0.15 + 0.85 * (Math.log1p(counts[at]) / Math.log1p(most)));
        }
        const x = xOf((column / columns) * durationMs, width);
        const left = Math.max(LABELS, Math.floor(x));
        const right = Math.min(width, Math.ceil(x + cell));
        if (right > left) context.fillRect(left, top, right - left, tall);
      }
    }
    labels(context, width, inner);
    timeAxis(context, width, inner);
    if (state.drag !== null) {
      context.fillStyle = 'rgba(127, 127, 127, 0.35)';
      const [from, to] = [state.drag.from, state.drag.to].sort((a, b) => a - b);
      context.fillRect(from, 0, to - from, inner);
    }
  }

  /** Names of arrays, where there is room, and lines between arrays. */
  function labels(context, width, inner) {
    let free = 0;
    context.textAlign = 'right';
    for (const { name, firstRow, rows: own } of data.arrays) {
      const top = (firstRow / rows) * inner;
      const middle = top + ((own / rows) * inner) / 2;
      context.strokeStyle = style('--paper');
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

  function clipped(context, text, room) {
    if (context.measureText(text).width <= room) return text;
    let short = text;
    while (short.length > 1 && context.measureText(`${short}…`).width > room)
      short = short.slice(0, -1);
    return `${short}…`;
  }

  function timeAxis(context, width, top) {
    context.fillStyle = style('--soft');
    context.textAlign = 'center';
    const steps = Math.max(2, Math.floor((width - LABELS) / 110));
    for (let step = 0; step <= steps; step++) {
      const ms = state.from + ((state.to - state.from) * step) / steps;
      context.textAlign = step === 0 ? 'left' : step === steps ? 'right' : 'center';
      context.fillText(timeOf(ms), xOf(ms, width), top + 10);
    }
  }

  /** Areas on top of each other. */
  function stack(canvas, height, series, unit, line = null) {
    const { context, width } = prepare(canvas, height);
    const inner = height - 18;
    context.fillStyle = style('--panel');
    context.fillRect(LABELS, 0, width - LABELS, inner);
    const first = columnOf(state.from);
    const last = columnOf(state.to);
    let most = line ?? 0;
    for (let column = first; column <= last; column++)
      most = Math.max(
        most,
        series.reduce((sum, each) => sum + each.values[column], 0),
      );
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
      for (let column = first; column <= last; column++) {
        const left = xOf((column / columns) * durationMs, width);
        const right = xOf(((column + 1) / columns) * durationMs, width);
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
    context.fillText(unit(most), LABELS - 8, 8);
    context.fillText('0', LABELS - 8, inner - 6);
    timeAxis(context, width, inner);
    return { context, width, inner };
  }

  function drawMemory() {
    const memory = data.memories[state.memory];
    const series = data.arrays.map(({ name }, at) => ({
      name,
      colour: COLOURS[at % COLOURS.length],
      values: data.occupancy[state.memory][at],
    }));
    const used = series.filter(({ values }) => values.some((each) => each > 0));
    const peak = Math.max(...used.flatMap(({ values }) => values), 0);
    const budget = memory.budgetBytes < 20 * peak ? memory.budgetBytes : null;
    stack($('memory'), 130, used, sizeOf, budget);
    const texts = used.map(({ name, colour }) => swatch(colour, name));
    if (budget !== null)
      texts.push(element('span', { textContent: `dashed: its ${sizeOf(budget)}` }));
    $('memory-legend').replaceChildren(...texts);
  }

  function drawRates() {
    const seconds = durationMs / columns / 1000;
    const rate = (values) => values.map((each) => each / seconds);
    const series = Object.entries(CAUSES).map(([cause, [colour, name]]) => ({
      name,
      colour,
      values: rate(data.transfers[cause]),
    }));
    const { context, width, inner } = stack(
      $('rates'),
      130,
      series,
      (value) => `${sizeOf(value)}/s`,
    );
    const lines = data.faults.map((values, at) => ({
      name: data.processors[at],
      values: rate(values),
    }));
    const most = Math.max(1, ...lines.flatMap(({ values }) => values));
    for (const [at, { values }] of lines.entries()) {
      context.strokeStyle = style('--ink');
      context.setLineDash(at === 0 ? [] : [2 + at, 2]);
      context.beginPath();
      for (let column = columnOf(state.from); column <= columnOf(state.to); column++) {
        const x = Math.max(LABELS, xOf(((column + 0.5) / columns) * durationMs, width));
        context.lineTo(x, inner - 2 - (values[column] / most) * (inner - 12));
      }
      context.stroke();
    }
    context.setLineDash([]);
    const texts = series
      .filter(({ values }) => values.some((each) => each > 0))
      .map(({ name, colour }) => swatch(colour, name));
    const named = lines
      .map(({ name }, at) => `${name} ${at === 0 ? '(line)' : '(dashed)'}`)
      .join(', ');
    texts.push(
      element('span', {
        textContent: `lines: faults of ${named}, at most ${Math.round(most)} a second`,
      }),
    );
    $('rates-legend').replaceChildren(...texts);
  }

  function drawLaunches() {
    const lanes = data.processors
      .map((_, at) => at)
      .filter((at) => data.launches.some((each) => each.processor === at));
    const { context, width, height } = prepare($('launches'), Math.max(1, lanes.length) * 22 + 18);
    for (const [lane, processor] of lanes.entries()) {
      const top = lane * 22;
      context.fillStyle = style('--panel');
      context.fillRect(LABELS, top, width - LABELS, 20);
      context.fillStyle = style('--ink');
      context.textAlign = 'right';
      context.fillText(
        clipped(context, data.processors[processor], LABELS - 12),
        LABELS - 8,
        top + 10,
      );
      for (const [at, { kernel, beganMs, endedMs }] of data.launches
        .filter((each) => each.processor === processor)
        .entries()) {
        const left = Math.max(LABELS, xOf(beganMs, width));
        const right = Math.min(width, Math.max(left + 1, xOf(endedMs, width)));
        if (right <= LABELS || left >= width) continue;
        context.fillStyle = at % 2 === 0 ? '#009e73' : '#56b4e9';
        context.fillRect(left, top + 2, right - left, 16);
        if (right - left < 40) continue;
        context.fillStyle = '#000000';
        context.textAlign = 'left';
        context.fillText(clipped(context, kernel, right - left - 6), left + 3, top + 10);
      }
    }
    timeAxis(context, width, height - 18);
  }

  function drawLegend() {
    const legend = [];
    if (state.mode === 'places') {
      const seen = new Set(places);
      for (const [at, { name }] of data.memories.entries())
        if (seen.has(at)) legend.push(swatch(COLOURS[at % COLOURS.length], `in ${name}`));
      legend.push(swatch(style('--panel'), 'nowhere: never touched, or still in its file'));
    } else {
      const bar = element('b');
      bar.style.background = `linear-gradient(90deg, ${[0.15, 0.4, 0.7, 1].map(scale)})`;
      const what =
        state.mode === 'arrived'
          ? 'pages that arrived'
          : 'pages that came back after they were evicted';
      legend.push(element('span', {}, 'few', bar, `many ${what}`));
    }
    legend.push(element('span', { textContent: `a row is ${sizeOf(data.bytesPerRow)}` }));
    $('legend').replaceChildren(...legend);
  }

  /** Four runs that were made up, and what they look like. */
  function drawPatterns() {
    const kinds = [
      [
        'Streaming: each place is bright once, along a diagonal. Read-ahead helps; nothing is regretted.',
        (r, c) => Math.abs(c - r * 1.5) < 2,
      ],
      [
        'Thrashing: the same diagonals again and again. The data are larger than the memory: give it more, or work on parts.',
        (r, c) => (c * 4 + r * 1.5) % 24 < 4,
      ],
      [
        'A hot set: a few rows stay, and the rest passes by. Prefer the hot array there.',
        (r, c) => (r < 4 ? c < 2 : Math.abs(((c * 3) % 40) - (r - 4) * 2) < 3),
      ],
      [
        'A gather: dots everywhere. Tell the indices to the kernel (.by()), or advise random.',
        (r, c) => (Math.imul(r * 131 + c * 977, 2654435761) >>> 0) % 9 === 0,
      ],
    ];
    const figures = kinds.map(([text, lit]) => {
      const canvas = element('canvas');
      const figure = element('figure', {}, canvas, element('figcaption', { textContent: text }));
      return { canvas, figure, lit };
    });
    $('patterns').replaceChildren(...figures.map(({ figure }) => figure));
    for (const { canvas, lit } of figures) {
      const { context, width, height } = prepare(canvas, 64);
      for (let r = 0; r < 20; r++)
        for (let c = 0; c < 40; c++) {
          context.fillStyle = lit(r, c) ? scale(0.95) : scale(0.08);
          context.fillRect(
            (c * width) / 40,
            (r * height) / 20,
            width / 40 + 0.5,
            height / 20 + 0.5,
          );
        }
    }
  }

  function draw() {
    drawMap();
    drawLegend();
    drawMemory();
    drawRates();
    drawLaunches();
  }

  function chooser(id, choices, chosen, choose) {
    const buttons = choices.map(([value, text]) => {
      const button = element('button', { type: 'button', textContent: text });
      button.setAttribute('role', 'radio');
      button.setAttribute('aria-checked', String(value === chosen));
      button.onclick = () => {
        for (const each of buttons) each.setAttribute('aria-checked', String(each === button));
        choose(value);
        draw();
      };
      return button;
    });
    $(id).replaceChildren(...buttons);
  }

  function zoom(factor, around) {
    const middle = around ?? (state.from + state.to) / 2;
    const span = Math.min(
      durationMs,
      Math.max((durationMs / columns) * 4, (state.to - state.from) * factor),
    );
    const part = (middle - state.from) / (state.to - state.from);
    show(middle - span * part, span);
  }

  function show(from, span) {
    state.from = Math.min(Math.max(0, from), durationMs - span);
    state.to = state.from + span;
    draw();
  }

  function placeAt(event) {
    const canvas = $('map');
    const box = canvas.getBoundingClientRect();
    const x = event.clientX - box.left;
    const row = Math.floor(((event.clientY - box.top) / (MAP_HEIGHT - 18)) * rows);
    if (x < LABELS || row < 0 || row >= rows) return null;
    const ms = msOf(x, box.width);
    const array = data.arrays.findLast(({ firstRow }) => firstRow <= row);
    return { x, row, ms, array, column: columnOf(ms) };
  }

  function explain({ row, ms, array }) {
    const near = data.details.filter((each) => each.row === row);
    const sorted = near.sort((a, b) => Math.abs(a.atMs - ms) - Math.abs(b.atMs - ms)).slice(0, 30);
    sorted.sort((a, b) => a.atMs - b.atMs);
    const offset = (row - array.firstRow) * data.bytesPerRow;
    $('details-place').textContent =
      `${array.name}, bytes ${offset.toLocaleString('en-US')} and on, around ${timeOf(ms)}: ` +
      (sorted.length === 0
        ? 'nothing moved there.'
        : `the ${sorted.length} moves nearest to that time.`);
    $('details').replaceChildren(
      ...sorted.map(({ atMs, element: first, pages, text }) =>
        element(
          'li',
          {},
          element('time', { textContent: timeOf(atMs) }),
          `${array.name}[${first}] and on, ${pages} pages: ${text}`,
        ),
      ),
    );
  }

  function tip(event, place) {
    const box = $('tip');
    if (place === null) {
      box.style.display = 'none';
      return;
    }
    const at = place.row * columns + place.column;
    const where = places[at] === 255 ? 'nowhere' : data.memories[places[at]].name;
    const lines = [
      `${place.array.name}, ${timeOf(place.ms)}`,
      `most of it: ${where}`,
      `pages that arrived: ${arrived[at]}`,
    ];
    if (returned[at] > 0) lines.push(`of them again: ${returned[at]}`);
    box.textContent = lines.join('\n');
    box.style.display = 'block';
    box.style.left = `${Math.min(event.clientX + 14, innerWidth - 240)}px`;
    box.style.top = `${event.clientY + 14}px`;
  }

  function listen() {
    const map = $('map');
    map.addEventListener('wheel', (event) => {
      event.preventDefault();
      zoom(event.deltaY > 0 ? 1.25 : 0.8, placeAt(event)?.ms);
    });
    map.addEventListener('pointerdown', (event) => {
      const place = placeAt(event);
      if (place === null) return;
      state.drag = { from: place.x, to: place.x, place };
      map.setPointerCapture(event.pointerId);
    });
    map.addEventListener('pointermove', (event) => {
      if (state.drag !== null) {
        const box = map.getBoundingClientRect();
        state.drag.to = Math.min(box.width, Math.max(LABELS, event.clientX - box.left));
        drawMap();
      }
      tip(event, placeAt(event));
    });
    map.addEventListener('pointerleave', (event) => tip(event, null));
    map.addEventListener('pointerup', () => {
      const { drag } = state;
      state.drag = null;
      if (drag === null) return;
      const width = map.clientWidth;
      const [from, to] = [drag.from, drag.to].sort((a, b) => a - b).map((x) => msOf(x, width));
      if (Math.abs(drag.to - drag.from) < 5) explain(drag.place);
      else show(from, Math.max(to - from, (durationMs / columns) * 4));
      draw();
    });
    addEventListener('keydown', (event) => {
      const span = state.to - state.from;
      if (event.key === '+' || event.key === '=') zoom(0.8);
      else if (event.key === '-') zoom(1.25);
      else if (event.key === 'ArrowLeft') show(state.from - span / 5, span);
      else if (event.key === 'ArrowRight') show(state.from + span / 5, span);
      else if (event.key === '0' || event.key === 'Escape') show(0, durationMs);
      else return;
      event.preventDefault();
    });
    addEventListener('resize', draw);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
  }

  function table(id, caption, header, lines) {
    const row = (cells, name) =>
      element('tr', {}, ...cells.map((text) => element(name, { textContent: text })));
    $(id).replaceChildren(
      element('caption', { textContent: caption }),
      element('thead', {}, row(header, 'th')),
      element('tbody', {}, ...lines.map((cells) => row(cells, 'td'))),
    );
  }

  function texts() {
    const { report } = data;
    const moved = report.memories.reduce((sum, each) => sum + each.bytesIn, 0);
    const again = report.memories.reduce((sum, each) => sum + each.bytesReturned, 0);
    $('summary').textContent =
      `${timeOf(durationMs)}, ${report.launches} launches, ${report.faults.toLocaleString('en-US')} faults, ` +
      `${sizeOf(moved)} moved, ${sizeOf(again)} of it again after an eviction.`;
    $('advice').replaceChildren(
      ...report.advice.map(({ text }) => element('li', { textContent: text })),
    );
    table(
      'costs',
      'Arrays, those first that moved most',
      ['array', 'size', 'faults', 'moved', 'of it again', 'evicted'],
      report.arrays
        .slice(0, 20)
        .map((each) => [
          each.name,
          sizeOf(each.bytes),
          String(each.faults),
          sizeOf(each.bytesMoved),
          sizeOf(each.bytesReturned),
          sizeOf(each.bytesEvicted),
        ]),
    );
    if (report.decisions.length > 0)
      table(
        'decisions',
        'Evictions that were regretted most',
        ['evicted', 'for', 'from', 'times', 'needed again after', 'came again'],
        report.decisions.map((each) => [
          each.evicted,
          each.sake,
          each.memory,
          String(each.regretted),
          timeOf(each.medianMs),
          sizeOf(each.bytesReturned),
        ]),
      );
    if (data.detailsLeftOut > 0)
      $('details-place').textContent +=
        ` (${data.detailsLeftOut.toLocaleString('en-US')} moves are counted in the map and not listed.)`;
  }

  texts();
  chooser('modes', Object.entries(MODES), state.mode, (mode) => {
    state.mode = mode;
  });
  chooser(
    'memories',
    data.memories.map(({ name }, at) => [at, name]),
    state.memory,
    (memory) => {
      state.memory = memory;
    },
  );
  drawPatterns();
  listen();
  draw();
  // For tests: what is shown, as data.
  globalThis.onememView = { state, explain, data };
})();
