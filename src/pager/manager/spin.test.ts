import { describe, expect, it } from 'vitest';
import { Spin } from './spin.js';

const SOON = 0.02;

describe('how long the manager looks around', () => {
  it('is long while that finds something', () => {
    const spin = new Spin();
    const long = spin.looks(1);
    for (let fault = 0; fault < 1000; fault++) {
      spin.found(long - 1);
      if (fault % 3 === 0) spin.slept(SOON);
    }
    expect(spin.looks(1)).toBe(long);
  });

  it('is short where looking longer finds nothing, and tried again now and then', () => {
    const spin = new Spin();
    const long = spin.looks(1);
    let looks = 0;
    const faults = 10_000;
    for (let fault = 0; fault < faults; fault++) {
      // Found soon or not at all, as by a thread that can run only while the manager sleeps.
      spin.found(3);
      looks += spin.looks(1);
      spin.slept(SOON);
    }
    expect(spin.looks(1)).toBeLessThan(long);
    // What trying costs: less than half a look a fault.
    expect(looks / faults).toBeLessThan(12.5);
    expect(looks / faults).toBeGreaterThan(12);
  });

  it('is tried again, and stays long when the thread has moved to another CPU', () => {
    const spin = new Spin();
    const long = spin.looks(1);
    while (spin.looks(1) === long) spin.slept(SOON);
    let sleeps = 0;
    while (spin.looks(1) !== long) {
      spin.slept(SOON);
      sleeps++;
    }
    expect(sleeps).toBeLessThan(1000);
    for (let fault = 0; fault < 100; fault++) spin.found(20);
    expect(spin.looks(1)).toBe(long);
  });

  it('is no longer with many descriptors to read', () => {
    const spin = new Spin();
    expect(spin.looks(2)).toBeLessThan(spin.looks(1));
    expect(spin.looks(17)).toBe(spin.looks(3));
  });

  it('learns nothing while nobody faults', () => {
    const spin = new Spin();
    const long = spin.looks(1);
    for (let second = 0; second < 1000; second++) spin.slept(200);
    expect(spin.looks(1)).toBe(long);
  });
});
