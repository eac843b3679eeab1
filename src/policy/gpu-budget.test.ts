import { expect, test } from 'vitest';
import { gpuBudget } from './gpu-budget.js';

const GIB = 2 ** 30;
const BLOCK = 2 ** 21;
const HOST = { limit: 64 * GIB, budget: 45 * GIB };

test('a device has three quarters of what is left, in whole blocks, and several share it', () => {
  const own = (leftBytes: number, devices?: number) =>
    gpuBudget({ leftBytes, isHosts: false }, HOST, devices);
  expect(own(76 * GIB)).toBe(57 * GIB);
  expect(own(76 * GIB, 2)).toBe(28.5 * GIB);
  expect(own(5 * BLOCK)).toBe(3 * BLOCK);
  expect(own(0)).toBe(0);
});

test('where the memory is the host’s, a device has no more than half of what its arrays leave', () => {
  const hosts = (leftBytes: number, budget = HOST.budget) =>
    gpuBudget({ leftBytes, isHosts: true }, { ...HOST, budget });
  expect(hosts(60 * GIB)).toBe(9.5 * GIB);
  expect(hosts(60 * GIB, GIB)).toBe(31.5 * GIB);
  // Others have taken so much of it that this is less.
  expect(hosts(4 * GIB)).toBe(3 * GIB);
  expect(hosts(60 * GIB, 70 * GIB)).toBe(0);
});
