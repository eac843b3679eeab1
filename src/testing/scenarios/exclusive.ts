/** Pages that are a device's alone, for atomic operations, until another processor touches. */
import type { Device } from '../../index.js';
import {
  BUFFER_BYTES,
  BUFFER_WORDS,
  equal,
  holds,
  refused,
  same,
  WORDS_PER_PAGE,
} from '../context.js';
import { increment, pattern } from '../kernels.js';
import type { Scenario } from '../suite.js';
import { seenBy, type Words } from './common.js';

const TIMES = 5;

async function makeExclusive(device: Device, array: Words): Promise<void> {
  using stream = device.stream();
  const event = stream.exclusive(array.range());
  await stream.synchronize();
  equal('bytes that are exclusive', event.bytes, BUFFER_BYTES);
  const { bytes, runs } = array.residency();
  equal('bytes on the device', bytes[device.name], BUFFER_BYTES);
  equal('bytes at home', bytes.host, undefined);
  const others = runs.flatMap(({ access }) =>
    Object.keys(access).filter((name) => name !== device.name),
  );
  equal('others with a right', others.join(), '');
}

function incremented(content: Uint32Array, times: number): Uint32Array {
  return content.map((value) => value + times);
}

export const exclusive: readonly Scenario[] = [
  {
    name: 'exclusive',
    devices: 1,
    holds:
      'a range that is exclusive to the device is had back by the CPU at a touch, and of increments by both none is lost',
    run: async ({ device, words, watch }) => {
      const array = words();
      let content = pattern(BUFFER_WORDS, 0x51ab_00b0);
      array.data.set(content);
      await makeExclusive(device, array);
      await device.run(increment, { data: array, times: TIMES }, { size: BUFFER_WORDS });
      content = incremented(content, TIMES);
      const touched = watch();
      for (let i = 0; i < BUFFER_WORDS; i++) {
        Atomics.add(array.data, i, 1);
        content[i]++;
      }
      holds('the device gave its right up', touched(device).revocations > 0);
      equal('bytes on the device', array.residency().bytes[device.name], undefined);
      same('after increments by one and the other', array.data, content);

      // Both at the same time, on the same words. A device without page faults keeps what it works
      // on until it is through.
      await makeExclusive(device, array);
      const { data } = array;
      const running = device.run(increment, { data: array, times: TIMES }, { size: BUFFER_WORDS });
      for (let i = 0; i < BUFFER_WORDS; i += WORDS_PER_PAGE / 4) {
        Atomics.add(data, i, 3);
        content[i] += 3;
      }
      await running;
      content = incremented(content, TIMES);
      same('after increments by both at once', array.data, content);
      same('what the device reads', await seenBy(device, array), content);
    },
  },
  {
    name: 'exclusive_mprotect',
    devices: 1,
    holds: "a device cannot write what is exclusive to it once it is protected 'read'",
    run: async ({ device, words }) => {
      const array = words();
      const content = pattern(BUFFER_WORDS, 0x51ab_00b2);
      array.data.set(content);
      await makeExclusive(device, array);
      await array.protect('read');
      const run = (): Promise<void> =>
        device.run(increment, { data: array, times: 1 }, { size: BUFFER_WORDS });
      await refused('a launch that writes it', 'ACCESS_DENIED', run);
      same('what the device reads', await seenBy(device, array), content);
      same('what the CPU reads', array.data, content);
      await array.protect('readwrite');
      await run();
      same('after the launch that was refused before', array.data, incremented(content, 1));
    },
  },
  {
    name: 'exclusive_cow',
    devices: 1,
    holds:
      'a range that is exclusive to the device and its clone are incremented independently of each other',
    run: async ({ device, words }) => {
      const array = words();
      const content = pattern(BUFFER_WORDS, 0x51ab_00b4);
      array.data.set(content);
      await makeExclusive(device, array);
      const clone = await array.clone();
      await device.run(increment, { data: array, times: 2 }, { size: BUFFER_WORDS });
      await device.run(increment, { data: clone, times: 3 }, { size: BUFFER_WORDS });
      for (let i = 0; i < BUFFER_WORDS; i++) Atomics.add(clone.data, i, 4);
      for (let i = 0; i < BUFFER_WORDS; i++) Atomics.add(array.data, i, 5);
      same('the source', array.data, incremented(content, 7));
      same('the clone', clone.data, incremented(content, 7));
      await makeExclusive(device, clone);
      await device.run(increment, { data: clone, times: 1 }, { size: BUFFER_WORDS });
      same('the source at last', await seenBy(device, array), incremented(content, 7));
      same('the clone at last', clone.data, incremented(content, 8));
    },
  },
];
