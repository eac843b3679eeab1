import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseSize } from '../../api/values/sizes.js';
import { formatBytes, formatCount, formatDuration, formatRate } from './format.js';

describe('parseSize', () => {
  test.each([
    ['0', 0],
    ['4096', 4096],
    ['4096B', 4096],
    ['64MiB', 64 * 2 ** 20],
    ['64mib', 64 * 2 ** 20],
    ['64 MiB', 64 * 2 ** 20],
    [' 64MiB ', 64 * 2 ** 20],
    ['64M', 64 * 2 ** 20],
    ['64MB', 64e6],
    ['1.5GiB', 1.5 * 2 ** 30],
    ['.5k', 512],
    ['1.KiB', 1024],
    ['2TiB', 2 * 2 ** 40],
    ['7PiB', 7 * 2 ** 50],
    ['0.3KiB', 307],
  ])('%s', (text, bytes) => expect(parseSize(text)).toBe(bytes));

  test.each([
    '',
    ' ',
    '-1',
    '-64MiB',
    'MiB',
    '64 M i B',
    '1e9',
    '0x10',
    'NaN',
    'Infinity',
    '1.2.3',
    '.',
    '64XiB',
    '64ib',
    '9PiB',
    '9'.repeat(400),
  ])('refuses %j', (text) => {
    expect(() => parseSize(text)).toThrow(RangeError);
    expect(() => parseSize(text)).toThrow(/64MiB/);
  });

  test('reads what formatBytes writes, to three digits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2 ** 52 }), (bytes) => {
        expect(Math.abs(parseSize(formatBytes(bytes)) - bytes)).toBeLessThanOrEqual(bytes * 0.0051);
      }),
      { seed: 20 },
    );
  });
});

test('formatBytes', () => {
  expect(
    [0, 1, 1023, 1024, 1536, 64 * 2 ** 20, 1.5 * 2 ** 30, 2 ** 20 - 1, 2 ** 60, -2048].map(
      formatBytes,
    ),
  ).toEqual([
    '0 B',
    '1 B',
    '1023 B',
    '1 KiB',
    '1.5 KiB',
    '64 MiB',
    '1.5 GiB',
    '1 MiB',
    '1024 PiB',
    '-2 KiB',
  ]);
  expect(formatBytes(Number.NaN)).toBe('? B');
});

test('formatRate', () => {
  expect(formatRate(2 ** 30, 2000)).toBe('512 MiB/s');
  expect(formatRate(2 ** 30, 0)).toBe('? B/s');
});

test('formatDuration', () => {
  expect(
    [
      0, 0.0123, 0.9999, 1, 850, 999.6, 12_340, 59_940, 59_960, 125_000, 3_599_600, 3_720_000, -1,
    ].map(formatDuration),
  ).toEqual([
    '0 us',
    '12.3 us',
    '1 ms',
    '1 ms',
    '850 ms',
    '1 s',
    '12.3 s',
    '59.9 s',
    '1 min 0 s',
    '2 min 5 s',
    '1 h 0 min',
    '1 h 2 min',
    '?',
  ]);
});

test('formatCount', () => {
  expect([0, 999, 1000, 3_000_000, 12_345].map(formatCount)).toEqual([
    '0',
    '999',
    '1,000',
    '3,000,000',
    '12,345',
  ]);
  expect(formatCount(12345678901234567890n)).toBe('12,345,678,901,234,567,890');
});
