/** Buffers over the program's memory: what is copied to one the GPU writes there itself. */
import { PAGE_BYTES } from '../../../../core/basics/types.js';
import { closeDescriptor } from '../../../../linux/base/libc.js';
import { createMemoryFile, munmap } from '../../../../linux/memory/memory.js';
import { mapShared } from '../../link/staging.js';
import type { DawnGpu } from './dawn-gpu.js';
import {
  BufferDescriptor,
  BufferHostMappedPointer,
  BufferUsage,
  StructureType,
} from './layouts.js';

/** The buffer for bytes to be copied to an address, the first of a page; or why there is none. */
export function hostBuffer(
  gpu: DawnGpu,
  pointer: number,
  size: number,
): { readonly handle: number } | { problem: string } {
  const { arena, dawn, device } = gpu;
  gpu.takeProblem();
  const nextInChain = arena.put(BufferHostMappedPointer, {
    sType: StructureType.BufferHostMappedPointer,
    pointer,
  });
  const usage = BufferUsage.CopyDst;
  const handle = dawn.deviceCreateBuffer(
    device,
    arena.put(BufferDescriptor, { nextInChain, usage, size }),
  );
  arena.reset();
  const problem = gpu.takeProblem();
  if (problem === null) return { handle };
  if (handle !== 0) freeBuffer(gpu, handle);
  return { problem: problem.message };
}

export function freeBuffer({ dawn }: DawnGpu, handle: number): void {
  dawn.bufferDestroy(handle);
  dawn.bufferRelease(handle);
}

/**
 * Why a GPU takes no memory that processes share; null: it does. Some drivers take only what is a
 * process's own, and to ask for other memory may cost the device.
 */
export function hostBufferProblem(gpu: DawnGpu): string | null {
  const fd = createMemoryFile('onemem-gpu-probe', PAGE_BYTES);
  const address = mapShared(fd, PAGE_BYTES);
  const made = hostBuffer(gpu, address, PAGE_BYTES);
  if ('handle' in made) freeBuffer(gpu, made.handle);
  munmap(address, PAGE_BYTES);
  closeDescriptor(fd);
  return 'problem' in made ? made.problem : gpu.lost();
}
