/**
 * Bytes of arrays as a part of a launch has them: windows, and what stands before arrays that end
 * structures.
 */

import type { LaunchPart } from '../../src/wgsl/dividing/windows.js';
import { type Head, hasHead } from '../../src/wgsl/rewriting/heads.js';
import type { Bound } from './gpu.js';
import type { Arrays } from './kernel-case.js';

/** What lies outside of its windows a part cannot see: it has copies of them only. */
export function copiesOf({ windows }: LaunchPart, arrays: Arrays): Map<string, Uint8Array> {
  return new Map(
    windows.map(({ resource: { name }, offsetBytes, bytes }) => [
      name,
      bytesOf(arrays, name).slice(offsetBytes, offsetBytes + bytes),
    ]),
  );
}

/** The bytes before its first element a window has for its place only. */
export function putBack(
  { windows }: LaunchPart,
  arrays: Arrays,
  copies: ReadonlyMap<string, Uint8Array>,
): void {
  for (const { resource, offsetBytes, written } of windows) {
    if (!written) continue;
    const before = hasHead(resource) ? resource.arrayOffset : 0;
    const content = (copies.get(resource.name) as Uint8Array).subarray(before);
    bytesOf(arrays, resource.name).set(content, offsetBytes + before);
  }
}

export function headsOf(
  heads: readonly Head[],
  arrays: Arrays,
): { readonly bound: Bound; putBack(): void }[] {
  return heads.map(({ resource: { name, access, isStored }, group, binding, bytes }) => {
    const content = bytesOf(arrays, name).slice(0, bytes);
    return {
      bound: { group, binding, kind: 'storage', bytes: content, back: access === 'read_write' },
      putBack: () => {
        if (isStored) bytesOf(arrays, name).set(content, 0);
      },
    };
  });
}

export function bytesOf(arrays: Arrays, name: string): Uint8Array {
  return asBytes(arrays[name] as Uint32Array);
}

export function asBytes({ buffer, byteOffset, byteLength }: ArrayBufferView): Uint8Array {
  return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
}
