/**
 * Runs the conformance scenarios on every kind of device that comes with the package; --help says
 * how.
 */
import { broken, brokenKind, conformance, kinds } from '../../src/testing/index.js';
import { lentKind } from './lent.js';

/** A driver from a module of the program, as users write them. */
const custom = brokenKind('custom', []);

await conformance(import.meta.url, [...kinds, await lentKind(process.argv), custom, broken]);
