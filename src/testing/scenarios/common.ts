/** What several scenarios need. */
import type { Device, ManagedArray } from '../../index.js';
import { BLOCK_BYTES, equal, PAGE_BYTES } from '../context.js';
import { copy, mix, pattern, write } from '../kernels.js';

export type Words = ManagedArray<Uint32Array>;

export const ROUNDS = 10;

/**
 * Faults for the first block of a walk upwards, each of which brings twice what came before: 64
 * KiB, 64, 128, 256, 512 KiB and 1 MiB. Later blocks take one fault each.
 */
export const FIRST_BLOCK_FAULTS = 6;

export function walkFaults(bytes: number): number {
  return FIRST_BLOCK_FAULTS + Math.ceil(bytes / BLOCK_BYTES) - 1;
}

/** What the device sees, as the CPU then reads it. */
export async function seenBy(device: Device, source: Words): Promise<Uint32Array> {
  const destination = device.space.array(Uint32Array, source.length);
  await device.run(copy, { source, destination }, { size: source.length });
  const seen = destination.data.slice();
  destination.free();
  return seen;
}

/** The device changes the elements, or a part of them. */
export function mixOn(
  device: Device,
  data: Words,
  seed: number,
  part: { readonly begin?: number; readonly end?: number } = {},
): Promise<void> {
  return device.run(mix, { data, seed }, { size: data.length, ...part });
}

/** Of its runs of pages, in their order. */
export function statesOf(array: ManagedArray): string {
  const { runs } = array.residency();
  return runs.map(({ state }) => state).join();
}

export function pageBytes(array: Words): number {
  return Math.ceil(array.byteLength / PAGE_BYTES) * PAGE_BYTES;
}

/** The array's only copy is on the device, and this is what it holds. */
export async function onDevice(device: Device, array: Words, seed: number): Promise<Uint32Array> {
  await device.run(write, { data: array, seed }, { size: array.length });
  equal('bytes on the host', array.residency().bytes.host, undefined);
  equal('bytes on the device', array.residency().bytes[device.name], pageBytes(array));
  return pattern(array.length, seed);
}
