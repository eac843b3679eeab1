/**
 * `onemem/testing`: the conformance suite, which a driver joins in a few lines.
 * docs/guides/drivers.md says how.
 */
export { conformance } from './conformance.js';
export type { DeviceKind, Wanted } from './device-kind.js';
export { broken, brokenKind, type DriverFault, driverFaults } from './faults.js';
export { driverKind, kinds } from './kinds.js';
