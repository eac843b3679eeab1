/**
 * A program that has no descriptors left at the moment in which the manager needs a thread for its
 * files.
 */
import { closeSync, openSync, readFileSync, unlinkSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { openFailing } from '../../harness/failing.js';

const [path] = process.argv.slice(2);
writeFileSync(path, Buffer.alloc(1 << 20, 7));
// Pages that the kernel does not have at hand are read by the thread.
const { space, arm } = await openFailing('preadv2:EAGAIN:1-1000', {
  hostMemory: '256MiB',
  addressSpace: '8GiB',
});
const x = space.array(Int32Array, 1 << 18);
x.data.fill(3);
const file = space.fileArray(Uint8Array, path);
const out = openSync(`${path}.out`, 'w+');
// Frees the descriptors while this thread sits in a fault.
const code = `const { workerData, parentPort } = require('node:worker_threads');
  const { closeSync } = require('node:fs');
  parentPort.on('message', (taken) => setTimeout(() => { for (const fd of taken) closeSync(fd); process.exit(0); }, 1500));`;
const helper = new Worker(code, { eval: true });
await new Promise((resolve) => helper.once('online', resolve));
await sleep(200);
const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch {
  // None are left.
}
helper.postMessage(taken);
arm();
const written = x.writeTo(out);
process.stdout.write(`first ${file.data[0]} of ${taken.length > 10}\n`);
process.stdout.write(`written ${(await written) === x.data.byteLength}\n`);
process.stdout.write(
  `same ${readFileSync(`${path}.out`).every((byte, index) => byte === (index % 4 === 0 ? 3 : 0))}\n`,
);
closeSync(out);
unlinkSync(path);
unlinkSync(`${path}.out`);
await space.close();
process.stdout.write('closed\n');
