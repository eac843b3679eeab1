/** How long a kernel runs on the GPU, as gpu-clock.ts measures it, by Dawn's C functions. */

import { NativeBuffer } from '../../../linux/base/native-buffer.js';
import { copyMemory } from '../../../linux/memory/memory.js';
import { ALL_STAMPS, millisecondsBetween, STAMP_BYTES, STAMPS } from '../gpu-clock.js';
import type { Gpu } from './gpu.js';
import {
  BufferDescriptor,
  BufferUsage,
  PassTimestampWrites,
  QuerySetDescriptor,
  QueryType,
} from './layouts.js';

const BYTES = ALL_STAMPS * STAMP_BYTES;

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
      arena.put(QuerySetDescriptor, { type: QueryType.Timestamp, count: ALL_STAMPS }),
    );
    this.resolved = make(BufferUsage.QueryResolve | BufferUsage.CopySrc);
    this.reader = make(BufferUsage.MapRead | BufferUsage.CopyDst);
    arena.reset();
  }

  /** Bytes of the reader that so many passes take. */
  bytesOf(passes: number): number {
    return STAMPS * STAMP_BYTES * passes;
  }

  /** The address of what a compute pass notes, by its place among those that follow each other. */
  writes(pass: number): number {
    return this.gpu.arena.put(PassTimestampWrites, {
      querySet: this.stamps,
      beginningOfPassWriteIndex: STAMPS * pass,
      endOfPassWriteIndex: STAMPS * pass + 1,
    });
  }

  /** To be encoded behind so many passes. */
  resolve(encoder: number, passes: number): void {
    const { dawn } = this.gpu;
    dawn.commandEncoderResolveQuerySet(encoder, this.stamps, 0, STAMPS * passes, this.resolved, 0);
    dawn.commandEncoderCopyBufferToBuffer(
      encoder,
      this.resolved,
      0,
      this.reader,
      0,
      this.bytesOf(passes),
    );
  }

  /** How many milliseconds each of so many passes ran; called when the reader is mapped. */
  read(passes: number): (number | undefined)[] {
    const { dawn } = this.gpu;
    const bytes = this.bytesOf(passes);
    copyMemory(this.found.address, dawn.bufferGetConstMappedRange(this.reader, 0, bytes), bytes);
    dawn.bufferUnmap(this.reader);
    const { view } = this.found;
    const stamp = (index: number): bigint => view.getBigUint64(STAMP_BYTES * index, true);
    return Array.from({ length: passes }, (_, pass) =>
      millisecondsBetween(stamp(STAMPS * pass), stamp(STAMPS * pass + 1)),
    );
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
