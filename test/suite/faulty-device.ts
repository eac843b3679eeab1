/** The conformance suite on a driver with one mistake. */
import { brokenKind, conformance, type DriverFault } from '../../src/testing/index.js';

await conformance(import.meta.url, [
  { ...brokenKind('faulty', [process.env.FAULT as DriverFault]), onlyByName: false },
]);
