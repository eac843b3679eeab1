/** Writes elements that the guard of the array refuses. */
import { writeSync } from 'node:fs';
import { openSpace } from '../../../src/index.js';

const space = await openSpace();
const x = space.array(Int32Array, 4096, { name: 'x' });
const module =
  "data:text/javascript,export default ({ begin, write }) => (write && begin === 1024 && 'refuse') || 'allow'";
await x.guard({ module });
x.data[0] = 1;
// At once, since the process is about to end.
writeSync(1, `${x.data[0]} written, ${x.data[1024]} read\n`);
x.data[1030] = 2;
writeSync(1, 'written\n');
