/**
 * What it costs to have data at a device and back, by size: managed arrays whose pages come when
 * they are touched, managed arrays that are prefetched, and plain typed arrays that are copied
 * whole, there and back. Each round writes everything on the CPU, adds one to everything on the
 * device, and reads everything on the CPU. The times are for reading; the results are checked.
 *
 *   node .build/examples/cookbook/unified-memory-perf.js [KIBIBYTES OF THE LARGEST]
 */
import { f32, kernel, openSpace } from 'onemem';

const KIB = 2 ** 10;
const LARGEST = Number(process.argv[2] ?? 65_536);
const SIZES = [4, 16, 64, 256, 1024, 4096, 16_384, 65_536]
  .filter((kibibytes) => kibibytes <= LARGEST)
  .map((kibibytes) => kibibytes * KIB);
const WARM_UP = 2;

const increment = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});

await using space = await openSpace({ devices: [{ kind: 'process', memory: '80MiB', units: 1 }] });
const [device] = space.devices;

/**
 * One round on `data`: the CPU writes, `work` lets the device add one, the CPU reads. Returns
 * milliseconds.
 */
async function round(
  data: () => Float32Array,
  seed: number,
  work: () => Promise<void>,
): Promise<number> {
  const started = performance.now();
  const before = data();
  for (let i = 0; i < before.length; i++) before[i] = (i + seed) & 0xffff;
  await work();
  const after = data();
  let wrong = -1;
  for (let i = 0; i < after.length; i++) if (after[i] !== ((i + seed) & 0xffff) + 1) wrong = i;
  const ms = performance.now() - started;
  if (wrong !== -1) throw new Error(`element ${wrong} of ${after.length} is ${after[wrong]}`);
  return ms;
}

/** The first rounds compile, and find memory for the first time: they are not counted. */
async function median(rounds: number, once: (seed: number) => Promise<number>): Promise<number> {
  const times: number[] = [];
  for (let seed = 1; seed <= WARM_UP; seed++) await once(-seed);
  for (let seed = 0; seed < rounds; seed++) times.push(await once(seed));
  return times.sort((a, b) => a - b)[rounds >> 1];
}

console.log('      size   faults  prefetch  by hand   (ms a round, medians)');
for (const bytes of SIZES) {
  const size = bytes / 4;
  const rounds = Math.min(15, Math.max(3, (8 * 2 ** 20) / bytes));
  using x = space.array(Float32Array, size);
  const faults = await median(rounds, (seed) =>
    round(
      () => x.data,
      seed,
      () => device.run(increment, { x }, { size }),
    ),
  );
  using stream = device.stream();
  const prefetch = await median(rounds, (seed) =>
    round(
      () => x.data,
      seed,
      () => {
        stream.prefetch(x.range());
        stream.launch(increment, { x }, { size });
        stream.prefetch(x.range(), 'host');
        return stream.synchronize();
      },
    ),
  );
  const plain = new Float32Array(size);
  // A plain typed array as an argument is copied to the device for the launch, and back after it.
  const byHand = await median(rounds, (seed) =>
    round(
      () => plain,
      seed,
      () => device.run(increment, { x: plain }, { size }),
    ),
  );
  const columns = [faults, prefetch, byHand].map((ms) => ms.toFixed(2).padStart(8)).join(' ');
  console.log(`${String(bytes / KIB).padStart(6)} KiB ${columns}`);
}
console.log('every element of every round is right');
