/**
 * Arrays of which parts, or by parts everything, has been freed: no call reaches what lies at their
 * addresses by then.
 */
import assert from 'node:assert/strict';
import { closeSync, openSync } from 'node:fs';
import { type AddressSpace, kernel, type ManagedArray, openSpace, u32 } from '../../src/index.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const BYTES = 2 ** 21;
const LENGTH = BYTES / 4;
const HALF = LENGTH / 2;

const fill = kernel({ x: u32.inout, value: u32 }, ({ x, value }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] = value;
});

type Part = { begin?: number; end?: number };

/** Calls that use or change elements: all that take a part of an array. */
function uses(
  space: AddressSpace,
  x: ManagedArray<Uint32Array>,
): Record<string, (part: Part) => unknown> {
  const [device] = space.devices;
  const rangeOf = ({ begin, end }: Part) => x.range(begin, end);
  const finish = (event: { synchronize(): Promise<void> }) => event.synchronize();
  const elements = ({ begin = 0, end = LENGTH }: Part) => new Uint32Array(end - begin);
  const withFile = async (path: string, action: (fd: number) => Promise<unknown>) => {
    const fd = openSync(path, 'r+');
    await action(fd).finally(() => closeSync(fd));
  };
  return {
    writeTo: (part) => withFile('/dev/null', (fd) => x.writeTo(fd, part)),
    readFrom: (part) => withFile('/dev/zero', (fd) => x.readFrom(fd, part)),
    prefetch: (part) => finish(device.stream().prefetch(rangeOf(part))),
    'prefetch to the host': (part) => finish(device.stream().prefetch(rangeOf(part), 'host')),
    exclusive: (part) => finish(device.stream().exclusive(rangeOf(part))),
    'copy to': (part) => finish(device.stream().copy(rangeOf(part), elements(part))),
    'copy from': (part) => finish(device.stream().copy(elements(part), rangeOf(part))),
    launch: (part) =>
      device.run(fill, { x: rangeOf(part), value: 7 }, { size: elements(part).length }),
    protect: (part) => x.protect('read', part),
    discard: (part) => x.discard(part),
    pin: (part) => x.pin(part),
    hold: (part) => x.hold(part),
    flush: (part) => x.flush(part),
    free: (part) => x.free(part),
    createReadStream: async (part) => {
      for await (const _piece of x.createReadStream(part));
    },
  };
}

/** Calls about the whole array or its blocks, and those that only report. */
function reports(x: ManagedArray<Uint32Array>): Record<string, () => unknown> {
  return {
    advise: () => x.advise({ preferredLocation: 'host' }),
    residency: () => x.residency(),
    attributes: () => x.attributes(),
    dirty: () => x.dirty(),
    young: () => x.young(),
    data: () => x.data,
    clone: () => x.clone(),
    resize: () => x.resize(LENGTH * 2),
    reload: () => x.reload({ discard: true }),
    watch: () => x.watch(),
  };
}

async function withSpace(action: (space: AddressSpace) => Promise<void>): Promise<void> {
  const device = { kind: 'process', memory: '8MiB' } as const;
  await using space = await openSpace({
    devices: [device],
    addressSpace: 6 * BYTES,
    checkInvariants: true,
  });
  await action(space);
}

test('an array all of whose pages were freed by parts is refused by every call, and what lies there now stays as it is', () =>
  withSpace(async (space) => {
    const x = space.array(Uint32Array, LENGTH, { name: 'x' });
    await space.devices[0].run(fill, { x, value: 1 }, { size: LENGTH });
    x.free({ end: HALF });
    x.free({ begin: HALF });
    const others: ManagedArray<Uint32Array>[] = [];
    let next = space.array(Uint32Array, LENGTH);
    for (; next.address !== x.address; next = space.array(Uint32Array, LENGTH)) others.push(next);
    for (const other of others) other.free();
    next.data.fill(2);
    const calls = [...Object.entries(uses(space, x)), ...Object.entries(reports(x))];
    for (const [name, call] of calls) {
      const error = await failsWith('USE_AFTER_FREE', () => call({ end: LENGTH })).catch(
        (wrong: Error) => wrong,
      );
      assert.equal((error as { code?: string }).code, 'USE_AFTER_FREE', `${name}: ${error.stack}`);
      assert.match(error.message, /array x/, name);
      sameData(next.data, () => 2);
      assert.equal(next.dirty().length, 1, name);
    }
    x.free();
    sameData(next.data, () => 2);
  }));

longTest(
  'pages that were freed by part are refused by every call that uses them; others are not, and reports say which they are',
  () =>
    withSpace(async (space) => {
      const x = space.array(Uint32Array, LENGTH, { name: 'x' });
      x.data.fill(1);
      x.free({ begin: HALF });
      for (const [name, call] of Object.entries(uses(space, x))) {
        // A launch and a copy write what they may until they come to what has been freed; freeing
        // leaves out what has been.
        const parts = ['launch', 'copy to', 'free'].includes(name)
          ? [{ begin: HALF }]
          : [{ begin: HALF }, { begin: HALF - 4096 }];
        for (const part of parts) {
          const error = await failsWith('USE_AFTER_FREE', () => call(part)).catch(
            (wrong: Error) => wrong,
          );
          assert.equal(
            (error as { code?: string }).code,
            'USE_AFTER_FREE',
            `${name}: ${error.stack}`,
          );
          assert.match(
            error.message,
            new RegExp(`array x,? .*elements ${HALF} to ${HALF + 1023}`),
            name,
          );
        }
      }
      sameData(x.data.subarray(0, HALF), () => 1);
      assert.deepEqual(
        x.residency().runs.map(({ state }) => state),
        ['resident', 'freed'],
      );
      await x.discard({ end: HALF });
      sameData(x.data.subarray(0, HALF), () => 0);
    }),
);

await runTests();
