/**
 * Descriptors that are kept for what must be opened while a thread waits in a fault, when the
 * process has no others left: the thread that would close some may be the one that waits.
 */
import { F_DUPFD_CLOEXEC } from '../base/constants.js';
import { check } from '../base/errors.js';
import { closeDescriptor, libc } from '../base/libc.js';
import { THREAD_DESCRIPTORS } from '../threads/threads.js';

/** Between two looks whether there are descriptors to keep again. */
const LOOK_MS = 1000;

export class DescriptorReserve {
  private readonly kept: number[] = [];
  /** Those that something is being opened with. */
  private users = 0;
  private lookedAt = 0;

  /** Throws where too few are left. @param like a descriptor that they are copies of */
  constructor(
    private readonly like: number,
    private readonly count = THREAD_DESCRIPTORS,
  ) {
    this.fill();
    if (this.kept.length === count) return;
    this.close();
    check(-1, 'fcntl', { fd: like, command: 'F_DUPFD_CLOEXEC' });
  }

  /** Gives them up, for something to be opened; `back` is called when that is done. */
  lend(): void {
    this.users++;
    this.close();
  }

  back(): void {
    this.users--;
    this.fill();
  }

  /** Keeps as many again as there are. */
  look(now: number): void {
    if (this.kept.length === this.count || now - this.lookedAt < LOOK_MS) return;
    this.lookedAt = now;
    this.fill();
  }

  close(): void {
    for (const fd of this.kept.splice(0)) closeDescriptor(fd);
  }

  private fill(): void {
    while (this.users === 0 && this.kept.length < this.count) {
      const fd = libc.fcntl(this.like, F_DUPFD_CLOEXEC, 0);
      if (fd < 0) return;
      this.kept.push(fd);
    }
  }
}
