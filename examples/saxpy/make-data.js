// Writes x.npy and y.npy into the current folder, 25 million elements of 4 bytes each unless told
// otherwise:
//
//   node examples/saxpy/make-data.js [ELEMENTS]

import { closeSync, openSync, writeSync } from 'node:fs';

const length = Number(process.argv[2] ?? 25_000_000);
if (!Number.isSafeInteger(length) || length < 1) {
  console.error(`'${process.argv[2]}' is no number of elements`);
  process.exit(2);
}

/** What numpy.save() writes before the elements. */
const dictionary = `{'descr': '<f4', 'fortran_order': False, 'shape': (${length},), }`.padEnd(117);
const header = Buffer.concat([
  Buffer.from('\x93NUMPY\x01\x00\x76\x00', 'latin1'),
  Buffer.from(`${dictionary}\n`),
]);

for (const [name, elementAt] of [
  ['x', (index) => index % 1000],
  ['y', () => 1],
]) {
  const fd = openSync(`${name}.npy`, 'w');
  writeSync(fd, header);
  for (let at = 0; at < length; at += 1_000_000) {
    const piece = Float32Array.from({ length: Math.min(1_000_000, length - at) }, (_, index) =>
      elementAt(at + index),
    );
    writeSync(fd, new Uint8Array(piece.buffer));
  }
  closeSync(fd);
  console.log(`${name}.npy: ${length} elements`);
}
