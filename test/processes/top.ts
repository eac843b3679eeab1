/** `onemem top`: what it tells of a program, and what its keys do in a real terminal. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { TopFrame } from '../../src/cli/spaces/top-space.js';
import { type AddressSpace, f32, kernel, openSpace } from '../../src/index.js';
import { libc } from '../../src/linux/base/libc.js';
import { listenLocally } from '../../src/linux/sockets/local-socket.js';
import { Folder } from '../harness/command.js';
import { longTest, runTests, test } from '../harness/suite.js';

const MAIN = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url));
const MIB = 2 ** 20;

const addOne = kernel({ x: f32.inout }, ({ x }, { begin, end }) => {
  for (let i = begin; i < end; i++) x[i] += 1;
});

function observed(observable = true): Promise<AddressSpace> {
  return openSpace({
    hostMemory: '64MiB',
    storage: false,
    observable,
    devices: [{ kind: 'process', memory: '8MiB', name: 'small' }],
  });
}

longTest('it names arrays that move, with causes, and sums of bytes', async () => {
  await using space = await observed();
  const [device] = space.devices;
  const x = space.array(Float32Array, 4 * MIB, { name: 'x' });
  x.data.fill(1);
  using folder = new Folder();
  const options = ['--once', '--json', '--interval', '2'];
  let isOver = false;
  const ended = folder.run('top', String(process.pid), ...options).finally(() => {
    isOver = true;
  });
  while (!isOver) await device.run(addOne, { x }, { size: x.length });
  const { stdout, code, stderr } = await ended;
  assert.equal(code, 0, stderr);
  const frame = JSON.parse(stdout) as TopFrame;
  const [array] = frame.arrays;
  assert.deepEqual([frame.pid, array.name, array.bytes], [process.pid, 'x', 16 * MIB]);
  const moved = Object.values(array.bytesIn).reduce((sum, bytes) => sum + bytes, 0);
  assert.ok(moved > 4 * MIB, stdout);
  assert.ok(array.bytesReturned > 0 && array.bytesEvicted > 0, stdout);
  const small = frame.processors.find(({ name }) => name === 'small');
  assert.ok(small !== undefined && small.launchMs > 0, stdout);
  assert.notEqual(frame.bottleneck.what, 'program', stdout);
});

longTest('each space of a process is told, and one that is closed is left out', async () => {
  await using first = await observed();
  const second = await observed();
  first.array(Float32Array, MIB, { name: 'of-first' }).data.fill(1);
  second.array(Float32Array, MIB, { name: 'of-second' }).data.fill(1);
  using folder = new Folder();
  const watching = folder.start('top', `${process.pid}`, '--json', '--interval', '0.2');
  const tells = async (isTold: (lines: readonly string[]) => boolean): Promise<void> => {
    while (!isTold(watching.stdout.split('\n').slice(0, -1)))
      await new Promise((resolve) => setTimeout(resolve, 50));
  };
  await tells((lines) => lines.some((line) => line.includes('of-second')));
  const [one, other] = watching.stdout.split('\n').map((line) => JSON.parse(line || 'null'));
  assert.deepEqual([one.space, other.space, one.spaces, other.spaces], [1, 2, 2, 2]);
  await second.close();
  await tells((lines) => lines.slice(-3).every((line) => line.includes('of-first')));
  watching.kill('SIGTERM');
  await watching.ended;
});

longTest('a program that did not allow it is not looked at, and one is told how to', async () => {
  await using _space = await observed(false);
  using folder = new Folder();
  await folder.fail(
    1,
    /no space of \d+ to look at, .*ONEMEM_OBSERVABLE=1/,
    'top',
    `${process.pid}`,
  );
});

test('a socket of the name that never answers keeps no program from being looked at', async () => {
  await using _space = await observed();
  const mute = listenLocally(`onemem-${randomBytes(12).toString('hex')}`);
  using folder = new Folder();
  const options = ['--once', '--json', '--interval', '0.2'];
  const { stdout, code, stderr } = await folder.run('top', `${process.pid}`, ...options);
  libc.close(mute);
  assert.equal(code, 0, stderr);
  assert.equal((JSON.parse(stdout) as TopFrame).pid, process.pid);
});

longTest('in a terminal, keys sort and detach, and the screen is put back', async () => {
  await using space = await observed();
  space.array(Float32Array, MIB, { name: 'still' }).data.fill(1);
  const command = `stty rows 24 cols 80; exec ${process.execPath} ${MAIN} top ${process.pid} --interval 0.2`;
  const shown = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { ...process.env, TERM: 'xterm', NO_COLOR: '1' },
  });
  let text = '';
  shown.stdout.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  const says = async (what: string): Promise<void> => {
    while (!text.includes(what)) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  await says('by moved');
  await says('still');
  shown.stdin.write('s');
  await says('by again');
  shown.stdin.write('p');
  await says('paused');
  const closed = once(shown, 'close');
  shown.stdin.write('q');
  const [code] = (await closed) as [number];
  assert.equal(code, 0);
  assert.ok(text.endsWith('\u001b[?25h\u001b[?1049l'), JSON.stringify(text.slice(-60)));
});

await runTests();
