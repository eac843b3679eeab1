/** A process that attaches to the space of its argument, and uses it until it is ended. */
import { attachSpace } from '../../src/index.js';
import { KERNELS } from './kernels.js';

process.on('disconnect', () => process.exit());
const space = attachSpace(process.argv[2]);
for (let round = 0; ; round++) {
  const x = space.array(Float32Array, 5000, { name: `of a user ${round}` });
  x.data.fill(1);
  await space.devices[0].run(KERNELS[0], { x, by: 1 }, { size: x.length });
  const clone = await x.clone({ name: 'clone of a user' });
  if (clone.data[4999] !== 2) throw new Error(`${clone.data[4999]} instead of 2`);
  using stream = space.stream();
  stream.copy(clone, x);
  await stream.synchronize();
  const pin = await x.pin();
  if (round % 2 === 0) pin.unpin();
  if (round % 2 === 0) x.free();
  clone.free();
  if (round === 0) process.send?.('at work');
}
