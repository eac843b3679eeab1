/** A counter that another thread or process raises and that poll sees. */
import { EAGAIN, EFD_CLOEXEC, EFD_NONBLOCK, EINTR } from '../base/constants.js';
import { check, SystemCallError } from '../base/errors.js';
import { closeDescriptor, errno, libc } from '../base/libc.js';
import { NativeBuffer } from '../base/native-buffer.js';

export function createEventfd(initial = 0): number {
  return check(libc.eventfd(initial, EFD_CLOEXEC | EFD_NONBLOCK), 'eventfd', { initial });
}

// An area of its own, since a notification may come from within another call's use of the common
// one.
const area = new NativeBuffer(4096);
area.setU64(8, 1);

/** Raises the counter by one. A full counter has woken all waiters already. */
export function notifyEventfd(fd: number): void {
  if (libc.write(fd, area.address + 8, 8) >= 0) return;
  const number = errno();
  if (number !== EAGAIN) throw new SystemCallError('write', { fd }, number);
}

/** Takes the counter's value and sets it to 0; returns 0 when it is 0 already. */
export function drainEventfd(fd: number): number {
  if (libc.read(fd, area.address, 8) >= 0) return area.getU64(0);
  const number = errno();
  if (number === EAGAIN || number === EINTR) return 0;
  throw new SystemCallError('read', { fd }, number);
}

export function closeEventfd(fd: number): void {
  closeDescriptor(fd);
}
