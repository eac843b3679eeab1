/**
 * A thread that opens a space with a device, says the device's process, and waits to be terminated.
 */
import { parentPort } from 'node:worker_threads';
import { openSpace } from '../../../src/index.js';

const space = await openSpace({
  hostMemory: '32MiB',
  devices: [{ kind: 'process', memory: '8MiB' }],
});
parentPort?.postMessage(space.devices[0].pid);
setInterval(() => undefined, 1000);
