/** `onemem/testing`: the conformance suite for drivers. docs/guides/drivers.md says how. */
export { conformance } from './conformance.js';
export type { DeviceKind, Wanted } from './device-kind.js';
export { broken, brokenKind, type DriverFault, driverFaults } from './faults.js';
export { driverKind, kinds } from './kinds.js';
