/** Pages that move by one call or by touching, there and back. */
import {
  atMost,
  BLOCK_BYTES,
  BUFFER_BYTES,
  BUFFER_WORDS,
  equal,
  holds,
  refused,
  same,
  WORDS_PER_BLOCK,
  WORDS_PER_PAGE,
} from '../context.js';
import { copy, mixed, pattern, write } from '../kernels.js';
import type { Scenario } from '../suite.js';
import { mixOn, onDevice, pageBytes, ROUNDS, seenBy } from './common.js';

export const migration: readonly Scenario[] = [
  {
    name: 'migrate',
    devices: 1,
    holds:
      'after a prefetch the array is on the device, which reads the right data and fetches nothing again',
    run: async ({ device, words, prefetch, watch }) => {
      const array = words();
      const content = pattern(BUFFER_WORDS, 0x51ab_000a);
      array.data.set(content);
      equal('bytes on the device before', array.residency().bytes[device.name], undefined);
      const figures = watch();
      equal('bytes that came', await prefetch(array, device), BUFFER_BYTES);
      equal('bytes on the device', array.residency().bytes[device.name], BUFFER_BYTES);
      same('what the device read', await seenBy(device, array), content);
      equal('bytes copied to the device', figures(device).bytesIn, BUFFER_BYTES);

      // Both have copies now. What one of them writes, the other must not read from its own.
      for (let i = 1; i < BUFFER_WORDS; i += WORDS_PER_PAGE)
        content[i] = array.data[i] ^= 0x0f0f_0f0f;
      same('what the device read after the CPU wrote', await seenBy(device, array), content);
      equal('bytes that came for it', figures(device).bytesIn, 2 * BUFFER_BYTES);
      same('what the CPU reads after it wrote', array.data, content);
      await mixOn(device, array, 0x51ab_000b);
      const { bytes, runs } = array.residency();
      equal('bytes on the device after it wrote', bytes[device.name], BUFFER_BYTES);
      equal('bytes at home after it wrote', bytes.host, undefined);
      equal(
        'rights after it wrote',
        JSON.stringify(runs.map(({ access }) => access)),
        `[{"${device.name}":"write"}]`,
      );
      equal('bytes copied at all', figures(device).bytesIn, 2 * BUFFER_BYTES);
      const after = mixed(content, 0x51ab_000b);
      same('what the CPU reads', array.data, after);
      await mixOn(device, array, 0x51ab_000c);
      same(
        'what the CPU reads after the device wrote again',
        array.data,
        mixed(after, 0x51ab_000c),
      );
    },
  },
  {
    name: 'migrate_fault',
    devices: 1,
    holds: 'a range of which the CPU has touched a half back migrates again, wholly and intact',
    run: async ({ device, words, prefetch, watch }) => {
      const array = words();
      const content = await onDevice(device, array, 0x51ab_000c);
      // Half of the range, in two blocks and at no block's edge.
      const [begin, end] = [BUFFER_WORDS / 4, (BUFFER_WORDS / 4) * 3];
      for (let i = begin; i < end; i++) array.data[i] ^= 0x00ff_00ff;
      content.forEach((value, i) => {
        if (i >= begin && i < end) content[i] = value ^ 0x00ff_00ff;
      });
      const home = BUFFER_BYTES - (array.residency().bytes[device.name] ?? 0);
      holds('half of it or more came home', home >= BUFFER_BYTES / 2);
      holds('not all of it came home', home < BUFFER_BYTES);
      const figures = watch();
      equal('bytes that are there', await prefetch(array, device), BUFFER_BYTES);
      equal('bytes that had to come', figures(device).bytesIn, home);
      equal('bytes on the device', array.residency().bytes[device.name], BUFFER_BYTES);
      same('what the device read', await seenBy(device, array), content);
      same('what the CPU reads', array.data, content);
    },
  },
  {
    name: 'migrate_release',
    devices: 1,
    holds: 'a device that is detached while it holds pages brings them home first',
    run: async ({ space, device, words, watch }) => {
      const [array, other] = [words(), words(3 * WORDS_PER_PAGE + 11)];
      const content = await onDevice(device, array, 0x51ab_000d);
      const rest = await onDevice(device, other, 0x51ab_000e);
      const figures = watch();
      await device.detach();
      // The manager is about to reap what the device was, and answers all the same.
      for (let round = 0; round < 200; round++) space.stats();
      equal('bytes that came home', figures('host').bytesIn, BUFFER_BYTES + pageBytes(other));
      equal('bytes at home', array.residency().bytes.host, BUFFER_BYTES);
      const gone = space.stats().processors.find((each) => each.name === device.name);
      equal('whether the device is alive', gone?.alive, false);
      equal('memory of the device', gone?.backedBytes, 0);
      same('what the CPU reads', array.data, content);
      same('what the CPU reads of the other', other.data, rest);
      await refused('a launch on it', 'DEVICE_DETACHED', () =>
        device.run(write, { data: array, seed: 1 }, { size: BUFFER_WORDS }),
      );
      await device.detach();
      same('the data after all this', array.data, content);
    },
  },
  {
    name: 'migrate_multiple',
    devices: 1,
    holds: `${ROUNDS} round trips leave the data intact and move each byte once each way`,
    run: async ({ device, words, prefetch, watch }) => {
      const array = words();
      let content = pattern(BUFFER_WORDS, 0x51ab_000f);
      array.data.set(content);
      for (let round = 0; round < ROUNDS; round++) {
        const figures = watch();
        equal(`round ${round}: bytes that are there`, await prefetch(array, device), BUFFER_BYTES);
        await mixOn(device, array, round);
        content = mixed(content, round);
        equal(`round ${round}: bytes that came`, figures(device).bytesIn, BUFFER_BYTES);
        if (round % 2 === 0)
          equal('bytes that are home', await prefetch(array, 'host'), BUFFER_BYTES);
        same(`round ${round}: what the CPU reads`, array.data, content);
        equal(`round ${round}: bytes that came home`, figures('host').bytesIn, BUFFER_BYTES);
        array.data.set(content.reverse());
      }
    },
  },
  {
    name: 'double_map',
    devices: 2,
    holds:
      'both devices read the same pages, and go on doing so after these migrated to one of them',
    run: async ({ space, words, prefetch, watch }) => {
      const [one, two] = space.devices;
      const array = words();
      let content = pattern(BUFFER_WORDS, 0x51ab_0040);
      array.data.set(content);
      same('what the first device read', await seenBy(one, array), content);
      same('what the second device read', await seenBy(two, array), content);
      for (const { name } of [one, two])
        equal(`bytes on ${name}`, array.residency().bytes[name], BUFFER_BYTES);
      const again = watch();
      equal('bytes on the second', await prefetch(array, two), BUFFER_BYTES);
      same('what the first device read again', await seenBy(one, array), content);
      atMost('new faults of the first', again(one).readFaults, 1);
      equal('bytes copied for reading again', again(one).bytesIn + again(two).bytesIn, 0);

      // Now the second device has the only copy.
      await mixOn(two, array, 0x51ab_0041);
      content = mixed(content, 0x51ab_0041);
      equal('bytes left on the first', array.residency().bytes[one.name], undefined);
      const changed = watch();
      equal('bytes on the first', await prefetch(array, one), BUFFER_BYTES);
      same('what the first device read after the second wrote', await seenBy(one, array), content);
      atMost('new faults of the first', changed(one).readFaults, 1);
      equal('bytes copied to the first', changed(one).bytesIn, BUFFER_BYTES);
      same('what the second device reads', await seenBy(two, array), content);
      same('what the CPU reads', array.data, content);
    },
  },
  {
    name: 'oversubscribe',
    devices: 1,
    // Less than usual: everything moves several times, and a driver may take its time for a page.
    memoryBytes: 8 * BLOCK_BYTES,
    holds: 'arrays that are larger together than the device take turns there, and lose nothing',
    run: async ({ space, device, words, watch }) => {
      const blocks = Math.floor(device.memory / BLOCK_BYTES);
      const length = Math.ceil((blocks * 5) / 8) * WORDS_PER_BLOCK;
      const arrays = [words(length), words(length)];
      const contents = [0x51ab_0044, 0x51ab_0045].map((seed) => pattern(length, seed));
      for (const [index, content] of contents.entries()) arrays[index].data.set(content);
      const figures = watch();
      for (let round = 0; round < 3; round++) {
        for (const [index, array] of arrays.entries()) {
          await mixOn(device, array, round);
          contents[index] = mixed(contents[index], round);
        }
        atMost('memory of the device', device.stats().peakBytes, device.memory);
        // One half comes home by touching, the other when it must make room.
        const half = length / 2;
        same(
          `round ${round}: a half`,
          arrays[0].data.subarray(0, half),
          contents[0].subarray(0, half),
        );
        space.checkInvariants();
      }
      holds('blocks had to make room', figures(device).evictions > 0);
      for (const [index, array] of arrays.entries())
        same(`array ${index} at last`, array.data, contents[index]);
    },
  },
  {
    name: 'migrate_empty',
    devices: 1,
    holds: 'an untouched range migrates without a copy, and reads as zeros',
    run: async ({ device, words, prefetch, watch }) => {
      const array = words();
      const figures = watch();
      equal('bytes that are there', await prefetch(array, device), BUFFER_BYTES);
      equal('bytes copied', figures(device).bytesIn + figures('host').bytesIn, 0);
      equal('memory at home', figures('host').backedBytes, 0);
      same('what the device read', await seenBy(device, array), new Uint32Array(BUFFER_WORDS));
      same('what the CPU reads', array.data, new Uint32Array(BUFFER_WORDS));
    },
  },
  {
    name: 'migrate_zero',
    devices: 1,
    holds:
      'zero pages that the CPU has read migrate without a copy, there and back, and read as zeros',
    run: async ({ device, words, prefetch, watch }) => {
      const array = words();
      const zeros = new Uint32Array(BUFFER_WORDS);
      same('what the CPU reads first', array.data, zeros);
      equal('bytes at home', array.residency().bytes.host, BUFFER_BYTES);
      const figures = watch();
      equal('bytes that are there', await prefetch(array, device), BUFFER_BYTES);
      equal('bytes copied there', figures(device).bytesIn, 0);
      equal('bytes made there', figures(device).bytesZeroed, BUFFER_BYTES);
      const destination = words();
      await device.run(copy, { source: array, destination }, { size: BUFFER_WORDS });
      equal('bytes copied for reading them', figures(device).bytesIn, 0);
      same('what the device read', destination.data, zeros);
      same('what the CPU reads', array.data, zeros);
    },
  },
  {
    name: 'migrate_block_round_trip',
    devices: 1,
    holds: 'a whole block moves there and back, 2 MiB each way, intact',
    run: async ({ device, words, prefetch, watch }) => {
      const array = words(3 * WORDS_PER_BLOCK);
      const content = pattern(array.length, 0x51ab_0050);
      array.data.set(content);
      const [begin, end] = [WORDS_PER_BLOCK, 2 * WORDS_PER_BLOCK];
      const figures = watch();
      equal('bytes that are there', await prefetch(array, device, begin, end), BLOCK_BYTES);
      equal('bytes on the device', array.residency().bytes[device.name], BLOCK_BYTES);
      await mixOn(device, array, 0x51ab_0051, { begin, end });
      content.set(mixed(content, 0x51ab_0051).subarray(begin, end), begin);
      // A device without page faults is given all of the array.
      equal(
        'bytes copied there',
        figures(device).bytesIn,
        device.pageFaults ? BLOCK_BYTES : array.byteLength,
      );
      const back = watch();
      equal('bytes that are home', await prefetch(array, 'host', begin, end), BLOCK_BYTES);
      equal('bytes copied back', back('host').bytesIn, BLOCK_BYTES);
      same('what the CPU reads', array.data, content);
    },
  },
  {
    name: 'migrate_partial_free_fault',
    devices: 1,
    holds:
      'where 1 MiB of a range on the device is freed, the rest is intact, by touching and by one call',
    run: async ({ space, device, words, prefetch }) => {
      const MIB_WORDS = WORDS_PER_BLOCK / 2;
      for (const begin of [0, MIB_WORDS / 2, MIB_WORDS]) {
        for (const way of ['touching', 'one call'] as const) {
          const what = `1 MiB freed at word ${begin}, the rest home by ${way}`;
          const array = words();
          const content = await onDevice(device, array, 0x51ab_0053 + begin);
          const freed = array.free({ begin, end: begin + MIB_WORDS });
          equal(
            `${what}: what was freed`,
            `${freed.begin} to ${freed.end}`,
            `${begin} to ${begin + MIB_WORDS}`,
          );
          const { runs, bytes } = array.residency();
          const states = runs.map((run) => `${run.state} ${run.begin} to ${run.end}`);
          const gone = `freed ${begin} to ${begin + MIB_WORDS}`;
          holds(`${what}: ${gone} (${states.join(', ')})`, states.includes(gone));
          equal(
            `${what}: bytes left on the device`,
            bytes[device.name],
            BUFFER_BYTES - BUFFER_BYTES / 4,
          );
          const rest: readonly (readonly [number, number])[] = [
            [0, begin],
            [begin + MIB_WORDS, BUFFER_WORDS],
          ];
          for (const [from, to] of rest) {
            if (from === to) continue;
            if (way === 'one call') {
              equal(
                `${what}: bytes that are home`,
                await prefetch(array, 'host', from, to),
                (to - from) * 4,
              );
            }
            same(
              `${what}: words ${from} to ${to}`,
              array.data.subarray(from, to),
              content.subarray(from, to),
            );
            equal(
              `${what}: bytes that are back`,
              await prefetch(array, device, from, to),
              (to - from) * 4,
            );
            same(
              `${what}: the same again`,
              array.data.subarray(from, to),
              content.subarray(from, to),
            );
          }
          await refused(`${what}: a launch over all of it`, 'USE_AFTER_FREE', () =>
            seenBy(device, array),
          );
          await refused(`${what}: a prefetch of all of it`, 'USE_AFTER_FREE', () =>
            prefetch(array, device),
          );
          array.free();
          space.checkInvariants();
        }
      }
    },
  },
  {
    name: 'slow_memory',
    devices: 1,
    slowMemoryBytes: 16 * BLOCK_BYTES,
    holds:
      'the device reads and writes what has gone to slow memory, and the CPU reads what comes from there',
    run: async ({ device, words, space }) => {
      const contents = Array.from({ length: 10 }, (_, seed) => pattern(BUFFER_WORDS, seed + 1));
      const arrays = contents.map((content) => {
        const array = words();
        array.data.set(content);
        return array;
      });
      const heldBytes = (): number => space.stats().slowMemory?.heldBytes ?? 0;
      atMost('least bytes that should be in slow memory', 2 ** 22, heldBytes());
      for (const [at, array] of arrays.entries()) {
        same(`what the device read of array ${at}`, await seenBy(device, array), contents[at]);
        await mixOn(device, array, at);
      }
      for (const [at, array] of arrays.entries())
        same(`what the CPU reads of array ${at}`, array.data, mixed(contents[at], at));
      space.checkInvariants();
    },
  },
];
