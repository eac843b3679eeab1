/** Writes through a view from before its array moved. */
import { openSpace } from '../../../src/index.js';

const space = await openSpace({ hostMemory: '64MiB', storage: false });
const x = space.array(Float32Array, 1000, { name: 'x' });
const old = x.data;
await x.resize(1_000_000);
old[0] = 1;
