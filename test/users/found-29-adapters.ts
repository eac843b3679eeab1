/** Arrays as what other packages take, and files of other packages as arrays, in a few lines. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { tableFromArrays, tableToIPC } from 'apache-arrow';
import { parquetMetadataAsync } from 'hyparquet';
import { f32, kernel, openSpace } from '../../src/index.js';
import { Folder } from '../harness/command.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, sameData, test } from '../harness/suite.js';

const FLIGHTS = '../../../node_modules/vega-datasets/data/flights-3m.parquet';

/** A file with tensors in this order; an odd number of bytes stands before the last. */
function model(folder: Folder): string {
  const header = JSON.stringify({
    __metadata__: { format: 'pt' },
    w: { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] },
    half: { dtype: 'BF16', shape: [2], data_offsets: [24, 28] },
    flag: { dtype: 'BOOL', shape: [1], data_offsets: [28, 29] },
    odd: { dtype: 'I32', shape: [1], data_offsets: [29, 33] },
  });
  const text = header.padEnd(Math.ceil(header.length / 8) * 8);
  const content = Buffer.alloc(33);
  new Float32Array(content.buffer, content.byteOffset, 6).set([1, 2, 3, 4, 5, 6]);
  content.writeUInt16LE(0x3f80, 24);
  content[28] = 1;
  content.writeInt32LE(-7, 29);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  const path = folder.file('model.safetensors');
  writeFileSync(path, Buffer.concat([length, Buffer.from(text), content]));
  return path;
}

longTest('tensors of a safetensors file are arrays, with names, types and shapes', async () => {
  using folder = new Folder();
  await using space = await openSpace({
    hostMemory: '64MiB',
    devices: [{ kind: 'process', memory: '8MiB' }],
  });
  const { tensors, metadata, array } = space.openSafetensors(model(folder));
  const shown = tensors.map(({ name, dtype, shape, isAligned }) => [name, dtype, shape, isAligned]);
  assert.deepEqual(shown, [
    ['w', 'F32', [2, 3], true],
    ['half', 'BF16', [2], true],
    ['flag', 'BOOL', [1], true],
    ['odd', 'I32', [1], false],
  ]);
  assert.deepEqual(metadata, { format: 'pt' });
  assert.deepEqual([...array('w', { mapped: true }).data], [1, 2, 3, 4, 5, 6]);
  assert.deepEqual(
    [array('half').data[0], array('flag').data[0], array('odd').data[0]],
    [0x3f80, 1, -7],
  );
  const sum = space.array(Float32Array, 1);
  const add = kernel({ w: f32.in, sum: f32.inout }, ({ w, sum }) => {
    for (const each of w) sum[0] += each;
  });
  await space.devices[0].run(add, { w: array('w') as never, sum }, { size: 1 });
  assert.equal(sum.data[0], 21);
});

test('what is wrong with a safetensors file or a name in it is said', async () => {
  using folder = new Folder();
  await using space = await sharedSpace({ hostMemory: '64MiB' });
  const { array } = space.openSafetensors(model(folder));
  const wrong = await failsWith('TENSOR', () => array('hald'));
  assert.match(wrong.message, /no tensor "hald"; did you mean half\?/);
  await failsWith('FILE_ALIGNMENT', () => array('odd', { mapped: true }));
  for (const [text, said] of [
    ['', /it has 0 bytes/],
    [`${'\0'.repeat(8)}`, /its header is no JSON/],
    [`\x02${'\0'.repeat(7)}[]`, /its header is no object/],
    [`\x7f${'\0'.repeat(7)}{}`, /its header would have 127 bytes/],
    [`\x08${'\0'.repeat(7)}{"a":{}}`, /tensor a has no dtype/],
  ] as const) {
    folder.write('bad.safetensors', text);
    const { message } = await failsWith('TENSOR_FILE', () =>
      space.openSafetensors(folder.file('bad.safetensors')),
    );
    assert.match(message, said);
  }
});

test('an array is a buffer that is read when it is asked for', async () => {
  await using space = await sharedSpace({ hostMemory: '64MiB' });
  const file = space.array(Uint8Array, 3_000_000);
  for (let i = 0; i < file.length; i++) file.data[i] = i % 251;
  const { byteLength, slice } = file.asyncBuffer();
  assert.equal(byteLength, 3_000_000);
  const bytes = new Uint8Array(await slice(1000, 2_500_000));
  assert.equal(bytes.length, 2_499_000);
  sameData(bytes, (i) => (i + 1000) % 251);
  assert.deepEqual([...new Uint8Array(await slice(-2))], [...file.data.subarray(-2)]);
  assert.equal((await slice(10, 5)).byteLength, 0);
});

longTest('hyparquet reads the end of a Parquet file, and no more of it', async () => {
  await using space = await openSpace({ hostMemory: '64MiB' });
  const path = fileURLToPath(new URL(FLIGHTS, import.meta.url));
  const file = space.fileArray(Uint8Array, path);
  const { num_rows: rows } = await parquetMetadataAsync(file.asyncBuffer());
  assert.equal(rows, 3_000_000n);
  const read = space.stats().processors[0].bytesFromFiles;
  assert.ok(
    read > 0 && read < file.byteLength / 2,
    `${read} of ${file.byteLength} bytes were read`,
  );
});

test('a Response has the bytes of an array', async () => {
  await using space = await sharedSpace({ hostMemory: '64MiB' });
  const x = space.array(Uint16Array, 100_000);
  x.data.fill(0x4142);
  const response = new Response(x.toReadableStream());
  sameData(new Uint16Array(await response.arrayBuffer()), () => 0x4142);
});

test('Arrow files are tables over arrays, and columns become arrays', async () => {
  using folder = new Folder();
  await using space = await sharedSpace({ hostMemory: '64MiB' });
  const made = tableFromArrays({
    id: Int32Array.from({ length: 1000 }, (_, i) => i),
    name: ['a', 'b'],
  });
  const path = folder.file('table.arrow');
  writeFileSync(path, tableToIPC(made.select(['id']), 'file'));
  const { table, bytes } = await space.openArrow(path);
  const [values] = (table.getChild('id')?.data ?? []).map((each) => each.values as Int32Array);
  assert.equal(values.buffer, bytes.data.buffer);
  const { id } = space.fromArrow(table);
  sameData(id.data as Int32Array, (i) => i);
  assert.deepEqual([id.length, id.name], [1000, 'id']);
  await failsWith('ARROW', () => space.fromArrow(made));
  folder.write('bad.arrow', 'this is no table');
  await failsWith('ARROW', () => space.openArrow(folder.file('bad.arrow')));
});

await runTests();
