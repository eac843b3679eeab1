import { describe, expect, it } from 'vitest';
import { BusyTime } from './busy-time.js';

function busy(...spans: readonly (readonly [number, number])[]): BusyTime {
  const time = new BusyTime();
  for (const [from, to] of spans) time.add(from, to);
  return time;
}

describe('the time in which something was under way', () => {
  it('counts what overlaps once', () => {
    expect(busy([0, 4], [2, 6]).take(0)).toBe(6);
    expect(busy([2, 4], [0, 6]).take(0)).toBe(6);
  });

  it('leaves out the time between', () => {
    expect(busy([0, 2], [5, 6], [8, 10]).take(0)).toBe(5);
  });

  it('joins all spans that a long one covers', () => {
    expect(busy([0, 2], [5, 6], [8, 10], [1, 9]).take(0)).toBe(10);
  });

  it('counts nothing before the time that was asked for', () => {
    expect(busy([0, 4], [6, 8]).take(3)).toBe(3);
    expect(busy([0, 4]).take(5)).toBe(0);
  });

  it('begins anew when it was taken', () => {
    const time = busy([0, 4]);
    time.take(0);
    expect(time.take(0)).toBe(0);
    time.add(2, 9);
    expect(time.take(4)).toBe(5);
  });

  it('has nothing of what took no time', () => {
    expect(busy([3, 3]).take(0)).toBe(0);
  });
});
