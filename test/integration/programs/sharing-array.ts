/** A program that shares an array: what it does is its first argument. */
import { once } from 'node:events';
import {
  closeSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type OnememError, openSpace, type SharedArray } from '../../../src/index.js';
import { say, wait } from './common.js';

const LENGTH = 40_000;
const [what, url, leaseMs, timeoutMs, part] = process.argv.slice(2);
const on = { url, leaseMs: Number(leaseMs), timeoutMs: Number(timeoutMs) };
const space = await openSpace({ hostMemory: '64MiB' });
const shared = await space.sharedArray(Int32Array, LENGTH, { name: 'numbers', on });

/** Writes one part of the array in small pieces, and then reads what two programs have written. */
async function halves(): Promise<void> {
  const { data } = shared;
  for (let i = Number(part); i < LENGTH; i += 2) data[i] = 3 * i + 1;
  await shared.barrier('written', 2);
  let wrong = 0;
  for (let i = 0; i < LENGTH; i++) if (data[i] !== 3 * i + 1) wrong++;
  say(`wrong ${wrong}`);
  await shared.barrier('read', 2);
}

async function count(): Promise<void> {
  for (let n = 0; n < 200; n++) {
    Atomics.add(shared.data, 0, 1);
    Atomics.add(shared.data, LENGTH - 1, 2);
  }
  await shared.barrier('counted', 2);
  say(`${shared.data[0]} ${shared.data[LENGTH - 1]}`);
  await shared.barrier('read', 2);
}

/** Owns a block that is written further than it was flushed, until it hears that this is lost. */
async function own(): Promise<void> {
  let told = '';
  await shared.watch({
    onInvalidate: ({ changes }) => {
      told ||=
        changes
          .filter(({ reason }) => reason === 'lost')
          .map(({ begin, end }) => `${begin} to ${end}`)[0] ?? '';
    },
  });
  shared.data[0] = 1;
  await shared.fence();
  shared.data[0] = 2;
  say('owns');
  while (told === '') await new Promise((resolve) => setTimeout(resolve, 10));
  say(`lost ${told}`);
  // A program that watches nothing hears of it by its next fence, once.
  say(`fence ${await shared.fence().catch((error: OnememError) => error.code)}`);
  say(`reads ${shared.data[0]}`);
  shared.data[0] = 5;
  await shared.fence();
  say(`wrote ${shared.data[0]}`);
}

/** Touches by a system call, which fails where the access is denied. */
function touched(
  { data }: SharedArray<Int32Array<ArrayBuffer>>,
  element: number,
  write = false,
): string {
  const folder = mkdtempSync(join(tmpdir(), 'onemem-sharing-'));
  const path = join(folder, 'bytes');
  const file = openSync(path, 'w+');
  const began = performance.now();
  try {
    const bytes = new Uint8Array(data.buffer, data.byteOffset + element * 4, 4);
    if (write) {
      writeSync(file, new Uint8Array(4));
      readSync(file, bytes, 0, 4, 0);
    } else writeSync(file, bytes);
    return String(readFileSync(path).readInt32LE());
  } catch (error) {
    return `${(error as NodeJS.ErrnoException).code} after ${performance.now() - began >= on.timeoutMs} wait`;
  } finally {
    closeSync(file);
    rmSync(folder, { recursive: true });
  }
}

/** What a program can do while the server is down, which the test stops and starts again. */
async function down(): Promise<void> {
  shared.data[0] = 7;
  await shared.fence();
  shared.data[0] = 8;
  const told = once(process, 'SIGUSR2');
  say('ready');
  // Otherwise the server might have the element before it is stopped. To wait for a signal alone
  // keeps no program.
  const kept = setInterval(() => undefined, 1000);
  await told;
  clearInterval(kept);
  const answer = await shared
    .barrier('never', 2)
    .catch((error: OnememError) => `${error.code}: ${error.message}`);
  say(`barrier ${answer}`);
  say(`here ${shared.data[0]}`);
  say(`far ${touched(shared, LENGTH - 1)}`);
  say(`fence ${await shared.fence().catch((error: OnememError) => error.code)}`);
  say('waits');
  for (;;) {
    const failure = await shared.fence().catch((error: OnememError) => error.code);
    if (failure === undefined) break;
  }
  say(`far ${touched(shared, LENGTH - 1)}`);
  say(`here ${shared.data[0]}`);
}

function failure(call: Promise<unknown>): Promise<string> {
  return call.then(
    () => 'no error',
    (error: OnememError) => error.code,
  );
}

/**
 * Goes on as far as it can when the server has lost the array, and opens it again when it is told
 * to.
 */
async function lose(): Promise<void> {
  let told = '';
  await shared.watch({
    onInvalidate: ({ changes }) => {
      told ||=
        changes
          .filter(({ reason }) => reason === 'lost')
          .map(({ begin, end }) => `${begin} to ${end}`)[0] ?? '';
    },
  });
  say(`has ${shared.data[0]}`);
  const agreed = once(process, 'SIGUSR2');
  while (told === '') await new Promise((resolve) => setTimeout(resolve, 10));
  say(`lost ${told}`);
  say(`near ${touched(shared, 0)}`);
  say(`far ${touched(shared, LENGTH - 1)}`);
  say(`written ${touched(shared, 20_000, true)}`);
  say(`calls ${await failure(shared.fence())} ${await failure(shared.barrier('old', 2))}`);
  const kept = setInterval(() => undefined, 1000);
  await agreed;
  clearInterval(kept);
  say(`still ${touched(shared, 5)}`);
  shared.free();
  const again = await space.sharedArray(Int32Array, LENGTH, { name: 'numbers', on });
  again.data[6] = 9;
  say(`again ${again.data[0]} ${again.data[5]}`);
  await again.barrier('both', 2);
}

const programs: Record<string, () => Promise<void>> = {
  halves,
  count,
  own,
  down,
  lose,
  stay: async () => wait(),
};
await programs[what]();
if (what !== 'stay') await space.close();
