/** The kinds of devices that come with the package. */
import type { DeviceSpecification, SpaceOptions } from '../../src/index.js';
import type { DeviceKind, Wanted } from './suite.js';

function options(wanted: Wanted, device: Omit<DeviceSpecification, 'memory'>): SpaceOptions {
  const { devices, memoryBytes, refuseLargerThanPages } = wanted;
  const inject = refuseLargerThanPages === undefined ? {} : { inject: { refuseLargerThanPages } };
  return { devices: new Array(devices).fill({ ...device, memory: memoryBytes, ...inject }), ...inject };
}

export const kinds: readonly DeviceKind[] = [
  { name: 'process', memorySurvives: true, open: (wanted) => options(wanted, { kind: 'process' }) },
  { name: 'process-lossy', memorySurvives: false, open: (wanted) => options(wanted, { kind: 'process', lossy: true }) },
  { name: 'simulated', memorySurvives: false, open: (wanted) => options(wanted, { kind: 'simulated' }) },
];
