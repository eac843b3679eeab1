/** Opening a space, and data that the CPU, devices and files hand to each other. */
import { closeSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { OnememError } from '../../index.js';
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
} from '../context.js';
import { copy, mix, mixed, pattern, write } from '../kernels.js';
import type { Scenario } from '../suite.js';
import {
  FIRST_BLOCK_FAULTS,
  mixOn,
  ROUNDS,
  seenBy,
  statesOf,
  type Words,
  walkFaults,
} from './common.js';

export const access: readonly Scenario[] = [
  {
    name: 'open_close',
    devices: 1,
    holds:
      'a space with a device opens, works, closes, and leaves no thread, descriptor, mapping or process',
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
        await refused('a signal to a device whose space is closed', 'ESRCH', () =>
          process.kill(pid as number, 0),
        );
      }
      await refused('an array in a closed space', 'SPACE_CLOSED', () => words());
      await refused('data of a closed space', 'SPACE_CLOSED', () => array.data);
    },
  },
  {
    name: 'anon_read',
    devices: 1,
    holds:
      'the device reads zeros where nobody wrote and the data elsewhere, after one fault operation',
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
      equal(
        'bytes that came at all',
        all(device).bytesIn + all(device).bytesZeroed,
        2 * BUFFER_BYTES,
      );
      same('the source after one call', called.data, expected);

      const touched = fill(words());
      const some = watch();
      same('what the device read by touching', await seenBy(device, touched), expected);
      atMost(
        'faults of touching',
        some(device).readFaults,
        device.pageFaults ? walkFaults(BUFFER_BYTES) : 0,
      );
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
      await mixOn(device, shared, 0x51ab_0004);
      const once = mixed(content, 0x51ab_0004);
      same('an array that both wrote', shared.data, once);

      // The rest of a page that the device wrote in part is what the CPU wrote there.
      const [begin, end] = [3 * WORDS_PER_PAGE + 5, WORDS_PER_BLOCK + 7];
      await mixOn(device, shared, 0x51ab_0005, { begin, end });
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
      atMost(
        'faults for writing',
        there(device).writeFaults,
        device.pageFaults ? FIRST_BLOCK_FAULTS : 0,
      );

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
    holds:
      'the device reads what is in a file, each byte once, and nothing that is written reaches the file',
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
      const fromFiles = (): number =>
        figures('host').bytesFromFiles + figures(device).bytesFromFiles;
      const array = space.fileArray(Uint32Array, path, { byteOffset, length: content.length });
      equal('state before the first touch', statesOf(array), 'file');
      equal('bytes read before the first touch', fromFiles(), 0);
      same('what the device read', await seenBy(device, array), content);
      equal('bytes read', fromFiles(), BUFFER_BYTES);
      same('what the CPU reads', array.data, content);
      equal('bytes read at all', fromFiles(), BUFFER_BYTES);
      await refused('a device that writes it', 'ACCESS_DENIED', () =>
        mixOn(device, array as Words, 1),
      );

      const own = space.fileArray(Uint32Array, path, {
        byteOffset,
        length: content.length,
        writable: true,
      });
      own.data[5] = 77;
      await mixOn(device, own, 0x51ab_0009);
      const changed = content.slice();
      changed[5] = 77;
      same('a private copy that both wrote', own.data, mixed(changed, 0x51ab_0009));
      same('another array of the same file', array.data, content);
      holds('the file is as it was', readFileSync(path).equals(file));
    },
  },
  {
    name: 'file_write',
    devices: 1,
    holds:
      'what the device and the CPU write to an array that shares its file is read there by others after a flush',
    run: async ({ space, device, folder, watch }) => {
      const path = join(folder, 'shared');
      const byteOffset = 2 * PAGE_BYTES;
      const before = Buffer.alloc(byteOffset, 0xee);
      const after = Buffer.alloc(1000, 0xdd);
      let content = pattern(BUFFER_WORDS, 0x51ab_000a);
      const file = (): Buffer => Buffer.concat([before, new Uint8Array(content.buffer), after]);
      const isWritten = (what: string): void =>
        holds(`${what}: the file is right`, readFileSync(path).equals(file()));
      writeFileSync(path, file());

      const array = space.fileArray(Uint32Array, path, {
        byteOffset,
        length: content.length,
        writable: true,
        shared: true,
      });
      await mixOn(device, array, 1);
      content = mixed(content, 1);
      equal('bytes of the first flush', await array.flush(), BUFFER_BYTES);
      isWritten('after the device wrote');
      equal('bytes of a flush with nothing to write', await array.flush(), 0);
      same('what the CPU reads', array.data, content);

      // One page each by the CPU and the device, in a block that both have.
      const [cpu, dev] = [WORDS_PER_BLOCK + 5, WORDS_PER_BLOCK + 9 * WORDS_PER_PAGE];
      array.data[cpu] = content[cpu] = 7;
      await mixOn(device, array, 2, { begin: dev, end: dev + 1 });
      content[dev] = mixed(content, 2)[dev];
      await array.flush();
      isWritten('after both wrote');

      // Another program writes the file.
      content = pattern(BUFFER_WORDS, 0x51ab_000b);
      writeFileSync(path, file());
      await array.reload();
      const reread = watch();
      same('what the device read after a reload', await seenBy(device, array), content);
      holds(
        'the file was read again',
        reread(device).bytesFromFiles + reread('host').bytesFromFiles > 0,
      );
      same('what the CPU reads after a reload', array.data, content);

      await mixOn(device, array, 3);
      content = mixed(content, 3);
      await space.close();
      isWritten('after the space was closed');
    },
  },
  {
    name: 'anon_read_multiple',
    devices: 1,
    holds: `${ROUNDS} fresh arrays are each read correctly, and leave no memory behind when they are freed`,
    run: async ({ space, device, words, until }) => {
      const memory = (): number =>
        space.stats().processors.reduce((sum, { backedBytes }) => sum + backedBytes, 0);
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
        // At another moment each time: before the launch has begun, while it fetches, while it
        // runs.
        const until = performance.now() + round;
        while (performance.now() < until);
        const half = round % 2 === 0 ? { begin: BUFFER_WORDS / 2 } : { end: BUFFER_WORDS / 2 };
        const freed = source.free(half);
        let failure: OnememError | null = null;
        await stream.synchronize().catch((error) => {
          failure = error;
        });
        if (failure !== null)
          equal('what a launch fails with', (failure as OnememError).code, 'USE_AFTER_FREE');
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
];
