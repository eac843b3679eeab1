/**
 * Small mistakes get the right code, name and remedy; objects of the package become sensible text.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { f32, kernel, type OnememErrorCode, openSpace } from '../../src/index.js';
import { Folder } from '../harness/command.js';
import { Program } from '../harness/processes.js';
import { failsWith, longTest, note, runTests, test } from '../harness/suite.js';

const command = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const simulated = {
  devices: [{ kind: 'simulated', memory: '8MiB' }],
  hostMemory: '64MiB',
} as const;
const LOADS_TYPESCRIPT = 'typescript' in process.features;

test('the type of codes has those of all errors, and no others', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const wrong: OnememErrorCode = 'ARRAY_LENGTH';
  // @ts-expect-error there is no such code
  const misspelt: OnememErrorCode = 'ARRAY_LENGHT';
  for (const make of [
    () => space.array(Float32Array, -1),
    () => space.bytes(0.5),
    () => space.fileArray(Uint8Array, process.execPath, { length: -1 }),
    () => space.array(Float32Array, 1).resize(-1),
  ])
    await failsWith(wrong, make);
  assert.notEqual(misspelt, wrong);
});

test('objects of the package become text, and JSON without their circles', async () => {
  await using space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ ...simulated.devices[0], name: 'gpu' }],
  });
  const [device] = space.devices;
  const x = space.array(Float32Array, 1000, { name: 'x' });
  const described = { name: 'gpu', kind: 'simulated', memory: 2 ** 23, units: 1 };
  const parsed = JSON.parse(JSON.stringify({ space, device, x }));
  assert.deepEqual(
    [parsed.space.devices, parsed.device, parsed.x.name],
    [[described], described, 'x'],
  );
  const stream = device.stream();
  const event = stream.record();
  await event.synchronize();
  const place = { place: 'gpu', state: 'open', pending: 0 };
  assert.deepEqual(JSON.parse(JSON.stringify(event)), {
    stream: place,
    result: 'done',
    error: null,
  });
  assert.match(String(x), /^ManagedArray\(1000\) "x" of Float32Array, at 0x/);
  assert.match(
    `${space} ${device} ${stream} ${event}`,
    /^AddressSpace .*Device "gpu".*Stream .*StreamEvent .*done/,
  );
});

test('a class is refused where it becomes a kernel', async () => {
  class Adds {}
  const make = () => kernel({ x: f32.inout }, Adds as never);
  const { message } = await failsWith('KERNEL_SOURCE', make);
  assert.match(message, /^kernel Adds is a class, .*write a function/);
});

test('the compiler refuses a read-only array where a kernel writes, and the launch does by name', async () => {
  await using space = await openSpace(simulated);
  const [device] = space.devices;
  const fill = kernel({ x: f32.out, y: f32.in }, ({ x, y }, { begin, end }) =>
    x.set(y.subarray(begin, end), begin),
  );
  const y = space.fileArray(Float32Array, process.execPath, { length: 100, name: 'binary' });
  // @ts-expect-error it may only be read
  const run = () => device.run(fill, { x: y, y: new Float32Array(100) }, { size: 100 });
  const { message } = await failsWith('ACCESS_DENIED', run);
  assert.match(message, /parameter x is declared out, but array binary may only be read/);
  await device.run(fill, { x: new Float32Array(100), y }, { size: 100 });
});

longTest('a store to a view from before a resize is told that the array has moved', async () => {
  const { stderr, signal } = await new Program('moved-view', []).outcome;
  assert.match(
    stderr,
    /wrote array x, elements 0 to 999 .*, which resize\(\) has moved to other addresses; take array\.data anew/,
  );
  assert.ok(signal !== null);
});

longTest('files that find no descriptor are named, with the limit and the remedy', async () => {
  using folder = new Folder();
  const path = folder.file('x.bin');
  writeFileSync(path, new Uint8Array(4096));
  const { stdout } = await new Program('files-without-descriptors', [path]).outcome;
  const lines = stdout.trim().split('\n');
  assert.equal(lines.length, 5, stdout);
  for (const line of lines) {
    const told =
      /^DESCRIPTORS cannot (open|share|write|add|start) .*; this process may have \d+ of them: .*\(ulimit -n\)$/;
    assert.match(line, told);
  }
});

longTest('a failure of a stream that nobody awaits is told when the space is closed', async () => {
  const warned: (Error & { code?: string })[] = [];
  const take = (warning: Error): unknown => warned.push(warning);
  process.on('warning', take);
  const fails = kernel({ x: f32.inout }, () => {
    throw new Error('out of ink');
  });
  for (const isSeen of [false, true]) {
    const space = await openSpace(simulated);
    const stream = space.devices[0].stream();
    const event = stream.launch(fails, { x: space.array(Float32Array, 1) }, { size: 1 });
    const last = stream.record();
    await last.synchronize().catch(() => undefined);
    if (isSeen) assert.match(String(event.error), /out of ink/);
    await space.close();
  }
  await setImmediate();
  process.off('warning', take);
  const own = warned.filter(({ code }) => code === 'ONEMEM_STREAM_FAILED');
  assert.equal(own.length, 1);
  assert.match(own[0].message, /out of ink.*await stream\.synchronize\(\)/);
});

if (LOADS_TYPESCRIPT) note('not run: this Node.js loads TypeScript');
else
  test('a kernel in TypeScript is told which Node.js loads it', () => {
    using folder = new Folder();
    writeFileSync(folder.file('k.ts'), 'export default {};');
    writeFileSync(folder.file('x.npy'), '');
    const args = [command, 'run', folder.file('k.ts'), '--inout', `x=${folder.file('x.npy')}`];
    const { stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    assert.match(stderr, /k\.ts cannot be loaded: .*Node\.js 22\.18 or newer/);
  });

await runTests();
