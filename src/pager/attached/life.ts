/** A thread of an attached process that is told of its end, and does what only that process can. */
import { addressOf, closeDescriptor, libc } from '../../linux/base/libc.js';
import { scratch } from '../../linux/base/native-buffer.js';
import { setNonBlocking } from '../../linux/sockets/local-socket.js';
import type { IdleNotice, LifeNotice } from '../protocol/attaching.js';

const MOST_ANSWERS = 16;

export class Life {
  /** Notices of idle blocks that it has not answered. */
  private asked = 0;

  constructor(private readonly fd: number) {
    setNonBlocking(fd);
  }

  /** Takes its answers. False: the thread has ended. */
  isThere(): boolean {
    const count = libc.read(this.fd, scratch.address, MOST_ANSWERS);
    if (count > 0) this.asked = Math.max(0, this.asked - count);
    return count !== 0;
  }

  get isAsked(): boolean {
    return this.asked > 0;
  }

  /** Asks for blocks to leave the page tables. False: the thread does not hear all of it. */
  ask(notice: IdleNotice): boolean {
    const isHeard = this.tell(notice);
    if (isHeard) this.asked++;
    return isHeard;
  }

  close(): void {
    closeDescriptor(this.fd);
  }

  /** False: the thread does not hear all of it. */
  tell(notice: LifeNotice): boolean {
    const line = Buffer.from(`${JSON.stringify(notice)}\n`);
    return libc.write(this.fd, addressOf(line), line.length) === line.length;
  }
}
