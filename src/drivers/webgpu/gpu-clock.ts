/** How long a kernel runs on the GPU, by timestamp queries at its beginning and end. One kernel at a time. */

/** The feature that a device must have been opened with. */
export const TIMESTAMPS = 'timestamp-query';

/** Numbers that the standard gives. */
const Usage = { MAP_READ: 1, COPY_SRC: 4, COPY_DST: 8, QUERY_RESOLVE: 0x200 } as const;
const MAP_READ = 1;
/** Of the beginning and the end of a pass. */
export const STAMPS = 2;
export const STAMP_BYTES = BigUint64Array.BYTES_PER_ELEMENT;
const BYTES = STAMPS * STAMP_BYTES;
const NANOSECONDS = 1e6;

/** Between two stamps; undefined where the GPU's clock went backwards, as it may. */
export function millisecondsBetween(begin: bigint, end: bigint): number | undefined {
  return end < begin ? undefined : Number(end - begin) / NANOSECONDS;
}

export class GpuClock {
  /** What a compute pass notes. */
  readonly writes: GPUComputePassTimestampWrites;
  private readonly stamps: GPUQuerySet;
  private readonly resolved: GPUBuffer;
  private readonly reader: GPUBuffer;

  constructor(device: GPUDevice) {
    this.stamps = device.createQuerySet({ type: 'timestamp', count: STAMPS });
    this.writes = { querySet: this.stamps, beginningOfPassWriteIndex: 0, endOfPassWriteIndex: 1 };
    this.resolved = device.createBuffer({ size: BYTES, usage: Usage.QUERY_RESOLVE | Usage.COPY_SRC });
    this.reader = device.createBuffer({ size: BYTES, usage: Usage.MAP_READ | Usage.COPY_DST });
  }

  /** To be encoded behind the pass. */
  resolve(encoder: GPUCommandEncoder): void {
    encoder.resolveQuerySet(this.stamps, 0, STAMPS, this.resolved, 0);
    encoder.copyBufferToBuffer(this.resolved, 0, this.reader, 0, BYTES);
  }

  /** How many milliseconds the pass ran; waits until it has. */
  async read(): Promise<number | undefined> {
    await this.reader.mapAsync(MAP_READ);
    const [begin, end] = new BigUint64Array(this.reader.getMappedRange());
    this.reader.unmap();
    return millisecondsBetween(begin, end);
  }

  destroy(): void {
    this.stamps.destroy();
    this.resolved.destroy();
    this.reader.destroy();
  }
}
