/**
 * Buffers that nothing lies in any more, kept for others of their size as long as the device's
 * memory has room for them: WebGPU clears a new one, and a GPU in software takes new memory of the
 * host's for it, page fault by page fault. Windows of a launch are all of one size.
 */
import { Packet } from '../link/protocol.js';

interface Spare {
  readonly buffer: number;
  readonly bytes: number;
}

export class SpareBuffers {
  /** The one that was given up last stands last. */
  private readonly spares: Spare[] = [];
  private bytes = 0;
  /** Buffers that the GPU is known to have had memory for. */
  private readonly there = new Set<number>();

  constructor(
    private readonly mostBytes: number,
    private readonly post: (kind: number, what: unknown) => void,
  ) {}

  create(buffer: number, bytes: number): void {
    const at = this.spares.findLastIndex((each) => each.bytes === bytes);
    if (at === -1) {
      this.post(Packet.Create, [buffer, bytes]);
      return;
    }
    const [{ buffer: old }] = this.spares.splice(at, 1) as [Spare];
    this.bytes -= bytes;
    if (this.there.delete(old)) this.there.add(buffer);
    this.post(Packet.Reuse, [old, buffer]);
  }

  /** The GPU has memory for the buffer, and keeps it. */
  isThere(buffer: number): boolean {
    return this.there.has(buffer);
  }

  /** Something has been written into the buffer. */
  noteThere(buffer: number): void {
    this.there.add(buffer);
  }

  giveUp(buffer: number, bytes: number): void {
    this.spares.push({ buffer, bytes });
    this.bytes += bytes;
  }

  /** Whether these and buffers of so many bytes that are in use are more than there may be. */
  areTooMany(usedBytes: number): boolean {
    return this.bytes > 0 && usedBytes + this.bytes > this.mostBytes;
  }

  /** Lets go of those that there is no room for beside buffers of so many bytes. */
  trim(usedBytes: number): void {
    while (this.areTooMany(usedBytes)) {
      const { buffer, bytes } = this.spares.shift() as Spare;
      this.bytes -= bytes;
      this.there.delete(buffer);
      this.post(Packet.Destroy, [buffer]);
    }
  }
}
