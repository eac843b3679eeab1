import { afterEach, expect, test } from 'vitest';
import { CPU_USES, CPU_USES_OFF, isUsed } from './uses.js';

afterEach(() => {
  delete process.env[CPU_USES_OFF];
});

test('all is used unless some is left out', () => {
  expect(CPU_USES.filter(isUsed)).toEqual(CPU_USES);
  process.env[CPU_USES_OFF] = 'near-disk,spare-cpu';
  expect(CPU_USES.filter((use) => !isUsed(use))).toEqual(['near-disk', 'spare-cpu']);
});

test('a name of no use is refused with those that there are', () => {
  process.env[CPU_USES_OFF] = 'near-disc';
  expect(() => isUsed('near-disk')).toThrow(
    /ONEMEM_CPU_USES_OFF names near-disc; there are next-fault, .*near-disk/,
  );
});
