/** Buffers that the GPU had no memory for: what is said of them, and what they would hold. */
import type { Launched } from './protocol.js';

/** A piece of what was written to such a buffer. */
export interface Spilled {
  readonly offset: number;
  readonly content: Uint8Array;
}

export function outOfMemory(bytes: number): NonNullable<Launched['failure']> {
  return {
    code: 'DEVICE_MEMORY',
    message: `the GPU has no memory for a buffer of ${bytes} bytes; give the device less memory, or end what else uses the GPU`,
  };
}

/** Bytes of a buffer that has no memory; the later of two pieces counts. */
export function spilledBytes(
  spilled: readonly Spilled[],
  offset: number,
  bytes: number,
): Uint8Array {
  const found = new Uint8Array(bytes);
  for (const { offset: from, content } of spilled) {
    const first = Math.max(from, offset);
    const end = Math.min(from + content.length, offset + bytes);
    if (first < end) found.set(content.subarray(first - from, end - from), first - offset);
  }
  return found;
}

/** The same for pages of a launch that is paged. */
export function noMemoryForPages(): { readonly code: 'DEVICE_MEMORY'; readonly message: string } {
  const message =
    'the GPU has no memory for pages of a launch; give the device less memory, or end what else uses the GPU';
  return { code: 'DEVICE_MEMORY', message };
}
