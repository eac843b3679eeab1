/** Runs the conformance scenarios on every kind of device that comes with the package; --help says how. */
import { conformance } from './conformance.js';
import { kinds } from './kinds.js';

await conformance(import.meta.url, kinds);
