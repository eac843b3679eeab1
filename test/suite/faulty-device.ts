/**
 * The conformance suite on a driver with one mistake (FAULT), or on a manager that ends in some way
 * (CRASH).
 */
import type { SpaceOptions } from '../../src/index.js';
import {
  brokenKind,
  conformance,
  type DeviceKind,
  type DriverFault,
  kinds,
} from '../../src/testing/index.js';

const { FAULT, CRASH } = process.env;
const [sound] = kinds;
// The space that warms the process up is not touched, and so does not end.
const crashing: DeviceKind = {
  ...sound,
  open: (wanted) => ({ ...sound.open(wanted), crash: CRASH as SpaceOptions['crash'] }),
};
const faulty = {
  ...brokenKind('faulty', FAULT === undefined ? [] : [FAULT as DriverFault]),
  onlyByName: false,
};
await conformance(import.meta.url, [CRASH === undefined ? faulty : crashing]);
