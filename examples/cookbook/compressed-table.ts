/**
 * A table of two million rows that exists only compressed, in parts of 64 KiB. The array has all
 * rows: a function of ours decompresses the parts that are touched. The CPU looks at one row and a
 * device, which is smaller than the table, adds them all up.
 */
import { isMainThread } from 'node:worker_threads';
import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { type FillRequest, f64, kernel, openSpace } from 'onemem';

const ROWS = 2_000_000;
const PART_BYTES = 65_536;

interface Compressed {
  /** Shared with the thread that fills the array, so that nothing is copied. */
  readonly bytes: Uint8Array;
  /** Where each part begins in them, and where the last one ends. */
  readonly offsets: readonly number[];
}

/** What row `i` holds: a temperature that goes up and down, in tenths of a degree. */
function temperature(i: number): number {
  return Math.round(150 + 100 * Math.sin(i / 5000) + ((i * 31) % 7)) / 10;
}

let cached = { part: -1, bytes: new Uint8Array() };

/**
 * Called for whole pages, of which a part has sixteen: the part that was decompressed last is often
 * the one that is wanted next.
 */
export function decompress({ bytes, byteOffset, byteLength, data }: FillRequest<Compressed>): void {
  for (let done = 0; done < byteLength; ) {
    const at = byteOffset + done;
    const part = Math.floor(at / PART_BYTES);
    if (cached.part !== part) {
      cached = {
        part,
        bytes: inflateRawSync(data.bytes.subarray(data.offsets[part], data.offsets[part + 1])),
      };
    }
    const piece = cached.bytes.subarray(at % PART_BYTES, (at % PART_BYTES) + byteLength - done);
    bytes.set(piece, done);
    done += piece.length;
  }
}

function compress(): Compressed {
  const rows = Float64Array.from({ length: ROWS }, (_, i) => temperature(i));
  const offsets = [0];
  const parts: Uint8Array[] = [];
  for (let at = 0; at < rows.byteLength; at += PART_BYTES) {
    const part = deflateRawSync(
      new Uint8Array(rows.buffer, at, Math.min(PART_BYTES, rows.byteLength - at)),
    );
    parts.push(part);
    offsets.push(offsets[offsets.length - 1] + part.length);
  }
  const bytes = new Uint8Array(new SharedArrayBuffer(offsets[offsets.length - 1]));
  for (const [index, part] of parts.entries()) bytes.set(part, offsets[index]);
  return { bytes, offsets };
}

const statistics = kernel(
  { rows: f64.in, sum: f64.inout, most: f64.inout },
  ({ rows, sum, most }, { begin, end }) => {
    for (let i = begin; i < end; i++) {
      sum[0] += rows[i];
      most[0] = Math.max(most[0], rows[i]);
    }
  },
);

async function main(): Promise<void> {
  const data = compress();
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '6MiB' }] });
  const [device] = space.devices;
  const module = import.meta.url;
  const rows = await space.providedArray(Float64Array, ROWS, {
    module,
    export: 'decompress',
    data,
    name: 'rows',
  });

  const row = 1_234_567;
  if (rows.data[row] !== temperature(row))
    throw new Error(`row ${row} is ${rows.data[row]} instead of ${temperature(row)}`);
  const touched = space.stats().processors[0].bytesFromFiles;
  if (touched > 2 ** 21) throw new Error(`${touched} bytes were decompressed for one row`);

  const sum = space.array(Float64Array, 1);
  const most = space.array(Float64Array, 1);
  await device.run(statistics, { rows, sum, most }, { size: ROWS });
  let expected = 0;
  for (let i = 0; i < ROWS; i++) expected += temperature(i);
  if (sum.data[0] !== expected) throw new Error(`the sum is ${sum.data[0]} instead of ${expected}`);

  const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(1);
  console.log(
    `${mebibytes(rows.byteLength)} MiB of rows, ${mebibytes(data.bytes.length)} MiB compressed, on a device of 6 MiB`,
  );
  console.log(
    `row ${row} took ${touched / 1024} KiB; the mean is ${(sum.data[0] / ROWS).toFixed(3)}, the most ${most.data[0]}`,
  );
}

// The thread that fills the array loads this module, too.
if (isMainThread) await main();
