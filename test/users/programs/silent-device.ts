/**
 * A device whose process cannot say anything, since its terminal takes nothing, and whose unit ends
 * in a launch. Argument: a file for results.
 */
import { appendFileSync } from 'node:fs';
import { kernel, openSpace, u8 } from '../../../src/index.js';

const space = await openSpace({ devices: [{ kind: 'process', memory: '8MiB' }] });
const x = space.bytes(4096);
const printAndEnd = kernel({ x: u8.inout }, async () => {
  console.error('x'.repeat(1 << 20));
  // The main thread of the device has the text by now, and waits for it to be read.
  await new Promise((resolve) => setTimeout(resolve, 300));
  process.exit(3);
});
const [device] = space.devices;
const error = (await device
  .run(printAndEnd, { x }, { size: 1 })
  .catch((failure: unknown) => failure)) as Error;
appendFileSync(process.argv[2], `${(error as { code?: string }).code} ${error.message}\n`);
await space.close();
appendFileSync(process.argv[2], 'closed\n');
// Not by an ordinary exit, which would wait for the terminal, too.
process.kill(process.pid, 'SIGKILL');
