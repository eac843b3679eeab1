/**
 * The loop of an engine's thread whose transport blocks it: packets that have come, what they
 * begin, a wait for the GPU, and again. Where nothing is under way the thread waits for the next
 * packet, in a system call.
 */
import type { MessageSocket } from '../../../linux/sockets/socket.js';
import type { Waits } from '../gpu/gpu.js';
import type { Work } from './engine-loop.js';

/** How long packets may stand while the GPU works. What the GPU ends is heard of at once. */
const WAIT_NANOSECONDS = 500_000;

/** Runs until the other end has gone. */
export function runWaitingLoop(socket: MessageSocket, gpu: Waits, work: Work): void {
  const turn = (): void => {
    // All promises that could be settled have been since the last turn: what is under way waits for
    // the GPU.
    let message = socket.receive(!gpu.busy);
    const isAsked = message !== null;
    for (; message !== null; message = socket.receive()) {
      if (message === 'closed') {
        work.closed();
        return;
      }
      work.take(message.bytes);
    }
    // What was taken is begun between two turns: it is not to stand until the GPU has done what
    // came before.
    if (gpu.busy) gpu.wait(isAsked ? 0 : WAIT_NANOSECONDS);
    setImmediate(turn);
  };
  turn();
}
