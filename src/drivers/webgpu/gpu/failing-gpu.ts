/** A GPU that fails on purpose, for tests: an environment variable tells when. */

/** `lost:N` destroys the GPU before packet N; `memory:N` lacks memory at N, `memory:N-` from N. */
export const FAILING_GPU = 'ONEMEM_FAILING_GPU';

export class FailingGpu {
  private readonly what: string;
  private readonly from: number;
  private readonly to: number;
  private packets = 0;
  private allocations = 0;

  constructor(text: string) {
    const [, what, number, further] = /^(lost|memory):(\d+)(-?)$/.exec(text) ?? [];
    if (what === undefined)
      throw new RangeError(`${FAILING_GPU} is '${text}'; write lost:N, memory:N or memory:N-`);
    this.what = what;
    this.from = Number(number);
    this.to = further === '-' ? Number.POSITIVE_INFINITY : this.from;
  }

  /** Whether the GPU is to be lost before the next packet. */
  isLostNow(): boolean {
    return this.what === 'lost' && ++this.packets === this.from;
  }

  /** Whether the next allocation is to find memory. */
  hasMemory(): boolean {
    if (this.what !== 'memory') return true;
    this.allocations++;
    return this.allocations < this.from || this.allocations > this.to;
  }
}

/** Null: nothing is to fail. */
export function failingGpu(): FailingGpu | null {
  const text = process.env[FAILING_GPU];
  return text === undefined || text === '' ? null : new FailingGpu(text);
}
