/** Places an array on a node where the system forbids it, and uses it all the same. */
import { openSpace } from '../../../src/index.js';
import { FAILING_CALLS } from '../../../src/linux/base/failing-calls.js';

process.env[FAILING_CALLS] = 'mbind:EPERM:1-100';
const space = await openSpace();
delete process.env[FAILING_CALLS];
const [{ node }] = space.numa;
const array = space.array(Int32Array, 100_000, { name: 'placed', numa: { node } });
array.data.fill(7);
console.log(array.data.every((each) => each === 7));
await space.close();
