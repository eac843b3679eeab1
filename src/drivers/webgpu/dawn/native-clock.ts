/** How long a kernel runs on the GPU, as gpu-clock.ts measures it, by Dawn's C functions. */

import { copyMemory } from '../../../linux/memory.js';
import { NativeBuffer } from '../../../linux/native-buffer.js';
import { millisecondsBetween, STAMP_BYTES, STAMPS } from '../gpu-clock.js';
import type { Gpu } from './gpu.js';
import { BufferDescriptor, BufferUsage, PassTimestampWrites, QuerySetDescriptor, QueryType } from './layouts.js';

const BYTES = STAMPS * STAMP_BYTES;

export class NativeClock {
  /** To be mapped when the pass has run. */
  readonly reader: number;
  private readonly stamps: number;
  private readonly resolved: number;
  private readonly found = new NativeBuffer(BYTES);

  constructor(private readonly gpu: Gpu) {
    const { arena, dawn, device } = gpu;
    const make = (usage: number): number =>
      dawn.deviceCreateBuffer(device, arena.put(BufferDescriptor, { usage, size: BYTES }));
    this.stamps = dawn.deviceCreateQuerySet(
      device,
      arena.put(QuerySetDescriptor, { type: QueryType.Timestamp, count: STAMPS }),
    );
    this.resolved = make(BufferUsage.QueryResolve | BufferUsage.CopySrc);
    this.reader = make(BufferUsage.MapRead | BufferUsage.CopyDst);
    arena.reset();
  }

  /** Bytes of the reader. */
  get bytes(): number {
    return BYTES;
  }

  /** The address of what a compute pass notes. */
  writes(): number {
    return this.gpu.arena.put(PassTimestampWrites, {
      querySet: this.stamps,
      beginningOfPassWriteIndex: 0,
      endOfPassWriteIndex: 1,
    });
  }

  /** To be encoded behind the pass. */
  resolve(encoder: number): void {
    const { dawn } = this.gpu;
    dawn.commandEncoderResolveQuerySet(encoder, this.stamps, 0, STAMPS, this.resolved, 0);
    dawn.commandEncoderCopyBufferToBuffer(encoder, this.resolved, 0, this.reader, 0, BYTES);
  }

  /** How many milliseconds the pass ran; called when the reader is mapped. */
  read(): number | undefined {
    const { dawn } = this.gpu;
    copyMemory(this.found.address, dawn.bufferGetConstMappedRange(this.reader, 0, BYTES), BYTES);
    dawn.bufferUnmap(this.reader);
    const { view } = this.found;
    return millisecondsBetween(view.getBigUint64(0, true), view.getBigUint64(STAMP_BYTES, true));
  }

  destroy(): void {
    const { dawn } = this.gpu;
    for (const buffer of [this.resolved, this.reader]) {
      dawn.bufferDestroy(buffer);
      dawn.bufferRelease(buffer);
    }
    dawn.querySetDestroy(this.stamps);
    dawn.querySetRelease(this.stamps);
  }
}
