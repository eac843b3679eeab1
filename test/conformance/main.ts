/** Runs the conformance scenarios on every kind of device that comes with the package; --help says how. */
import { broken, conformance, kinds } from '../../src/testing/index.js';

await conformance(import.meta.url, [...kinds, broken]);
