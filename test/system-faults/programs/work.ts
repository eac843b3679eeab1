/**
 * Uses most of what the manager does, and compares every result, while one of its system calls
 * fails. Each operation may fail with an error that has a code; none may hang, and nothing that can
 * be read may be wrong. Its last line says what happened, as JSON.
 *
 * With `wait` as its argument it names the manager's thread, and begins when its standard input
 * ends.
 */
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { i32, kernel, type ManagedArray, openSpace } from '../../../src/index.js';
import { Control } from '../../../src/pager/protocol/control.js';

const N = 3 << 17;
const STEP = 61;
/** An operation that takes longer waits for something that never comes. */
const LIMIT_MS = 20_000;

const folder = mkdtempSync(`${tmpdir()}/onemem-faults-`);
const source = Int32Array.from({ length: N }, (_, i) => i * 3);
for (const name of ['in', 'shared']) writeFileSync(`${folder}/${name}`, source);

const increment = kernel({ x: i32.inout, y: i32.in, z: i32.out }, ({ x, y, z }, { begin, end }) => {
  for (let i = begin; i < end; i++) {
    x[i] += 1;
    z[i] = y[i] + x[i];
  }
});

const wrong: string[] = [];
const errors: string[] = [];

function say(report: object): void {
  console.log(JSON.stringify(report));
}

function finish(fired: number, hung: string | null = null): never {
  rmSync(folder, { recursive: true, force: true });
  say({ fired, wrong, errors, hung });
  process.exit(0);
}

let fired = (): number => 0;

/**
 * Whether the operation went well. One that fails must say why by a code; one that neither ends nor
 * fails ends the program.
 */
async function attempt(what: string, action: () => unknown): Promise<boolean> {
  const timer = setTimeout(() => finish(fired(), what), LIMIT_MS);
  try {
    await action();
    return true;
  } catch (error) {
    errors.push(`${what}: ${(error as { code?: string }).code ?? String(error)}`);
    return false;
  } finally {
    clearTimeout(timer);
  }
}

function compare(what: string, data: ArrayLike<number>, expected: (i: number) => number): void {
  for (let i = 0; i < data.length; i += STEP) {
    if (data[i] === expected(i)) continue;
    wrong.push(`${what}[${i}] is ${data[i]} instead of ${expected(i)}`);
    return;
  }
}

let space: Awaited<ReturnType<typeof openSpace>> | undefined;
await attempt('open', async () => {
  space = await openSpace({
    devices: [
      { kind: 'process', memory: '4MiB', name: 'one' },
      { kind: 'process', memory: '6MiB', name: 'two' },
    ],
    hostMemory: '200MiB',
  });
});
if (space === undefined) finish(1);
const control = new Int32Array(space.handle.control);
fired = () => Atomics.load(control, Control.FailingCalls) >> 1;
if (process.argv[2] === 'wait') {
  say({ manager: control[Control.ManagerThread] });
  await once(process.stdin.resume(), 'end');
}
Atomics.or(control, Control.FailingCalls, 1);

const [one, two] = space.devices;
const x = space.array(Int32Array, N, { name: 'x' });
const y = space.array(Int32Array, N, { name: 'y' });
const z = space.array(Int32Array, N, { name: 'z' });
for (let i = 0; i < N; i++) y.data[i] = i;

/** How often x was counted up; after a launch that failed it is not known. */
let runs = 0;
let known = true;
async function launch(what: string, device: typeof one): Promise<void> {
  const well = await attempt(what, () => device.run(increment, { x, y, z }, { size: N }));
  if (well) runs++;
  else known = false;
  compare(`${what}: y`, y.data, (i) => i);
  if (!known) return;
  compare(`${what}: x`, x.data, () => runs);
  compare(`${what}: z`, z.data, (i) => i + runs);
}

for (const device of [one, one, two, one]) await launch(`launch on ${device.name}`, device);
await attempt('prefetch', () => {
  const stream = two.stream();
  stream.prefetch(y.range(), two);
  stream.prefetch(y.range(), 'host');
  return stream.synchronize();
});
compare('prefetched', y.data, (i) => i);
const c = space.array(Int32Array, N, { name: 'c' });
const copied = await attempt('copy', async () => {
  const stream = one.stream();
  stream.copy(c.range(), y.range());
  await stream.synchronize();
});
if (copied) compare('copy', c.data, (i) => i);
let clone: ManagedArray<Int32Array> | undefined;
const cloned = await attempt('clone', async () => {
  clone = await y.clone();
});
if (cloned && clone !== undefined) {
  clone.data[5 * STEP] = 77;
  compare('clone', clone.data, (i) => (i === 5 * STEP ? 77 : i));
  compare('its source', y.data, (i) => i);
}
await attempt('protect', async () => {
  await y.protect('read');
  await y.protect('readwrite');
});
if (await attempt('discard', () => c.discard())) compare('discarded', c.data, () => 0);
await attempt('file array', () => {
  const file = space?.fileArray(Int32Array, `${folder}/in`) as ManagedArray<Int32Array>;
  compare('file', file.data, (i) => i * 3);
  return file.free();
});
await attempt('shared array', async () => {
  const shared = space?.fileArray(Int32Array, `${folder}/shared`, {
    shared: true,
  }) as ManagedArray<Int32Array>;
  for (let i = 0; i < N; i += 5) shared.data[i] = i * 5;
  // A failure is told once, and what was written is kept.
  await attempt('flush', () => shared.flush({ durable: true })).then((well) =>
    well ? 0 : shared.flush({ durable: true }),
  );
  const { buffer, byteOffset } = readFileSync(`${folder}/shared`);
  compare('flushed', new Int32Array(buffer, byteOffset, N), (i) => (i % 5 === 0 ? i * 5 : i * 3));
});
const fd = openSync(`${folder}/out`, 'w+');
if (await attempt('writeTo', () => y.writeTo(fd, { position: 0 }))) {
  const { buffer, byteOffset } = readFileSync(`${folder}/out`);
  compare('written', new Int32Array(buffer, byteOffset, N), (i) => i);
}
closeSync(fd);
const input = openSync(`${folder}/in`, 'r');
if (await attempt('readFrom', () => c.readFrom(input, { position: 0 })))
  compare('read', c.data, (i) => i * 3);
closeSync(input);
await attempt('pin', async () => (await y.pin({ lock: true })).unpin());
await attempt('resize', async () => {
  await c.resize(N * 2);
  c.data[N * 2 - 1] = 1;
  await c.resize(N / 2);
});
await attempt('advise', () => z.advise({ accessedBy: [one] }));
await launch('launch in place', one);
await attempt('free', async () => {
  await c.free();
  await clone?.free();
});
for (let round = 0; round < 2; round++) await launch('last launch', two);
await attempt('invariants', () => space?.checkInvariants());
const count = fired();
if (!(await attempt('close', () => space?.close())))
  await attempt('close again', () => space?.close());
finish(Math.max(count, fired()));
