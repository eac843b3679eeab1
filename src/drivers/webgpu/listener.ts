/** A thread of the engine's process that waits for packets, since the engine's own thread waits for its GPU by the event loop. */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { exitImmediately } from '../../linux/process.js';
import { MessageSocket } from '../../linux/socket.js';
import { MAX_PACKET_BYTES } from '../process/protocol.js';

const socket = new MessageSocket((workerData as { socket: number }).socket, MAX_PACKET_BYTES);
const engine = parentPort as MessagePort;

for (;;) {
  const message = socket.receive(true);
  // The driver has gone: nothing of the device is wanted any more.
  if (message === 'closed') exitImmediately(0);
  if (message !== null) engine.postMessage(message.bytes, [message.bytes.buffer as ArrayBuffer]);
}
