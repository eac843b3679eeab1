/** Copy-on-write clones: pages that two arrays share until one of them writes. */
import {
  BUFFER_BYTES,
  BUFFER_WORDS,
  equal,
  same,
  WORDS_PER_BLOCK,
  WORDS_PER_PAGE,
} from '../context.js';
import { mixed } from '../kernels.js';
import type { Scenario } from '../suite.js';
import { mixOn, onDevice, seenBy } from './common.js';

export const clones: readonly Scenario[] = [
  {
    name: 'cow_in_device',
    devices: 1,
    holds:
      "when the source of a clone is written, its pages are the writer's alone, and the clone keeps what it had, on the device too",
    run: async ({ space, device, words, prefetch, watch }) => {
      for (const writer of ['the CPU', 'the device'] as const) {
        const source = words();
        const old = await onDevice(device, source, 0x51ab_00a0);
        const making = watch();
        const clone = await source.clone();
        equal('bytes that making it copied', making(device).bytesIn + making('host').bytesIn, 0);
        equal('elements of the clone', clone.length, source.length);

        let content: Uint32Array = old.slice();
        if (writer === 'the CPU') {
          for (let i = 0; i < BUFFER_WORDS; i++) content[i] = source.data[i] = ~content[i];
          const { bytes, runs } = source.residency();
          equal('bytes of the source at home', bytes.host, BUFFER_BYTES);
          equal('bytes of the source on the device', bytes[device.name], undefined);
          equal(
            'rights',
            runs.map(({ access }) => access.host).join(),
            runs.map(() => 'write').join(),
          );
        } else {
          await mixOn(device, source, 1);
          content = mixed(content, 1);
        }
        same(
          `the clone after ${writer} wrote, seen by the device`,
          await seenBy(device, clone),
          old,
        );
        same(
          `the source after ${writer} wrote, seen by the device`,
          await seenBy(device, source),
          content,
        );
        same(`the clone after ${writer} wrote, seen by the CPU`, clone.data, old);
        same(`the source after ${writer} wrote, seen by the CPU`, source.data, content);

        // The other way round, with the clone's own clone between them.
        const second = await clone.clone();
        await mixOn(device, clone, 2);
        second.data[WORDS_PER_BLOCK + 3] ^= 1;
        const own = old.slice();
        own[WORDS_PER_BLOCK + 3] ^= 1;
        await prefetch(second, device);
        same('the clone that the device wrote', clone.data, mixed(old, 2));
        same('its clone', await seenBy(device, second), own);
        source.free();
        clone.free();
        same('the last clone, when the others are gone', second.data, own);
        second.free();
        space.checkInvariants();
      }
    },
  },
  {
    name: 'clone_partial_write',
    devices: 1,
    holds:
      'source and clone, written page by page in turn by the CPU and the device, each see their own writes alone',
    run: async ({ device, words }) => {
      const source = words();
      const ours = await onDevice(device, source, 0x51ab_00a2);
      const clone = await source.clone();
      const theirs = ours.slice();
      for (let page = 0; page < BUFFER_WORDS / WORDS_PER_PAGE; page += 37) {
        const at = page * WORDS_PER_PAGE + (page % WORDS_PER_PAGE);
        if (page % 2 === 0) ours[at] = source.data[at] = page;
        else theirs[at] = clone.data[at] = page;
      }
      const part = { begin: WORDS_PER_BLOCK - 5, end: WORDS_PER_BLOCK + 5 };
      await mixOn(device, clone, 3, part);
      theirs.set(mixed(theirs, 3).subarray(part.begin, part.end), part.begin);
      same('the source', source.data, ours);
      same('the clone', clone.data, theirs);
      same('the source, seen by the device', await seenBy(device, source), ours);
      same('the clone, seen by the device', await seenBy(device, clone), theirs);
    },
  },
];
