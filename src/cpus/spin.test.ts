import { describe, expect, it } from 'vitest';
import { Spin } from './spin.js';

const SOON = 0.02;

/** As it is with a thread that shares the manager's CPU. */
function shared(): Spin {
  const spin = new Spin();
  while (!spin.yields) spin.slept(SOON);
  return spin;
}

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

  it('is short again where nothing comes of giving the CPU away: the thread is on another one', () => {
    const spin = shared();
    for (let time = 0; time < 3; time++) spin.slept(SOON);
    expect(spin.yields).toBe(false);
    expect(spin.looks(1)).toBeGreaterThan(2);
    for (let time = 0; time < 3; time++) spin.slept(SOON);
    expect(spin.yields).toBe(true);
  });

  it('is short as long as a fault now and then comes within it', () => {
    const spin = shared();
    for (let time = 0; time < 3; time++) spin.slept(SOON);
    for (let fault = 0; fault < 50; fault++) {
      expect(spin.looks(1)).toBe(12);
      spin.found(8);
      spin.slept(SOON);
      spin.slept(SOON);
    }
  });

  it('is short again as soon as a fault comes a little after an answer', () => {
    const spin = new Spin();
    const long = spin.looks(1);
    while (!spin.yields) spin.slept(SOON);
    while (spin.looks(1) !== long) spin.slept(SOON);
    spin.found(1);
    for (let tries = 0; tries < 3; tries++) {
      spin.found(1);
      spin.slept(SOON);
    }
    expect(spin.looks(1)).toBeLessThan(long);
    expect(spin.looks(1)).toBeGreaterThan(2);
    expect(spin.yields).toBe(false);
  });

  it('gives the CPU away where looking finds nothing, as long as that finds something', () => {
    const spin = shared();
    for (let fault = 0; fault < 1000; fault++) {
      expect(spin.yields).toBe(true);
      expect(spin.looks(1)).toBe(2);
      spin.yielded(SOON);
      spin.found(1);
    }
  });

  it('gives the CPU away seldom where another thread keeps it, and more seldom each time', () => {
    const spin = shared();
    const sleeps: number[] = [];
    for (let time = 0; time < 4; time++) {
      spin.yielded(3);
      spin.found(1);
      expect(spin.looks(1)).toBe(1);
      let count = 0;
      for (; !spin.yields; count++) spin.slept(200);
      sleeps.push(count);
    }
    expect(sleeps).toEqual([200, 400, 800, 1600]);
    spin.yielded(SOON);
    spin.found(1);
    spin.yielded(3);
    spin.found(1);
    let again = 0;
    for (; !spin.yields; again++) spin.slept(200);
    expect(again).toBe(200);
  });

  it('gives the CPU to a thread that computes when it was answered', () => {
    const spin = shared();
    for (let time = 0; time < 10; time++) {
      spin.yielded(3);
      spin.slept(200);
    }
    expect(spin.yields).toBe(true);
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
