/**
 * A second process that has attached to the space: where the kernel's tests fork, and what else is
 * the same whether a thread of this process does it or one of another.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BUFFER_BYTES,
  BUFFER_WORDS,
  type Context,
  equal,
  holds,
  refused,
  same,
  WORDS_PER_BLOCK,
  WORDS_PER_PAGE,
} from '../context.js';
import { increment, mixed, pattern } from '../kernels.js';
import { SecondProcess } from '../second.js';
import type { Scenario } from '../suite.js';
import { mixOn, onDevice, seenBy, type Words } from './common.js';

const ROUNDS = 3;

type Play = (context: Context, x: Words, second: SecondProcess) => Promise<void>;

/** A scenario with an array that the second process finds as 'x'. */
function withSecond(name: string, claim: string, play: Play, devices: 1 | 2 = 1): Scenario {
  return {
    name,
    devices,
    holds: claim,
    run: async (context) => {
      const x = context.words(BUFFER_WORDS, 'x');
      await SecondProcess.on(context.space, (second) => play(context, x, second));
    },
  };
}

function inverted(content: Uint32Array, begin = 0, end = content.length): Uint32Array {
  return content.map((value, i) => (i >= begin && i < end ? ~value : value));
}

function added(content: Uint32Array, value: number): Uint32Array {
  return content.map((each) => each + value);
}

export const processes: readonly Scenario[] = [
  withSecond(
    'anon_read_child',
    'the device reads what a second process wrote, and zeros where nobody did',
    async ({ device }, x, second) => {
      const content = pattern(BUFFER_WORDS, 0x51ab_00d0).fill(0, 0, 2 * WORDS_PER_PAGE);
      const words = new Uint32Array(BUFFER_WORDS);
      await second.do('invert', 'x', 2 * WORDS_PER_PAGE, BUFFER_WORDS);
      words.fill(~0, 2 * WORDS_PER_PAGE);
      same('what the device read', await seenBy(device, x), words);
      x.data.set(content);
      same('what the device read for the second process', await second.do('seen', 'x'), content);
    },
  ),
  withSecond(
    'anon_write_child',
    'a second process writes a clone of what the device has, by itself and by the device; the source stays',
    async ({ space, device }, x, second) => {
      const old = await onDevice(device, x, 0x51ab_00d1);
      await second.do('clone', 'x', 'own');
      same('what the second process reads', await second.do('read', 'own'), old);
      await second.do('mix', 'own', 1);
      await second.do('invert', 'own', 0, BUFFER_WORDS);
      const own = inverted(mixed(old, 1));
      same('the source', x.data, old);
      same('the source, seen by the device', await seenBy(device, x), old);
      same('the clone', await second.do('read', 'own'), own);
      same('the clone here', space.find<Uint32Array>('own')?.data ?? new Uint32Array(), own);
    },
  ),
  withSecond(
    'anon_write_child_shared',
    'what the device writes for a second process is seen here, and the other way round',
    async ({ device }, x, second) => {
      let content = pattern(BUFFER_WORDS, 0x51ab_00d2);
      x.data.set(content);
      await second.do('mix', 'x', 1);
      content = mixed(content, 1);
      same('after a launch of the second process', x.data, content);
      await second.do('invert', 'x', 0, BUFFER_WORDS);
      await mixOn(device, x, 2);
      content = mixed(inverted(content), 2);
      same('what the second process reads', await second.do('read', 'x'), content);
      same('what is read here', x.data, content);
    },
  ),
  withSecond(
    'anon_write_prot_child',
    'a launch of a second process cannot write what is protected, and can once it no longer is',
    async (_context, x, second) => {
      const content = pattern(BUFFER_WORDS, 0x51ab_00d3);
      x.data.set(content);
      await x.protect('read');
      await refused('a launch that writes it', 'ACCESS_DENIED', () => second.do('mix', 'x', 1));
      same('what the second process reads', await second.do('read', 'x'), content);
      await x.protect('readwrite');
      await second.do('mix', 'x', 1);
      same('after it may be written', x.data, mixed(content, 1));
    },
  ),
  withSecond(
    'anon_teardown_child',
    'an array of which half is freed while a launch of a second process reads it fails by name, or is read wholly',
    async ({ space, words }, _x, second) => {
      for (let round = 0; round < ROUNDS; round++) {
        const name = `torn ${round}`;
        const array = words(BUFFER_WORDS, name);
        const content = pattern(BUFFER_WORDS, 0x51ab_00e0 + round);
        array.data.set(content);
        const reading = second.do('seen', name).catch((error: unknown) => error);
        await new Promise((resolve) => setTimeout(resolve, round));
        array.free({ begin: BUFFER_WORDS / 2 });
        const read = await reading;
        if (read instanceof Uint32Array) same('what was read', read, content);
        else holds(`fails by name, not ${read}`, /freed|USE_AFTER_FREE/.test(String(read)));
        const half = BUFFER_WORDS / 2;
        same('the half that is left', array.data.subarray(0, half), content.subarray(0, half));
        space.checkInvariants();
      }
    },
  ),
  withSecond(
    'file_read_child',
    'the device reads a file that a second process opened',
    async ({ space, device, folder }, _x, second) => {
      const path = join(folder, 'words');
      const content = pattern(BUFFER_WORDS, 0x51ab_00d4);
      writeFileSync(path, content);
      await second.do('openFile', path, 'file');
      same('what the second process reads', await second.do('read', 'file'), content);
      const file = space.find<Uint32Array>('file');
      holds('it is found here', file !== null);
      same('what the device read', await seenBy(device, file as Words), content);
    },
  ),
  withSecond(
    'file_write_child',
    'what a second process and its launch write to an array that shares a file is in the file after a flush',
    async ({ space, folder }, _x, second) => {
      const path = join(folder, 'shared');
      const content = pattern(BUFFER_WORDS, 0x51ab_00d5);
      writeFileSync(path, content);
      const options = { writable: true, shared: true, name: 'file' } as const;
      const file = space.fileArray(Uint32Array, path, options);
      await second.do('mix', 'file', 1);
      await second.do('invert', 'file', 0, WORDS_PER_BLOCK);
      await file.flush();
      const written = inverted(mixed(content, 1), 0, WORDS_PER_BLOCK);
      holds('the file is right', readFileSync(path).equals(new Uint8Array(written.buffer)));
    },
  ),
  withSecond(
    'migrate_shared',
    'what is shared with another process migrates, and both see the data at each turn',
    async ({ device, prefetch }, x, second) => {
      let content = pattern(BUFFER_WORDS, 0x51ab_00d6);
      x.data.set(content);
      for (let round = 0; round < ROUNDS; round++) {
        same('before it migrates', await second.do('read', 'x'), content);
        equal('bytes that are there', await prefetch(x, device), BUFFER_BYTES);
        equal('bytes on the device', x.residency().bytes[device.name], BUFFER_BYTES);
        await mixOn(device, x, round);
        content = mixed(content, round);
        same('after it migrated', await second.do('read', 'x'), content);
        await second.do('invert', 'x', 0, BUFFER_WORDS);
        content = inverted(content);
        same('what is read here', x.data, content);
      }
    },
  ),
  withSecond(
    'migrate_fault_child',
    'a range of which a second process has touched a half back migrates again, wholly and intact',
    async ({ device, prefetch }, x, second) => {
      const old = await onDevice(device, x, 0x51ab_00d7);
      const [begin, end] = [BUFFER_WORDS / 4, (BUFFER_WORDS / 4) * 3];
      await second.do('invert', 'x', begin, end);
      const content = inverted(old, begin, end);
      const home = BUFFER_BYTES - (x.residency().bytes[device.name] ?? 0);
      holds('half of it or more came home', home >= BUFFER_BYTES / 2);
      holds('not all of it came home', home < BUFFER_BYTES);
      equal('bytes that are there', await prefetch(x, device), BUFFER_BYTES);
      same('what the device read', await seenBy(device, x), content);
      same('what the second process reads', await second.do('read', 'x'), content);
    },
  ),
  withSecond(
    'migrate_release_child',
    'a device that is detached brings home what a second process reads then',
    async ({ device }, x, second) => {
      const content = await onDevice(device, x, 0x51ab_00d8);
      await device.detach();
      same('what the second process reads', await second.do('read', 'x'), content);
      await refused('a launch of it', 'DEVICE_DETACHED', () => second.do('mix', 'x', 1));
      same('what is read here', x.data, content);
    },
  ),
  withSecond(
    'migrate_resize_child',
    'a migrated array that grows and shrinks is what it should be for a second process',
    async ({ device }, x, second) => {
      const content = await onDevice(device, x, 0x51ab_00d9);
      const grown = new Uint32Array(BUFFER_WORDS + WORDS_PER_BLOCK);
      grown.set(content);
      await x.resize(grown.length);
      same('grown, seen by the second process', await second.do('read', 'x'), grown);
      await second.do('mix', 'x', 3);
      await x.resize(WORDS_PER_BLOCK + 7);
      const left = mixed(grown, 3).slice(0, WORDS_PER_BLOCK + 7);
      same('shrunk, seen by the second process', await second.do('read', 'x'), left);
      same('shrunk, seen by the device for it', await second.do('seen', 'x'), left);
    },
  ),
  withSecond(
    'double_map_child',
    'two devices and two processes read the same pages, and a write of one is seen by all',
    async ({ space }, x, second) => {
      const [one, two] = space.devices;
      let content = pattern(BUFFER_WORDS, 0x51ab_00da);
      x.data.set(content);
      same('what the first device read', await seenBy(one, x), content);
      same('what the second device read', await second.do('seen', 'x', 1), content);
      same('what the second process reads', await second.do('read', 'x'), content);
      await second.do('invert', 'x', 0, BUFFER_WORDS);
      content = inverted(content);
      same('what the first device read then', await second.do('seen', 'x', 0), content);
      await second.do('mix', 'x', 4, 1);
      content = mixed(content, 4);
      same('what the second process reads then', await second.do('read', 'x'), content);
      same('what the second device read then', await seenBy(two, x), content);
      same('what is read here then', x.data, content);
    },
    2,
  ),
  withSecond(
    'exclusive_child',
    'a range that is exclusive to the device is had back by a second process at a touch, and no increment is lost',
    async ({ device }, x, second) => {
      const content = pattern(BUFFER_WORDS, 0x51ab_00db);
      x.data.set(content);
      await device.stream().exclusive(x).synchronize();
      const running = device.run(increment, { data: x, times: 3 }, { size: BUFFER_WORDS });
      await second.do('add', 'x', 2);
      await running;
      await second.do('increment', 'x', 1);
      same('after increments by both', x.data, added(content, 6));
      same('what the second process reads', await second.do('read', 'x'), added(content, 6));
    },
  ),
  withSecond(
    'exclusive_cow_child',
    'a range that is exclusive to the device and its clone by a second process are incremented independently',
    async ({ device }, x, second) => {
      const content = pattern(BUFFER_WORDS, 0x51ab_00dc);
      x.data.set(content);
      await device.stream().exclusive(x).synchronize();
      await second.do('clone', 'x', 'own');
      await device.run(increment, { data: x, times: 2 }, { size: BUFFER_WORDS });
      await second.do('increment', 'own', 3);
      await second.do('add', 'own', 4);
      same('the source', x.data, added(content, 2));
      same('the clone', await second.do('read', 'own'), added(content, 7));
      await second.do('add', 'x', 1);
      same('the source at last', x.data, added(content, 3));
    },
  ),
  withSecond(
    'cow_in_device_child',
    'when the source of a clone that a second process made is written, the clone keeps what it had',
    async ({ device }, x, second) => {
      const old = await onDevice(device, x, 0x51ab_00dd);
      await second.do('clone', 'x', 'before');
      for (let i = 0; i < BUFFER_WORDS / 2; i++) x.data[i] = ~x.data[i];
      await mixOn(device, x, 5);
      const content = mixed(inverted(old, 0, BUFFER_WORDS / 2), 5);
      same('the clone', await second.do('read', 'before'), old);
      same('the clone, seen by the device', await second.do('seen', 'before'), old);
      same('the source, seen by the second process', await second.do('read', 'x'), content);
    },
  ),
  withSecond(
    'pin_child',
    'what a second process has pinned on the device is in host memory, and stays there until it unpins',
    async ({ device, prefetch }, x, second) => {
      const content = await onDevice(device, x, 0x51ab_00de);
      await second.do('pin', 'x');
      equal('bytes at home', x.residency().bytes.host, BUFFER_BYTES);
      same('what the device reads', await second.do('seen', 'x'), content);
      equal('bytes at home after that', x.residency().bytes.host, BUFFER_BYTES);
      await second.do('unpin');
      equal('bytes that are there', await prefetch(x, device), BUFFER_BYTES);
      await mixOn(device, x, 6);
      same('what the second process reads', await second.do('read', 'x'), mixed(content, 6));
    },
  ),
];
