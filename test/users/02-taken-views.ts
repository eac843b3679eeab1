/**
 * Views whose buffer is taken: a stream that reads into it, `transfer()`, `structuredClone()`. No
 * other array is ever seen by it.
 */
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Worker } from 'node:worker_threads';
import { type AddressSpace, type ManagedArray, openSpace } from '../../src/index.js';
import { failsWith, longTest, runTests, sameData, sleep, test } from '../harness/suite.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

const BYTES = 4_000_000;
/** Arrays of that many bytes that the space has addresses for. */
const ROOM = 6;

function open(): Promise<AddressSpace> {
  return openSpace({ hostMemory: '256MiB', addressSpace: ROOM * 4 * 2 ** 20 });
}

/** Reads into a view as a web stream does, and gives what the reader gets. */
async function readByStream(view: Uint8Array): Promise<Uint8Array> {
  const stream = new ReadableStream({
    type: 'bytes',
    pull: (controller) => {
      const { byobRequest } = controller as ReadableByteStreamController;
      const part = byobRequest?.view as Uint8Array;
      part[0] = 9;
      byobRequest?.respond(part.byteLength);
      controller.close();
    },
  });
  const { value } = await stream.getReader({ mode: 'byob' }).read(view);
  return value as Uint8Array;
}

/** Gives the engine every occasion to find out that something is gone. */
async function collectAll(): Promise<void> {
  for (let i = 0; i < 5; i++) {
    collect();
    await sleep(10);
  }
}

/** Fills the space with arrays; returns them. */
function fill(space: AddressSpace): ManagedArray<Uint8Array>[] {
  const others: ManagedArray<Uint8Array>[] = [];
  for (let i = 0; i < ROOM; i++) {
    try {
      const other = space.array(Uint8Array, BYTES);
      other.data.fill(100 + i);
      others.push(other);
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'ADDRESS_SPACE');
    }
  }
  return others;
}

/** What was taken sees none of the arrays that are made from now on. */
async function seesNothing(space: AddressSpace, taken: Uint8Array): Promise<void> {
  await collectAll();
  const others = fill(space);
  assert.equal(others.length, ROOM - 1, 'the addresses of what was taken are kept, and no others');
  assert.equal(taken[0], 0, 'what was freed reads as zero');
  for (const [i, other] of others.entries()) sameData(other.data.subarray(0, 4096), () => 100 + i);
}

/** An array that has gone, and what is left of it. */
async function takeAndFree(
  space: AddressSpace,
  take: (view: Uint8Array) => unknown,
): Promise<Uint8Array> {
  const x = space.array(Uint8Array, BYTES);
  const taken = (await take(x.data)) as Uint8Array;
  assert.equal(taken.length, BYTES);
  x.free();
  assert.ok(x.isFreed);
  return taken;
}

const ways: Record<string, (view: Uint8Array) => unknown> = { 'a stream': readByStream };
if ('transfer' in ArrayBuffer.prototype)
  ways['transfer()'] = (view) =>
    new Uint8Array((view.buffer as ArrayBuffer & { transfer(): ArrayBuffer }).transfer());

for (const [by, take] of Object.entries(ways)) {
  test(`what ${by} has taken of a freed array sees no other array`, async () => {
    await using space = await open();
    await seesNothing(space, await takeAndFree(space, take));
  });
}

longTest(
  'what a stream takes of an array that has been freed before sees no other array',
  async () => {
    await using space = await open();
    const late = await (async () => {
      const x = space.array(Uint8Array, BYTES);
      const { data } = x;
      x.free();
      return new Uint8Array((await readByStreamUntouched(data)).buffer);
    })();
    await seesNothing(space, late);
  },
);

/** As readByStream, of memory that may not be written. */
async function readByStreamUntouched(view: Uint8Array): Promise<Uint8Array> {
  const stream = new ReadableStream<Uint8Array>({
    type: 'bytes',
    start: (controller: ReadableByteStreamController) => {
      controller.enqueue(view);
      controller.close();
    },
  } as never);
  const { value } = await stream.getReader().read();
  return value as Uint8Array;
}

longTest('what a stream takes of a part sees no other array', async () => {
  await using space = await open();
  const taken = await takeAndFree(space, async (view) => {
    const part = await readByStream(view.subarray(0, 4096));
    return new Uint8Array(part.buffer);
  });
  await seesNothing(space, taken);
});

test('data is another view of the same elements after its buffer was taken', async () => {
  await using space = await open();
  const x = space.array(Uint8Array, BYTES);
  x.data.fill(5);
  const taken = await readByStream(x.data);
  assert.equal(x.data.length, BYTES);
  assert.equal(x.data[0], 9);
  sameData(x.data.subarray(1, 4096), () => 5);
  taken[1] = 77;
  assert.equal(x.data[1], 77);
  assert.equal(x.data, x.data);
  x.free();
  await failsWith('USE_AFTER_FREE', () => x.data);
});

test('structuredClone() with transfer copies or refuses, and leaves the view as it is', async () => {
  await using space = await open();
  const x = space.array(Uint8Array, BYTES);
  x.data.fill(5);
  try {
    const copy = structuredClone(x.data, { transfer: [x.data.buffer as ArrayBuffer] });
    copy[0] = 1;
  } catch (error) {
    assert.equal((error as Error).name, 'DataCloneError');
  }
  assert.equal(x.data.length, BYTES);
  sameData(x.data.subarray(0, 4096), () => 5);
});

longTest(
  'addresses come back when nothing was taken, also those of parts that the program has left',
  async () => {
    await using space = await open();
    let parts: Uint8Array[] = [];
    for (let round = 0; round < 5; round++) {
      const arrays = fill(space);
      assert.equal(arrays.length, ROOM, `round ${round}`);
      parts = arrays.map((array) => array.data.subarray(0, 4096));
      for (const array of arrays) array.free();
      arrays.length = 0;
      await collectAll();
    }
    for (const part of parts) assert.equal(part.length, 0, 'a part of what has gone is empty');
  },
);

longTest('what a thread took of an array that another one frees sees no other array', async () => {
  await using space = await open();
  const x = space.array(Uint8Array, BYTES);
  const worker = new Worker(new URL('./programs/taking-thread.js', import.meta.url), {
    workerData: x.handle,
  });
  const said = (): Promise<unknown> => new Promise((resolve) => worker.once('message', resolve));
  assert.equal(await said(), 'taken');
  x.free();
  worker.postMessage('freed');
  assert.equal(await said(), 'collected');
  const others = fill(space);
  assert.equal(others.length, ROOM - 1);
  worker.postMessage('look');
  assert.equal(await said(), 0);
  await worker.terminate();
});

await runTests();
