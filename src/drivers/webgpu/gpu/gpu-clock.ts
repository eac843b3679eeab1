/** How long a kernel runs on the GPU, by timestamps at the beginning and the end of each. */

import { MOST_DISPATCHES } from '../link/protocol.js';
import type { Gpu, GpuKernel, Stamps } from './gpu.js';

/** The feature that a device must have been opened with. */
export const TIMESTAMPS = 'timestamp-query';

/** Of the beginning and the end of each kernel. */
const STAMPS = 2;
export const STAMP_BYTES = BigUint64Array.BYTES_PER_ELEMENT;
export const ALL_STAMPS = MOST_DISPATCHES * STAMPS;
export const ALL_STAMP_BYTES = ALL_STAMPS * STAMP_BYTES;
const NANOSECONDS = 1e6;

export class GpuClock<Buffer> {
  private readonly reader: Buffer;

  constructor(
    private readonly gpu: Pick<
      Gpu<Buffer, unknown, GpuKernel>,
      'reader' | 'map' | 'mapped' | 'unmap' | 'free'
    >,
    private readonly stamps: Stamps<Buffer>,
  ) {
    this.reader = gpu.reader(ALL_STAMP_BYTES);
  }

  /** To be noted behind so many kernels. */
  resolve(kernels: number): void {
    this.stamps.resolve(STAMPS * kernels, this.reader);
  }

  /** How many milliseconds each of so many kernels ran; waits until they have. */
  async read(kernels: number): Promise<(number | undefined)[]> {
    const { gpu, reader } = this;
    const bytes = STAMPS * STAMP_BYTES * kernels;
    await gpu.map(reader, bytes);
    const { buffer, byteOffset } = gpu.mapped(reader, bytes);
    const stamps = new BigUint64Array(buffer, byteOffset, STAMPS * kernels);
    const times = Array.from({ length: kernels }, (_, kernel) =>
      millisecondsBetween(stamps[STAMPS * kernel], stamps[STAMPS * kernel + 1]),
    );
    gpu.unmap(reader);
    return times;
  }

  free(): void {
    this.stamps.free();
    this.gpu.free(this.reader);
  }
}

/** Between two stamps; undefined where the GPU's clock went backwards, as it may. */
function millisecondsBetween(begin: bigint, end: bigint): number | undefined {
  return end < begin ? undefined : Number(end - begin) / NANOSECONDS;
}
