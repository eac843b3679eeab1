import { describe, expect, it } from 'vitest';
import { RunningClock } from './running-clock.js';

describe('RunningClock', () => {
  it('leaves out what the manager stood still for', () => {
    let wall = 5000;
    const clock = new RunningClock(() => wall);
    for (const [passed, counted] of [
      [200, 200],
      [1000, 1000],
      [20_000, 0],
      [300, 300],
    ]) {
      const before = clock.now();
      wall += passed;
      expect(clock.now() - before).toBe(counted);
    }
  });
});
