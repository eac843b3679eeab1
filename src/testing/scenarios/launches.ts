/** What a launch is given besides its arrays. */
import type { RegisterableMemory, WasmMemory } from '../../index.js';
import { BUFFER_WORDS, PAGE_BYTES, same, WORDS_PER_PAGE } from '../context.js';
import { copy, flip, mix, mixed, pattern, write } from '../kernels.js';
import type { Scenario } from '../suite.js';

/** Memory that a device may map, and memory that is copied. */
function registered(): { memory: RegisterableMemory; buffer: ArrayBufferLike }[] {
  const { WebAssembly } = globalThis as unknown as {
    WebAssembly: { Memory: new (size: { initial: number }) => WasmMemory };
  };
  const wasm = new WebAssembly.Memory({ initial: 4 });
  const shared = new SharedArrayBuffer(64 * PAGE_BYTES);
  return [
    { memory: wasm, buffer: wasm.buffer },
    { memory: shared, buffer: shared },
  ];
}

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
  {
    name: 'registered_memory',
    devices: 1,
    holds: 'memory that others made is read and written by launches, and nothing beside it',
    run: async ({ device, space }) => {
      const length = 3 * WORDS_PER_PAGE + 100;
      for (const { memory, buffer } of registered()) {
        using registration = space.register(memory, { lock: false });
        const x = new Uint32Array(buffer, 40, length);
        const y = new Uint32Array(buffer, 16 * PAGE_BYTES, length);
        const size = length;
        await device.run(write, { data: x, seed: 0x51ab_0026 }, { size });
        const written = pattern(length, 0x51ab_0026);
        same(`what was written, ${registration.mode}`, x, written);
        using stream = device.stream();
        stream.launch(mix, { data: x, seed: 0x51ab_0027 }, { size });
        stream.launch(copy, { source: x, destination: y }, { size });
        await stream.synchronize();
        same(`what was changed, ${registration.mode}`, x, mixed(written, 0x51ab_0027));
        same(`what was copied, ${registration.mode}`, y, mixed(written, 0x51ab_0027));
        const all = new Uint32Array(buffer);
        same('what lies beside it', all.subarray(length + 10, length + 50), new Uint32Array(40));
      }
    },
  },
];
