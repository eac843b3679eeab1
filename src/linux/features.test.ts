import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { probeFeatures } from './features.js';

describe('probeFeatures', () => {
  it('tells for each feature what was found, and a remedy exactly when something is missing', () => {
    const features = probeFeatures();
    expect(new Set(features.map((feature) => feature.name)).size).toBe(features.length);
    for (const feature of features) {
      expect(feature.detail).not.toBe('');
      expect(feature.remedy === null).toBe(feature.available);
    }
    expect(features.filter((feature) => feature.required).map((feature) => feature.name)).toEqual([
      'userfaultfd',
      'minor faults of memory files',
      'write protection of memory files',
      'address range of spaces',
    ]);
  });

  it('leaves no descriptor and no mapping behind', () => {
    probeFeatures();
    const descriptors = readdirSync('/proc/self/fd').length;
    for (let i = 0; i < 5; i++) probeFeatures();
    expect(readdirSync('/proc/self/fd').length).toBe(descriptors);
    const maps = readFileSync('/proc/self/maps', 'latin1');
    expect(maps).not.toContain('onemem-probe');
    expect(maps).not.toMatch(/userfaultfd/);
  });
});
