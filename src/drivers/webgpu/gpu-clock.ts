/** How long kernels run on the GPU, by timestamp queries at the beginning and the end of each. */
import { MOST_DISPATCHES } from './protocol.js';

/** The feature that a device must have been opened with. */
export const TIMESTAMPS = 'timestamp-query';

/** Numbers that the standard gives. */
const Usage = { MAP_READ: 1, COPY_SRC: 4, COPY_DST: 8, QUERY_RESOLVE: 0x200 } as const;
const MAP_READ = 1;
/** Of the beginning and the end of each pass. */
export const STAMPS = 2;
export const STAMP_BYTES = BigUint64Array.BYTES_PER_ELEMENT;
export const ALL_STAMPS = MOST_DISPATCHES * STAMPS;
const BYTES = ALL_STAMPS * STAMP_BYTES;
const NANOSECONDS = 1e6;

/** Between two stamps; undefined where the GPU's clock went backwards, as it may. */
export function millisecondsBetween(begin: bigint, end: bigint): number | undefined {
  return end < begin ? undefined : Number(end - begin) / NANOSECONDS;
}

export class GpuClock {
  private readonly stamps: GPUQuerySet;
  private readonly resolved: GPUBuffer;
  private readonly reader: GPUBuffer;

  constructor(device: GPUDevice) {
    this.stamps = device.createQuerySet({ type: 'timestamp', count: ALL_STAMPS });
    this.resolved = device.createBuffer({
      size: BYTES,
      usage: Usage.QUERY_RESOLVE | Usage.COPY_SRC,
    });
    this.reader = device.createBuffer({ size: BYTES, usage: Usage.MAP_READ | Usage.COPY_DST });
  }

  /** What a compute pass notes, by its place among those that follow each other. */
  writes(pass: number): GPUComputePassTimestampWrites {
    return {
      querySet: this.stamps,
      beginningOfPassWriteIndex: STAMPS * pass,
      endOfPassWriteIndex: STAMPS * pass + 1,
    };
  }

  /** To be encoded behind so many passes. */
  resolve(encoder: GPUCommandEncoder, passes: number): void {
    encoder.resolveQuerySet(this.stamps, 0, STAMPS * passes, this.resolved, 0);
    encoder.copyBufferToBuffer(this.resolved, 0, this.reader, 0, STAMPS * STAMP_BYTES * passes);
  }

  /** How many milliseconds each of so many passes ran; waits until they have. */
  async read(passes: number): Promise<(number | undefined)[]> {
    const bytes = STAMPS * STAMP_BYTES * passes;
    await this.reader.mapAsync(MAP_READ, 0, bytes);
    const stamps = new BigUint64Array(this.reader.getMappedRange(0, bytes));
    const times = Array.from({ length: passes }, (_, pass) =>
      millisecondsBetween(stamps[STAMPS * pass], stamps[STAMPS * pass + 1]),
    );
    this.reader.unmap();
    return times;
  }

  destroy(): void {
    this.stamps.destroy();
    this.resolved.destroy();
    this.reader.destroy();
  }
}
