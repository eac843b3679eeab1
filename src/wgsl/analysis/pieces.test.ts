import { expect, test } from 'vitest';
import { Facts, Symbols } from './facts.js';
import type { Interval } from './forms.js';
import { piecesOf } from './pieces.js';

/** Of symbols 0, 1 and so on, which lie in these intervals. */
function pieces(
  terms: readonly (readonly [number, number])[],
  symbols: readonly (readonly Interval[])[],
  gap = 0,
): string {
  const own = new Symbols();
  for (const each of symbols) own.freshIn(each);
  const found = piecesOf({ terms, constant: 100 }, new Facts(own), gap);
  return found.map(({ lo, hi }) => `${lo}..${hi}`).join(' ');
}
const range = (lo: number, hi: number): Interval[] => [{ lo, hi }];

test('columns of a matrix are a piece of each row', () => {
  expect(
    pieces(
      [
        [0, 1000],
        [1, 1],
      ],
      [range(2, 4), range(5, 7)],
    ),
  ).toBe('2105..2107 3105..3107 4105..4107');
});

test('whole rows of a matrix are one piece', () => {
  expect(
    pieces(
      [
        [0, 10],
        [1, 1],
      ],
      [range(2, 4), range(0, 9)],
    ),
  ).toBe('120..149');
});

test('a symbol that lies in two intervals is in two pieces', () => {
  const ends = [
    { lo: 0, hi: 1 },
    { lo: 8, hi: 9 },
  ];
  expect(
    pieces(
      [
        [0, 10],
        [1, 1],
      ],
      [ends, range(0, 9)],
    ),
  ).toBe('100..119 180..199');
});

test('what lies within the gap is one piece', () => {
  expect(
    pieces(
      [
        [0, 10],
        [1, 1],
      ],
      [range(0, 2), range(0, 4)],
      5,
    ),
  ).toBe('100..124');
  expect(
    pieces(
      [
        [0, 10],
        [1, 1],
      ],
      [range(0, 2), range(0, 4)],
      4,
    ),
  ).toBe('100..104 110..114 120..124');
});

test('coefficients below zero are counted from the other end', () => {
  expect(
    pieces(
      [
        [0, -10],
        [1, -1],
      ],
      [range(1, 2), range(0, 3)],
    ),
  ).toBe('77..80 87..90');
});

test('more pieces than can be listed are all between them', () => {
  expect(
    pieces(
      [
        [0, 1000],
        [1, 1],
      ],
      [range(0, 99_999), range(0, 1)],
    ),
  ).toBe('100..99999101');
});
