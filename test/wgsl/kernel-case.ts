/** A WGSL module with what a launch of it is given, and the same in plain JavaScript. */
import type { UniformValue } from '../../src/wgsl/reading/uniform-value.js';

export type Elements = Float32Array | Uint32Array | Int32Array;
export type Arrays = Record<string, Elements>;

export interface KernelCase {
  readonly name: string;
  readonly source: string;
  readonly entryPoint?: string;
  readonly workgroups: readonly [number, number, number];
  /** By the name of the variable; the bytes are bound as they are. */
  readonly arrays: Arrays;
  readonly uniforms?: Readonly<Record<string, UniformValue>>;
  readonly overrides?: Readonly<Record<string, number>>;
  /** Changes the arrays as the kernel does. */
  reference(arrays: Arrays): void;
  /**
   * Where the order of the invocations says where results stand: puts them in an order of their
   * own.
   */
  ordered?(arrays: Arrays): void;
  /**
   * What becomes of the launch where half of its bytes are allowed: `cut` into parts; or refused,
   * with these words. The budget is that part of all bytes which the number says, where half is too
   * little.
   */
  readonly windows: 'cut' | RegExp | number;
  /**
   * Why its arrays cannot be paged; those of a kernel without this can be, with frames for a half,
   * a quarter and an eighth of them.
   */
  readonly unpaged?: RegExp;
  /**
   * Where a workgroup needs more pages at once: the least part of all bytes for which there are
   * frames.
   */
  readonly leastPaged?: number;
  /**
   * It reads beyond the ends of arrays, and its reference takes the last element there, which not
   * every GPU does.
   */
  readonly clamped?: true;
  /**
   * It is known before it runs which pages it touches, and there are frames for them with this part
   * of the bytes of what it reads.
   */
  readonly planned?: number;
}

/** Numbers that floats hold exactly, and sums and products of a few of them. */
export function floats(length: number): Float32Array {
  return Float32Array.from({ length }, (_, i) => ((i * 7919) % 61) - 30);
}

export function words(length: number, below = 2 ** 31): Uint32Array {
  return Uint32Array.from({ length }, (_, i) => ((i * 2654435761) >>> 3) % below);
}

/** What `declarations` and `main` have in common in most modules. */
export const ID = '@builtin(global_invocation_id) id: vec3u';
