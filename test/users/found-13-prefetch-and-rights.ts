/**
 * A prefetch is judged by the rights that hold when its turn in the stream comes: rights that
 * change and change back before or after that do not refuse it.
 */
import { type AddressSpace, type ManagedArray, openSpace, type Stream } from '../../src/index.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const N = 2 ** 18;
const PART = { begin: N / 4, end: N / 2 };

interface Setting {
  readonly space: AddressSpace;
  readonly stream: Stream;
  readonly x: ManagedArray<Uint32Array>;
}

async function withArray(action: (setting: Setting) => Promise<unknown>): Promise<void> {
  await using space = await openSpace({
    hostMemory: '32MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const x = space.array(Uint32Array, N, { name: 'x' });
  x.data.fill(7);
  await action({ space, x, stream: space.devices[0].stream() });
  sameData(x.data, () => 7);
  space.checkInvariants();
}

longTest('rights that change back before a prefetch is given, or after, do not refuse it', () =>
  withArray(async ({ space, stream, x }) => {
    for (let round = 0; round < 100; round++) {
      const to = round % 2 === 0 ? 'host' : space.devices[0];
      const before = [x.protect('none', PART), x.protect('readwrite', PART)];
      const prefetched = stream.prefetch(x, to).synchronize();
      const after = [x.protect('none', PART), x.protect('readwrite', PART)];
      await Promise.all([...before, prefetched, ...after]);
    }
  }),
);

test('a prefetch that waits for its turn is not refused where the rights are back by then', () =>
  withArray(async ({ stream, x }) => {
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    await x.protect('none', PART);
    stream.call(() => gate);
    const prefetched = stream.prefetch(x, 'host').synchronize();
    await x.protect('readwrite', PART);
    go();
    await prefetched;
  }));

test('one whose turn comes meanwhile is refused, also where the rights are back soon', () =>
  withArray(async ({ stream, x }) => {
    await x.protect('none', PART);
    const prefetched = stream.prefetch(x, 'host').synchronize();
    const back = x.protect('readwrite', PART);
    await failsWith('ACCESS_DENIED', () => prefetched);
    await back;
  }));

await runTests();
