import { describe, expect, it } from 'vitest';
import { RunningThreads, runningIn } from './running-threads.js';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

describe('threads that run', () => {
  it('are counted behind three averages', () => {
    expect(runningIn(bytes('0.44 0.68 1.98 1/92 24137\n'))).toBe(1);
    expect(runningIn(bytes('112.00 98.01 7.00 134/2048 7\n'))).toBe(134);
  });

  it('are none where the file says nothing of them', () => {
    for (const text of ['', '0.00 0.00', '0.00 0.00 0.00 -/- -\n', '0.00 0.00 0.00 0/0 0\n'])
      expect(runningIn(bytes(text))).toBe(0);
  });

  it('are at least the one that asks, of this machine', () => {
    const threads = new RunningThreads();
    try {
      for (let round = 0; round < 100; round++) expect(threads.count()).toBeGreaterThan(0);
    } finally {
      threads.close();
    }
  });

  it('are counted again after the descriptor was closed', () => {
    const threads = new RunningThreads();
    expect(threads.count()).toBeGreaterThan(0);
    threads.close();
    expect(threads.count()).toBeGreaterThan(0);
    threads.close();
  });
});
