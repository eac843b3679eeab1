/** What a launch is given besides its arrays. */
import { BUFFER_WORDS, same, WORDS_PER_PAGE } from '../context.js';
import { flip, mix, mixed, pattern } from '../kernels.js';
import type { Scenario } from '../suite.js';

export const launches: readonly Scenario[] = [
  {
    name: 'launch_of_nothing',
    devices: 1,
    holds: 'a launch of no work items runs nothing and empties nothing, in its place of the stream',
    run: async ({ device, words }) => {
      const array = words();
      const content = pattern(BUFFER_WORDS, 0x51ab_0023);
      array.data.set(content);
      using stream = device.stream();
      stream.launch(mix, { data: array, seed: 0x51ab_0024 }, { size: BUFFER_WORDS });
      const nothing = stream.launch(mix, { data: array, seed: 0x51ab_0025 }, { size: 0 });
      stream.launch(mix, { data: array, seed: 0x51ab_0025 }, { size: [0, 7] });
      await nothing.synchronize();
      same('what the CPU reads', array.data, mixed(content, 0x51ab_0024));
      await stream.synchronize();
      same('what the CPU reads in the end', array.data, mixed(content, 0x51ab_0024));
    },
  },
  {
    name: 'launch_size_in_array',
    devices: 1,
    holds:
      'a launch is as large as the launch before it has written, and nothing runs where that is 0',
    run: async ({ device, words, space }) => {
      const array = words();
      const content = pattern(BUFFER_WORDS, 0x51ab_0020);
      array.data.set(content);
      const sizes = space.array(Uint32Array, WORDS_PER_PAGE);
      const size = BUFFER_WORDS / 2 + 3;
      using stream = device.stream();
      stream.launch(flip, { data: sizes, mask: size }, { size: sizes.length });
      await stream
        .launch(mix, { data: array, seed: 0x51ab_0021 }, { size: sizes.range(0, 1) })
        .synchronize();
      content.set(mixed(content.subarray(0, size), 0x51ab_0021));
      same('what the CPU reads', array.data, content);

      stream.launch(flip, { data: sizes, mask: size }, { size: sizes.length });
      await stream
        .launch(mix, { data: array, seed: 0x51ab_0022 }, { size: sizes.range(0, 1) })
        .synchronize();
      same('what the CPU reads after a launch of size 0', array.data, content);
    },
  },
];
