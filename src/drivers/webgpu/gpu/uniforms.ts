/**
 * Uniform variables of a kernel: each has a buffer that is kept, and is written when its content is
 * another one than that of the last launch.
 */

import type { Dispatch } from '../link/protocol.js';
import { placeOf } from './bound-groups.js';

export interface Uniform<Gpu> {
  readonly buffer: Gpu;
  readonly size: number;
  /** In base64. */
  readonly content: string;
}

/** What to write before a launch. @param uniforms by their places; gets the new ones */
export function changedUniforms<Gpu>(
  { bound }: Dispatch,
  uniforms: Map<string, Uniform<Gpu>>,
  make: (size: number) => Gpu,
): { readonly buffer: Gpu; readonly bytes: Buffer }[] {
  const changed: { readonly buffer: Gpu; readonly bytes: Buffer }[] = [];
  for (const each of bound) {
    if (each.kind !== 'uniform') continue;
    const place = placeOf(each);
    const known = uniforms.get(place);
    if (known?.content === each.bytes) continue;
    const bytes = Buffer.from(each.bytes, 'base64');
    const size = bytes.length;
    const buffer = known === undefined ? make(size) : known.buffer;
    uniforms.set(place, { buffer, size, content: each.bytes });
    changed.push({ buffer, bytes });
  }
  return changed;
}
