/**
 * Typed arrays of the program's own as arguments of a launch: how fast they go to a device and come
 * home, beside one memcpy of as many bytes.
 */
import { f32, kernel, openSpace, type RegisterableMemory, type WasmMemory } from '../src/index.js';
import { MemoryCopy } from './bandwidth.js';
import { type Bench, compare, type Settings, verify } from './harness.js';

const SIZES = [
  ['16MiB', 2 ** 24],
  ['64MiB', 2 ** 26],
] as const;

/** Touches a word of every page: all of them must be there. */
const look = kernel({ x: f32.in, sum: f32.inout }, ({ x, sum }, { begin, end }) => {
  for (let i = begin; i < end; i += 1024) sum[0] += x[i];
});
const stamp = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i += 1024) x[i] += 1;
});

/** What is registered: memory that a process device maps, and memory that is copied. */
function kindsOf(bytes: number): Record<string, { memory: RegisterableMemory; x: Float32Array }> {
  const { WebAssembly } = globalThis as unknown as {
    WebAssembly: { Memory: new (size: { initial: number }) => WasmMemory };
  };
  const wasm = new WebAssembly.Memory({ initial: bytes / 65_536 });
  const shared = new SharedArrayBuffer(bytes);
  return {
    wasm: { memory: wasm, x: new Float32Array(wasm.buffer) },
    shared: { memory: shared, x: new Float32Array(shared) },
  };
}

async function run(settings: Settings): Promise<void> {
  const copy = new MemoryCopy();
  await using space = await openSpace({
    hostMemory: '1GiB',
    devices: [{ kind: 'process', memory: '256MiB' }],
  });
  const [device] = space.devices;
  for (const [size, bytes] of SIZES) {
    const x = new Float32Array(bytes / 4).fill(1);
    const pages = bytes / 4096;
    const references = { memcpy: () => copy.rate(bytes) };
    const kinds = kindsOf(bytes);
    for (const [kind, { memory, x }] of Object.entries(kinds)) {
      const registration = space.register(memory);
      let times = 0;
      await compare(settings, {
        name: `pageable/registered/${kind}/${size}`,
        unit: 'GB/s',
        better: 'higher',
        warmUp: 30,
        ours: async () => {
          const start = performance.now();
          await device.run(stamp, { x }, { size: x.length });
          const elapsed = performance.now() - start;
          verify(x[0] === ++times && x[x.length - 1024] === times, 'the words of the pages');
          return (2 * bytes) / 1e6 / elapsed;
        },
        references,
        extra: { mode: registration.mode, locked: registration.locked },
      });
      registration.unregister();
    }
    await compare(settings, {
      name: `pageable/in/${size}`,
      unit: 'GB/s',
      better: 'higher',
      warmUp: 30,
      ours: async () => {
        const sum = new Float32Array(1);
        const start = performance.now();
        await device.run(look, { x, sum }, { size: x.length });
        const elapsed = performance.now() - start;
        verify(sum[0] === pages, 'the sum of the pages');
        return bytes / 1e6 / elapsed;
      },
      references,
    });
    const y = new Float32Array(bytes / 4);
    let times = 0;
    await compare(settings, {
      name: `pageable/inout/${size}`,
      unit: 'GB/s',
      better: 'higher',
      warmUp: 30,
      ours: async () => {
        const start = performance.now();
        await device.run(stamp, { x: y }, { size: y.length });
        const elapsed = performance.now() - start;
        verify(y[0] === ++times && y[(pages - 1) * 1024] === times, 'the words of the pages');
        // There and back.
        return (2 * bytes) / 1e6 / elapsed;
      },
      references,
    });
  }
}

export const pageable: Bench = {
  name: 'pageable',
  what: 'GB/s of plain and registered arrays that a launch takes and gives back; beside one memcpy',
  run,
};
