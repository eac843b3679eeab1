// Four runs that were made up, and what one sees of them.
import { prepare } from './span.js';
import { $, colourOf, element } from './words.js';

const ROWS = 20;
const COLUMNS = 40;
// In the colours of the map: a device's over the host's.
const PATTERNS = [
  {
    name: 'Streaming',
    text: 'each place is in the device once. Read-ahead helps; nothing comes again.',
    isLit: (r, c) => Math.abs(c - r * 2) < 2,
  },
  {
    name: 'Thrashing',
    text: 'the same diagonals again and again: more data than memory. Give more, or work on parts.',
    isLit: (r, c) => (c * 4 + (ROWS - r) * 1.5) % 24 < 6,
  },
  {
    name: 'A hot set',
    text: 'some rows stay, the rest passes by. Rows with gaps lose their place: prefer that array.',
    isLit: (r, c) => r < 4 || Math.abs(((c * 3) % 40) - (r - 4) * 2.4) < 4,
  },
  {
    name: 'A gather',
    text: 'dots everywhere. Declare the indices by .by(), or advise random.',
    isLit: (r, c) => ((Math.imul(r * 131 + c * 977, 2654435761) >>> 16) & 15) < 2,
  },
];

export function drawPatterns() {
  const figures = PATTERNS.map(({ name, text, isLit }) => {
    const canvas = element('canvas');
    const caption = element(
      'figcaption',
      {},
      element('strong', { textContent: name }),
      `: ${text}`,
    );
    return { canvas, isLit, figure: element('figure', {}, canvas, caption) };
  });
  $('patterns').replaceChildren(...figures.map(({ figure }) => figure));
  const [dark, bright] = [colourOf(0), colourOf(2)];
  for (const { canvas, isLit } of figures) {
    const { context, width, height } = prepare(canvas, 44);
    const [wide, tall] = [width / COLUMNS, height / ROWS];
    for (let r = 0; r < ROWS; r++)
      for (let c = 0; c < COLUMNS; c++) {
        context.fillStyle = isLit(r, c) ? bright : dark;
        context.fillRect(c * wide, r * tall, wide + 0.5, tall + 0.5);
      }
  }
}
