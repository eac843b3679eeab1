/** `onemem demo --device webgpu`: the flights on a GPU, in WGSL, by one launch cut into parts. */

import { readFileSync } from 'node:fs';
import {
  type AddressSpace,
  bytes,
  type Device,
  i32,
  kernel,
  type ManagedArray,
  u32,
} from '../../index.js';
import { CommandError } from '../terminal/failure.js';
import { type DemoColumn, type DemoData, demoFile } from './demo-data.js';

/** What the kernel writes of each flight: difference, bearing and cell. */
const RESULT_WORDS = 3;
const WORD_BYTES = 4;
/**
 * WGSL has a sine and a cosine be right to 1/2048, and an arc tangent to 4096 units in the last
 * place: together less than 10 miles of a great circle. A page that is not what it should be is
 * further off.
 */
const TOLERANCE_MILES = 10;
const EARTH_RADIUS_MILES = 3958.7613;

export interface Flights {
  readonly difference: Float32Array;
  readonly bearing: Float32Array;
  readonly cell: Uint16Array;
}

const flightsKernel = () =>
  kernel(
    {
      originLatitude: u32.in,
      originLongitude: u32.in,
      destinationLatitude: u32.in,
      destinationLongitude: u32.in,
      minute: i32.in,
      distance: i32.in,
      flights: bytes.out,
    },
    { wgsl: readFileSync(demoFile('kernel.wgsl'), 'utf8') },
    { name: 'flights' },
  );

/** A column for the GPU, which reads doubles as two words. */
export function mapForGpu(space: AddressSpace, data: DemoData, column: DemoColumn): ManagedArray {
  const { path, layout } = data.files[column];
  const { dataOffset: byteOffset, length } = layout;
  if (layout.dtype === 'i32')
    return space.fileArray(Int32Array, path, { byteOffset, length, name: column });
  return space.fileArray(Uint32Array, path, { byteOffset, length: 2 * length, name: column });
}

export async function flightsOnGpu(
  space: AddressSpace,
  device: Device,
  inputs: Readonly<Record<string, ManagedArray>>,
  rows: number,
): Promise<Flights> {
  const flights = space.array(Uint8Array, RESULT_WORDS * WORD_BYTES * rows, { name: 'flights' });
  await device.run(flightsKernel(), { ...inputs, flights } as never, { size: rows });
  const { buffer, byteOffset, byteLength } = flights.data;
  const words = byteLength / WORD_BYTES;
  const numbers = new Float32Array(buffer, byteOffset, words);
  const integers = new Uint32Array(buffer, byteOffset, words);
  const at = (word: number) => (_: unknown, row: number) => numbers[RESULT_WORDS * row + word];
  return {
    difference: Float32Array.from({ length: rows }, at(0)),
    bearing: Float32Array.from({ length: rows }, at(1)),
    cell: Uint16Array.from({ length: rows }, (_, row) => integers[RESULT_WORDS * row + 2]),
  };
}

/** How far the GPU is off, in miles on the ground; refuses what its sine does not explain. */
export function deviationOf(found: Flights, expected: Flights, distance: Int32Array): number {
  let most = 0;
  for (let row = 0; row < distance.length; row++) {
    const miles = distance[row] - expected.difference[row];
    const length = Math.abs(found.difference[row] - expected.difference[row]);
    const turn = Math.abs(((found.bearing[row] - expected.bearing[row] + 540) % 360) - 180);
    const aside =
      (turn * Math.PI * EARTH_RADIUS_MILES * Math.sin(miles / EARTH_RADIUS_MILES)) / 180;
    const off = Math.max(length, aside);
    // Not a number is wrong, too.
    if (!(off <= TOLERANCE_MILES)) refuse(row, `${off} miles from where it should be`);
    if (found.cell[row] % 24 !== expected.cell[row] % 24) refuse(row, 'at another hour');
    // A direction follows from a bearing, which may lie on either side of a border.
    if (Math.floor((found.bearing[row] + 22.5) / 45) % 8 !== Math.floor(found.cell[row] / 24))
      refuse(row, 'in another direction');
    most = Math.max(most, off);
  }
  return most;
}

function refuse(row: number, what: string): never {
  throw new CommandError(
    'WRONG_RESULT',
    `the result is WRONG: flight ${row} is ${what}; please report this with the output of 'onemem doctor'`,
  );
}
