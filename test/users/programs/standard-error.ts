/**
 * A program whose standard error takes nothing, or is the pipe that a system call writes managed
 * memory to.
 */
import { once } from 'node:events';
import { constants, openSync, writeSync } from 'node:fs';
import { openSpace, type SpaceOptions } from '../../../src/index.js';

const [how] = process.argv.slice(2);
const crash = how === 'crash' ? { crash: 'throw' as SpaceOptions['crash'] } : {};
const space = await openSpace({ hostMemory: '200MiB', ...crash });
const x = space.array(Uint8Array, 1 << 20, { name: 'x' });
const other = space.array(Uint8Array, 8 << 20);
const say = (text: string): void => void writeSync(1, `${text}\n`);

function fill(): void {
  const fd = openSync('/proc/self/fd/2', constants.O_WRONLY | constants.O_NONBLOCK);
  for (const size of [4096, 1]) {
    try {
      for (;;) writeSync(fd, 'x'.repeat(size));
    } catch {
      // It is full.
    }
  }
}

if (how === 'same') {
  x.data.fill(65);
  await x.protect('none');
  try {
    writeSync(1, x.data, 0, 8);
  } catch (error) {
    say(`write: ${(error as { code: string }).code}`);
  }
  say(`other: ${other.data[100]}`);
} else {
  fill();
  if (how === 'warning') {
    const view = x.data;
    view.fill(65);
    await x.free();
    say(`freed: ${view[5]}`);
  }
  for (let at = 0; at < other.length; at += 1 << 20) other.data[at] = 1;
  say('served');
  // Until the test has read what was kept.
  if (how === 'warning') await once(process.stdin.resume(), 'end');
}
say('fine');
process.exit(0);
