import { describe, expect, it } from 'vitest';
import { FileWindows } from './file-windows.js';

describe('windows for files', () => {
  it('lie behind each other, and where others were', () => {
    const windows = new FileWindows(512, 3072);
    expect([windows.take(10, 0), windows.take(600, 0), windows.take(512, 0)]).toEqual([
      512, 1024, 2048,
    ]);
    expect(windows.giveBack(1024)).toBe(600);
    expect([windows.take(512, 0), windows.take(513, 0), windows.take(512, 0)]).toEqual([
      1024, -1, 1536,
    ]);
  });

  it('lie in their blocks as the parts of the files do', () => {
    const windows = new FileWindows(512, 5120);
    expect([windows.take(10, 3), windows.take(10, 2), windows.take(10, 600)]).toEqual([
      515, 1026, 600,
    ]);
  });

  it('are none where there is no room', () => {
    const windows = new FileWindows(0, 10);
    expect([windows.take(11, 0), windows.take(10, 0), windows.take(1, 0)]).toEqual([-1, 0, -1]);
  });
});
