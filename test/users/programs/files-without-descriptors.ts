/** Takes the last descriptor, and prints what calls that need one say. */
import { openSync } from 'node:fs';
import { openSpace } from '../../../src/index.js';

const [, , path] = process.argv;
const space = await openSpace({ hostMemory: '64MiB', storage: false });
const x = space.array(Uint8Array, 4096);
try {
  for (;;) openSync('/dev/null', 'r');
} catch {
  // There are no more.
}
const module = new URL('./moved-view.js', import.meta.url);
for (const call of [
  () => space.fileArray(Uint8Array, path),
  () => space.fileArray(Uint8Array, path, { shared: true }),
  () => space.saveNpy(`${path}.npy`, x),
  () => space.addDevice({ kind: 'process', memory: '8MiB' }),
  () => space.providedArray(Uint8Array, 4096, { module }),
]) {
  try {
    await call();
    console.log('done');
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    console.log(code, message);
  }
}
process.exit(0);
