// Texts, colours, and elements of the page.

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

export const CAUSES = {
  touch: ['#d55e00', 'faults'],
  launch: ['#0072b2', 'launch arguments'],
  ahead: ['#56b4e9', 'read-ahead'],
  request: ['#009e73', 'requests'],
  room: ['#999999', 'evictions'],
};

// From dark blue over grey to yellow: by lightness alone, so that it is read in grey, too.
const SCALE = [
  [0, 32, 81],
  [87, 92, 109],
  [161, 153, 117],
  [253, 231, 55],
];

export const $ = (id) => document.getElementById(id);
export const style = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const colourOf = (at) => COLOURS[at % COLOURS.length];

export function sizeOf(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; bytes >= 1024 && unit < units.length - 1; unit++) bytes /= 1024;
  return `${bytes >= 10 || unit === 0 ? Math.round(bytes) : bytes.toFixed(1)} ${units[unit]}`;
}

export function timeOf(ms) {
  if (ms < 1) return `${Math.round(ms * 1000)} us`;
  if (ms < 1000) return `${ms < 10 ? shortened(ms) : Math.round(ms)} ms`;
  return `${shortened(ms / 1000)} s`;
}

const shortened = (value) => String(Number(value.toFixed(value < 10 ? 2 : 1)));

export const countOf = (value, noun) =>
  `${value.toLocaleString('en-US')} ${noun}${value === 1 ? '' : 's'}`;

export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

export function swatch(colour, text) {
  const box = element('i');
  box.style.background = colour;
  return element('span', {}, box, text);
}

/** Red, green and blue of a colour of the page. */
export function channels(colour) {
  const value = Number.parseInt(colour.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

/** Red, green and blue for a part of the most. */
export function scale(part) {
  const at = Math.min(1, Math.max(0, part)) * (SCALE.length - 1);
  const low = Math.min(SCALE.length - 2, Math.floor(at));
  return SCALE[low].map((each, i) => Math.round(each + (SCALE[low + 1][i] - each) * (at - low)));
}
