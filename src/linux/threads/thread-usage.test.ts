import { describe, expect, it } from 'vitest';
import { threadRunningNs, threadWaits } from './thread-usage.js';

describe('what a thread took', () => {
  it('counts the time in which it ran, not the time in which it waited', () => {
    const before = threadRunningNs();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60);
    const waited = threadRunningNs() - before;
    for (const end = performance.now() + 60; performance.now() < end; );
    expect(waited).toBeLessThan(30e6);
    expect(threadRunningNs() - before - waited).toBeGreaterThan(0);
  });

  it('counts waits, not computation', () => {
    const before = threadWaits();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    expect(threadWaits()).toBeGreaterThan(before);
  });
});
