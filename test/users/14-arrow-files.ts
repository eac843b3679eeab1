/**
 * Arrow IPC files over `fileArray`: columns are where the file has them, nothing is copied, and a
 * device takes them as arrays.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RecordBatchFileWriter, Table, tableFromArrays, tableFromIPC } from 'apache-arrow';
import { f64, i32, kernel, openSpace } from '../../src/index.js';
import { longTest, runTests, sameData } from '../harness/suite.js';

const MIB = 2 ** 20;
const ROWS = MIB;
const BATCHES = 3;
const folder = mkdtempSync(join(tmpdir(), 'onemem-arrow-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));

const delayAt = (row: number) => (row % 7919) - 1000;
const distanceAt = (row: number) => row / 8;

/** Three batches of two columns: 36 MiB. */
function flights(): string {
  const batches = Array.from({ length: BATCHES }, (_, batch) => {
    const first = batch * ROWS;
    return tableFromArrays({
      delay: Int32Array.from({ length: ROWS }, (_, i) => delayAt(first + i)),
      distance: Float64Array.from({ length: ROWS }, (_, i) => distanceAt(first + i)),
    });
  });
  const path = join(folder, 'flights.arrow');
  writeFileSync(
    path,
    RecordBatchFileWriter.writeAll(new Table(batches.flatMap((each) => each.batches))).toUint8Array(
      true,
    ),
  );
  return path;
}

const total = kernel({ delay: i32.in, sum: f64.inout }, ({ delay, sum }, { begin, end }) => {
  for (let i = begin; i < end; i++) sum[0] += delay[i];
});

longTest('a table looks at the file, and reads what is looked at', async () => {
  await using space = await openSpace();
  const bytes = space.fileArray(Uint8Array, flights());
  const table = tableFromIPC(bytes.data);
  assert.deepEqual([table.numRows, table.batches.length], [BATCHES * ROWS, BATCHES]);
  for (const { values } of table.getChild('delay')?.data ?? [])
    assert.equal(values.buffer, bytes.data.buffer);
  const row = 2 * ROWS + 777;
  assert.equal(table.getChild('distance')?.get(row), distanceAt(row));
  const read = space.stats().processors.reduce((sum, each) => sum + each.bytesFromFiles, 0);
  assert.ok(
    read > 0 && read < 8 * MIB,
    `${read} bytes of ${bytes.byteLength} were read for one element`,
  );
});

longTest('columns are arrays for a device that is smaller than the file', async () => {
  await using space = await openSpace({ devices: [{ kind: 'process', memory: '4MiB' }] });
  const path = flights();
  const table = tableFromIPC(space.fileArray(Uint8Array, path).data);
  const sum = space.array(Float64Array, 1);
  let row = 0;
  for (const { values } of table.getChild('delay')?.data ?? []) {
    const { byteOffset, length } = values as Int32Array;
    const delay = space.fileArray(Int32Array, path, { byteOffset, length });
    await space.devices[0].run(total, { delay, sum }, { size: length });
    const first = row;
    sameData(delay.data, (i) => delayAt(first + i));
    row += length;
  }
  assert.equal(row, BATCHES * ROWS);
  let expected = 0;
  for (let i = 0; i < row; i++) expected += delayAt(i);
  assert.equal(sum.data[0], expected);
});

await runTests();
