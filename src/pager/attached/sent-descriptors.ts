/**
 * Descriptors that a client of another process sent along with its requests. One that a request
 * names is the manager's as soon as the request is answered without an error.
 */
import { closeDescriptor } from '../../linux/base/libc.js';
import { isRecord } from './shapes.js';

/** A client says in one message what it sends in another one. More than these are none of ours. */
const MOST_WAITING = 64;
/** In place of one for which this process had no room. */
export const NONE_LEFT = -1;

export class SentDescriptors {
  /** In the order in which messages name them. */
  private waiting: number[] = [];
  /** Of requests that are not answered. */
  private readonly lent = new Map<number, number>();

  /**
   * Keeps what came beside bytes of a message; null: this process had no room for it. False: the
   * client sends more than it may.
   */
  add(fds: readonly number[] | null): boolean {
    this.waiting.push(...(fds ?? [NONE_LEFT]));
    return this.waiting.length <= MOST_WAITING;
  }

  /** The descriptor that came with a message; null: none did. */
  takeFor(message: unknown): number | null {
    if (!isRecord(message) || message.carries !== true) return null;
    return this.waiting.shift() ?? null;
  }

  lend(request: number, fd: number | null): void {
    if (fd !== null) this.lent.set(request, fd);
  }

  answered(request: number, failed: boolean): void {
    const fd = this.lent.get(request);
    if (fd === undefined) return;
    this.lent.delete(request);
    if (failed) closeDescriptor(fd);
  }

  close(): void {
    for (const fd of this.waiting) if (fd !== NONE_LEFT) closeDescriptor(fd);
    this.waiting = [];
  }
}
