import { describe, expect, it } from 'vitest';
import { FileWindows } from './file-windows.js';

describe('windows for files', () => {
  it('lie behind each other, and where others were', () => {
    const windows = new FileWindows(100, 150);
    expect([windows.take(10), windows.take(20), windows.take(20)]).toEqual([100, 110, 130]);
    expect(windows.giveBack(110)).toBe(20);
    expect([windows.take(15), windows.take(6), windows.take(5)]).toEqual([110, -1, 125]);
  });

  it('are none where there is no room', () => {
    const windows = new FileWindows(0, 10);
    expect([windows.take(11), windows.take(10), windows.take(1)]).toEqual([-1, 0, -1]);
  });
});
