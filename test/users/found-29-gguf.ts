/** Tensors of GGUF files as arrays over the file. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { Folder } from '../harness/command.js';
import { sharedSpace } from '../harness/spaces.js';
import { failsWith, longTest, runTests, test } from '../harness/suite.js';

const u32 = (value: number) => Buffer.from(Uint32Array.of(value).buffer);
const u64 = (value: number) => Buffer.from(BigUint64Array.of(BigInt(value)).buffer);
const text = (value: string) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);
const entry = (name: string, type: number, ...value: Buffer[]) =>
  Buffer.concat([text(name), u32(type), ...value]);
const tensor = (name: string, extents: number[], type: number, offset: number) =>
  Buffer.concat([text(name), u32(extents.length), ...extents.map(u64), u32(type), u64(offset)]);

/** Two tensors: 2 rows of 3 floats, and a block of 256 quantized elements. */
function model(...changes: [at: number, value: number][]): Buffer {
  const header = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(2),
    u64(4),
    entry('general.architecture', 8, text('tiny')),
    entry('general.alignment', 4, u32(64)),
    entry('tokens', 9, u32(8), u64(2), text('a'), text('é')),
    entry('sizes', 9, u32(10), u64(2), u64(7), Buffer.alloc(8, 0xff)),
    tensor('w', [3, 2], 0, 0),
    tensor('q', [256], 12, 64),
  ]);
  const content = Buffer.alloc(64 + 144);
  for (let each = 0; each < 6; each++) content.writeFloatLE(each + 1, each * 4);
  for (let each = 0; each < 144; each++) content[64 + each] = each;
  const padding = Buffer.alloc((64 - (header.length % 64)) % 64);
  const file = Buffer.concat([header, padding, content]);
  for (const [at, value] of changes) file[at] = value;
  return file;
}

test('tensors of a GGUF file are arrays, with names, types, shapes and metadata', async () => {
  using folder = new Folder();
  await using space = await sharedSpace({ hostMemory: '64MiB' });
  const path = folder.write('model.gguf', model());
  const { tensors, metadata, array } = space.openGguf(path);
  assert.deepEqual(
    tensors.map(({ name, dtype, shape, byteLength }) => [name, dtype, shape, byteLength]),
    [
      ['w', 'F32', [2, 3], 24],
      ['q', 'Q4_K', [256], 144],
    ],
  );
  assert.deepEqual(Object.entries(metadata), [
    ['general.architecture', 'tiny'],
    ['general.alignment', 64],
    ['tokens', ['a', 'é']],
    ['sizes', [7, 2n ** 64n - 1n]],
  ]);
  assert.deepEqual(array('w', { mapped: true }).data, Float32Array.of(1, 2, 3, 4, 5, 6));
  assert.deepEqual(
    array('q').data,
    Uint8Array.from({ length: 144 }, (_, index) => index),
  );
});

longTest('a header of several reads is read, however long its texts are', async () => {
  using folder = new Folder();
  await using space = await sharedSpace({ hostMemory: '64MiB' });
  const words = Array.from({ length: 200_000 }, (_, index) => `word ${index}`);
  const path = folder.file('words.gguf');
  const long = 'x'.repeat(3_000_000);
  const list = [u32(8), u64(words.length), ...words.map(text)];
  const parts = [entry('words', 9, Buffer.concat(list)), entry('long', 8, text(long))];
  writeFileSync(path, Buffer.concat([Buffer.from('GGUF'), u32(3), u64(0), u64(2), ...parts]));
  const { metadata, tensors } = space.openGguf(path);
  assert.deepEqual(metadata.words, words);
  assert.equal(metadata.long, long);
  assert.deepEqual(tensors, []);
});

test('what is wrong with a GGUF file is said, wherever it was cut or changed', async () => {
  using folder = new Folder();
  await using space = await sharedSpace({ hostMemory: '64MiB' });
  const path = folder.file('bad.gguf');
  const open = (content: Buffer) => {
    writeFileSync(path, content);
    return failsWith('TENSOR_FILE', () => space.openGguf(path));
  };
  const whole = model();
  for (let length = 0; length < whole.length; length += 7) await open(whole.subarray(0, length));
  for (const [content, said] of [
    [model([0, 0]), /it does not begin with GGUF/],
    [model([4, 1]), /its version is 1/],
    [model([15, 1]), /it would have \d+ tensors/],
    [whole.subarray(0, -1), /tensor q lies at bytes .* was the file cut off\?/],
  ] as const)
    assert.match((await open(content)).message, said);
});

await runTests();
