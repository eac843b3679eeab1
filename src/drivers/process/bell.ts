/** Wakes a unit by a byte through a socket of its event loop; the board says why. */
import { SystemCallError } from '../../linux/base/errors.js';
import type { MessageSocket } from '../../linux/sockets/socket.js';

const RING = Uint8Array.of(1);

export const RING_BYTES = RING.length;

/**
 * False: the kernel had no memory for it. A unit that has ended cannot be woken and is no error:
 * the main thread of the device's process hears of its end, and gives its successor what the unit
 * had not begun.
 */
export function ring(bell: MessageSocket): boolean {
  try {
    return bell.send(RING);
  } catch (error) {
    if (!(error instanceof SystemCallError)) throw error;
    return true;
  }
}
