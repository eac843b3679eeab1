/** A thread that makes an array of a file, frees it, and ends when it is told. */
import { parentPort, workerData } from 'node:worker_threads';
import { attachSpace, type SpaceHandle } from '../../../src/index.js';

const { handle, path } = workerData as { handle: SpaceHandle; path: string };
const space = attachSpace(handle);
const array = space.fileArray(Uint8Array, path);
const [first] = array.data;
array.free();
parentPort?.postMessage(first);
parentPort?.once('message', () => void space.close().then(() => process.exit(0)));
