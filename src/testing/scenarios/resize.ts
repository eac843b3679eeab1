/** Arrays that get longer and shorter while devices have their pages. */
import { equal, same, WORDS_PER_BLOCK, WORDS_PER_PAGE } from '../context.js';
import { mix, mixed, pattern } from '../kernels.js';
import type { Scenario } from '../suite.js';
import { seenBy } from './common.js';

const LENGTH = WORDS_PER_BLOCK + WORDS_PER_BLOCK / 2;
const LONGER = 2 * WORDS_PER_BLOCK + 7;
const ways = {
  'longer in place': { length: LONGER, maxLength: 2 * LENGTH },
  'longer at another address': { length: LONGER, maxLength: LENGTH },
  shorter: { length: WORDS_PER_BLOCK - 3, maxLength: LENGTH },
} as const;

/** As the array after `resize`: what it had as far as it goes, and zeros. */
function resized(content: Uint32Array, length: number): Uint32Array {
  const result = new Uint32Array(length);
  result.set(content.subarray(0, length));
  return result;
}

export const resize: readonly Scenario[] = [
  {
    name: 'migrate_resize_fault',
    devices: 1,
    holds:
      'an array that gets longer, shorter or another address before or after it migrates keeps its data; old views show nothing wrong',
    run: async ({ space, device, prefetch }) => {
      for (const [way, { length, maxLength }] of Object.entries(ways)) {
        for (const begin of [0, WORDS_PER_BLOCK / 2]) {
          for (const when of ['before', 'after'] as const) {
            const what = `${way}, ${when} words from ${begin} on were on the device`;
            const array = space.array(Uint32Array, LENGTH, { maxLength, name: what });
            let content: Uint32Array = pattern(LENGTH, 0x51ab_00c0);
            array.data.set(content);
            const migrate = async (seed: number): Promise<void> => {
              await prefetch(array, device, begin);
              await device.run(mix, { data: array, seed }, { size: array.length, begin });
              content.set(mixed(content, seed).subarray(begin), begin);
            };
            if (when === 'after') await migrate(1);
            const old = array.data;
            const { address } = array;
            await array.resize(length);
            content = resized(content, length);
            equal(`${what}: length`, array.length, length);
            equal(
              `${what}: whether it moved`,
              array.address !== address,
              way === 'longer at another address',
            );
            if (when === 'before') await migrate(2);
            same(`${what}: what the device reads`, await seenBy(device, array), content);
            same(`${what}: what the CPU reads`, array.data, content);
            const stays = array.address === address ? Math.min(old.length, length) : 0;
            // An old view of an array that has moved is that of a freed one: it is detached, where
            // Node.js can, or reads zeros.
            if (stays > 0)
              same(`${what}: an old view`, old.subarray(0, stays), content.subarray(0, stays));
            // The program is warned of each such array, once.
            if (begin === 0 && when === 'after' && old.length > 0) {
              const late = old.subarray(
                Math.min(Math.ceil(stays / WORDS_PER_PAGE) * WORDS_PER_PAGE, old.length),
              );
              same(
                `${what}: an old view where nothing is left`,
                late,
                new Uint32Array(late.length),
              );
            }

            await migrate(3);
            await array.resize(LENGTH);
            content = resized(content, LENGTH);
            same(`${what}: what the CPU reads at the old length`, array.data, content);
            array.free();
            space.checkInvariants();
          }
        }
      }
    },
  },
];
