/**
 * Runs the conformance scenarios on every kind of device that comes with the package; --help says
 * how.
 */
import { broken, conformance, kinds } from '../../src/testing/index.js';
import { lentKind } from './lent.js';

await conformance(import.meta.url, [...kinds, await lentKind(process.argv), broken]);
