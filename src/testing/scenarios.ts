/**
 * What every device must do, after the self-tests of heterogeneous memory in the Linux kernel. A scenario compares data byte for
 * byte, and figures where it says so. "By one call" means a prefetch; a device with page faults is asked to fetch the same by
 * faults, too.
 */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Device, ManagedArray, OnememError } from '../index.js';
import {
  atMost,
  BLOCK_BYTES,
  BUFFER_BYTES,
  BUFFER_WORDS,
  equal,
  holds,
  PAGE_BYTES,
  refused,
  same,
  WORDS_PER_BLOCK,
  WORDS_PER_PAGE,
} from './context.js';
import { copy, mix, mixed, pattern, write } from './kernels.js';
import type { Scenario } from './suite.js';

type Words = ManagedArray<Uint32Array>;

const ROUNDS = 10;

/**
 * Faults for the first block of a walk upwards, each of which brings twice what came before: 64 KiB, 64, 128, 256, 512 KiB and
 * 1 MiB. Later blocks take one fault each.
 */
const FIRST_BLOCK_FAULTS = 6;

function walkFaults(bytes: number): number {
  return FIRST_BLOCK_FAULTS + Math.ceil(bytes / BLOCK_BYTES) - 1;
}

/** What the device sees, as the CPU then reads it. */
async function seenBy(device: Device, source: Words): Promise<Uint32Array> {
  const destination = device.space.array(Uint32Array, source.length);
  await device.run(copy, { source, destination }, { size: source.length });
  const seen = destination.data.slice();
  destination.free();
  return seen;
}

function pageBytes(array: Words): number {
  return Math.ceil(array.byteLength / PAGE_BYTES) * PAGE_BYTES;
}

/** The array's only copy is on the device, and this is what it holds. */
async function onDevice(device: Device, array: Words, seed: number): Promise<Uint32Array> {
  await device.run(write, { data: array, seed }, { size: array.length });
  equal('bytes on the host', array.residency().bytes.host, undefined);
  equal('bytes on the device', array.residency().bytes[device.name], pageBytes(array));
  return pattern(array.length, seed);
}

export const scenarios: readonly Scenario[] = [
  {
    name: 'open_close',
    devices: 1,
    holds: 'a space with a device opens, works, closes, and leaves no thread, descriptor, mapping or process',
    run: async ({ space, device, words, before, resources }) => {
      const now = resources();
      // Otherwise finding nothing left behind would say nothing.
      holds('an open space has threads', now.threads.length > before.threads.length);
      holds('an open space has descriptors', now.descriptors.length > before.descriptors.length);
      holds('an open space has mappings', now.mappings.length > before.mappings.length);
      const processes = space.devices.filter((each) => each.pid !== null);
      equal('children', now.children.length - before.children.length, processes.length);
      for (const { pid } of processes) process.kill(pid as number, 0);
      const array = words(WORDS_PER_PAGE);
      await device.run(write, { data: array, seed: 1 }, { size: array.length });
      same('one page', array.data, pattern(array.length, 1));
      await space.close();
      await space.close();
      for (const { pid } of processes) {
        await refused('a signal to a device whose space is closed', 'ESRCH', () => process.kill(pid as number, 0));
      }
      await refused('an array in a closed space', 'SPACE_CLOSED', () => words());
      await refused('data of a closed space', 'SPACE_CLOSED', () => array.data);
    },
  },
  {
    name: 'anon_read',
    devices: 1,
    holds: 'the device reads zeros where nobody wrote and the data elsewhere, after one fault operation',
    run: async ({ device, words, prefetch, watch }) => {
      const expected = pattern(BUFFER_WORDS, 0x51ab_0001);
      expected.fill(0, 0, 2 * WORDS_PER_PAGE);
      const fill = (array: Words): Words => {
        array.data.set(expected.subarray(2 * WORDS_PER_PAGE), 2 * WORDS_PER_PAGE);
        return array;
      };
      const called = fill(words());
      const all = watch();
      equal('bytes that one call brought', await prefetch(called, device), BUFFER_BYTES);
      equal('bytes that came', all(device).bytesIn + all(device).bytesZeroed, BUFFER_BYTES);
      same('what the device read after one call', await seenBy(device, called), expected);
      equal('faults after the call', all(device).readFaults, 0);
      equal('bytes that came at all', all(device).bytesIn + all(device).bytesZeroed, 2 * BUFFER_BYTES);
      same('the source after one call', called.data, expected);

      const touched = fill(words());
      const some = watch();
      same('what the device read by touching', await seenBy(device, touched), expected);
      atMost('faults of touching', some(device).readFaults, device.pageFaults ? walkFaults(BUFFER_BYTES) : 0);
      same('the source after touching', touched.data, expected);
    },
  },
  {
    name: 'anon_write',
    devices: 1,
    holds: 'what the device writes, the CPU sees, byte for byte',
    run: async ({ device, words, watch }) => {
      const fresh = words();
      const first = watch();
      await device.run(write, { data: fresh, seed: 0x51ab_0002 }, { size: BUFFER_WORDS });
      equal('bytes copied in for a parameter that is only written', first(device).bytesIn, 0);
      same('an array that only the device wrote', fresh.data, pattern(BUFFER_WORDS, 0x51ab_0002));
      equal('bytes that came home', first('host').bytesIn, BUFFER_BYTES);

      const shared = words();
      const content = pattern(BUFFER_WORDS, 0x51ab_0003);
      shared.data.set(content);
      await device.run(mix, { data: shared, seed: 0x51ab_0004 }, { size: BUFFER_WORDS });
      const once = mixed(content, 0x51ab_0004);
      same('an array that both wrote', shared.data, once);

      // The rest of a page that the device wrote in part is what the CPU wrote there.
      const [begin, end] = [3 * WORDS_PER_PAGE + 5, WORDS_PER_BLOCK + 7];
      await device.run(mix, { data: shared, seed: 0x51ab_0005 }, { size: BUFFER_WORDS, begin, end });
      const part = once.slice();
      part.set(mixed(once, 0x51ab_0005).subarray(begin, end), begin);
      same('an array that the device wrote in part', shared.data, part);
    },
  },
  {
    name: 'anon_write_huge',
    devices: 1,
    holds: 'a 2 MiB aligned range moves by one fault operation as one block, with the right data',
    run: async ({ device, words, prefetch, watch }) => {
      const array = words(WORDS_PER_BLOCK);
      equal('the address in its block', array.address % BigInt(BLOCK_BYTES), 0n);
      const content = pattern(WORDS_PER_BLOCK, 0x51ab_0006);
      array.data.set(content);
      const there = watch();
      equal('bytes that one call brought', await prefetch(array, device), BLOCK_BYTES);
      equal('bytes that came', there(device).bytesIn, BLOCK_BYTES);
      equal('times that the host gave its right to write up', there('host').revocations, 1);
      equal('pieces of the report', array.residency().runs.length, 1);
      await device.run(mix, { data: array, seed: 0x51ab_0007 }, { size: WORDS_PER_BLOCK });
      equal('bytes that came for writing', there(device).bytesIn, BLOCK_BYTES);
      equal('faults for reading', there(device).readFaults, 0);
      atMost('faults for writing', there(device).writeFaults, device.pageFaults ? FIRST_BLOCK_FAULTS : 0);

      const back = watch();
      const after = mixed(content, 0x51ab_0007);
      equal('bytes that one call brought home', await prefetch(array, 'host'), BLOCK_BYTES);
      equal('times that the device gave its right to write up', back(device).revocations, 1);
      same('what the CPU reads', array.data, after);
      equal('bytes that came home', back('host').bytesIn, BLOCK_BYTES);
      equal('faults of the CPU', back('host').readFaults, 0);
    },
  },
  {
    name: 'file_read',
    devices: 1,
    holds: 'the device reads what is in a file, each byte once, and nothing that is written reaches the file',
    run: async ({ space, device, folder, watch }) => {
      const path = join(folder, 'words');
      const byteOffset = 100;
      const content = pattern(BUFFER_WORDS - 3, 0x51ab_0008);
      const fd = openSync(path, 'w');
      writeSync(fd, Buffer.alloc(byteOffset, 0xee));
      writeSync(fd, new Uint8Array(content.buffer));
      writeSync(fd, Buffer.alloc(50, 0xdd));
      closeSync(fd);
      const file = readFileSync(path);

      const figures = watch();
      const fromFiles = (): number => figures('host').bytesFromFiles + figures(device).bytesFromFiles;
      const array = space.fileArray(Uint32Array, path, { byteOffset, length: content.length });
      equal(
        'state before the first touch',
        array
          .residency()
          .runs.map(({ state }) => state)
          .join(),
        'file',
      );
      equal('bytes read before the first touch', fromFiles(), 0);
      same('what the device read', await seenBy(device, array), content);
      equal('bytes read', fromFiles(), BUFFER_BYTES);
      same('what the CPU reads', array.data, content);
      equal('bytes read at all', fromFiles(), BUFFER_BYTES);
      await refused('a device that writes it', 'ACCESS_DENIED', () =>
        device.run(mix, { data: array, seed: 1 }, { size: content.length }),
      );

      const own = space.fileArray(Uint32Array, path, { byteOffset, length: content.length, writable: true });
      own.data[5] = 77;
      await device.run(mix, { data: own, seed: 0x51ab_0009 }, { size: content.length });
      const changed = content.slice();
      changed[5] = 77;
      same('a private copy that both wrote', own.data, mixed(changed, 0x51ab_0009));
      same('another array of the same file', array.data, content);
      holds('the file is as it was', readFileSync(path).equals(file));
    },
  },
  {
    name: 'migrate',
    devices: 1,
    holds: 'after a prefetch the array is on the device, which reads the right data and fetches nothing again',
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
      for (let i = 1; i < BUFFER_WORDS; i += WORDS_PER_PAGE) content[i] = array.data[i] ^= 0x0f0f_0f0f;
      same('what the device read after the CPU wrote', await seenBy(device, array), content);
      equal('bytes that came for it', figures(device).bytesIn, 2 * BUFFER_BYTES);
      same('what the CPU reads after it wrote', array.data, content);
      await device.run(mix, { data: array, seed: 0x51ab_000b }, { size: BUFFER_WORDS });
      const { bytes, runs } = array.residency();
      equal('bytes on the device after it wrote', bytes[device.name], BUFFER_BYTES);
      equal('bytes at home after it wrote', bytes.host, undefined);
      equal('rights after it wrote', JSON.stringify(runs.map(({ access }) => access)), `[{"${device.name}":"write"}]`);
      equal('bytes copied at all', figures(device).bytesIn, 2 * BUFFER_BYTES);
      const after = mixed(content, 0x51ab_000b);
      same('what the CPU reads', array.data, after);
      await device.run(mix, { data: array, seed: 0x51ab_000c }, { size: BUFFER_WORDS });
      same('what the CPU reads after the device wrote again', array.data, mixed(after, 0x51ab_000c));
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
        await device.run(mix, { data: array, seed: round }, { size: BUFFER_WORDS });
        content = mixed(content, round);
        equal(`round ${round}: bytes that came`, figures(device).bytesIn, BUFFER_BYTES);
        if (round % 2 === 0) equal('bytes that are home', await prefetch(array, 'host'), BUFFER_BYTES);
        same(`round ${round}: what the CPU reads`, array.data, content);
        equal(`round ${round}: bytes that came home`, figures('host').bytesIn, BUFFER_BYTES);
        array.data.set(content.reverse());
      }
    },
  },
  {
    name: 'anon_read_multiple',
    devices: 1,
    holds: `${ROUNDS} fresh arrays are each read correctly, and leave no memory behind when they are freed`,
    run: async ({ space, device, words, until }) => {
      const memory = (): number => space.stats().processors.reduce((sum, { backedBytes }) => sum + backedBytes, 0);
      equal('memory before', memory(), 0);
      for (let round = 0; round < ROUNDS; round++) {
        const array = words();
        const content = pattern(BUFFER_WORDS, 0x51ab_0010 + round);
        array.data.set(content);
        same(`array ${round}`, await seenBy(device, array), content);
        holds('the array takes memory', memory() >= 2 * BUFFER_BYTES);
        array.free();
        await until('all memory is given back', () => memory() === 0);
      }
      equal('bytes that are allocated', space.stats().allocatedBytes, 0);
      // The addresses of freed arrays, too, once their views are gone.
      await until('all addresses are given back', () => {
        words(1).free();
        return space.stats().ranges <= ROUNDS * 2 + 1;
      });
    },
  },
  {
    name: 'anon_teardown',
    devices: 1,
    holds: `an array of which half is freed while the device reads it, ${ROUNDS} times: fails by a named error, or reads it all`,
    run: async ({ space, device, words }) => {
      for (let round = 0; round < ROUNDS; round++) {
        const [source, destination] = [words(), words()];
        const content = pattern(BUFFER_WORDS, 0x51ab_0020 + round);
        source.data.set(content);
        using stream = device.stream();
        stream.launch(copy, { source, destination }, { size: BUFFER_WORDS });
        // At another moment each time: before the launch has begun, while it fetches, while it runs.
        const until = performance.now() + round;
        while (performance.now() < until);
        const half = round % 2 === 0 ? { begin: BUFFER_WORDS / 2 } : { end: BUFFER_WORDS / 2 };
        const freed = source.free(half);
        let failure: OnememError | null = null;
        await stream.synchronize().catch((error) => {
          failure = error;
        });
        if (failure !== null) equal('what a launch fails with', (failure as OnememError).code, 'USE_AFTER_FREE');
        else same('what a launch that succeeded read', destination.data, content);
        const left = round % 2 === 0 ? [0, freed.begin] : [freed.end, BUFFER_WORDS];
        equal('elements that are left', left[1] - left[0], BUFFER_WORDS / 2);
        same('the half that is left', source.data.subarray(...left), content.subarray(...left));
        source.free();
        destination.free();
        space.checkInvariants();
      }
      const [source, destination] = [words(), words()];
      const content = pattern(BUFFER_WORDS, 0x51ab_0030);
      source.data.set(content);
      await device.run(copy, { source, destination }, { size: BUFFER_WORDS });
      same('what the device reads afterwards', destination.data, content);
    },
  },
  {
    name: 'double_map',
    devices: 2,
    holds: 'both devices read the same pages, and go on doing so after these migrated to one of them',
    run: async ({ space, words, prefetch, watch }) => {
      const [one, two] = space.devices;
      const array = words();
      let content = pattern(BUFFER_WORDS, 0x51ab_0040);
      array.data.set(content);
      same('what the first device read', await seenBy(one, array), content);
      same('what the second device read', await seenBy(two, array), content);
      for (const { name } of [one, two]) equal(`bytes on ${name}`, array.residency().bytes[name], BUFFER_BYTES);
      const again = watch();
      equal('bytes on the second', await prefetch(array, two), BUFFER_BYTES);
      same('what the first device read again', await seenBy(one, array), content);
      atMost('new faults of the first', again(one).readFaults, 1);
      equal('bytes copied for reading again', again(one).bytesIn + again(two).bytesIn, 0);

      // Now the second device has the only copy.
      await two.run(mix, { data: array, seed: 0x51ab_0041 }, { size: BUFFER_WORDS });
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
          await device.run(mix, { data: array, seed: round }, { size: length });
          contents[index] = mixed(contents[index], round);
        }
        atMost('memory of the device', device.stats().peakBytes, device.memory);
        // One half comes home by touching, the other when it must make room.
        const half = length / 2;
        same(`round ${round}: a half`, arrays[0].data.subarray(0, half), contents[0].subarray(0, half));
        space.checkInvariants();
      }
      holds('blocks had to make room', figures(device).evictions > 0);
      for (const [index, array] of arrays.entries()) same(`array ${index} at last`, array.data, contents[index]);
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
    holds: 'zero pages that the CPU has read migrate without a copy, there and back, and read as zeros',
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
      await device.run(mix, { data: array, seed: 0x51ab_0051 }, { size: array.length, begin, end });
      content.set(mixed(content, 0x51ab_0051).subarray(begin, end), begin);
      // A device without page faults is given all of the array.
      equal('bytes copied there', figures(device).bytesIn, device.pageFaults ? BLOCK_BYTES : array.byteLength);
      const back = watch();
      equal('bytes that are home', await prefetch(array, 'host', begin, end), BLOCK_BYTES);
      equal('bytes copied back', back('host').bytesIn, BLOCK_BYTES);
      same('what the CPU reads', array.data, content);
    },
  },
  {
    name: 'migrate_alloc_failure',
    devices: 1,
    refuseLargerThanPages: 8,
    holds: 'where large pieces of memory are refused, small ones do: all pages migrate, and come back',
    run: async ({ device, words, prefetch, watch }) => {
      const figures = watch();
      const array = words();
      const content = pattern(BUFFER_WORDS, 0x51ab_0060);
      array.data.set(content);
      holds('the host was refused memory for what the CPU wrote', figures('host').refusals > 0);
      equal('bytes that are there', await prefetch(array, device), BUFFER_BYTES);
      holds('the device was refused memory', figures(device).refusals > 0);
      equal('bytes on the device', array.residency().bytes[device.name], BUFFER_BYTES);
      equal('bytes copied there', figures(device).bytesIn, BUFFER_BYTES);
      same('what the device read', await seenBy(device, array), content);

      // Memory that the host still has from before would not be refused: these arrays have never been there.
      const [called, touched, detached] = [words(), words(), words()];
      const first = await onDevice(device, called, 0x51ab_0061);
      const second = await onDevice(device, touched, 0x51ab_0062);
      const third = await onDevice(device, detached, 0x51ab_0063);
      const back = async (what: string, bring: () => Promise<unknown>): Promise<void> => {
        const home = watch();
        await bring();
        holds(`the host was refused memory for what came home by ${what}`, home('host').refusals > 0);
        equal(`bytes that came home by ${what}`, home('host').bytesIn, BUFFER_BYTES);
      };
      await back('one call', async () => equal('bytes', await prefetch(called, 'host'), BUFFER_BYTES));
      same('what came home by one call', called.data, first);
      await back('touching', async () => same('what came home by touching', touched.data, second));
      await back('detaching', () => device.detach());
      same('what came home by detaching', detached.data, third);
      same('what was at home all the time', array.data, content);
    },
  },
  {
    name: 'device_loss',
    devices: 2,
    holds:
      'what else has a copy survives a device that dies; the rest comes home, or is lost by name until it is overwritten',
    run: async ({ kind, space, words, prefetch, folder, until }) => {
      const [one, two] = space.devices;
      const [shared, only, other] = [words(), words(), words(BUFFER_WORDS - 100)];
      const content = pattern(BUFFER_WORDS, 0x51ab_0070);
      shared.data.set(content);
      await prefetch(shared, one);
      const onlyContent = await onDevice(one, only, 0x51ab_0071);
      const otherContent = await onDevice(one, other, 0x51ab_0072);
      one.kill();
      const dead = (): boolean => space.stats().processors.some(({ name, alive }) => name === one.name && !alive);
      await until('the device counts as dead', dead);
      await until('its memory is given back', () => only.residency().bytes[one.name] === undefined);
      same('what had a copy at home', shared.data, content);
      same('the same on the other device', await seenBy(two, shared), content);
      await refused('a launch on the dead device', 'DEVICE_LOST', () =>
        one.run(mix, { data: shared, seed: 1 }, { size: BUFFER_WORDS }),
      );

      const path = join(folder, 'words');
      const fd = openSync(path, 'w+');
      if (kind.memorySurvives) {
        same('what came home', only.data, onlyContent);
        same('what the other device reads', await seenBy(two, other), otherContent);
        equal('bytes written to a file', await other.writeTo(fd), other.byteLength);
        holds('the file is right', readFileSync(path).equals(new Uint8Array(otherContent.buffer)));
      } else {
        for (const array of [only, other]) {
          equal(
            'the state',
            array
              .residency()
              .runs.map(({ state }) => state)
              .join(),
            'lost',
          );
          await refused('a launch that reads it', 'DATA_LOST', () => seenBy(two, array));
          await refused('a file written from it', 'DATA_LOST', () => array.writeTo(fd, { position: 0 }));
        }
      }
      closeSync(fd);

      await two.run(write, { data: only, seed: 0x51ab_0073 }, { size: BUFFER_WORDS });
      same('an array that was overwritten by a launch', only.data, pattern(BUFFER_WORDS, 0x51ab_0073));
      const fresh = pattern(other.length, 0x51ab_0074);
      writeFileSync(path, new Uint8Array(fresh.buffer));
      const source = openSync(path, 'r');
      equal('bytes read from a file', await other.readFrom(source), other.byteLength);
      closeSync(source);
      same('an array that was overwritten from a file', other.data, fresh);
      same('the same on the other device', await seenBy(two, other), fresh);
    },
  },
];
